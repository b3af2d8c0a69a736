// Reduces the runs of an arm to scores per seed and task, and to seed-averaged curves. Everything
// random comes from the same stream, so the same runs give the same numbers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define GRID MAX_POINTS     // points of a training curve
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

static int compare_tasks(const char *x, const char *y) {
    long i = strtol(x + is_held_out(x), NULL, 10);
    long j = strtol(y + is_held_out(y), NULL, 10);
    return i != j ? (i > j) - (i < j) : strcmp(x, y);
}

static const csv *table_of(const run *r, enum metric metric) {
    return !METRICS[metric].of_training ? &r->eval : r->summary_only ? &r->ends : &r->train;
}

static bool has_metric(const run *r, enum metric metric) {
    const csv *t = table_of(r, metric);
    bool needed = METRICS[metric].optional && (metric != AREA || r->summary_only);
    return t->rows > 0 && (!needed || csv_find(t, METRICS[metric].column, NULL));
}

// ---- training -----------------------------------------------------------------------------------

fgsf_status train_tasks(const arm *a, names *out) {
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = table_of(a->runs[i], CUMULATIVE);
        size_t task = 0;
        if (t->columns.n == 0) continue;
        TRY(csv_need(t, "task", &task));
        for (size_t row = 0; row < t->rows; row++) names_add(out, csv_text(t, row, task));
    }
    names_sort(out, compare_tasks);
    return FGSF_OK;
}

// One run's cumulative reward on one task against the steps spent on it, from (0, 0) on.
typedef struct path {
    double *x, *y;
    size_t n;
} path;

static fgsf_status run_path(const csv *t, const char *task, path *out) {
    size_t cols[3];
    TRY(csv_need(t, "task,task_step,cum_reward", cols));
    path p = {pool_get(t->rows + 1, sizeof *p.x), pool_get(t->rows + 1, sizeof *p.y), 1};
    for (size_t row = 0; row < t->rows; row++) {
        double step = 0, reward = 0;
        if (strcmp(csv_text(t, row, cols[0]), task) != 0) continue;
        TRY(csv_number(t, row, cols[1], &step));
        TRY(csv_number(t, row, cols[2], &reward));
        if (step < p.x[p.n - 1]) {
            return csv_fail(t, row, cols[1], "lies before the last row of the same task");
        }
        if (step > p.x[p.n - 1]) p.n++; // else the later row of the same step replaces the earlier
        p.x[p.n - 1] = step;
        p.y[p.n - 1] = reward;
    }
    *out = p;
    return FGSF_OK;
}

// The area under a run's cumulative reward on one task, per step.
static fgsf_status run_area(const csv *t, const char *task, double *out) {
    path p;
    double area = 0;
    TRY(run_path(t, task, &p));
    *out = NAN;
    if (p.n < 2) return FGSF_OK;
    TRY(fgsf_stats_auc(p.x, p.y, p.n, &area));
    *out = area / p.x[p.n - 1];
    return FGSF_OK;
}

// The last known value of a column in the rows of a task; NAN when there is none.
static fgsf_status task_end(const csv *t, const char *column, const char *task, double *out) {
    size_t cols[2];
    *out = NAN;
    TRY(csv_need(t, pool_printf("task,%s", column), cols));
    for (size_t row = 0; row < t->rows; row++) {
        double value = NAN;
        if (strcmp(csv_text(t, row, cols[0]), task) != 0) continue;
        TRY(csv_maybe(t, row, cols[1], &value));
        if (!isnan(value)) *out = value;
    }
    return FGSF_OK;
}

// ---- episodes and protocols ---------------------------------------------------------------------

static const char *protocol_name(const char *reward, double epsilon) {
    return pool_printf("%s, epsilon %g", reward, epsilon);
}

// An episode of a run's evaluation, the mean of several from a summary, or the end of a task in
// training, which has the protocol "".
typedef struct episode {
    size_t run; // of the arm
    const char *task, *protocol;
    double score; // NAN where there is none
} episode;

