// What is measured while training: the Bellman residual on transitions that are never trained on, and
// the error of psi against exact rollouts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "trainer_internal.h"

#define DIAGNOSE_STREAM 1000000 // clear of the environments' streams, which step by 100
#define MAX_ROLLOUTS 32

static bool allocate(fgsf_heldout *h, const fgsf_env_spec *spec, size_t count) {
    size_t state = (size_t)spec->state_size, d = (size_t)spec->num_features;
    h->s = calloc(count * (2 * state + d + 2), sizeof *h->s); // all arrays of floats
    h->raw = calloc(count * (size_t)spec->full_size, sizeof *h->raw);
    h->a = calloc(count, sizeof *h->a);
    if (!h->s || !h->raw || !h->a) return false;
    h->s_next = h->s + count * state;
    h->phi = h->s_next + count * state;
    h->discount = h->phi + count * d;
    h->reward = h->discount + count;
    return true;
}

void fgsf_heldout_free(fgsf_heldout *h) {
    free(h->s);
    free(h->raw);
    free(h->a);
    fgsf_bellman_free(h->bellman);
    *h = (fgsf_heldout){0};
}

static fgsf_status record(fgsf_trainer *t, fgsf_env *env, fgsf_rng *rng, int i, bool *over) {
    fgsf_heldout *h = &t->heldout;
    size_t state = (size_t)t->spec.state_size, d = (size_t)t->spec.num_features, at = (size_t)i;
    fgsf_env_observe(env, h->s + at * state);
    fgsf_env_get_state(env, h->raw + at * (size_t)t->spec.full_size);
    h->a[i] = (int32_t)fgsf_rng_below(rng, (uint64_t)t->spec.num_actions);
    fgsf_step_result result;
    FGSF_TRY(fgsf_env_step(env, h->a[i], rng, &result));
    fgsf_env_observe(env, h->s_next + at * state);
    fgsf_trainer_centre(t, t->task, result.phi, h->phi + at * d, &result.reward);
    h->discount[i] = result.terminal ? 0.0f : (float)t->cfg.learner.gamma;
    h->reward[i] = (float)result.reward;
    *over = result.terminal || (i + 1) % t->cfg.train.horizon == 0;
    return FGSF_OK;
}

// Collects transitions of the active task with an environment and a stream of their own, so that
// measuring changes nothing in the run. They depend on the seed and the task alone, so they can be
// collected again at any time.
static fgsf_status collect_heldout(fgsf_trainer *t) {
    fgsf_heldout *h = &t->heldout;
    int count = (int)t->cfg.diag.residual_batch;
    if (count == 0) return FGSF_OK;
    if (h->count == 0) {
        if (!allocate(h, &t->spec, (size_t)count)) {
            return fgsf_fail(FGSF_ERR_MEMORY, "no memory for diag.residual_batch %d", count);
        }
        h->count = count;
    }
    fgsf_rng rng = fgsf_rng_make((uint64_t)t->cfg.seed, DIAGNOSE_STREAM + (unsigned)t->task);
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_trainer_create_env(t, &env);
    if (status == FGSF_OK) status = fgsf_env_set_task(env, t->task);
    bool over = true;
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        if (over) status = fgsf_env_reset(env, &rng);
        if (status == FGSF_OK) status = record(t, env, &rng, i, &over);
    }
    fgsf_env_free(env);
    h->task = status == FGSF_OK ? t->task : -1;
    return status;
}

// Makes sure that there are transitions of the active task; random schedules change it all the time.
static fgsf_status find_heldout(fgsf_trainer *t, bool *found) {
    bool there = t->heldout.count > 0 && t->heldout.task == t->task;
    *found = t->cfg.diag.residual_batch > 0 && t->agent->seen > 0;
    return *found && !there ? collect_heldout(t) : FGSF_OK;
}

// Numbers that are not finite are measured too; whatever else went wrong is an error, not a NaN.
static fgsf_status measured(fgsf_status status, double value, double *out) {
    *out = status == FGSF_OK ? value : NAN;
    return status == FGSF_DIVERGED ? FGSF_OK : status;
}

// Encoded states with the network's task input behind them.
static void network_inputs(const fgsf_trainer *t, const float *states, int rows, float *inputs) {
    for (int i = 0; i < rows; i++) {
        fgsf_agent_input(t->agent, t->task, states + (size_t)i * (size_t)t->spec.state_size,
                         inputs + (size_t)i * (size_t)t->agent->shape.input);
    }
}

