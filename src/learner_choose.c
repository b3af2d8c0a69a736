// The choices of a learning step: the prior c of every pair by GPI, and the next actions a'.
//
// q[k] holds Q of policy k at the batch's next states; it stays valid until network k changes, so only
// what has changed is evaluated again, and only for the rows that need it.
#include <string.h>

#include "learner.h"

static int num_rho(const fgsf_learner *l, int k) {
    return l->all_rho ? l->scope : k == l->policy ? 1 : 2;
}

// Which of policy k's scoring vectors belongs to `task`.
static int rho_slot(const fgsf_learner *l, int task) {
    return l->all_rho ? task - l->first : task == l->task ? 0 : 1;
}

static void collect_rho(fgsf_learner *l, int k) {
    size_t size = (size_t)l->agent->shape.features;
    if (l->all_rho) {
        memcpy(l->rho, fgsf_agent_rho(l->agent, l->first), (size_t)l->scope * size * sizeof(float));
        return;
    }
    memcpy(l->rho, fgsf_agent_rho(l->agent, l->task), size * sizeof(float));
    if (k != l->policy) {
        memcpy(l->rho + size, fgsf_agent_rho(l->agent, k), size * sizeof(float));
    }
}

// The network that values next actions: the online one, or for plain DQN with a target network the
// target (with dqn.double, chosen online and valued by the target).
static const fgsf_network *chooser(const fgsf_learner *l, int k) {
    const fgsf_config *cfg = &l->agent->cfg;
    bool by_target = fgsf_config_is_dqn(cfg) && !cfg->dqn.double_q && l->students[k].target;
    return by_target ? l->students[k].target : l->agent->nets[k];
}

static fgsf_status evaluate(fgsf_learner *l, int k, const fgsf_batch_arrays *batch, float *q) {
    collect_rho(l, k);
    l->flops += fgsf_gpe_flops(l->agent->gpe, num_rho(l, k), batch->num_states);
    return fgsf_gpe_run(l->agent->gpe, chooser(l, k), l->rho, num_rho(l, k), batch->states,
                        batch->num_states, q);
}

fgsf_status fgsf_learner_evaluate(fgsf_learner *l) {
    fgsf_status status = FGSF_OK;
    for (int k = l->first; k < l->first + l->scope && status == FGSF_OK; k++) {
        status = evaluate(l, k, &l->batch, l->q[k]);
        l->q_version[k] = fgsf_network_version(chooser(l, k));
    }
    return status;
}

// Evaluates under the active task's reward where the prior is chosen at other states than s'.
static fgsf_status evaluate_select(fgsf_learner *l, const float *states) {
    fgsf_status status = FGSF_OK;
    for (int k = l->first; k < l->first + l->scope && status == FGSF_OK; k++) {
        l->flops += fgsf_gpe_flops(l->agent->gpe, 1, l->pairs);
        status = fgsf_gpe_run(l->agent->gpe, chooser(l, k), fgsf_agent_rho(l->agent, l->task), 1,
                              states, l->pairs, l->select_q[k]);
    }
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
        const float *values = q + (batch->row[pair * l->samples + p] * rhos + slot) * actions;
        for (int a = 0; a < actions; a++) {
            mean[a] += values[a] / (float)present;
        }
    }
}

// --- priors -------------------------------------------------------------------------------------

// One next action for all samples of a pair: that of the prior at the mean next state.
static bool acts_at_mean(const fgsf_learner *l) {
    return l->averaging && l->agent->cfg.avg.next_action == FGSF_AVG_POLICY_C_AT_MEAN;
}

// The prior is chosen at the mean encoded next state in the listing of Algorithm 3 and in the authors'
// ablation, whose pivot is the current transition; else from the mean of the successor vectors.
static bool prior_at_mean(const fgsf_learner *l) {
    bool current = l->agent->cfg.avg.pivot_source == FGSF_PIVOT_CURRENT;
    return l->averaging && (acts_at_mean(l) || current);
}

