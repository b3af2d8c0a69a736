// Looks up the paper's published values and those of the authors' code as we ran it; NAN where
// there is none.
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "export.h"

fgsf_status paper_read(const char *dir, paper_values *out) {
    const struct {
        const char *name, *columns;
        csv *to;
    } files[] = {
        {"cumulative_reward.csv", "env,task,method,cum_reward_end", &out->cumulative},
        {"final_evaluation.csv", "env,task,method,mean,std", &out->evaluation},
        {"overhead.csv", "method,mean_ms", &out->overhead},
        {"hyperparameters.csv", "key,four_rooms_paper,reacher_paper,pointmaze_paper", &out->hyper},
        {"authors_code.csv", "env,method,lr,task,cum_reward_end,eval_mean", &out->code},
    };
    struct stat info;
    size_t cols[8];
    if (stat(dir, &info) != 0 && errno == ENOENT) return FGSF_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        TRY(csv_read(pool_printf("%s/%s", dir, files[i].name), files[i].to));
        TRY(csv_need(files[i].to, files[i].columns, cols));
    }
    return FGSF_OK;
}

// What the columns of a row must hold; ends with an empty pair.
typedef const char *const condition[2];

static bool is_row(const csv *t, size_t row, condition *where) {
    size_t col = 0;
    for (; (*where)[0]; where++) {
        if (!csv_find(t, (*where)[0], &col) || strcmp(csv_text(t, row, col), (*where)[1]) != 0) {
            return false;
        }
    }
    return true;
}

// Numbers of these files are optional: NAN when the field is empty or not a number.
static double number_at(const csv *t, size_t row, const char *column) {
    size_t col = 0;
    double value = NAN;
    if (!csv_find(t, column, &col) || csv_maybe(t, row, col, &value) != FGSF_OK) return NAN;
    return value;
}

// The number in the first row for which the conditions hold.
static double find_number(const csv *t, condition *where, const char *column) {
    size_t row = 0;
    while (row < t->rows && !is_row(t, row, where)) row++;
    return row < t->rows ? number_at(t, row, column) : NAN;
}

double paper_value(const csv *t, const group *g, const arm *a, const char *task,
                   const char *column) {
    const char *method = method_paper_name(a->method);
    if (*a->cell || !method) return NAN;
    condition where[] = {{"env", g->paper_env}, {"method", method}, {"task", task}, {0}};
    return find_number(t, where, column);
}

// Whether the run is one of the paper's, but perhaps for the layout and the number of steps.
static bool is_published(const run *r) {
    if (strcmp(r->preset, "compat") != 0 || !r->changed) return false;
    for (size_t i = 0; i < r->changes.n; i++) {
        if (strncmp(r->changes.v[i], "train.steps_per_task=", 21) != 0 &&
            strncmp(r->changes.v[i], "env.layout=", 11) != 0) {
            return false;
        }
    }
    return true;
}

bool paper_scale(const paper_values *ref, const group *g, const arm *a) {
    static const char *const ENVS[] = {"four_rooms", "reacher", "pointmaze"};
    condition where[] = {{"key", "steps_shown"}, {0}};
    if (!a->example || *a->cell || !is_published(a->example)) return false;
    for (size_t i = 0; i < sizeof ENVS / sizeof ENVS[0]; i++) {
        if (strncmp(g->paper_env, ENVS[i], strlen(ENVS[i])) != 0) continue;
        const char *column = pool_printf("%s_paper", ENVS[i]);
        return find_number(&ref->hyper, where, column) == a->example->steps_per_task;
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
    condition where[] = {{"method", name}, {0}};
    return name ? find_number(&ref->overhead, where, "mean_ms") : NAN;
}

double code_value(const paper_values *ref, const group *g, const arm *a, const char *task,
                  const char *column) {
    condition where[] = {{"env", g->env}, {"method", a->method}, {"task", task}, {0}};
    double lr = a->example->lr, nearest = INFINITY, sum = 0;
    size_t n = 0;
    for (size_t row = 0; row < ref->code.rows && !*a->cell; row++) {
        double rate = number_at(&ref->code, row, "lr");
        double value = number_at(&ref->code, row, column);
        if (isnan(value) || !is_row(&ref->code, row, where)) continue;
        if (fabs(log(rate / lr)) < fabs(log(nearest / lr))) {
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
