// Reduces the runs of an arm to scores per seed and task, and to seed-averaged curves. Everything
// random comes from the same stream, so the same runs give the same numbers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define GRID 101            // points of a training curve
#define BINS 100            // points of a diagnostic curve
#define BAND_RESAMPLES 1000 // per point of a curve; single numbers use the library's default

// Where a score stands: in eval.csv, or at the end of a task in train.csv, which has no area yet. An
// optional one is missing in older runs, and where it does not apply.
static const struct {
    const char *title, *column;
    bool optional, of_training;
} METRICS[NMETRICS] = {
    [CUMULATIVE] = {"cumulative reward", "cum_reward", false, true},
    [DISCOUNTED] = {"discounted return", "discounted_return", true, false},
    [SUCCESS] = {"success", "success", false, false},
    [GOAL_STEPS] = {"steps to the goal", "steps", false, false},
    [RETURN] = {"final return", "return", false, false},
    [ZERO_SHOT] = {"zero-shot return", "return", false, false},
    [OVERESTIMATION] = {"overestimation", "overestimation", true, false},
    [ACTION_GAP] = {"action gap", "action_gap", true, false},
    [PSI_ERROR] = {"error of psi", "psi_error", true, true},
    [AREA] = {"area under the curve", "area", true, true},
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

static bool has_metric(const csv *t, enum metric metric) {
    bool lacks = METRICS[metric].optional && !csv_find(t, METRICS[metric].column, NULL);
    return t->rows > 0 && !lacks;
}

static const char *protocol_name(pool *p, const char *reward, double epsilon) {
    return pool_printf(p, "%s, epsilon %g", reward, epsilon);
}

// An episode of a run's evaluation, or the mean of several from a summary.
typedef struct episode {
    size_t run; // of the arm
    const char *task, *protocol;
    double score; // NAN where a summary has none
} episode;

// Lists the episodes that a metric is about, run by run.
static fgsf_status episodes_of(pool *p, const arm *a, enum metric metric, episode **out,
                               size_t *n) {
    const char *const NAMES[] = {"task", "reward_model", "epsilon", METRICS[metric].column};
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->eval;
        size_t cols[4];
        if (!has_metric(t, metric)) continue;
        TRY(csv_need(t, NAMES, 4, cols));
        for (size_t row = 0; row < t->rows; row++) {
            episode one = {.run = i, .task = csv_text(t, row, cols[0])};
            double epsilon = 0;
            TRY(csv_number(t, row, cols[2], &epsilon));
            TRY(METRICS[metric].optional ? csv_maybe(t, row, cols[3], &one.score)
                                         : csv_number(t, row, cols[3], &one.score));
            if (is_held_out(one.task) != (metric == ZERO_SHOT)) continue;
            one.protocol = protocol_name(p, csv_text(t, row, cols[1]), epsilon);
            pool_push(p, out, n, &one, sizeof one);
        }
    }
    return FGSF_OK;
}

// If the configuration says nothing: the agent's own reward model before the true one, and no
// exploration before some. The names sort that way: "learned" < "ridge" < "true", then epsilon.
static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The protocol of the configuration; where its reward is not among those found (the values of DQN
// contain the reward, so its episodes are all "learned"), the first one with the same epsilon.
static void add_configured(pool *p, const run *r, const names *found, names *out) {
    static const char *const REWARDS[] = {"learned", "true", "ridge"};
    const char *name = protocol_name(p, r->eval_reward, r->eval_epsilon);
    for (size_t i = 0; i < 3 && !names_find(found, name, NULL); i++) {
        name = protocol_name(p, REWARDS[i], r->eval_epsilon);
    }
    if (names_find(found, name, NULL)) names_add(p, out, name);
}

fgsf_status protocols_of(pool *p, const arm *a, enum metric metric, names *out) {
    names found = {0};
    episode *all = NULL;
    size_t n = 0;
    TRY(episodes_of(p, a, metric, &all, &n));
    for (size_t i = 0; i < n; i++) names_add(p, &found, all[i].protocol);
    if (n == 0) return FGSF_OK;
    qsort(found.v, found.n, sizeof *found.v, compare_text);
    const run *first = arm_example(a);
    if (first->eval_reward && !isnan(first->eval_epsilon)) add_configured(p, first, &found, out);
    for (size_t i = 0; i < found.n; i++) names_add(p, out, found.v[i]);
    return FGSF_OK;
}

// ---- scores -------------------------------------------------------------------------------------

// Makes room for the scores of all runs and returns it.
static double *make_scores(pool *p, const arm *a, const names *tasks, scores *out) {
    double *x = pool_get(p, a->nruns * tasks->n, sizeof *x);
    *out = (scores){.s = {.x = x, .tasks = tasks->n},
                    .tasks = *tasks,
                    .seed = pool_get(p, a->nruns, sizeof *out->seed)};
    return x;
}

static void add_seed(scores *out, long seed) {
    ((long *)out->seed)[out->s.seeds++] = seed;
}

// The mean score of these episodes on a task under a protocol; false when there is none.
static bool mean_score(const episode *episodes, size_t n, const char *task, const char *protocol,
                       double *out) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(episodes[i].task, task) != 0) continue;
        if (strcmp(episodes[i].protocol, protocol) != 0) continue;
        sum += episodes[i].score;
        count++;
    }
    *out = sum / (double)count;
    return count > 0;
}

