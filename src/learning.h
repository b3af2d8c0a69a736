// Internal: the insides of agent and learner, shared by their files, the trainer and the checkpoint.
#ifndef FGSF_LEARNING_H
#define FGSF_LEARNING_H

#include "fgsf/gpe.h"
#include "fgsf/learner.h"
#include "walk.h"

// ---- The agent ----------------------------------------------------------------------------------

struct fgsf_agent {
    fgsf_agent_params params;
    fgsf_device *device;
    fgsf_network_shape shape;
    bool shared; // one network with a head per policy
    int num_policies;
    int seen;              // policies added so far
    fgsf_network **nets;   // (num_policies), or one when shared
    fgsf_feature_set *set; // xi only
    float *rho;            // (num_tasks, F)
    float *task_weights;   // (num_tasks + num_heldout, num_features): zeros where not linear
    fgsf_gpe *gpe;
    float *input;  // (input): one encoded state and the task input behind it
    float *values; // (num_policies, actions)
    float **q_of;  // (num_policies): where one evaluation writes them
    double *phi;   // (num_features), to score the members of a feature set
    double flops;  // of matrix products so far, acting
};

// Creates an agent without any policy; `max_rows` states can be evaluated at once.
fgsf_status fgsf_agent_create(const fgsf_agent_params *params, int max_rows, fgsf_agent **out);

// Adds the next policy: drawn from the stream, or a copy of the previous one.
fgsf_status fgsf_agent_add_policy(fgsf_agent *agent, fgsf_rng *rng);

// The policy that is trained on a task; where its network stands in `nets`; and its head there.
int fgsf_agent_policy_of(const fgsf_agent *agent, int task);
int fgsf_agent_net_of(const fgsf_agent *agent, int policy);
int fgsf_agent_head_of(const fgsf_agent *agent, int policy);
int fgsf_agent_num_nets(const fgsf_agent *agent);

// The policies that GPI compares for a task: `first` and how many follow.
int fgsf_agent_scope(const fgsf_agent *agent, int task, int *first);

// Writes an encoded state and, behind it, the task input that the network sees for `task`.
void fgsf_agent_input(const fgsf_agent *agent, int task, const float *state, float *input);

// ---- The learner --------------------------------------------------------------------------------

// What a network needs for training.
typedef struct fgsf_training {
    fgsf_network *target; // NULL without a target network
    fgsf_network *error;  // NULL without an error network
    fgsf_optimizer *opt, *error_opt;
    int64_t updates;
} fgsf_training;

// The arrays of one batch: `pairs` pairs with `samples` next states each.
typedef struct fgsf_batch_arrays {
    float *s, *y, *s_next, *discount, *weight;
    int32_t *a, *a_next, *present;
    int num_states; // in s_next: the different ones of each pair, which are evaluated once
    int32_t *row;   // (pairs, samples): where the sample stands there
    int first;      // of them in the tables of values
    int32_t *pair;  // (pairs): where the pair stands in the batch as sampled
} fgsf_batch_arrays;

struct fgsf_learner {
    fgsf_learner_params params;
    fgsf_agent *agent;
    fgsf_replay *replay;
    fgsf_training *training; // one per network
    fgsf_reward **rewards;   // one per task, NULL for q
    fgsf_bellman *bellman;
    fgsf_rng init_rng, explore_rng, replay_rng;
    int max_pairs, samples;
    bool averaging, all_rho;
    bool together;    // policies are evaluated in one graph
    int task, policy; // being learned
    int first, scope; // policies that GPI compares

    fgsf_batch_arrays batch; // as sampled
    int pairs;               // in it
    int64_t *slots;          // (pairs): as drawn
    int64_t *matches;        // (samples): transitions with the pivot's (s, a)

    fgsf_batch_arrays update; // the rows of one optimiser step
    int used;                 // of them, filled
    int *rows;                // (pairs): pairs of the policy that is being added to the update
    bool *moved;              // (policies): those with rows in the update
    int64_t *head_steps;      // (policies): steps of each head of a shared network
    fgsf_stretch *stretches;  // what a step of a shared network moves

    fgsf_choice *ties;           // (policies * A)
    float *select;               // (pairs, input): where the prior is chosen, if not at s'
    float *rho;                  // scoring vectors handed to one evaluation
    const fgsf_network **valued; // (policies): networks handed to it
    float **q;                   // per network (num_states, rhos, A): values at s'
    float **update_q;    // the same for the rows of one update, where the network has changed since
    float **select_q;    // per network (pairs, A): values at `select`
    uint64_t *q_version; // of the network that q was computed with
    float *table;        // (policies, A): the values of one row, side by side
    int *prior;          // (pairs)
    double flops;
};

// Brings the scoring vector of a task up to date; of all tasks when the feature set has grown.
fgsf_status fgsf_learner_refresh_rho(fgsf_learner *learner, int task, bool all);

// Gives a network its error network, or sees whether its definition can have one (learner_error.c).
fgsf_status fgsf_learner_add_error(fgsf_learner *learner, fgsf_training *training);
fgsf_status fgsf_learner_check_error(fgsf_learner *learner);

// Writes y of a transition: phi for psi, the one-hot of its event for xi, the reward for q.
void fgsf_learner_target(const fgsf_learner *learner, const fgsf_transition *t, float *y);

// Returns the length of the members of a feature set (feature_set.c).
int fgsf_feature_set_width(const fgsf_feature_set *set);

// Whether the pairs of an update, of whatever policy, share the states of the batch.
bool fgsf_learner_one_pass(const fgsf_learner *learner);

// The steps of fgsf_learner_learn, in order. Samples the pairs to learn from; learner->pairs may be
// none (learner_batch.c).
fgsf_status fgsf_learner_sample(fgsf_learner *learner);

// Evaluates every policy in scope at the batch's next states (learner_choose.c, as what follows).
fgsf_status fgsf_learner_evaluate(fgsf_learner *learner);

// Chooses c for every pair.
fgsf_status fgsf_learner_choose_priors(fgsf_learner *learner, fgsf_learned *out);

// Chooses a' for the `count` pairs of policy k, which stand in the update from learner->used on;
// stores the number of rows, which hull ties make more.
fgsf_status fgsf_learner_choose_actions(fgsf_learner *learner, int k, int count, int *rows);

// Copies pair b of one batch to place j of another, without a'.
void fgsf_learner_copy_pair(const fgsf_learner *learner, const fgsf_batch_arrays *from, int b,
                            fgsf_batch_arrays *to, int j);

// ---- State --------------------------------------------------------------------------------------

void fgsf_replay_walk(fgsf_replay *replay, fgsf_walk *w, const char *prefix);

// One array of doubles, whatever the model.
void fgsf_reward_walk(fgsf_reward *reward, fgsf_walk *w, const char *name);

// Saves or loads everything that learning goes on from. When loading, the learner is new; tasks are
// added as the file says.
void fgsf_learner_walk(fgsf_learner *learner, fgsf_walk *w);

// Saves or loads networks, scoring vectors and feature set.
void fgsf_agent_walk(fgsf_agent *agent, fgsf_walk *w);

#endif
