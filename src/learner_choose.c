// The choices of a learning step: the prior c of every pair by GPI, and the next actions a'.
//
// q holds, for each network, Q of its policies at the batch's next states. It stays valid until the
// network changes, so only what has changed is evaluated again, and only for the rows that need it.
#include <string.h>

#include "learning.h"
#include "program.h"

// How many scoring vectors policy k is evaluated under, and which of them belongs to `task`.
static int num_rho(const fgsf_learner *l, int k) {
    if (l->all_rho) return l->scope;
    return (k == l->policy && !l->together) || l->agent->shared ? 1 : 2;
}

static int rho_slot(const fgsf_learner *l, int task) {
    return l->all_rho ? task - l->first : task == l->task ? 0 : 1;
}

static void collect_rho(const fgsf_learner *l, int k, float *rho) {
    size_t size = (size_t)l->agent->shape.features;
    if (l->all_rho) {
        memcpy(rho, fgsf_agent_rho(l->agent, l->first), (size_t)l->scope * size * sizeof(float));
        return;
    }
    memcpy(rho, fgsf_agent_rho(l->agent, l->task), size * sizeof(float));
    if (num_rho(l, k) > 1) {
        memcpy(rho + size, fgsf_agent_rho(l->agent, k), size * sizeof(float));
    }
}

static int net_of(const fgsf_learner *l, int k) {
    return fgsf_agent_net_of(l->agent, k);
}

// The network that values next actions: the trained one, or without target.double the target.
static const fgsf_network *valuing_network(const fgsf_learner *l, int k) {
    const fgsf_network *target = l->training[net_of(l, k)].target;
    return target && !l->params.target.double_q ? target : l->agent->nets[net_of(l, k)];
}

static bool is_fresh(const fgsf_learner *l, int k) {
    return l->q_version[net_of(l, k)] == fgsf_network_version(valuing_network(l, k));
}

// The values of policy k in row `row` of a table made with `rhos` scoring vectors.
static const float *values_in(const fgsf_learner *l, const float *q, int k, int row, int rhos,
                              int slot) {
    int all = fgsf_shape_actions(&l->agent->shape);
    return q + (row * rhos + slot) * all +
           fgsf_agent_head_of(l->agent, k) * l->agent->shape.actions;
}

// Evaluates `count` policies from k on, as many as have the same number of scoring vectors.
static fgsf_status evaluate(fgsf_learner *l, int k, int count, const fgsf_batch_arrays *batch,
                            float *const *q) {
    size_t size = (size_t)num_rho(l, k) * (size_t)l->agent->shape.features;
    size_t input = (size_t)l->agent->shape.input;
    for (int i = 0; i < count; i++) {
        l->valued[i] = valuing_network(l, k + i);
        collect_rho(l, k + i, l->rho + (size_t)i * size);
    }
    fgsf_status status = fgsf_gpe_run_all(
        l->agent->gpe, l->valued, count, l->rho, size, num_rho(l, k),
        batch->s_next + (size_t)batch->first * input, batch->num_states - batch->first, q);
    l->flops += fgsf_gpe_flops(l->agent->gpe);
    return status;
}

// One past the last policy in scope whose network has to be evaluated: a shared one counts once.
static int last_evaluated(const fgsf_learner *l) {
    return l->first + (l->agent->shared ? 1 : l->scope);
}

// Says that q holds what the networks of policies first .. last - 1 give now.
static void note_versions(fgsf_learner *l, int first, int last) {
    for (int k = first; k < last; k++) {
        l->q_version[net_of(l, k)] = fgsf_network_version(valuing_network(l, k));
    }
}

fgsf_status fgsf_learner_evaluate(fgsf_learner *l) {
    fgsf_status status = FGSF_OK;
    int last = last_evaluated(l), each = l->together ? last - l->first : 1;
    for (int k = l->first; k < last && status == FGSF_OK; k += each) {
        status = evaluate(l, k, each, &l->batch, &l->q[net_of(l, k)]);
    }
    note_versions(l, l->first, last);
    return status;
}

// Evaluates under the active task's reward where the prior is chosen at other states than s'.
static fgsf_status evaluate_select(fgsf_learner *l, const float *states) {
    int count = last_evaluated(l) - l->first;
    for (int i = 0; i < count; i++) l->valued[i] = valuing_network(l, l->first + i);
    fgsf_status status =
        fgsf_gpe_run_all(l->agent->gpe, l->valued, count, fgsf_agent_rho(l->agent, l->task), 0, 1,
                         states, l->pairs, &l->select_q[net_of(l, l->first)]);
    l->flops += fgsf_gpe_flops(l->agent->gpe);
    return status;
}

// Writes the values of policy k at the samples of one pair of `batch`, where q was evaluated, averaged
// over those present.
static void mean_values(const fgsf_learner *l, const fgsf_batch_arrays *batch, const float *q,
                        int k, int task, int pair, float *mean) {
    int present = batch->present[pair];
    int actions = l->agent->shape.actions, rhos = num_rho(l, k), slot = rho_slot(l, task);
    memset(mean, 0, (size_t)actions * sizeof(float));
    for (int p = 0; p < present; p++) {
        int row = batch->row[pair * l->samples + p] - batch->first;
        const float *values = values_in(l, q, k, row, rhos, slot);
        for (int a = 0; a < actions; a++) {
            mean[a] += values[a] / (float)present;
        }
    }
}

