// The learner: what is observed goes to the reward model and the replay, and a learning step is
// batch -> priors by GPI -> next actions -> Bellman graph -> optimiser.
//
// Names follow the paper: i is the active task's policy, c the prior that GPI picks, a' the next
// action. fgsf_learner_learn is its update; which policies take part is one row of `strategies`. The
// batch is in learner_batch.c, the choices of c and a' are in learner_choose.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "program.h"
#include "require.h"

// ---- One update ---------------------------------------------------------------------------------

static double learning_rate(const fgsf_learner *l, int k) {
    return k == l->policy ? l->params.lr : l->params.lr_prior;
}

static fgsf_status track_target(const fgsf_learner *l, fgsf_training *training,
                                const fgsf_network *net) {
    training->updates++;
    if (l->params.target.mode == FGSF_TARGET_POLYAK) {
        return fgsf_network_track(training->target, net, (float)l->params.target.polyak);
    }
    if (l->params.target.mode == FGSF_TARGET_HARD &&
        training->updates % l->params.target.period == 0) {
        return fgsf_network_track(training->target, net, 1.0f);
    }
    return FGSF_OK;
}

// What a step of a shared network moves: the body and task's head at the task's rate, and the heads
// of priors. Their rows have the weight lr_prior / lr, which Adam divides out of the heads' steps
// again, so there they step at lr_prior. A head without rows stays as it is, and its steps are its own.
static int list_stretches(fgsf_learner *l, const fgsf_network *net, double rate) {
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    int w = fgsf_shape_head(&l->agent->shape, list), count = 0;
    size_t rows = (size_t)(l->agent->shape.actions * l->agent->shape.features);
    l->stretches[count++] =
        (fgsf_stretch){.count = list->list[w].offset, .lr = rate * l->params.lr};
    for (int k = 0; k < l->agent->seen; k++) {
        bool adam = l->params.opt.kind == FGSF_ADAM;
        for (int i = w; i < list->count && l->moved[k]; i++) {
            const fgsf_parameter *p = &list->list[i];
            size_t size = rows * (size_t)(p->rows == 1 ? 1 : p->columns);
            l->stretches[count++] = (fgsf_stretch){
                p->offset + (size_t)k * size, size,
                rate * (adam ? learning_rate(l, k) : l->params.lr), l->head_steps[k]};
        }
    }
    return count;
}

// One step along a gradient, at `rate` times the learning rate of policy k.
static fgsf_status step(fgsf_learner *l, int k, fgsf_optimizer *opt, fgsf_network *net,
                        const float *gradient, double rate, double *norm) {
    if (!l->agent->shared) {
        return fgsf_optimizer_step(opt, net, gradient, rate * learning_rate(l, k), norm);
    }
    int count = list_stretches(l, net, rate);
    return fgsf_optimizer_step_stretches(opt, net, gradient, l->stretches, count, norm);
}

// The network first, then its error network; both gradients were taken before.
static fgsf_status optimise(fgsf_learner *l, int k, fgsf_network *net, double *norm) {
    fgsf_training *t = &l->training[fgsf_agent_net_of(l->agent, k)];
    for (int head = 0; head < l->agent->seen; head++) l->head_steps[head] += l->moved[head];
    fgsf_status status = step(l, k, t->opt, net, fgsf_bellman_gradient(l->bellman), 1.0, norm);
    if (status == FGSF_OK && t->error) {
        status = step(l, k, t->error_opt, t->error, fgsf_bellman_error_gradient(l->bellman),
                      l->params.gradient.h_rate, NULL);
    }
    return status;
}

// Policies that share a network also share the states of the batch: each goes through the body once,
// whatever the number of heads that learn from it. Steps on a group of pairs go through those alone.
static bool one_pass(const fgsf_learner *l) {
    return l->agent->shared && !l->params.group_by_prior;
}

