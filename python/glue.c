// What the Python package needs beside the public API, so that it knows few struct layouts: settings
// go in as a configuration, arrays as pointers. Python checks the structs it mirrors with
// fgsf_python_size.
#include <stddef.h>
#include <string.h>

#include "fgsf/archive.h"
#include "fgsf/bellman.h"
#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "fgsf/learner.h"

// The arrays that N instances are stepped into; they belong to the caller.
typedef struct lanes {
    int64_t count, horizon; // 0: episodes are not cut
    fgsf_env **envs;
    fgsf_rng *rngs;
    int32_t *lengths; // steps in the episode so far
    double *states;   // (count, state_size)
    double *rewards;  // (count)
    double *features; // (count, num_features)
    bool *terminated, *truncated, *success;
} lanes;

// The sizes in the order that Python gives and gets them.
typedef struct sizes {
    int32_t num_tasks, num_actions, num_features, state_size;
} sizes;

// Returns the size of a struct in bytes, 0 for a name that is not in the table.
FGSF_API size_t fgsf_python_size(const char *name) {
    static const struct {
        const char *name;
        size_t size;
    } table[] = {
        {"config", sizeof(fgsf_config)},   {"task", sizeof(fgsf_task)},
        {"learned", sizeof(fgsf_learned)}, {"env_spec", sizeof(fgsf_env_spec)},
        {"rng", sizeof(fgsf_rng)},         {"choice", sizeof(fgsf_choice)},
        {"lanes", sizeof(lanes)},          {"sizes", sizeof(sizes)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) return table[i].size;
    }
    return 0;
}

// ---- Learners and agents ------------------------------------------------------------------------

// Creates a learner from a configuration. `w` (num_tasks, num_features) holds the weights of the
// tasks' rewards, or is NULL. `tasks` (num_tasks) is room for their descriptions; it and `w` must
// outlive the learner.
FGSF_API fgsf_status fgsf_python_learner(const fgsf_config *cfg, const sizes *n, const double *w,
                                         fgsf_task *tasks, fgsf_learner **out) {
    fgsf_learner_params params;
    FGSF_TRY(fgsf_config_validate(cfg));
    FGSF_TRY(fgsf_config_learner(cfg, &params));
    for (int k = 0; k < n->num_tasks && w; k++) {
        tasks[k] = (fgsf_task){.w = w + (size_t)k * (size_t)n->num_features, .task = k};
    }
    params.agent.num_tasks = n->num_tasks;
    params.agent.num_actions = n->num_actions;
    params.agent.num_features = n->num_features;
    params.agent.state_size = n->state_size;
    params.agent.tasks = w ? tasks : NULL;
    return fgsf_learner_create(&params, out);
}

// Stores a transition; `phi` NULL: the reward is the only feature. Arguments are cheaper to pass from
// Python than the fields of a struct.
FGSF_API fgsf_status fgsf_python_observe(fgsf_learner *learner, const float *s, const float *s_next,
                                         const float *phi, double reward, int action, int task,
                                         int terminal, int truncated) {
    float paid = (float)reward;
    return fgsf_learner_observe(learner, &(fgsf_experience){.s = s,
                                                            .s_next = s_next,
                                                            .phi = phi ? phi : &paid,
                                                            .reward = reward,
                                                            .action = action,
                                                            .task = task,
                                                            .terminal = terminal != 0,
                                                            .truncated = truncated != 0});
}

// Stores the sizes of an agent, and F, the numbers that it represents per action.
FGSF_API void fgsf_python_agent_sizes(const fgsf_agent *agent, sizes *n, int *features) {
    const fgsf_agent_params *p = fgsf_agent_get_params(agent);
    *n = (sizes){p->num_tasks, p->num_actions, p->num_features, p->state_size};
    *features = fgsf_agent_shape(agent)->features;
}

// ---- The Bellman error of a given network -------------------------------------------------------

// Creates the network that the net.* keys describe, with `values` as its parameters one after the
// other; fails where their number is not `count`.
static fgsf_status make_network(const fgsf_learner_params *params, const sizes *n,
                                const float *values, size_t count, fgsf_network **out) {
    fgsf_network_shape shape = params->agent.net;
    shape.input = n->state_size;
    shape.actions = n->num_actions;
    shape.features = n->num_features;
    FGSF_TRY(fgsf_network_create(&shape, out));
    const fgsf_parameters *list = fgsf_network_get_parameters(*out);
    float *to = fgsf_network_edit(*out);
    for (int i = 0; i < list->count; i++) {
        size_t size = (size_t)(list->list[i].rows * list->list[i].columns);
        if (size > count) return FGSF_ERR_INVALID;
        memcpy(to + list->list[i].offset, values, size * sizeof(float));
        values += size;
        count -= size;
    }
    return count == 0 ? FGSF_OK : FGSF_ERR_INVALID;
}

