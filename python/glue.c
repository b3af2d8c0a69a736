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
    int32_t count, horizon; // 0: episodes are not cut
    fgsf_env **envs;
    fgsf_rng *rngs;
    int32_t *lengths; // steps in the episode so far
    bool *over;       // the episode has ended: the next step starts another
    float *states;    // (count, state_size)
    double *rewards;  // (count)
    double *features; // (count, num_features)
    bool *terminated, *truncated;
} lanes;

// Returns the size of a struct in bytes, 0 for a name that is not in the table.
FGSF_API size_t fgsf_python_size(const char *name) {
    static const struct {
        const char *name;
        size_t size;
    } table[] = {
        {"config", sizeof(fgsf_config)},
        {"task", sizeof(fgsf_task)},
        {"experience", sizeof(fgsf_experience)},
        {"learned", sizeof(fgsf_learned)},
        {"batch", sizeof(fgsf_batch)},
        {"env_spec", sizeof(fgsf_env_spec)},
        {"rng", sizeof(fgsf_rng)},
        {"step_result", sizeof(fgsf_step_result)},
        {"choice", sizeof(fgsf_choice)},
        {"lanes", sizeof(lanes)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) return table[i].size;
    }
    return 0;
}

// ---- Learners and agents ------------------------------------------------------------------------

// The sizes in the order that Python gives and gets them.
typedef struct sizes {
    int32_t num_tasks, num_actions, num_features, state_size;
} sizes;

// Creates a learner from a configuration. `w` (num_tasks, num_features) holds the weights of the
// tasks' rewards, or is NULL. `tasks` (num_tasks) is room for their descriptions; it and `w` must
// outlive the learner.
FGSF_API fgsf_status fgsf_python_learner(const fgsf_config *cfg, const sizes *n, const double *w,
                                         fgsf_task *tasks, fgsf_learner **out) {
    fgsf_learner_params params;
    fgsf_status status = fgsf_config_validate(cfg);
    if (status == FGSF_OK) status = fgsf_config_learner(cfg, &params);
    if (status != FGSF_OK) return status;
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

// Stores the sizes of an agent, and F, the numbers that it represents per action.
FGSF_API void fgsf_python_agent_sizes(const fgsf_agent *agent, sizes *n, int *features) {
    const fgsf_agent_params *p = fgsf_agent_get_params(agent);
    *n = (sizes){p->num_tasks, p->num_actions, p->num_features, p->state_size};
    *features = fgsf_agent_shape(agent)->features;
}

// ---- The Bellman error of a given network -------------------------------------------------------

// Creates the network that the net.* keys describe.
FGSF_API fgsf_status fgsf_python_network(const fgsf_config *cfg, int input, int actions,
                                         int features, fgsf_network **out) {
    fgsf_learner_params params;
    fgsf_status status = fgsf_config_learner(cfg, &params);
    if (status != FGSF_OK) return status;
    fgsf_network_shape shape = params.agent.net;
    shape.input = input;
    shape.actions = actions;
    shape.features = features;
    return fgsf_network_create(&shape, out);
}

// Returns the name of the i-th parameter and stores rows, columns and offset; NULL past the last.
FGSF_API const char *fgsf_python_parameter(const fgsf_network *net, int i, int64_t place[3]) {
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    if (i < 0 || i >= list->count) return NULL;
    const fgsf_parameter *p = &list->list[i];
    place[0] = p->rows;
    place[1] = p->columns;
    place[2] = (int64_t)p->offset;
    return p->name;
}

// Computes loss and gradient (fgsf_network_size floats) of one batch with `samples` next states per
// pair, as the keys of the gradient, the loss and avg.estimator say. `other` is the error or target
// network where the kind needs one.
FGSF_API fgsf_status fgsf_python_bellman(const fgsf_config *cfg, const fgsf_batch *batch,
                                         int samples, const fgsf_network *net,
                                         const fgsf_network *other, double *loss, float *gradient) {
    fgsf_learner_params learner;
    fgsf_device *device = NULL;
    fgsf_bellman *bellman = NULL;
    fgsf_status status = fgsf_config_learner(cfg, &learner);
    if (status != FGSF_OK) return status;
    fgsf_bellman_params params = fgsf_bellman_default_params(fgsf_network_get_shape(net));
    params.max_pairs = batch->pairs;
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
    if (status == FGSF_OK) status = fgsf_bellman_run(bellman, batch, net, other, loss);
    if (status == FGSF_OK) {
        memcpy(gradient, fgsf_bellman_gradient(bellman), fgsf_network_size(net) * sizeof(float));
    }
    fgsf_bellman_free(bellman);
    fgsf_device_free(device);
    return status;
}

// ---- Many environments --------------------------------------------------------------------------

static fgsf_status start_lane(const lanes *v, int i) {
    v->rewards[i] = 0.0;
    v->terminated[i] = v->truncated[i] = v->over[i] = false;
    v->lengths[i] = 0;
    return fgsf_env_reset(v->envs[i], &v->rngs[i]);
}

static fgsf_status step_lane(const lanes *v, int i, int action) {
    size_t width = (size_t)v->envs[i]->spec.num_features;
    fgsf_step_result step = {0};
    fgsf_status status = fgsf_env_step(v->envs[i], action, &v->rngs[i], &step);
    if (status != FGSF_OK) return status;
    v->lengths[i]++;
    v->rewards[i] = step.reward;
    v->terminated[i] = step.terminal;
    v->truncated[i] = !step.terminal && v->horizon > 0 && v->lengths[i] >= v->horizon;
    v->over[i] = v->terminated[i] || v->truncated[i];
    memcpy(v->features + (size_t)i * width, step.phi, width * sizeof(double));
    return FGSF_OK;
}

// Steps every instance, or starts its next episode when the last one is over (the action is then
// not used and nothing is paid); `actions` NULL starts them all.
FGSF_API fgsf_status fgsf_python_step(const lanes *v, const int32_t *actions) {
    for (int i = 0; i < v->count; i++) {
        const fgsf_env_spec *spec = &v->envs[i]->spec;
        bool start = !actions || v->over[i];
        fgsf_status status = start ? start_lane(v, i) : step_lane(v, i, actions[i]);
        if (status != FGSF_OK) return status;
        if (start) {
            size_t width = (size_t)spec->num_features;
            memset(v->features + (size_t)i * width, 0, width * sizeof(double));
        }
        fgsf_env_observe(v->envs[i], v->states + (size_t)i * (size_t)spec->state_size);
    }
    return FGSF_OK;
}
