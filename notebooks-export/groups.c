// Sorts runs into arms (one method, or one cell of a study) and arms into groups of figures.
#include <stdlib.h>
#include <string.h>

#include "fgsf/config.h"

#include "export.h"
#include "number.h"

// The methods in the order of every legend, their names in the paper's figures, and one look each for
// all figures. Colours are Okabe and Ito's, which colour-blind readers can tell apart. In grey, dashes
// show a semi-gradient and the points tell the rest.
static const struct {
    const char *name, *paper;
    look look;
} METHODS[] = {
    {"dqn", "DQN", {"#E69F00", 2, SQUARE}},
    {"fg-dqn", "FGDQN", {"#D55E00", 1, SQUARE}},
    {"sfrql", "SFDQN", {"#56B4E9", 2, CIRCLE}},
    {"fg-sfrql", "FGSFDQN", {"#0072B2", 1, CIRCLE}},
    {"fg-sfrql-random", "alg2", {"#009E73", 3, UP}},
    {"fg-sfrql-average", "alg3", {"#CC79A7", 4, DIAMOND}},
    {"fg-sfrql-seq-average", "AvgFGSFDQN", {"#000000", 5, DOWN}},
    {"corrected-dqn", NULL, {"#7F4F00", 4, SQUARE}},
    {"corrected-sfrql", NULL, {"#CC79A7", 1, PENTAGON}},
};
#define NMETHODS (sizeof METHODS / sizeof METHODS[0])

// Cells with a gradient, a target network or an estimator of their own, whatever the method.
static const struct {
    const char *word;
    look look;
} CELLS[] = {
    {"hard", {"#000000", 4, UP}},          {"polyak", {"#666666", 5, DOWN}},
    {"mix", {"#009E73", 3, DIAMOND}},      {"semi-hard", {"#000000", 4, UP}},
    {"semi-polyak", {"#666666", 5, DOWN}}, {"semi-rms", {"#E69F00", 2, SQUARE}},
    {"semi", {"#56B4E9", 2, CIRCLE}},      {"full-rms", {"#D55E00", 1, SQUARE}},
    {"full", {"#0072B2", 1, CIRCLE}},      {"corrected", {"#CC79A7", 1, PENTAGON}},
    {"gtd2", {"#999999", 4, DIAMOND}},     {"bidirectional", {"#B8A000", 1, UP}},
    {"convergent", {"#009E73", 1, DOWN}},  {"critic_only", {"#D55E00", 2, SQUARE}},
    {"split", {"#CC79A7", 4, DIAMOND}},
};

static const look PALETTE[] = {{"#0072B2", 1, CIRCLE}, {"#D55E00", 2, SQUARE},
                               {"#009E73", 3, UP},     {"#CC79A7", 4, DIAMOND},
                               {"#E69F00", 5, DOWN},   {"#56B4E9", 1, PENTAGON},
                               {"#000000", 2, CIRCLE}, {"#999999", 3, SQUARE}};

// With more arms than this, cells are left to the figures of their study.
#define MAX_SHOWN 8

#define MAX_ABOUT 60 // characters of changed settings in a title; the runs have them all

static size_t method_rank(const char *method) {
    size_t i = 0;
    while (i < NMETHODS && strcmp(METHODS[i].name, method) != 0) i++;
    return i;
}

look method_look(const char *method) {
    size_t i = method_rank(method);
    return i < NMETHODS ? METHODS[i].look : (look){"#999999", 1, UP};
}

look named_look(const char *name, look otherwise) {
    for (size_t i = 0; i < sizeof CELLS / sizeof CELLS[0]; i++) {
        if (strncmp(name, CELLS[i].word, strlen(CELLS[i].word)) == 0) return CELLS[i].look;
    }
    return otherwise;
}

const char *method_paper_name(const char *method) {
    size_t i = method_rank(method);
    return i < NMETHODS ? METHODS[i].paper : NULL;
}

