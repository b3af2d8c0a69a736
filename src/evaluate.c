// Greedy or epsilon-greedy episodes of an agent, on trained and on held-out tasks.
#include "fgsf/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "fgsf/reward.h"
#include "require.h"

#define RIDGE_TRANSITIONS 2000
#define RIDGE_LAMBDA 1e-6

// What one task is scored with.
typedef struct scoring {
    const float *rho; // NULL: the agent's learned one
    const char *name;
    double fit_error;
} scoring;

static fgsf_eval_row *append(fgsf_eval_rows *out) {
    if (out->count == out->capacity) {
        int capacity = out->capacity ? 2 * out->capacity : 256;
        fgsf_eval_row *rows = realloc(out->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return NULL;
        out->rows = rows;
        out->capacity = capacity;
    }
    return &out->rows[out->count++];
}

// Chooses greedily at `state` and adds what its values say to the row. Without `rng`, for steps that
// are explored, ties draw nothing.
static fgsf_status choose(fgsf_agent *agent, const scoring *score, const float *state, float *q,
                          fgsf_rng *rng, fgsf_eval_row *row, int *action) {
    const fgsf_agent_params *params = fgsf_agent_get_params(agent);
    int policies, actions = params->num_actions;
    FGSF_TRY(fgsf_agent_q(agent, row->task, score->rho, state, q, &policies));
    fgsf_choice best =
        fgsf_gpi_choose(q, policies, actions, rng ? params->tie : FGSF_TIE_FIRST, rng);
    if (row->steps == 0) row->overestimation = q[best.policy * actions + best.action];
    row->action_gap += fgsf_gpi_gap(q, policies, actions);
    *action = best.action;
    return FGSF_OK;
}

static fgsf_status run_episode(fgsf_agent *agent, const fgsf_config *cfg, fgsf_env *env,
                               const scoring *score, double epsilon, float *state, float *q,
                               fgsf_eval_row *row) {
    fgsf_rng rng = fgsf_rng_make(
        FGSF_EVAL_SEED + 1000u * (unsigned)row->task + (unsigned)row->episode, FGSF_STREAM_EVAL);
    fgsf_status status = fgsf_env_reset(env, &rng);
    fgsf_step_result result = {0};
    double discount = 1.0;
    while (status == FGSF_OK && row->steps < cfg->eval.horizon && !result.terminal) {
        int action = 0, explored = -1;
        fgsf_env_observe(env, state);
        if (epsilon > 0.0 && fgsf_rng_uniform(&rng) < epsilon) {
            explored = (int)fgsf_rng_below(&rng, (uint64_t)env->spec.num_actions);
        }
        status = choose(agent, score, state, q, explored < 0 ? &rng : NULL, row, &action);
        if (explored >= 0) action = explored;
        if (status == FGSF_OK) status = fgsf_env_step(env, action, &rng, &result);
        row->episode_return += result.reward;
        row->discounted_return += discount * result.reward;
        discount *= cfg->learner.gamma;
        row->success = row->success || result.success;
        row->steps++;
    }
    row->overestimation -= row->discounted_return;
    if (cfg->env.centre_features) row->overestimation = NAN;
    row->action_gap /= row->steps > 0 ? row->steps : 1;
    return status;
}

static fgsf_status run_task(fgsf_agent *agent, const fgsf_config *cfg, fgsf_env *env, int task,
                            const scoring *score, double epsilon, fgsf_eval_rows *out) {
    int values = fgsf_agent_num_policies(agent) * env->spec.num_actions;
    float *state = malloc((size_t)env->spec.state_size * sizeof(float));
    float *q = malloc((size_t)values * sizeof *q);
    fgsf_status status = state && q ? fgsf_env_set_task(env, task)
                                    : fgsf_fail(FGSF_ERR_MEMORY, "no memory to evaluate");
    for (int episode = 0; episode < cfg->eval.episodes && status == FGSF_OK; episode++) {
        fgsf_eval_row row = {.task = task,
                             .heldout = task >= env->spec.num_tasks,
                             .episode = episode,
                             .reward_model = score->name,
                             .epsilon = epsilon,
                             .fit_error = score->fit_error};
        status = out->stop && *out->stop
                     ? fgsf_fail(FGSF_STOPPED, "stopped during the evaluation")
                     : run_episode(agent, cfg, env, score, epsilon, state, q, &row);
        fgsf_eval_row *place = status == FGSF_OK ? append(out) : NULL;
        if (place) {
            *place = row;
        } else if (status == FGSF_OK) {
            status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for %d evaluation rows", out->count);
        }
    }
    free(state);
    free(q);
    return status;
}

// Collects features and rewards with random actions and fits the weights of a held-out reward.
fgsf_status fgsf_evaluate_fit(fgsf_env *env, int task, const fgsf_task *reward, double *w,
                              double *rmse) {
    FGSF_REQUIRE(env && w && rmse && (!reward || reward->reward));
    int d = env->spec.num_features, n = RIDGE_TRANSITIONS;
    float *phi = malloc((size_t)(n * d) * sizeof(float));
    double *r = malloc((size_t)n * sizeof(double));
    fgsf_status status =
        phi && r ? fgsf_env_set_task(env, task) : fgsf_fail(FGSF_ERR_MEMORY, "no memory to fit");
    fgsf_rng rng = fgsf_rng_make(FGSF_EVAL_SEED + (unsigned)task, FGSF_STREAM_EVAL);
    bool over = true;
    for (int i = 0; i < n && status == FGSF_OK; i++) {
        fgsf_step_result result;
        if (over || i % 200 == 0) status = fgsf_env_reset(env, &rng);
        int action = (int)fgsf_rng_below(&rng, (uint64_t)env->spec.num_actions);
        if (status == FGSF_OK) status = fgsf_env_step(env, action, &rng, &result);
        for (int k = 0; k < d && status == FGSF_OK; k++) phi[i * d + k] = (float)result.phi[k];
        r[i] = status == FGSF_OK ? result.reward : 0.0;
        if (status == FGSF_OK && reward) reward->reward(reward->context, task, result.phi, &r[i]);
        over = status == FGSF_OK && result.terminal;
    }
    if (status == FGSF_OK) status = fgsf_reward_ridge(phi, r, n, d, RIDGE_LAMBDA, w, rmse);
    free(phi);
    free(r);
    return status;
}

static bool is_list(const fgsf_eval_rows *out) {
    return out && out->count >= 0 && out->count <= out->capacity && (out->rows || !out->capacity);
}

static fgsf_status check(const fgsf_agent *agent, const void *other, double epsilon) {
    if (!agent || !other) {
        return fgsf_fail(FGSF_ERR_INVALID, "evaluate: an argument is NULL, or not a list of rows");
    }
    if (!(epsilon >= 0.0 && epsilon <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "evaluate: epsilon %g is not in [0, 1]", epsilon);
    }
    return FGSF_OK;
}

fgsf_status fgsf_evaluate_env(const fgsf_agent *agent, const fgsf_config *cfg, fgsf_env **out) {
    FGSF_REQUIRE(agent && out);
    const fgsf_agent_params *p = fgsf_agent_get_params(agent);
    fgsf_env *env = NULL;
    FGSF_TRY(fgsf_env_create(cfg, &env));
    if (env->spec.state_size == p->state_size && env->spec.num_actions == p->num_actions &&
        env->spec.num_features == p->num_features) {
        *out = env;
        return FGSF_OK;
    }
    fgsf_env_free(env);
    return fgsf_fail(
        FGSF_ERR_INVALID,
        "the policy is made for %d state numbers, %d actions and %d features, '%s' has "
        "others as configured now",
        p->state_size, p->num_actions, p->num_features, cfg->env.name);
}

// Says whether a task's own reward can score the representation; `rho` is then its scoring vector.
static fgsf_status true_rho(const fgsf_agent *agent, const fgsf_env *env, int task, float *rho,
                            bool *expressible) {
    int tasks = env->spec.num_tasks + env->spec.num_heldout, d = env->spec.num_features;
    if (task < 0 || task >= tasks || d != fgsf_agent_get_params(agent)->num_features) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "evaluate: task %d of %d with %d features, for an agent of %d features",
                         task, tasks, d, fgsf_agent_get_params(agent)->num_features);
    }
    double *w = malloc((size_t)d * sizeof *w);
    if (!w) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for the weights of a task");
    fgsf_task known;
    fgsf_env_task(env, task, w, &known);
    *expressible = fgsf_agent_rho_from_task(agent, &known, rho);
    free(w);
    return FGSF_OK;
}