// Lists the ends of a run's tasks, up to one that has no score.
static fgsf_status add_ends(const arm *a, size_t i, enum metric metric, const names *tasks,
                            episode **out, size_t *n) {
    const run *r = a->runs[i];
    const csv *t = table_of(r, metric);
    const char *column = METRICS[metric].column;
    episode one = {.run = i, .protocol = ""};
    for (size_t k = 0; k < tasks->n && !isnan(one.score); k++) {
        one.task = tasks->v[k];
        TRY(metric == AREA && !r->summary_only ? run_area(t, one.task, &one.score)
                                               : task_end(t, column, one.task, &one.score));
        if (isnan(one.score) && !METRICS[metric].optional) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: no %s of task %s in %s seed %ld", t->path,
                             column, one.task, a->label, r->seed);
        }
        pool_push(out, n, &one, sizeof one);
    }
    return FGSF_OK;
}

static fgsf_status add_episodes(const arm *a, size_t i, enum metric metric, episode **out,
                                size_t *n) {
    const csv *t = table_of(a->runs[i], metric);
    size_t cols[4];
    TRY(csv_need(t, pool_printf("task,reward_model,epsilon,%s", METRICS[metric].column), cols));
    for (size_t row = 0; row < t->rows; row++) {
        episode one = {.run = i, .task = csv_text(t, row, cols[0])};
        double epsilon = 0;
        TRY(csv_number(t, row, cols[2], &epsilon));
        TRY(METRICS[metric].optional ? csv_maybe(t, row, cols[3], &one.score)
                                     : csv_number(t, row, cols[3], &one.score));
        if (is_held_out(one.task) != (metric == ZERO_SHOT)) continue;
        one.protocol = protocol_name(csv_text(t, row, cols[1]), epsilon);
        pool_push(out, n, &one, sizeof one);
    }
    return FGSF_OK;
}

// Lists the episodes that a metric is about, run by run.
static fgsf_status episodes_of(const arm *a, enum metric metric, episode **out, size_t *n) {
    names tasks = {0};
    bool of_training = METRICS[metric].of_training;
    if (of_training) TRY(train_tasks(a, &tasks));
    for (size_t i = 0; i < a->nruns; i++) {
        if (!has_metric(a->runs[i], metric)) continue;
        TRY(of_training ? add_ends(a, i, metric, &tasks, out, n)
                        : add_episodes(a, i, metric, out, n));
    }
    return FGSF_OK;
}

// The protocol of the configuration; where its reward is not among those found (the values of DQN
// contain the reward, so its episodes are all "learned"), the first one with the same epsilon.
static void add_configured(const run *r, const names *found, names *out) {
    static const char *const REWARDS[] = {"learned", "true", "ridge"};
    const char *name = protocol_name(r->eval_reward, r->eval_epsilon);
    for (size_t i = 0; i < 3 && !names_find(found, name, NULL); i++) {
        name = protocol_name(REWARDS[i], r->eval_epsilon);
    }
    if (names_find(found, name, NULL)) names_add(out, name);
}

fgsf_status protocols_of(const arm *a, enum metric metric, names *out) {
    names found = {0};
    episode *all = NULL;
    size_t n = 0;
    TRY(episodes_of(a, metric, &all, &n));
    for (size_t i = 0; i < n; i++) names_add(&found, all[i].protocol);
    if (n == 0) return FGSF_OK;
    // If the configuration says nothing: the agent's own reward model before the true one, and no
    // exploration before some. The names sort that way: "learned" < "ridge" < "true", then epsilon.
    names_sort(&found, strcmp);
    const run *first = a->example;
    if (*first->eval_reward && !isnan(first->eval_epsilon)) add_configured(first, &found, out);
    for (size_t i = 0; i < found.n; i++) names_add(out, found.v[i]);
    return FGSF_OK;
}

// ---- scores -------------------------------------------------------------------------------------

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

