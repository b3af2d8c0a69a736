// Reduces the runs of an arm to scores per seed and task, and to seed-averaged curves. Everything
// random comes from the same stream, so the same runs give the same numbers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define GRID 101            // points of a training curve
#define BINS 100            // points of a diagnostic curve
#define BAND_RESAMPLES 1000 // per point of a curve; single numbers use the library's default

// Where the score of an evaluated episode stands, NULL for scores of training.
static const struct {
    const char *title, *column;
} METRICS[] = {
    {"cumulative reward", NULL},    {"discounted return", "discounted_return"},
    {"success", "success"},         {"steps to the goal", "steps"},
    {"final return", "return"},     {"zero-shot return", "return"},
    {"area under the curve", NULL},
};

const char *metric_title(enum metric metric) {
    return METRICS[metric].title;
}

// ---- intervals ----------------------------------------------------------------------------------

static fgsf_rng stats_rng(void) {
    return fgsf_rng_make(0, FGSF_STREAM_STATS);
}

fgsf_status mean_interval(const scores *in, fgsf_stats_interval *out) {
    fgsf_stats_bootstrap_params params = fgsf_stats_bootstrap_default_params();
    fgsf_rng rng = stats_rng();
    return fgsf_stats_mean_interval(&in->s, &params, &rng, out);
}

fgsf_status iqm_interval(const scores *in, fgsf_stats_interval *out) {
    fgsf_stats_bootstrap_params params = fgsf_stats_bootstrap_default_params();
    fgsf_rng rng = stats_rng();
    return fgsf_stats_iqm_interval(&in->s, &params, &rng, out);
}

static fgsf_status band(const double *x, size_t seeds, fgsf_stats_interval *out) {
    fgsf_stats_scores s = {.x = x, .seeds = seeds, .tasks = 1};
    fgsf_stats_bootstrap_params params = fgsf_stats_bootstrap_default_params();
    fgsf_rng rng = stats_rng();
    params.resamples = BAND_RESAMPLES;
    return fgsf_stats_mean_interval(&s, &params, &rng, out);
}

// ---- tasks and protocols ------------------------------------------------------------------------

static bool is_held_out(const char *task) {
    return task[0] == 'h';
}

static int compare_tasks(const void *a, const void *b) {
    const char *x = *(const char *const *)a;
    const char *y = *(const char *const *)b;
    long i = strtol(x + is_held_out(x), NULL, 10);
    long j = strtol(y + is_held_out(y), NULL, 10);
    return i != j ? (i > j) - (i < j) : strcmp(x, y);
}

static void sort_tasks(names *tasks) {
    if (tasks->n) qsort(tasks->v, tasks->n, sizeof *tasks->v, compare_tasks);
}

enum { EVAL_TASK, EVAL_REWARD, EVAL_EPSILON, EVAL_SCORE, EVAL_COLUMNS };

// Finds the columns that a metric needs. Only the discounted return may be missing: evaluations that
// are older than it do not have it.
static fgsf_status eval_columns(const csv *t, enum metric metric, size_t *cols, bool *there) {
    const char *const NAMES[] = {"task", "reward_model", "epsilon", METRICS[metric].column};
    *there = t->rows > 0 && (metric != DISCOUNTED || csv_find(t, NAMES[EVAL_SCORE], NULL));
    return *there ? csv_need(t, NAMES, EVAL_COLUMNS, cols) : FGSF_OK;
}

static fgsf_status protocol_name(pool *p, const char *reward, double epsilon, const char **out) {
    return pool_printf(p, out, "%s, epsilon %g", reward, epsilon);
}

static fgsf_status row_protocol(pool *p, const csv *t, size_t row, const size_t *cols,
                                const char **out) {
    double epsilon = 0;
    TRY(csv_number(t, row, cols[EVAL_EPSILON], &epsilon));
    return protocol_name(p, csv_text(t, row, cols[EVAL_REWARD]), epsilon, out);
}

