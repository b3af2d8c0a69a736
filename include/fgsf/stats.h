// Statistics over training seeds: means, interquartile means, intervals, tests and curves.
//
//     double x[] = {3.1, 2.9, 3.4, 2.2, 3.0, 3.3};                  // 6 seeds
//     fgsf_stats_scores scores = {.x = x, .seeds = 6, .tasks = 1};
//     fgsf_stats_bootstrap_params boot = fgsf_stats_bootstrap_default_params();
//     fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_STATS);
//     fgsf_stats_interval mean;
//     if (fgsf_stats_mean_interval(&scores, &boot, &rng, &mean) == FGSF_OK) {
//         printf("%g [%g, %g] %s\n", mean.value, mean.low, mean.high, fgsf_stats_label(6));
//     }
//
// The seed is the unit. The tasks of one seed are learned by the same networks from the same experience,
// so they are not independent. Every interval therefore resamples whole seeds. A score that
// is NaN or infinite is an error everywhere; outputs are untouched on failure.
#ifndef FGSF_STATS_H
#define FGSF_STATS_H

#include <stddef.h>

#include "fgsf/export.h"
#include "fgsf/rng.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

// With fewer seeds than this a result shows that the code runs, not which method is better.
#define FGSF_STATS_MIN_SEEDS 5

// Scores of one method, row-major (seeds, tasks); every seed has every task.
typedef struct fgsf_stats_scores {
    const double *x;
    size_t seeds;
    size_t tasks;
} fgsf_stats_scores;

// How intervals are made: percentile bootstrap, quantiles interpolated linearly.
typedef struct fgsf_stats_bootstrap_params {
    size_t resamples; // at least 1; default 5000
    double level;     // coverage in (0, 1); default 0.95
} fgsf_stats_bootstrap_params;

// An estimate and its interval. With one seed the interval is the point itself and says nothing.
typedef struct fgsf_stats_interval {
    double value;
    double low;
    double high;
} fgsf_stats_interval;

// Result of a paired Wilcoxon signed-rank test of a against b.
typedef struct fgsf_stats_wilcoxon_result {
    size_t pairs;         // pairs that differ; equal pairs are left out (Wilcoxon's own treatment)
    double w_plus;        // sum of ranks of the pairs with a > b, mean ranks for ties
    double p_value;       // two-sided, from the exact distribution over all sign patterns
    double rank_biserial; // (w_plus - w_minus) / (w_plus + w_minus), in [-1, 1]; 0 without pairs
} fgsf_stats_wilcoxon_result;

// Returns 5000 resamples at level 0.95.
FGSF_API fgsf_stats_bootstrap_params fgsf_stats_bootstrap_default_params(void);

// Returns "few seeds" for fewer than FGSF_STATS_MIN_SEEDS seeds, otherwise "".
FGSF_API const char *fgsf_stats_label(size_t seeds);

// Computes the q-quantile of x[0..n), q in [0, 1], interpolating linearly between order statistics.
FGSF_API fgsf_status fgsf_stats_quantile(const double *x, size_t n, double q, double *out);

// Computes the area under the piecewise linear curve y(x) by trapezoids; x must increase strictly.
// One point has area 0.
FGSF_API fgsf_status fgsf_stats_auc(const double *x, const double *y, size_t n, double *out);

// Computes the mean over seeds and tasks with its bootstrap interval.
FGSF_API fgsf_status fgsf_stats_mean_interval(const fgsf_stats_scores *scores,
                                              const fgsf_stats_bootstrap_params *params,
                                              fgsf_rng *rng, fgsf_stats_interval *out);

// Computes the interquartile mean over seeds x tasks with its interval: the mean of what is left after
// floor(n/4) of the n scores are dropped from each end, so that fewer than four give the plain mean.
// Whole seeds are resampled, so every resample holds each task equally often (stratified by task).
FGSF_API fgsf_status fgsf_stats_iqm_interval(const fgsf_stats_scores *scores,
                                             const fgsf_stats_bootstrap_params *params,
                                             fgsf_rng *rng, fgsf_stats_interval *out);

// Computes the performance profile: out[i] is the fraction of runs (seeds x tasks) that score above
// tau[i], with its pointwise interval, for i in [0, n).
FGSF_API fgsf_status fgsf_stats_profile(const fgsf_stats_scores *scores, const double *tau,
                                        size_t n, const fgsf_stats_bootstrap_params *params,
                                        fgsf_rng *rng, fgsf_stats_interval *out);

// Tests whether the paired differences a[i] - b[i], i in [0, n), are symmetric about 0. Equal pairs
// are left out; differences within 1e-9 of the largest one of each other are ties. The p-value is
// exact, also with ties. Without any differing pair it is 1.
FGSF_API fgsf_status fgsf_stats_wilcoxon(const double *a, const double *b, size_t n,
                                         fgsf_stats_wilcoxon_result *out);

FGSF_END_DECLS
#endif