look palette(size_t i) {
    return PALETTE[i % (sizeof PALETTE / sizeof PALETTE[0])];
}

// Lists the parts of a cell's name.
static void cell_parts(const char *cell, names *out) {
    while (*cell) { // a '+' may also belong to a number, 1e+5: a key follows those that separate
        size_t length = strcspn(cell, "+");
        while (cell[length] && strcspn(cell + length + 1, "=") >= strcspn(cell + length + 1, "+")) {
            length += 1 + strcspn(cell + length + 1, "+");
        }
        names_add(out, pool_printf("%.*s", (int)length, cell));
        cell += length + (cell[length] == '+');
    }
}

int cell_compare(const char *a, const char *b) {
    while (*a && *b) {
        if (strchr("0123456789", *a) && strchr("0123456789", *b)) {
            char *end_a = NULL, *end_b = NULL;
            double x = fgsf_number_scan(a, &end_a), y = fgsf_number_scan(b, &end_b);
            if (x != y) return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

// By environment, layout, method (known ones first, in their order), cell and seed.
static int compare_runs(const void *a, const void *b) {
    const run *x = *(run *const *)a;
    const run *y = *(run *const *)b;
    int order = strcmp(x->env, y->env);
    if (order == 0) order = strcmp(x->layout, y->layout);
    size_t i = method_rank(x->method);
    size_t j = method_rank(y->method);
    if (order == 0) order = (i > j) - (i < j);
    if (order == 0) order = strcmp(x->method, y->method);
    if (order == 0) order = cell_compare(x->cell, y->cell);
    if (order == 0) order = (x->seed > y->seed) - (x->seed < y->seed);
    return order;
}

static unsigned data_of(const run *r) {
    return (*r->cell ? HAS_ABLATION : 0u) | (r->train.rows ? HAS_TRAIN : 0u) |
           (r->eval.rows ? HAS_EVAL : 0u) | (r->trajectory.rows ? HAS_TRAJECTORY : 0u);
}

static arm *add_arm(group *g, const run *r) {
    arm a = {.method = r->method,
             .cell = r->cell,
             .label = r->method,
             .look = named_look(r->cell, method_look(r->method))};
    cell_parts(r->cell, &a.parts);
    if (*r->cell) a.label = pool_printf("%s@%s", r->method, r->cell);
    pool_push(&g->arms, &g->narms, &a, sizeof a);
    return &g->arms[g->narms - 1];
}

// How many of the settings "key=value" are about the key that `setting` begins with.
static size_t count_key(const names *settings, const char *setting) {
    size_t count = 0, length = strcspn(setting, "=") + 1;
    for (size_t i = 0; i < settings->n; i++) {
        count += strncmp(settings->v[i], setting, length) == 0;
    }
    return count;
}

// Whether the run has the value of "key=value", by what it changed or else by its method's usual settings.
static bool has_setting(const run *r, const char *setting) {
    fgsf_config usual;
    char is[FGSF_TEXT_SIZE] = "";
    const char *key = pool_printf("%.*s", (int)strcspn(setting, "="), setting);
    if (names_find(&r->changes, setting, NULL)) return true;
    if (count_key(&r->changes, setting) ||
        fgsf_config_resolve(r->env, r->preset, r->method, &usual) != FGSF_OK) {
        return false;
    }
    fgsf_config_get(&usual, key, is, sizeof is);
    return strcmp(setting, pool_printf("%s=%s", key, is)) == 0;
}

static bool has_changes(const run *r, const run *of) {
    for (size_t i = 0; i < of->changes.n; i++) {
        if (!has_setting(r, of->changes.v[i])) return false;
    }
    return true;
}

// Runs that are averaged or compared must have the same settings, but for those of their methods; cells
// may differ from each other. Of an older summary only the hash of the configuration is known, which
// is the same for all seeds of an arm; `seeds_of` is its label, NULL for other runs.
static fgsf_status check_same(const run *a, const run *b, const char *seeds_of) {
    if (seeds_of && a->hash && b->hash && strcmp(a->hash, b->hash) != 0) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "%s (config_hash %s) and %s (config_hash %s) are seeds of %s with "
                         "different settings and cannot be averaged: keep them in folders of "
                         "their own",
                         a->dir, a->hash, b->dir, b->hash, seeds_of);
    }
    if (!a->changed || !b->changed) return FGSF_OK; // not recorded
    bool same = has_changes(a, b) && has_changes(b, a);
    if (same && strcmp(a->preset, b->preset) == 0) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "%s (%s%s%s) and %s (%s%s%s) have different settings and cannot be compared: "
                     "keep them in folders of their own, or run them as cells of one study",
                     a->dir, a->preset, *a->changed ? ", " : "", a->changed, b->dir, b->preset,
                     *b->changed ? ", " : "", b->changed);
}

