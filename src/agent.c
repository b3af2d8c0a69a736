// Networks, scoring vectors and acting by GPI; saving and loading of what acts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_internal.h"
#include "fgsf/archive.h"

static int task_input_size(const fgsf_config *cfg, const fgsf_env_spec *spec) {
    if (!fgsf_config_is_dqn(cfg) || cfg->dqn.task_input == FGSF_TASK_INPUT_NONE) {
        return 0;
    }
    return cfg->dqn.task_input == FGSF_TASK_INPUT_W ? spec->num_features : spec->num_tasks;
}

static fgsf_network_shape network_shape(const fgsf_config *cfg, const fgsf_env_spec *spec,
                                        const fgsf_feature_set *set) {
    fgsf_network_shape shape = {
        .input = spec->state_size + task_input_size(cfg, spec),
        .num_hidden = cfg->net.hidden.n,
        .actions = spec->num_actions,
        .features = fgsf_config_is_dqn(cfg) ? 1
                    : set                   ? fgsf_feature_set_size(set)
                                            : spec->num_features,
        .activation = (enum fgsf_activation)cfg->net.activation,
        .bias = cfg->net.bias,
    };
    for (int l = 0; l < shape.num_hidden; l++) {
        shape.hidden[l] = (int)cfg->net.hidden.v[l];
    }
    return shape;
}

// The true weights of every task, as network input for dqn.task_input=w.
static void fill_task_weights(fgsf_agent *agent, const fgsf_env *env) {
    int d = agent->spec.num_features, tasks = agent->spec.num_tasks + agent->spec.num_heldout;
    double *w = calloc((size_t)d, sizeof *w);
    for (int task = 0; task < tasks && w; task++) {
        bool linear = env->def->task_weights(env, task, w);
        for (int k = 0; k < d; k++) {
            agent->task_weights[task * d + k] = linear ? (float)w[k] : 0.0f;
        }
    }
    free(w);
}

static fgsf_status allocate(fgsf_agent *agent) {
    size_t tasks = (size_t)agent->spec.num_tasks, all = tasks + (size_t)agent->spec.num_heldout;
    size_t d = (size_t)agent->spec.num_features, features = (size_t)agent->shape.features;
    agent->nets = calloc((size_t)agent->num_policies, sizeof *agent->nets);
    agent->rho = calloc(tasks * features, sizeof(float));
    agent->task_weights = calloc(all * d, sizeof(float));
    agent->input = calloc((size_t)agent->shape.input, sizeof(float));
    agent->q = calloc((size_t)(agent->num_policies * agent->shape.actions), sizeof(float));
    if (!agent->nets || !agent->rho || !agent->task_weights || !agent->input || !agent->q) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an agent of %d policies",
                         agent->num_policies);
    }
    return FGSF_OK;
}

fgsf_status fgsf_agent_create(const fgsf_config *cfg, const fgsf_env *env, int max_rows,
                              fgsf_agent **out) {
    fgsf_agent *agent = calloc(1, sizeof *agent);
    if (!agent) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an agent");
    }
    agent->cfg = *cfg;
    agent->spec = env->spec;
    bool is_dqn = fgsf_config_is_dqn(cfg);
    fgsf_status status = fgsf_device_open(cfg->device.name, &agent->device);
    if (status == FGSF_OK && !is_dqn && cfg->sf.representation == FGSF_XI) {
        status = fgsf_feature_set_create(cfg, env, &agent->set);
    }
    if (status == FGSF_OK) {
        agent->shape = network_shape(cfg, &env->spec, agent->set);
        agent->num_policies = is_dqn && !cfg->dqn.per_task ? 1 : env->spec.num_tasks;
        status = allocate(agent);
    }
    if (status == FGSF_OK) {
        status = fgsf_gpe_create(agent->device, &agent->shape, max_rows, &agent->gpe);
    }
    if (status != FGSF_OK) {
        fgsf_agent_free(agent);
        return status;
    }
    fill_task_weights(agent, env);
    for (int task = 0; task < env->spec.num_tasks && is_dqn; task++) {
        agent->rho[task] = 1.0f;
    }
    *out = agent;
    return FGSF_OK;
}

