// What is measured while training: the Bellman residual on transitions that are never trained on, and
// the error of psi against exact rollouts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

#define DIAGNOSE_STREAM 1000
#define MAX_ROLLOUTS 32

static bool allocate(fgsf_heldout *h, const fgsf_env_spec *spec, size_t count) {
    size_t state = (size_t)spec->state_size, d = (size_t)spec->num_features;
    h->s = calloc(count * state, sizeof(float));
    h->s_next = calloc(count * state, sizeof(float));
    h->phi = calloc(count * d, sizeof(float));
    h->discount = calloc(count, sizeof(float));
    h->reward = calloc(count, sizeof(float));
    h->raw = calloc(count * (size_t)spec->full_size, sizeof(double));
    h->a = calloc(count, sizeof(int32_t));
    h->event = calloc(count, sizeof(int32_t));
    return h->s && h->s_next && h->phi && h->discount && h->reward && h->raw && h->a && h->event;
}

void fgsf_heldout_free(fgsf_heldout *h) {
    free(h->s);
    free(h->s_next);
    free(h->phi);
    free(h->discount);
    free(h->reward);
    free(h->raw);
    free(h->a);
    free(h->event);
    *h = (fgsf_heldout){0};
}

static fgsf_status record(fgsf_trainer *t, fgsf_env *env, fgsf_rng *rng, int i, bool *over) {
    fgsf_heldout *h = &t->heldout;
    size_t state = (size_t)t->spec.state_size, d = (size_t)t->spec.num_features, at = (size_t)i;
    fgsf_env_observe(env, h->s + at * state);
    fgsf_env_get_state(env, h->raw + at * (size_t)t->spec.full_size);
    h->a[i] = (int32_t)fgsf_rng_below(rng, (uint64_t)t->spec.num_actions);
    fgsf_step_result result;
    fgsf_status status = fgsf_env_step(env, h->a[i], rng, &result);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_env_observe(env, h->s_next + at * state);
    for (size_t k = 0; k < d; k++) {
        h->phi[at * d + k] = (float)result.phi[k];
    }
    h->discount[i] = result.terminal ? 0.0f : (float)t->cfg.train.gamma;
    h->reward[i] = (float)result.reward;
    *over = result.terminal || (i + 1) % t->cfg.train.horizon == 0;
    return FGSF_OK;
}