fgsf_status scores_under(pool *p, const arm *a, enum metric metric, const char *protocol,
                         scores *out) {
    names tasks = {0};
    episode *all = NULL;
    size_t n = 0, first = 0, last = 0;
    TRY(episodes_of(p, a, metric, &all, &n));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].protocol, protocol) == 0) names_add(p, &tasks, all[i].task);
    }
    sort_tasks(&tasks);
    double *x = make_scores(p, a, &tasks, out);
    out->protocol = protocol;
    for (size_t i = 0; i < a->nruns; i++, first = last) {
        const csv *t = &a->runs[i]->eval;
        double *mine = x + out->s.seeds * tasks.n;
        bool there = has_metric(t, metric);
        while (last < n && all[last].run == i) last++;
        for (size_t k = 0; k < tasks.n && there; k++) {
            if (!mean_score(all + first, last - first, tasks.v[k], protocol, &mine[k])) {
                return fgsf_fail(FGSF_ERR_FORMAT, "%s: no episode of task %s (%s)", t->path,
                                 tasks.v[k], protocol);
            }
            there = !isnan(mine[k]);
        }
        if (there) add_seed(out, a->runs[i]->seed);
    }
    return FGSF_OK;
}

// ---- training curves ----------------------------------------------------------------------------

fgsf_status train_tasks(pool *p, const arm *a, names *out) {
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = a->runs[i]->summary_only ? &a->runs[i]->ends : &a->runs[i]->train;
        static const char *const NAME[] = {"task"};
        size_t task = 0;
        if (t->cols == 0) continue;
        TRY(csv_need(t, NAME, 1, &task));
        for (size_t row = 0; row < t->rows; row++) names_add(p, out, csv_text(t, row, task));
    }
    sort_tasks(out);
    return FGSF_OK;
}

// One run's cumulative reward on one task against the steps spent on it, from (0, 0) on.
static fgsf_status run_curve(pool *p, const csv *t, const char *task, double **x, double **y,
                             size_t *n) {
    static const char *const NAMES[] = {"task", "task_step", "cum_reward"};
    size_t cols[3];
    TRY(csv_need(t, NAMES, 3, cols));
    *x = pool_get(p, t->rows + 1, sizeof **x);
    *y = pool_get(p, t->rows + 1, sizeof **y);
    *n = 1;
    for (size_t row = 0; row < t->rows; row++) {
        double step = 0, reward = 0;
        if (strcmp(csv_text(t, row, cols[0]), task) != 0) continue;
        TRY(csv_number(t, row, cols[1], &step));
        TRY(csv_number(t, row, cols[2], &reward));
        if (step < (*x)[*n - 1]) {
            return csv_fail(t, row, cols[1], "lies before the last row of the same task");
        }
        if (step > (*x)[*n - 1]) (*n)++; // else the later row of the same step replaces the earlier
        (*x)[*n - 1] = step;
        (*y)[*n - 1] = reward;
    }
    return FGSF_OK;
}

// The area under a run's cumulative reward on one task, per step.
static fgsf_status run_area(pool *p, const csv *t, const char *task, double *out) {
    double *x = NULL, *y = NULL, area = 0;
    size_t n = 0;
    TRY(run_curve(p, t, task, &x, &y, &n));
    *out = NAN;
    if (n < 2) return FGSF_OK;
    TRY(fgsf_stats_auc(x, y, n, &area));
    *out = area / x[n - 1];
    return FGSF_OK;
}

