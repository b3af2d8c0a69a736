// Runs of which only their rows in a summary.csv are left: the results that are kept when run directories
// are not. They have scores and no curves or pictures.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

enum { ENV, METHOD, CELL, SEED, STATUS, TASK, REWARD, MODEL, RETURN_MEAN, STEPS, SECONDS, COLUMNS };
static const char *const NAMES[COLUMNS] = {"env",         "method", "cell",       "seed",
                                           "status",      "task",   "cum_reward", "reward_model",
                                           "eval_return", "steps",  "seconds"};

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
    TRY(pool_get(p, last - first, sizeof *out->field, &out->field));
    TRY(pool_get(p, last - first, sizeof *out->line, &out->line));
    for (size_t row = first; row < last; row++) {
        if (*csv_text(t, row, col) == '\0') continue;
        out->field[out->rows] = t->field[row];
        out->line[out->rows++] = t->line[row];
    }
    return FGSF_OK;
}

// eval.csv calls the mean return of a summary's row `return`.
static fgsf_status rename_return(pool *p, csv *t, size_t col) {
    char **names = NULL;
    TRY(pool_get(p, t->cols, sizeof *names, &names));
    memcpy(names, t->name, t->cols * sizeof *names);
    names[col] = "return";
    t->name = names;
    return FGSF_OK;
}

// Whether the directory of the same run lies below the summary's folder.
static bool has_directory(const csv *t, size_t row, const size_t *cols, const run *r) {
    size_t folder = (size_t)(strrchr(t->path, '/') - t->path);
    return !r->summary_only && strncmp(r->dir, t->path, folder + 1) == 0 &&
           strcmp(r->env, csv_text(t, row, cols[ENV])) == 0 &&
           strcmp(r->method, csv_text(t, row, cols[METHOD])) == 0 &&
           strcmp(r->cell ? r->cell : "", csv_text(t, row, cols[CELL])) == 0 &&
           r->seed == strtol(csv_text(t, row, cols[SEED]), NULL, 10);
}

static fgsf_status make_run(pool *p, const csv *t, size_t first, size_t last, const size_t *cols,
                            run *r) {
    double seed = 0;
    double steps = 0;
    TRY(csv_number(t, first, cols[SEED], &seed));
    TRY(csv_number(t, first, cols[STEPS], &steps));
    TRY(csv_number(t, first, cols[SECONDS], &r->seconds));
    r->dir = t->path;
    r->env = csv_text(t, first, cols[ENV]);
    r->method = csv_text(t, first, cols[METHOD]);
    r->cell = *csv_text(t, first, cols[CELL]) ? csv_text(t, first, cols[CELL]) : NULL;
    r->status = csv_text(t, first, cols[STATUS]);
    r->seed = (long)seed;
    if (strcmp(r->status, "done") != 0) return FGSF_OK;
    TRY(select_rows(p, t, first, last, cols[REWARD], &r->ends));
    TRY(select_rows(p, t, first, last, cols[MODEL], &r->eval));
    TRY(rename_return(p, &r->eval, cols[RETURN_MEAN]));
    names tasks = {0};
    for (size_t i = 0; i < r->ends.rows; i++) {
        TRY(names_add(p, &tasks, csv_text(&r->ends, i, cols[TASK])));
    }
    if (tasks.n) r->steps_per_task = steps / (double)tasks.n;
    return FGSF_OK;
}

fgsf_status summary_read(pool *p, const char *path, corpus *out) {
    csv t;
    size_t cols[COLUMNS];
    TRY(csv_read(p, path, &t));
    TRY(csv_need(&t, NAMES, COLUMNS, cols));
    size_t directories = out->nruns;
    for (size_t first = 0, last = 0; first < t.rows; first = last) {
        bool known = *csv_text(&t, first, cols[ENV]) == '\0'; // a run that could not be read
        for (last = first + 1; last < t.rows && same_run(&t, first, last, cols);) last++;
        for (size_t i = 0; i < directories && !known; i++) {
            known = has_directory(&t, first, cols, &out->runs[i]);
        }
        if (known) continue;
        run r = {.summary_only = true, .lr = NAN, .steps_per_task = NAN, .eval_epsilon = NAN};
        TRY(make_run(p, &t, first, last, cols, &r));
        TRY(pool_push(p, &out->runs, &out->nruns, sizeof *out->runs));
        out->runs[out->nruns - 1] = r;
    }
    return FGSF_OK;
}