static fgsf_status add_run(group *g, run *r) {
    arm *a = g->narms ? &g->arms[g->narms - 1] : NULL;
    if (!a || strcmp(r->method, a->method) != 0 || strcmp(r->cell, a->cell) != 0) {
        a = add_arm(g, r);
    }
    const run *before = a->nruns ? a->runs[a->nruns - 1] : NULL;
    if (strcmp(r->status, "done") != 0) {
        a->unfinished++;
        a->diverged += strcmp(r->status, "diverged") == 0;
        return FGSF_OK;
    }
    if (before && before->seed == r->seed) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s seed %ld is the same run as in %s", r->dir,
                         a->label, r->seed, before->dir);
    }
    for (size_t i = 0; i < a->nruns; i++) TRY(check_same(a->runs[i], r, a->label));
    pool_push(&a->runs, &a->nruns, &r, sizeof r);
    if (!a->example || (a->example->summary_only && !r->summary_only)) a->example = r;
    g->has |= data_of(r);
    return FGSF_OK;
}

// The paper calls the mazes pointmaze_umaze and so on; other names are ours.
static void name_group(group *g) {
    g->name = g->title = g->paper_env = g->env;
    g->has = HAS_RUNS;
    if (!*g->layout) return;
    g->name = g->title = pool_printf("%s_%s", g->env, g->layout);
    g->paper_env = pool_printf("pointmaze_%s", g->layout);
}

// Cells of one method have its colour and line; in a figure with several of them the points differ.
static void tell_apart(group *g) {
    for (size_t i = 1; i < g->narms; i++) {
        arm *own = &g->arms[i];
        for (size_t k = 0, tries = 0; k < g->shown.n && g->shown.v[k] < own && tries < SHAPES;
             k++) {
            look other = g->shown.v[k]->look;
            bool same = other.shape == own->look.shape && other.dash == own->look.dash &&
                        strcmp(other.colour, own->look.colour) == 0;
            if (!same) continue;
            own->look.shape = (enum shape)((own->look.shape + 1) % SHAPES);
            k = (size_t)-1; // look at all of them again
            tries++;
        }
    }
}

bool group_has_one_method(const group *g) {
    for (size_t i = 1; i < g->narms; i++) {
        if (strcmp(g->arms[i].method, g->arms[0].method) != 0) return false;
    }
    return true;
}

bool piece_tells(const group *g, const arm *a, const char *piece) {
    const run *r = a->example;
    bool usual = r && r->changed && strchr(piece, '=') && !count_key(&r->changes, piece);
    for (size_t i = 0; i < g->narms; i++) {
        const arm *other = &g->arms[i];
        if (names_find(&other->parts, piece, NULL)) continue;
        if (!usual || count_key(&other->parts, piece)) return true;
        if (other->example && count_key(&other->example->changes, piece)) return true;
    }
    return false;
}