// The greedy action by GPI at each of the rows, counted on the heads of a shared network with
// `own_head`.
static fgsf_status greedy_actions(fgsf_trainer *t, const float *inputs, int rows, bool own_head,
                                  int32_t *actions) {
    fgsf_agent *agent = t->agent;
    int first, scope = fgsf_agent_scope(agent, t->task, &first), num_actions = agent->shape.actions;
    size_t all = (size_t)fgsf_shape_actions(&agent->shape), n = (size_t)rows;
    int nets = agent->shared ? 1 : scope;
    float *q = malloc((size_t)nets * n * all * sizeof *q);
    float *table = malloc((size_t)(scope * num_actions) * sizeof *table);
    fgsf_status status = q && table ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    for (int k = 0; k < nets && status == FGSF_OK; k++) {
        status =
            fgsf_gpe_run(agent->gpe, agent->nets[fgsf_agent_net_of(agent, first + k)],
                         fgsf_agent_rho(agent, t->task), 1, inputs, rows, q + (size_t)k * n * all);
    }
    int head = own_head ? fgsf_agent_head_of(agent, fgsf_agent_policy_of(agent, t->task)) : 0;
    for (size_t i = 0; i < n && status == FGSF_OK; i++) {
        for (int k = 0; k < scope; k++) {
            const float *from = agent->shared ? q + i * all + (first + k) * num_actions
                                              : q + ((size_t)k * n + i) * all;
            memcpy(table + k * num_actions, from, (size_t)num_actions * sizeof *table);
        }
        fgsf_choice choice = fgsf_gpi_choose(table, scope, num_actions, FGSF_TIE_FIRST, NULL);
        actions[i] = head * num_actions + choice.action;
    }
    free(q);
    free(table);
    return status;
}

static fgsf_status create_bellman(fgsf_trainer *t) {
    fgsf_bellman_params params = fgsf_bellman_default_params(&t->agent->shape);
    params.max_pairs = t->heldout.count;
    params.grad_mix = 0.0; // only the loss is looked at
    params.loss_scale = FGSF_MEAN;
    params.one_size = true;
    return fgsf_bellman_create(t->agent->device, &params, &t->heldout.bellman);
}

// y of the held-out pairs, and their actions on the heads of a shared network.
static void write_targets(fgsf_trainer *t, float *y, int32_t *a) {
    const fgsf_heldout *h = &t->heldout;
    const fgsf_agent *agent = t->agent;
    size_t d = (size_t)t->spec.num_features;
    int head = fgsf_agent_head_of(agent, fgsf_agent_policy_of(agent, t->task));
    for (int i = 0; i < h->count; i++) {
        const float *phi = h->phi + (size_t)i * d;
        fgsf_transition pair = {.phi = phi, .reward = h->reward[i]};
        pair.event = agent->set ? fgsf_feature_set_nearest(agent->set, phi) : -1;
        fgsf_learner_target(t->learner, &pair, y + (size_t)i * (size_t)agent->shape.features);
        a[i] = head * agent->shape.actions + h->a[i];
    }
}

fgsf_status fgsf_diagnose_residual(fgsf_trainer *t, double *out) {
    fgsf_heldout *h = &t->heldout;
    fgsf_agent *agent = t->agent;
    bool found = false;
    *out = NAN;
    fgsf_status status = find_heldout(t, &found);
    if (status == FGSF_OK && found && !h->bellman) status = create_bellman(t);
    bool empty = agent->set && fgsf_feature_set_count(agent->set) == 0;
    if (status != FGSF_OK || !found || empty) return status;
    size_t rows = (size_t)h->count, input = (size_t)agent->shape.input;
    float *inputs = malloc(2 * rows * input * sizeof(float));
    float *y = malloc(rows * (size_t)agent->shape.features * sizeof(float));
    int32_t *a = calloc(2 * rows, sizeof *a);
    double residual = NAN;
    t->learner->task = t->task; // relabelled rewards are those of this task
    if (!inputs || !y || !a) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    } else {
        network_inputs(t, h->s, h->count, inputs);
        network_inputs(t, h->s_next, h->count, inputs + rows * input);
        write_targets(t, y, a);
        status = greedy_actions(t, inputs + rows * input, h->count, true, a + rows);
        fgsf_batch batch = {.pairs = h->count,
                            .s = inputs,
                            .a = a,
                            .y = y,
                            .s_next = inputs + rows * input,
                            .a_next = a + rows,
                            .discount = h->discount};
        const fgsf_network *net = fgsf_agent_network(agent, fgsf_agent_policy_of(agent, t->task));
        if (status == FGSF_OK) {
            status = fgsf_bellman_run(h->bellman, &batch, net, NULL, &residual);
        }
    }
    free(inputs);
    free(y);
    free(a);
    return measured(status, residual, out);
}

// Rollouts from several held-out pairs at once, so that each step of all of them is one pass.
typedef struct rollouts {
    int count;
    fgsf_env *env;   // serves all of them in turn
    double *raw;     // (count, full_size): where each stands
    double *psi;     // (count, num_features): discounted features so far
    float *states;   // (count, state_size): encoded, of those that go on
    int32_t *action; // (count)
    int32_t *chosen; // (count): actions of those that go on
    bool *over;      // (count)
    double discount;
} rollouts;

static void free_rollouts(rollouts *r) {
    fgsf_env_free(r->env);
    free(r->raw);
    free(r->states);
    free(r->action);
    free(r->over);
}