fgsf_status scores_under(const arm *a, enum metric metric, const char *protocol, scores *out) {
    names tasks = {0};
    episode *all = NULL;
    size_t n = 0, first = 0, last = 0;
    TRY(episodes_of(a, metric, &all, &n));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].protocol, protocol) == 0) names_add(&tasks, all[i].task);
    }
    names_sort(&tasks, compare_tasks);
    double *x = pool_get(a->nruns * tasks.n, sizeof *x);
    long *seeds = pool_get(a->nruns, sizeof *seeds);
    *out = (scores){{x, 0, tasks.n}, tasks, seeds, protocol};
    for (size_t i = 0; i < a->nruns; i++, first = last) {
        const run *r = a->runs[i];
        double *mine = x + out->s.seeds * tasks.n;
        bool there = has_metric(r, metric);
        while (last < n && all[last].run == i) last++;
        for (size_t k = 0; k < tasks.n && there; k++) {
            if (!mean_score(all + first, last - first, tasks.v[k], protocol, &mine[k])) {
                return fgsf_fail(FGSF_ERR_FORMAT, "%s: no episode of task %s (%s)", r->eval.path,
                                 tasks.v[k], protocol);
            }
            there = !isnan(mine[k]);
        }
        if (there) seeds[out->s.seeds++] = r->seed;
    }
    return FGSF_OK;
}

fgsf_status scores_of(const arm *a, enum metric metric, scores *out) {
    names protocols = {0};
    if (METRICS[metric].of_training) return scores_under(a, metric, "", out);
    TRY(protocols_of(a, metric, &protocols));
    *out = (scores){0};
    return protocols.n ? scores_under(a, metric, protocols.v[0], out) : FGSF_OK;
}

scores scores_tasks(const scores *in, size_t first, size_t last) {
    scores out = *in;
    size_t n = last - first;
    double *x = pool_get(in->s.seeds * n, sizeof *x);
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

static double interpolate(const path *p, double at) {
    size_t i = 1;
    while (i + 1 < p->n && p->x[i] < at) i++;
    double rise = (p->y[i] - p->y[i - 1]) * (at - p->x[i - 1]) / (p->x[i] - p->x[i - 1]);
    return p->y[i - 1] + rise;
}

fgsf_status cumulative_curve(const arm *a, const char *task, curve *out) {
    size_t seeds = 0;
    double end = INFINITY;
    path *paths = pool_get(a->nruns, sizeof *paths);
    double *at = pool_get(a->nruns, sizeof *at);
    for (size_t i = 0; i < a->nruns; i++) {
        if (a->runs[i]->train.rows == 0) continue;
        path *p = &paths[seeds];
        TRY(run_path(&a->runs[i]->train, task, p));
        if (p->n < 2) continue; // has not got there yet
        end = fmin(end, p->x[p->n - 1]);
        seeds++;
    }
    out->n = 0;
    if (seeds == 0) return FGSF_OK;
    out->n = GRID;
    out->seeds = seeds;
    for (size_t k = 0; k < GRID; k++) {
        out->x[k] = end * (double)k / (GRID - 1);
        for (size_t i = 0; i < seeds; i++) at[i] = interpolate(&paths[i], out->x[k]);
        TRY(band(at, seeds, &out->y[k]));
    }
    return FGSF_OK;
}

// Averages the column of one run in bins of steps up to `last`; a bin without values stays NAN.
static fgsf_status bin_run(const csv *t, const char *column, double last, double *bins) {
    size_t cols[2], count[BINS] = {0};
    double sum[BINS] = {0};
    TRY(csv_need(t, pool_printf("step,%s", column), cols));
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
    *out = 0;
    for (size_t i = 0; i < a->nruns; i++) {
        const csv *t = &a->runs[i]->train;
        size_t col = 0;
        if (t->rows == 0) continue;
        TRY(csv_need(t, "step", &col));
        for (size_t row = 0; row < t->rows; row++) {
            double step = 0;
            TRY(csv_number(t, row, col, &step));
            *out = fmax(*out, step);
        }
    }
    return FGSF_OK;
}

fgsf_status diagnostic_curve(const arm *a, const char *column, bool geometric, curve *out) {
    double *bins = pool_get(a->nruns * BINS, sizeof *bins); // (runs, BINS)
    double *values = pool_get(a->nruns, sizeof *values), last = 0;
    size_t runs = 0;
    out->n = 0;
    TRY(last_step(a, &last));
    for (size_t i = 0; i < a->nruns; i++) {
        if (!csv_find(&a->runs[i]->train, column, NULL)) continue;
        TRY(bin_run(&a->runs[i]->train, column, last, bins + runs++ * BINS));
    }
    out->seeds = runs;
    for (size_t k = 0; k < BINS; k++) {
        size_t n = 0;
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
