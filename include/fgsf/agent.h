// What acts: the policies' networks, the tasks' scoring vectors, and GPI over them.
//
//     fgsf_agent_load("policy.gguf", "auto", &agent);
//     fgsf_agent_act(agent, task, NULL, state, &rng, &choice);     // choice.action, choice.policy
//
// For successor representations there is one policy per task and a task's Q comes from its scoring
// vector rho (w for psi, R(phi^f) for xi). DQN is the case F = 1 with rho = (1) and no improvement
// over other policies.
#ifndef FGSF_AGENT_H
#define FGSF_AGENT_H

#include "fgsf/device.h"
#include "fgsf/env.h"
#include "fgsf/gpi.h"
#include "fgsf/network.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_agent fgsf_agent;

FGSF_API const fgsf_config *fgsf_agent_config(const fgsf_agent *agent);
FGSF_API const fgsf_network_shape *fgsf_agent_shape(const fgsf_agent *agent);

// Returns the device that the agent computes on, which belongs to it.
FGSF_API fgsf_device *fgsf_agent_device(const fgsf_agent *agent);

// Returns the number of policies, and the network of one.
FGSF_API int fgsf_agent_num_policies(const fgsf_agent *agent);
FGSF_API fgsf_network *fgsf_agent_network(const fgsf_agent *agent, int policy);

// Returns the learned scoring vector of a trained task (F numbers).
FGSF_API const float *fgsf_agent_rho(const fgsf_agent *agent, int task);

// Turns reward weights (num_features) into a scoring vector: the same numbers for psi, the reward of
// every member of the feature set for xi.
FGSF_API void fgsf_agent_rho_from_weights(const fgsf_agent *agent, const double *w, float *rho);

// Writes the scoring vector of the environment's own reward for a task; returns false where the
// representation cannot express it.
FGSF_API bool fgsf_agent_true_rho(const fgsf_agent *agent, const fgsf_env *env, int task,
                                  float *rho);

// Evaluates an encoded state: q (policies in scope, actions); there are never more policies in scope
// than fgsf_agent_num_policies says. `rho` NULL means the learned one of `task`.
FGSF_API fgsf_status fgsf_agent_q(fgsf_agent *agent, int task, const float *rho, const float *state,
                                  float *q, int *num_policies);

// Chooses by GPI, greedily; `rng` serves random ties only.
FGSF_API fgsf_status fgsf_agent_act(fgsf_agent *agent, int task, const float *rho,
                                    const float *state, fgsf_rng *rng, fgsf_choice *choice);

// Writes the networks, scoring vectors and configuration to a file, or reads them back.
FGSF_API fgsf_status fgsf_agent_save(const fgsf_agent *agent, const char *path);
FGSF_API fgsf_status fgsf_agent_load(const char *path, const char *device, fgsf_agent **out);
FGSF_API void fgsf_agent_free(fgsf_agent *agent);

FGSF_END_DECLS
#endif
