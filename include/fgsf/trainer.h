// Trains one method on one environment with one seed: the loop of the paper's three algorithms.
//
//     fgsf_trainer_create(&cfg, &trainer);
//     while (!fgsf_trainer_done(trainer) && fgsf_trainer_step(trainer) == FGSF_OK) {
//         fgsf_log_row row;
//         if (fgsf_trainer_log(trainer, &row, &due) == FGSF_OK && due) { ... }
//     }
//     fgsf_agent_save(fgsf_trainer_agent(trainer), &cfg, "policy.gguf");  // fgsf/archive.h
//
// A step is one environment step and the learning that follows it. The whole state can be saved after
// any step and loaded into a trainer made from the same configuration; what follows is the same, bit
// for bit.
#ifndef FGSF_TRAINER_H
#define FGSF_TRAINER_H

#include "fgsf/agent.h"
#include "fgsf/config.h"
#include "fgsf/env.h"
#include "fgsf/replay.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_trainer fgsf_trainer;

// One row of train.csv, due every train.log_every steps and at the end of each task. Numbers that do
// not exist yet (no update so far) or do not apply are NaN.
typedef struct fgsf_log_row {
    int64_t step;            // environment steps so far
    int task;                // the active task
    int64_t task_step;       // steps in this task
    double cum_reward;       // collected in this task
    int64_t episodes;        // ended in this task
    double loss;             // of the active task's network, mean since the last row
    double bellman_residual; // mean |delta|^2 / F on transitions never trained on
    double grad_norm;        // before clipping, mean since the last row
    double gpi_share; // share of sampled next states where another policy than the task's was best
    double w_error;   // |w - w_true| / |w_true|
    double psi_error; // mean |x - exact psi| on held-out pairs (diag.psi_error)
} fgsf_log_row;

typedef struct fgsf_progress {
    int64_t step, total_steps;
    int task, num_tasks;
    int64_t optimizer_steps;
    int64_t skipped_updates; // averaging without enough samples
    double flops;            // of matrix products in learning and acting
} fgsf_progress;

FGSF_API fgsf_status fgsf_trainer_create(const fgsf_config *cfg, fgsf_trainer **out);
FGSF_API void fgsf_trainer_free(fgsf_trainer *trainer);

// Takes one step. FGSF_DIVERGED ends the run: the state before the bad update is kept, except on a
// device with memory of its own, where the network that moved is lost.
FGSF_API fgsf_status fgsf_trainer_step(fgsf_trainer *trainer);
FGSF_API bool fgsf_trainer_done(const fgsf_trainer *trainer);

// Sets `due` and fills `row` when a row is due after the last step; at most once per step. Measuring can
// fail, for lack of memory say; then the row is still due.
FGSF_API fgsf_status fgsf_trainer_log(fgsf_trainer *trainer, fgsf_log_row *row, bool *due);

FGSF_API fgsf_progress fgsf_trainer_progress(const fgsf_trainer *trainer);
FGSF_API fgsf_agent *fgsf_trainer_agent(const fgsf_trainer *trainer);
FGSF_API fgsf_learner *fgsf_trainer_learner(const fgsf_trainer *trainer);
FGSF_API const fgsf_replay *fgsf_trainer_replay(const fgsf_trainer *trainer);

// Returns the environment instance of a task.
FGSF_API fgsf_env *fgsf_trainer_env(const fgsf_trainer *trainer, int task);

// Saves or restores everything that the next step depends on. Loading is all or nothing: after an
// error the trainer is as it was. After a success the agent, replay and environments are new ones, so
// ask for pointers to them again.
FGSF_API fgsf_status fgsf_trainer_save(const fgsf_trainer *trainer, const char *path);
FGSF_API fgsf_status fgsf_trainer_load(fgsf_trainer *trainer, const char *path);

// Starts learning with all tasks added and `transitions` random-action transitions of `task` stored:
// the situation that the overhead benchmark times.
FGSF_API fgsf_status fgsf_trainer_prefill(fgsf_trainer *trainer, int task, int64_t transitions);

FGSF_END_DECLS
#endif