// The mean encoded next state of every pair.
static const float *mean_next_states(fgsf_learner *l) {
    size_t input = (size_t)l->agent->shape.input;
    memset(l->select, 0, (size_t)l->pairs * input * sizeof(float));
    for (int b = 0; b < l->pairs; b++) {
        int present = l->batch.present[b];
        for (int p = 0; p < present; p++) {
            const float *s = l->batch.s_next + (size_t)(b * l->samples + p) * input;
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
            memcpy(values, l->select_q[k] + b * actions, (size_t)actions * sizeof(float));
        } else {
            mean_values(l, &l->batch, l->q[k], k, l->task, b, values);
        }
    }
}

// c for every pair: argmax_k max_a of the values under the active task.
fgsf_status fgsf_learner_choose_priors(fgsf_learner *l, fgsf_learned *out) {
    const fgsf_config *cfg = &l->agent->cfg;
    bool is_dqn = fgsf_config_is_dqn(cfg);
    bool at_s = !is_dqn && cfg->sf.prior_select == FGSF_PRIOR_CURRENT_STATE;
    bool at_mean = !at_s && prior_at_mean(l);
    fgsf_status status = FGSF_OK;
    if (at_s || at_mean) {
        status = evaluate_select(l, at_s ? l->batch.s : mean_next_states(l));
    }
    for (int b = 0; b < l->pairs && status == FGSF_OK; b++) {
        prior_values(l, b, at_s || at_mean);
        fgsf_choice choice = fgsf_gpi_choose(l->table, l->scope, l->agent->shape.actions,
                                             (enum fgsf_tie)cfg->gpi.tie, l->rng);
        l->prior[b] = l->first + choice.policy;
        out->foreign += l->prior[b] != l->policy;
    }
    out->pairs += l->pairs;
    if (status == FGSF_OK && at_s && acts_at_mean(l)) { // what the next actions are chosen from
        status = evaluate_select(l, mean_next_states(l));
    }
    return status;
}

// --- next actions --------------------------------------------------------------------------------

// Brings the values that the choice of a' needs up to date for the rows of this update.
static fgsf_status refresh(fgsf_learner *l, int k, bool whole, int count) {
    if (l->q_version[k] == fgsf_network_version(chooser(l, k))) {
        return FGSF_OK;
    }
    if (!whole) {
        fgsf_learner_collect_states(l, &l->part, count);
        return evaluate(l, k, &l->part, l->part_q[k]);
    }
    l->q_version[k] = fgsf_network_version(chooser(l, k));
    return evaluate(l, k, &l->batch, l->q[k]);
}

// Values of policy k under `task` at sample p of the j-th row of this update.
static const float *values_at(const fgsf_learner *l, int k, int task, int j, int p) {
    bool fresh = l->q_version[k] == fgsf_network_version(chooser(l, k));
    const float *q = fresh ? l->q[k] : l->part_q[k];
    int row = fresh ? l->batch.row[l->rows[j] * l->samples + p] : l->part.row[j * l->samples + p];
    return q + (row * num_rho(l, k) + rho_slot(l, task)) * l->agent->shape.actions;
}

static enum fgsf_next_action next_action_rule(const fgsf_learner *l, int k) {
    const fgsf_config *cfg = &l->agent->cfg;
    if (l->averaging && cfg->avg.next_action == FGSF_AVG_OWN_MEAN) {
        return FGSF_NEXT_OWN_MEAN;
    }
    return (enum fgsf_next_action)(k == l->policy ? cfg->sf.next_action_current
                                                  : cfg->sf.next_action_prior);
}