void fgsf_agent_free(fgsf_agent *agent) {
    if (!agent) {
        return;
    }
    for (int k = 0; k < agent->num_policies && agent->nets; k++) {
        fgsf_network_free(agent->nets[k]);
    }
    free(agent->nets);
    free(agent->rho);
    free(agent->task_weights);
    free(agent->input);
    free(agent->q);
    fgsf_gpe_free(agent->gpe);
    fgsf_feature_set_free(agent->set);
    fgsf_device_free(agent->device);
    free(agent);
}

fgsf_device *fgsf_agent_device(const fgsf_agent *agent) {
    return agent->device;
}

fgsf_status fgsf_agent_add_policy(fgsf_agent *agent, fgsf_rng *rng) {
    int k = agent->seen;
    fgsf_status status = fgsf_network_create(&agent->shape, &agent->nets[k]);
    if (status != FGSF_OK) {
        return status;
    }
    if (k > 0 && agent->cfg.sf.init_from == FGSF_INIT_PREVIOUS &&
        !fgsf_config_is_dqn(&agent->cfg)) {
        fgsf_network_track(agent->nets[k], agent->nets[k - 1], 1.0f);
    } else {
        fgsf_network_init(agent->nets[k], (enum fgsf_init)agent->cfg.net.init, rng);
    }
    agent->seen++;
    return FGSF_OK;
}

int fgsf_agent_policy_of(const fgsf_agent *agent, int task) {
    return task < agent->num_policies ? task : agent->num_policies - 1;
}

int fgsf_agent_scope(const fgsf_agent *agent, int task, int *first) {
    if (fgsf_config_is_dqn(&agent->cfg)) { // no improvement over other tasks' values
        int own = fgsf_agent_policy_of(agent, task);
        *first = own < agent->seen ? own : agent->seen - 1;
        return 1;
    }
    *first = 0;
    return agent->seen;
}

void fgsf_agent_input(const fgsf_agent *agent, int task, const float *state, float *input) {
    int size = agent->spec.state_size, extra = agent->shape.input - size;
    memcpy(input, state, (size_t)size * sizeof(float));
    if (extra == 0) {
        return;
    }
    if (agent->cfg.dqn.task_input == FGSF_TASK_INPUT_W) {
        memcpy(input + size, agent->task_weights + task * extra, (size_t)extra * sizeof(float));
    } else {
        memset(input + size, 0, (size_t)extra * sizeof(float));
        if (task < extra) { // a held-out task has no place in the one-hot
            input[size + task] = 1.0f;
        }
    }
}

const fgsf_config *fgsf_agent_config(const fgsf_agent *agent) {
    return &agent->cfg;
}

const fgsf_network_shape *fgsf_agent_shape(const fgsf_agent *agent) {
    return &agent->shape;
}

int fgsf_agent_num_policies(const fgsf_agent *agent) {
    return agent->seen;
}

fgsf_network *fgsf_agent_network(const fgsf_agent *agent, int policy) {
    return agent->nets[policy];
}

const float *fgsf_agent_rho(const fgsf_agent *agent, int task) {
    return agent->rho + (size_t)task * (size_t)agent->shape.features;
}

static const float *members(const fgsf_agent *agent, int *count) {
    *count = agent->set ? fgsf_feature_set_count(agent->set) : 0;
    return agent->set ? fgsf_feature_set_members(agent->set) : NULL;
}

void fgsf_agent_rho_from_weights(const fgsf_agent *agent, const double *w, float *rho) {
    int d = agent->spec.num_features, count = 0;
    memset(rho, 0, (size_t)agent->shape.features * sizeof(float));
    if (fgsf_config_is_dqn(&agent->cfg)) {
        rho[0] = 1.0f;
        return;
    }
    if (!agent->set) {
        for (int k = 0; k < d; k++) {
            rho[k] = (float)w[k];
        }
        return;
    }
    const float *phi = members(agent, &count);
    for (int f = 0; f < count; f++) {
        double sum = 0.0;
        for (int k = 0; k < d; k++) {
            sum += w[k] * phi[f * d + k];
        }
        rho[f] = (float)sum;
    }
}