// If the configuration says nothing: the agent's own reward model before the true one, and no
// exploration before some. The names sort that way: "learned" < "ridge" < "true", then epsilon.
static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The protocol of the configuration; where its reward is not among those found (the values of DQN
// contain the reward, so its episodes are all "learned"), the first one with the same epsilon.
static fgsf_status add_configured(pool *p, const run *r, const names *found, names *out) {
    static const char *const REWARDS[] = {"learned", "true", "ridge"};
    const char *name = NULL;
    TRY(protocol_name(p, r->eval_reward, r->eval_epsilon, &name));
    for (size_t i = 0; i < 3 && !names_find(found, name, NULL); i++) {
        TRY(protocol_name(p, REWARDS[i], r->eval_epsilon, &name));
    }
    return names_find(found, name, NULL) ? names_add(p, out, name) : FGSF_OK;
}

fgsf_status protocols_of(pool *p, const arm *a, enum metric metric, names *out) {
    names found = {0};
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->eval;
        size_t cols[EVAL_COLUMNS];
        bool there = false;
        TRY(eval_columns(t, metric, cols, &there));
        for (size_t row = 0; row < t->rows && there; row++) {
            const char *name = NULL;
            if (is_held_out(csv_text(t, row, cols[EVAL_TASK])) != (metric == ZERO_SHOT)) continue;
            TRY(row_protocol(p, t, row, cols, &name));
            TRY(names_add(p, &found, name));
        }
    }
    if (found.n == 0) return FGSF_OK;
    qsort(found.v, found.n, sizeof *found.v, compare_text);
    const run *first = arm_example(a);
    if (first->eval_reward && !isnan(first->eval_epsilon)) {
        TRY(add_configured(p, first, &found, out));
    }
    for (size_t i = 0; i < found.n; i++) TRY(names_add(p, out, found.v[i]));
    return FGSF_OK;
}

// ---- scores -------------------------------------------------------------------------------------

static fgsf_status make_scores(pool *p, const arm *a, const names *tasks, scores *out, double **x) {
    long *seed = NULL;
    TRY(pool_get(p, a->nruns * tasks->n, sizeof **x, x));
    TRY(pool_get(p, a->nruns, sizeof *seed, &seed));
    *out = (scores){.s = {.x = *x, .tasks = tasks->n}, .tasks = *tasks, .seed = seed};
    return FGSF_OK;
}

static void add_seed(scores *out, long seed) {
    ((long *)out->seed)[out->s.seeds++] = seed;
}

// Mean score per task of one run's episodes under the protocol, into x (tasks); NAN where a summary
// has none.
static fgsf_status run_means(pool *p, const csv *t, enum metric metric, const size_t *cols,
                             const names *tasks, const char *protocol, double *x) {
    size_t *episodes = NULL;
    TRY(pool_get(p, tasks->n, sizeof *episodes, &episodes));
    for (size_t row = 0; row < t->rows; row++) {
        size_t task = 0;
        const char *name = NULL;
        double value = 0;
        TRY(row_protocol(p, t, row, cols, &name));
        TRY(metric == DISCOUNTED ? csv_maybe(t, row, cols[EVAL_SCORE], &value)
                                 : csv_number(t, row, cols[EVAL_SCORE], &value));
        if (strcmp(name, protocol) != 0) continue;
        if (!names_find(tasks, csv_text(t, row, cols[EVAL_TASK]), &task)) continue;
        x[task] += value;
        episodes[task]++;
    }
    for (size_t i = 0; i < tasks->n; i++) {
        if (episodes[i] == 0) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: no episode of task %s (%s)", t->path,
                             tasks->v[i], protocol);
        }
        x[i] /= (double)episodes[i];
    }
    return FGSF_OK;
}

static fgsf_status eval_tasks(pool *p, const arm *a, enum metric metric, const char *protocol,
                              names *out) {
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->eval;
        size_t cols[EVAL_COLUMNS];
        bool there = false;
        TRY(eval_columns(t, metric, cols, &there));
        for (size_t row = 0; row < t->rows && there; row++) {
            const char *task = csv_text(t, row, cols[EVAL_TASK]);
            const char *name = NULL;
            TRY(row_protocol(p, t, row, cols, &name));
            if (is_held_out(task) != (metric == ZERO_SHOT) || strcmp(name, protocol) != 0) continue;
            TRY(names_add(p, out, task));
        }
    }
    sort_tasks(out);
    return FGSF_OK;
}