// The gradient step proper, on the rows of the update: loss and gradient from the graph, then the
// optimiser.
static fgsf_status descend(fgsf_learner *l, int k, double denominator, fgsf_learned *out) {
    const fgsf_batch_arrays *u = &l->update;
    fgsf_batch batch = {.pairs = l->used,
                        .s = u->s,
                        .a = u->a,
                        .y = u->y,
                        .s_next = u->s_next,
                        .a_next = u->a_next,
                        .discount = u->discount,
                        .weight = u->weight,
                        .present = u->present,
                        .denominator = denominator};
    if (one_pass(l)) {
        batch.s = l->batch.s;
        batch.s_next = l->batch.s_next;
        batch.state = u->pair;
        batch.states = l->pairs;
    }
    fgsf_training *training = &l->training[fgsf_agent_net_of(l->agent, k)];
    fgsf_network *net = fgsf_agent_network(l->agent, k);
    double loss = 0.0, norm = 0.0;
    l->used = 0;
    const fgsf_network *other = training->error ? training->error : training->target;
    fgsf_status status = fgsf_bellman_run(l->bellman, &batch, net, other, &loss);
    if (status == FGSF_OK) {
        l->flops += fgsf_bellman_flops(l->bellman);
    }
    if (status == FGSF_OK && !(fabs(loss) <= l->params.divergence_limit)) {
        status =
            fgsf_fail(FGSF_DIVERGED, "the loss of policy %d is %g, above train.divergence_limit %g",
                      k, loss, l->params.divergence_limit);
    }
    if (status == FGSF_OK) status = optimise(l, k, net, &norm);
    if (status == FGSF_OK) status = track_target(l, training, net);
    if (status != FGSF_OK) {
        return status;
    }
    out->updates++;
    if (k == l->policy) {
        out->task_updates++;
        out->loss += loss;
        out->grad_norm += norm;
    }
    return FGSF_OK;
}

// Adds the pairs listed in l->rows to the update, for policy k.
static fgsf_status add_rows(fgsf_learner *l, int k, int count) {
    int head = fgsf_agent_head_of(l->agent, k) * l->agent->shape.actions, rows = 0;
    float weight =
        l->agent->shared && k != l->policy ? (float)(l->params.lr_prior / l->params.lr) : 1.0f;
    for (int j = 0; j < count; j++) {
        fgsf_learner_copy_pair(l, &l->batch, l->rows[j], &l->update, l->used + j);
        l->update.a[l->used + j] += head;
        l->update.weight[l->used + j] = weight;
    }
    fgsf_status status = fgsf_learner_choose_actions(l, k, count, &rows);
    l->moved[k] = true;
    l->used += rows;
    return status;
}

// Updates policy k on the pairs listed in l->rows: at once, or, where policies share a network, with
// the next `finish`.
static fgsf_status update_policy(fgsf_learner *l, int k, int count, double denominator,
                                 fgsf_learned *out) {
    if (learning_rate(l, k) == 0.0 || (l->agent->shared && l->params.lr == 0.0)) {
        return FGSF_OK;
    }
    if (l->used == 0) {
        memset(l->moved, 0, (size_t)l->agent->num_policies * sizeof *l->moved);
    }
    fgsf_status status = add_rows(l, k, count);
    return status == FGSF_OK && !l->agent->shared ? descend(l, k, denominator, out) : status;
}

// One step of a shared network, on all rows that were added.
static fgsf_status finish(fgsf_learner *l, double denominator, fgsf_learned *out) {
    return l->used > 0 ? descend(l, l->policy, denominator, out) : FGSF_OK;
}

// ---- Which policies are updated -----------------------------------------------------------------

// Lists the pairs whose prior is c (all pairs for c < 0) into l->rows.
static int list_rows(fgsf_learner *l, int c) {
    int count = 0;
    for (int b = 0; b < l->pairs; b++) {
        if (c < 0 || l->prior[b] == c) {
            l->rows[count++] = b;
        }
    }
    return count;
}

// Returns the next prior in order of first appearance after pair *b, or -1.
static int next_prior(const fgsf_learner *l, int *b) {
    for (; *b < l->pairs; (*b)++) {
        bool seen = false;
        for (int earlier = 0; earlier < *b && !seen; earlier++) {
            seen = l->prior[earlier] == l->prior[*b];
        }
        if (!seen) {
            return l->prior[(*b)++];
        }
    }
    return -1;
}

