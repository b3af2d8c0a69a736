// Looks up the paper's published values and those of the authors' code as we ran it; NAN where
// there is none.
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "export.h"

static fgsf_status read_known(pool *p, const char *dir, const char *name, const char *const *cols,
                              size_t n, csv *out) {
    size_t found[8];
    const char *path = pool_printf(p, "%s/%s", dir, name);
    TRY(csv_read(p, path, out));
    return csv_need(out, cols, n, found);
}

fgsf_status paper_read(pool *p, const char *dir, paper_values *out) {
    static const char *const CUMULATIVE_COLS[] = {"env", "task", "method", "cum_reward_end"};
    static const char *const EVALUATION_COLS[] = {"env", "task", "method", "mean", "std"};
    static const char *const OVERHEAD_COLS[] = {"method", "mean_ms"};
    static const char *const HYPER_COLS[] = {"key", "four_rooms_paper", "reacher_paper",
                                             "pointmaze_paper"};
    static const char *const CODE_COLS[] = {"env",  "method",         "lr",
                                            "task", "cum_reward_end", "eval_mean"};
    struct stat info;
    *out = (paper_values){0};
    if (stat(dir, &info) != 0 && errno == ENOENT) return FGSF_OK;
    TRY(read_known(p, dir, "cumulative_reward.csv", CUMULATIVE_COLS, 4, &out->cumulative));
    TRY(read_known(p, dir, "final_evaluation.csv", EVALUATION_COLS, 5, &out->evaluation));
    TRY(read_known(p, dir, "overhead.csv", OVERHEAD_COLS, 2, &out->overhead));
    TRY(read_known(p, dir, "hyperparameters.csv", HYPER_COLS, 4, &out->hyper));
    return read_known(p, dir, "authors_code.csv", CODE_COLS, 6, &out->code);
}

static bool matches(const csv *t, size_t row, const char *column, const char *value) {
    size_t col = 0;
    return csv_find(t, column, &col) && strcmp(csv_text(t, row, col), value) == 0;
}

// Numbers of these files are optional: NAN when the field is empty or not a number.
static double number_at(const csv *t, size_t row, const char *column) {
    size_t col = 0;
    double value = NAN;
    if (!csv_find(t, column, &col) || csv_maybe(t, row, col, &value) != FGSF_OK) return NAN;
    return value;
}

static bool find_row(const csv *t, const char *env, const char *method, const char *task,
                     size_t *row) {
    for (*row = 0; *row < t->rows; (*row)++) {
        if (matches(t, *row, "env", env) && matches(t, *row, "method", method) &&
            matches(t, *row, "task", task)) {
            return true;
        }
    }
    return false;
}

double paper_cumulative(const paper_values *ref, const group *g, const char *method,
                        const char *task) {
    const char *name = method_paper_name(method);
    size_t row = 0;
    if (!name || !find_row(&ref->cumulative, g->paper_env, name, task, &row)) return NAN;
    return number_at(&ref->cumulative, row, "cum_reward_end");
}

double paper_return(const paper_values *ref, const group *g, const char *method, const char *task,
                    double *std) {
    const char *name = method_paper_name(method);
    size_t row = 0;
    if (std) *std = NAN;
    if (!name || !find_row(&ref->evaluation, g->paper_env, name, task, &row)) return NAN;
    if (std) *std = number_at(&ref->evaluation, row, "std");
    return number_at(&ref->evaluation, row, "mean");
}

// Whether the run is one of the paper's, but perhaps for the layout and the number of steps.
static bool is_published(pool *p, const run *r) {
    names changes = {0};
    if (!r->preset || strcmp(r->preset, "compat") != 0 || !r->changed) return false;
    changes_of(p, r, &changes);
    for (size_t i = 0; i < changes.n; i++) {
        if (strncmp(changes.v[i], "train.steps_per_task=", 21) != 0 &&
            strncmp(changes.v[i], "env.layout=", 11) != 0) {
            return false;
        }
    }
    return true;
}

bool paper_scale(pool *p, const paper_values *ref, const group *g, const arm *a) {
    static const char *const ENVS[] = {"four_rooms", "reacher", "pointmaze"};
    if (a->nruns == 0 || a->cell || !is_published(p, arm_example(a))) return false;
    for (size_t i = 0; i < sizeof ENVS / sizeof ENVS[0]; i++) {
        char column[32];
        snprintf(column, sizeof column, "%s_paper", ENVS[i]);
        if (strncmp(g->paper_env, ENVS[i], strlen(ENVS[i])) != 0) continue;
        for (size_t row = 0; row < ref->hyper.rows; row++) {
            if (!matches(&ref->hyper, row, "key", "steps_shown")) continue;
            return number_at(&ref->hyper, row, column) == arm_example(a)->steps_per_task;
        }
    }
    return false;
}

// The overhead table calls the three algorithms FGSFDQN_alg1 to FGSFDQN_alg3.
double paper_milliseconds(const paper_values *ref, const char *method) {
    static const char *const ALGORITHMS[][2] = {{"fg-sfrql", "FGSFDQN_alg1"},
                                                {"fg-sfrql-random", "FGSFDQN_alg2"},
                                                {"fg-sfrql-average", "FGSFDQN_alg3"}};
    const char *name = method_paper_name(method);
    for (size_t i = 0; i < sizeof ALGORITHMS / sizeof ALGORITHMS[0]; i++) {
        if (strcmp(ALGORITHMS[i][0], method) == 0) name = ALGORITHMS[i][1];
    }
    for (size_t row = 0; name && row < ref->overhead.rows; row++) {
        if (matches(&ref->overhead, row, "method", name)) {
            return number_at(&ref->overhead, row, "mean_ms");
        }
    }
    return NAN;
}

double code_value(const paper_values *ref, const char *env, const char *method, const char *task,
                  double lr, const char *column) {
    const csv *t = &ref->code;
    double nearest = NAN, sum = 0;
    size_t n = 0;
    for (size_t row = 0; row < t->rows && !isnan(lr); row++) {
        double rate = number_at(t, row, "lr");
        double value = number_at(t, row, column);
        if (!matches(t, row, "env", env) || !matches(t, row, "method", method) ||
            !matches(t, row, "task", task) || isnan(rate) || isnan(value)) {
            continue;
        }
        bool closer = isnan(nearest) || fabs(log(rate / lr)) < fabs(log(nearest / lr));
        if (closer) {
            nearest = rate;
            sum = 0;
            n = 0;
        }
        if (rate == nearest) {
            sum += value;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}
