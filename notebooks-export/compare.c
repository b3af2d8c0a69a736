// Which arms are set against each other, and the difference between two of them, paired by seed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

// ---- pairs --------------------------------------------------------------------------------------

static void put_pair(const arm *a, const arm *b, arm_pair **out, size_t *n) {
    bool known = !a || !b; // arms that were not run
    for (size_t i = 0; i < *n; i++) known = known || ((*out)[i].a == a && (*out)[i].b == b);
    if (!known) pool_push(out, n, &(arm_pair){a, b}, sizeof **out);
}

static const arm *plain_arm(const group *g, const char *method) {
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        if (a->nruns && !*a->cell && strcmp(a->method, method) == 0) return a;
    }
    return NULL;
}

// The cells of the gradient ablation, from the published semi-gradient to the published full gradient, one
// ingredient at a time; the other cells follow in the order of their names.
static const char *const PATH[][2] = {{"A0", "published SFDQN"},
                                      {"C2", "target copied every 1000"},
                                      {"C1", "target copied every 100"},
                                      {"B0", "semi-gradient"},
                                      {"B3", "semi-gradient with grouping"},
                                      {"B1", "full gradient"},
                                      {"A1", "published FG-SFDQN"}};
#define NPATH (sizeof PATH / sizeof PATH[0])

static size_t ablation_rank(const char *cell) {
    size_t i = 0;
    while (i < NPATH && strcmp(PATH[i][0], cell) != 0) i++;
    return i;
}

const char *ablation_words(const char *cell) {
    size_t i = ablation_rank(cell);
    return i < NPATH ? PATH[i][1] : NULL;
}

// Where the settings of a cell begin, behind its kind: full+env.slip=0.1 at +env.slip=0.1.
static const char *settings_of(const char *cell) {
    size_t length = strcspn(cell, "+=");
    return cell[length] == '=' ? cell : cell + length;
}

static bool has_kind(const char *cell, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(cell, kind, length) == 0 && settings_of(cell) == cell + length;
}

// Whether no other cell has the arm's method and kind, as in a comparison of kinds that have each their own
// learning rate.
static bool only_settings(const arm_list *cells, const arm *one) {
    size_t length = strcspn(one->cell, "+="), same = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const arm *a = cells->v[i];
        same += strcmp(a->method, one->method) == 0 && strcspn(a->cell, "+=") == length &&
                strncmp(a->cell, one->cell, length) == 0;
    }
    return same == 1;
}

static int compare_cells(const void *a, const void *b) {
    const arm *x = *(const arm *const *)a;
    const arm *y = *(const arm *const *)b;
    size_t i = ablation_rank(x->cell);
    size_t j = ablation_rank(y->cell);
    if (i != j) return i < j ? -1 : 1;
    int order = cell_compare(settings_of(x->cell), settings_of(y->cell));
    if (order == 0) order = cell_compare(x->cell, y->cell);
    return order ? order : strcmp(x->method, y->method);
}

void cells_sort(arm_list *cells) {
    if (cells->n) qsort(cells->v, cells->n, sizeof *cells->v, compare_cells);
}

static const arm *arm_of_cell(const arm_list *cells, const char *cell) {
    for (size_t i = 0; i < cells->n; i++) {
        if (strcmp(cells->v[i]->cell, cell) == 0) return cells->v[i];
    }
    return NULL;
}

// The primary contrast, the steps from the published semi-gradient to the full gradient, every cell
// that was run with both gradients, and the full gradient against each other kind at the same settings
// or, where both have only one, at their own.
static void ablation_pairs(const group *g, arm_pair **out, size_t *n) {
    static const char *const STEPS[][2] = {{"B1", "B0"}, {"C2", "A0"}, {"C1", "C2"}, {"B0", "C1"},
                                           {"B3", "B0"}, {"A1", "B1"}, {"A1", "B3"}, {"A1", "A0"}};
    const arm_list *cells = &g->cells;
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        put_pair(arm_of_cell(cells, STEPS[i][0]), arm_of_cell(cells, STEPS[i][1]), out, n);
    }
    for (size_t i = 0; i < cells->n; i++) {
        for (size_t j = 0; j < cells->n; j++) {
            const arm *a = cells->v[i], *b = cells->v[j];
            const char *settings = settings_of(a->cell), *others = settings_of(b->cell);
            bool equal = strcmp(settings, others) == 0 ||
                         (only_settings(cells, a) && only_settings(cells, b));
            if (i != j && has_kind(a->cell, "full") && others != b->cell &&
                strcmp(a->method, b->method) == 0 && equal) {
                put_pair(a, b, out, n);
            }
            bool gradients =
                strncmp(a->method, "fg-", 3) == 0 && strcmp(a->method + 3, b->method) == 0;
            if (gradients && strcmp(a->cell, b->cell) == 0) put_pair(a, b, out, n);
        }
    }
}

void pairs_of(const group *g, arm_pair **out, size_t *n) {
    put_pair(plain_arm(g, "fg-sfrql"), plain_arm(g, "sfrql"), out, n);
    put_pair(plain_arm(g, "fg-dqn"), plain_arm(g, "dqn"), out, n);
    const arm *ours = plain_arm(g, "fg-sfrql");
    for (size_t i = 0; i < g->shown.n; i++) {
        const arm *a = g->shown.v[i];
        if (a == ours || (!ours && *a->cell)) continue;
        if (ours) put_pair(ours, a, out, n);
        for (size_t j = 0; j < i && !ours; j++) {
            if (!*g->shown.v[j]->cell) put_pair(a, g->shown.v[j], out, n);
        }
    }
    ablation_pairs(g, out, n);
}

// ---- one pair -----------------------------------------------------------------------------------

static double seed_mean(const scores *s, size_t seed, const part *tasks) {
    double sum = 0;
    for (size_t k = tasks->first; k < tasks->last; k++) sum += s->s.x[seed * s->s.tasks + k];
    return sum / (double)(tasks->last - tasks->first);
}

static bool same_tasks(const names *a, const names *b) {
    size_t i = 0;
    while (i < a->n && i < b->n && strcmp(a->v[i], b->v[i]) == 0) i++;
    return i == a->n && i == b->n;
}

fgsf_status compare(arm_pair pair, enum metric metric, const part *tasks, comparison *out) {
    scores a, b;
    size_t n = 0;
    *out = (comparison){0};
    TRY(scores_of(pair.a, metric, &a));
    TRY(scores_of(pair.b, metric, &b));
    if (!same_tasks(&a.tasks, &b.tasks)) return FGSF_OK;
    double *x = pool_get(3 * a.s.seeds, sizeof *x), *y = x + a.s.seeds, *d = y + a.s.seeds;
    for (size_t i = 0; i < a.s.seeds; i++) {
        for (size_t j = 0; j < b.s.seeds; j++) {
            if (a.seed[i] != b.seed[j]) continue;
            x[n] = seed_mean(&a, i, tasks);
            y[n] = seed_mean(&b, j, tasks);
            d[n] = x[n] - y[n];
            out->wins += d[n] > 1e-9 * fabs(x[n]);
            n++;
        }
    }
    if (n == 0) return FGSF_OK;
    scores differences = {.s = {.x = d, .seeds = n, .tasks = 1}};
    TRY(mean_interval(&differences, &out->difference));
    out->pairs = n;
    return fgsf_stats_wilcoxon(x, y, n, &out->test);
}
