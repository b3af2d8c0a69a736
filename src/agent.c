// Networks, scoring vectors and acting by GPI.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "program.h"
#include "require.h"

// ---- Creation -----------------------------------------------------------------------------------

fgsf_agent_params fgsf_agent_default_params(void) {
    return (fgsf_agent_params){
        .num_tasks = 1,
        .representation = FGSF_PSI,
        .xi = {.kind = FGSF_XI_PROTOTYPES, .bins = 8, .max_centers = 64, .center_threshold = 0.05},
        .net = {.num_hidden = 2, .hidden = {256, 256}, .bias = true},
        .per_task = true,
        .device = "auto",
        .threads = 1,
    };
}

static fgsf_status check_params(const fgsf_agent_params *p) {
    const int most = 1 << 20;
    const fgsf_check checks[] = {
        {"num_tasks", p->num_tasks, p->num_tasks >= 1 && p->num_tasks <= most},
        {"num_heldout", p->num_heldout,
         p->num_heldout >= 0 && (int64_t)p->num_tasks + p->num_heldout <= most},
        {"num_actions", p->num_actions, p->num_actions >= 1 && p->num_actions <= most},
        {"state_size", p->state_size, p->state_size >= 1 && p->state_size <= most},
        {"num_features", p->num_features, p->num_features >= 1 && p->num_features <= most},
        {"representation", p->representation, (unsigned)p->representation <= FGSF_XI},
        {"init", p->init, (unsigned)p->init <= FGSF_ZEROS},
        {"init_from", p->init_from, (unsigned)p->init_from <= FGSF_INIT_PREVIOUS},
        {"scope", p->scope, (unsigned)p->scope <= FGSF_SCOPE_OWN},
        {"tie", p->tie, (unsigned)p->tie <= FGSF_TIE_HULL},
        {"task_input", p->task_input, (unsigned)p->task_input <= FGSF_TASK_INPUT_W},
        {"threads", (double)p->threads, p->threads >= 1 && p->threads <= 1024},
    };
    return fgsf_check_all("agent", checks, sizeof checks / sizeof *checks);
}

static int task_input_size(const fgsf_agent_params *p) {
    if (p->representation != FGSF_Q || p->task_input == FGSF_TASK_INPUT_NONE) return 0;
    return p->task_input == FGSF_TASK_INPUT_W ? p->num_features : p->num_tasks;
}

// The number of features F: see the table in fgsf/agent.h.
static int representation_size(const fgsf_agent *agent) {
    switch (agent->params.representation) {
    case FGSF_Q:
        return 1;
    case FGSF_XI:
        return fgsf_feature_set_size(agent->set);
    default:
        return agent->params.num_features;
    }
}

static fgsf_network_shape network_shape(const fgsf_agent *agent) {
    fgsf_network_shape shape = agent->params.net;
    shape.input = agent->params.state_size + task_input_size(&agent->params);
    shape.actions = agent->params.num_actions;
    shape.features = representation_size(agent);
    shape.heads = agent->shared ? agent->num_policies : 0;
    return shape;
}

static fgsf_status allocate(fgsf_agent *agent) {
    const fgsf_agent_params *p = &agent->params;
    size_t tasks = (size_t)p->num_tasks, all = tasks + (size_t)p->num_heldout;
    size_t d = (size_t)p->num_features, features = (size_t)agent->shape.features;
    size_t values = (size_t)agent->num_policies * (size_t)agent->shape.actions;
    agent->nets = calloc((size_t)agent->num_policies, sizeof *agent->nets);
    agent->rho = calloc(tasks * features, sizeof(float));
    agent->task_weights = calloc(all * d, sizeof(float));
    agent->input = calloc((size_t)agent->shape.input, sizeof(float));
    agent->values = calloc(values, sizeof(float));
    agent->q_of = calloc((size_t)agent->num_policies, sizeof *agent->q_of);
    agent->phi = calloc(d, sizeof *agent->phi);
    if (!agent->nets || !agent->rho || !agent->task_weights || !agent->input || !agent->values ||
        !agent->q_of || !agent->phi) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an agent of %d policies",
                         agent->num_policies);
    }
    for (size_t task = 0; task < all && p->tasks; task++) {
        for (size_t k = 0; k < d && p->tasks[task].w; k++) {
            agent->task_weights[task * d + k] = (float)p->tasks[task].w[k];
        }
    }
    for (size_t task = 0; task < tasks && p->representation == FGSF_Q; task++) {
        agent->rho[task] = 1.0f;
    }
    return FGSF_OK;
}