bool fgsf_evaluate_expressible(const fgsf_agent *agent, const fgsf_env *env, int task) {
    if (!agent || !env) return false;
    float *rho = malloc((size_t)fgsf_agent_shape(agent)->features * sizeof *rho);
    bool expressible = false;
    bool known = rho && true_rho(agent, env, task, rho, &expressible) == FGSF_OK;
    free(rho);
    return known && expressible;
}

// All trained tasks, with the learned reward or the true one, or all held-out ones.
static fgsf_status run_tasks(fgsf_agent *agent, const fgsf_config *cfg, bool heldout,
                             enum fgsf_eval_reward reward, double epsilon, fgsf_eval_rows *out) {
    fgsf_env *env = NULL;
    FGSF_TRY(check(agent, cfg && is_list(out) ? out : NULL, epsilon));
    FGSF_REQUIRE((unsigned)reward <= FGSF_EVAL_TRUE);
    FGSF_TRY(fgsf_evaluate_env(agent, cfg, &env));
    int task = heldout ? env->spec.num_tasks : 0;
    int end = env->spec.num_tasks + (heldout ? env->spec.num_heldout : 0);
    float *rho = malloc((size_t)fgsf_agent_shape(agent)->features * sizeof(float));
    fgsf_status status = rho ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory to evaluate");
    for (; task < end && status == FGSF_OK; task++) {
        scoring score = {.name = "learned"};
        bool expressible = true;
        if (heldout) {
            score.rho = rho;
            status = fgsf_evaluate_rho(agent, env, task, rho, &score.name, &score.fit_error);
        } else if (reward == FGSF_EVAL_TRUE) {
            score = (scoring){.rho = rho, .name = "true"};
            status = true_rho(agent, env, task, rho, &expressible);
        }
        if (status == FGSF_OK && !expressible) {
            status = fgsf_fail(FGSF_ERR_INVALID,
                               "eval.reward: true, but the reward of task %d cannot be expressed "
                               "by the representation",
                               task);
        }
        if (status == FGSF_OK) status = run_task(agent, cfg, env, task, &score, epsilon, out);
    }
    free(rho);
    fgsf_env_free(env);
    return status;
}

