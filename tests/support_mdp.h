// Exact answers for small decision problems, in double precision and plain C.
//
// The reference that tests hold the library's float graphs against. It shares no code with them: a
// problem is a list of outcomes, the expected update is the linear map A x - b, and its zero comes
// from Gauss elimination.
//
//     ref_mdp ring = {.pairs = 4, .features = 4, .d = d, .num_outcomes = 4, .outcomes = outcomes};
//     ref_system(&ring, REF_ALL, 1.0, A, b);       // expected full-gradient update
//     ref_solve(4, 4, A, b);                        // b is now where it stops
#ifndef SUPPORT_MDP_H
#define SUPPORT_MDP_H

#include <math.h>
#include <stdbool.h>

#define REF_MAX_FEATURES 8
#define REF_ALL INFINITY // as many next-state samples as the law of large numbers wants

// From a pair (s, a): with some probability to another pair, or to the end (next < 0).
typedef struct ref_outcome {
    int pair, next;
    double probability, gamma;
    double y[REF_MAX_FEATURES];
} ref_outcome;

typedef struct ref_mdp {
    int pairs, features;
    const double *d; // (pairs) how often each pair is updated
    int num_outcomes;
    const ref_outcome *outcomes; // those of one pair are consecutive
} ref_mdp;

// The expected update of x (pairs, features) with n next-state samples per update that serve error
// and gradient alike, and the target attached in the proportion eta, is x -= alpha (A x - b).
// n = REF_ALL is also the expectation of independent samples for the two factors.
void ref_system(const ref_mdp *mdp, double n, double eta, double *A, double *b);

// 0.5 sum_s d_s |E[Y] - x|^2 for n = REF_ALL, plus the variance term 1/n otherwise.
double ref_error(const ref_mdp *mdp, double n, const double *x);

// Solves A x = b (n, n) (n, width) in place: A is destroyed, b becomes x. False when singular.
bool ref_solve(int n, int width, double *A, double *b);

// Repeats x -= alpha (A x - b).
void ref_iterate(int n, int width, const double *A, const double *b, double alpha, int steps,
                 double *x);

double ref_max_difference(int count, const double *x, const double *y);

// Optimal Q (states, actions) of P (states, actions, states) and mean rewards (states, actions).
void ref_value_iteration(int states, int actions, const double *P, const double *reward,
                         double gamma, double *q);

#endif
