// What is measured while training: the Bellman residual on transitions that are never trained on, and
// the error of psi against exact rollouts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

#define DIAGNOSE_STREAM 1000

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
    h->task = t->task;
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
    return status;
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
    if (h->count == 0 || h->task != t->task || agent->seen == 0) {
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

// The discounted features of one episode: action a from a raw state, then the GPI policy.
static fgsf_status rollout(fgsf_trainer *t, fgsf_env *env, int i, float *state, float *q,
                           double *psi) {
    fgsf_heldout *h = &t->heldout;
    fgsf_rng rng = fgsf_rng_make(0, DIAGNOSE_STREAM);
    int32_t action = h->a[i];
    double discount = 1.0;
    memset(psi, 0, (size_t)t->spec.num_features * sizeof(double));
    fgsf_status status =
        fgsf_env_set_state(env, h->raw + (size_t)i * (size_t)t->spec.full_size, t->spec.full_size);
    while (status == FGSF_OK && discount > 1e-4) {
        fgsf_step_result result;
        status = fgsf_env_step(env, action, &rng, &result);
        for (int k = 0; k < t->spec.num_features && status == FGSF_OK; k++) {
            psi[k] += discount * result.phi[k];
        }
        if (status != FGSF_OK || result.terminal) {
            break;
        }
        discount *= t->cfg.train.gamma;
        fgsf_env_observe(env, state);
        status = greedy_actions(t, state, 1, q, &action);
    }
    return status;
}

double fgsf_diagnose_psi_error(fgsf_trainer *t) {
    fgsf_heldout *h = &t->heldout;
    fgsf_agent *agent = t->agent;
    int features = agent->shape.features, num_actions = agent->shape.actions;
    if (h->count == 0 || h->task != t->task || agent->set || fgsf_config_is_dqn(&t->cfg) ||
        t->cfg.env.slip > 0.0 || strcmp(t->cfg.env.name, "four_rooms") != 0) {
        return NAN;
    }
    int pairs = h->count < 32 ? h->count : 32;
    float *buffer =
        malloc((size_t)(t->spec.state_size + 2 * num_actions * features) * sizeof(float));
    double *psi = malloc((size_t)features * sizeof(double)), error = 0.0;
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_env_create(&t->cfg, &env);
    if (status == FGSF_OK) status = fgsf_env_set_task(env, t->task);
    for (int n = 0; n < pairs && status == FGSF_OK && buffer && psi; n++) {
        int i = n * h->count / pairs;
        float *x = buffer + t->spec.state_size;
        status = rollout(t, env, i, buffer, x + num_actions * features, psi);
        if (status == FGSF_OK) {
            status = fgsf_gpe_representation(agent->gpe, agent->nets[t->task],
                                             h->s + (size_t)i * (size_t)t->spec.state_size, 1, x);
        }
        for (int f = 0; f < features; f++) {
            error += fabs(x[h->a[i] * features + f] - psi[f]) / ((double)pairs * features);
        }
    }
    bool ok = status == FGSF_OK && buffer && psi;
    fgsf_env_free(env);
    free(buffer);
    free(psi);
    return ok ? error : NAN;
}