// An arm is called as its label if another would have the same shorter name.
static void name_arms(group *g) {
    bool alone = group_has_one_method(g);
    for (size_t i = 0; i < g->narms; i++) {
        arm *a = &g->arms[i];
        const char *told = "", *words = ablation_words(a->cell);
        for (size_t k = 0; k < a->parts.n; k++) {
            if (piece_tells(g, a, a->parts.v[k])) told = text_join(told, ", ", a->parts.v[k]);
        }
        a->name = !*told ? a->label : alone ? told : pool_printf("%s, %s", a->method, told);
        if (words) a->name = pool_printf("%s (%s)", a->cell, words);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(a->name, g->arms[k].name) != 0) continue;
            a->name = a->label;
            g->arms[k].name = g->arms[k].label;
        }
    }
}

// What the runs share: preset and changed settings. The study, which is the folder's name, stands before
// them where there are cells, or no preset is recorded.
static void describe(group *g, const char *root, const run *first) {
    char *path = realpath(root, NULL);
    const char *study = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : "";
    const char *preset = first->preset, *changed = "";
    for (size_t i = 0; i < first->changes.n && !*first->cell; i++) {
        const char *change = first->changes.v[i];
        if (strncmp(change, "env.layout=", 11) == 0) continue; // is in the title
        changed = pool_printf("%s, %s", changed, change);
    }
    if (strlen(changed) > MAX_ABOUT) changed = ", settings changed";
    if (!(g->has & HAS_ABLATION) && (*preset || !first->summary_only)) study = "";
    if (strstr(study, preset)) preset = "";
    if (*study || *preset) {
        const char *both = *study && *preset ? ", " : "";
        g->about = pool_printf(" (%s%s%s%s)", study, both, preset, changed);
    }
    free(path);
}

static void add_to(arm_list *list, const arm *a) {
    pool_push(&list->v, &list->n, &a, sizeof a);
}

// Refuses methods with different settings, decides which arms the general figures show, and says what
// the group is about.
static fgsf_status finish_group(const char *root, group *g) {
    const run *first = NULL, *plain = NULL; // plain: not of a cell
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        if (a->nruns == 0) continue;
        if (!first) first = a->example;
        if (!*a->cell || g->narms <= MAX_SHOWN) add_to(&g->shown, a);
        if (*a->cell) {
            add_to(&g->cells, a);
            continue;
        }
        if (plain) TRY(check_same(plain, a->example, NULL));
        if (!plain) plain = a->example;
    }
    cells_sort(&g->cells);
    name_arms(g);
    if (g->shown.n >= 2) g->has |= HAS_PAIRS;
    if (g->shown.n <= MAX_SHOWN) tell_apart(g);
    if (first) describe(g, root, plain ? plain : first);
    return FGSF_OK;
}

static fgsf_status env_groups(const char *root, const corpus *c, group_list *out) {
    run **order = pool_get(c->nruns, sizeof *order);
    for (size_t i = 0; i < c->nruns; i++) order[i] = &c->runs[i];
    qsort(order, c->nruns, sizeof *order, compare_runs);
    for (size_t i = 0; i < c->nruns; i++) {
        run *r = order[i];
        const group *last = out->n ? &out->v[out->n - 1] : NULL;
        if (!last || strcmp(r->env, last->env) != 0 || strcmp(r->layout, last->layout) != 0) {
            group g = {.env = r->env, .layout = r->layout, .about = ""};
            name_group(&g);
            pool_push(&out->v, &out->n, &g, sizeof g);
        }
        TRY(add_run(&out->v[out->n - 1], r));
    }
    for (size_t i = 0; i < out->n; i++) TRY(finish_group(root, &out->v[i]));
    return FGSF_OK;
}

