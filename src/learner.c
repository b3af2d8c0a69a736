// The learner: what is observed goes to the reward model and the replay, and a learning step is
// batch -> priors by GPI -> next actions -> Bellman graph -> optimiser.
//
// Names follow the paper: i is the active task's policy, c the prior that GPI picks, a' the next
// action. fgsf_learner_learn is its update; which policies take part is one row of `strategies`. The
// batch is in learner_batch.c, the choices of c and a' are in learner_choose.c, what a learner is made of
// in learner_create.c.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "require.h"
#include "update.h"

// ---- One update ---------------------------------------------------------------------------------

static double learning_rate(const fgsf_learner *l, int k) {
    return k == l->policy ? l->params.lr : l->params.lr_prior;
}

// Whether an update is one graph, with the optimiser and Polyak tracking in it.
static bool in_one_graph(const fgsf_learner *l) {
    return fgsf_bellman_updates(l->bellman) && !l->agent->shared;
}

static fgsf_status track_target(const fgsf_learner *l, fgsf_training *training,
                                const fgsf_network *net) {
    training->updates++;
    if (l->params.target.mode == FGSF_TARGET_POLYAK && !in_one_graph(l)) {
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

// Gradient and step of the network, and of its error network, in one graph on the device.
static fgsf_status update_on_device(fgsf_learner *l, int k, const fgsf_batch *batch,
                                    const fgsf_network *other, double *loss, double *norm) {
    fgsf_training *t = &l->training[fgsf_agent_net_of(l->agent, k)];
    bool polyak = l->params.target.mode == FGSF_TARGET_POLYAK;
    double lr = learning_rate(l, k);
    const fgsf_step steps[2] = {
        {.net = fgsf_agent_network(l->agent, k),
         .opt = t->opt,
         .lr = lr,
         .target = polyak ? t->target : NULL,
         .polyak = l->params.target.polyak},
        {.net = t->error, .opt = t->error_opt, .lr = l->params.gradient.h_rate * lr}};
    return fgsf_bellman_update(l->bellman, batch, steps, other, loss, norm);
}

static fgsf_status check_loss(const fgsf_learner *l, int k, double loss) {
    if (fabs(loss) <= l->params.divergence_limit) return FGSF_OK;
    return fgsf_fail(FGSF_DIVERGED, "the loss of policy %d is %g, above train.divergence_limit %g",
                     k, loss, l->params.divergence_limit);
}

// Policies that share a network also share the states of the batch: each goes through the body once,
// whatever the number of heads that learn from it. Steps on a group of pairs go through those alone.
bool fgsf_learner_one_pass(const fgsf_learner *l) {
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
                        .next = l->samples > 1 ? u->row : NULL,
                        .nexts = u->num_states,
                        .a_next = u->a_next,
                        .discount = u->discount,
                        .weight = u->weight,
                        .present = u->present,
                        .denominator = denominator};
    if (fgsf_learner_one_pass(l)) {
        batch.s = l->batch.s;
        batch.s_next = l->batch.s_next;
        batch.next = l->samples > 1 ? l->batch.row : NULL;
        batch.nexts = l->batch.num_states;
        batch.state = u->pair;
        batch.states = l->pairs;
    }
    fgsf_training *training = &l->training[fgsf_agent_net_of(l->agent, k)];
    fgsf_network *net = fgsf_agent_network(l->agent, k);
    double loss = 0.0, norm = 0.0;
    l->used = 0;
    const fgsf_network *other = training->error ? training->error : training->target;
    bool together = in_one_graph(l);
    fgsf_status status = together ? update_on_device(l, k, &batch, other, &loss, &norm)
                                  : fgsf_bellman_run(l->bellman, &batch, net, other, &loss);
    if (status == FGSF_OK) {
        l->flops += fgsf_bellman_flops(l->bellman);
        status = check_loss(l, k, loss);
    }
    if (status == FGSF_OK && !together) status = optimise(l, k, net, &norm);
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
        l->update.num_states = 0;
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
    FGSF_TRY(update_policy(l, l->policy, list_rows(l, -1), l->pairs, out));
    return finish(l, l->pairs, out);
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
    FGSF_TRY(check_task(l, task));
    if (fgsf_replay_count(l->replay) < l->params.batch_size) return FGSF_OK;
    l->task = task;
    l->policy = fgsf_agent_policy_of(l->agent, task);
    l->scope = fgsf_agent_scope(l->agent, task, &l->first);
    l->used = 0;
    FGSF_TRY(fgsf_learner_sample(l));
    if (l->pairs == 0) {
        out->skipped = true;
        return FGSF_OK;
    }
    FGSF_TRY(fgsf_learner_evaluate(l));
    FGSF_TRY(fgsf_learner_choose_priors(l, out));
    return update(l, out);
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
    size_t states = (size_t)l->params.agent.state_size;
    FGSF_TRY(check_task(l, e->task));
    if (!e->s || !e->s_next || !e->phi) {
        return fgsf_fail(FGSF_ERR_INVALID, "learner: an experience without s, s_next or phi");
    }
    if (e->action < 0 || e->action >= l->params.agent.num_actions) {
        return fgsf_fail(FGSF_ERR_INVALID, "learner: action %d is not in [0, %d)", e->action,
                         l->params.agent.num_actions);
    }
    if (!(fabs(e->reward) <= FLT_MAX)) {
        return fgsf_fail(FGSF_ERR_INVALID, "learner: the reward is %g", e->reward);
    }
    if (!fgsf_all_finite(e->s, states) || !fgsf_all_finite(e->s_next, states) ||
        !fgsf_all_finite(e->phi, (size_t)l->params.agent.num_features)) {
        return fgsf_fail(FGSF_ERR_INVALID, "learner: an experience of task %d is not finite",
                         e->task);
    }
    return FGSF_OK;
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

static fgsf_status add_training(fgsf_learner *l, int net) {
    fgsf_training *training = &l->training[net];
    fgsf_status status = fgsf_optimizer_create(&l->params.opt, l->agent->nets[net], &training->opt);
    if (status == FGSF_OK && l->params.target.mode != FGSF_TARGET_NONE) {
        status = fgsf_network_create(&l->agent->shape, &training->target);
        if (status == FGSF_OK) {
            status = fgsf_network_track(training->target, l->agent->nets[net], 1.0f);
        }
    }
    bool error = fgsf_gradient_needs(l->params.gradient.kind).error_network;
    if (status == FGSF_OK && error) status = fgsf_learner_add_error(l, training);
    if (status == FGSF_OK) fgsf_optimizer_share(training->opt, l->agent->device);
    if (status == FGSF_OK && error) fgsf_optimizer_share(training->error_opt, l->agent->device);
    return status;
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
