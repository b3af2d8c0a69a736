// Statistics over training seeds. Every interval goes through one bootstrap routine that draws
// whole seeds with replacement and evaluates a statistic on the drawn rows.
#include "fgsf/stats.h"
#include "require.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A statistic of `rows` drawn seeds. x is (rows, tasks) scratch and may be reordered.
typedef double (*statistic_fn)(double *x, size_t rows, size_t tasks, const void *context);

fgsf_stats_bootstrap_params fgsf_stats_bootstrap_default_params(void) {
    return (fgsf_stats_bootstrap_params){.resamples = 5000, .level = 0.95};
}

const char *fgsf_stats_label(size_t seeds) {
    return seeds < FGSF_STATS_MIN_SEEDS ? "few seeds" : "";
}

static fgsf_status check_values(const char *name, const double *x, size_t n) {
    if (!x || n == 0) return fgsf_fail(FGSF_ERR_INVALID, "stats: %s holds no values", name);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return fgsf_fail(FGSF_ERR_INVALID, "stats: %s[%zu] is %g, not a finite number", name, i,
                             x[i]);
        }
    }
    return FGSF_OK;
}

static fgsf_status check_scores(const char *name, const fgsf_stats_scores *scores) {
    if (!scores || scores->seeds == 0 || scores->tasks == 0 ||
        scores->seeds > SIZE_MAX / sizeof(double) / scores->tasks) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: %s needs at least one seed and one task", name);
    }
    return check_values(name, scores->x, scores->seeds * scores->tasks);
}

static fgsf_status check_bootstrap(const fgsf_stats_bootstrap_params *params, const fgsf_rng *rng) {
    if (!params || !rng) return fgsf_fail(FGSF_ERR_INVALID, "stats: params and rng are needed");
    if (params->resamples == 0 || params->resamples > SIZE_MAX / sizeof(double)) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: resamples must be at least 1");
    }
    if (!(params->level > 0.0 && params->level < 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: level %g is not in (0, 1)", params->level);
    }
    return FGSF_OK;
}

static double *alloc_doubles(size_t n) {
    return n > SIZE_MAX / sizeof(double) ? NULL : malloc(n * sizeof(double));
}