// The last known value of a column in the rows of a task; NAN when there is none.
static fgsf_status task_end(const csv *t, const char *column, const char *task, double *out) {
    const char *const NAMES[] = {"task", column};
    size_t cols[2];
    *out = NAN;
    TRY(csv_need(t, NAMES, 2, cols));
    for (size_t row = 0; row < t->rows; row++) {
        double value = NAN;
        if (strcmp(csv_text(t, row, cols[0]), task) != 0) continue;
        TRY(csv_maybe(t, row, cols[1], &value));
        if (!isnan(value)) *out = value;
    }
    return FGSF_OK;
}

static fgsf_status train_scores(pool *p, const arm *a, enum metric metric, scores *out) {
    names tasks = {0};
    TRY(train_tasks(p, a, &tasks));
    double *score = make_scores(p, a, &tasks, out);
    for (size_t i = 0; i < a->nruns; i++) {
        const run *r = a->runs[i];
        const csv *t = r->summary_only ? &r->ends : &r->train;
        bool area = metric == AREA && !r->summary_only;
        bool there = area ? t->rows > 0 : has_metric(t, metric);
        for (size_t k = 0; k < tasks.n && there; k++) {
            double *at = &score[out->s.seeds * tasks.n + k];
            TRY(area ? run_area(p, t, tasks.v[k], at)
                     : task_end(t, METRICS[metric].column, tasks.v[k], at));
            there = !isnan(*at);
            if (there || METRICS[metric].optional) continue;
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: no %s of task %s in %s seed %ld", t->path,
                             METRICS[metric].column, tasks.v[k], a->label, r->seed);
        }
        if (there) add_seed(out, r->seed);
    }
    return FGSF_OK;
}

fgsf_status scores_of(pool *p, const arm *a, enum metric metric, scores *out) {
    names protocols = {0};
    if (METRICS[metric].of_training) return train_scores(p, a, metric, out);
    TRY(protocols_of(p, a, metric, &protocols));
    *out = (scores){0};
    return protocols.n ? scores_under(p, a, metric, protocols.v[0], out) : FGSF_OK;
}

scores scores_tasks(pool *p, const scores *in, size_t first, size_t last) {
    scores out = *in;
    size_t n = last - first;
    double *x = pool_get(p, in->s.seeds * n, sizeof *x);
    for (size_t i = 0; i < in->s.seeds; i++) {
        memcpy(x + i * n, in->s.x + i * in->s.tasks + first, n * sizeof *x);
    }
    out.s.x = x;
    out.s.tasks = n;
    return out;
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

static void curve_alloc(pool *p, size_t n, curve *out) {
    out->n = n;
    out->x = pool_get(p, n, sizeof *out->x);
    out->y = pool_get(p, n, sizeof *out->y);
}

fgsf_status cumulative_curve(pool *p, const arm *a, const char *task, curve *out) {
    size_t seeds = 0;
    double end = INFINITY;
    double **x = pool_get(p, a->nruns, sizeof *x);
    double **y = pool_get(p, a->nruns, sizeof *y);
    size_t *n = pool_get(p, a->nruns, sizeof *n);
    double *at = pool_get(p, a->nruns, sizeof *at);
    for (size_t i = 0; i < a->nruns; i++) {
        if (a->runs[i]->train.rows == 0) continue;
        TRY(run_curve(p, &a->runs[i]->train, task, &x[seeds], &y[seeds], &n[seeds]));
        if (n[seeds] < 2) continue; // has not got there yet
        end = fmin(end, x[seeds][n[seeds] - 1]);
        seeds++;
    }
    *out = (curve){0};
    if (seeds == 0) return FGSF_OK;
    curve_alloc(p, GRID, out);
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
    size_t cols[2], count[BINS] = {0};
    double sum[BINS] = {0};
    TRY(csv_need(t, needed, 2, cols));
    for (size_t row = 0; row < t->rows; row++) {
        double step = 0, value = 0;
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
    bins = pool_get(p, a->nruns * BINS, sizeof *bins);
    curve_alloc(p, BINS, out);
    out->n = 0;
    for (size_t i = 0; i < a->nruns; i++) {
        if (!csv_find(&a->runs[i]->train, column, NULL)) continue;
        TRY(bin_run(&a->runs[i]->train, column, last, bins + runs++ * BINS));
    }
    out->seeds = runs;
    for (size_t k = 0; k < BINS; k++) {
        size_t n = 0;
        double *values = pool_get(p, runs, sizeof *values);
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
