// The study `gpi`: generalised policy improvement on random decision problems (T6).
//
// Twenty problems share one network per base policy: a one-hot block of states for each problem.
// The library learns psi of each policy by expected semi-gradient updates and scores it with its
// own policy evaluation; the policy that follows is then evaluated exactly, in double.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory.h"

#define PROBLEMS 20
#define STATES 6
#define ACTIONS 3
#define FEATURES 3
#define POLICIES 3
#define GAMMA 0.9
#define ROWS (PROBLEMS * STATES)
#define SCORES ((size_t)POLICIES * ROWS * ACTIONS)

static const double QUERY[FEATURES] = {0.5, 0.3, -0.4};

typedef struct problem {
    double P[STATES][ACTIONS][STATES];
    double phi[STATES][ACTIONS][FEATURES];
    int policy[POLICIES][STATES];        // optimal for the unit vectors
    double q[POLICIES][STATES][ACTIONS]; // of those policies under the query, exact
    double best[STATES][ACTIONS];        // optimal under the query
} problem;

static void draw_problem(problem *m, fgsf_rng *rng) {
    for (int s = 0; s < STATES; s++) {
        for (int a = 0; a < ACTIONS; a++) {
            double sum = 0.0;
            for (int t = 0; t < STATES; t++) { // Dirichlet(1, ..., 1)
                m->P[s][a][t] = -log(1.0 - fgsf_rng_uniform(rng));
                sum += m->P[s][a][t];
            }
            for (int t = 0; t < STATES; t++) m->P[s][a][t] /= sum;
            for (int f = 0; f < FEATURES; f++) m->phi[s][a][f] = fgsf_rng_uniform(rng);
        }
    }
}

static int argmax(const double q[ACTIONS]) {
    int best = 0;
    for (int a = 1; a < ACTIONS; a++) {
        if (q[a] > q[best]) best = a;
    }
    return best;
}

// Q of a policy under w, or the optimal Q when policy is NULL, iterated until double is exhausted.
static void evaluate(const problem *m, const double w[FEATURES], const int *policy,
                     double q[STATES][ACTIONS]) {
    memset(q, 0, sizeof(double[STATES][ACTIONS]));
    for (int sweep = 0; sweep < 400; sweep++) { // 0.9^400 = 5e-19
        for (int s = 0; s < STATES; s++) {
            for (int a = 0; a < ACTIONS; a++) {
                double value = 0.0;
                for (int f = 0; f < FEATURES; f++) value += w[f] * m->phi[s][a][f];
                for (int t = 0; t < STATES; t++) {
                    int next = policy ? policy[t] : argmax(q[t]);
                    value += GAMMA * m->P[s][a][t] * q[t][next];
                }
                q[s][a] = value;
            }
        }
    }
}

static void solve_problem(problem *m) {
    for (int j = 0; j < POLICIES; j++) {
        double unit[FEATURES] = {0}, q[STATES][ACTIONS];
        unit[j] = 1.0;
        evaluate(m, unit, NULL, q);
        for (int s = 0; s < STATES; s++) m->policy[j][s] = argmax(q[s]);
        evaluate(m, QUERY, m->policy[j], m->q[j]);
    }
    evaluate(m, QUERY, NULL, m->best);
}

// Learns psi of policy j in every problem: a pair per outcome, weighted by its probability.
static void learn_policy(theory_report *report, const problem *problems, int j, theory_problem *p) {
    fgsf_bellman_params params = theory_table(ROWS, ACTIONS, FEATURES, ROWS * ACTIONS * STATES);
    params.grad_mix = 0.0;
    theory_problem_open(report, &params, p);
    for (int row = 0; row < ROWS; row++) {
        const problem *m = &problems[row / STATES];
        int s = row % STATES, block = row - s;
        for (int i = 0; i < ACTIONS * STATES; i++) {
            int a = i / STATES, t = i % STATES;
            theory_add_transition(p, row, a, m->P[s][a][t], block + t, m->policy[j][t], GAMMA,
                                  m->phi[s][a]);
        }
    }
    for (int sweep = 0; sweep < 200; sweep++) theory_step(p, 1.0); // 0.9^200 = 7e-10
}

// Moves psi(s, a) along w so that its value under w changes by a number within +-eps.
static void perturb(theory_problem *p, double eps, fgsf_rng *rng) {
    double square = 0.0;
    for (int f = 0; f < FEATURES; f++) square += QUERY[f] * QUERY[f];
    for (int row = 0; row < ROWS; row++) {
        for (int a = 0; a < ACTIONS; a++) {
            double noise = eps * (2.0 * fgsf_rng_uniform(rng) - 1.0);
            for (int f = 0; f < FEATURES; f++) {
                theory_set(p, row, a, f, theory_get(p, row, a, f) + noise * QUERY[f] / square);
            }
        }
    }
}

// The library's values of policy j under the query: q (ROWS, ACTIONS).
static void score(theory_problem *p, float *q) {
    float *states = theory_zeros(p->report, (size_t)ROWS * ROWS, sizeof *states);
    const float rho[FEATURES] = {(float)QUERY[0], (float)QUERY[1], (float)QUERY[2]};
    for (int i = 0; i < ROWS && states; i++) states[i * ROWS + i] = 1.0f;
    theory_evaluate(p, rho, states, ROWS, q);
    free(states);
}