bool fgsf_agent_true_rho(const fgsf_agent *agent, const fgsf_env *env, int task, float *rho) {
    int d = agent->spec.num_features, count = 0;
    double *values = calloc((size_t)d, sizeof *values);
    bool expressible = values && env->def->task_weights(env, task, values);
    if (expressible) {
        fgsf_agent_rho_from_weights(agent, values, rho);
    } else if (values && agent->set && env->def->task_reward) {
        const float *phi = members(agent, &count);
        memset(rho, 0, (size_t)agent->shape.features * sizeof(float)); // slots without a member
        expressible = true;
        for (int f = 0; f < count && expressible; f++) {
            double reward = 0.0;
            for (int k = 0; k < d; k++) {
                values[k] = phi[f * d + k];
            }
            expressible = env->def->task_reward(env, task, values, &reward);
            rho[f] = (float)reward;
        }
    } else if (fgsf_config_is_dqn(&agent->cfg)) { // its values contain the reward already
        rho[0] = 1.0f;
        expressible = true;
    }
    free(values);
    return expressible;
}

fgsf_status fgsf_agent_q(fgsf_agent *agent, int task, const float *rho, const float *state,
                         float *q, int *num_policies) {
    int first, count = fgsf_agent_scope(agent, task, &first);
    rho = rho ? rho : fgsf_agent_rho(agent, task);
    fgsf_agent_input(agent, task, state, agent->input);
    fgsf_status status = FGSF_OK;
    for (int k = 0; k < count && status == FGSF_OK; k++) {
        status = fgsf_gpe_run(agent->gpe, agent->nets[first + k], rho, 1, agent->input, 1,
                              q + k * agent->shape.actions);
        agent->flops += fgsf_gpe_flops(agent->gpe, 1, 1);
    }
    *num_policies = count;
    return status;
}

fgsf_status fgsf_agent_act(fgsf_agent *agent, int task, const float *rho, const float *state,
                           fgsf_rng *rng, fgsf_choice *choice) {
    int count, first;
    fgsf_status status = fgsf_agent_q(agent, task, rho, state, agent->q, &count);
    if (status == FGSF_OK) {
        *choice = fgsf_gpi_choose(agent->q, count, agent->shape.actions,
                                  (enum fgsf_tie)agent->cfg.gpi.tie, rng);
        fgsf_agent_scope(agent, task, &first);
        choice->policy += first;
    }
    return status;
}

fgsf_status fgsf_agent_save(const fgsf_agent *agent, const char *path) {
    fgsf_archive *archive = NULL;
    fgsf_status status = fgsf_archive_create(&archive);
    if (status != FGSF_OK) {
        return status;
    }
    char *config = fgsf_config_to_json(&agent->cfg);
    int count = 0;
    const float *phi = members(agent, &count);
    fgsf_archive_put_text(archive, "kind", "policy");
    fgsf_archive_put_text(archive, "config", config ? config : "{}");
    fgsf_archive_put_int(archive, "policies", agent->seen);
    fgsf_archive_put_int(archive, "members", count);
    for (int k = 0; k < agent->seen; k++) {
        char name[64];
        snprintf(name, sizeof name, "policy.%d.parameters", k);
        fgsf_archive_put_f32(archive, name, fgsf_network_parameters(agent->nets[k]),
                             fgsf_network_flat_size(&agent->shape));
    }
    fgsf_archive_put_f32(archive, "rho", agent->rho,
                         (size_t)(agent->spec.num_tasks * agent->shape.features));
    if (count > 0) {
        fgsf_archive_put_f32(archive, "members.phi", phi,
                             (size_t)(count * agent->spec.num_features));
    }
    status = fgsf_archive_save(archive, path);
    fgsf_archive_free(archive);
    free(config);
    return status;
}

