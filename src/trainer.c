// The loop of the paper's algorithms: schedule, acting, environment step, bookkeeping. Learning is in
// learner.c, diagnostics in diagnose.c, checkpoints in checkpoint.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

static bool is_sequential(const fgsf_config *cfg) {
    return cfg->tasks.schedule == FGSF_SEQUENTIAL;
}

// --- creation -----------------------------------------------------------------------------------

static fgsf_status create_envs(fgsf_trainer *t) {
    fgsf_env *first = NULL;
    fgsf_status status = fgsf_env_create(&t->cfg, &first);
    if (status != FGSF_OK) {
        return status;
    }
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
        if (task > 0) {
            status = fgsf_env_create(&t->cfg, &t->envs[task]);
        }
        if (status == FGSF_OK) status = fgsf_env_set_task(t->envs[task], task);
        if (status == FGSF_OK) status = fgsf_env_reset(t->envs[task], &t->env_rng[task]);
    }
    return status;
}

static fgsf_status allocate(fgsf_trainer *t) {
    size_t tasks = (size_t)t->spec.num_tasks, state = (size_t)t->spec.state_size;
    size_t d = (size_t)t->spec.num_features, full = (size_t)t->spec.full_size;
    t->students = calloc((size_t)t->agent->num_policies, sizeof *t->students);
    t->rewards = calloc(tasks, sizeof *t->rewards);
    t->episodes = calloc(tasks, sizeof *t->episodes);
    t->accounts = calloc(tasks, sizeof *t->accounts);
    t->s = calloc(state, sizeof(float));
    t->s_next = calloc(state, sizeof(float));
    t->phi = calloc(d, sizeof(float));
    t->phi_f64 = calloc(d, sizeof(double));
    t->raw = calloc(full, sizeof(double));
    t->raw_next = calloc(full, sizeof(double));
    if (!t->students || !t->rewards || !t->episodes || !t->accounts || !t->s || !t->s_next ||
        !t->phi || !t->phi_f64 || !t->raw || !t->raw_next) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a trainer of %d tasks", t->spec.num_tasks);
    }
    for (size_t task = 0; task < tasks; task++) {
        t->episodes[task].over = true;
    }
    return FGSF_OK;
}

static fgsf_status create_replay(fgsf_trainer *t) {
    fgsf_replay_params params = {
        .capacity = t->cfg.train.buffer_capacity,
        .state_size = t->spec.state_size,
        .num_features = t->spec.num_features,
        .indexed = t->cfg.avg.n > 1,
        .key = (enum fgsf_key_mode)t->cfg.avg.key,
        .grid_pitch = t->cfg.avg.grid_pitch,
    };
    return fgsf_replay_create(&params, &t->replay);
}

static fgsf_status create_rewards(fgsf_trainer *t) {
    fgsf_status status = FGSF_OK;
    for (int task = 0; task < t->spec.num_tasks && status == FGSF_OK; task++) {
        status = fgsf_reward_create(&t->cfg, t->envs[task], task, t->agent->device, &t->init_rng,
                                    &t->rewards[task]);
    }
    return status;
}

// Relabelling computes rewards from phi, so every task must pay linearly in phi.
static fgsf_status check_relabel(const fgsf_trainer *t) {
    for (int task = 0; task < t->spec.num_tasks && t->cfg.dqn.relabel; task++) {
        if (!t->envs[task]->def->task_weights(t->envs[task], task, t->phi_f64)) {
            return fgsf_fail(FGSF_ERR_INVALID,
                             "dqn.relabel: true, but the reward of task %d is not linear in its "
                             "features, so it cannot be computed from them",
                             task);
        }
    }
    return FGSF_OK;
}

static fgsf_status create_parts(fgsf_trainer *t) {
    uint64_t seed = (uint64_t)t->cfg.seed;
    t->init_rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    t->explore_rng = fgsf_rng_make(seed, FGSF_STREAM_EXPLORE);
    t->replay_rng = fgsf_rng_make(seed, FGSF_STREAM_REPLAY);
    t->task_rng = fgsf_rng_make(seed, FGSF_STREAM_TASKS);
    fgsf_status status = create_envs(t);
    if (status == FGSF_OK) {
        status = fgsf_agent_create(&t->cfg, t->envs[0], fgsf_learner_max_rows(&t->cfg), &t->agent);
    }
    if (status == FGSF_OK) status = allocate(t);
    if (status == FGSF_OK) status = create_replay(t);
    if (status == FGSF_OK && fgsf_config_is_dqn(&t->cfg)) {
        status = check_relabel(t);
    } else if (status == FGSF_OK) {
        status = create_rewards(t);
    }
    if (status == FGSF_OK) {
        status = fgsf_learner_create(t->agent, t->replay, t->students, &t->replay_rng, &t->learner);
    }
    t->total_steps = t->cfg.train.steps_per_task * t->spec.num_tasks;
    if (status == FGSF_OK && (!is_sequential(&t->cfg) || t->cfg.sf.gpi_scope == FGSF_SCOPE_ALL)) {
        status = fgsf_trainer_add_tasks(t, t->agent->num_policies);
    }
    return status;
}