// The paper's update: policy i on the whole batch, then every prior c on the pairs where it is best,
// all divided by B.
static fgsf_status update_i_and_c(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = update_policy(l, l->policy, list_rows(l, -1), l->pairs, out);
    for (int b = 0, c; status == FGSF_OK && (c = next_prior(l, &b)) >= 0;) {
        if (c != l->policy) {
            status = update_policy(l, c, list_rows(l, c), l->pairs, out);
        }
    }
    return status == FGSF_OK ? finish(l, l->pairs, out) : status;
}

// Policy i alone, on the whole batch: q, and an ablation.
static fgsf_status update_i_only(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = update_policy(l, l->policy, list_rows(l, -1), l->pairs, out);
    return status == FGSF_OK ? finish(l, l->pairs, out) : status;
}

// As the authors' semi-gradient code: every policy in scope on the whole batch.
static fgsf_status update_all(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = FGSF_OK;
    for (int k = l->first; k < l->first + l->scope && status == FGSF_OK; k++) {
        status = update_policy(l, k, list_rows(l, -1), l->pairs, out);
    }
    return status == FGSF_OK ? finish(l, l->pairs, out) : status;
}

// As the authors' full-gradient code: one step per prior group for i and for c, lower index first,
// each divided by the size of its group.
static fgsf_status update_groups(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = FGSF_OK;
    for (int b = 0, c; status == FGSF_OK && (c = next_prior(l, &b)) >= 0;) {
        int count = list_rows(l, c);
        int order[2] = {c < l->policy ? c : l->policy, c < l->policy ? l->policy : c};
        for (int u = c == l->policy ? 1 : 0; u < 2 && status == FGSF_OK; u++) {
            status = update_policy(l, order[u], count, count, out);
        }
        if (status == FGSF_OK) status = finish(l, count, out);
    }
    return status;
}

static fgsf_status update(fgsf_learner *l, fgsf_learned *out) {
    static fgsf_status (*const strategies[])(fgsf_learner *, fgsf_learned *) = {
        [FGSF_UPDATE_I_AND_C] = update_i_and_c,
        [FGSF_UPDATE_ALL] = update_all,
        [FGSF_UPDATE_I_ONLY] = update_i_only,
    };
    return l->params.group_by_prior ? update_groups(l, out)
                                    : strategies[l->params.update_set](l, out);
}

static fgsf_status check_task(const fgsf_learner *l, int task) {
    int policy = task >= 0 && task < l->params.agent.num_tasks
                     ? fgsf_agent_policy_of(l->agent, task)
                     : l->agent->seen;
    if (policy < l->agent->seen) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "learner: task %d has not been added", task);
}

fgsf_status fgsf_learner_learn(fgsf_learner *l, int task, fgsf_learned *out) {
    FGSF_REQUIRE(l);
    fgsf_learned unused = {0};
    out = out ? out : &unused;
    fgsf_status status = check_task(l, task);
    if (status != FGSF_OK || fgsf_replay_count(l->replay) < l->params.batch_size) {
        return status;
    }
    l->task = task;
    l->policy = fgsf_agent_policy_of(l->agent, task);
    l->scope = fgsf_agent_scope(l->agent, task, &l->first);
    l->used = 0;
    status = fgsf_learner_sample(l);
    if (status != FGSF_OK) return status;
    if (l->pairs == 0) {
        out->skipped = true;
        return FGSF_OK;
    }
    status = fgsf_learner_evaluate(l);
    if (status == FGSF_OK) status = fgsf_learner_choose_priors(l, out);
    return status == FGSF_OK ? update(l, out) : status;
}

// ---- Observing and acting -----------------------------------------------------------------------

fgsf_status fgsf_learner_refresh_rho(fgsf_learner *l, int task, bool all) {
    fgsf_status status = FGSF_OK;
    int first = all ? 0 : task, last = all ? l->agent->seen - 1 : task;
    for (int k = first; k <= last && l->rewards && status == FGSF_OK; k++) {
        float *rho = l->agent->rho + (size_t)k * (size_t)l->agent->shape.features;
        status = fgsf_reward_rho(l->rewards[k], l->agent->set, rho);
    }
    return status;
}