// --- priors -------------------------------------------------------------------------------------

// One next action for all samples of a pair: that of the prior at the mean next state.
static bool acts_at_mean(const fgsf_learner *l) {
    return l->averaging && l->params.avg.next_action == FGSF_AVG_POLICY_C_AT_MEAN;
}

// The prior is chosen at the mean encoded next state in the listing of Algorithm 3 and in the authors'
// ablation, whose pivot is the current transition; else from the mean of the successor vectors.
static bool prior_at_mean(const fgsf_learner *l) {
    bool current = l->params.avg.pivot_source == FGSF_PIVOT_CURRENT;
    return l->averaging && (acts_at_mean(l) || current);
}

// The mean encoded next state of every pair.
static const float *mean_next_states(fgsf_learner *l) {
    size_t input = (size_t)l->agent->shape.input;
    memset(l->select, 0, (size_t)l->pairs * input * sizeof(float));
    for (int b = 0; b < l->pairs; b++) {
        int present = l->batch.present[b];
        for (int p = 0; p < present; p++) {
            const float *s = l->batch.s_next + (size_t)l->batch.row[b * l->samples + p] * input;
            for (size_t i = 0; i < input; i++) {
                l->select[(size_t)b * input + i] += s[i] / (float)present;
            }
        }
    }
    return l->select;
}

// Writes the values that decide pair b's prior: (scope, A).
static void prior_values(fgsf_learner *l, int b, bool selected) {
    int actions = l->agent->shape.actions;
    for (int k = l->first; k < l->first + l->scope; k++) {
        float *values = l->table + (k - l->first) * actions;
        if (selected) {
            const float *selected_q = values_in(l, l->select_q[net_of(l, k)], k, b, 1, 0);
            memcpy(values, selected_q, (size_t)actions * sizeof(float));
        } else {
            mean_values(l, &l->batch, l->q[net_of(l, k)], k, l->task, b, values);
        }
    }
}

// c for every pair: argmax_k max_a of the values under the active task.
fgsf_status fgsf_learner_choose_priors(fgsf_learner *l, fgsf_learned *out) {
    bool at_s = l->params.prior_select == FGSF_PRIOR_CURRENT_STATE;
    bool at_mean = !at_s && prior_at_mean(l);
    fgsf_status status = FGSF_OK;
    if (at_s || at_mean) {
        status = evaluate_select(l, at_s ? l->batch.s : mean_next_states(l));
    }
    for (int b = 0; b < l->pairs && status == FGSF_OK; b++) {
        prior_values(l, b, at_s || at_mean);
        fgsf_choice choice = fgsf_gpi_choose(l->table, l->scope, l->agent->shape.actions,
                                             l->params.agent.tie, &l->replay_rng);
        l->prior[b] = l->first + choice.policy;
        out->other_best += l->prior[b] != l->policy;
    }
    out->pairs += l->pairs;
    if (status == FGSF_OK && at_s && acts_at_mean(l)) { // what the next actions are chosen from
        status = evaluate_select(l, mean_next_states(l));
    }
    return status;
}

// --- next actions --------------------------------------------------------------------------------

// Brings the values of `policies` policies from k on up to date for the pairs of this update, which are
// the whole batch or not.
static fgsf_status refresh(fgsf_learner *l, int k, int policies, bool whole) {
    if (!whole) {
        l->update.first = l->update.row[l->used * l->samples];
        return evaluate(l, k, policies, &l->update, &l->update_q[net_of(l, k)]);
    }
    note_versions(l, k, k + policies);
    return evaluate(l, k, policies, &l->batch, &l->q[net_of(l, k)]);
}

// Where the values of policy k at the j-th pair of this update stand: table, batch and pair in it.
static const float *table_of(const fgsf_learner *l, int k, int j, const fgsf_batch_arrays **batch,
                             int *pair) {
    bool fresh = is_fresh(l, k);
    *batch = fresh ? &l->batch : &l->update;
    *pair = fresh ? l->rows[j] : l->used + j;
    return fresh ? l->q[net_of(l, k)] : l->update_q[net_of(l, k)];
}

// Values of policy k under `task` at sample p of the j-th pair of this update.
static const float *values_at(const fgsf_learner *l, int k, int task, int j, int p) {
    const fgsf_batch_arrays *batch;
    int pair;
    const float *q = table_of(l, k, j, &batch, &pair);
    int row = batch->row[pair * l->samples + p] - batch->first;
    return values_in(l, q, k, row, num_rho(l, k), rho_slot(l, task));
}

static enum fgsf_next_action next_action_rule(const fgsf_learner *l, int k) {
    if (l->averaging && l->params.avg.next_action == FGSF_AVG_OWN_MEAN) {
        return FGSF_NEXT_OWN_MEAN;
    }
    return k == l->policy ? l->params.next_action_current : l->params.next_action_prior;
}