static fgsf_status load_networks(fgsf_agent *agent, const fgsf_archive *archive, int64_t policies) {
    fgsf_status status = FGSF_OK;
    fgsf_rng unused = fgsf_rng_make(0, 0);
    for (int k = 0; k < policies && status == FGSF_OK; k++) {
        char name[64];
        snprintf(name, sizeof name, "policy.%d.parameters", k);
        status = fgsf_agent_add_policy(agent, &unused);
        if (status == FGSF_OK) {
            status = fgsf_archive_get_f32(archive, name, fgsf_network_edit(agent->nets[k]),
                                          fgsf_network_flat_size(&agent->shape));
        }
    }
    return status;
}

fgsf_status fgsf_agent_load_members(fgsf_agent *agent, const fgsf_archive *archive,
                                    const char *path) {
    int64_t count = 0;
    fgsf_status status = fgsf_archive_get_int(archive, "members", &count);
    if (status != FGSF_OK || count == 0) {
        return status;
    }
    if (count < 0 || count > agent->shape.features || !agent->set) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: members: %lld do not fit the configuration", path,
                         (long long)count);
    }
    size_t size = (size_t)(count * agent->spec.num_features);
    float *phi = malloc(size * sizeof(float));
    if (!phi) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %lld features", (long long)count);
    }
    status = fgsf_archive_get_f32(archive, "members.phi", phi, size);
    if (status == FGSF_OK) {
        status = fgsf_feature_set_restore(agent->set, phi, (int)count);
    }
    free(phi);
    return status;
}

// Makes an agent for the file's configuration and fills it.
static fgsf_status load_agent(const fgsf_archive *archive, const char *path, const char *device,
                              fgsf_agent **out) {
    const char *kind, *json;
    int64_t policies = 0;
    fgsf_config cfg;
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_archive_get_text(archive, "kind", &kind);
    if (status == FGSF_OK && strcmp(kind, "policy") != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: holds a %s, not a policy", path, kind);
    }
    if (status == FGSF_OK) status = fgsf_archive_get_text(archive, "config", &json);
    if (status == FGSF_OK) status = fgsf_archive_get_int(archive, "policies", &policies);
    if (status == FGSF_OK) status = fgsf_config_resolve("four_rooms", "clean", "sfrql", &cfg);
    if (status == FGSF_OK) status = fgsf_config_parse(&cfg, json, path); // sets every key
    if (status == FGSF_OK && device)
        status = fgsf_config_set(&cfg, "device.name", device, "--device");
    if (status == FGSF_OK) status = fgsf_config_validate(&cfg);
    if (status == FGSF_OK) status = fgsf_env_create(&cfg, &env);
    if (status == FGSF_OK) status = fgsf_agent_create(&cfg, env, 1, out);
    fgsf_env_free(env);
    if (status != FGSF_OK) {
        return status;
    }
    if (policies < 1 || policies > (*out)->num_policies) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: policies: %lld is not in [1, %d]", path,
                         (long long)policies, (*out)->num_policies);
    }
    status = load_networks(*out, archive, policies);
    if (status == FGSF_OK) {
        status = fgsf_archive_get_f32(archive, "rho", (*out)->rho,
                                      (size_t)((*out)->spec.num_tasks * (*out)->shape.features));
    }
    return status == FGSF_OK ? fgsf_agent_load_members(*out, archive, path) : status;
}

fgsf_status fgsf_agent_load(const char *path, const char *device, fgsf_agent **out) {
    fgsf_archive *archive = NULL;
    fgsf_agent *agent = NULL;
    fgsf_status status = fgsf_archive_open(path, &archive);
    if (status == FGSF_OK) {
        status = load_agent(archive, path, device, &agent);
    }
    fgsf_archive_free(archive);
    if (status != FGSF_OK) {
        fgsf_agent_free(agent);
        return status;
    }
    *out = agent;
    return FGSF_OK;
}
