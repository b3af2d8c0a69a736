// Training with checkpoints, then evaluation and the data for pictures.
#include "run_one.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fgsf/archive.h"
#include "fgsf/evaluate.h"
#include "fgsf/trainer.h"
#include "pictures.h"

#define TRAIN_HEADER                                                                               \
    "step,task,task_step,cum_reward,episodes,loss,bellman_residual,grad_norm,gpi_share,w_error,"   \
    "psi_error"
#define CURVE_HEADER "step,task,return,discounted_return,success,steps"
#define EVAL_HEADER                                                                                \
    "task,episode,reward_model,epsilon,return,steps,success,fit_error,discounted_return,"          \
    "overestimation,action_gap"

typedef struct session {
    const fgsf_config *cfg;
    fgsf_run *run;
    fgsf_trainer *trainer;
    fgsf_csv *train;
    fgsf_job_progress *shown;
    double started;
    fgsf_csv *curve;     // with eval.every
    fgsf_log_row before; // the last row, for the return since then
} session;

static fgsf_run_progress progress_of(const session *s) {
    fgsf_progress p = fgsf_trainer_progress(s->trainer);
    return (fgsf_run_progress){.seconds = fgsf_jobs_now() - s->started,
                               .steps = p.step,
                               .optimizer_steps = p.optimizer_steps};
}

// Rows first, then run.json, which describes the rows of this checkpoint and the last, then the state:
// whatever happens between, the next start finds rows that belong to its state.
static fgsf_status checkpoint(session *s) {
    char path[4096];
    fgsf_run_progress progress = progress_of(s);
    FGSF_TRY(fgsf_csv_sync(s->train));
    if (s->curve) FGSF_TRY(fgsf_csv_sync(s->curve));
    FGSF_TRY(fgsf_run_update(s->run, &progress));
    FGSF_TRY(fgsf_run_path(s->run, "state.gguf", path, sizeof path));
    return fgsf_trainer_save(s->trainer, path);
}

static fgsf_status write_row(fgsf_csv *csv, const fgsf_log_row *r) {
    return fgsf_csv_row(csv, "%lld,%d,%lld,%.9g,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g",
                        (long long)r->step, r->task, (long long)r->task_step, r->cum_reward,
                        (long long)r->episodes, r->loss, r->bellman_residual, r->grad_norm,
                        r->gpi_share, r->w_error, r->psi_error);
}

// Loads the last checkpoint, if there is one, and opens train.csv behind it.
static fgsf_status begin(session *s) {
    char path[4096];
    struct stat info;
    int64_t last_step = -1;
    FGSF_TRY(fgsf_run_path(s->run, "state.gguf", path, sizeof path));
    if (lstat(path, &info) == 0) {
        FGSF_TRY(fgsf_trainer_load(s->trainer, path));
        last_step = fgsf_trainer_progress(s->trainer).step;
    } else if (errno != ENOENT) {
        return fgsf_fail(FGSF_ERR_IO, "%s: cannot look for it: %s", path, strerror(errno));
    }
    FGSF_TRY(fgsf_csv_open(s->run, "train.csv", TRAIN_HEADER, last_step, &s->train));
    if (s->cfg->eval.every > 0) {
        FGSF_TRY(fgsf_csv_open(s->run, "curve.csv", CURVE_HEADER, last_step, &s->curve));
    }
    fgsf_run_progress progress = progress_of(s);
    return fgsf_run_update(s->run, &progress);
}

// Shows the mean return of the episodes since the last row, and the loss.
static void show_row(session *s, const fgsf_log_row *row) {
    if (row->task != s->before.task) s->before = (fgsf_log_row){.task = row->task};
    s->shown->loss = row->loss;
    if (row->episodes == s->before.episodes) return;
    s->shown->last_return =
        (row->cum_reward - s->before.cum_reward) / (double)(row->episodes - s->before.episodes);
    s->before = *row;
}

