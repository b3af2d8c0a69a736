// Creates learners: parameters are checked, and everything that a step needs is allocated.
#include <math.h>
#include <stdlib.h>

#include "learning.h"
#include "program.h"
#include "require.h"

fgsf_learner_params fgsf_learner_default_params(void) {
    return (fgsf_learner_params){
        .agent = fgsf_agent_default_params(),
        .gamma = 0.95,
        .batch_size = 64,
        .buffer_capacity = 200000,
        .lr = 1e-3,
        .lr_prior = 1e-5,
        .opt = {.kind = FGSF_ADAM,
                .beta1 = 0.9,
                .beta2 = 0.999,
                .eps = 1e-8,
                .clip = 1.0,
                .rm_k0 = 1000.0,
                .rm_power = 0.75},
        .gradient = {.kind = FGSF_FULL, .eta = 1.0, .h_rate = 1.0},
        .target = {.mode = FGSF_TARGET_NONE, .period = 1000, .polyak = 0.005, .double_q = true},
        .loss_scale = FGSF_HALF_MEAN,
        .reward = fgsf_reward_default_params(0),
        .next_action_current = FGSF_NEXT_GPI,
        .next_action_prior = FGSF_NEXT_OWN,
        .avg = {.n = 1, .min_stored = 1, .grid_pitch = 0.05},
        .divergence_limit = 1e10,
    };
}

// With q a policy uses its own values only, so these settings are fixed: there are no priors.
static void settle(fgsf_learner_params *p) {
    p->reward.num_features = p->agent.num_features;
    if (p->agent.representation == FGSF_Q) {
        p->agent.init_from = FGSF_INIT_FRESH;
        p->agent.scope = FGSF_SCOPE_OWN;
        p->update_set = FGSF_UPDATE_I_ONLY;
        p->prior_select = FGSF_PRIOR_NEXT_STATE;
        p->group_by_prior = false;
    }
}

static fgsf_status check_params(const fgsf_learner_params *p) {
    const fgsf_check checks[] = {
        {"gamma", p->gamma, p->gamma >= 0.0 && p->gamma < 1.0},
        {"batch_size", (double)p->batch_size, p->batch_size >= 1 && p->batch_size <= 1 << 20},
        {"lr", p->lr, p->lr >= 0.0 && isfinite(p->lr)},
        {"lr_prior", p->lr_prior, p->lr_prior >= 0.0 && isfinite(p->lr_prior)},
        {"gradient.eta", p->gradient.eta, p->gradient.eta >= 0.0 && p->gradient.eta <= 1.0},
        {"gradient.h_rate", p->gradient.h_rate, p->gradient.h_rate >= 0.0},
        {"gradient.h_beta", p->gradient.h_beta, p->gradient.h_beta >= 0.0},
        {"target.mode", p->target.mode, (unsigned)p->target.mode <= FGSF_TARGET_POLYAK},
        {"target.period", (double)p->target.period, p->target.period >= 1},
        {"target.polyak", p->target.polyak, p->target.polyak >= 0.0 && p->target.polyak <= 1.0},
        {"avg.n", (double)p->avg.n, p->avg.n >= 1 && p->avg.n <= 1 << 16},
        {"avg.pivots", (double)p->avg.pivots, p->avg.pivots >= 0 && p->avg.pivots <= 1 << 20},
        {"avg.min_stored", (double)p->avg.min_stored, p->avg.min_stored >= 1},
        {"avg.estimator", p->avg.estimator, (unsigned)p->avg.estimator <= FGSF_SPLIT},
        {"avg.pivot_source", p->avg.pivot_source,
         (unsigned)p->avg.pivot_source <= FGSF_PIVOT_CURRENT},
        {"avg.shortfall", p->avg.shortfall, (unsigned)p->avg.shortfall <= FGSF_SHORTFALL_SKIP},
        {"avg.source", p->avg.source, (unsigned)p->avg.source <= FGSF_SAMPLES_FRESH},
        {"avg.next_action", p->avg.next_action,
         (unsigned)p->avg.next_action <= FGSF_AVG_POLICY_C_AT_MEAN},
        {"update_set", p->update_set, (unsigned)p->update_set <= FGSF_UPDATE_I_ONLY},
        {"prior_select", p->prior_select, (unsigned)p->prior_select <= FGSF_PRIOR_CURRENT_STATE},
        {"next_action_current", p->next_action_current,
         (unsigned)p->next_action_current <= FGSF_NEXT_OWN_MEAN},
        {"next_action_prior", p->next_action_prior,
         (unsigned)p->next_action_prior <= FGSF_NEXT_OWN_MEAN},
        {"divergence_limit", p->divergence_limit, p->divergence_limit > 0.0},
        // As many rows has a batch, counted in 32 bits.
        {"avg.n", (double)p->avg.n,
         (double)p->avg.n * ((double)p->batch_size + (double)p->avg.pivots) <= INT32_MAX},
    };
    FGSF_TRY(fgsf_check_all("learner", checks, sizeof checks / sizeof *checks));
    if (p->avg.source == FGSF_SAMPLES_FRESH && !p->avg.draw) {
        return fgsf_fail(FGSF_ERR_INVALID, "learner.avg.source: fresh needs the function avg.draw");
    }
    return FGSF_OK;
}

