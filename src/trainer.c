// The loop of the paper's algorithms: schedule, acting, environment step, bookkeeping. Learning is in
// learner.c, diagnostics in diagnose.c, checkpoints in checkpoint.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"
#include "require.h"

static bool is_sequential(const fgsf_config *cfg) {
    return cfg->tasks.schedule == FGSF_SEQUENTIAL;
}

// --- creation -----------------------------------------------------------------------------------

fgsf_status fgsf_trainer_create_env(const fgsf_trainer *t, fgsf_env **out) {
    fgsf_env *env = NULL;
    FGSF_TRY(fgsf_env_create(&t->cfg, &env));
    if (memcmp(fgsf_env_get_spec(env), &t->spec, sizeof t->spec) == 0) {
        *out = env;
        return FGSF_OK;
    }
    fgsf_env_free(env);
    return fgsf_fail(FGSF_ERR_INVALID, "%s: two instances differ in sizes or files",
                     t->cfg.env.name);
}

static fgsf_status create_envs(fgsf_trainer *t) {
    fgsf_env *first = NULL;
    fgsf_status status = fgsf_env_create(&t->cfg, &first);
    if (status != FGSF_OK) return status;
    t->spec = *fgsf_env_get_spec(first);
    t->envs = calloc((size_t)t->spec.num_tasks, sizeof *t->envs);
    t->env_rng = calloc((size_t)t->spec.num_tasks, sizeof *t->env_rng);
    if (!t->envs || !t->env_rng) {
        fgsf_env_free(first);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %d environments", t->spec.num_tasks);
    }
    t->envs[0] = first;
    for (int task = 0; task < t->spec.num_tasks && status == FGSF_OK; task++) {
        t->env_rng[task] =
            fgsf_rng_make((uint64_t)t->cfg.seed, FGSF_STREAM_ENV + 100u * (unsigned)task);
        if (task > 0) status = fgsf_trainer_create_env(t, &t->envs[task]);
        if (status == FGSF_OK) status = fgsf_env_set_task(t->envs[task], task);
        if (status == FGSF_OK) status = fgsf_env_reset(t->envs[task], &t->env_rng[task]);
    }
    return status;
}

static fgsf_status allocate(fgsf_trainer *t) {
    size_t tasks = (size_t)t->spec.num_tasks, state = (size_t)t->spec.state_size;
    size_t d = (size_t)t->spec.num_features, full = (size_t)t->spec.full_size;
    size_t all = tasks + (size_t)t->spec.num_heldout;
    t->tasks = calloc(all, sizeof *t->tasks);
    t->weights = calloc(all * d, sizeof *t->weights);
    t->episodes = calloc(tasks, sizeof *t->episodes);
    t->accounts = calloc(tasks, sizeof *t->accounts);
    t->s = calloc(state, sizeof(float));
    t->s_next = calloc(state, sizeof(float));
    t->phi = calloc(d, sizeof(float));
    t->phi_f64 = calloc(d, sizeof(double));
    t->raw = calloc(full, sizeof(double));
    t->raw_next = calloc(full, sizeof(double));
    t->env_state = calloc(tasks * full, sizeof(double));
    if (!t->tasks || !t->weights || !t->episodes || !t->accounts || !t->s || !t->s_next ||
        !t->phi || !t->phi_f64 || !t->raw || !t->raw_next || !t->env_state) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a trainer of %d tasks", t->spec.num_tasks);
    }
    for (size_t task = 0; task < tasks; task++) t->episodes[task].over = true;
    for (size_t task = 0; task < all; task++) {
        fgsf_env_task(t->envs[0], (int)task, t->weights + task * d, &t->tasks[task]);
    }
    return FGSF_OK;
}