// Collects the transitions with an environment and a stream of their own, so that measuring changes
// nothing in the run.
fgsf_status fgsf_heldout_create(fgsf_trainer *t) {
    fgsf_heldout *h = &t->heldout;
    int count = (int)t->cfg.diag.residual_batch;
    if (count == 0) {
        return FGSF_OK;
    }
    if (h->count == 0) {
        if (!allocate(h, &t->spec, (size_t)count)) {
            return fgsf_fail(FGSF_ERR_MEMORY, "no memory for diag.residual_batch %d", count);
        }
        h->count = count;
    }
    fgsf_rng rng = fgsf_rng_make((uint64_t)t->cfg.seed, DIAGNOSE_STREAM + (unsigned)t->task);
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_env_create(&t->cfg, &env);
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
static bool have_heldout(fgsf_trainer *t) {
    bool wanted = t->cfg.diag.residual_batch > 0 && t->agent->seen > 0;
    bool there = t->heldout.count > 0 && t->heldout.task == t->task;
    return wanted && (there || fgsf_heldout_create(t) == FGSF_OK);
}

// The nearest member of the feature set, without adding one.
static int nearest_member(const fgsf_agent *agent, const float *phi) {
    int d = agent->spec.num_features, best = 0;
    const float *members = fgsf_feature_set_members(agent->set);
    double least = INFINITY;
    for (int f = 0; f < fgsf_feature_set_count(agent->set); f++) {
        double distance = 0.0;
        for (int k = 0; k < d; k++) {
            distance += pow((double)members[f * d + k] - phi[k], 2.0);
        }
        if (distance < least) {
            least = distance;
            best = f;
        }
    }
    return best;
}

static double target_of(const fgsf_trainer *t, int i, int f) {
    const fgsf_agent *agent = t->agent;
    const float *phi = t->heldout.phi + i * t->spec.num_features;
    if (fgsf_config_is_dqn(&t->cfg)) {
        return t->heldout.reward[i];
    }
    return agent->set ? (f == t->heldout.event[i] ? 1.0 : 0.0) : phi[f];
}

// The action the active task's target takes at each of the rows: GPI over the policies in scope.
static fgsf_status greedy_actions(fgsf_trainer *t, const float *states, int rows, float *q,
                                  int32_t *actions) {
    fgsf_agent *agent = t->agent;
    int first, scope = fgsf_agent_scope(agent, t->task, &first), num_actions = agent->shape.actions;
    float *value = calloc((size_t)rows, sizeof *value);
    fgsf_status status = value ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    for (int k = 0; k < scope && status == FGSF_OK; k++) {
        status = fgsf_gpe_run(agent->gpe, agent->nets[first + k], fgsf_agent_rho(agent, t->task), 1,
                              states, rows, q);
        for (int i = 0; i < rows && status == FGSF_OK; i++) {
            for (int a = 0; a < num_actions; a++) {
                if ((k == 0 && a == 0) || q[i * num_actions + a] > value[i]) {
                    value[i] = q[i * num_actions + a];
                    actions[i] = a;
                }
            }
        }
    }
    free(value);
    return status;
}

// Encoded states with the network's task input behind them.
static void network_inputs(const fgsf_trainer *t, const float *states, int rows, float *inputs) {
    for (int i = 0; i < rows; i++) {
        fgsf_agent_input(t->agent, t->task, states + (size_t)i * (size_t)t->spec.state_size,
                         inputs + (size_t)i * (size_t)t->agent->shape.input);
    }
}

static double mean_squared_delta(const fgsf_trainer *t, const float *x, const float *x_next,
                                 const int32_t *a_next) {
    const fgsf_heldout *h = &t->heldout;
    int features = t->agent->shape.features, actions = t->agent->shape.actions;
    double sum = 0.0;
    for (int i = 0; i < h->count; i++) {
        for (int f = 0; f < features; f++) {
            double bootstrap = x_next[(i * actions + a_next[i]) * features + f];
            double delta = target_of(t, i, f) + h->discount[i] * bootstrap -
                           x[(i * actions + h->a[i]) * features + f];
            sum += delta * delta;
        }
    }
    return sum / ((double)h->count * features);
}

double fgsf_diagnose_residual(fgsf_trainer *t) {
    fgsf_heldout *h = &t->heldout;
    fgsf_agent *agent = t->agent;
    if (!have_heldout(t)) {
        return NAN;
    }
    for (int i = 0; i < h->count && agent->set; i++) {
        h->event[i] = nearest_member(agent, h->phi + i * t->spec.num_features);
    }
    size_t rows = (size_t)h->count,
           outputs = (size_t)(agent->shape.actions * agent->shape.features);
    float *inputs = malloc(rows * (size_t)agent->shape.input * sizeof(float));
    float *x = malloc(2 * rows * outputs * sizeof(float));
    int32_t *a_next = calloc(rows, sizeof *a_next);
    double residual = NAN;
    if (inputs && x && a_next) {
        const fgsf_network *net = agent->nets[fgsf_agent_policy_of(agent, t->task)];
        float *x_next = x + rows * outputs;
        network_inputs(t, h->s, h->count, inputs);
        fgsf_status status = fgsf_gpe_representation(agent->gpe, net, inputs, h->count, x);
        network_inputs(t, h->s_next, h->count, inputs);
        if (status == FGSF_OK) status = greedy_actions(t, inputs, h->count, x_next, a_next);
        if (status == FGSF_OK) {
            status = fgsf_gpe_representation(agent->gpe, net, inputs, h->count, x_next);
        }
        residual = status == FGSF_OK ? mean_squared_delta(t, x, x_next, a_next) : NAN;
    }
    free(inputs);
    free(x);
    free(a_next);
    return residual;
}

// Rollouts from several held-out pairs at once, so that each step of all of them is one pass.
typedef struct rollouts {
    int count;
    fgsf_env *env;   // serves all of them in turn
    double *raw;     // (count, full_size): where each stands
    double *psi;     // (count, num_features): discounted features so far
    float *states;   // (count, state_size): encoded, of those that go on
    float *q;        // (count, A)
    int32_t *action; // (count)
    int32_t *chosen; // (count): actions of those that go on
    bool *over;      // (count)
    double discount;
} rollouts;

static void free_rollouts(rollouts *r) {
    fgsf_env_free(r->env);
    free(r->raw);
    free(r->psi);
    free(r->states);
    free(r->q);
    free(r->action);
    free(r->chosen);
    free(r->over);
}

// Puts each of `count` rollouts at the start of its held-out pair.
static fgsf_status begin_rollouts(fgsf_trainer *t, int count, rollouts *r) {
    const fgsf_heldout *h = &t->heldout;
    size_t full = (size_t)t->spec.full_size, n = (size_t)count;
    *r = (rollouts){.count = count, .discount = 1.0};
    r->raw = malloc(n * full * sizeof *r->raw);
    r->psi = calloc(n * (size_t)t->spec.num_features, sizeof *r->psi);
    r->states = malloc(n * (size_t)t->spec.state_size * sizeof *r->states);
    r->q = malloc(n * (size_t)t->spec.num_actions * sizeof *r->q);
    r->action = malloc(n * sizeof *r->action);
    r->chosen = malloc(n * sizeof *r->chosen);
    r->over = calloc(n, sizeof *r->over);
    if (!r->raw || !r->psi || !r->states || !r->q || !r->action || !r->chosen || !r->over) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory to diagnose");
    }
    for (int i = 0; i < count; i++) {
        int pair = i * h->count / count;
        memcpy(r->raw + (size_t)i * full, h->raw + (size_t)pair * full, full * sizeof *r->raw);
        r->action[i] = h->a[pair];
    }
    fgsf_status status = fgsf_env_create(&t->cfg, &r->env);
    return status == FGSF_OK ? fgsf_env_set_task(r->env, t->task) : status;
}