static fgsf_status check_experience(const fgsf_learner *l, const fgsf_experience *e) {
    fgsf_status status = check_task(l, e->task);
    if (status == FGSF_OK && (!e->s || !e->s_next || !e->phi)) {
        status = fgsf_fail(FGSF_ERR_INVALID, "learner: an experience without s, s_next or phi");
    }
    if (status == FGSF_OK && (e->action < 0 || e->action >= l->params.agent.num_actions)) {
        status = fgsf_fail(FGSF_ERR_INVALID, "learner: action %d is not in [0, %d)", e->action,
                           l->params.agent.num_actions);
    }
    if (status == FGSF_OK && !isfinite(e->reward)) {
        status = fgsf_fail(FGSF_ERR_INVALID, "learner: the reward is %g", e->reward);
    }
    return status;
}

// Reward model first, then the replay: the order of the authors' code.
fgsf_status fgsf_learner_observe(fgsf_learner *l, const fgsf_experience *e) {
    FGSF_REQUIRE(l && e);
    int event = -1;
    bool grown = false;
    fgsf_status status = check_experience(l, e);
    if (status == FGSF_OK && l->rewards) {
        status = fgsf_reward_update(l->rewards[e->task], e->phi, e->reward);
    }
    if (status == FGSF_OK && l->agent->set) {
        int before = fgsf_feature_set_count(l->agent->set);
        status = fgsf_feature_set_index(l->agent->set, e->phi, &event);
        grown = fgsf_feature_set_count(l->agent->set) != before;
    }
    if (status == FGSF_OK) status = fgsf_learner_refresh_rho(l, e->task, grown);
    if (status != FGSF_OK) {
        return status;
    }
    return fgsf_replay_add(
        l->replay, &(fgsf_transition){.s = e->s,
                                      .s_next = e->s_next,
                                      .phi = e->phi,
                                      .reward = (float)e->reward,
                                      .discount = e->terminal ? 0.0f : (float)l->params.gamma,
                                      .action = e->action,
                                      .event = event,
                                      .task = e->task});
}

fgsf_status fgsf_learner_act(fgsf_learner *l, int task, const float *s, double epsilon,
                             int *action) {
    FGSF_REQUIRE(l && s && action && epsilon >= 0.0 && epsilon <= 1.0);
    if (fgsf_rng_uniform(&l->explore_rng) < epsilon) {
        *action = (int)fgsf_rng_below(&l->explore_rng, (uint64_t)l->params.agent.num_actions);
        return FGSF_OK;
    }
    fgsf_choice choice;
    fgsf_status status = fgsf_agent_act(l->agent, task, NULL, s, &l->explore_rng, &choice);
    if (status == FGSF_OK) {
        *action = choice.action;
    }
    return status;
}

void fgsf_learner_forget(fgsf_learner *l) {
    if (!l) return;
    fgsf_replay_clear(l->replay);
}

// ---- Tasks --------------------------------------------------------------------------------------

static bool has_error(const fgsf_learner *l) {
    return fgsf_gradient_needs(l->params.gradient.kind).error_network;
}

static fgsf_status add_training(fgsf_learner *l, int net) {
    fgsf_training *training = &l->training[net];
    fgsf_status status = fgsf_optimizer_create(&l->params.opt, l->agent->nets[net], &training->opt);
    if (status == FGSF_OK && l->params.target.mode != FGSF_TARGET_NONE) {
        status = fgsf_network_create(&l->agent->shape, &training->target);
        if (status == FGSF_OK) {
            status = fgsf_network_track(training->target, l->agent->nets[net], 1.0f);
        }
    }
    return status == FGSF_OK && has_error(l) ? fgsf_learner_add_error(l, training) : status;
}

