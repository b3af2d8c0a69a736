// Statistics against values computed outside the library.
//
// Where they come from: numpy 1.24 and scipy 1.10 run offline (trim_mean, quantile, trapz,
// mannwhitneyu, wilcoxon), and for the bootstrap an enumeration of every possible resample (4^4
// draws of four seeds, 3^3 x 2^2 for the two-sample case). The resampled distributions are
// discrete, so with enough draws the interval's ends are exactly the enumerated quantiles.
#include <math.h>
#include <string.h>

#include "fgsf/stats.h"
#include "support_assert.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define TOL 1e-12

static const double FOUR_SEEDS[4][2] = {{3.1, 0.4}, {2.9, 1.7}, {3.4, -0.6}, {2.2, 0.9}};
static const fgsf_stats_bootstrap_params MANY = {.resamples = 20000, .level = 0.95};

static fgsf_rng stats_rng(void) {
    return fgsf_rng_make(7, FGSF_STREAM_STATS);
}

TEST points_match_scipy(void) {
    const double x[] = {9, 1, 4, 7, 2, 8, 3, 100};
    const size_t sizes[] = {8, 7, 3};
    // trim_mean(x, 0.25); floor(7/4) = 1 from each end; too few to trim
    const double iqm[] = {5.5, 4.8, 14.0 / 3.0};
    double out = 0.0;
    fgsf_rng rng = stats_rng();
    fgsf_stats_interval interval;
    for (int i = 0; i < 3; i++) {
        fgsf_stats_scores first = {.x = x, .seeds = sizes[i], .tasks = 1};
        ASSERT_EQ(FGSF_OK, fgsf_stats_iqm_interval(&first, &MANY, &rng, &interval));
        ASSERT_IN_RANGE(iqm[i], interval.value, TOL);
    }
    ASSERT_EQ(FGSF_OK, fgsf_stats_quantile(x, 8, 0.3, &out));
    ASSERT_IN_RANGE(3.1, out, TOL);
    ASSERT_EQ(FGSF_OK, fgsf_stats_quantile(x, 8, 1.0, &out));
    ASSERT_EQ(100.0, out);
    fgsf_stats_scores all = {.x = x, .seeds = 8, .tasks = 1};
    ASSERT_EQ(FGSF_OK, fgsf_stats_mean_interval(&all, &MANY, &rng, &interval));
    ASSERT_IN_RANGE(16.75, interval.value, TOL);
    PASS();
}

TEST area_is_trapezoidal(void) {
    const double x[] = {0, 200, 400, 1000};
    const double y[] = {0, 3, -1, 7};
    double out = 0.0;
    ASSERT_EQ(FGSF_OK, fgsf_stats_auc(x, y, 4, &out));
    ASSERT_IN_RANGE(2300.0, out, TOL); // 300 + 200 + 1800
    ASSERT_EQ(FGSF_OK, fgsf_stats_auc(x, y, 1, &out));
    ASSERT_EQ(0.0, out);
    const double back[] = {0, 200, 200};
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_auc(back, y, 3, &out));
    ASSERT(strstr(fgsf_last_error(), "x[2]"));
    PASS();
}

TEST mean_interval_matches_enumeration(void) {
    double x[4];
    for (int s = 0; s < 4; s++) x[s] = FOUR_SEEDS[s][0];
    fgsf_stats_scores scores = {.x = x, .seeds = 4, .tasks = 1};
    fgsf_stats_interval out;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_mean_interval(&scores, &MANY, &rng, &out));
    ASSERT_IN_RANGE(2.9, out.value, TOL);
    ASSERT_IN_RANGE(2.425, out.low, TOL);
    ASSERT_IN_RANGE(3.275, out.high, TOL);
    PASS();
}

TEST iqm_interval_resamples_whole_seeds(void) {
    fgsf_stats_scores scores = {.x = FOUR_SEEDS[0], .seeds = 4, .tasks = 2};
    fgsf_stats_interval out;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_iqm_interval(&scores, &MANY, &rng, &out));
    ASSERT_IN_RANGE(1.925, out.value, TOL);
    ASSERT_IN_RANGE(1.55, out.low, TOL);
    ASSERT_IN_RANGE(2.3, out.high, TOL);
    PASS();
}

TEST same_stream_gives_the_same_bits(void) {
    fgsf_stats_scores scores = {.x = FOUR_SEEDS[0], .seeds = 4, .tasks = 2};
    fgsf_stats_bootstrap_params params = fgsf_stats_bootstrap_default_params();
    fgsf_stats_interval first;
    fgsf_stats_interval second;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_mean_interval(&scores, &params, &rng, &first));
    rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_mean_interval(&scores, &params, &rng, &second));
    ASSERT_MEM_EQ(&first, &second, sizeof first);
    PASS();
}

