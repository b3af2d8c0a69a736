// Internal: one learning step, from a batch of replay to optimiser steps.
#ifndef FGSF_LEARNER_H
#define FGSF_LEARNER_H

#include "agent_internal.h"
#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"
#include "fgsf/replay.h"

// What training adds to a policy's network.
typedef struct fgsf_student {
    fgsf_network *target; // NULL without a target network
    fgsf_optimizer *opt;
    int64_t updates;
} fgsf_student;

// What a learning step reports.
typedef struct fgsf_learned {
    int updates;        // optimiser steps taken
    int task_updates;   // of them, steps of the active task's network
    double loss;        // sum over the active task's updates
    double grad_norm;   // likewise
    int pairs, foreign; // sampled pairs, and those where another policy than the task's is best
    bool skipped;       // no pair had enough samples
} fgsf_learned;

// The arrays of one batch: `pairs` pairs with `samples` next states each.
typedef struct fgsf_batch_arrays {
    float *s, *y, *s_next, *discount, *weight;
    int32_t *a, *a_next, *present;
    float *states; // the different ones among each pair's s_next, which are evaluated once
    int32_t *row;  // (pairs, samples): where the sample stands in `states`
    int num_states;
} fgsf_batch_arrays;

typedef struct fgsf_learner {
    fgsf_agent *agent;
    fgsf_replay *replay;
    fgsf_student *students;
    fgsf_bellman *bellman;
    fgsf_rng *rng; // replay stream
    int max_pairs, samples;
    bool averaging, all_rho;
    int task, policy; // being learned
    int first, scope; // policies that GPI compares

    fgsf_batch_arrays batch; // as sampled
    fgsf_batch_arrays part;  // the rows of one update
    int pairs;               // in the batch
    int64_t *slots;          // (pairs): as drawn
    int64_t *matches;        // (samples): transitions with the pivot's (s, a)
    fgsf_choice *ties;       // (policies * A)
    float *select;           // (pairs, input): where the prior is chosen, if not at s'
    float *rho;              // scoring vectors handed to one evaluation
    float **q;               // per policy (num_states, rhos, A): values at s'
    float **part_q;      // the same for the rows of one update, where the network has changed since
    float **select_q;    // per policy (pairs, A): values at `select`
    uint64_t *q_version; // of the network that q was computed with
    float *table;        // (policies, A): the values of one row, side by side
    int *prior;          // (pairs)
    int *rows;           // (pairs): rows of one update
    double flops;
} fgsf_learner;

fgsf_status fgsf_learner_create(fgsf_agent *agent, fgsf_replay *replay, fgsf_student *students,
                                fgsf_rng *rng, fgsf_learner **out);
void fgsf_learner_free(fgsf_learner *learner);

// Largest number of states evaluated at once for a configuration.
int fgsf_learner_max_rows(const fgsf_config *cfg);

// The parts of a step, in order. Samples the pairs to learn from; l->pairs may be none (learner_batch.c).
void fgsf_learner_sample(fgsf_learner *learner);

// Collects the different next states of the first `pairs` pairs.
void fgsf_learner_collect_states(const fgsf_learner *learner, fgsf_batch_arrays *batch, int pairs);

// Evaluates every policy in scope at the batch's next states (learner_choose.c, as what follows).
fgsf_status fgsf_learner_evaluate(fgsf_learner *learner);

// Chooses c for every pair.
fgsf_status fgsf_learner_choose_priors(fgsf_learner *learner, fgsf_learned *out);

// Chooses a' for the `count` pairs of an update of policy k, which stand in l->part; stores the number
// of rows, which hull ties make more.
fgsf_status fgsf_learner_choose_actions(fgsf_learner *learner, int k, int count, int *rows);

// Copies pair b of one batch to place j of another, with weight 1 and without a'.
void fgsf_learner_copy_pair(const fgsf_learner *learner, const fgsf_batch_arrays *from, int b,
                            fgsf_batch_arrays *to, int j);

// Samples a batch and updates the policies that the method updates, for active task `task`. The
// replay must hold at least a batch.
fgsf_status fgsf_learner_step(fgsf_learner *learner, int task, fgsf_learned *out);

#endif