// The GPI action of every row from the scores of all policies.
static void choose(const float *scores, int *actions) {
    for (int row = 0; row < ROWS; row++) {
        double q[ACTIONS];
        for (int a = 0; a < ACTIONS; a++) {
            q[a] = -INFINITY;
            for (int j = 0; j < POLICIES; j++) {
                q[a] = fmax(q[a], scores[(j * ROWS + row) * ACTIONS + a]);
            }
        }
        actions[row] = argmax(q);
    }
}

typedef struct comparison {
    double worst;  // smallest Q_GPI - max_j Q_j over all problems and pairs
    double gain;   // largest
    double regret; // largest Q* - Q_GPI
    double share;  // the same as a share of the transfer bound
    double bound;  // the bound, mean over problems
    double error;  // largest error of the library's scores against the exact values
} comparison;

// (2 / (1 - gamma)) (phi_max min_j |w - w_j| + eps)
static double transfer_bound(const problem *m, double eps) {
    double longest = 0.0, nearest = INFINITY;
    for (int i = 0; i < STATES * ACTIONS; i++) {
        const double *phi = m->phi[i / ACTIONS][i % ACTIONS];
        longest = fmax(longest, sqrt(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]));
    }
    for (int j = 0; j < POLICIES; j++) {
        double square = 0.0;
        for (int f = 0; f < FEATURES; f++) square += pow(QUERY[f] - (f == j), 2.0);
        nearest = fmin(nearest, sqrt(square));
    }
    return 2.0 / (1.0 - GAMMA) * (longest * nearest + eps);
}

static comparison compare(const problem *problems, const float *scores, double eps) {
    comparison c = {.worst = INFINITY};
    int actions[ROWS];
    choose(scores, actions);
    for (int k = 0; k < PROBLEMS; k++) {
        const problem *m = &problems[k];
        double q[STATES][ACTIONS], bound = transfer_bound(m, eps);
        evaluate(m, QUERY, actions + k * STATES, q);
        c.bound += bound / PROBLEMS;
        for (int i = 0; i < STATES * ACTIONS; i++) {
            int s = i / ACTIONS, a = i % ACTIONS, row = k * STATES + s;
            double base = -INFINITY;
            for (int j = 0; j < POLICIES; j++) {
                double score = scores[(j * ROWS + row) * ACTIONS + a];
                base = fmax(base, m->q[j][s][a]);
                c.error = fmax(c.error, fabs(score - m->q[j][s][a]));
            }
            c.worst = fmin(c.worst, q[s][a] - base);
            c.gain = fmax(c.gain, q[s][a] - base);
            c.regret = fmax(c.regret, m->best[s][a] - q[s][a]);
            c.share = fmax(c.share, (m->best[s][a] - q[s][a]) / bound);
        }
    }
    return c;
}

static void report_comparisons(theory_report *report, const comparison *exact,
                               const comparison *noisy) {
    theory_equal(report, 0.0, exact->error, 5e-5,
                 "T6: learned psi . w against the exact Q of the base policies");
    theory_at_least(report, -1e-10, exact->worst, "T6: eps 0, smallest Q_GPI - max_j Q_j");
    theory_at_least(report, 0.1, exact->gain, "T6: eps 0, largest gain over the base policies");
    theory_equal(report, 19.5, exact->bound, 1.0,
                 "T6: eps 0, transfer bound, mean (about 19 to 20)");
    theory_at_most(report, 1.0, exact->share, "T6: eps 0, largest regret / transfer bound");
    theory_at_most(report, 0.05 + 5e-5, noisy->error, "T6: eps 0.05, largest perturbation of Q");
    theory_at_least(report, 0.04, noisy->error, "T6: eps 0.05, the perturbation is really there");
    theory_at_least(report, -1.0, noisy->worst, "T6: eps 0.05, smallest Q_GPI - max_j Q_j");
    theory_at_most(report, -1e-6, noisy->worst,
                   "T6 control: eps 0.05, with errors GPI can be worse than its parts");
    theory_at_most(report, 1.0, noisy->share, "T6: eps 0.05, largest regret / transfer bound");
}

void theory_gpi(theory_report *report) {
    problem *problems = theory_zeros(report, PROBLEMS, sizeof *problems);
    float *scores[2];
    for (int i = 0; i < 2; i++) scores[i] = theory_zeros(report, SCORES, sizeof *scores[i]);
    fgsf_rng rng = fgsf_rng_make(6, FGSF_STREAM_ENV);
    for (int k = 0; k < PROBLEMS && report->status == FGSF_OK; k++) {
        draw_problem(&problems[k], &rng);
        solve_problem(&problems[k]);
    }
    for (int j = 0; j < POLICIES && report->status == FGSF_OK; j++) {
        theory_problem p;
        learn_policy(report, problems, j, &p);
        score(&p, scores[0] + j * ROWS * ACTIONS);
        perturb(&p, 0.05, &rng);
        score(&p, scores[1] + j * ROWS * ACTIONS);
        theory_problem_close(&p);
    }
    if (report->status == FGSF_OK) {
        comparison exact = compare(problems, scores[0], 0.0);
        comparison noisy = compare(problems, scores[1], 0.05);
        report_comparisons(report, &exact, &noisy);
    }
    free(problems);
    free(scores[0]);
    free(scores[1]);
}
