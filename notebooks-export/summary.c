// Runs of which only their rows in a summary.csv are left: the results that are kept when run
// directories are not. They have scores and no curves or pictures. A run's rows stand together.
#include <math.h>
#include <string.h>

#include "fgsf/config.h"

#include "export.h"

// The columns that every summary has, in the order of their names.
enum { ENV, METHOD, CELL, SEED, STATUS, TASK, REWARD, MODEL, MEAN, STEPS, SECONDS, HASH, MESSAGE };
#define COLUMNS (MESSAGE + 1)
static const char NAMES[] = "env,method,cell,seed,status,task,cum_reward,reward_model,eval_return,"
                            "steps,seconds,config_hash,message";

static bool same_run(const csv *t, size_t a, size_t b, const size_t *cols) {
    for (size_t k = ENV; k <= SEED; k++) {
        if (strcmp(csv_text(t, a, cols[k]), csv_text(t, b, cols[k])) != 0) return false;
    }
    return true;
}

// The rows [first, last) in which column `col` says something, as a table of their own.
static csv select_rows(const csv *t, size_t first, size_t last, size_t col) {
    csv out = {.path = t->path, .columns = t->columns};
    for (size_t row = first; row < last; row++) {
        if (*csv_text(t, row, col)) pool_push(&out.row, &out.rows, &t->row[row], sizeof *out.row);
    }
    return out;
}

// Gives the means of a summary the names that eval.csv has for single episodes.
static void rename_means(csv *t) {
    static const char *const MEANS[][2] = {{"steps", "all_steps"},
                                           {"eval_return", "return"},
                                           {"eval_success", "success"},
                                           {"eval_steps", "steps"},
                                           {"eval_discounted", "discounted_return"},
                                           {"eval_overestimation", "overestimation"},
                                           {"eval_action_gap", "action_gap"}};
    names renamed = {0};
    for (size_t i = 0; i < t->columns.n; i++) {
        const char *name = t->columns.v[i];
        for (size_t k = 0; k < sizeof MEANS / sizeof MEANS[0]; k++) {
            if (strcmp(t->columns.v[i], MEANS[k][0]) == 0) name = MEANS[k][1];
        }
        pool_push(&renamed.v, &renamed.n, &name, sizeof name);
    }
    t->columns = renamed;
}

// Whether run r has its directory in the summary's folder or below.
static bool lies_below(const run *r, const csv *t) {
    size_t folder = (size_t)(strrchr(t->path, '/') - t->path);
    return strncmp(r->dir, t->path, folder) == 0 &&
           (r->dir[folder] == '/' || r->dir[folder] == '\0');
}

static bool is_same(const run *a, const run *b) {
    return strcmp(a->env, b->env) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->cell, b->cell) == 0 && a->seed == b->seed;
}

// Which run the row is about.
static fgsf_status read_identity(const csv *t, size_t row, const size_t *cols, run *r) {
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
    r->dir = pool_printf("%s:%zu", t->path, t->row[row].line);
    r->env = csv_text(t, row, cols[ENV]);
    r->method = csv_text(t, row, cols[METHOD]);
    r->cell = csv_text(t, row, cols[CELL]);
    r->status = csv_text(t, row, cols[STATUS]);
    r->seed = (long)seed;
    return FGSF_OK;
}

static fgsf_status read_results(const csv *t, size_t first, size_t last, const size_t *cols,
                                run *r) {
    double steps = 0;
    TRY(csv_number(t, first, cols[STEPS], &steps));
    TRY(csv_number(t, first, cols[SECONDS], &r->seconds));
    if (strcmp(r->status, "done") != 0) return FGSF_OK;
    if (*csv_text(t, first, cols[MESSAGE])) {
        return csv_fail(t, first, cols[MESSAGE], "leaves the row's results in doubt");
    }
    r->ends = select_rows(t, first, last, cols[REWARD]);
    r->eval = select_rows(t, first, last, cols[MODEL]);
    rename_means(&r->eval);
    names tasks = {0};
    for (size_t i = 0; i < r->ends.rows; i++) {
        names_add(&tasks, csv_text(&r->ends, i, cols[TASK]));
    }
    if (tasks.n && isnan(r->steps_per_task)) r->steps_per_task = steps / (double)tasks.n;
    return FGSF_OK;
}

// Reads what the run was, in the columns that later summaries have.
static fgsf_status read_settings(const csv *t, size_t row, const size_t *cols, run *r) {
    size_t preset = 0, changed = 0;
    bool known = csv_find(t, "preset", &preset) && csv_find(t, "changed", &changed);
    if (!known || *csv_text(t, row, preset) == '\0') {
        r->hash = csv_text(t, row, cols[HASH]);
        return FGSF_OK;
    }
    r->preset = csv_text(t, row, preset);
    run_set_changed(r, csv_text(t, row, changed));
    return run_configure(r);
}

// What an older summary does not say, the runs below its folder do: one study, so the same.
static void take_settings(const run *from, run *r) {
    r->layout = from->layout;
    r->preset = from->preset;
    if (strcmp(r->cell, from->cell) == 0) {
        r->changed = from->changed;
        r->changes = from->changes;
    }
    r->eval_reward = from->eval_reward;
    r->eval_epsilon = from->eval_epsilon;
}

fgsf_status summary_read(const char *path, corpus *out) {
    csv t;
    size_t cols[COLUMNS];
    TRY(csv_read(path, &t));
    TRY(csv_need(&t, NAMES, cols));
    size_t directories = out->nruns;
    for (size_t first = 0, last = 0; first < t.rows; first = last) {
        run r = {.summary_only = true, .layout = "", .preset = "", .eval_reward = ""};
        r.lr = r.steps_per_task = r.eval_epsilon = NAN;
        bool known = false;
        for (last = first + 1; last < t.rows && same_run(&t, first, last, cols);) last++;
        if (strcmp(csv_text(&t, first, cols[STATUS]), "unreadable") == 0 ||
            strcmp(csv_text(&t, first, cols[STATUS]), "damaged") == 0) {
            continue;
        }
        TRY(read_identity(&t, first, cols, &r));
        for (size_t i = 0; i < directories && !known; i++) {
            const run *other = &out->runs[i];
            if (!lies_below(other, &t) || strcmp(r.env, other->env) != 0) continue;
            known = is_same(&r, other);
            take_settings(other, &r);
        }
        if (known) continue;
        TRY(read_settings(&t, first, cols, &r));
        TRY(read_results(&t, first, last, cols, &r));
        pool_push(&out->runs, &out->nruns, &r, sizeof r);
    }
    return FGSF_OK;
}
