// Learns from transitions of any source: observe, learn, act.
//
//     fgsf_learner_params params = fgsf_learner_default_params();
//     params.agent.num_tasks = 1, params.agent.num_actions = 4;
//     params.agent.num_features = 3, params.agent.state_size = 2;
//     fgsf_learner_create(&params, &learner);
//     fgsf_learner_add_task(learner);
//     for (;;) {                                                    // your own loop
//         fgsf_learner_act(learner, task, s, epsilon, &action);
//         ...                                                       // your own environment
//         fgsf_learner_observe(learner, &experience);
//         fgsf_learner_learn(learner, task, NULL);
//     }
//
// docs/examples/own_loop.c is the complete program. fgsf/trainer.h is such a loop over registered
// environments; fgsf/archive.h saves and loads a learner. The default parameters are those of
// `fg-sfrql` in the preset `clean`.
#ifndef FGSF_LEARNER_H
#define FGSF_LEARNER_H

#include "fgsf/agent.h"
#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"
#include "fgsf/replay.h"
#include "fgsf/reward.h"

FGSF_BEGIN_DECLS

enum fgsf_target_mode { FGSF_TARGET_NONE, FGSF_TARGET_HARD, FGSF_TARGET_POLYAK };
enum fgsf_update_set { FGSF_UPDATE_I_AND_C, FGSF_UPDATE_ALL, FGSF_UPDATE_I_ONLY };
enum fgsf_prior_select { FGSF_PRIOR_NEXT_STATE, FGSF_PRIOR_CURRENT_STATE };
// Which action the bootstrap target takes: the GPI action under the task's reward, the network's
// own greedy action under its own reward, or (as the authors' averaging code does) the network's
// own greedy action on the mean successor vector under the current task's reward.
enum fgsf_next_action { FGSF_NEXT_GPI, FGSF_NEXT_OWN, FGSF_NEXT_OWN_MEAN };
enum fgsf_sample_source { FGSF_SAMPLES_STORED, FGSF_SAMPLES_FRESH };
enum fgsf_pivot_source { FGSF_PIVOT_REPLAY, FGSF_PIVOT_CURRENT };
enum fgsf_shortfall { FGSF_SHORTFALL_USE_AVAILABLE, FGSF_SHORTFALL_REPLACE, FGSF_SHORTFALL_SKIP };
enum fgsf_avg_next_action { FGSF_AVG_GPI, FGSF_AVG_OWN_MEAN, FGSF_AVG_POLICY_C_AT_MEAN };

// One step of an environment.
typedef struct fgsf_experience {
    const float *s, *s_next; // (state_size)
    const float *phi;        // (num_features)
    double reward;
    int action;
    int task;
    bool terminal;  // nothing follows s_next
    bool truncated; // the episode was cut off here, but s_next is not terminal
} fgsf_experience;

// Draws another outcome of out->action in out->s of out->task, and fills in the rest of `out`. Its arrays
// stay valid until the next call.
typedef fgsf_status (*fgsf_draw_next)(void *context, fgsf_rng *rng, fgsf_experience *out);

// The parameters of a learner. docs/config.md describes each under its key.
typedef struct fgsf_learner_params {
    fgsf_agent_params agent;
    int64_t seed;
    double gamma;
    int64_t batch_size, buffer_capacity;
    double lr, lr_prior; // of the task's policy, and of the others
    fgsf_optimizer_params opt;
    struct {
        enum fgsf_gradient_kind kind;
        double eta;    // share of the gradient through the target; semi and full need none
        double h_rate; // corrected, gtd2: learning rate of the error network, times lr
        double h_beta; // and its weight decay, relative to |delta - h|^2 / 2
    } gradient;
    struct {
        enum fgsf_target_mode mode;
        int64_t period; // updates between hard copies
        double polyak;
        bool double_q; // the trained network chooses the next action, the target network values it
    } target;
    enum fgsf_loss_scale loss_scale;
    fgsf_reward_params reward; // its num_features is filled in
    enum fgsf_update_set update_set;
    enum fgsf_prior_select prior_select;
    bool group_by_prior;
    enum fgsf_next_action next_action_current, next_action_prior;
    struct {
        int64_t n; // next states averaged per pair; 1: none
        enum fgsf_estimator estimator;
        int64_t pivots; // 0: as many as the batch
        enum fgsf_pivot_source pivot_source;
        enum fgsf_shortfall shortfall;
        int64_t min_stored; // pairs with fewer stored transitions are left out
        enum fgsf_sample_source source;
        fgsf_draw_next draw; // of FGSF_SAMPLES_FRESH, called with `context`
        void *context;
        enum fgsf_avg_next_action next_action;
        enum fgsf_key_mode key;
        double grid_pitch;
    } avg;
    bool relabel;            // q: replayed rewards are computed again for the learned task
    double divergence_limit; // a loss above it is reported as FGSF_DIVERGED
    int max_rows;            // states that will be evaluated at once, if more than a batch
} fgsf_learner_params;

// What a learning step did.
typedef struct fgsf_learned {
    int updates;      // optimiser steps taken
    int task_updates; // of them, steps of the task's own policy
    double loss;      // sum over the task's updates
    double grad_norm; // likewise
    int pairs;        // sampled pairs (s, a)
    int other_best;   // of them, those where GPI prefers another policy than the task's
    bool skipped;     // no pair had enough samples
} fgsf_learned;

typedef struct fgsf_learner fgsf_learner;

FGSF_API fgsf_learner_params fgsf_learner_default_params(void);

// Creates a learner without any task. What params.agent.tasks points to must outlive it.
FGSF_API fgsf_status fgsf_learner_create(const fgsf_learner_params *params, fgsf_learner **out);
FGSF_API void fgsf_learner_free(fgsf_learner *learner);

// Adds the next task: task 0 first, then 1, up to params.agent.num_tasks. It gets a policy of its own
// (q without per_task: one for all).
FGSF_API fgsf_status fgsf_learner_add_task(fgsf_learner *learner);

// Stores a transition and updates the task's reward model from it.
FGSF_API fgsf_status fgsf_learner_observe(fgsf_learner *learner, const fgsf_experience *experience);

// Samples a batch for the active task and updates the policies that the parameters name. Does nothing
// while fewer transitions than a batch are stored. Adds what it did to `out`, which may be NULL.
FGSF_API fgsf_status fgsf_learner_learn(fgsf_learner *learner, int task, fgsf_learned *out);

// Chooses an action for a task: uniform with probability epsilon, else greedy by GPI.
FGSF_API fgsf_status fgsf_learner_act(fgsf_learner *learner, int task, const float *s,
                                      double epsilon, int *action);

// Forgets all transitions.
FGSF_API void fgsf_learner_forget(fgsf_learner *learner);

// Returns the agent, for Q values and for rewards that were never trained on.
FGSF_API fgsf_agent *fgsf_learner_agent(const fgsf_learner *learner);
FGSF_API const fgsf_replay *fgsf_learner_replay(const fgsf_learner *learner);
FGSF_API const fgsf_learner_params *fgsf_learner_get_params(const fgsf_learner *learner);

FGSF_END_DECLS
#endif
