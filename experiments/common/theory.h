// The theory, checked by numbers: studies that compare what the library computes with exact values.
//
//     theory_report report = {.out = stdout};
//     fgsf_device_open("auto", &report.device);
//     theory_studies[0].run(&report);
//     if (report.status != FGSF_OK || report.failed > 0) ...
//
// A study sets a small decision problem into the library's own network (no hidden layer: a table,
// or a linear map), lets the library's Bellman graph compute loss and gradient, and reports rows
// "expected, measured, tolerance". It trains no agent. Errors stick in report.status: once
// something failed, every further call does nothing, so that a study need not check each step.
#ifndef THEORY_H
#define THEORY_H

#include <stdbool.h>
#include <stdio.h>

#include "fgsf/bellman.h"
#include "fgsf/device.h"
#include "fgsf/gpe.h"
#include "fgsf/network.h"
#include "fgsf/optimizer.h"

// ---- Rows, curves -------------------------------------------------------------------------------

typedef struct theory_report {
    fgsf_device *device;
    FILE *out;          // the table; NULL prints nothing
    FILE *csv;          // study,quantity,expected,measured,tolerance,pass; NULL: no file
    const char *curves; // folder of theory_<study>.csv; NULL writes none
    bool quick;         // leaves out the runs that take seconds
    const struct theory_study *study; // set by theory_run
    FILE *curve;                      // the open curve file of the study
    int rows, failed;                 // counts
    fgsf_status status;               // first failure of the library or of a file
} theory_report;

typedef struct theory_study {
    const char *name, *about;
    void (*run)(theory_report *report);
    const char *title, *x, *y; // of its figure; NULL where it has none
} theory_study;

extern const theory_study theory_studies[];
extern const int theory_num_studies;

// Runs one study with its heading, its curve file and its count of rows.
void theory_run(theory_report *report, const theory_study *study);

// One row each: |measured - expected| <= tolerance; measured <= bound; measured >= bound. The
// quantity is a printf format.
void theory_equal(theory_report *report, double expected, double measured, double tolerance,
                  const char *quantity, ...) FGSF_PRINTF(5, 6);
void theory_at_most(theory_report *report, double bound, double measured, const char *quantity, ...)
    FGSF_PRINTF(4, 5);
void theory_at_least(theory_report *report, double bound, double measured, const char *quantity,
                     ...) FGSF_PRINTF(4, 5);

// One point of a curve for the export's figure.
void theory_point(theory_report *report, const char *series, double x, double y);

// True for about ten steps per decade from 1 on, so that long curves stay small.
bool theory_is_plotted(int step);

// Memory of zeros; where there is none, the report's status says so.
void *theory_zeros(theory_report *report, size_t count, size_t size);

// Makes a call of the library unless something failed before.
#define THEORY_TRY(report, call)                                                                   \
    do {                                                                                           \
        if ((report)->status == FGSF_OK) (report)->status = (call);                                \
    } while (0)

// ---- A decision problem in the library's own network --------------------------------------------

#define THEORY_MAX_FEATURES 16

// Pairs (s, a) with next-state samples, in the layout of fgsf_batch, and the network they train.
typedef struct theory_problem {
    theory_report *report;
    fgsf_bellman_params params;
    fgsf_bellman *bellman;
    int num_nets;          // 2 where the kind of gradient has an error network h
    fgsf_network *nets[2]; // x and h
    fgsf_optimizer *optimizers[2];
    double *master[2]; // see theory_keep_double
    double h_rate;     // of a step of h, relative to that of x; 1 unless set
    fgsf_batch batch;  // points into the arrays below; batch.pairs counts what was added
    float *s, *y, *s_next, *discount, *weight;
    int32_t *a, *a_next;
    double loss; // of the last run, before its step
} theory_problem;

// Returns parameters of a table: one-hot states, a network without hidden layer or bias, the `sum`
// loss (half the weighted sum of squared errors), room for `pairs` pairs.
fgsf_bellman_params theory_table(int states, int actions, int features, int pairs);

// Creates the networks (zeros), graph and plain SGD. Free it whatever the report's status is.
void theory_problem_open(theory_report *report, const fgsf_bellman_params *params,
                         theory_problem *problem);
void theory_problem_close(theory_problem *problem);

// Takes steps of another kind than plain SGD from here on.
void theory_use_steps(theory_problem *problem, enum fgsf_opt_kind kind);

// Carries the parameters in double from here on, from their values now, and the graph alone in float:
// for runs whose single steps are smaller than the spacing of floats.
void theory_keep_double(theory_problem *problem);

// Adds a pair and returns its index. Its samples start as "the end": discount 0, y = 0.
int theory_add_pair(theory_problem *problem, int state, int action, double weight);

// Sets one next-state sample of a pair; y may be NULL for 0.
void theory_set_sample(theory_problem *problem, int pair, int sample, int next_state,
                       int next_action, double discount, const double *y);

// Adds a pair whose samples are all the same.
int theory_add_transition(theory_problem *problem, int state, int action, double weight,
                          int next_state, int next_action, double discount, const double *y);

// Opens a table over `states` states in a cycle: i leads to i + 1 and gives feature i, discounted by
// gamma; the last one leads to the first, or to the end where `ends`. Each pair has the same weight.
void theory_open_cycle(theory_report *report, int states, bool ends, double gamma, double eta,
                       double weight, theory_problem *problem);
void theory_add_cycle(theory_problem *problem, bool ends, double gamma, double weight);

// Evaluates x at `rows` states: (rows, actions) under the reward weights rho, or, where rho is NULL,
// (rows, actions, features).
void theory_evaluate(theory_problem *problem, const float *rho, const float *states, int rows,
                     float *out);

// Returns the loss, and leaves the gradient in the graph.
double theory_loss(theory_problem *problem);

// One expected update: theta -= alpha * gradient for x and, at h_rate alpha, for h, both gradients
// taken before. Returns the loss before.
double theory_step(theory_problem *problem, double alpha);

// x(s, a, f) of the table.
double theory_get(const theory_problem *problem, int state, int action, int feature);
void theory_set(theory_problem *problem, int state, int action, int feature, double value);

// The eigenvalues of the loss's Hessian over the states (one action, features == input), ascending.
// The columns of the identity go in as parameters, so one gradient of the graph is the Hessian.
void theory_curvature(theory_problem *problem, double *eigenvalues);

// ---- The studies --------------------------------------------------------------------------------

void theory_ring(theory_report *report);
void theory_chain(theory_report *report);
void theory_descent(theory_report *report);
void theory_bias(theory_report *report);
void theory_sampling(theory_report *report); // the second part of `bias`: T7 and T8
void theory_baird(theory_report *report);
void theory_gpi(theory_report *report);
void theory_fixed_point(theory_report *report);

// What `fixed-point` expects with slip 0.1: how far from psi each method ends, root mean square and
// largest. The numbers are those of a linear solve in double, which the tests repeat.
typedef struct theory_distance {
    const char *name;
    enum fgsf_gradient_kind kind;
    double n; // samples per update; INFINITY for split
    double largest, rms;
} theory_distance;
#define THEORY_DISTANCES 7
extern const theory_distance theory_distances[THEORY_DISTANCES];

// The largest and the root mean square entry of psi itself with slip 0.1.
extern const theory_distance theory_psi_size;

// The policy of `fixed-point`: in each cell the first action of a shortest way to the goal.
struct fgsf_four_rooms;
void theory_shortest_way(const struct fgsf_four_rooms *model, int *policy);

#endif