fgsf_status scores_under(pool *p, const arm *a, enum metric metric, const char *protocol,
                         scores *out) {
    names tasks = {0};
    double *x = NULL;
    TRY(eval_tasks(p, a, metric, protocol, &tasks));
    TRY(make_scores(p, a, &tasks, out, &x));
    out->protocol = protocol;
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->eval;
        double *mine = x + out->s.seeds * tasks.n;
        size_t cols[EVAL_COLUMNS];
        bool there = false;
        TRY(eval_columns(t, metric, cols, &there));
        if (!there) continue;
        memset(mine, 0, tasks.n * sizeof *mine);
        TRY(run_means(p, t, metric, cols, &tasks, protocol, mine));
        for (size_t k = 0; k < tasks.n; k++) there = there && !isnan(mine[k]);
        if (there) add_seed(out, a->runs[i]->seed);
    }
    return FGSF_OK;
}

// ---- training curves ----------------------------------------------------------------------------

static fgsf_status train_columns(const csv *t, size_t *task, size_t *step, size_t *reward) {
    static const char *const NAMES[] = {"task", "task_step", "cum_reward"};
    size_t cols[3];
    TRY(csv_need(t, NAMES, 3, cols));
    *task = cols[0];
    *step = cols[1];
    *reward = cols[2];
    return FGSF_OK;
}

fgsf_status train_tasks(pool *p, const arm *a, names *out) {
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = a->runs[i]->summary_only ? &a->runs[i]->ends : &a->runs[i]->train;
        static const char *const NAME[] = {"task"};
        size_t task = 0;
        if (t->cols == 0) continue;
        TRY(csv_need(t, NAME, 1, &task));
        for (size_t row = 0; row < t->rows; row++) TRY(names_add(p, out, csv_text(t, row, task)));
    }
    sort_tasks(out);
    return FGSF_OK;
}

// One run's cumulative reward on one task against the steps spent on it, from (0, 0) on.
static fgsf_status run_curve(pool *p, const csv *t, const char *task, double **x, double **y,
                             size_t *n) {
    size_t task_col = 0;
    size_t step_col = 0;
    size_t reward_col = 0;
    TRY(train_columns(t, &task_col, &step_col, &reward_col));
    TRY(pool_get(p, t->rows + 1, sizeof **x, x));
    TRY(pool_get(p, t->rows + 1, sizeof **y, y));
    *n = 1;
    for (size_t row = 0; row < t->rows; row++) {
        double step = 0;
        double reward = 0;
        if (strcmp(csv_text(t, row, task_col), task) != 0) continue;
        TRY(csv_number(t, row, step_col, &step));
        TRY(csv_number(t, row, reward_col, &reward));
        if (step < (*x)[*n - 1]) {
            return csv_fail(t, row, step_col, "lies before the last row of the same task");
        }
        if (step > (*x)[*n - 1]) (*n)++; // else the later row of the same step replaces the earlier
        (*x)[*n - 1] = step;
        (*y)[*n - 1] = reward;
    }
    return FGSF_OK;
}

// One run's cumulative reward, or area under it per step, on one task.
static fgsf_status run_score(pool *p, const run *r, const char *task, enum metric metric,
                             double *out) {
    double *x = NULL;
    double *y = NULL;
    double area = 0;
    size_t n = 0;
    TRY(run_curve(p, &r->train, task, &x, &y, &n));
    if (n < 2) return fgsf_fail(FGSF_ERR_FORMAT, "%s: no steps of task %s", r->train.path, task);
    TRY(fgsf_stats_auc(x, y, n, &area));
    *out = metric == AREA ? area / x[n - 1] : y[n - 1];
    return FGSF_OK;
}