// Puts each of `count` rollouts at the start of its held-out pair.
static fgsf_status begin_rollouts(fgsf_trainer *t, int count, rollouts *r) {
    const fgsf_heldout *h = &t->heldout;
    size_t full = (size_t)t->spec.full_size, n = (size_t)count;
    *r = (rollouts){.count = count, .discount = 1.0};
    r->raw = calloc(n * (full + (size_t)t->spec.num_features), sizeof *r->raw);
    r->states = malloc(n * (size_t)t->spec.state_size * sizeof *r->states);
    r->action = malloc(2 * n * sizeof *r->action);
    r->over = calloc(n, sizeof *r->over);
    if (!r->raw || !r->states || !r->action || !r->over) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    }
    r->psi = r->raw + n * full;
    r->chosen = r->action + n;
    for (int i = 0; i < count; i++) {
        int pair = i * h->count / count;
        memcpy(r->raw + (size_t)i * full, h->raw + (size_t)pair * full, full * sizeof *r->raw);
        r->action[i] = h->a[pair];
    }
    FGSF_TRY(fgsf_trainer_create_env(t, &r->env));
    return fgsf_env_set_task(r->env, t->task);
}

// One step of rollout i; leaves its next state in row `live` of r->states unless it is over.
static fgsf_status advance(fgsf_trainer *t, rollouts *r, int i, int live) {
    fgsf_rng rng = fgsf_rng_make(0, DIAGNOSE_STREAM);
    double *raw = r->raw + (size_t)i * (size_t)t->spec.full_size;
    fgsf_step_result result;
    FGSF_TRY(fgsf_env_set_state(r->env, raw, t->spec.full_size));
    FGSF_TRY(fgsf_env_step(r->env, r->action[i], &rng, &result));
    for (int k = 0; k < t->spec.num_features; k++) {
        r->psi[i * t->spec.num_features + k] += r->discount * result.phi[k];
    }
    r->over[i] = result.terminal;
    fgsf_env_get_state(r->env, raw);
    fgsf_env_observe(r->env, r->states + (size_t)live * (size_t)t->spec.state_size);
    return FGSF_OK;
}

// Takes the pair's action, then follows the GPI policy until the discounted rest is negligible.
static fgsf_status run_rollouts(fgsf_trainer *t, rollouts *r) {
    for (int live = r->count; live > 0 && r->discount > 1e-4;) {
        live = 0;
        for (int i = 0; i < r->count; i++) {
            if (!r->over[i]) {
                FGSF_TRY(advance(t, r, i, live));
                live += !r->over[i];
            }
        }
        r->discount *= t->cfg.learner.gamma;
        if (live > 0) FGSF_TRY(greedy_actions(t, r->states, live, false, r->chosen));
        for (int i = 0, row = 0; i < r->count; i++) {
            if (!r->over[i]) r->action[i] = r->chosen[row++];
        }
    }
    return FGSF_OK;
}

// Feature k of psi in x (F): itself, or for xi the mean of its members.
static double psi_of(const fgsf_agent *agent, const float *x, int k) {
    int d = agent->params.num_features;
    double sum = 0.0;
    for (int f = 0; agent->set && f < fgsf_feature_set_count(agent->set); f++) {
        sum += (double)fgsf_feature_set_members(agent->set)[f * d + k] * x[f];
    }
    return agent->set ? sum : x[k];
}

static fgsf_status mean_psi_error(fgsf_trainer *t, const rollouts *r, double *out) {
    fgsf_agent *agent = t->agent;
    const fgsf_heldout *h = &t->heldout;
    int features = agent->shape.features, d = t->spec.num_features;
    float *x = malloc((size_t)(agent->shape.actions * features) * sizeof *x);
    fgsf_status status = x ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    double error = 0.0;
    for (int i = 0; i < r->count && status == FGSF_OK; i++) {
        int pair = i * h->count / r->count;
        const float *s = h->s + (size_t)pair * (size_t)t->spec.state_size;
        status = fgsf_agent_features(agent, t->task, t->task, s, x);
        for (int k = 0; k < d && status == FGSF_OK; k++) {
            double learned = psi_of(agent, x + h->a[pair] * features, k);
            error += fabs(learned - r->psi[i * d + k]) / ((double)r->count * d);
        }
    }
    free(x);
    *out = error;
    return status;
}

fgsf_status fgsf_diagnose_psi_error(fgsf_trainer *t, double *out) {
    bool exact = t->envs[0]->def->deterministic && t->cfg.env.slip == 0.0;
    bool q = t->agent->params.representation == FGSF_Q;
    bool found = false;
    *out = NAN;
    fgsf_status status = exact && !q ? find_heldout(t, &found) : FGSF_OK;
    if (status != FGSF_OK || !found) return status;
    rollouts r;
    double error = NAN;
    int count = t->heldout.count < MAX_ROLLOUTS ? t->heldout.count : MAX_ROLLOUTS;
    status = begin_rollouts(t, count, &r);
    if (status == FGSF_OK) status = run_rollouts(t, &r);
    if (status == FGSF_OK) status = mean_psi_error(t, &r, &error);
    free_rollouts(&r);
    return measured(status, error, out);
}
