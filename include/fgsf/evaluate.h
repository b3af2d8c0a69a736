// Evaluation of an agent on trained and held-out tasks, with episode seeds that are the same for
// every method and seed of training.
//
//     fgsf_eval_rows rows = {0};
//     fgsf_evaluate(agent, &cfg, FGSF_EVAL_LEARNED, 0.0, &rows);
//
// Trained tasks are scored with the learned or the true reward. Held-out tasks were never trained on:
// if their reward is linear in phi, its weights are used ("true"). Otherwise weights are fitted by ridge
// regression to 2,000 random-action transitions ("ridge"), and the error of the fit is reported.
#ifndef FGSF_EVALUATE_H
#define FGSF_EVALUATE_H

#include <signal.h>

#include "fgsf/agent.h"
#include "fgsf/config.h"
#include "fgsf/env.h"

FGSF_BEGIN_DECLS

// The seed of all evaluation episodes, the same for every method and every training seed.
#define FGSF_EVAL_SEED 123

// One row of eval.csv.
typedef struct fgsf_eval_row {
    int task; // trained tasks first, then held-out ones from num_tasks on
    bool heldout;
    int episode;
    const char *reward_model; // "learned", "true" or "ridge"
    double epsilon;
    double episode_return; // undiscounted
    int steps;
    bool success;
    double fit_error;         // root mean squared error of the ridge fit, else 0
    double discounted_return; // sum of train.gamma^t times the reward of step t, t from 0
    double overestimation;    // max Q at the first state less discounted_return; NaN where Q is
                              // of other rewards (env.centre_features)
    double action_gap;        // mean over the steps of best less second best Q
} fgsf_eval_row;

typedef struct fgsf_eval_rows {
    fgsf_eval_row *rows; // to be freed with free()
    int count, capacity;
    // Optional: looked at before every episode; not 0 ends the evaluation with FGSF_STOPPED.
    const volatile sig_atomic_t *stop;
} fgsf_eval_rows;

// Makes the environment of a configuration for an agent to act in. It is refused where it is not like the
// one that the agent was made for: a map file may have changed since.
FGSF_API fgsf_status fgsf_evaluate_env(const fgsf_agent *agent, const fgsf_config *cfg,
                                       fgsf_env **out);

// Appends eval.episodes rows for every trained task of the configuration's environment.
FGSF_API fgsf_status fgsf_evaluate(fgsf_agent *agent, const fgsf_config *cfg,
                                   enum fgsf_eval_reward reward, double epsilon,
                                   fgsf_eval_rows *out);

// Appends eval.episodes rows for one trained task, greedy on its learned reward.
FGSF_API fgsf_status fgsf_evaluate_task(fgsf_agent *agent, const fgsf_config *cfg, int task,
                                        fgsf_eval_rows *out);

// Appends eval.episodes rows for every held-out task.
FGSF_API fgsf_status fgsf_evaluate_heldout(fgsf_agent *agent, const fgsf_config *cfg,
                                           double epsilon, fgsf_eval_rows *out);

// Writes the scoring vector of a task that was not trained on: from its weights ("true"), or fitted
// ("ridge", with the error of the fit). Fitting plays episodes in `env`. DQN's values contain the reward,
// so there the vector is 1 and called "learned", unless the network gets the task's weights as input.
FGSF_API fgsf_status fgsf_evaluate_rho(const fgsf_agent *agent, fgsf_env *env, int task, float *rho,
                                       const char **name, double *fit_error);

// Fits weights w (num_features) to a reward by ridge regression on random-action transitions, with the
// root mean squared error of the fit. The reward is `reward`, or with NULL that of `task`.
FGSF_API fgsf_status fgsf_evaluate_fit(fgsf_env *env, int task, const fgsf_task *reward, double *w,
                                       double *rmse);

// Returns whether a task's own reward can score what the agent represents.
FGSF_API bool fgsf_evaluate_expressible(const fgsf_agent *agent, const fgsf_env *env, int task);

FGSF_END_DECLS
#endif