TEST profile_is_a_falling_fraction(void) {
    fgsf_stats_scores scores = {.x = FOUR_SEEDS[0], .seeds = 4, .tasks = 2};
    const double tau[] = {-1.0, 0.4, 1.0, 2.9, 5.0};
    const double above[] = {1.0, 6.0 / 8.0, 5.0 / 8.0, 2.0 / 8.0, 0.0}; // counted by hand
    fgsf_stats_interval out[COUNT(tau)];
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_profile(&scores, tau, COUNT(tau), &MANY, &rng, out));
    for (size_t i = 0; i < COUNT(tau); i++) {
        ASSERT_IN_RANGE(above[i], out[i].value, TOL);
        ASSERT(out[i].low <= out[i].value && out[i].value <= out[i].high);
        ASSERT(i == 0 || (out[i].low <= out[i - 1].low && out[i].high <= out[i - 1].high));
    }
    PASS();
}

// The depression scores of Hollander and Wolfe's example 3.1, the textbook case.
TEST wilcoxon_is_exact_without_ties(void) {
    const double a[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    const double b[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    fgsf_stats_wilcoxon_result out;
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(a, b, COUNT(a), &out));
    ASSERT_EQ(9u, out.pairs);
    ASSERT_IN_RANGE(40.0, out.w_plus, TOL);
    ASSERT_IN_RANGE(0.0390625, out.p_value, TOL);
    ASSERT_IN_RANGE(35.0 / 45.0, out.rank_biserial, TOL);
    PASS();
}

// Differences sin(1 + i) + 0.2. The values are counted with whole numbers in Python.
TEST wilcoxon_is_exact_with_many_pairs(void) {
    double d[60];
    const double zero[60] = {0};
    fgsf_stats_wilcoxon_result out;
    for (int i = 0; i < 60; i++) d[i] = sin(1.0 + i) + 0.2;
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(d, zero, 50, &out));
    ASSERT_IN_RANGE(836.0, out.w_plus, TOL);
    ASSERT_IN_RANGE(0.055465717070337206, out.p_value, TOL);
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(d, zero, 60, &out));
    ASSERT_IN_RANGE(1246.0, out.w_plus, TOL);
    ASSERT_IN_RANGE(0.014218988692095934, out.p_value, TOL);
    PASS();
}

// Every sign pattern of the mean ranks, one by one.
static double enumerate(const double *ranks, int n, double w_plus) {
    double total = 0.5 * n * (n + 1), extreme = fabs(w_plus - 0.5 * total);
    long count = 0;
    for (long signs = 0; signs < 1L << n; signs++) {
        double w = 0.0;
        for (int k = 0; k < n; k++) w += signs >> k & 1 ? ranks[k] : 0.0;
        count += fabs(w - 0.5 * total) >= extreme;
    }
    return (double)count / (double)(1L << n);
}

TEST wilcoxon_is_exact_with_ties_and_drops_zeros(void) {
    const double a[] = {1, 2, 3, 4, 5, 6, 7, 8}; // differences -1, 1, -2, 3, 2, -3, 4, 6
    const double b[] = {2, 1, 5, 1, 3, 9, 3, 2};
    const double ranks[] = {1.5, 1.5, 3.5, 3.5, 5.5, 5.5, 7, 8};
    fgsf_stats_wilcoxon_result out;
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(a, b, 8, &out));
    ASSERT_IN_RANGE(25.5, out.w_plus, TOL);
    ASSERT_IN_RANGE(enumerate(ranks, 8, 25.5), out.p_value, TOL);

    const double c[] = {5, 2, 3, 4, 5, 6}; // differences 0, 1, 2, -3, 4, 5
    const double d[] = {5, 1, 1, 7, 1, 1};
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(c, d, 6, &out));
    ASSERT_EQ(5u, out.pairs);
    ASSERT_IN_RANGE(0.3125, out.p_value, TOL); // 10 of 32 sign patterns, by hand
    PASS();
}

// Task means are sixths: 5/6 - 1/6 and 4/6 - 0 differ in their last bits and are tied all the same, and
// three sixths less 1/2 is no difference.
TEST rounding_does_not_break_ties(void) {
    const double a[] = {5.0 / 6, 4.0 / 6, 0.1 + 0.2, 3 * (1.0 / 6), 2.0 / 6};
    const double b[] = {1.0 / 6, 0, 0.3, 0.5, 4.0 / 6};
    const double ranks[] = {1, 2.5, 2.5};
    fgsf_stats_wilcoxon_result out;
    ASSERT(a[0] - b[0] != a[1] && a[2] != b[2]);
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(a, b, 5, &out));
    ASSERT_EQ(3u, out.pairs);
    ASSERT_IN_RANGE(5.0, out.w_plus, TOL);
    ASSERT_IN_RANGE(enumerate(ranks, 3, 5.0), out.p_value, TOL);
    PASS();
}