fgsf_status fgsf_agent_create(const fgsf_agent_params *params, int max_rows, fgsf_agent **out) {
    FGSF_TRY(check_params(params));
    fgsf_agent *agent = calloc(1, sizeof *agent);
    if (!agent) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an agent");
    agent->params = *params;
    agent->shared = params->net.def && params->net.def->shared;
    agent->num_policies =
        params->representation == FGSF_Q && !params->per_task ? 1 : params->num_tasks;
    agent->params.xi.num_features = params->num_features;
    fgsf_status status = fgsf_device_open(params->device, &agent->device);
    if (status == FGSF_OK) status = fgsf_device_set_threads(agent->device, (int)params->threads);
    if (status == FGSF_OK && params->representation == FGSF_XI) {
        status = fgsf_feature_set_create(&agent->params.xi, &agent->set);
    }
    if (status == FGSF_OK) {
        agent->shape = network_shape(agent);
        status = fgsf_network_shape_check(&agent->shape);
    }
    if (status == FGSF_OK) status = allocate(agent);
    if (status == FGSF_OK) {
        status = fgsf_gpe_create(agent->device, &agent->shape, max_rows, &agent->gpe);
    }
    if (status == FGSF_OK) *out = agent;
    if (status != FGSF_OK) fgsf_agent_free(agent);
    return status;
}

void fgsf_agent_free(fgsf_agent *agent) {
    if (!agent) return;
    for (int k = 0; k < agent->num_policies && agent->nets; k++) fgsf_network_free(agent->nets[k]);
    free(agent->nets);
    free(agent->rho);
    free(agent->task_weights);
    free(agent->input);
    free(agent->values);
    free(agent->q_of);
    free(agent->phi);
    fgsf_gpe_free(agent->gpe);
    fgsf_feature_set_free(agent->set);
    fgsf_device_free(agent->device);
    free(agent);
}

fgsf_status fgsf_agent_add_policy(fgsf_agent *agent, fgsf_rng *rng) {
    int k = agent->seen, net = fgsf_agent_net_of(agent, k);
    bool copy = k > 0 && agent->params.init_from == FGSF_INIT_PREVIOUS;
    fgsf_status status = FGSF_OK;
    if (!agent->nets[net]) {
        status = fgsf_network_create(&agent->shape, &agent->nets[net]);
        if (status == FGSF_OK && copy) {
            status = fgsf_network_track(agent->nets[net], agent->nets[net - 1], 1.0f);
        } else if (status == FGSF_OK) {
            fgsf_network_init(agent->nets[net], agent->params.init, rng);
        }
    } else if (copy) {
        fgsf_network_copy_head(agent->nets[net], k);
    } else {
        fgsf_network_init_head(agent->nets[net], k, agent->params.init, rng);
    }
    agent->seen += status == FGSF_OK;
    return status;
}

// ---- What can be asked --------------------------------------------------------------------------

int fgsf_agent_policy_of(const fgsf_agent *agent, int task) {
    return task < agent->num_policies ? task : agent->num_policies - 1;
}

int fgsf_agent_net_of(const fgsf_agent *agent, int policy) {
    return agent->shared ? 0 : policy;
}

int fgsf_agent_head_of(const fgsf_agent *agent, int policy) {
    return agent->shared ? policy : 0;
}

int fgsf_agent_num_nets(const fgsf_agent *agent) {
    return agent->shared ? 1 : agent->num_policies;
}

int fgsf_agent_scope(const fgsf_agent *agent, int task, int *first) {
    if (agent->params.representation == FGSF_Q || agent->params.scope == FGSF_SCOPE_OWN) {
        int own = fgsf_agent_policy_of(agent, task);
        *first = own < agent->seen ? own : agent->seen - 1;
        return 1;
    }
    *first = 0;
    return agent->seen;
}

void fgsf_agent_input(const fgsf_agent *agent, int task, const float *state, float *input) {
    int size = agent->params.state_size, extra = agent->shape.input - size;
    memcpy(input, state, (size_t)size * sizeof(float));
    if (extra == 0) return;
    if (agent->params.task_input == FGSF_TASK_INPUT_W) {
        memcpy(input + size, agent->task_weights + task * extra, (size_t)extra * sizeof(float));
    } else {
        memset(input + size, 0, (size_t)extra * sizeof(float));
        if (task < extra) { // a held-out task has no place in the one-hot
            input[size + task] = 1.0f;
        }
    }
}