// Copies a gradient out, parameter after parameter.
static void take_gradient(const fgsf_network *net, const float *gradient, float *out) {
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    for (int i = 0; i < list->count; i++) {
        size_t size = (size_t)(list->list[i].rows * list->list[i].columns);
        memcpy(out, gradient + list->list[i].offset, size * sizeof(float));
        out += size;
    }
}

// Computes loss and gradient of one batch with `samples` next states per pair, as the keys of the
// gradient, the loss and avg.estimator say. `arrays` are s, a, y, s_next, a_next, discount and weight
// of an fgsf_batch. `values` are the network's `count` parameters, `other` those of the error or target
// network where the kind needs one, else NULL; of an error network gradients + count receives the
// gradient too.
FGSF_API fgsf_status fgsf_python_bellman(const fgsf_config *cfg, const sizes *n, int pairs,
                                         int samples, const void *const *arrays, size_t count,
                                         const float *values, const float *other, double *loss,
                                         float *gradients) {
    fgsf_batch batch = {.pairs = pairs,
                        .s = arrays[0],
                        .a = arrays[1],
                        .y = arrays[2],
                        .s_next = arrays[3],
                        .a_next = arrays[4],
                        .discount = arrays[5],
                        .weight = arrays[6]};
    fgsf_learner_params learner;
    fgsf_device *device = NULL;
    fgsf_bellman *bellman = NULL;
    fgsf_network *net = NULL, *second = NULL;
    fgsf_status status = fgsf_config_learner(cfg, &learner);
    if (status == FGSF_OK) status = make_network(&learner, n, values, count, &net);
    if (status == FGSF_OK && other) status = make_network(&learner, n, other, count, &second);
    if (status == FGSF_OK) {
        fgsf_bellman_params params = fgsf_bellman_default_params(fgsf_network_get_shape(net));
        params.max_pairs = pairs;
        params.samples = samples;
        params.kind = learner.gradient.kind;
        params.grad_mix = learner.gradient.eta;
        params.h_beta = learner.gradient.h_beta;
        params.estimator = learner.avg.estimator;
        params.split = samples / 2;
        params.target_network = other && params.kind == FGSF_SEMI;
        params.loss_scale = learner.loss_scale;
        status = fgsf_device_open(learner.agent.device, &device);
        if (status == FGSF_OK) status = fgsf_bellman_create(device, &params, &bellman);
    }
    if (status == FGSF_OK) status = fgsf_bellman_run(bellman, &batch, net, second, loss);
    if (status == FGSF_OK) take_gradient(net, fgsf_bellman_gradient(bellman), gradients);
    if (status == FGSF_OK && fgsf_bellman_error_gradient(bellman)) {
        take_gradient(net, fgsf_bellman_error_gradient(bellman), gradients + count);
    }
    fgsf_bellman_free(bellman);
    fgsf_device_free(device);
    fgsf_network_free(second);
    fgsf_network_free(net);
    return status;
}

// ---- Environments -------------------------------------------------------------------------------

// Gives every instance the random numbers of its seed.
FGSF_API void fgsf_python_seed(const lanes *v, const uint64_t *seeds) {
    for (int i = 0; i < v->count; i++) v->rngs[i] = fgsf_rng_make(seeds[i], FGSF_STREAM_ENV);
}

// Steps every instance into the arrays, or starts its next episode when the last one is over (the
// action is then not used and nothing is paid); `actions` NULL starts them all.
FGSF_API fgsf_status fgsf_python_step(const lanes *v, const int32_t *actions) {
    for (int i = 0; i < v->count; i++) {
        fgsf_env *env = v->envs[i];
        size_t width = (size_t)env->spec.num_features;
        double *features = v->features + (size_t)i * width;
        bool start = !actions || v->terminated[i] || v->truncated[i];
        fgsf_step_result step = {0};
        FGSF_TRY(start ? fgsf_env_reset(env, &v->rngs[i])
                       : fgsf_env_step(env, actions[i], &v->rngs[i], &step));
        v->lengths[i] = start ? 0 : v->lengths[i] + 1;
        v->rewards[i] = step.reward;
        v->terminated[i] = step.terminal;
        v->success[i] = step.success;
        v->truncated[i] = !step.terminal && v->horizon > 0 && v->lengths[i] >= v->horizon;
        if (step.phi) {
            memcpy(features, step.phi, width * sizeof(double));
        } else {
            memset(features, 0, width * sizeof(double));
        }
        fgsf_env_observe_f64(env, v->states + (size_t)i * (size_t)env->spec.state_size);
    }
    return FGSF_OK;
}
