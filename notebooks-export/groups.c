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

const run *arm_example(const arm *a) {
    size_t i = 0;
    while (i < a->nruns && a->runs[i]->summary_only) i++;
    return a->runs[i < a->nruns ? i : 0];
}

look method_look(const char *method) {
    size_t i = method_rank(method);
    return i < NMETHODS ? METHODS[i].look : (look){"#999999", 1, UP};
}

look named_look(const char *name, look otherwise) {
    for (size_t i = 0; name && i < sizeof CELLS / sizeof CELLS[0]; i++) {
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

void cell_parts(pool *p, const char *cell, names *out) {
    while (*cell) { // a '+' may also belong to a number, 1e+5: a key follows those that separate
        size_t length = strcspn(cell, "+");
        while (cell[length] && strcspn(cell + length + 1, "=") >= strcspn(cell + length + 1, "+")) {
            length += 1 + strcspn(cell + length + 1, "+");
        }
        names_add(p, out, pool_printf(p, "%.*s", (int)length, cell));
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

static const char *text_or_empty(const char *text) {
    return text ? text : "";
}

// By environment, layout, method (known ones first, in their order), cell and seed.
static int compare_runs(const void *a, const void *b) {
    const run *x = *(run *const *)a;
    const run *y = *(run *const *)b;
    int order = strcmp(x->env, y->env);
    if (order == 0) order = strcmp(text_or_empty(x->layout), text_or_empty(y->layout));
    size_t i = method_rank(x->method);
    size_t j = method_rank(y->method);
    if (order == 0) order = (i > j) - (i < j);
    if (order == 0) order = strcmp(x->method, y->method);
    if (order == 0) order = cell_compare(text_or_empty(x->cell), text_or_empty(y->cell));
    if (order == 0) order = (x->seed > y->seed) - (x->seed < y->seed);
    return order;
}

static bool same_arm(const run *x, const arm *a) {
    return strcmp(x->method, a->method) == 0 &&
           strcmp(text_or_empty(x->cell), text_or_empty(a->cell)) == 0;
}

static bool same_group(const run *x, const group *g) {
    return strcmp(x->env, g->env) == 0 &&
           strcmp(text_or_empty(x->layout), text_or_empty(g->layout)) == 0;
}

static bool has_held_out(const csv *eval) {
    size_t task = 0;
    if (!csv_find(eval, "task", &task)) return false;
    for (size_t i = 0; i < eval->rows; i++) {
        if (csv_text(eval, i, task)[0] == 'h') return true;
    }
    return false;
}

static unsigned data_of(const run *r) {
    return (r->cell ? HAS_ABLATION : 0u) | (r->train.rows ? HAS_TRAIN : 0u) |
           (r->eval.rows ? HAS_EVAL : 0u) | (has_held_out(&r->eval) ? HAS_HELD_OUT : 0u) |
           (r->trajectory.rows ? HAS_TRAJECTORY : 0u);
}

static void add_arm(pool *p, group *g, const run *r) {
    arm a = {.method = r->method,
             .cell = r->cell,
             .label = r->method,
             .look = named_look(r->cell, method_look(r->method))};
    if (r->cell) a.label = pool_printf(p, "%s@%s", r->method, r->cell);
    pool_push(p, &g->arms, &g->narms, &a, sizeof a);
}

// Whether one of the settings "key=value" is about the key that `setting` begins with.
static bool names_key(const names *settings, const char *setting) {
    size_t length = strcspn(setting, "=") + 1;
    for (size_t i = 0; i < settings->n; i++) {
        if (strncmp(settings->v[i], setting, length) == 0) return true;
    }
    return false;
}

// Whether the run has the value of "key=value", by what it changed or else by its method's usual settings.
static bool has_setting(pool *p, const run *r, const char *setting) {
    fgsf_config usual;
    names changes = {0};
    char is[FGSF_TEXT_SIZE] = "";
    const char *key = pool_printf(p, "%.*s", (int)strcspn(setting, "="), setting);
    changes_of(p, r, &changes);
    if (names_find(&changes, setting, NULL)) return true;
    if (names_key(&changes, setting) ||
        fgsf_config_resolve(r->env, text_or_empty(r->preset), r->method, &usual) != FGSF_OK) {
        return false;
    }
    fgsf_config_get(&usual, key, is, sizeof is);
    return strcmp(setting, pool_printf(p, "%s=%s", key, is)) == 0;
}

static bool has_changes(pool *p, const run *r, const run *of) {
    names changes = {0};
    changes_of(p, of, &changes);
    for (size_t i = 0; i < changes.n; i++) {
        if (!has_setting(p, r, changes.v[i])) return false;
    }
    return true;
}

// Runs that are averaged or compared must have the same settings, but for those of their methods; cells
// may differ from each other. Of an older summary nothing but the hash of the configuration is known.
static fgsf_status check_same(pool *p, const run *a, const run *b, bool seeds) {
    const char *preset_a = text_or_empty(a->preset), *preset_b = text_or_empty(b->preset);
    if (seeds && a->hash && b->hash && strcmp(a->hash, b->hash) != 0) {
        return fgsf_fail(
            FGSF_ERR_INVALID,
            "%s (config_hash %s) and %s (config_hash %s) are seeds of %s%s%s with different "
            "settings and cannot be averaged: keep them in folders of their own",
            a->dir, a->hash, b->dir, b->hash, a->method, a->cell ? "@" : "",
            text_or_empty(a->cell));
    }
    if (!a->changed || !b->changed) return FGSF_OK; // not recorded
    bool same =
        strcmp(a->changed, b->changed) == 0 || (has_changes(p, a, b) && has_changes(p, b, a));
    if (same && strcmp(preset_a, preset_b) == 0) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "%s (%s%s%s) and %s (%s%s%s) have different settings and cannot be compared: "
                     "keep them in folders of their own, or run them as cells of one study",
                     a->dir, preset_a, *a->changed ? ", " : "", a->changed, b->dir, preset_b,
                     *b->changed ? ", " : "", b->changed);
}

static fgsf_status add_run(pool *p, group *g, run *r) {
    if (g->narms == 0 || !same_arm(r, &g->arms[g->narms - 1])) add_arm(p, g, r);
    arm *a = &g->arms[g->narms - 1];
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
    for (size_t i = 0; i < a->nruns; i++) TRY(check_same(p, a->runs[i], r, true));
    pool_push(p, &a->runs, &a->nruns, &r, sizeof r);
    g->has |= data_of(r);
    return FGSF_OK;
}

// The paper calls the mazes pointmaze_umaze and so on; other names are ours.
static void name_group(pool *p, group *g) {
    g->name = g->title = g->paper_env = g->env;
    if (!g->layout) return;
    g->name = g->title = pool_printf(p, "%s_%s", g->env, g->layout);
    g->paper_env = pool_printf(p, "pointmaze_%s", g->layout);
}

// Cells of one method have its colour and line; in a figure with several of them the points differ.
static void tell_apart(group *g) {
    for (size_t i = 1; i < g->narms; i++) {
        look *own = &g->arms[i].look;
        for (size_t k = 0, tries = 0; k < i && tries < SHAPES; k++) {
            const look *other = &g->arms[k].look;
            bool same = g->arms[k].shown && other->shape == own->shape &&
                        other->dash == own->dash && strcmp(other->colour, own->colour) == 0;
            if (!same) continue;
            own->shape = (enum shape)((own->shape + 1) % SHAPES);
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

static void changes_of_arm(pool *p, const arm *a, names *out) {
    if (a->nruns) changes_of(p, arm_example(a), out);
}

bool piece_tells(pool *p, const group *g, const arm *a, const char *piece) {
    names changes = {0};
    changes_of_arm(p, a, &changes);
    bool recorded = a->nruns && arm_example(a)->changed;
    bool usual = recorded && strchr(piece, '=') && !names_key(&changes, piece);
    for (size_t i = 0; i < g->narms; i++) {
        names parts = {0};
        if (g->arms[i].cell) cell_parts(p, g->arms[i].cell, &parts);
        if (names_find(&parts, piece, NULL)) continue;
        changes_of_arm(p, &g->arms[i], &parts);
        if (!usual || names_key(&parts, piece)) return true;
    }
    return false;
}

// An arm is called as its label if another would have the same shorter name.
static void name_arms(pool *p, group *g) {
    bool alone = group_has_one_method(g);
    for (size_t i = 0; i < g->narms; i++) {
        arm *a = &g->arms[i];
        const char *told = "", *words = a->cell ? ablation_words(a->cell) : NULL;
        names parts = {0};
        if (a->cell) cell_parts(p, a->cell, &parts);
        for (size_t k = 0; k < parts.n; k++) {
            if (!piece_tells(p, g, a, parts.v[k])) continue;
            told = pool_printf(p, "%s%s%s", told, *told ? ", " : "", parts.v[k]);
        }
        a->name = !*told ? a->label : alone ? told : pool_printf(p, "%s, %s", a->method, told);
        if (words) a->name = pool_printf(p, "%s (%s)", a->cell, words);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(a->name, g->arms[k].name) != 0) continue;
            a->name = a->label;
            g->arms[k].name = g->arms[k].label;
        }
    }
}

// What the runs share: preset and changed settings. The study, which is the folder's name, stands before
// them where there are cells, or no preset is recorded.
static void describe(pool *p, group *g, const char *root, const run *first) {
    char *path = realpath(root, NULL);
    const char *study = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : "";
    const char *preset = text_or_empty(first->preset), *changed = "";
    names changes = {0};
    if (!first->cell) changes_of(p, first, &changes);
    for (size_t i = 0; i < changes.n; i++) {
        if (strncmp(changes.v[i], "env.layout=", 11) == 0) continue; // is in the title
        changed = pool_printf(p, "%s, %s", changed, changes.v[i]);
    }
    if (strlen(changed) > MAX_ABOUT) changed = ", settings changed";
    if (!(g->has & HAS_ABLATION) && (*preset || !first->summary_only)) study = "";
    if (strstr(study, preset)) preset = "";
    bool both = *study && *preset;
    if (*study || *preset) {
        g->about = pool_printf(p, "%s%s%s%s", study, both ? ", " : "", preset, changed);
    }
    free(path);
}

// Refuses methods with different settings, decides which arms the general figures show, and says what
// the group is about.
static fgsf_status finish_group(pool *p, const char *root, group *g) {
    const run *first = NULL;
    size_t shown = 0;
    for (size_t i = 0; i < g->narms; i++) {
        arm *a = &g->arms[i];
        a->shown = a->nruns > 0 && (!a->cell || g->narms <= MAX_SHOWN);
        shown += a->shown;
        if (a->nruns == 0 || a->cell) continue;
        if (first) TRY(check_same(p, first, arm_example(a), false));
        if (!first) first = arm_example(a);
    }
    name_arms(p, g);
    if (shown >= 2) g->has |= HAS_PAIRS;
    if (shown <= MAX_SHOWN) tell_apart(g);
    for (size_t i = 0; i < g->narms && !first; i++) {
        if (g->arms[i].nruns) first = arm_example(&g->arms[i]);
    }
    if (first) describe(p, g, root, first);
    return FGSF_OK;
}

static fgsf_status env_groups(pool *p, const char *root, const corpus *c, group **list, size_t *n) {
    run **order = pool_get(p, c->nruns, sizeof *order);
    for (size_t i = 0; i < c->nruns; i++) order[i] = &c->runs[i];
    qsort(order, c->nruns, sizeof *order, compare_runs);
    for (size_t i = 0; i < c->nruns; i++) {
        if (*n == 0 || !same_group(order[i], &(*list)[*n - 1])) {
            group g = {.env = order[i]->env, .layout = order[i]->layout};
            name_group(p, &g);
            pool_push(p, list, n, &g, sizeof g);
        }
        TRY(add_run(p, &(*list)[*n - 1], order[i]));
    }
    for (size_t i = 0; i < *n; i++) TRY(finish_group(p, root, &(*list)[i]));
    return FGSF_OK;
}

// The keys that the cells of a group vary, and all values of each as "key=value".
static void varied_keys(pool *p, const group *g, names *keys, names *settings) {
    const arm **arms = NULL;
    size_t n = 0;
    ablation_arms(p, g, &arms, &n);
    for (size_t i = 0; i < n; i++) {
        names parts = {0};
        cell_parts(p, arms[i]->cell, &parts);
        for (size_t k = 0; k < parts.n; k++) {
            int length = (int)strcspn(parts.v[k], "=");
            if (parts.v[k][length] == '\0') continue;
            names_add(p, keys, pool_printf(p, "%.*s", length, parts.v[k]));
            names_add(p, settings, parts.v[k]);
        }
    }
}

// A figure shows one varied key, so each that has two values is a group of its own.
static void grid_groups(pool *p, size_t envs, group **list, size_t *n) {
    for (size_t i = 0; i < envs; i++) {
        names keys = {0}, settings = {0};
        varied_keys(p, &(*list)[i], &keys, &settings);
        for (size_t k = 0; k < keys.n; k++) {
            size_t values = 0, length = strlen(keys.v[k]);
            for (size_t j = 0; j < settings.n; j++) {
                values +=
                    strncmp(settings.v[j], keys.v[k], length) == 0 && settings.v[j][length] == '=';
            }
            if (values < 2) continue;
            group g = (*list)[i];
            g.varied = keys.v[k];
            g.has = HAS_GRID;
            g.paper_env = NULL; // its runs are reported once
            g.name = pool_printf(p, "%s_%s", (*list)[i].name, g.varied);
            pool_push(p, list, n, &g, sizeof g);
        }
    }
}

// A policy map shows one arm, so each that has one is a group of its own.
static void map_groups(pool *p, size_t envs, group **list, size_t *n) {
    for (size_t i = 0; i < envs; i++) {
        for (size_t j = 0; j < (*list)[i].narms; j++) {
            const group *of = &(*list)[i];
            arm *a = &of->arms[j];
            if (!a->shown || arm_example(a)->policy_map.rows == 0) continue;
            group g = {.env = of->env,
                       .about = of->about,
                       .name = pool_printf(p, "%s_%s", of->name, a->label),
                       .title = pool_printf(p, "%s, %s", of->title, a->label),
                       .arms = a,
                       .narms = 1,
                       .has = HAS_MAP};
            pool_push(p, list, n, &g, sizeof g);
        }
    }
}

// Names a group after its file below root, without the ending: bench/overhead.csv is
// bench_overhead. The folder theory/ adds nothing to its files' names.
static void file_groups(pool *p, const char *root, const corpus *c, enum table_kind kind,
                        unsigned has, group **list, size_t *n) {
    for (size_t i = 0; i < c->ntables[kind]; i++) {
        const csv *file = &c->tables[kind][i];
        const char *path = file->path + strlen(root);
        path += strspn(path, "/");
        if (strncmp(path, "theory/", 7) == 0) path += 7;
        group g = {.source = file, .has = has, .title = csv_note(file, "title")};
        g.name = pool_printf(p, "%.*s", (int)(strlen(path) - 4), path);
        if (!g.title) g.title = g.name;
        pool_push(p, list, n, &g, sizeof g);
    }
}

// Turns every name into one that is fit for a file and different from the others.
static void tidy_names(pool *p, group *list, size_t n) {
    names seen = {0};
    for (size_t i = 0; i < n; i++) {
        const char *name = pool_printf(p, "%s", list[i].name);
        for (char *c = (char *)name; *c; c++) {
            bool fit = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-.@",
                              *c) != NULL;
            if (!fit || (c == name && *c == '.')) *c = '_';
        }
        const char *unique = name;
        for (int k = 2; names_find(&seen, unique, NULL); k++) {
            unique = pool_printf(p, "%s-%d", name, k);
        }
        names_add(p, &seen, unique);
        list[i].name = unique;
    }
}

fgsf_status groups_make(pool *p, const char *root, const corpus *c, group **out, size_t *n) {
    TRY(env_groups(p, root, c, out, n));
    size_t envs = *n;
    for (size_t i = 0; c->partial && i < envs; i++) (*out)[i].has &= HAS_TRAIN;
    if (!c->partial) {
        grid_groups(p, envs, out, n);
        map_groups(p, envs, out, n);
        file_groups(p, root, c, THEORY_CURVE, HAS_CURVE, out, n);
        file_groups(p, root, c, OVERHEAD, HAS_OVERHEAD, out, n);
        file_groups(p, root, c, SCALING, HAS_SCALING, out, n);
    }
    tidy_names(p, *out, *n);
    return FGSF_OK;
}