// A figure shows one key that cells vary, so each that has two values is a group of its own.
static void grid_groups(size_t envs, group_list *out) {
    for (size_t i = 0; i < envs; i++) {
        names settings = {0};
        arm_list cells = out->v[i].cells;
        for (size_t k = 0; k < cells.n; k++) {
            const names *parts = &cells.v[k]->parts;
            for (size_t j = 0; j < parts->n; j++) {
                if (strchr(parts->v[j], '=')) names_add(&settings, parts->v[j]);
            }
        }
        for (size_t k = 0; k < settings.n; k++) {
            const char *setting = settings.v[k];
            names before = {settings.v, k};
            if (count_key(&before, setting) || count_key(&settings, setting) < 2) continue;
            group g = out->v[i];
            g.varied = pool_printf("%.*s", (int)strcspn(setting, "="), setting);
            g.has = HAS_GRID;
            g.name = pool_printf("%s_%s", g.name, g.varied);
            pool_push(&out->v, &out->n, &g, sizeof g);
        }
    }
}

// A policy map shows one arm, so each that has one is a group of its own.
static void map_groups(size_t envs, group_list *out) {
    for (size_t i = 0; i < envs; i++) {
        arm_list shown = out->v[i].shown;
        for (size_t j = 0; j < shown.n; j++) {
            const arm *a = shown.v[j];
            if (a->example->policy_map.rows == 0) continue;
            group g = out->v[i];
            g.name = pool_printf("%s_%s", g.name, a->label);
            g.title = pool_printf("%s, %s", g.title, a->label);
            g.shown = (arm_list){&shown.v[j], 1};
            g.has = HAS_MAP;
            pool_push(&out->v, &out->n, &g, sizeof g);
        }
    }
}

// Names a group after its file below root, without the ending: bench/overhead.csv is
// bench_overhead. The folder theory/ adds nothing to its files' names.
static void file_groups(const char *root, const corpus *c, enum table_kind kind, unsigned has,
                        group_list *out) {
    for (size_t i = 0; i < c->tables[kind].n; i++) {
        csv *file = &c->tables[kind].v[i];
        const char *path = file->path + strlen(root);
        path += strspn(path, "/");
        if (strncmp(path, "theory/", 7) == 0) path += 7;
        group g = {.sources = {file, 1}, .has = has, .about = ""};
        g.name = pool_printf("%.*s", (int)(strlen(path) - 4), path);
        g.title = csv_note(file, "title", g.name);
        pool_push(&out->v, &out->n, &g, sizeof g);
    }
}

// Turns every name into one that is fit for a file and different from the others.
static void tidy_names(group_list *list) {
    static const char FIT[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";
    names seen = {0};
    for (size_t i = 0; i < list->n; i++) {
        const char *name = pool_printf("%s", list->v[i].name), *unique = name;
        for (char *c = (char *)name; *c; c++) {
            if (!strchr(FIT, *c) || (c == name && *c == '.')) *c = '_';
        }
        for (int k = 2; names_find(&seen, unique, NULL); k++) {
            unique = pool_printf("%s-%d", name, k);
        }
        names_add(&seen, unique);
        list->v[i].name = unique;
    }
}

fgsf_status groups_make(const char *root, const corpus *c, group_list *out) {
    TRY(env_groups(root, c, out));
    size_t envs = out->n;
    for (size_t i = 0; c->partial && i < envs; i++) out->v[i].has &= HAS_TRAIN | HAS_RUNS;
    if (!c->partial) {
        grid_groups(envs, out);
        map_groups(envs, out);
        file_groups(root, c, THEORY_CURVE, HAS_CURVE, out);
        file_groups(root, c, OVERHEAD, HAS_OVERHEAD, out);
        file_groups(root, c, SCALING, HAS_SCALING, out);
        group checks = {.name = "theory", .title = "theory", .about = "", .has = HAS_CHECKS};
        checks.sources = c->tables[THEORY];
        if (checks.sources.n) pool_push(&out->v, &out->n, &checks, sizeof checks);
    }
    tidy_names(out);
    return FGSF_OK;
}