fgsf_status fgsf_trainer_create(const fgsf_config *cfg, fgsf_trainer **out) {
    fgsf_status status = fgsf_config_validate(cfg);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_trainer *t = calloc(1, sizeof *t);
    if (!t) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a trainer");
    }
    t->cfg = *cfg;
    status = create_parts(t);
    if (status != FGSF_OK) {
        fgsf_trainer_free(t);
        return status;
    }
    *out = t;
    return FGSF_OK;
}

void fgsf_trainer_free(fgsf_trainer *t) {
    if (!t) {
        return;
    }
    fgsf_learner_free(t->learner);
    for (int k = 0; t->agent && k < t->agent->num_policies && t->students; k++) {
        fgsf_network_free(t->students[k].target);
        fgsf_optimizer_free(t->students[k].opt);
    }
    for (int task = 0; task < t->spec.num_tasks; task++) {
        if (t->rewards) fgsf_reward_free(t->rewards[task]);
        if (t->envs) fgsf_env_free(t->envs[task]);
    }
    fgsf_heldout_free(&t->heldout);
    fgsf_replay_free(t->replay);
    fgsf_agent_free(t->agent);
    free(t->students);
    free(t->rewards);
    free(t->envs);
    free(t->env_rng);
    free(t->episodes);
    free(t->accounts);
    free(t->s);
    free(t->s_next);
    free(t->phi);
    free(t->phi_f64);
    free(t->raw);
    free(t->raw_next);
    free(t);
}

// --- tasks --------------------------------------------------------------------------------------

static fgsf_status add_student(fgsf_trainer *t, int k) {
    const fgsf_config *cfg = &t->cfg;
    fgsf_optimizer_params params = {.kind = (enum fgsf_opt_kind)cfg->opt.kind,
                                    .beta1 = cfg->opt.beta1,
                                    .beta2 = cfg->opt.beta2,
                                    .eps = cfg->opt.eps,
                                    .clip = cfg->opt.grad_clip,
                                    .rm_k0 = cfg->opt.rm_k0,
                                    .rm_power = cfg->opt.rm_power};
    fgsf_student *student = &t->students[k];
    fgsf_status status = fgsf_optimizer_create(&params, t->agent->nets[k], &student->opt);
    if (status == FGSF_OK && cfg->sf.target_mode != FGSF_TARGET_NONE) {
        status = fgsf_network_create(&t->agent->shape, &student->target);
        if (status == FGSF_OK) {
            fgsf_network_track(student->target, t->agent->nets[k], 1.0f);
        }
    }
    return status;
}

fgsf_status fgsf_trainer_add_tasks(fgsf_trainer *t, int count) {
    fgsf_status status = FGSF_OK;
    while (status == FGSF_OK && t->agent->seen < count && t->agent->seen < t->agent->num_policies) {
        int k = t->agent->seen;
        status = fgsf_agent_add_policy(t->agent, &t->init_rng);
        if (status == FGSF_OK) status = add_student(t, k);
        if (status == FGSF_OK) status = fgsf_trainer_refresh_rho(t, k, false);
    }
    return status;
}

fgsf_status fgsf_trainer_refresh_rho(fgsf_trainer *t, int task, bool all) {
    if (fgsf_config_is_dqn(&t->cfg)) {
        return FGSF_OK;
    }
    fgsf_status status = FGSF_OK;
    int first = all ? 0 : task, last = all ? t->agent->seen - 1 : task;
    for (int k = first; k <= last && status == FGSF_OK; k++) {
        float *rho = t->agent->rho + (size_t)k * (size_t)t->agent->shape.features;
        status = fgsf_reward_rho(t->rewards[k], t->agent->set, rho);
    }
    return status;
}

// The task of the next step. Sequential: each in turn. Random: drawn per step or per episode.
static int choose_task(fgsf_trainer *t) {
    const fgsf_config *cfg = &t->cfg;
    if (is_sequential(cfg)) {
        return (int)(t->step / cfg->train.steps_per_task);
    }
    if (cfg->tasks.warmup == FGSF_WARMUP_FIRST_TASK && t->step < cfg->train.batch_size) {
        return 0;
    }
    bool keep = cfg->tasks.schedule == FGSF_RANDOM_EPISODE && t->step > 0 &&
                !t->episodes[t->cfg.tasks.isolate_state ? t->task : 0].over;
    return keep ? t->task : (int)fgsf_rng_below(&t->task_rng, (uint64_t)t->spec.num_tasks);
}

