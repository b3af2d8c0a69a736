// Internal: the trainer's insides, shared by the loop (trainer.c), the diagnostics (diagnose.c) and
// the checkpoint (checkpoint.c).
#ifndef FGSF_TRAINER_INTERNAL_H
#define FGSF_TRAINER_INTERNAL_H

#include "fgsf/trainer.h"
#include "learning.h"

// Where a task stands in its current episode.
typedef struct fgsf_episode {
    bool over; // the next step resets
    int64_t length;
} fgsf_episode;

// What a task has collected so far.
typedef struct fgsf_account {
    int64_t steps, episodes;
    double cum_reward;
} fgsf_account;

// Sums since the last log row.
typedef struct fgsf_window {
    int64_t updates, pairs, other_best;
    double loss, grad_norm;
} fgsf_window;

// Transitions of a uniform random policy, never trained on: the Bellman residual is measured on them.
typedef struct fgsf_heldout {
    int task;  // that they were collected in
    int count; // 0 for none
    float *s, *s_next, *phi, *discount, *reward;
    double *raw; // (count, full_size): the state before the action, for exact rollouts
    int32_t *a;
    fgsf_bellman *bellman; // the graph whose loss is the residual
} fgsf_heldout;

// For fresh next states: an environment that is set to the state of a stored pair.
typedef struct fgsf_fresh {
    fgsf_env *env;
    double *state, *raw; // (state_size), (raw_size)
    float *s_next, *phi;
} fgsf_fresh;

struct fgsf_trainer {
    fgsf_config cfg;
    fgsf_env_spec spec;
    fgsf_env **envs;   // one per task, each with its own state
    fgsf_rng *env_rng; // one stream per task
    double *env_state; // (num_tasks, full_size), while they are saved or loaded
    fgsf_rng task_rng;
    fgsf_task *tasks; // what is known of them, held-out ones included
    double *weights;  // (tasks, num_features): theirs
    fgsf_learner *learner;
    fgsf_agent *agent; // the learner's

    int64_t step, total_steps;
    int task;
    bool started;           // a task has been entered
    fgsf_episode *episodes; // one per task; without tasks.isolate_state only the first is used
    fgsf_account *accounts; // one per task
    fgsf_window window;
    int64_t optimizer_steps, skipped_updates;
    bool log_due;

    float *s, *s_next;                // (state_size): encoded states around the step
    float *phi;                       // (num_features)
    double *raw, *raw_next, *phi_f64; // for features of states that do not belong together
    double
        *centre; // (num_features): with env.centre_features, what is subtracted from phi; else NULL
    fgsf_fresh fresh; // with avg.source=fresh
    fgsf_heldout heldout;
};

// Creates an instance and refuses one of other sizes than t->spec, which all arrays are made for.
fgsf_status fgsf_trainer_create_env(const fgsf_trainer *t, fgsf_env **out);

// Adds the tasks that the schedule has reached.
fgsf_status fgsf_trainer_add_tasks(fgsf_trainer *trainer, int count);

// What env.centre_features and avg.source=fresh need; draws what follows a stored pair; refuses the end
// of an episode under env.centre_features (trainer_samples.c, as what follows).
fgsf_status fgsf_trainer_create_samples(fgsf_trainer *trainer);
void fgsf_trainer_free_samples(fgsf_trainer *trainer);
fgsf_status fgsf_trainer_draw_next(void *trainer, fgsf_rng *rng, fgsf_experience *out);
fgsf_status fgsf_trainer_check_endless(const fgsf_trainer *trainer, const fgsf_step_result *result);

// Writes phi as floats and makes *reward what is learned from: less their centres with
// env.centre_features.
void fgsf_trainer_centre(const fgsf_trainer *trainer, int task, const double *phi, float *out,
                         double *reward);

void fgsf_heldout_free(fgsf_heldout *heldout);

// Mean |delta|^2 / F over held-out transitions of the active task, which are collected when the last
// ones are another task's; NaN with diag.residual_batch 0.
fgsf_status fgsf_diagnose_residual(fgsf_trainer *trainer, double *out);

// Mean |psi_i(s, a) - psi(s, a)| over held-out pairs: what network i says (for xi, the mean over its
// members) against one exact rollout each. Deterministic environments only; NaN elsewhere.
fgsf_status fgsf_diagnose_psi_error(fgsf_trainer *trainer, double *out);

#endif
