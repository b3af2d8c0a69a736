// The study `descent`: when the Bellman error must fall, and when it need not (T3a, T3b).
//
// With the next actions frozen, E is a smooth quadratic and a small enough step lowers it. With the
// actions chosen anew by generalised policy improvement it is not even continuous: two actions with
// the same value have different successor vectors, so the target jumps when the choice does.
#include <math.h>

#include "theory.h"

#define GAMMA 0.9

// How a run of descent went. Rises are of E in one step; the first is relative to E at the start,
// the second to E just before the step, counted while E is above a millionth of its start. Below
// that, one unit in the last place of x moves E by more than a millionth of itself.
typedef struct descent {
    double rise, relative_rise;
    double first, last;
} descent;

static descent follow(theory_problem *p, double alpha, int steps) {
    descent d = {.first = theory_step(p, alpha)};
    d.last = d.first;
    for (int k = 1; k < steps; k++) {
        double loss = theory_step(p, alpha);
        d.rise = fmax(d.rise, (loss - d.last) / d.first);
        if (d.last > 1e-6 * d.first) d.relative_rise = fmax(d.relative_rise, loss / d.last - 1.0);
        d.last = loss;
    }
    return d;
}

static descent ring_descent(theory_report *report, double alpha, int steps) {
    theory_problem p;
    theory_open_cycle(report, 4, false, GAMMA, 1.0, 0.25, &p);
    descent d = follow(&p, alpha, steps);
    theory_problem_close(&p);
    return d;
}

static void report_descent(theory_report *report, const descent *d, const char *what) {
    theory_at_most(report, 1e-6, d->rise, "T3a: %s, largest rise of E / E at the start", what);
    theory_at_most(report, 1e-6, d->relative_rise,
                   "T3a: %s, largest relative rise above 1e-6 of it", what);
}

static void frozen_ring(theory_report *report) {
    descent d = ring_descent(report, 2.0 / 0.905, 3000);
    report_descent(report, &d, "ring, alpha 2.210");
    theory_at_most(report, 1e-6, d.last / d.first, "T3a: ring, alpha 2.210, E at the end / start");
    d = ring_descent(report, 2.216, 3000);
    report_descent(report, &d, "ring, alpha 2.216");
    d = ring_descent(report, 2.3, 200);
    theory_at_least(report, 1e-3, d.relative_rise,
                    "T3a control: ring, alpha 2.3, E rises within 200 steps");
    theory_equal(report, 1.0778518530, 1.0 + ring_descent(report, 2.3, 3).relative_rise, 1e-4,
                 "T3a control: ring, alpha 2.3, E after 2 steps / after 1");
}

#define STATES 6
#define ACTIONS 3
#define POLICIES 3
#define FEATURES 2

// Three policies over random deterministic transitions: one table with a block of states for each.
// Next actions are the GPI actions of random tables, chosen once and kept.
static void frozen_policies(theory_report *report) {
    int pairs = POLICIES * STATES * ACTIONS;
    fgsf_bellman_params params = theory_table(POLICIES * STATES, ACTIONS, FEATURES, pairs);
    theory_problem p;
    theory_problem_open(report, &params, &p);
    fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_ENV);
    if (report->status == FGSF_OK) fgsf_network_init(p.nets[0], FGSF_NORMAL_FAN_IN, &rng);
    int greedy[STATES];
    for (int s = 0; s < STATES; s++) {
        double best = -INFINITY;
        for (int i = 0; i < POLICIES * ACTIONS; i++) {
            int block = i / ACTIONS * STATES, a = i % ACTIONS;
            double q = theory_get(&p, block + s, a, 0) + theory_get(&p, block + s, a, 1);
            if (q > best) {
                best = q;
                greedy[s] = a;
            }
        }
    }
    for (int s = 0; s < STATES; s++) {
        for (int a = 0; a < ACTIONS; a++) {
            int next = (int)fgsf_rng_below(&rng, STATES);
            double y[FEATURES] = {fgsf_rng_uniform(&rng), fgsf_rng_uniform(&rng)};
            for (int j = 0; j < POLICIES; j++) {
                theory_add_transition(&p, j * STATES + s, a, 1.0 / (STATES * ACTIONS),
                                      j * STATES + next, greedy[next], GAMMA, y);
            }
        }
    }
    descent d = follow(&p, 2.0, 20000);
    report_descent(report, &d, "3 policies, frozen GPI");
    theory_at_most(report, 1e-2, d.last / d.first, "T3a: 3 policies, E at the end / start");
    theory_problem_close(&p);
}