static fgsf_status create_learner(fgsf_trainer *t) {
    fgsf_learner_params params;
    FGSF_TRY(fgsf_config_learner(&t->cfg, &params));
    const fgsf_env_def *def = t->envs[0]->def;
    params.agent.num_tasks = t->spec.num_tasks;
    params.agent.num_heldout = t->spec.num_heldout;
    params.agent.num_actions = t->spec.num_actions;
    params.agent.num_features = t->spec.num_features;
    params.agent.state_size = t->spec.state_size;
    params.agent.tasks = t->tasks;
    params.avg.draw = fgsf_trainer_draw_next;
    params.avg.context = t;
    params.max_rows = (int)t->cfg.diag.residual_batch;
    if (def->feature_set) {
        params.agent.xi.members = def->feature_set(t->envs[0], &params.agent.xi.num_members);
    }
    fgsf_status status = fgsf_learner_create(&params, &t->learner);
    t->agent = status == FGSF_OK ? t->learner->agent : NULL;
    return status;
}

static fgsf_status create_parts(fgsf_trainer *t) {
    t->task_rng = fgsf_rng_make((uint64_t)t->cfg.seed, FGSF_STREAM_TASKS);
    FGSF_TRY(create_envs(t));
    FGSF_TRY(allocate(t));
    FGSF_TRY(fgsf_trainer_create_samples(t));
    FGSF_TRY(create_learner(t));
    t->total_steps = t->cfg.train.steps_per_task * t->spec.num_tasks;
    bool at_once = !is_sequential(&t->cfg) || t->cfg.learner.agent.scope == FGSF_SCOPE_ALL;
    return at_once ? fgsf_trainer_add_tasks(t, t->spec.num_tasks) : FGSF_OK;
}

fgsf_status fgsf_trainer_create(const fgsf_config *cfg, fgsf_trainer **out) {
    FGSF_REQUIRE(out);
    FGSF_TRY(fgsf_config_validate(cfg));
    fgsf_trainer *t = calloc(1, sizeof *t);
    if (!t) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a trainer");
    t->cfg = *cfg;
    fgsf_status status = create_parts(t);
    if (status == FGSF_OK) *out = t;
    if (status != FGSF_OK) fgsf_trainer_free(t);
    return status;
}

void fgsf_trainer_free(fgsf_trainer *t) {
    if (!t) return;
    fgsf_learner_free(t->learner);
    for (int task = 0; task < t->spec.num_tasks && t->envs; task++) fgsf_env_free(t->envs[task]);
    fgsf_trainer_free_samples(t);
    fgsf_heldout_free(&t->heldout);
    void *arrays[] = {t->envs,   t->env_rng, t->tasks,   t->weights, t->episodes, t->accounts, t->s,
                      t->s_next, t->phi,     t->phi_f64, t->raw,     t->raw_next, t->env_state};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(t);
}

// --- tasks --------------------------------------------------------------------------------------

fgsf_status fgsf_trainer_add_tasks(fgsf_trainer *t, int count) {
    fgsf_status status = FGSF_OK;
    while (status == FGSF_OK && t->agent->seen < count && t->agent->seen < t->agent->num_policies) {
        status = fgsf_learner_add_task(t->learner);
    }
    return status;
}

// The task of the next step. Sequential: each in turn. Random: drawn per step or per episode.
static int choose_task(fgsf_trainer *t) {
    const fgsf_config *cfg = &t->cfg;
    if (is_sequential(cfg)) return (int)(t->step / cfg->train.steps_per_task);
    if (cfg->tasks.warmup == FGSF_WARMUP_FIRST_TASK && t->step < cfg->learner.batch_size) return 0;
    bool keep = cfg->tasks.schedule == FGSF_RANDOM_EPISODE && t->step > 0 &&
                !t->episodes[t->cfg.tasks.isolate_state ? t->task : 0].over;
    return keep ? t->task : (int)fgsf_rng_below(&t->task_rng, (uint64_t)t->spec.num_tasks);
}

static fgsf_status enter_task(fgsf_trainer *t, int task) {
    bool new_task = is_sequential(&t->cfg) && (!t->started || task != t->task);
    t->started = true;
    t->task = task;
    if (!new_task) return FGSF_OK;
    t->episodes[t->cfg.tasks.isolate_state ? task : 0].over = true;
    if (t->cfg.train.buffer_reset_on_task) fgsf_learner_forget(t->learner);
    return fgsf_trainer_add_tasks(t, task + 1);
}

// --- one step -----------------------------------------------------------------------------------

