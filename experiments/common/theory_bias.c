// The study `bias`: what it costs to use the same next states for error and gradient (T4).
//
// From one state the world branches into two. The expected loss over N sampled next states is put
// into the graph exactly: one pair for every count k of the first branch, weighted by its binomial
// probability, with N samples. Nothing is drawn; sampled runs are in theory_sampling.c.
#include <math.h>
#include <string.h>

#include "theory.h"

// Three states: 0 branches to 1 and 2 with y = 0; 1 gives y = 1 and ends or repeats; 2 ends.
typedef struct setup {
    const char *name;
    double gamma;
    double d[3];
    bool repeats;    // state 1 leads to itself instead of the end
    double truth[3]; // exact successor values
    double alpha;    // a step below 2 / the largest curvature
    int steps;
} setup;

static const setup A_SPLIT = {.name = "T4 A",
                              .gamma = 1.0,
                              .d = {0.5, 0.25, 0.25},
                              .truth = {0.5, 1.0, 0.0},
                              .alpha = 2.0,
                              .steps = 300};
static const setup LONG = {.name = "T4 B",
                           .gamma = 0.9,
                           .d = {1.0 / 3, 1.0 / 3, 1.0 / 3},
                           .repeats = true,
                           .truth = {4.5, 10.0, 0.0},
                           .alpha = 3.0,
                           .steps = 2500};

// An estimator with N samples, of which `first` make the error when it is split.
typedef struct sampling {
    const char *name;
    enum fgsf_estimator estimator;
    double eta;
    int n, first;
} sampling;

static double binomial(int n, int k) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2.0));
}

// Adds state 0 with `in_error` of the first `first` samples, and `in_rest` of the others, in branch
// 1.
static void add_branching(theory_problem *p, const setup *m, double probability, int first,
                          int in_error, int in_rest) {
    int pair = theory_add_pair(p, 0, 0, m->d[0] * probability);
    for (int i = 0; i < p->params.samples; i++) {
        bool one = i < first ? i < in_error : i - first < in_rest;
        theory_set_sample(p, pair, i, one ? 1 : 2, 0, m->gamma, NULL);
    }
}

// The expected loss of an estimator on a setup, as a problem for the graph.
static void open_expected(theory_report *report, const setup *m, const sampling *e,
                          theory_problem *p) {
    // The gradient's sample of critic_only is the first: its branch is enumerated apart.
    int first = e->estimator == FGSF_SPLIT ? e->first : e->estimator == FGSF_CRITIC_ONLY ? 1 : 0;
    fgsf_bellman_params params = theory_table(3, 1, 1, (first + 1) * (e->n - first + 1) + 2);
    params.samples = e->n;
    params.estimator = e->estimator;
    params.split = e->first;
    params.grad_mix = e->eta;
    theory_problem_open(report, &params, p);
    for (int i = 0; i <= first; i++) {
        for (int k = 0; k <= e->n - first; k++) {
            add_branching(p, m, binomial(first, i) * binomial(e->n - first, k), first, i, k);
        }
    }
    const double one = 1.0;
    theory_add_transition(p, 1, 0, m->d[1], 1, 0, m->repeats ? m->gamma : 0.0, &one);
    theory_add_transition(p, 2, 0, m->d[2], 2, 0, 0.0, NULL);
}

// Descends the expected loss from zero to where it stops.
static void minimise(theory_report *report, const setup *m, const sampling *e, double x[3]) {
    theory_problem p;
    open_expected(report, m, e, &p);
    for (int k = 0; k < m->steps; k++) theory_step(&p, m->alpha);
    for (int s = 0; s < 3; s++) x[s] = theory_get(&p, s, 0, 0);
    theory_problem_close(&p);
}

// At the exact values the mean error is 0, so what is left of the loss is the variance term, d
// gamma^2 (x1 - x2)^2 / 8N = 3.375 / N, and of the gradient its derivative, 0.675 / N.
static void variance_term(theory_report *report) {
    const sampling cases[] = {{"shared", FGSF_SHARED, 1.0, 1, 0},
                              {"shared", FGSF_SHARED, 1.0, 5, 0},
                              {"critic_only", FGSF_CRITIC_ONLY, 1.0, 5, 0},
                              {"split", FGSF_SPLIT, 1.0, 2, 1},
                              {"split", FGSF_SPLIT, 1.0, 5, 4},
                              {"semi-gradient", FGSF_SHARED, 0.0, 1, 0}};
    for (int i = 0; i < 6; i++) {
        const sampling *e = &cases[i];
        theory_problem p;
        open_expected(report, &LONG, e, &p);
        for (int s = 0; s < 3; s++) theory_set(&p, s, 0, 0, LONG.truth[s]);
        double loss = theory_loss(&p), slope = NAN;
        if (report->status == FGSF_OK) slope = fgsf_bellman_gradient(p.bellman)[1];
        bool biased = e->estimator != FGSF_SPLIT && e->eta > 0.0;
        if (e->estimator == FGSF_SHARED) {
            theory_equal(report, 3.375 / e->n, loss, 1e-4,
                         "T4 B: %s, N = %d, loss at the exact values", e->name, e->n);
        }
        theory_equal(report, biased ? 0.675 / e->n : 0.0, slope, 1e-4,
                     "T4 B: %s, N = %d, slope along x(s1) there", e->name, e->n);
        theory_problem_close(&p);
    }
}