TEST wilcoxon_of_equal_pairs_says_nothing(void) {
    const double a[] = {1, 2, 3};
    fgsf_stats_wilcoxon_result out;
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(a, a, 3, &out));
    ASSERT_EQ(0u, out.pairs);
    ASSERT_EQ(1.0, out.p_value);
    ASSERT_EQ(0.0, out.rank_biserial);
    const double b[] = {2};
    ASSERT_EQ(FGSF_OK, fgsf_stats_wilcoxon(a, b, 1, &out));
    ASSERT_EQ(1.0, out.p_value); // one pair cannot be significant
    PASS();
}

TEST one_seed_is_a_point_and_smoke(void) {
    const double x[] = {2.0, 4.0};
    fgsf_stats_scores scores = {.x = x, .seeds = 1, .tasks = 2};
    fgsf_stats_interval out;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_iqm_interval(&scores, &MANY, &rng, &out));
    ASSERT_EQ(3.0, out.value);
    ASSERT_EQ(3.0, out.low);
    ASSERT_EQ(3.0, out.high);
    ASSERT_STR_EQ("few seeds", fgsf_stats_label(1));
    ASSERT_STR_EQ("few seeds", fgsf_stats_label(4));
    ASSERT_STR_EQ("", fgsf_stats_label(5));
    PASS();
}

TEST tied_scores_have_no_width(void) {
    const double x[] = {1.5, 1.5, 1.5, 1.5, 1.5};
    fgsf_stats_scores scores = {.x = x, .seeds = 5, .tasks = 1};
    fgsf_stats_interval out;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_OK, fgsf_stats_mean_interval(&scores, &MANY, &rng, &out));
    ASSERT_EQ(out.low, out.high);
    PASS();
}

TEST nan_and_emptiness_are_errors(void) {
    const double x[] = {1.0, NAN, 3.0};
    const double y[] = {1.0, 2.0, INFINITY};
    const double z[] = {1.0, 2.0, 3.0};
    fgsf_stats_scores bad = {.x = x, .seeds = 3, .tasks = 1};
    fgsf_stats_scores good = {.x = z, .seeds = 3, .tasks = 1};
    fgsf_stats_scores none = {.x = z, .seeds = 0, .tasks = 1};
    fgsf_stats_interval interval = {.value = -1.0};
    fgsf_stats_wilcoxon_result test = {.p_value = -1.0};
    double out = -1.0;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_quantile(x, 3, 0.5, &out));
    ASSERT(strstr(fgsf_last_error(), "x[1]"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_quantile(x, 0, 0.5, &out));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_quantile(y, 3, 0.5, &out));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_quantile(z, 3, NAN, &out));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_auc(z, y, 3, &out));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_mean_interval(&bad, &MANY, &rng, &interval));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_mean_interval(&none, &MANY, &rng, &interval));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_iqm_interval(NULL, &MANY, &rng, &interval));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_profile(&good, x, 3, &MANY, &rng, &interval));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_wilcoxon(z, x, 3, &test));
    ASSERT_EQ(-1.0, out);
    ASSERT_EQ(-1.0, interval.value);
    ASSERT_EQ(-1.0, test.p_value);
    PASS();
}

TEST bootstrap_params_are_checked(void) {
    fgsf_stats_scores scores = {.x = FOUR_SEEDS[0], .seeds = 4, .tasks = 2};
    fgsf_stats_bootstrap_params none = {.resamples = 0, .level = 0.95};
    fgsf_stats_bootstrap_params level = {.resamples = 10, .level = 95.0};
    fgsf_stats_interval out;
    fgsf_rng rng = stats_rng();
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_mean_interval(&scores, &none, &rng, &out));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_mean_interval(&scores, &level, &rng, &out));
    ASSERT(strstr(fgsf_last_error(), "95"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_stats_mean_interval(&scores, &MANY, NULL, &out));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(points_match_scipy);
    RUN_TEST(area_is_trapezoidal);
    RUN_TEST(mean_interval_matches_enumeration);
    RUN_TEST(iqm_interval_resamples_whole_seeds);
    RUN_TEST(same_stream_gives_the_same_bits);
    RUN_TEST(profile_is_a_falling_fraction);
    RUN_TEST(wilcoxon_is_exact_without_ties);
    RUN_TEST(wilcoxon_is_exact_with_many_pairs);
    RUN_TEST(wilcoxon_is_exact_with_ties_and_drops_zeros);
    RUN_TEST(rounding_does_not_break_ties);
    RUN_TEST(wilcoxon_of_equal_pairs_says_nothing);
    RUN_TEST(one_seed_is_a_point_and_smoke);
    RUN_TEST(tied_scores_have_no_width);
    RUN_TEST(nan_and_emptiness_are_errors);
    RUN_TEST(bootstrap_params_are_checked);
    GREATEST_MAIN_END();
}