fgsf_status fgsf_learner_add_task(fgsf_learner *l) {
    FGSF_REQUIRE(l);
    int k = l->agent->seen;
    if (k >= l->agent->num_policies) {
        bool shared_by_all = l->agent->num_policies < l->params.agent.num_tasks;
        return shared_by_all
                   ? FGSF_OK
                   : fgsf_fail(FGSF_ERR_INVALID, "learner: all %d tasks have been added", k);
    }
    fgsf_status status = fgsf_agent_add_policy(l->agent, &l->init_rng);
    int net = fgsf_agent_net_of(l->agent, k);
    fgsf_training *training = &l->training[net];
    if (status == FGSF_OK && !training->opt) {
        status = add_training(l, net);
    } else if (status == FGSF_OK && training->target) { // as in a network of its own
        fgsf_network_take_head(training->target, l->agent->nets[net], k);
    }
    return status == FGSF_OK ? fgsf_learner_refresh_rho(l, k, false) : status;
}

// ---- Creation -----------------------------------------------------------------------------------

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
    const struct {
        const char *name;
        double value;
        bool right;
    } checks[] = {
        {"gamma", p->gamma, p->gamma >= 0.0 && p->gamma < 1.0},
        {"batch_size", (double)p->batch_size, p->batch_size >= 1 && p->batch_size <= 1 << 20},
        {"lr", p->lr, p->lr >= 0.0 && isfinite(p->lr)},
        {"lr_prior", p->lr_prior, p->lr_prior >= 0.0 && isfinite(p->lr_prior)},
        {"gradient.eta", p->gradient.eta, p->gradient.eta >= 0.0 && p->gradient.eta <= 1.0},
        {"gradient.h_rate", p->gradient.h_rate, p->gradient.h_rate >= 0.0},
        {"gradient.h_beta", p->gradient.h_beta, p->gradient.h_beta >= 0.0},
        {"target.period", (double)p->target.period, p->target.period >= 1},
        {"avg.n", (double)p->avg.n, p->avg.n >= 1 && p->avg.n <= 1 << 16},
        {"avg.pivots", (double)p->avg.pivots, p->avg.pivots >= 0 && p->avg.pivots <= 1 << 20},
        {"avg.min_stored", (double)p->avg.min_stored, p->avg.min_stored >= 1},
        {"update_set", p->update_set, (unsigned)p->update_set <= FGSF_UPDATE_I_ONLY},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (!checks[i].right) {
            return fgsf_fail(FGSF_ERR_INVALID, "learner.%s: %g is out of range", checks[i].name,
                             checks[i].value);
        }
    }
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
    int policies = !l->agent->shared                            ? 1
                   : l->params.update_set == FGSF_UPDATE_ALL    ? l->agent->num_policies
                   : l->params.update_set == FGSF_UPDATE_I_ONLY ? 1
                                                                : 2;
    return l->max_pairs * each * policies;
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
        .max_states = one_pass(l) ? l->max_pairs : 0,
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
    b->states = calloc(pairs * samples * input, sizeof(float));
    b->row = calloc(pairs * samples, sizeof(int32_t));
    b->pair = calloc(pairs, sizeof(int32_t));
    return b->s && b->a && b->y && b->s_next && b->a_next && b->discount && b->weight &&
           b->present && b->states && b->row && b->pair;
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
    free(b->states);
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
    l->rho = calloc(rhos * features, sizeof(float));
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
    return l->training && l->slots && l->matches && l->ties && l->select && l->rho &&
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
    status = allocate(l)
                 ? create_bellman(l)
                 : fgsf_fail(FGSF_ERR_MEMORY, "no memory for batches of %d pairs", l->max_pairs);
    return status == FGSF_OK && has_error(l) ? fgsf_learner_check_error(l) : status;
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
    void *arrays[] = {l->training, l->rewards, l->slots,      l->matches,  l->ties,
                      l->select,   l->rho,     l->q_version,  l->table,    l->prior,
                      l->rows,     l->moved,   l->head_steps, l->stretches};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    fgsf_replay_free(l->replay);
    fgsf_agent_free(l->agent);
    free(l);
}

fgsf_agent *fgsf_learner_agent(const fgsf_learner *l) {
    if (!l) return NULL;
    return l->agent;
}

const fgsf_replay *fgsf_learner_replay(const fgsf_learner *l) {
    if (!l) return NULL;
    return l->replay;
}

const fgsf_learner_params *fgsf_learner_get_params(const fgsf_learner *l) {
    if (!l) return NULL;
    return &l->params;
}