// Greedy episodes of the active task while it is being learned: means over eval.episodes.
static fgsf_status write_curve(session *s, const fgsf_progress *p) {
    fgsf_eval_rows rows = {.stop = &fgsf_stop};
    double sum[4] = {0};
    fgsf_status status = fgsf_evaluate_task(fgsf_trainer_agent(s->trainer), s->cfg, p->task, &rows);
    for (int i = 0; i < rows.count; i++) {
        sum[0] += rows.rows[i].episode_return / rows.count;
        sum[1] += rows.rows[i].discounted_return / rows.count;
        sum[2] += (double)rows.rows[i].success / rows.count;
        sum[3] += (double)rows.rows[i].steps / rows.count;
    }
    free(rows.rows);
    if (status != FGSF_OK) return status;
    return fgsf_csv_row(s->curve, "%lld,%d,%.9g,%.9g,%.9g,%.9g", (long long)p->step, p->task,
                        sum[0], sum[1], sum[2], sum[3]);
}

static fgsf_status train(session *s, bool *stopped) {
    fgsf_status status = FGSF_OK;
    while (status == FGSF_OK && !fgsf_trainer_done(s->trainer) && !fgsf_stop) {
        fgsf_log_row row;
        bool due = false;
        status = fgsf_trainer_step(s->trainer);
        fgsf_progress p = fgsf_trainer_progress(s->trainer);
        s->shown->steps = p.step;
        if (status == FGSF_OK || status == FGSF_DIVERGED) { // the last row of a run that diverged
            fgsf_status written = fgsf_trainer_log(s->trainer, &row, &due);
            if (written == FGSF_OK && due) written = write_row(s->train, &row);
            if (due) show_row(s, &row);
            status = status == FGSF_OK ? written : status;
        }
        if (status == FGSF_OK && s->curve && p.step % s->cfg->eval.every == 0) {
            status = write_curve(s, &p);
        }
        if (status == FGSF_OK && p.step % s->cfg->train.checkpoint_every == 0) {
            status = checkpoint(s);
        }
    }
    *stopped = status == FGSF_OK && !fgsf_trainer_done(s->trainer);
    return status == FGSF_OK ? checkpoint(s) : status;
}

static fgsf_status write_evaluation(session *s, const fgsf_eval_rows *rows) {
    fgsf_csv *csv = NULL;
    int num_tasks = fgsf_env_get_spec(fgsf_trainer_env(s->trainer, 0))->num_tasks;
    fgsf_status status = fgsf_csv_open(s->run, "eval.csv", EVAL_HEADER, -1, &csv);
    for (int i = 0; i < rows->count && status == FGSF_OK; i++) {
        const fgsf_eval_row *r = &rows->rows[i];
        status =
            fgsf_csv_row(csv, "%s%d,%d,%s,%g,%.9g,%d,%d,%.6g,%.9g,%.9g,%.9g", r->heldout ? "h" : "",
                         r->heldout ? r->task - num_tasks : r->task, r->episode, r->reward_model,
                         r->epsilon, r->episode_return, r->steps, r->success, r->fit_error,
                         r->discounted_return, r->overestimation, r->action_gap);
    }
    fgsf_status closed = fgsf_csv_close(csv);
    return status == FGSF_OK ? closed : status;
}

// Both rewards with and without exploration, and with the configuration's if that is another; then
// the held-out tasks.
static fgsf_status evaluate(session *s) {
    fgsf_agent *agent = fgsf_trainer_agent(s->trainer);
    const double configured = s->cfg->eval.epsilon;
    const double epsilons[3] = {0.0, 0.03, configured};
    const int count = configured == 0.0 || configured == 0.03 ? 2 : 3;
    // The values of q contain the reward; others can be scored by the true one if it is expressible.
    bool scored = s->cfg->learner.agent.representation != FGSF_Q &&
                  fgsf_evaluate_expressible(agent, fgsf_trainer_env(s->trainer, 0), 0);
    fgsf_eval_rows rows = {.stop = &fgsf_stop};
    fgsf_status status = FGSF_OK;
    for (int e = 0; e < count && status == FGSF_OK; e++) {
        status = fgsf_evaluate(agent, s->cfg, FGSF_EVAL_LEARNED, epsilons[e], &rows);
        if (status == FGSF_OK && scored) {
            status = fgsf_evaluate(agent, s->cfg, FGSF_EVAL_TRUE, epsilons[e], &rows);
        }
    }
    if (status == FGSF_OK) status = fgsf_evaluate_heldout(agent, s->cfg, 0.0, &rows);
    if (status == FGSF_OK && configured > 0.0) {
        status = fgsf_evaluate_heldout(agent, s->cfg, configured, &rows);
    }
    if (status == FGSF_OK) status = write_evaluation(s, &rows);
    free(rows.rows);
    return status;
}