// Leaves the encoded state in t->s and the raw state in t->raw. Without task isolation, as in the
// authors' code, both may belong to another task's environment than the one that is stepped.
static fgsf_status begin_step(fgsf_trainer *t, fgsf_episode *episode) {
    fgsf_env *env = t->envs[t->task];
    if (episode->over) {
        FGSF_TRY(fgsf_env_reset(env, &t->env_rng[t->task]));
        *episode = (fgsf_episode){0};
    } else if (!t->cfg.tasks.isolate_state) {
        return FGSF_OK; // go on from whatever state the last step ended in
    }
    fgsf_env_observe(env, t->s);
    if (!t->cfg.tasks.isolate_state) fgsf_env_get_state(env, t->raw);
    return FGSF_OK;
}

// phi(s, a, s') as floats; from the environment where s is its own, else from the two raw states.
// *reward is made what is learned from.
static void write_features(fgsf_trainer *t, int action, const fgsf_step_result *result,
                           double *reward) {
    const double *phi = result->phi;
    if (!t->cfg.tasks.isolate_state) {
        fgsf_env *env = t->envs[t->task];
        fgsf_env_get_state(env, t->raw_next);
        env->def->features(env, t->raw, action, t->raw_next, t->phi_f64);
        memcpy(t->raw, t->raw_next, (size_t)t->spec.full_size * sizeof(double));
        phi = t->phi_f64;
    }
    fgsf_trainer_centre(t, t->task, phi, t->phi, reward);
}

static fgsf_status observe(fgsf_trainer *t, int action, const fgsf_step_result *result) {
    double reward = result->reward;
    FGSF_TRY(fgsf_trainer_check_endless(t, result));
    write_features(t, action, result, &reward);
    return fgsf_learner_observe(t->learner, &(fgsf_experience){.s = t->s,
                                                               .s_next = t->s_next,
                                                               .phi = t->phi,
                                                               .reward = reward,
                                                               .action = action,
                                                               .task = t->task,
                                                               .terminal = result->terminal});
}

static fgsf_status learn(fgsf_trainer *t) {
    fgsf_learned learned = {0};
    fgsf_status status = fgsf_learner_learn(t->learner, t->task, &learned);
    t->optimizer_steps += learned.updates;
    t->skipped_updates += learned.skipped;
    t->window.updates += learned.task_updates;
    t->window.loss += learned.loss;
    t->window.grad_norm += learned.grad_norm;
    t->window.pairs += learned.pairs;
    t->window.other_best += learned.other_best;
    return status;
}

fgsf_status fgsf_trainer_step(fgsf_trainer *t) {
    FGSF_REQUIRE(t);
    if (fgsf_trainer_done(t)) {
        return fgsf_fail(FGSF_ERR_INVALID, "the run is complete after %lld steps",
                         (long long)t->step);
    }
    int action;
    fgsf_step_result result;
    FGSF_TRY(enter_task(t, choose_task(t)));
    fgsf_episode *episode = &t->episodes[t->cfg.tasks.isolate_state ? t->task : 0];
    FGSF_TRY(begin_step(t, episode));
    double epsilon = fgsf_config_epsilon(&t->cfg, t->accounts[t->task].steps);
    FGSF_TRY(fgsf_learner_act(t->learner, t->task, t->s, epsilon, &action));
    FGSF_TRY(fgsf_env_step(t->envs[t->task], action, &t->env_rng[t->task], &result));
    fgsf_env_observe(t->envs[t->task], t->s_next);
    fgsf_status status = observe(t, action, &result);
    if (status == FGSF_OK) status = learn(t); // a run that diverges counts the step

    fgsf_account *account = &t->accounts[t->task];
    account->cum_reward += result.reward;
    account->steps++;
    episode->over = result.terminal || ++episode->length >= t->cfg.train.horizon;
    account->episodes += episode->over;
    memcpy(t->s, t->s_next, (size_t)t->spec.state_size * sizeof(float));
    t->step++;
    bool task_ends = is_sequential(&t->cfg) && t->step % t->cfg.train.steps_per_task == 0;
    t->log_due = t->step % t->cfg.train.log_every == 0 || task_ends || fgsf_trainer_done(t);
    return status;
}