// A kind that needs a target network must get it.
static fgsf_status check_gradient(const fgsf_learner_params *p) {
    fgsf_gradient_need need = fgsf_gradient_needs(p->gradient.kind);
    if (need.target_network && p->target.mode == FGSF_TARGET_NONE) {
        return fgsf_fail(FGSF_ERR_INVALID, "gradient.kind: this kind needs target.mode hard or "
                                           "polyak");
    }
    if (need.error_network && p->target.mode != FGSF_TARGET_NONE) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "gradient.kind: with an error network target.mode must be "
                         "none");
    }
    return FGSF_OK;
}

static int batch_pairs(const fgsf_learner_params *p) {
    bool averaging = p->avg.n > 1;
    if (averaging && p->avg.pivot_source == FGSF_PIVOT_CURRENT) {
        return 1;
    }
    return (int)(averaging && p->avg.pivots > 0 ? p->avg.pivots : p->batch_size);
}

static fgsf_status create_agent(fgsf_learner *l) {
    int rows = l->max_pairs * l->samples;
    rows = rows > l->params.max_rows ? rows : l->params.max_rows;
    return fgsf_agent_create(&l->params.agent, rows, &l->agent);
}

static fgsf_status create_replay(fgsf_learner *l) {
    const fgsf_learner_params *p = &l->params;
    return fgsf_replay_create(&(fgsf_replay_params){.capacity = p->buffer_capacity,
                                                    .state_size = p->agent.state_size,
                                                    .num_features = p->agent.num_features,
                                                    .indexed = l->averaging,
                                                    .key = p->avg.key,
                                                    .grid_pitch = p->avg.grid_pitch},
                              &l->replay);
}

// A model per task for psi and xi. q learns the reward with its values; relabelling computes it from
// phi, so every task must then pay linearly in phi.
static fgsf_status create_rewards(fgsf_learner *l) {
    const fgsf_learner_params *p = &l->params;
    bool q = p->agent.representation == FGSF_Q;
    fgsf_status status = FGSF_OK;
    l->rewards = q ? NULL : calloc((size_t)p->agent.num_tasks, sizeof *l->rewards);
    if (!q && !l->rewards) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for reward models");
    for (int task = 0; task < p->agent.num_tasks && status == FGSF_OK; task++) {
        const fgsf_task *known = p->agent.tasks ? &p->agent.tasks[task] : NULL;
        bool linear = known && known->w, psi = p->agent.representation == FGSF_PSI;
        if (q && p->relabel && !linear) {
            return fgsf_fail(FGSF_ERR_INVALID,
                             "dqn.relabel: true, but the reward of task %d is not linear in its "
                             "features, so it cannot be computed from them",
                             task);
        }
        if (psi && p->reward.model == FGSF_REWARD_KNOWN && !linear) {
            return fgsf_fail(FGSF_ERR_INVALID,
                             "reward.model=known with representation=psi: the reward of task %d is "
                             "not linear in phi",
                             task);
        }
        if (!q) {
            status = fgsf_reward_create(&p->reward, known, l->agent->device, &l->init_rng,
                                        &l->rewards[task]);
        }
    }
    return status;
}