// The same of a run that has a summary only.
static fgsf_status end_score(const run *r, const char *task, enum metric metric, double *out) {
    const char *const NAMES[] = {"task", metric == AREA ? "area" : "cum_reward"};
    size_t cols[2];
    TRY(csv_need(&r->ends, NAMES, 2, cols));
    for (size_t row = 0; row < r->ends.rows; row++) {
        if (strcmp(csv_text(&r->ends, row, cols[0]), task) != 0) continue;
        return csv_number(&r->ends, row, cols[1], out);
    }
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: no task %s of %s seed %ld", r->dir, task, r->method,
                     r->seed);
}

static bool has_scores(const run *r, enum metric metric) {
    if (!r->summary_only) return r->train.rows > 0;
    return r->ends.rows > 0 && (metric != AREA || csv_find(&r->ends, "area", NULL));
}

static fgsf_status train_scores(pool *p, const arm *a, enum metric metric, scores *out) {
    names tasks = {0};
    double *score = NULL;
    TRY(train_tasks(p, a, &tasks));
    TRY(make_scores(p, a, &tasks, out, &score));
    for (size_t i = 0; i < a->nruns; i++) {
        const run *r = a->runs[i];
        if (!has_scores(r, metric)) continue;
        for (size_t k = 0; k < tasks.n; k++) {
            double *at = &score[out->s.seeds * tasks.n + k];
            TRY(r->summary_only ? end_score(r, tasks.v[k], metric, at)
                                : run_score(p, r, tasks.v[k], metric, at));
        }
        add_seed(out, r->seed);
    }
    return FGSF_OK;
}

fgsf_status scores_of(pool *p, const arm *a, enum metric metric, scores *out) {
    names protocols = {0};
    if (metric == CUMULATIVE || metric == AREA) return train_scores(p, a, metric, out);
    TRY(protocols_of(p, a, metric, &protocols));
    *out = (scores){0};
    return protocols.n ? scores_under(p, a, metric, protocols.v[0], out) : FGSF_OK;
}

fgsf_status scores_tasks(pool *p, const scores *in, size_t first, size_t last, scores *out) {
    double *x = NULL;
    size_t n = last - first;
    TRY(pool_get(p, in->s.seeds * n, sizeof *x, &x));
    for (size_t i = 0; i < in->s.seeds; i++) {
        memcpy(x + i * n, in->s.x + i * in->s.tasks + first, n * sizeof *x);
    }
    *out = *in;
    out->s.x = x;
    out->s.tasks = n;
    return FGSF_OK;
}

// Four Rooms has five rewards, so that its sixth task repeats the first.
size_t parts_of(const group *g, size_t tasks, part out[MAX_PARTS]) {
    size_t distinct = strcmp(g->env, "four_rooms") == 0 && tasks > 5 ? 5 : tasks;
    size_t n = 0;
    out[n++] = (part){"all", 0, tasks};
    if (tasks < 2) return n;
    out[n++] = (part){"first", 0, 1};
    out[n++] = (part){"later", 1, distinct};
    if (tasks > distinct) out[n++] = (part){"repeated", distinct, tasks};
    return n;
}

bool scores_comparable(const scores *a, const scores *b) {
    if (a->s.seeds == 0 || b->s.seeds == 0 || a->tasks.n != b->tasks.n) return false;
    for (size_t i = 0; i < a->tasks.n; i++) {
        if (strcmp(a->tasks.v[i], b->tasks.v[i]) != 0) return false;
    }
    return true;
}

static double interpolate(const double *x, const double *y, size_t n, double at) {
    size_t i = 1;
    while (i + 1 < n && x[i] < at) i++;
    return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
}

static fgsf_status curve_alloc(pool *p, size_t n, curve *out) {
    out->n = n;
    TRY(pool_get(p, n, sizeof *out->x, &out->x));
    return pool_get(p, n, sizeof *out->y, &out->y);
}

