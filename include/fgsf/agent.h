// An agent acts: it holds the policies' networks and the tasks' scoring vectors, and applies GPI.
//
//     fgsf_agent_act(agent, task, NULL, state, &rng, &choice);     // choice.action, choice.policy
//     fgsf_agent_rho_from_weights(agent, w, rho);                  // act at once on a reward
//     fgsf_agent_act(agent, task, rho, state, &rng, &choice);      // that was never trained on
//
// A learner (fgsf/learner.h) makes and trains an agent; an archive (fgsf/archive.h) loads a saved
// one. A network represents one of three things; Q is always sum_f x(s, a, f) rho[f]:
//
//     representation   F                  target y         rho of a task      GPI over
//     q                1                  reward           (1)                its own policy
//     psi              num_features       phi              w                  all policies
//     xi               the feature set    one-hot of phi   R(phi^f)           all policies
//
// `q` is DQN.
#ifndef FGSF_AGENT_H
#define FGSF_AGENT_H

#include "fgsf/device.h"
#include "fgsf/feature_set.h"
#include "fgsf/gpi.h"
#include "fgsf/network.h"
#include "fgsf/reward.h"

FGSF_BEGIN_DECLS

enum fgsf_representation { FGSF_Q, FGSF_PSI, FGSF_XI };
enum fgsf_gpi_scope { FGSF_SCOPE_SEEN, FGSF_SCOPE_ALL, FGSF_SCOPE_OWN };
enum fgsf_task_input { FGSF_TASK_INPUT_NONE, FGSF_TASK_INPUT_ONEHOT, FGSF_TASK_INPUT_W };
enum fgsf_init_from { FGSF_INIT_FRESH, FGSF_INIT_PREVIOUS };

#define FGSF_NAME_SIZE 64

typedef struct fgsf_agent_params {
    int num_tasks;          // most tasks that are trained on
    int num_heldout;        // further ones that are only evaluated
    int num_actions;        // of every state
    int num_features;       // length of phi
    int state_size;         // numbers in an encoded state
    const fgsf_task *tasks; // (num_tasks + num_heldout), or NULL when nothing is known of them

    enum fgsf_representation representation;
    fgsf_feature_set_params xi; // for xi; its num_features is filled in
    fgsf_network_shape net;     // input, actions, features and heads are filled in
    enum fgsf_init init;
    enum fgsf_init_from init_from; // a new policy: drawn, or a copy of the previous one
    enum fgsf_gpi_scope scope;     // the policies GPI ranges over; q has its own alone
    enum fgsf_tie tie;
    enum fgsf_task_input task_input; // q: what the network is told about the task
    bool per_task;                   // q: a network for each task
    char device[FGSF_NAME_SIZE];
    int64_t threads; // of the device
} fgsf_agent_params;

typedef struct fgsf_agent fgsf_agent;

// Returns psi with two hidden layers of 256 units on device auto. Fill in the sizes, which are 0.
FGSF_API fgsf_agent_params fgsf_agent_default_params(void);

FGSF_API void fgsf_agent_free(fgsf_agent *agent);

FGSF_API const fgsf_agent_params *fgsf_agent_get_params(const fgsf_agent *agent);
FGSF_API const fgsf_network_shape *fgsf_agent_shape(const fgsf_agent *agent);

// Returns the device that the agent computes on, which belongs to it.
FGSF_API fgsf_device *fgsf_agent_device(const fgsf_agent *agent);

// Returns the number of policies, and the network of one (NULL if there is none). A shared network
// serves every policy: policy k is its head k.
FGSF_API int fgsf_agent_num_policies(const fgsf_agent *agent);
FGSF_API fgsf_network *fgsf_agent_network(const fgsf_agent *agent, int policy);

// Returns the feature set of xi, which belongs to the agent; NULL for the others.
FGSF_API const fgsf_feature_set *fgsf_agent_feature_set(const fgsf_agent *agent);

// Returns the learned scoring vector of a trained task (F numbers), or NULL.
FGSF_API const float *fgsf_agent_rho(const fgsf_agent *agent, int task);

// Turns reward weights (num_features) into a scoring vector: the same numbers for psi, the reward of
// every member of the feature set for xi.
FGSF_API void fgsf_agent_rho_from_weights(const fgsf_agent *agent, const double *w, float *rho);

// Writes the scoring vector of a known reward; returns false where the representation cannot express
// it.
FGSF_API bool fgsf_agent_rho_from_task(const fgsf_agent *agent, const fgsf_task *task, float *rho);

// Evaluates an encoded state: q (policies in scope, actions). At most fgsf_agent_num_policies are in
// scope. With `rho` NULL the learned vector of `task` is used.
FGSF_API fgsf_status fgsf_agent_q(fgsf_agent *agent, int task, const float *rho, const float *state,
                                  float *q, int *num_policies);

// Evaluates the representation of one policy at an encoded state: x (actions, F).
FGSF_API fgsf_status fgsf_agent_features(fgsf_agent *agent, int task, int policy,
                                         const float *state, float *x);

// Chooses the greedy action by GPI. `rng` is used for random ties only.
FGSF_API fgsf_status fgsf_agent_act(fgsf_agent *agent, int task, const float *rho,
                                    const float *state, fgsf_rng *rng, fgsf_choice *choice);

FGSF_END_DECLS
#endif