// One transition s -> s', two actions at s'. x(s, a) = (start, 0), x(s', a1) = (2, 0), x(s', a2) =
// (0, second); F = 1 is the same problem with the scalar values.
static void open_tie(theory_report *report, int features, double start, double second,
                     theory_problem *p) {
    fgsf_bellman_params params = theory_table(2, 2, features, 1);
    params.loss_scale = FGSF_DOUBLE_SUM; // |delta|^2, as the jump is stated
    theory_problem_open(report, &params, p);
    const double y[2] = {1.0, 0.0};
    theory_add_transition(p, 0, 0, 1.0, 1, 0, GAMMA, y);
    theory_set(p, 0, 0, 0, start);
    theory_set(p, 1, 0, 0, 2.0);
    theory_set(p, 1, 1, features - 1, second);
}

// Chooses the next action by its value under rho = (1, 1), the first one at a tie.
static int choose_action(theory_problem *p) {
    const float rho[2] = {1.0f, 1.0f};
    float q[2] = {0};
    theory_evaluate(p, rho, p->s_next, 1, q);
    if (p->a_next) p->a_next[0] = q[1] > q[0];
    return q[1] > q[0];
}

static double tie_loss(theory_report *report, int features, double second, int *action) {
    theory_problem p;
    open_tie(report, features, 2.8, second, &p);
    *action = choose_action(&p);
    double loss = theory_loss(&p);
    theory_problem_close(&p);
    return loss;
}

static void live_tie(theory_report *report) {
    // The smallest change a float near 2 can have takes the place of 1e-9.
    double below = nextafterf(2.0f, 0.0f), above = nextafterf(2.0f, 3.0f);
    int first, second;
    double low = tie_loss(report, 2, below, &first), high = tie_loss(report, 2, above, &second);
    theory_equal(report, 0, first, 0, "T3b: action chosen when the second is worth 2 - 1 ulp");
    theory_equal(report, 1, second, 0, "T3b: action chosen when the second is worth 2 + 1 ulp");
    theory_equal(report, 0.0, low, 1e-6, "T3b: |delta|^2 with the first action");
    theory_equal(report, 6.48, high - low, 1e-6, "T3b: jump of |delta|^2 across the tie");
    low = tie_loss(report, 1, below, &first), high = tie_loss(report, 1, above, &second);
    theory_equal(report, 0.0, high - low, 1e-8, "T3b: jump of the scalar loss on the same data");
}

// From x(s, a) = (2.7, 0) the error 0.1 pushes x(s', a1) down, below its rival: the next choice is
// another one and the loss is larger, after a step that was downhill for the action at hand.
static void live_descent(theory_report *report) {
    theory_problem p;
    open_tie(report, 2, 2.7, 2.0, &p);
    double before = theory_step(&p, 0.1), frozen = theory_loss(&p);
    theory_equal(report, 0.01, before, 1e-6, "T3b: |delta|^2 before a step");
    theory_at_most(report, 0.01, frozen, "T3b: after it, the next action kept");
    choose_action(&p);
    // x(s, a) = (2.72, 0), target (1, 1.8)
    theory_equal(report, 1.72 * 1.72 + 1.8 * 1.8, theory_loss(&p), 1e-5,
                 "T3b control: after it, the next action chosen anew");
    theory_problem_close(&p);
}

void theory_descent(theory_report *report) {
    frozen_ring(report);
    frozen_policies(report);
    live_tie(report);
    live_descent(report);
}