const fgsf_agent_params *fgsf_agent_get_params(const fgsf_agent *agent) {
    return agent ? &agent->params : NULL;
}

const fgsf_network_shape *fgsf_agent_shape(const fgsf_agent *agent) {
    return agent ? &agent->shape : NULL;
}

fgsf_device *fgsf_agent_device(const fgsf_agent *agent) {
    return agent ? agent->device : NULL;
}

int fgsf_agent_num_policies(const fgsf_agent *agent) {
    return agent ? agent->seen : 0;
}

fgsf_network *fgsf_agent_network(const fgsf_agent *agent, int policy) {
    if (!agent) return NULL;
    bool exists = policy >= 0 && policy < agent->seen;
    return exists ? agent->nets[fgsf_agent_net_of(agent, policy)] : NULL;
}

const fgsf_feature_set *fgsf_agent_feature_set(const fgsf_agent *agent) {
    return agent ? agent->set : NULL;
}

// ---- Scoring vectors ----------------------------------------------------------------------------

const float *fgsf_agent_rho(const fgsf_agent *agent, int task) {
    if (!agent) return NULL;
    bool exists = task >= 0 && task < agent->params.num_tasks;
    return exists ? agent->rho + (size_t)task * (size_t)agent->shape.features : NULL;
}

void fgsf_agent_rho_from_weights(const fgsf_agent *agent, const double *w, float *rho) {
    if (!(agent && rho)) return;
    fgsf_agent_rho_from_task(agent, &(fgsf_task){.w = w}, rho);
}

// The reward of a feature vector, for xi.
static bool reward_of(const fgsf_task *task, const double *phi, int d, double *reward) {
    if (!task->w) return task->reward && task->reward(task->context, task->task, phi, reward);
    *reward = 0.0;
    for (int k = 0; k < d; k++) *reward += task->w[k] * phi[k];
    return true;
}

static bool score_members(const fgsf_agent *agent, const fgsf_task *task, float *rho) {
    int d = agent->params.num_features;
    const float *members = fgsf_feature_set_members(agent->set);
    double *phi = agent->phi;
    bool expressible = true;
    for (int f = 0; f < fgsf_feature_set_count(agent->set) && expressible; f++) {
        double reward = 0.0;
        for (int k = 0; k < d; k++) phi[k] = members[f * d + k];
        expressible = reward_of(task, phi, d, &reward);
        rho[f] = (float)reward;
    }
    return expressible;
}

bool fgsf_agent_rho_from_task(const fgsf_agent *agent, const fgsf_task *task, float *rho) {
    if (!(agent && task && rho)) return false;
    memset(rho, 0, (size_t)agent->shape.features * sizeof(float)); // slots without a member
    if (agent->params.representation == FGSF_Q) {
        rho[0] = 1.0f; // its values contain the reward already
        return true;
    }
    if (agent->set) return score_members(agent, task, rho);
    for (int k = 0; k < agent->params.num_features && task->w; k++) rho[k] = (float)task->w[k];
    return task->w != NULL;
}

// ---- Acting -------------------------------------------------------------------------------------

static fgsf_status check_call(const fgsf_agent *agent, int task, const float *rho,
                              const float *state) {
    int tasks = agent->params.num_tasks + (rho ? agent->params.num_heldout : 0);
    if (task < 0 || task >= tasks) {
        return fgsf_fail(FGSF_ERR_INVALID, "agent: task %d is not in [0, %d)", task, tasks);
    }
    if (agent->seen == 0) return fgsf_fail(FGSF_ERR_INVALID, "agent: no task has been added");
    if (!fgsf_all_finite(state, (size_t)agent->params.state_size) ||
        (rho && !fgsf_all_finite(rho, (size_t)agent->shape.features))) {
        return fgsf_fail(FGSF_ERR_INVALID, "agent: the state or the scoring vector is not finite");
    }
    return FGSF_OK;
}

fgsf_status fgsf_agent_q(fgsf_agent *agent, int task, const float *rho, const float *state,
                         float *q, int *num_policies) {
    FGSF_REQUIRE(agent && state && q && num_policies);
    FGSF_TRY(check_call(agent, task, rho, state));
    int first, count = fgsf_agent_scope(agent, task, &first), actions = agent->shape.actions;
    rho = rho ? rho : fgsf_agent_rho(agent, task);
    fgsf_agent_input(agent, task, state, agent->input);
    int nets = agent->shared ? 1 : count;
    for (int k = 0; k < nets; k++) {
        agent->q_of[k] = agent->shared ? agent->values : q + k * actions;
    }
    const fgsf_network *const *own =
        (const fgsf_network *const *)agent->nets + fgsf_agent_net_of(agent, first);
    fgsf_status status =
        fgsf_gpe_run_all(agent->gpe, own, nets, rho, 0, 1, agent->input, 1, agent->q_of);
    agent->flops += fgsf_gpe_flops(agent->gpe);
    if (agent->shared && status == FGSF_OK) {
        memmove(q, agent->values + first * actions, (size_t)(count * actions) * sizeof(float));
    }
    *num_policies = count;
    return status;
}