fgsf_status fgsf_evaluate(fgsf_agent *agent, const fgsf_config *cfg, enum fgsf_eval_reward reward,
                          double epsilon, fgsf_eval_rows *out) {
    return run_tasks(agent, cfg, false, reward, epsilon, out);
}

fgsf_status fgsf_evaluate_task(fgsf_agent *agent, const fgsf_config *cfg, int task,
                               fgsf_eval_rows *out) {
    fgsf_env *env = NULL;
    scoring score = {.name = "learned"};
    fgsf_status status = check(agent, cfg && is_list(out) ? out : NULL, 0.0);
    if (status == FGSF_OK) status = fgsf_evaluate_env(agent, cfg, &env);
    if (status == FGSF_OK) status = run_task(agent, cfg, env, task, &score, 0.0, out);
    fgsf_env_free(env);
    return status;
}

fgsf_status fgsf_evaluate_rho(const fgsf_agent *agent, fgsf_env *env, int task, float *rho,
                              const char **name, double *fit_error) {
    FGSF_TRY(check(agent, env && rho && name ? fit_error : NULL, 0.0));
    const fgsf_agent_params *params = fgsf_agent_get_params(agent);
    bool told = params->representation != FGSF_Q || params->task_input == FGSF_TASK_INPUT_W;
    bool expressible = false;
    *name = told ? "true" : "learned"; // DQN without the task in its input knows nothing of it
    *fit_error = 0.0;
    fgsf_status status = true_rho(agent, env, task, rho, &expressible);
    if (status != FGSF_OK || expressible) return status;
    *name = "ridge";
    double *w = malloc((size_t)env->spec.num_features * sizeof(double));
    status = w ? fgsf_evaluate_fit(env, task, NULL, w, fit_error)
               : fgsf_fail(FGSF_ERR_MEMORY, "no memory to fit a reward");
    if (status == FGSF_OK) fgsf_agent_rho_from_weights(agent, w, rho);
    free(w);
    return status;
}

fgsf_status fgsf_evaluate_heldout(fgsf_agent *agent, const fgsf_config *cfg, double epsilon,
                                  fgsf_eval_rows *out) {
    return run_tasks(agent, cfg, true, FGSF_EVAL_LEARNED, epsilon, out);
}
