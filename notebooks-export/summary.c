// Runs of which only their rows in a summary.csv are left: the results that are kept when run
// directories are not. They have scores and no curves or pictures. A run's rows stand together.
#include <math.h>
#include <string.h>

#include "fgsf/config.h"

#include "export.h"

enum {
    ENV,
    METHOD,
    CELL,
    SEED,
    STATUS,
    TASK,
    REWARD,
    MODEL,
    RETURN_MEAN,
    STEPS,
    SECONDS,
    HASH,
    MESSAGE,
    COLUMNS
};
static const char *const NAMES[COLUMNS] = {
    "env",          "method",      "cell",  "seed",    "status",      "task",   "cum_reward",
    "reward_model", "eval_return", "steps", "seconds", "config_hash", "message"};

static bool same_run(const csv *t, size_t a, size_t b, const size_t *cols) {
    for (size_t k = ENV; k <= SEED; k++) {
        if (strcmp(csv_text(t, a, cols[k]), csv_text(t, b, cols[k])) != 0) return false;
    }
    return true;
}

// The rows [first, last) in which column `col` says something, as a table of their own.
static fgsf_status select_rows(pool *p, const csv *t, size_t first, size_t last, size_t col,
                               csv *out) {
    *out = (csv){.path = t->path, .cols = t->cols, .name = t->name};
    out->field = pool_get(p, last - first, sizeof *out->field);
    out->line = pool_get(p, last - first, sizeof *out->line);
    for (size_t row = first; row < last; row++) {
        if (*csv_text(t, row, col) == '\0') continue;
        out->field[out->rows] = t->field[row];
        out->line[out->rows++] = t->line[row];
    }
    return FGSF_OK;
}

// Gives the means of a summary the names that eval.csv has for single episodes.
static fgsf_status rename_means(pool *p, csv *t) {
    static const char *const FROM[] = {"steps",          "eval_return",     "eval_success",
                                       "eval_steps",     "eval_discounted", "eval_overestimation",
                                       "eval_action_gap"};
    static char *const TO[] = {"all_steps",         "return",         "success",   "steps",
                               "discounted_return", "overestimation", "action_gap"};
    char **renamed = pool_get(p, t->cols, sizeof *renamed);
    for (size_t i = 0; i < t->cols; i++) {
        renamed[i] = t->name[i];
        for (size_t k = 0; k < sizeof TO / sizeof TO[0]; k++) {
            if (strcmp(t->name[i], FROM[k]) == 0) renamed[i] = TO[k];
        }
    }
    t->name = renamed;
    return FGSF_OK;
}

// Whether run r has its directory in the summary's folder or below.
static bool lies_below(const run *r, const csv *t) {
    size_t folder = (size_t)(strrchr(t->path, '/') - t->path);
    return strncmp(r->dir, t->path, folder) == 0 &&
           (r->dir[folder] == '/' || r->dir[folder] == '\0');
}

static bool is_same(const run *a, const run *b) {
    return strcmp(a->env, b->env) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->cell ? a->cell : "", b->cell ? b->cell : "") == 0 && a->seed == b->seed;
}

// Which run the row is about.
static fgsf_status read_identity(pool *p, const csv *t, size_t row, const size_t *cols, run *r) {
    double seed = 0;
    TRY(csv_number(t, row, cols[SEED], &seed));
    if (!(seed >= 0 && seed <= FGSF_SEED_MAX && seed == floor(seed))) {
        return csv_fail(t, row, cols[SEED], "is not a whole number from 0 on");
    }
    for (size_t k = ENV; k <= STATUS; k++) {
        if (k != CELL && *csv_text(t, row, cols[k]) == '\0') {
            return csv_fail(t, row, cols[k], "is empty");
        }
    }
    r->dir = pool_printf(p, "%s:%zu", t->path, t->line[row]);
    r->env = csv_text(t, row, cols[ENV]);
    r->method = csv_text(t, row, cols[METHOD]);
    r->cell = *csv_text(t, row, cols[CELL]) ? csv_text(t, row, cols[CELL]) : NULL;
    r->status = csv_text(t, row, cols[STATUS]);
    r->seed = (long)seed;
    return FGSF_OK;
}

static fgsf_status read_results(pool *p, const csv *t, size_t first, size_t last,
                                const size_t *cols, run *r) {
    double steps = 0;
    TRY(csv_number(t, first, cols[STEPS], &steps));
    TRY(csv_number(t, first, cols[SECONDS], &r->seconds));
    if (strcmp(r->status, "done") != 0) return FGSF_OK;
    if (*csv_text(t, first, cols[MESSAGE])) {
        return csv_fail(t, first, cols[MESSAGE], "leaves the row's results in doubt");
    }
    TRY(select_rows(p, t, first, last, cols[REWARD], &r->ends));
    TRY(select_rows(p, t, first, last, cols[MODEL], &r->eval));
    TRY(rename_means(p, &r->eval));
    names tasks = {0};
    for (size_t i = 0; i < r->ends.rows; i++) {
        names_add(p, &tasks, csv_text(&r->ends, i, cols[TASK]));
    }
    if (tasks.n && isnan(r->steps_per_task)) r->steps_per_task = steps / (double)tasks.n;
    return FGSF_OK;
}

// Reads what the run was, in the columns that later summaries have.
static fgsf_status read_settings(pool *p, const csv *t, size_t row, const size_t *cols, run *r) {
    size_t preset = 0, changed = 0;
    bool known = csv_find(t, "preset", &preset) && csv_find(t, "changed", &changed);
    if (!known || *csv_text(t, row, preset) == '\0') {
        r->hash = csv_text(t, row, cols[HASH]);
        return FGSF_OK;
    }
    r->preset = csv_text(t, row, preset);
    r->changed = csv_text(t, row, changed);
    return run_configure(p, r);
}

// What an older summary does not say, the runs below its folder do: one study, so the same.
static void take_settings(const run *from, run *r) {
    const char *cell = r->cell ? r->cell : "";
    r->layout = from->layout;
    r->preset = from->preset;
    if (strcmp(cell, from->cell ? from->cell : "") == 0) r->changed = from->changed;
    r->eval_reward = from->eval_reward;
    r->eval_epsilon = from->eval_epsilon;
}

fgsf_status summary_read(pool *p, const char *path, corpus *out) {
    csv t;
    size_t cols[COLUMNS];
    TRY(csv_read(p, path, &t));
    TRY(csv_need(&t, NAMES, COLUMNS, cols));
    size_t directories = out->nruns;
    for (size_t first = 0, last = 0; first < t.rows; first = last) {
        run r = {.summary_only = true, .lr = NAN, .steps_per_task = NAN, .eval_epsilon = NAN};
        bool known = false;
        for (last = first + 1; last < t.rows && same_run(&t, first, last, cols);) last++;
        if (strcmp(csv_text(&t, first, cols[STATUS]), "unreadable") == 0 ||
            strcmp(csv_text(&t, first, cols[STATUS]), "damaged") == 0) {
            continue;
        }
        TRY(read_identity(p, &t, first, cols, &r));
        for (size_t i = 0; i < directories && !known; i++) {
            const run *other = &out->runs[i];
            if (!lies_below(other, &t) || strcmp(r.env, other->env) != 0) continue;
            known = is_same(&r, other);
            take_settings(other, &r);
        }
        if (known) continue;
        TRY(read_settings(p, &t, first, cols, &r));
        TRY(read_results(p, &t, first, last, cols, &r));
        pool_push(p, &out->runs, &out->nruns, &r, sizeof r);
    }
    return FGSF_OK;
}