// One step of rollout i; leaves its next state in row `live` of r->states unless it is over.
static fgsf_status advance(fgsf_trainer *t, rollouts *r, int i, int live) {
    fgsf_rng rng = fgsf_rng_make(0, DIAGNOSE_STREAM);
    double *raw = r->raw + (size_t)i * (size_t)t->spec.full_size;
    fgsf_step_result result;
    fgsf_status status = fgsf_env_set_state(r->env, raw, t->spec.full_size);
    if (status == FGSF_OK) status = fgsf_env_step(r->env, r->action[i], &rng, &result);
    if (status != FGSF_OK) {
        return status;
    }
    for (int k = 0; k < t->spec.num_features; k++) {
        r->psi[i * t->spec.num_features + k] += r->discount * result.phi[k];
    }
    r->over[i] = result.terminal;
    fgsf_env_get_state(r->env, raw);
    fgsf_env_observe(r->env, r->states + (size_t)live * (size_t)t->spec.state_size);
    return FGSF_OK;
}

// The pair's action first, then the GPI policy, until what is left counts for nothing.
static fgsf_status run_rollouts(fgsf_trainer *t, rollouts *r) {
    fgsf_status status = FGSF_OK;
    for (int live = r->count; live > 0 && r->discount > 1e-4 && status == FGSF_OK;) {
        live = 0;
        for (int i = 0; i < r->count && status == FGSF_OK; i++) {
            if (!r->over[i]) {
                status = advance(t, r, i, live);
                live += !r->over[i];
            }
        }
        r->discount *= t->cfg.train.gamma;
        if (status == FGSF_OK && live > 0) {
            status = greedy_actions(t, r->states, live, r->q, r->chosen);
        }
        for (int i = 0, row = 0; i < r->count; i++) {
            if (!r->over[i]) {
                r->action[i] = r->chosen[row++];
            }
        }
    }
    return status;
}

// Feature k of psi in x (F): itself, or for xi the mean of its members.
static double psi_of(const fgsf_agent *agent, const float *x, int k) {
    int d = agent->spec.num_features;
    double sum = 0.0;
    for (int f = 0; agent->set && f < fgsf_feature_set_count(agent->set); f++) {
        sum += (double)fgsf_feature_set_members(agent->set)[f * d + k] * x[f];
    }
    return agent->set ? sum : x[k];
}

static double mean_psi_error(fgsf_trainer *t, const rollouts *r) {
    fgsf_agent *agent = t->agent;
    const fgsf_heldout *h = &t->heldout;
    int features = agent->shape.features, d = t->spec.num_features;
    float *x = malloc((size_t)(agent->shape.actions * features) * sizeof *x);
    double error = x ? 0.0 : NAN;
    for (int i = 0; i < r->count && x; i++) {
        int pair = i * h->count / r->count;
        const float *s = h->s + (size_t)pair * (size_t)t->spec.state_size;
        if (fgsf_gpe_representation(agent->gpe, agent->nets[t->task], s, 1, x) != FGSF_OK) {
            error = NAN;
        }
        for (int k = 0; k < d; k++) {
            double learned = psi_of(agent, x + h->a[pair] * features, k);
            error += fabs(learned - r->psi[i * d + k]) / ((double)r->count * d);
        }
    }
    free(x);
    return error;
}

double fgsf_diagnose_psi_error(fgsf_trainer *t) {
    bool exact = strcmp(t->cfg.env.name, "four_rooms") == 0 && t->cfg.env.slip == 0.0;
    if (!exact || fgsf_config_is_dqn(&t->cfg) || !have_heldout(t)) {
        return NAN;
    }
    rollouts r;
    int count = t->heldout.count < MAX_ROLLOUTS ? t->heldout.count : MAX_ROLLOUTS;
    fgsf_status status = begin_rollouts(t, count, &r);
    if (status == FGSF_OK) status = run_rollouts(t, &r);
    double error = status == FGSF_OK ? mean_psi_error(t, &r) : NAN;
    free_rollouts(&r);
    return error;
}