// The most rows of one optimiser step. With hull ties a pair takes one row per maximising action; a
// shared network takes the rows of all policies at once.
static int max_rows_of_update(const fgsf_learner *l) {
    int each = l->params.agent.tie == FGSF_TIE_HULL ? l->agent->shape.actions : 1;
    int64_t policies = !l->agent->shared                            ? 1
                       : l->params.update_set == FGSF_UPDATE_ALL    ? l->agent->num_policies
                       : l->params.update_set == FGSF_UPDATE_I_ONLY ? 1
                                                                    : 2;
    int64_t rows = l->max_pairs * policies * each;
    return rows < INT32_MAX ? (int)rows : INT32_MAX;
}

// h_beta is relative to the loss |delta - h|^2 / 2 of one pair; the loss that is descended has another
// scale.
static double error_scale(const fgsf_learner *l) {
    const fgsf_network_shape *shape = &l->agent->shape;
    double pairs = l->max_pairs;
    return 2.0 * pairs *
           fgsf_loss_factor(l->params.loss_scale, pairs, shape->features, shape->actions);
}

static fgsf_status create_bellman(fgsf_learner *l) {
    const fgsf_learner_params *p = &l->params;
    fgsf_bellman_params params = {
        .shape = l->agent->shape,
        .max_pairs = max_rows_of_update(l),
        .max_states = fgsf_learner_one_pass(l) ? l->max_pairs : 0,
        .samples = l->samples,
        .kind = p->gradient.kind,
        .grad_mix = p->gradient.eta,
        .h_beta = p->gradient.h_beta * error_scale(l),
        .estimator = l->averaging ? p->avg.estimator : FGSF_SHARED,
        .split = l->samples / 2,
        .target_network = p->target.mode != FGSF_TARGET_NONE && p->gradient.kind <= FGSF_MIX,
        .loss_scale = p->loss_scale,
    };
    return fgsf_bellman_create(l->agent->device, &params, &l->bellman);
}

static bool allocate_batch(fgsf_batch_arrays *b, size_t pairs, size_t samples, size_t input,
                           size_t features) {
    b->s = calloc(pairs * input, sizeof(float));
    b->a = calloc(pairs, sizeof(int32_t));
    b->y = calloc(pairs * samples * features, sizeof(float));
    b->s_next = calloc(pairs * samples * input, sizeof(float));
    b->a_next = calloc(pairs * samples, sizeof(int32_t));
    b->discount = calloc(pairs * samples, sizeof(float));
    b->weight = calloc(pairs, sizeof(float));
    b->present = calloc(pairs, sizeof(int32_t));
    b->row = calloc(pairs * samples, sizeof(int32_t));
    b->pair = calloc(pairs, sizeof(int32_t));
    return b->s && b->a && b->y && b->s_next && b->a_next && b->discount && b->weight &&
           b->present && b->row && b->pair;
}

static void free_batch(fgsf_batch_arrays *b) {
    free(b->s);
    free(b->a);
    free(b->y);
    free(b->s_next);
    free(b->a_next);
    free(b->discount);
    free(b->weight);
    free(b->present);
    free(b->row);
    free(b->pair);
}

static bool allocate_tables(float **tables, int count, size_t size) {
    bool ok = tables != NULL;
    for (int k = 0; k < count && ok; k++) {
        tables[k] = calloc(size, sizeof(float));
        ok = tables[k] != NULL;
    }
    return ok;
}

static void free_tables(float **tables, int count) {
    for (int k = 0; k < count && tables; k++) {
        free(tables[k]);
    }
    free(tables);
}