static fgsf_status enter_task(fgsf_trainer *t, int task) {
    bool new_task = is_sequential(&t->cfg) && (!t->started || task != t->task);
    t->started = true;
    t->task = task;
    if (!new_task) {
        return FGSF_OK;
    }
    t->episodes[t->cfg.tasks.isolate_state ? task : 0].over = true;
    if (t->cfg.train.buffer_reset_on_task) {
        fgsf_replay_clear(t->replay);
    }
    return fgsf_trainer_add_tasks(t, task + 1);
}

// --- one step -----------------------------------------------------------------------------------

// Leaves the encoded state in t->s and the raw state in t->raw. Without task isolation, as in the
// authors' code, both may belong to another task's environment than the one that is stepped.
static fgsf_status begin_step(fgsf_trainer *t, fgsf_episode *episode) {
    fgsf_env *env = t->envs[t->task];
    if (episode->over) {
        fgsf_status status = fgsf_env_reset(env, &t->env_rng[t->task]);
        if (status != FGSF_OK) {
            return status;
        }
        *episode = (fgsf_episode){0};
    } else if (!t->cfg.tasks.isolate_state) {
        return FGSF_OK; // go on from whatever state the last step ended in
    }
    fgsf_env_observe(env, t->s);
    if (!t->cfg.tasks.isolate_state) {
        fgsf_env_get_state(env, t->raw);
    }
    return FGSF_OK;
}

// Epsilon-greedy on the GPI policy.
static fgsf_status act(fgsf_trainer *t, int *action) {
    if (fgsf_rng_uniform(&t->explore_rng) < t->cfg.explore.epsilon) {
        *action = (int)fgsf_rng_below(&t->explore_rng, (uint64_t)t->spec.num_actions);
        return FGSF_OK;
    }
    fgsf_choice choice;
    fgsf_status status = fgsf_agent_act(t->agent, t->task, NULL, t->s, &t->explore_rng, &choice);
    if (status == FGSF_OK) {
        *action = choice.action;
    }
    return status;
}

// phi(s, a, s') as floats; from the environment where s is its own, else from the two raw states.
static void write_features(fgsf_trainer *t, int action, const fgsf_step_result *result) {
    const double *phi = result->phi;
    if (!t->cfg.tasks.isolate_state) {
        fgsf_env *env = t->envs[t->task];
        fgsf_env_get_state(env, t->raw_next);
        env->def->features(env, t->raw, action, t->raw_next, t->phi_f64);
        memcpy(t->raw, t->raw_next, (size_t)t->spec.full_size * sizeof(double));
        phi = t->phi_f64;
    }
    for (int k = 0; k < t->spec.num_features; k++) {
        t->phi[k] = (float)phi[k];
    }
}

// Reward model first, then the buffer: the order of the authors' code.
static fgsf_status remember(fgsf_trainer *t, int action, const fgsf_step_result *result) {
    int event = -1;
    fgsf_status status = FGSF_OK;
    bool grown = false;
    if (!fgsf_config_is_dqn(&t->cfg)) {
        status = fgsf_reward_update(t->rewards[t->task], t->phi, result->reward);
    }
    if (status == FGSF_OK && t->agent->set) {
        int before = fgsf_feature_set_count(t->agent->set);
        status = fgsf_feature_set_index(t->agent->set, t->phi, &event);
        grown = fgsf_feature_set_count(t->agent->set) != before;
    }
    if (status == FGSF_OK) status = fgsf_trainer_refresh_rho(t, t->task, grown);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_transition transition = {.s = t->s,
                                  .s_next = t->s_next,
                                  .phi = t->phi,
                                  .reward = (float)result->reward,
                                  .discount = result->terminal ? 0.0f : (float)t->cfg.train.gamma,
                                  .action = action,
                                  .event = event,
                                  .task = t->task};
    return fgsf_replay_add(t->replay, &transition);
}

static fgsf_status learn(fgsf_trainer *t) {
    if (fgsf_replay_count(t->replay) < t->cfg.train.batch_size) {
        return FGSF_OK;
    }
    fgsf_learned learned = {0};
    fgsf_status status = fgsf_learner_step(t->learner, t->task, &learned);
    t->optimizer_steps += learned.updates;
    t->skipped_updates += learned.skipped;
    t->window.updates += learned.task_updates;
    t->window.loss += learned.loss;
    t->window.grad_norm += learned.grad_norm;
    t->window.pairs += learned.pairs;
    t->window.foreign += learned.foreign;
    return status;
}