// Collects what a' is the argmax of, for sample p of row j in the update of policy k, in l->table and
// returns the number of policies there.
static int next_values(fgsf_learner *l, int k, int j, int p) {
    size_t actions = (size_t)l->agent->shape.actions, bytes = actions * sizeof(float);
    if (acts_at_mean(l)) { // the prior's own; with hull ties, of all that are as good there
        bool hull =
            l->params.agent.tie == FGSF_TIE_HULL && l->params.prior_select == FGSF_PRIOR_NEXT_STATE;
        int first = hull ? l->first : l->prior[l->rows[j]], count = hull ? l->scope : 1;
        for (int m = 0; m < count; m++) {
            int net = net_of(l, first + m);
            const float *values = values_in(l, l->select_q[net], first + m, l->rows[j], 1, 0);
            memcpy(l->table + (size_t)m * actions, values, bytes);
        }
        return count;
    }
    enum fgsf_next_action rule = next_action_rule(l, k);
    if (rule == FGSF_NEXT_OWN_MEAN) {
        const fgsf_batch_arrays *batch;
        int pair;
        const float *q = table_of(l, k, j, &batch, &pair);
        mean_values(l, batch, q, k, l->task, pair, l->table);
        return 1;
    }
    int task = k == l->policy ? l->task : k;
    if (rule == FGSF_NEXT_OWN) {
        memcpy(l->table, values_at(l, k, task, j, p), bytes);
        return 1;
    }
    for (int m = 0; m < l->scope; m++) {
        memcpy(l->table + (size_t)m * actions, values_at(l, l->first + m, task, j, p), bytes);
    }
    return l->scope;
}

// Sets a' of policy k in some of the samples of a row.
static void set_next_action(fgsf_learner *l, int k, int row, int first_sample, int last_sample,
                            int a) {
    int head = fgsf_agent_head_of(l->agent, k) * l->agent->shape.actions;
    for (int p = first_sample; p < last_sample; p++) {
        l->update.a_next[row * l->samples + p] = head + a;
    }
}

// Gives the loss of the row at `place` to every maximising (policy, action) in equal parts: a row per
// distinct action, weighted by its share. Returns the end of the rows in use.
static int spread_ties(fgsf_learner *l, int k, int place, int policies, int end) {
    int actions = l->agent->shape.actions, n = l->samples, from = place;
    int count = fgsf_gpi_maximisers(l->table, policies, actions, policies * actions, l->ties);
    float weight = l->update.weight[from];
    for (int a = 0; a < actions; a++) {
        int share = 0;
        for (int t = 0; t < count; t++) {
            share += l->ties[t].action == a;
        }
        if (share == 0) {
            continue;
        }
        if (place != from) {
            fgsf_learner_copy_pair(l, &l->update, from, &l->update, place);
        }
        l->update.weight[place] = weight * ((float)share / (float)count);
        set_next_action(l, k, place, 0, n, a);
        end = place == from ? end : end + 1;
        place = end;
    }
    return end;
}

// Chooses a' for every sample of every pair; returns the number of rows, ties included. Where every
// sample has its own a', hull takes the first maximiser, which is in the hull.
static int choose_next_actions(fgsf_learner *l, int k, int count) {
    enum fgsf_tie tie = l->params.agent.tie;
    int n = l->samples, end = l->used + count;
    bool common = acts_at_mean(l) || next_action_rule(l, k) == FGSF_NEXT_OWN_MEAN || n == 1;
    for (int j = 0; j < count; j++) {
        for (int p = 0; p < (common ? 1 : n); p++) {
            int policies = next_values(l, k, j, p);
            if (tie == FGSF_TIE_HULL && common) {
                end = spread_ties(l, k, l->used + j, policies, end);
                continue;
            }
            int a =
                fgsf_gpi_choose(l->table, policies, l->agent->shape.actions, tie, &l->replay_rng)
                    .action;
            set_next_action(l, k, l->used + j, p, common ? n : p + 1, a);
        }
    }
    return end - l->used;
}

fgsf_status fgsf_learner_choose_actions(fgsf_learner *l, int k, int count, int *rows) {
    bool all = next_action_rule(l, k) == FGSF_NEXT_GPI && !acts_at_mean(l);
    bool whole = count == l->pairs, together = l->together && !l->agent->shared;
    int stale = 0, from = 0; // policies, as one stretch where they are evaluated together
    fgsf_status status = FGSF_OK;
    for (int m = l->first; m < l->first + l->scope && status == FGSF_OK; m++) {
        bool used = l->agent->shared ? m == l->first : all || m == k; // one network, or one each
        if (!used || is_fresh(l, m)) continue;
        from = stale == 0 ? m : from;
        stale = m + 1 - from;
        if (!together) status = refresh(l, m, 1, whole);
    }
    if (together && stale > 0) status = refresh(l, from, stale, whole);
    if (status == FGSF_OK) {
        *rows = choose_next_actions(l, k, count);
    }
    return status;
}