static bool allocate(fgsf_learner *l) {
    const fgsf_agent *agent = l->agent;
    const fgsf_network_shape *shape = &agent->shape;
    size_t pairs = (size_t)l->max_pairs, samples = (size_t)l->samples, states = pairs * samples;
    size_t policies = (size_t)agent->num_policies, actions = (size_t)fgsf_shape_actions(shape);
    size_t rhos = l->all_rho ? policies : 2, input = (size_t)shape->input;
    size_t features = (size_t)shape->features;
    int nets = fgsf_agent_num_nets(agent);
    l->training = calloc((size_t)nets, sizeof *l->training);
    l->slots = calloc(pairs, sizeof *l->slots);
    l->matches = calloc(samples, sizeof *l->matches);
    l->ties = calloc(policies * (size_t)shape->actions, sizeof *l->ties);
    l->select = calloc(pairs * input, sizeof(float));
    l->rho = calloc(policies * rhos * features, sizeof(float));
    l->valued = calloc(policies, sizeof *l->valued);
    l->q = calloc((size_t)nets, sizeof *l->q);
    l->update_q = calloc((size_t)nets, sizeof *l->update_q);
    l->select_q = calloc((size_t)nets, sizeof *l->select_q);
    l->q_version = calloc((size_t)nets, sizeof *l->q_version);
    l->table = calloc(policies * (size_t)shape->actions, sizeof(float));
    l->prior = calloc(pairs, sizeof *l->prior);
    l->rows = calloc(pairs, sizeof *l->rows);
    l->moved = calloc(policies, sizeof *l->moved);
    l->head_steps = calloc(policies, sizeof *l->head_steps);
    l->stretches = calloc(2 * policies + 1, sizeof *l->stretches);
    return l->training && l->slots && l->matches && l->ties && l->select && l->rho && l->valued &&
           l->q_version && l->table && l->prior && l->rows && l->moved && l->head_steps &&
           l->stretches && allocate_batch(&l->batch, pairs, samples, input, features) &&
           allocate_batch(&l->update, (size_t)max_rows_of_update(l), samples, input, features) &&
           allocate_tables(l->q, nets, states * rhos * actions) &&
           allocate_tables(l->update_q, nets, states * rhos * actions) &&
           allocate_tables(l->select_q, nets, pairs * actions);
}

static fgsf_status create_parts(fgsf_learner *l) {
    const fgsf_learner_params *p = &l->params;
    uint64_t seed = (uint64_t)p->seed;
    l->init_rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    l->explore_rng = fgsf_rng_make(seed, FGSF_STREAM_EXPLORE);
    l->replay_rng = fgsf_rng_make(seed, FGSF_STREAM_REPLAY);
    l->averaging = p->avg.n > 1;
    l->samples = l->averaging ? (int)p->avg.n : 1;
    l->max_pairs = batch_pairs(p);
    fgsf_status status = create_agent(l);
    if (status == FGSF_OK) status = create_replay(l);
    if (status == FGSF_OK) status = create_rewards(l);
    if (status != FGSF_OK) {
        return status;
    }
    // GPI under the priors' own rewards needs every policy under every reward; so does a shared
    // network, which evaluates all policies at once.
    bool priors = p->update_set != FGSF_UPDATE_I_ONLY;
    l->all_rho = priors && (l->agent->shared || p->next_action_prior == FGSF_NEXT_GPI);
    l->together = l->agent->device->resident;
    status = allocate(l)
                 ? create_bellman(l)
                 : fgsf_fail(FGSF_ERR_MEMORY, "no memory for batches of %d pairs", l->max_pairs);
    bool error = fgsf_gradient_needs(p->gradient.kind).error_network;
    return status == FGSF_OK && error ? fgsf_learner_check_error(l) : status;
}

fgsf_status fgsf_learner_create(const fgsf_learner_params *params, fgsf_learner **out) {
    FGSF_REQUIRE(params && out);
    fgsf_status status = check_params(params);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_learner *l = calloc(1, sizeof *l);
    if (!l) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a learner");
    }
    l->params = *params;
    settle(&l->params);
    status = check_gradient(&l->params);
    if (status == FGSF_OK) status = create_parts(l);
    if (status != FGSF_OK) {
        fgsf_learner_free(l);
        return status;
    }
    *out = l;
    return FGSF_OK;
}

void fgsf_learner_free(fgsf_learner *l) {
    if (!l) {
        return;
    }
    int nets = l->agent ? fgsf_agent_num_nets(l->agent) : 0;
    for (int k = 0; k < nets && l->training; k++) {
        fgsf_network_free(l->training[k].target);
        fgsf_network_free(l->training[k].error);
        fgsf_optimizer_free(l->training[k].opt);
        fgsf_optimizer_free(l->training[k].error_opt);
    }
    for (int task = 0; task < l->params.agent.num_tasks && l->rewards; task++) {
        fgsf_reward_free(l->rewards[task]);
    }
    fgsf_bellman_free(l->bellman);
    free_batch(&l->batch);
    free_batch(&l->update);
    free_tables(l->q, nets);
    free_tables(l->update_q, nets);
    free_tables(l->select_q, nets);
    void *arrays[] = {l->training, l->rewards, l->slots,      l->matches,   l->ties,
                      l->select,   l->rho,     l->q_version,  l->table,     l->prior,
                      l->rows,     l->moved,   l->head_steps, l->stretches, l->valued};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    fgsf_replay_free(l->replay);
    fgsf_agent_free(l->agent);
    free(l);
}