fgsf_status fgsf_trainer_step(fgsf_trainer *t) {
    if (fgsf_trainer_done(t)) {
        return fgsf_fail(FGSF_ERR_INVALID, "the run is complete after %lld steps",
                         (long long)t->step);
    }
    int action;
    fgsf_step_result result;
    fgsf_status status = enter_task(t, choose_task(t));
    fgsf_episode *episode = &t->episodes[t->cfg.tasks.isolate_state ? t->task : 0];
    if (status == FGSF_OK) status = begin_step(t, episode);
    if (status == FGSF_OK) status = act(t, &action);
    if (status == FGSF_OK) {
        status = fgsf_env_step(t->envs[t->task], action, &t->env_rng[t->task], &result);
    }
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_env_observe(t->envs[t->task], t->s_next);
    write_features(t, action, &result);
    status = remember(t, action, &result);
    if (status == FGSF_OK) status = learn(t);

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
    return t->step >= t->total_steps;
}

// --- what can be asked --------------------------------------------------------------------------

bool fgsf_trainer_log(fgsf_trainer *t, fgsf_log_row *row) {
    if (!t->log_due) {
        return false;
    }
    t->log_due = false;
    const fgsf_window *w = &t->window;
    const fgsf_account *account = &t->accounts[t->task];
    *row = (fgsf_log_row){
        .step = t->step,
        .task = t->task,
        .task_step = account->steps,
        .cum_reward = account->cum_reward,
        .episodes = account->episodes,
        .loss = w->updates ? w->loss / (double)w->updates : NAN,
        .bellman_residual = fgsf_diagnose_residual(t),
        .grad_norm = w->updates ? w->grad_norm / (double)w->updates : NAN,
        .gpi_share = w->pairs ? (double)w->foreign / (double)w->pairs : NAN,
        .w_error = t->rewards[t->task] ? fgsf_reward_error(t->rewards[t->task]) : NAN,
        .psi_error = t->cfg.diag.psi_error ? fgsf_diagnose_psi_error(t) : NAN,
    };
    t->window = (fgsf_window){0};
    return true;
}

fgsf_progress fgsf_trainer_progress(const fgsf_trainer *t) {
    return (fgsf_progress){.step = t->step,
                           .total_steps = t->total_steps,
                           .task = t->task,
                           .num_tasks = t->spec.num_tasks,
                           .optimizer_steps = t->optimizer_steps,
                           .skipped_updates = t->skipped_updates,
                           .flops = t->learner->flops + t->agent->flops};
}

fgsf_agent *fgsf_trainer_agent(const fgsf_trainer *t) {
    return t->agent;
}

const fgsf_replay *fgsf_trainer_replay(const fgsf_trainer *t) {
    return t->replay;
}

fgsf_env *fgsf_trainer_env(const fgsf_trainer *t, int task) {
    return task >= 0 && task < t->spec.num_tasks ? t->envs[task] : NULL;
}

fgsf_status fgsf_trainer_prefill(fgsf_trainer *t, int task, int64_t transitions) {
    if (task < 0 || task >= t->spec.num_tasks) {
        return fgsf_fail(FGSF_ERR_INVALID, "task: %d is not in [0, %d)", task, t->spec.num_tasks);
    }
    if (is_sequential(&t->cfg)) { // the schedule goes on from this task's first step
        t->step = task * t->cfg.train.steps_per_task;
    }
    fgsf_status status = fgsf_trainer_add_tasks(t, t->agent->num_policies);
    if (status == FGSF_OK) status = enter_task(t, task);
    fgsf_episode *episode = &t->episodes[t->cfg.tasks.isolate_state ? task : 0];
    for (int64_t i = 0; i < transitions && status == FGSF_OK; i++) {
        fgsf_step_result result;
        status = begin_step(t, episode);
        int action = (int)fgsf_rng_below(&t->explore_rng, (uint64_t)t->spec.num_actions);
        if (status == FGSF_OK) {
            status = fgsf_env_step(t->envs[task], action, &t->env_rng[task], &result);
        }
        if (status != FGSF_OK) {
            break;
        }
        fgsf_env_observe(t->envs[task], t->s_next);
        write_features(t, action, &result);
        status = remember(t, action, &result);
        episode->over = result.terminal || ++episode->length >= t->cfg.train.horizon;
        memcpy(t->s, t->s_next, (size_t)t->spec.state_size * sizeof(float));
    }
    return status;
}
