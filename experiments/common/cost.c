// Costs from the configuration alone: no environment is made for it.
#include "cost.h"

#define ENDS 64.0 // inputs and outputs of a network together, roughly: only the order matters

static double parameters(const fgsf_config *cfg) {
    double sum = 0, before = ENDS;
    for (int l = 0; l < cfg->learner.agent.net.num_hidden; l++) {
        sum += before * cfg->learner.agent.net.hidden[l];
        before = cfg->learner.agent.net.hidden[l];
    }
    return sum + before * ENDS;
}

// With all networks updated, task k of n updates k of them: half on average.
static double networks(const fgsf_config *cfg) {
    double tasks = (double)cfg->env.num_tasks;
    bool alone = cfg->learner.agent.representation == FGSF_Q;
    if (alone || cfg->learner.update_set == FGSF_UPDATE_I_ONLY) return 1.0;
    if (cfg->learner.update_set == FGSF_UPDATE_ALL) return (tasks + 1.0) / 2.0;
    return 2.0 - 1.0 / tasks; // the first task has no prior policy
}

double fgsf_cost_steps(const fgsf_config *cfg) {
    return (double)cfg->env.num_tasks * (double)cfg->train.steps_per_task;
}

double fgsf_cost_of_run(const fgsf_config *cfg) {
    double rows = (double)cfg->learner.batch_size * (1.0 + (double)cfg->learner.avg.n);
    return fgsf_cost_steps(cfg) * networks(cfg) * rows * parameters(cfg);
}