bool fgsf_trainer_done(const fgsf_trainer *t) {
    return t ? t->step >= t->total_steps : false;
}

// --- what can be asked --------------------------------------------------------------------------

fgsf_status fgsf_trainer_log(fgsf_trainer *t, fgsf_log_row *row, bool *due) {
    FGSF_REQUIRE(t && row && due);
    *due = false;
    if (!t->log_due) return FGSF_OK;
    double residual = NAN, psi_error = NAN;
    FGSF_TRY(fgsf_diagnose_residual(t, &residual));
    if (t->cfg.diag.psi_error) FGSF_TRY(fgsf_diagnose_psi_error(t, &psi_error));
    t->log_due = false;
    const fgsf_window *w = &t->window;
    const fgsf_account *account = &t->accounts[t->task];
    fgsf_reward *const *rewards = t->learner->rewards;
    *row = (fgsf_log_row){
        .step = t->step,
        .task = t->task,
        .task_step = account->steps,
        .cum_reward = account->cum_reward,
        .episodes = account->episodes,
        .loss = w->updates ? w->loss / (double)w->updates : NAN,
        .bellman_residual = residual,
        .grad_norm = w->updates ? w->grad_norm / (double)w->updates : NAN,
        .gpi_share = w->pairs ? (double)w->other_best / (double)w->pairs : NAN,
        .w_error = rewards ? fgsf_reward_error(rewards[t->task]) : NAN,
        .psi_error = psi_error,
    };
    t->window = (fgsf_window){0};
    *due = true;
    return FGSF_OK;
}

fgsf_progress fgsf_trainer_progress(const fgsf_trainer *t) {
    if (!t) return (fgsf_progress){0};
    return (fgsf_progress){.step = t->step,
                           .total_steps = t->total_steps,
                           .task = t->task,
                           .num_tasks = t->spec.num_tasks,
                           .optimizer_steps = t->optimizer_steps,
                           .skipped_updates = t->skipped_updates,
                           .flops = t->learner->flops + t->agent->flops};
}

fgsf_agent *fgsf_trainer_agent(const fgsf_trainer *t) {
    return t ? t->agent : NULL;
}

fgsf_learner *fgsf_trainer_learner(const fgsf_trainer *t) {
    return t ? t->learner : NULL;
}

const fgsf_replay *fgsf_trainer_replay(const fgsf_trainer *t) {
    return t ? t->learner->replay : NULL;
}

fgsf_env *fgsf_trainer_env(const fgsf_trainer *t, int task) {
    if (!t) return NULL;
    return task >= 0 && task < t->spec.num_tasks ? t->envs[task] : NULL;
}

fgsf_status fgsf_trainer_prefill(fgsf_trainer *t, int task, int64_t transitions) {
    FGSF_REQUIRE(t);
    FGSF_REQUIRE(transitions >= 0 && transitions <= t->cfg.learner.buffer_capacity);
    if (task < 0 || task >= t->spec.num_tasks) {
        return fgsf_fail(FGSF_ERR_INVALID, "task: %d is not in [0, %d)", task, t->spec.num_tasks);
    }
    if (is_sequential(&t->cfg)) { // the schedule goes on from this task's first step
        t->step = task * t->cfg.train.steps_per_task;
    }
    FGSF_TRY(fgsf_trainer_add_tasks(t, t->spec.num_tasks));
    FGSF_TRY(enter_task(t, task));
    fgsf_episode *episode = &t->episodes[t->cfg.tasks.isolate_state ? task : 0];
    for (int64_t i = 0; i < transitions; i++) {
        fgsf_step_result result;
        FGSF_TRY(begin_step(t, episode));
        int action = (int)fgsf_rng_below(&t->learner->explore_rng, (uint64_t)t->spec.num_actions);
        FGSF_TRY(fgsf_env_step(t->envs[task], action, &t->env_rng[task], &result));
        fgsf_env_observe(t->envs[task], t->s_next);
        FGSF_TRY(observe(t, action, &result));
        episode->over = result.terminal || ++episode->length >= t->cfg.train.horizon;
        memcpy(t->s, t->s_next, (size_t)t->spec.state_size * sizeof(float));
    }
    return FGSF_OK;
}
