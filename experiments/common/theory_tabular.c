// The studies `ring` and `chain`: a table trained on deterministic transitions (T2, T11).
//
// Both have a closed form, X = (I - gamma P)^-1 Y, so what the library learns can be compared entry
// by entry, and the number of sweeps with the eigenvalues of the loss.
#include <math.h>

#include "theory.h"

#define RING 4
#define CHAIN 3
#define GAMMA 0.9
#define FLOOR 5e-5 // of the ring's error in float arithmetic

static double ring_exact(int state, int feature) {
    int wait = (feature - state + RING) % RING; // steps until the feature is seen first
    return pow(GAMMA, wait) / (1.0 - pow(GAMMA, RING));
}

static double chain_exact(int state, int feature) {
    return feature < state ? 0.0 : pow(GAMMA, feature - state);
}

static double table_error(const theory_problem *p, double (*exact)(int, int)) {
    double worst = 0.0;
    for (int s = 0; s < p->params.shape.input; s++) {
        for (int f = 0; f < p->params.shape.features; f++) {
            worst = fmax(worst, fabs(theory_get(p, s, 0, f) - exact(s, f)));
        }
    }
    return worst;
}

// Sweeps until `steps` and puts the error of every plotted sweep on the curve; also notes the first
// sweep at which the error is below 1e-3.
static void sweep_to(theory_problem *p, double alpha, int steps, double (*exact)(int, int),
                     const char *series, int *done, int *reached) {
    for (; *done < steps; ++*done) {
        double error = table_error(p, exact);
        if (theory_is_plotted(*done)) theory_point(p->report, series, *done, error);
        if (*reached < 0 && error <= 1e-3) *reached = *done;
        theory_step(p, alpha);
    }
}

// What the largest error is after that many sweeps.
typedef struct error_after {
    int sweep;
    double error, tolerance;
} error_after;

// Sweeps over the ring and reports the errors; returns the first sweep at which it is below 1e-3.
static int report_errors(theory_problem *p, double alpha, const char *series,
                         const error_after *rows, int count) {
    int done = 0, reached = -1;
    for (int i = 0; i < count; i++) {
        sweep_to(p, alpha, rows[i].sweep, ring_exact, series, &done, &reached);
        theory_equal(p->report, rows[i].error, table_error(p, ring_exact), rows[i].tolerance,
                     "T2 A: %s, largest error after %d sweeps", series, rows[i].sweep);
    }
    return reached;
}

static void ring_curvature(theory_report *report) {
    const struct { double gamma, condition; } cases[] = {{0.9, 361.0}, {0.95, 1521.0}};
    for (int i = 0; i < 2; i++) {
        double e[RING] = {0};
        theory_problem p;
        theory_open_cycle(report, RING, false, cases[i].gamma, 1.0, 1.0 / RING, &p);
        theory_curvature(&p, e);
        theory_problem_close(&p);
        if (i == 0) {
            theory_equal(report, 0.0025, e[0], 1e-6, "T2 A: smallest curvature, gamma 0.9");
            theory_equal(report, 0.9025, e[RING - 1], 1e-6, "T2 A: largest curvature, gamma 0.9");
        }
        // 1e-3 relative: the smallest curvature is a difference of floats near 1/4
        theory_equal(report, cases[i].condition, e[RING - 1] / e[0], 1e-3 * cases[i].condition,
                     "T2 A: condition number of the full gradient, gamma %g", cases[i].gamma);
    }
}

static void ring_full(theory_report *report) {
    theory_problem p;
    theory_open_cycle(report, RING, false, GAMMA, 1.0, 1.0 / RING, &p);
    const error_after rows[] = {{100, 1.512200, 1e-2 * 1.5122},
                                {1000, 1.0331101717e-2, 1e-4},
                                {2000, 4.0558e-5, FLOOR},
                                {3000, 1.5922e-7, FLOOR},
                                {5000, 2.453e-12, FLOOR}};
    int reached = report_errors(&p, 2.0 / (0.9025 + 0.0025), "full gradient", rows, 5);
    theory_equal(report, 2.907822041291074, theory_get(&p, 0, 0, 0), FLOOR, "T2 A: xi(0, 0)");
    theory_equal(report, 1422, reached, 2, "T2 A: full gradient, sweeps until the error is 1e-3");
    double least = INFINITY, mass = 0.0;
    for (int s = 0; s < RING; s++) {
        double sum = 0.0;
        for (int f = 0; f < RING; f++) {
            least = fmin(least, theory_get(&p, s, 0, f));
            sum += theory_get(&p, s, 0, f);
        }
        mass = fmax(mass, fabs(sum - 10.0));
    }
    theory_at_least(report, -1e-9, least, "T11: smallest entry of xi");
    theory_equal(report, 0.0, mass, 2e-4, "T11: row sums of xi minus 1/(1 - gamma), largest");
    theory_problem_close(&p);
}