// Collects what a' is the argmax of, for sample p of row j in the update of policy k, in l->table and
// returns the number of policies there.
static int next_values(fgsf_learner *l, int k, int j, int p) {
    size_t actions = (size_t)l->agent->shape.actions, bytes = actions * sizeof(float);
    if (acts_at_mean(l)) { // the prior's own; with hull ties, of all that are as good there
        const fgsf_config *cfg = &l->agent->cfg;
        bool hull = cfg->gpi.tie == FGSF_TIE_HULL && cfg->sf.prior_select == FGSF_PRIOR_NEXT_STATE;
        int first = hull ? l->first : l->prior[l->rows[j]], count = hull ? l->scope : 1;
        for (int m = 0; m < count; m++) {
            const float *values = l->select_q[first + m] + (size_t)l->rows[j] * actions;
            memcpy(l->table + (size_t)m * actions, values, bytes);
        }
        return count;
    }
    enum fgsf_next_action rule = next_action_rule(l, k);
    if (rule == FGSF_NEXT_OWN_MEAN) {
        bool fresh = l->q_version[k] == fgsf_network_version(chooser(l, k));
        mean_values(l, fresh ? &l->batch : &l->part, fresh ? l->q[k] : l->part_q[k], k, l->task,
                    fresh ? l->rows[j] : j, l->table);
        return 1;
    }
    int task = fgsf_config_is_dqn(&l->agent->cfg) || k == l->policy ? l->task : k;
    if (rule == FGSF_NEXT_OWN) {
        memcpy(l->table, values_at(l, k, task, j, p), bytes);
        return 1;
    }
    for (int m = 0; m < l->scope; m++) {
        memcpy(l->table + (size_t)m * actions, values_at(l, l->first + m, task, j, p), bytes);
    }
    return l->scope;
}

static void set_next_action(fgsf_learner *l, int row, int first_sample, int last_sample, int a) {
    for (int p = first_sample; p < last_sample; p++) {
        l->part.a_next[row * l->samples + p] = a;
    }
}

// Gives row j's loss to every maximising (policy, action) in equal parts: a row per distinct action,
// weighted by its share. Returns the rows in use.
static int spread_ties(fgsf_learner *l, int j, int policies, int used) {
    int actions = l->agent->shape.actions, n = l->samples, place = j;
    int count = fgsf_gpi_maximisers(l->table, policies, actions, policies * actions, l->ties);
    for (int a = 0; a < actions; a++) {
        int share = 0;
        for (int t = 0; t < count; t++) {
            share += l->ties[t].action == a;
        }
        if (share == 0) {
            continue;
        }
        if (place != j) {
            fgsf_learner_copy_pair(l, &l->part, j, &l->part, place);
        }
        l->part.weight[place] = (float)share / (float)count;
        set_next_action(l, place, 0, n, a);
        used = place == j ? used : used + 1;
        place = used;
    }
    return used;
}

// Chooses a' for every sample of every row; returns the number of rows, ties included. Where every
// sample has its own a', hull takes the first maximiser, which is in the hull.
static int choose_next_actions(fgsf_learner *l, int k, int count) {
    enum fgsf_tie tie = (enum fgsf_tie)l->agent->cfg.gpi.tie;
    int n = l->samples, used = count;
    bool common = acts_at_mean(l) || next_action_rule(l, k) == FGSF_NEXT_OWN_MEAN || n == 1;
    for (int j = 0; j < count; j++) {
        for (int p = 0; p < (common ? 1 : n); p++) {
            int policies = next_values(l, k, j, p);
            if (tie == FGSF_TIE_HULL && common) {
                used = spread_ties(l, j, policies, used);
                continue;
            }
            int a =
                fgsf_gpi_choose(l->table, policies, l->agent->shape.actions, tie, l->rng).action;
            set_next_action(l, j, p, common ? n : p + 1, a);
        }
    }
    return used;
}

fgsf_status fgsf_learner_choose_actions(fgsf_learner *l, int k, int count, int *rows) {
    bool all = next_action_rule(l, k) == FGSF_NEXT_GPI && !acts_at_mean(l);
    fgsf_status status = FGSF_OK;
    for (int m = l->first; m < l->first + l->scope && status == FGSF_OK; m++) {
        if (all || m == k) {
            status = refresh(l, m, count == l->pairs, count);
        }
    }
    if (status == FGSF_OK) {
        *rows = choose_next_actions(l, k, count);
    }
    return status;
}