fgsf_status fgsf_agent_features(fgsf_agent *agent, int task, int policy, const float *state,
                                float *x) {
    FGSF_REQUIRE(agent && state && x);
    fgsf_status status = check_call(agent, task, NULL, state);
    if (status == FGSF_OK && !fgsf_agent_network(agent, policy)) {
        status =
            fgsf_fail(FGSF_ERR_INVALID, "agent: policy %d is not in [0, %d)", policy, agent->seen);
    }
    size_t size = (size_t)(agent->shape.actions * agent->shape.features);
    size_t all = size * (size_t)(agent->shared ? agent->num_policies : 1);
    float *every = status == FGSF_OK ? malloc(all * sizeof *every) : NULL;
    if (status == FGSF_OK && !every) status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for features");
    if (status == FGSF_OK) {
        fgsf_agent_input(agent, task, state, agent->input);
        status = fgsf_gpe_representation(agent->gpe, fgsf_agent_network(agent, policy),
                                         agent->input, 1, every);
    }
    if (status == FGSF_OK) {
        memcpy(x, every + (size_t)fgsf_agent_head_of(agent, policy) * size, size * sizeof *x);
    }
    free(every);
    return status;
}

fgsf_status fgsf_agent_act(fgsf_agent *agent, int task, const float *rho, const float *state,
                           fgsf_rng *rng, fgsf_choice *choice) {
    FGSF_REQUIRE(agent && state && choice && (rng || agent->params.tie != FGSF_TIE_RANDOM));
    int count, first;
    FGSF_TRY(fgsf_agent_q(agent, task, rho, state, agent->values, &count));
    *choice = fgsf_gpi_choose(agent->values, count, agent->shape.actions, agent->params.tie, rng);
    fgsf_agent_scope(agent, task, &first);
    choice->policy += first;
    return FGSF_OK;
}

// ---- State --------------------------------------------------------------------------------------

static void walk_members(fgsf_agent *agent, fgsf_walk *w) {
    int d = agent->params.num_features;
    int64_t count = agent->set ? fgsf_feature_set_count(agent->set) : 0;
    w->integer(w, "members", &count);
    if (w->status != FGSF_OK || count == 0) return;
    if (count < 0 || count > agent->shape.features || !agent->set) {
        w->status = fgsf_fail(FGSF_ERR_FORMAT, "%s: members: %lld do not fit the configuration",
                              w->source, (long long)count);
        return;
    }
    size_t size = (size_t)count * (size_t)d;
    if (!w->loading) {
        w->array(w, "members.phi", FGSF_F32, (float *)fgsf_feature_set_members(agent->set), size);
        return;
    }
    float *phi = malloc(size * sizeof *phi);
    if (!phi)
        w->status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for %lld features", (long long)count);
    w->array(w, "members.phi", FGSF_F32, phi, size);
    if (w->status == FGSF_OK) w->status = fgsf_feature_set_restore(agent->set, phi, (int)count);
    free(phi);
}

void fgsf_agent_walk(fgsf_agent *agent, fgsf_walk *w) {
    const fgsf_agent_params *p = &agent->params;
    int nets = agent->shared ? agent->seen > 0 : agent->seen;
    for (int k = 0; k < nets; k++) {
        char name[64];
        snprintf(name, sizeof name, "policy.%d.parameters", k);
        // Editing marks a network as changed; saving must not, or a resumed run would differ.
        float *data = w->loading ? fgsf_network_edit(agent->nets[k])
                                 : (float *)fgsf_network_parameters(agent->nets[k]);
        w->array(w, name, FGSF_F32, data, fgsf_network_size(agent->nets[k]));
    }
    w->array(w, "rho", FGSF_F32, agent->rho, (size_t)p->num_tasks * (size_t)agent->shape.features);
    w->array(w, "task_weights", FGSF_F32, agent->task_weights,
             (size_t)(p->num_tasks + p->num_heldout) * (size_t)p->num_features);
    walk_members(agent, w);
}
