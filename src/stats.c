// Statistics over training seeds. Every interval goes through one bootstrap routine that draws
// whole seeds with replacement and evaluates a statistic on the drawn rows.
#include "fgsf/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Largest number of pairs for the exact signed-rank distribution; its 2^50 outcomes are still
// counted without rounding in double precision.
#define EXACT_PAIRS 50

// A statistic of `rows` drawn seeds. x is (rows, tasks) scratch and may be reordered.
typedef double (*statistic_fn)(double *x, size_t rows, size_t tasks, const void *context);

fgsf_stats_bootstrap_params fgsf_stats_bootstrap_default_params(void) {
    return (fgsf_stats_bootstrap_params){.resamples = 5000, .level = 0.95};
}

const char *fgsf_stats_label(size_t seeds) {
    return seeds < FGSF_STATS_MIN_SEEDS ? "smoke" : "";
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

fgsf_status fgsf_stats_mean(const double *x, size_t n, double *out) {
    fgsf_status status = check_values("x", x, n);
    if (status == FGSF_OK) *out = mean_of(x, n);
    return status;
}

// Copies x sorted into a new buffer that the caller frees.
static fgsf_status sorted_copy(const double *x, size_t n, double **out) {
    fgsf_status status = check_values("x", x, n);
    if (status != FGSF_OK) return status;
    double *copy = alloc_doubles(n);
    if (!copy) return fail_memory();
    memcpy(copy, x, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, compare_doubles);
    *out = copy;
    return FGSF_OK;
}

fgsf_status fgsf_stats_iqm(const double *x, size_t n, double *out) {
    double *sorted = NULL;
    fgsf_status status = sorted_copy(x, n, &sorted);
    if (status == FGSF_OK) *out = iqm_of_sorted(sorted, n);
    free(sorted);
    return status;
}

fgsf_status fgsf_stats_quantile(const double *x, size_t n, double q, double *out) {
    if (!(q >= 0.0 && q <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: quantile %g is not in [0, 1]", q);
    }
    double *sorted = NULL;
    fgsf_status status = sorted_copy(x, n, &sorted);
    if (status == FGSF_OK) *out = quantile_of_sorted(sorted, n, q);
    free(sorted);
    return status;
}

fgsf_status fgsf_stats_auc(const double *x, const double *y, size_t n, double *out) {
    fgsf_status status = check_values("x", x, n);
    if (status == FGSF_OK) status = check_values("y", y, n);
    if (status != FGSF_OK) return status;
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
    fgsf_status status = check_scores("scores", scores);
    if (status == FGSF_OK) status = check_bootstrap(params, rng);
    if (status != FGSF_OK) return status;

    size_t n = scores->seeds * scores->tasks;
    double *rows = alloc_doubles(n);
    double *draws = alloc_doubles(params->resamples);
    if (rows && draws) {
        memcpy(rows, scores->x, n * sizeof *rows);
        double value = statistic(rows, scores->seeds, scores->tasks, context);
        for (size_t r = 0; r < params->resamples; r++) {
            draw_seeds(scores, rng, rows);
            draws[r] = statistic(rows, scores->seeds, scores->tasks, context);
        }
        *out = percentile_interval(value, draws, params->resamples, params->level);
    } else {
        status = fail_memory();
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
    return bootstrap(scores, mean_statistic, NULL, params, rng, out);
}

fgsf_status fgsf_stats_iqm_interval(const fgsf_stats_scores *scores,
                                    const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                                    fgsf_stats_interval *out) {
    return bootstrap(scores, iqm_statistic, NULL, params, rng, out);
}

fgsf_status fgsf_stats_profile(const fgsf_stats_scores *scores, const double *tau, size_t n,
                               const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                               fgsf_stats_interval *out) {
    fgsf_status status = check_scores("scores", scores);
    if (status == FGSF_OK) status = check_values("tau", tau, n);
    if (status == FGSF_OK) status = check_bootstrap(params, rng);
    if (status != FGSF_OK) return status;

    fgsf_stats_interval *profile = calloc(n, sizeof *profile);
    if (!profile) return fail_memory();
    // Every threshold sees the same resamples, which keeps the band's edges monotone.
    fgsf_rng start = *rng;
    for (size_t i = 0; i < n && status == FGSF_OK; i++) {
        *rng = start;
        status = bootstrap(scores, above_statistic, &tau[i], params, rng, &profile[i]);
    }
    if (status == FGSF_OK) memcpy(out, profile, n * sizeof *profile);
    free(profile);
    return status;
}

// a and b are (seeds, tasks) with the same tasks.
static double improvement_of(const double *a, size_t a_seeds, const double *b, size_t b_seeds,
                             size_t tasks) {
    size_t twice_wins = 0;
    for (size_t i = 0; i < a_seeds; i++) {
        for (size_t j = 0; j < b_seeds; j++) {
            for (size_t t = 0; t < tasks; t++) {
                double x = a[i * tasks + t];
                double y = b[j * tasks + t];
                twice_wins += x > y ? 2 : x == y;
            }
        }
    }
    return 0.5 * (double)twice_wins / ((double)a_seeds * (double)b_seeds * (double)tasks);
}

fgsf_status fgsf_stats_improvement(const fgsf_stats_scores *a, const fgsf_stats_scores *b,
                                   const fgsf_stats_bootstrap_params *params, fgsf_rng *rng,
                                   fgsf_stats_interval *out) {
    fgsf_status status = check_scores("a", a);
    if (status == FGSF_OK) status = check_scores("b", b);
    if (status == FGSF_OK) status = check_bootstrap(params, rng);
    if (status != FGSF_OK) return status;
    if (a->tasks != b->tasks) {
        return fgsf_fail(FGSF_ERR_INVALID, "stats: a has %zu tasks and b has %zu", a->tasks,
                         b->tasks);
    }
    double *rows_a = alloc_doubles(a->seeds * a->tasks);
    double *rows_b = alloc_doubles(b->seeds * b->tasks);
    double *draws = alloc_doubles(params->resamples);
    if (rows_a && rows_b && draws) {
        double value = improvement_of(a->x, a->seeds, b->x, b->seeds, a->tasks);
        for (size_t r = 0; r < params->resamples; r++) {
            draw_seeds(a, rng, rows_a);
            draw_seeds(b, rng, rows_b);
            draws[r] = improvement_of(rows_a, a->seeds, rows_b, b->seeds, a->tasks);
        }
        *out = percentile_interval(value, draws, params->resamples, params->level);
    } else {
        status = fail_memory();
    }
    free(rows_a);
    free(rows_b);
    free(draws);
    return status;
}

// Orders differences by their size, so that ranks can be handed out from the front.
static int compare_magnitudes(const void *a, const void *b) {
    double x = fabs(*(const double *)a);
    double y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

// Sums the ranks of the positive differences; d is sorted by magnitude. Tied magnitudes share their
// mean rank, and *ties receives the sum of t^3 - t over groups of t tied values.
static double positive_rank_sum(const double *d, size_t n, double *ties) {
    double w_plus = 0.0;
    *ties = 0.0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && fabs(d[end]) == fabs(d[i]);) end++;
        double t = (double)(end - i);
        double rank = 0.5 * (double)(i + 1 + end);
        for (size_t k = i; k < end; k++) w_plus += d[k] > 0.0 ? rank : 0.0;
        *ties += t * t * t - t;
    }
    return w_plus;
}

// Two-sided p-value from the number of sign patterns with each rank sum: adding rank r moves every
// pattern with sum s to s + r or leaves it.
static double exact_p_value(size_t n, double w_plus) {
    double count[EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1] = {1.0};
    size_t top = n * (n + 1) / 2;
    for (size_t r = 1; r <= n; r++) {
        for (size_t s = top; s >= r; s--) count[s] += count[s - r];
    }
    size_t w = (size_t)w_plus;
    size_t tail = w < top - w ? w : top - w; // the distribution is symmetric about top / 2
    double below = 0.0;
    for (size_t s = 0; s <= tail; s++) below += count[s];
    return fmin(1.0, 2.0 * below / ldexp(1.0, (int)n));
}

static double normal_p_value(double n, double w_plus, double ties) {
    double variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    double z = (w_plus - 0.25 * n * (n + 1.0)) / sqrt(variance);
    return erfc(fabs(z) / sqrt(2.0));
}

// d holds the non-zero differences and is reordered.
static fgsf_stats_wilcoxon_result signed_rank(double *d, size_t n) {
    fgsf_stats_wilcoxon_result result = {.pairs = n, .p_value = 1.0, .exact = 1};
    if (n == 0) return result;
    double ties = 0.0;
    double total = 0.5 * (double)n * (double)(n + 1);
    qsort(d, n, sizeof *d, compare_magnitudes);
    result.w_plus = positive_rank_sum(d, n, &ties);
    result.rank_biserial = (2.0 * result.w_plus - total) / total;
    result.exact = ties == 0.0 && n <= EXACT_PAIRS;
    result.p_value = result.exact ? exact_p_value(n, result.w_plus)
                                  : normal_p_value((double)n, result.w_plus, ties);
    return result;
}

fgsf_status fgsf_stats_wilcoxon(const double *a, const double *b, size_t n,
                                fgsf_stats_wilcoxon_result *out) {
    fgsf_status status = check_values("a", a, n);
    if (status == FGSF_OK) status = check_values("b", b, n);
    if (status != FGSF_OK) return status;
    double *d = alloc_doubles(n);
    if (!d) return fail_memory();
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) d[pairs++] = a[i] - b[i];
    }
    *out = signed_rank(d, pairs);
    free(d);
    return FGSF_OK;
}
