// A trainer with a tiny network and a replay full of made-up transitions, and beside it the same
// parameters in double precision, on which a test takes the step that the specification describes.
//
//     world *w = world_create("compat", "fg-sfrql", "sf.lr=0.01", 2);
//     world_sample(w);                     // the pairs that the learner is about to draw
//     world_update(w, k, ...);             // the specification's step, in double precision
//     world_learn(w);                      // the library's
//     world_error(w);                      // the largest difference of any parameter
#ifndef FGSF_SUPPORT_UPDATE_H
#define FGSF_SUPPORT_UPDATE_H

#include "support_reference.h"
#include "trainer_internal.h"

#define WORLD_TASKS 3
#define WORLD_BATCH 6
#define WORLD_MAX_N 4
#define WORLD_MAX_ACTIONS 4

// A policy in double precision.
typedef struct twin {
    double *theta, *start, *target; // target is NULL without one; start is theta at the beginning
    reference_optimizer opt;
    int64_t updates;
    int64_t head_steps[WORLD_TASKS]; // of the heads of a shared network
    struct twin *error;              // its error network, or NULL
} twin;

// A pair as drawn: its own slot and those of `count` transitions with the same (s, a).
typedef struct drawn {
    int64_t slot, matches[WORLD_MAX_N];
    int count;
} drawn;

// One pair in an update: the next action of every sample.
typedef struct pick {
    int pair;
    double weight;
    int a_next[WORLD_MAX_N];
    int head; // of a shared network
} pick;

// How the loss of a method is made. The kinds with another network are known by gradient.kind.
typedef struct recipe {
    double eta;
    enum fgsf_loss_scale scale;
    enum fgsf_estimator estimator;
} recipe;

typedef struct world {
    fgsf_trainer *t;
    fgsf_replay *mirror; // the same transitions, drawn from in the same order
    fgsf_rng rng;        // a copy of the trainer's replay stream
    int task;            // active
    int num_policies;    // twins: one when policies share a network
    twin policies[WORLD_TASKS];
    fgsf_learned learned; // of the last world_learn
    drawn pairs[WORLD_BATCH];
    int num_pairs;
} world;

// Creates a world for an active task. `settings` is "key=value key=value ...". Out of memory, or a
// setting that is refused, ends the test.
world *world_create(const char *preset, const char *method, const char *settings, int task);
void world_free(world *w);

// Draws the pairs of the next step as section 2 says: uniformly with replacement, and for averaging n
// transitions of the same key for each. Pivots with fewer than `least` are left out.
void world_sample(world *w, int least);

// The transition of a pair, or of its p-th sample.
fgsf_transition world_pivot(const world *w, int pair);
fgsf_transition world_match(const world *w, int pair, int p);

// Q of parameters theta at a state under `task`'s scoring vector: (A). For DQN the vector is (1).
void world_q(const world *w, const double *theta, const float *s, int task, double *q);

// argmax_a Q of one policy, and argmax over (policy, action) of the first `scope`; first maxima.
int world_own_action(const world *w, int k, const float *s, int task);
int world_gpi_action(const world *w, int scope, const float *s, int task, int *policy);

// Takes one optimiser step on twin k from the picks, as the recipe says, then tracks its target.
void world_update(world *w, const recipe *r, int k, const pick *picks, int count,
                  double denominator, double lr);

// Lets the library take the step.
fgsf_status world_learn(world *w);

// Returns the largest |library - twin| over all parameters of all policies, of targets and of error
// networks.
double world_error(const world *w);

// Returns the largest change of a twin's parameters since the world was created.
double world_moved(const world *w, int k);

#endif
