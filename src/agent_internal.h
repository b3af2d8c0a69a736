// Internal: the agent's insides, shared with the learner and the trainer.
#ifndef FGSF_AGENT_INTERNAL_H
#define FGSF_AGENT_INTERNAL_H

#include "fgsf/agent.h"
#include "fgsf/archive.h"
#include "fgsf/feature_set.h"
#include "fgsf/gpe.h"
#include "fgsf/reward.h"

struct fgsf_agent {
    fgsf_config cfg;
    fgsf_env_spec spec;
    fgsf_device *device;
    fgsf_network_shape shape;
    int num_policies;
    int seen; // policies added so far; GPI with scope `seen` looks at these
    fgsf_network **nets;
    fgsf_feature_set *set; // xi only
    float *rho;            // (num_tasks, F)
    float *task_weights;   // (num_tasks + num_heldout, num_features), for dqn.task_input=w
    fgsf_gpe *gpe;
    float *input; // (input): one encoded state and the task input behind it
    float *q;     // (num_policies, actions)
    double flops; // of matrix products so far, acting
};

// Creates an agent without any policy; `max_rows` states can be evaluated at once.
fgsf_status fgsf_agent_create(const fgsf_config *cfg, const fgsf_env *env, int max_rows,
                              fgsf_agent **out);

// Adds the next policy's network: fresh from the stream, or a copy of the previous one.
fgsf_status fgsf_agent_add_policy(fgsf_agent *agent, fgsf_rng *rng);

// The policy that is trained on a task.
int fgsf_agent_policy_of(const fgsf_agent *agent, int task);

// The policies that GPI compares for a task: `first` and how many follow.
int fgsf_agent_scope(const fgsf_agent *agent, int task, int *first);

// Writes an encoded state and, behind it, the task input that the network sees for `task`.
void fgsf_agent_input(const fgsf_agent *agent, int task, const float *state, float *input);

// Restores the feature set of xi from a policy or a checkpoint; `path` is for messages.
fgsf_status fgsf_agent_load_members(fgsf_agent *agent, const fgsf_archive *archive,
                                    const char *path);

#endif