static fgsf_status finish(session *s) {
    char path[4096];
    FGSF_TRY(fgsf_run_path(s->run, "policy.gguf", path, sizeof path));
    FGSF_TRY(fgsf_agent_save(fgsf_trainer_agent(s->trainer), s->cfg, path));
    FGSF_TRY(evaluate(s));
    FGSF_TRY(fgsf_pictures_write(s->run, s->cfg, fgsf_trainer_agent(s->trainer)));
    fgsf_run_progress progress = progress_of(s);
    return fgsf_run_finish(s->run, FGSF_RUN_DONE, &progress, "");
}

// Says what went wrong, and writes it into run.json of a run that began: diverged runs keep their
// data and count as finished. A run that could not be opened or continued stays as it is.
static int give_up(session *s, fgsf_status status) {
    char message[sizeof s->shown->message - 16];
    fgsf_text_copy(message, sizeof message, fgsf_last_error());
    snprintf(s->shown->message, sizeof s->shown->message, "%s%s",
             status == FGSF_DIVERGED ? "diverged: " : "", message);
    if (s->train) {
        fgsf_run_progress progress = progress_of(s);
        fgsf_csv_sync(s->train);
        if (s->curve) fgsf_csv_sync(s->curve);
        fgsf_run_status end = status == FGSF_DIVERGED ? FGSF_RUN_DIVERGED : FGSF_RUN_FAILED;
        if (fgsf_run_finish(s->run, end, &progress, message) != FGSF_OK) {
            fgsf_text_copy(s->shown->message, sizeof s->shown->message, fgsf_last_error());
            return 1;
        }
    }
    return status == FGSF_DIVERGED ? 0 : 1;
}

// Opens the run unless it is finished or another process has it. The trainer comes first: what cannot
// be trained leaves no directory behind.
static fgsf_status open_run(session *s, const fgsf_run_id *id, bool resume) {
    fgsf_run_found found = FGSF_FOUND_NOTHING;
    FGSF_TRY(fgsf_run_look(id, &found));
    bool there = found == FGSF_FOUND_FINISHED || found == FGSF_FOUND_BUSY;
    if (!there) {
        FGSF_TRY(fgsf_trainer_create(s->cfg, &s->trainer));
        FGSF_TRY(fgsf_run_open(id, s->cfg, resume, &found, &s->run));
    }
    if (!s->run) {
        snprintf(s->shown->message, sizeof s->shown->message, "%s",
                 found == FGSF_FOUND_BUSY ? "another process is writing it" : "finished before");
    }
    return FGSF_OK;
}

int fgsf_run_one(const fgsf_run_id *id, const fgsf_config *cfg, bool resume,
                 fgsf_job_progress *shown) {
    session s = {.cfg = cfg, .shown = shown, .started = fgsf_jobs_now(), .before.task = -1};
    shown->last_return = shown->loss = NAN;
    bool stopped = false;
    int code = 0;
    fgsf_status status = open_run(&s, id, resume);
    if (status == FGSF_OK && s.run) status = begin(&s);
    if (status == FGSF_OK && s.run) {
        shown->total = fgsf_trainer_progress(s.trainer).total_steps;
        status = train(&s, &stopped);
        if (status == FGSF_OK && !stopped) status = finish(&s);
        stopped = stopped || status == FGSF_STOPPED; // and goes on from the last checkpoint
    }
    if (status != FGSF_OK && status != FGSF_STOPPED) {
        code = give_up(&s, status);
    } else if (stopped) {
        code = FGSF_JOB_STOPPED;
    }
    fgsf_csv_close(s.train);
    fgsf_csv_close(s.curve);
    fgsf_trainer_free(s.trainer);
    fgsf_run_close(s.run);
    return code;
}