static void ring_semi(theory_report *report) {
    theory_problem p;
    // weight 1: alpha = 1 is value iteration
    theory_open_cycle(report, RING, false, GAMMA, 0.0, 1.0, &p);
    const error_after rows[] = {
        {10, 1.01389, 1e-2 * 1.01389}, {100, 7.72358e-5, FLOOR}, {200, 2.05e-9, FLOOR}};
    int reached = report_errors(&p, 1.0, "semi-gradient", rows, 3);
    theory_equal(report, 76, reached, 0, "T2 A: semi-gradient, sweeps until the error is 1e-3");
    theory_problem_close(&p);
}

// T2 C: a network with two hidden layers on the ring's four states, trained with Adam.
static void ring_network(theory_report *report) {
    const int steps = 200000;
    fgsf_bellman_params params = theory_table(RING, 1, RING, RING);
    params.shape.num_hidden = 2;
    params.shape.hidden[0] = params.shape.hidden[1] = 8;
    params.shape.activation = FGSF_SILU;
    params.shape.bias = true;
    theory_problem p;
    theory_problem_open(report, &params, &p);
    theory_add_cycle(&p, false, GAMMA, 1.0 / RING);
    theory_use_steps(&p, FGSF_ADAM);
    float x[RING * RING] = {0}, eye[RING * RING] = {0};
    for (int i = 0; i < RING; i++) eye[i * RING + i] = 1.0f;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    if (report->status == FGSF_OK) fgsf_network_init(p.nets[0], FGSF_NORMAL_FAN_IN, &rng);
    for (int k = 0; k < steps && report->status == FGSF_OK; k++) {
        theory_step(&p, 1e-3 * pow(1e-2, (double)k / steps)); // down to 1e-5
    }
    double loss = theory_loss(&p), error = 0.0;
    theory_evaluate(&p, NULL, eye, RING, x);
    for (int i = 0; i < RING * RING; i++) {
        error = fmax(error, fabs(x[i] - ring_exact(i / RING, i % RING)));
    }
    theory_at_most(report, 1e-6, loss, "T2 C: network 4-8-8-4, E after 2e5 Adam steps");
    theory_at_most(report, 1e-3, error, "T2 C: network 4-8-8-4, largest error");
    theory_problem_close(&p);
}

void theory_ring(theory_report *report) {
    ring_curvature(report);
    ring_full(report);
    ring_semi(report);
    if (!report->quick) ring_network(report);
}

void theory_chain(theory_report *report) {
    const double exact[CHAIN][CHAIN] = {{1.0, 0.9, 0.81}, {0.0, 1.0, 0.9}, {0.0, 0.0, 1.0}};
    theory_problem p;
    theory_open_cycle(report, CHAIN, true, GAMMA, 1.0, 1.0 / CHAIN, &p);
    double e[CHAIN] = {0};
    theory_curvature(&p, e);
    theory_equal(report, 12.4835966, e[CHAIN - 1] / e[0], 1e-4, "T2 B: condition number");
    for (int i = 0; i < CHAIN * CHAIN; i++) theory_set(&p, i / CHAIN, 0, i % CHAIN, 0.0);
    int done = 0, reached = -1;
    sweep_to(&p, 2.0 / (e[0] + e[CHAIN - 1]), 500, chain_exact, "full gradient", &done, &reached);
    for (int i = 0; i < CHAIN * CHAIN; i++) {
        int s = i / CHAIN, f = i % CHAIN;
        theory_equal(report, exact[s][f], theory_get(&p, s, 0, f), 1e-6,
                     "T2 B: full gradient, xi(%d, %d)", s, f);
    }
    theory_equal(report, 44, reached, 1, "T2 B: full gradient, sweeps until the error is 1e-3");
    theory_problem_close(&p);

    theory_open_cycle(report, CHAIN, true, GAMMA, 0.0, 1.0, &p);
    done = 0, reached = -1;
    sweep_to(&p, 1.0, 10, chain_exact, "semi-gradient", &done, &reached);
    theory_equal(report, 0.0, table_error(&p, chain_exact), 1e-6,
                 "T2 B: semi-gradient, largest error after 10 sweeps");
    theory_equal(report, 3, reached, 0, "T2 B: semi-gradient, sweeps until the error is 1e-3");
    theory_problem_close(&p);
}