fgsf_status cumulative_curve(pool *p, const arm *a, const char *task, curve *out) {
    double **x = NULL;
    double **y = NULL;
    double *at = NULL;
    size_t *n = NULL;
    size_t seeds = 0;
    double end = INFINITY;
    TRY(pool_get(p, a->nruns, sizeof *x, &x));
    TRY(pool_get(p, a->nruns, sizeof *y, &y));
    TRY(pool_get(p, a->nruns, sizeof *n, &n));
    TRY(pool_get(p, a->nruns, sizeof *at, &at));
    for (size_t i = 0; i < a->nruns; i++) {
        if (a->runs[i]->train.rows == 0) continue;
        TRY(run_curve(p, &a->runs[i]->train, task, &x[seeds], &y[seeds], &n[seeds]));
        if (n[seeds] < 2) continue; // has not got there yet
        end = fmin(end, x[seeds][n[seeds] - 1]);
        seeds++;
    }
    *out = (curve){0};
    if (seeds == 0) return FGSF_OK;
    TRY(curve_alloc(p, GRID, out));
    out->seeds = seeds;
    for (size_t k = 0; k < GRID; k++) {
        out->x[k] = end * (double)k / (GRID - 1);
        for (size_t i = 0; i < seeds; i++) at[i] = interpolate(x[i], y[i], n[i], out->x[k]);
        TRY(band(at, seeds, &out->y[k]));
    }
    return FGSF_OK;
}

// Averages the column of one run in bins of steps up to `last`; a bin without values stays NAN.
static fgsf_status bin_run(const csv *t, const char *column, double last, double *bins) {
    const char *const needed[] = {"step", column};
    size_t cols[2];
    size_t count[BINS] = {0};
    double sum[BINS] = {0};
    TRY(csv_need(t, needed, 2, cols));
    for (size_t row = 0; row < t->rows; row++) {
        double step = 0;
        double value = 0;
        TRY(csv_number(t, row, cols[0], &step));
        TRY(csv_maybe(t, row, cols[1], &value));
        if (isnan(value) || step < 0) continue;
        size_t bin = (size_t)(BINS * fmax(0.0, ceil(step) - 0.5) / fmax(last, 1.0));
        bin = bin < BINS ? bin : BINS - 1;
        sum[bin] += value;
        count[bin]++;
    }
    for (size_t i = 0; i < BINS; i++) bins[i] = count[i] ? sum[i] / (double)count[i] : NAN;
    return FGSF_OK;
}

static fgsf_status last_step(const arm *a, double *out) {
    static const char *const NAME[] = {"step"};
    *out = 0;
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->train;
        size_t col = 0;
        if (t->rows == 0) continue;
        TRY(csv_need(t, NAME, 1, &col));
        for (size_t row = 0; row < t->rows; row++) {
            double step = 0;
            TRY(csv_number(t, row, col, &step));
            *out = fmax(*out, step);
        }
    }
    return FGSF_OK;
}

fgsf_status diagnostic_curve(pool *p, const arm *a, const char *column, bool geometric,
                             curve *out) {
    double *bins = NULL; // (runs, BINS)
    double last = 0;
    size_t runs = 0;
    *out = (curve){0};
    TRY(last_step(a, &last));
    TRY(pool_get(p, a->nruns * BINS, sizeof *bins, &bins));
    TRY(curve_alloc(p, BINS, out));
    out->n = 0;
    for (size_t i = 0; i < a->nruns; i++) {
        if (!csv_find(&a->runs[i]->train, column, NULL)) continue;
        TRY(bin_run(&a->runs[i]->train, column, last, bins + runs++ * BINS));
    }
    out->seeds = runs;
    for (size_t k = 0; k < BINS; k++) {
        double *values = NULL;
        size_t n = 0;
        TRY(pool_get(p, runs, sizeof *values, &values));
        for (size_t i = 0; i < runs; i++) {
            double value = bins[i * BINS + k];
            if (!isnan(value) && (!geometric || value > 0)) {
                values[n++] = geometric ? log(value) : value;
            }
        }
        if (n == 0) continue;
        fgsf_stats_interval *y = &out->y[out->n];
        out->x[out->n++] = last * ((double)k + 0.5) / BINS;
        TRY(band(values, n, y));
        if (geometric) *y = (fgsf_stats_interval){exp(y->value), exp(y->low), exp(y->high)};
    }
    return FGSF_OK;
}