// The minimiser in closed form. For A, x_B = 1 - 1/(2(N+1)); for B, with c = gamma^2 / 4N and u =
// c/(1+c), the normal equations reduce to x1 = (1-gamma) / ((1-gamma)^2 + u), x2 = u x1.
static void closed_form(const setup *m, double n, double x[3]) {
    if (!m->repeats) {
        x[2] = 0.5 / (n + 1.0);
        x[1] = 1.0 - x[2];
        x[0] = 0.5;
        return;
    }
    double c = m->gamma * m->gamma / (4.0 * n), u = c / (1.0 + c), rest = 1.0 - m->gamma;
    x[1] = rest / (rest * rest + u);
    x[2] = u * x[1];
    x[0] = 0.5 * m->gamma * (x[1] + x[2]);
}

static void report_states(theory_report *report, const setup *m, const sampling *e,
                          const double expected[3]) {
    double x[3] = {0};
    minimise(report, m, e, x);
    for (int s = 0; s < 3; s++) {
        theory_equal(report, expected[s], x[s], 1e-4, "%s: %s, N = %d, x(s%d)", m->name, e->name,
                     e->n, s);
    }
    if (m->repeats && e->eta > 0.0) theory_point(report, e->name, e->n, x[1]);
}

// The table as published, so that the closed form is itself checked by it.
static const struct {
    int n;
    double x[3];
} LONG_TABLE[] = {{1, {0.294721, 0.560541, 0.094395}},   {2, {0.482018, 0.980960, 0.090190}},
                  {5, {0.955604, 2.044004, 0.079560}},   {10, {1.537558, 3.350300, 0.066497}},
                  {20, {2.269884, 4.994129, 0.050059}},  {100, {3.751043, 8.318839, 0.016812}},
                  {1000, {4.411594, 9.801559, 0.001984}}};
#define LONG_ROWS 7

static void shared_tables(theory_report *report) {
    const int sizes[] = {1, 2, 5, 10, 20, 100};
    const double b[] = {0.75, 0.8333333333, 0.9166666667, 0.9545454545, 0.9761904762, 0.9950495050};
    for (int i = 0; i < 6; i++) {
        sampling e = {"shared", FGSF_SHARED, 1.0, sizes[i], 0};
        const double x[3] = {0.5, b[i], 1.0 - b[i]};
        report_states(report, &A_SPLIT, &e, x);
    }
    for (int i = 0; i < LONG_ROWS - 1; i++) {
        sampling e = {"shared", FGSF_SHARED, 1.0, LONG_TABLE[i].n, 0};
        report_states(report, &LONG, &e, LONG_TABLE[i].x);
    }
}

// Rows that float cannot resolve, by the closed form in double.
static void asymptotic_rate(theory_report *report) {
    double x[3], bias[3][3];
    for (int i = 0; i < LONG_ROWS; i++) {
        closed_form(&LONG, LONG_TABLE[i].n, x);
        if (LONG_TABLE[i].n < 1000) continue;
        for (int s = 0; s < 3; s++) {
            theory_equal(report, LONG_TABLE[i].x[s], x[s], 1e-5,
                         "T4 B: closed form in double, N = %d, x(s%d)", LONG_TABLE[i].n, s);
        }
    }
    const double sizes[] = {1e3, 1e4, 1e5};
    for (int i = 0; i < 3; i++) {
        closed_form(&LONG, sizes[i], x);
        for (int s = 0; s < 3; s++) bias[i][s] = x[s] - LONG.truth[s];
    }
    theory_equal(report, -0.00900296, bias[1][0], 1e-8, "T4 B: bias of x(s0), N = 10,000");
    theory_equal(report, -0.02020867, bias[1][1], 1e-8, "T4 B: bias of x(s1), N = 10,000");
    theory_equal(report, 9.82, bias[0][1] / bias[1][1], 0.05,
                 "T4 B: bias at N = 1000 / N = 10,000");
    theory_equal(report, 9.98, bias[1][1] / bias[2][1], 0.05,
                 "T4 B: bias at N = 10,000 / N = 100,000");
}

static void other_estimators(theory_report *report) {
    const sampling same_bias[] = {{"critic_only", FGSF_CRITIC_ONLY, 1.0, 1, 0},
                                  {"critic_only", FGSF_CRITIC_ONLY, 1.0, 5, 0},
                                  {"critic_only", FGSF_CRITIC_ONLY, 1.0, 20, 0}};
    const sampling unbiased[] = {{"split", FGSF_SPLIT, 1.0, 2, 1},
                                 {"split", FGSF_SPLIT, 1.0, 5, 4},
                                 {"split", FGSF_SPLIT, 1.0, 20, 10},
                                 {"semi-gradient", FGSF_SHARED, 0.0, 1, 0}};
    const setup *setups[] = {&A_SPLIT, &LONG};
    for (int m = 0; m < 2; m++) {
        double x[3];
        for (int i = 0; i < 3; i++) {
            closed_form(setups[m], same_bias[i].n, x);
            report_states(report, setups[m], &same_bias[i], x);
        }
        for (int i = 0; i < 4; i++)
            report_states(report, setups[m], &unbiased[i], setups[m]->truth);
    }
}

// What the figure shows beside the measured points.
static void formula_curve(theory_report *report) {
    for (int n = 1; n <= 100000; n++) {
        double x[3];
        closed_form(&LONG, n, x);
        if (theory_is_plotted(n)) theory_point(report, "shared (formula)", n, x[1]);
    }
    theory_point(report, "exact", 1.0, LONG.truth[1]);
    theory_point(report, "exact", 1e5, LONG.truth[1]);
}

void theory_bias(theory_report *report) {
    formula_curve(report);
    variance_term(report);
    shared_tables(report);
    asymptotic_rate(report);
    other_estimators(report);
    theory_sampling(report);
}