static fgsf_status fail_memory(void) {
    return fgsf_fail(FGSF_ERR_MEMORY, "stats: out of memory");
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *x, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static double iqm_of_sorted(const double *x, size_t n) {
    size_t cut = n / 4;
    return mean_of(x + cut, n - 2 * cut);
}

static double quantile_of_sorted(const double *x, size_t n, double q) {
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

fgsf_status fgsf_stats_quantile(const double *x, size_t n, double q, double *out) {
    FGSF_REQUIRE(out);
    if (!(q >= 0.0 && q <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: quantile %g is not in [0, 1]", q);
    }
    FGSF_TRY(check_values("x", x, n));
    double *sorted = alloc_doubles(n);
    if (!sorted) return fail_memory();
    memcpy(sorted, x, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    *out = quantile_of_sorted(sorted, n, q);
    free(sorted);
    return FGSF_OK;
}

fgsf_status fgsf_stats_auc(const double *x, const double *y, size_t n, double *out) {
    FGSF_REQUIRE(out);
    FGSF_TRY(check_values("x", x, n));
    FGSF_TRY(check_values("y", y, n));
    double area = 0.0;
    for (size_t i = 1; i < n; i++) {
        if (x[i] <= x[i - 1]) {
            return fgsf_fail(FGSF_ERR_INVALID, "stats: x[%zu] = %g does not exceed x[%zu] = %g", i,
                             x[i], i - 1, x[i - 1]);
        }
        area += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1]);
    }
    *out = area;
    return FGSF_OK;
}

// Draws as many seeds as there are, with replacement, into rows (seeds, tasks).
static void draw_seeds(const fgsf_stats_scores *scores, fgsf_rng *rng, double *rows) {
    for (size_t s = 0; s < scores->seeds; s++) {
        size_t from = (size_t)fgsf_rng_below(rng, scores->seeds);
        memcpy(rows + s * scores->tasks, scores->x + from * scores->tasks,
               scores->tasks * sizeof *rows);
    }
}

// Sorts the resampled statistics and returns the percentile interval around value.
static fgsf_stats_interval percentile_interval(double value, double *draws, size_t n,
                                               double level) {
    double tail = 0.5 * (1.0 - level);
    qsort(draws, n, sizeof *draws, compare_doubles);
    return (fgsf_stats_interval){.value = value,
                                 .low = quantile_of_sorted(draws, n, tail),
                                 .high = quantile_of_sorted(draws, n, 1.0 - tail)};
}

// Evaluates the statistic on the scores and on every resample of whole seeds.
static fgsf_status bootstrap(const fgsf_stats_scores *scores, statistic_fn statistic,
                             const void *context, const fgsf_stats_bootstrap_params *params,
                             fgsf_rng *rng, fgsf_stats_interval *out) {
    FGSF_TRY(check_scores("scores", scores));
    FGSF_TRY(check_bootstrap(params, rng));

    size_t n = scores->seeds * scores->tasks;
    double *rows = alloc_doubles(n);
    double *draws = alloc_doubles(params->resamples);
    fgsf_status status = rows && draws ? FGSF_OK : fail_memory();
    if (status == FGSF_OK) {
        memcpy(rows, scores->x, n * sizeof *rows);
        double value = statistic(rows, scores->seeds, scores->tasks, context);
        for (size_t r = 0; r < params->resamples; r++) {
            draw_seeds(scores, rng, rows);
            draws[r] = statistic(rows, scores->seeds, scores->tasks, context);
        }
        *out = percentile_interval(value, draws, params->resamples, params->level);
    }
    free(rows);
    free(draws);
    return status;
}

static double mean_statistic(double *x, size_t rows, size_t tasks, const void *context) {
    (void)context;
    return mean_of(x, rows * tasks);
}

static double iqm_statistic(double *x, size_t rows, size_t tasks, const void *context) {
    (void)context;
    qsort(x, rows * tasks, sizeof *x, compare_doubles);
    return iqm_of_sorted(x, rows * tasks);
}

static double above_statistic(double *x, size_t rows, size_t tasks, const void *context) {
    double tau = *(const double *)context;
    size_t above = 0;
    for (size_t i = 0; i < rows * tasks; i++) above += x[i] > tau;
    return (double)above / (double)(rows * tasks);
}

fgsf_status fgsf_stats_mean_interval(const fgsf_stats_scores *scores,
                                     const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                                     fgsf_stats_interval *out) {
    FGSF_REQUIRE(out);
    return bootstrap(scores, mean_statistic, NULL, params, rng, out);
}

fgsf_status fgsf_stats_iqm_interval(const fgsf_stats_scores *scores,
                                    const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                                    fgsf_stats_interval *out) {
    FGSF_REQUIRE(out);
    return bootstrap(scores, iqm_statistic, NULL, params, rng, out);
}

fgsf_status fgsf_stats_profile(const fgsf_stats_scores *scores, const double *tau, size_t n,
                               const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                               fgsf_stats_interval *out) {
    FGSF_REQUIRE(out);
    FGSF_TRY(check_scores("scores", scores));
    FGSF_TRY(check_values("tau", tau, n));
    FGSF_TRY(check_bootstrap(params, rng));

    fgsf_stats_interval *profile = calloc(n, sizeof *profile);
    if (!profile) return fail_memory();
    // Every threshold sees the same resamples, which keeps the band's edges monotone.
    fgsf_rng start = *rng;
    fgsf_status status = FGSF_OK;
    for (size_t i = 0; i < n && status == FGSF_OK; i++) {
        *rng = start;
        status = bootstrap(scores, above_statistic, &tau[i], params, rng, &profile[i]);
    }
    if (status == FGSF_OK) memcpy(out, profile, n * sizeof *profile);
    free(profile);
    return status;
}

// Orders differences by their size, so that ranks can be handed out from the front.
static int compare_magnitudes(const void *a, const void *b) {
    double x = fabs(*(const double *)a);
    double y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

// Writes twice the rank of each difference, a whole number also where ties share their mean rank; d is
// sorted by magnitude. Means over tasks that are equal on paper differ in their last bits, so
// magnitudes within 1e-9 of the largest count as tied.
static void double_ranks(const double *d, size_t n, size_t *ranks) {
    double slack = 1e-9 * fabs(d[n - 1]);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && fabs(d[end]) - fabs(d[end - 1]) <= slack;) end++;
        for (size_t k = i; k < end; k++) ranks[k] = i + 1 + end;
    }
}

// Two-sided p-value of the sum `w` of doubled ranks. `chance` (top + 1) is the distribution of the sum
// when every sign is a fair coin: each rank moves half of it up.
static double exact_p_value(const size_t *ranks, size_t n, size_t w, size_t top, double *chance) {
    for (size_t s = 0; s <= top; s++) chance[s] = s == 0;
    for (size_t k = 0, reach = 0; k < n; k++) {
        reach += ranks[k];
        for (size_t s = reach; s >= ranks[k]; s--) {
            chance[s] = 0.5 * (chance[s] + chance[s - ranks[k]]);
        }
        for (size_t s = 0; s < ranks[k]; s++) chance[s] *= 0.5;
    }
    size_t tail = w < top - w ? w : top - w; // the distribution is symmetric about top / 2
    double below = 0.0;
    for (size_t s = 0; s <= tail; s++) below += chance[s];
    return fmin(1.0, 2.0 * below);
}

// d holds the non-zero differences and is reordered.
static fgsf_status signed_rank(double *d, size_t n, fgsf_stats_wilcoxon_result *out) {
    *out = (fgsf_stats_wilcoxon_result){.pairs = n, .p_value = 1.0};
    if (n == 0) return FGSF_OK;
    size_t top = n * (n + 1), w = 0;
    size_t *ranks = malloc(n * sizeof *ranks);
    double *chance = alloc_doubles(top + 1);
    if (ranks && chance) {
        qsort(d, n, sizeof *d, compare_magnitudes);
        double_ranks(d, n, ranks);
        for (size_t k = 0; k < n; k++) w += d[k] > 0.0 ? ranks[k] : 0;
        out->w_plus = 0.5 * (double)w;
        out->rank_biserial = (2.0 * (double)w - (double)top) / (double)top;
        out->p_value = exact_p_value(ranks, n, w, top, chance);
    }
    fgsf_status status = ranks && chance ? FGSF_OK : fail_memory();
    free(ranks);
    free(chance);
    return status;
}

fgsf_status fgsf_stats_wilcoxon(const double *a, const double *b, size_t n,
                                fgsf_stats_wilcoxon_result *out) {
    FGSF_REQUIRE(out);
    FGSF_TRY(check_values("a", a, n));
    FGSF_TRY(check_values("b", b, n));
    double *d = alloc_doubles(n);
    if (!d) return fail_memory();
    fgsf_stats_wilcoxon_result result;
    double largest = 0.0;
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    for (size_t i = 0; i < n; i++) {
        if (fabs(a[i] - b[i]) > 1e-9 * largest) d[pairs++] = a[i] - b[i];
    }
    fgsf_status status = signed_rank(d, pairs, &result);
    if (status == FGSF_OK) *out = result;
    free(d);
    return status;
}
