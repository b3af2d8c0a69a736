// One learning step: batch -> priors by GPI -> next actions -> Bellman graph -> optimiser.
//
// Names follow the paper: i is the active task's policy, c the prior that GPI picks, a' the next
// action. q[k] holds Q of policy k at the batch's next states; it stays valid until network k
// changes, so only what has changed is evaluated again, and only for the rows that need it.
#include "learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIES 64

static int batch_pairs(const fgsf_config *cfg) {
    bool averaging = cfg->avg.n > 1;
    if (averaging && cfg->avg.pivot_source == FGSF_PIVOT_CURRENT) {
        return 1;
    }
    return (int)(averaging && cfg->avg.pivots > 0 ? cfg->avg.pivots : cfg->train.batch_size);
}

int fgsf_learner_max_rows(const fgsf_config *cfg) {
    int rows = batch_pairs(cfg) * (int)(cfg->avg.n > 1 ? cfg->avg.n : 1);
    return rows > cfg->diag.residual_batch ? rows : (int)cfg->diag.residual_batch;
}

// --- memory -------------------------------------------------------------------------------------

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
    return b->s && b->a && b->y && b->s_next && b->a_next && b->discount && b->weight && b->present;
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
    size_t pairs = (size_t)l->max_pairs, samples = (size_t)l->samples, rows = pairs * samples;
    size_t policies = (size_t)agent->num_policies, actions = (size_t)shape->actions;
    size_t rhos = l->all_rho ? policies : 2;
    bool hull = agent->cfg.gpi.tie == FGSF_TIE_HULL;
    l->slots = calloc(rows, sizeof *l->slots);
    l->select = calloc(pairs * (size_t)shape->input, sizeof(float));
    l->rho = calloc(rhos * (size_t)shape->features, sizeof(float));
    l->q = calloc(policies, sizeof *l->q);
    l->part_q = calloc(policies, sizeof *l->part_q);
    l->select_q = calloc(policies, sizeof *l->select_q);
    l->q_version = calloc(policies, sizeof *l->q_version);
    l->table = calloc(policies * actions, sizeof(float));
    l->prior = calloc(pairs, sizeof *l->prior);
    l->rows = calloc(pairs, sizeof *l->rows);
    return l->slots && l->select && l->rho && l->q_version && l->table && l->prior && l->rows &&
           allocate_batch(&l->batch, pairs, samples, (size_t)shape->input,
                          (size_t)shape->features) &&
           allocate_batch(&l->part, hull ? 2 * pairs : pairs, samples, (size_t)shape->input,
                          (size_t)shape->features) &&
           allocate_tables(l->q, agent->num_policies, rows * rhos * actions) &&
           allocate_tables(l->part_q, agent->num_policies, rows * rhos * actions) &&
           allocate_tables(l->select_q, agent->num_policies, pairs * actions);
}

static fgsf_status create_bellman(fgsf_learner *l) {
    const fgsf_config *cfg = &l->agent->cfg;
    fgsf_bellman_params params = {
        .shape = l->agent->shape,
        .max_pairs = cfg->gpi.tie == FGSF_TIE_HULL ? 2 * l->max_pairs : l->max_pairs,
        .samples = l->samples,
        .grad_mix = cfg->sf.grad_mix,
        .estimator = l->averaging ? (enum fgsf_estimator)cfg->avg.estimator : FGSF_SHARED,
        .split = l->samples / 2,
        .target_network = cfg->sf.target_mode != FGSF_TARGET_NONE,
        .loss_scale = (enum fgsf_loss_scale)cfg->sf.loss_scale,
    };
    return fgsf_bellman_create(l->agent->device, &params, &l->bellman);
}

fgsf_status fgsf_learner_create(fgsf_agent *agent, fgsf_replay *replay, fgsf_student *students,
                                fgsf_reward **rewards, fgsf_rng *rng, fgsf_learner **out) {
    fgsf_learner *l = calloc(1, sizeof *l);
    if (!l) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a learner");
    }
    const fgsf_config *cfg = &agent->cfg;
    l->agent = agent;
    l->replay = replay;
    l->students = students;
    l->rewards = rewards;
    l->rng = rng;
    l->averaging = cfg->avg.n > 1;
    l->samples = l->averaging ? (int)cfg->avg.n : 1;
    l->max_pairs = batch_pairs(cfg);
    // GPI under the priors' own rewards needs every policy under every reward.
    l->all_rho = !fgsf_config_is_dqn(cfg) && cfg->sf.update_set != FGSF_UPDATE_I_ONLY &&
                 cfg->sf.next_action_prior == FGSF_NEXT_GPI;
    fgsf_status status =
        allocate(l) ? create_bellman(l)
                    : fgsf_fail(FGSF_ERR_MEMORY, "no memory for batches of %d pairs", l->max_pairs);
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
    fgsf_bellman_free(l->bellman);
    free_batch(&l->batch);
    free_batch(&l->part);
    free_tables(l->q, l->agent->num_policies);
    free_tables(l->part_q, l->agent->num_policies);
    free_tables(l->select_q, l->agent->num_policies);
    free(l->slots);
    free(l->select);
    free(l->rho);
    free(l->q_version);
    free(l->table);
    free(l->prior);
    free(l->rows);
    free(l);
}

// --- the batch ----------------------------------------------------------------------------------

// y of a transition: phi for psi, the one-hot of its event for xi, the reward for DQN.
static void write_target(const fgsf_learner *l, const fgsf_transition *t, float *y) {
    const fgsf_agent *agent = l->agent;
    int d = agent->spec.num_features;
    if (agent->set) {
        memset(y, 0, (size_t)agent->shape.features * sizeof(float));
        y[t->event] = 1.0f;
    } else if (!fgsf_config_is_dqn(&agent->cfg)) {
        memcpy(y, t->phi, (size_t)d * sizeof(float));
    } else if (agent->cfg.dqn.relabel) { // what the active task would have paid
        const float *w = agent->task_weights + l->task * d;
        y[0] = 0.0f;
        for (int k = 0; k < d; k++) {
            y[0] += w[k] * t->phi[k];
        }
    } else {
        y[0] = t->reward;
    }
}

// Copies one pair and its next-state samples, all from transitions with the same (s, a).
static void gather(fgsf_learner *l, int pair, const int64_t *slots, int present) {
    const fgsf_agent *agent = l->agent;
    fgsf_batch_arrays *b = &l->batch;
    size_t input = (size_t)agent->shape.input, features = (size_t)agent->shape.features;
    fgsf_transition pivot = fgsf_replay_at(l->replay, slots[0]);
    int seen_as = agent->cfg.dqn.relabel ? l->task : pivot.task;
    fgsf_agent_input(agent, seen_as, pivot.s, b->s + (size_t)pair * input);
    b->a[pair] = pivot.action;
    b->present[pair] = present;
    for (int p = 0; p < l->samples; p++) {
        size_t row = (size_t)(pair * l->samples + p);
        // Missing samples repeat the first one; the Bellman graph gives them no weight.
        fgsf_transition t = fgsf_replay_at(l->replay, slots[p < present ? p : 0]);
        write_target(l, &t, b->y + row * features);
        fgsf_agent_input(agent, seen_as, t.s_next, b->s_next + row * input);
        b->discount[row] = t.discount;
    }
}

// Finds up to n transitions with the pivot's (s, a); returns how many count.
static int find_samples(fgsf_learner *l, int64_t pivot, int64_t *slots) {
    const fgsf_config *cfg = &l->agent->cfg;
    bool replace = cfg->avg.shortfall == FGSF_SHORTFALL_REPLACE;
    int n = l->samples;
    int found = fgsf_replay_matching(l->replay, l->rng, pivot, n, replace, slots);
    return cfg->avg.shortfall == FGSF_SHORTFALL_SKIP && found < n ? 0 : found;
}

// Samples the batch; returns the number of pairs that can be learned from.
static int sample_batch(fgsf_learner *l) {
    l->pairs = l->max_pairs;
    if (l->averaging && l->agent->cfg.avg.pivot_source == FGSF_PIVOT_CURRENT) {
        l->slots[0] = fgsf_replay_last(l->replay);
    } else {
        fgsf_replay_sample(l->replay, l->rng, l->pairs, l->slots);
    }
    if (!l->averaging) {
        for (int b = 0; b < l->pairs; b++) {
            gather(l, b, &l->slots[b], 1);
        }
        return l->pairs;
    }
    int usable = 0, least = l->agent->cfg.avg.estimator == FGSF_SPLIT ? 2 : 1;
    int64_t matches[1024];
    for (int b = 0; b < l->pairs; b++) {
        matches[0] = l->slots[b];
        int present = find_samples(l, l->slots[b], matches);
        if (present == 0) {
            matches[0] = l->slots[b]; // something valid to stand in the row
        }
        gather(l, b, matches, present);
        usable += present >= least;
    }
    return usable;
}

// --- values -------------------------------------------------------------------------------------

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

static fgsf_status evaluate(fgsf_learner *l, int k, const float *states, int rows, float *q) {
    collect_rho(l, k);
    l->flops += fgsf_gpe_flops(l->agent->gpe, num_rho(l, k), rows);
    return fgsf_gpe_run(l->agent->gpe, chooser(l, k), l->rho, num_rho(l, k), states, rows, q);
}

static fgsf_status evaluate_all(fgsf_learner *l) {
    fgsf_status status = FGSF_OK;
    for (int k = l->first; k < l->first + l->scope && status == FGSF_OK; k++) {
        status = evaluate(l, k, l->batch.s_next, l->pairs * l->samples, l->q[k]);
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

// Adds to `mean` the values of policy k at the samples of one pair, averaged over those present.
static void mean_values(const fgsf_learner *l, const float *q, int k, int task, int pair,
                        int present, float *mean) {
    int actions = l->agent->shape.actions, rhos = num_rho(l, k), slot = rho_slot(l, task);
    memset(mean, 0, (size_t)actions * sizeof(float));
    present = present > 0 ? present : 1;
    for (int p = 0; p < present; p++) {
        const float *row = q + ((pair * l->samples + p) * rhos + slot) * actions;
        for (int a = 0; a < actions; a++) {
            mean[a] += row[a] / (float)present;
        }
    }
}

// --- priors -------------------------------------------------------------------------------------

static bool at_mean_state(const fgsf_learner *l) {
    return l->averaging && l->agent->cfg.avg.next_action == FGSF_AVG_POLICY_C_AT_MEAN;
}

// The mean encoded next state of every pair, as the listing of Algorithm 3 has it.
static const float *mean_next_states(fgsf_learner *l) {
    size_t input = (size_t)l->agent->shape.input;
    memset(l->select, 0, (size_t)l->pairs * input * sizeof(float));
    for (int b = 0; b < l->pairs; b++) {
        int present = l->batch.present[b] > 0 ? l->batch.present[b] : 1;
        for (int p = 0; p < present; p++) {
            const float *s = l->batch.s_next + (size_t)(b * l->samples + p) * input;
            for (size_t i = 0; i < input; i++) {
                l->select[(size_t)b * input + i] += s[i] / (float)present;
            }
        }
    }
    return l->select;
}

// c for every pair: argmax_k max_a of the values under the active task.
static fgsf_status choose_priors(fgsf_learner *l, fgsf_learned *out) {
    const fgsf_config *cfg = &l->agent->cfg;
    int actions = l->agent->shape.actions;
    bool current = cfg->sf.prior_select == FGSF_PRIOR_CURRENT_STATE;
    bool elsewhere = !fgsf_config_is_dqn(cfg) && (at_mean_state(l) || current);
    if (elsewhere) {
        fgsf_status status =
            evaluate_select(l, at_mean_state(l) ? mean_next_states(l) : l->batch.s);
        if (status != FGSF_OK) {
            return status;
        }
    }
    for (int b = 0; b < l->pairs; b++) {
        for (int k = 0; k < l->scope; k++) {
            float *values = l->table + k * actions;
            if (elsewhere) {
                memcpy(values, l->select_q[l->first + k] + b * actions,
                       (size_t)actions * sizeof(float));
            } else {
                mean_values(l, l->q[l->first + k], l->first + k, l->task, b, l->batch.present[b],
                            values);
            }
        }
        fgsf_choice choice =
            fgsf_gpi_choose(l->table, l->scope, actions, (enum fgsf_tie)cfg->gpi.tie, l->rng);
        l->prior[b] = l->first + choice.policy;
        out->foreign += l->prior[b] != l->policy;
    }
    out->pairs += l->pairs;
    return FGSF_OK;
}

// --- one update ---------------------------------------------------------------------------------

static void copy_pair(const fgsf_learner *l, const fgsf_batch_arrays *from, int b,
                      fgsf_batch_arrays *to, int j) {
    size_t input = (size_t)l->agent->shape.input, features = (size_t)l->agent->shape.features;
    size_t n = (size_t)l->samples, source = (size_t)b, dest = (size_t)j;
    memcpy(to->s + dest * input, from->s + source * input, input * sizeof(float));
    memcpy(to->y + dest * n * features, from->y + source * n * features,
           n * features * sizeof(float));
    memcpy(to->s_next + dest * n * input, from->s_next + source * n * input,
           n * input * sizeof(float));
    memcpy(to->discount + dest * n, from->discount + source * n, n * sizeof(float));
    to->a[j] = from->a[b];
    to->present[j] = from->present[b];
    to->weight[j] = 1.0f;
}

// Brings the values that the choice of a' needs up to date for the rows of this update.
static fgsf_status refresh(fgsf_learner *l, int k, bool whole, int count) {
    if (l->q_version[k] == fgsf_network_version(chooser(l, k))) {
        return FGSF_OK;
    }
    if (!whole) {
        return evaluate(l, k, l->part.s_next, count * l->samples, l->part_q[k]);
    }
    l->q_version[k] = fgsf_network_version(chooser(l, k));
    return evaluate(l, k, l->batch.s_next, count * l->samples, l->q[k]);
}

// Values of policy k under `task` at sample p of the j-th row of this update.
static const float *values_at(const fgsf_learner *l, int k, int task, int j, int p) {
    bool fresh = l->q_version[k] == fgsf_network_version(chooser(l, k));
    int pair = fresh ? l->rows[j] : j;
    const float *q = fresh ? l->q[k] : l->part_q[k];
    int row = pair * l->samples + p;
    return q + (row * num_rho(l, k) + rho_slot(l, task)) * l->agent->shape.actions;
}

static int best(const float *values, int n) {
    return fgsf_gpi_choose(values, 1, n, FGSF_TIE_FIRST, NULL).action;
}

// The values of all policies in scope at one row, side by side.
static const float *gpi_table(fgsf_learner *l, int task, int j, int p) {
    size_t actions = (size_t)l->agent->shape.actions;
    for (int k = 0; k < l->scope; k++) {
        memcpy(l->table + (size_t)k * actions, values_at(l, l->first + k, task, j, p),
               actions * sizeof(float));
    }
    return l->table;
}

static enum fgsf_next_action next_action_rule(const fgsf_learner *l, int k) {
    const fgsf_config *cfg = &l->agent->cfg;
    if (l->averaging && cfg->avg.next_action == FGSF_AVG_OWN_MEAN) {
        return FGSF_NEXT_OWN_MEAN;
    }
    return (enum fgsf_next_action)(k == l->policy ? cfg->sf.next_action_current
                                                  : cfg->sf.next_action_prior);
}

// One action for all samples of a pair, from means: of policy k's values under the active task, or of
// the prior's values at the mean next state.
static int mean_action(fgsf_learner *l, int k, int j) {
    int actions = l->agent->shape.actions, b = l->rows[j];
    if (at_mean_state(l)) {
        return best(l->select_q[l->prior[b]] + b * actions, actions);
    }
    bool fresh = l->q_version[k] == fgsf_network_version(chooser(l, k));
    mean_values(l, fresh ? l->q[k] : l->part_q[k], k, l->task, fresh ? b : j, l->part.present[j],
                l->table);
    return best(l->table, actions);
}

// Gives row j one more copy per further maximiser, all with equal weight; returns the rows in use.
static int spread_ties(fgsf_learner *l, int j, const float *table, int used) {
    int actions = l->agent->shape.actions;
    fgsf_choice ties[MAX_TIES];
    int count = fgsf_gpi_maximisers(table, l->scope, actions, MAX_TIES, ties);
    if (count < 2 || used + count - 1 > 2 * l->max_pairs) {
        return used;
    }
    l->part.weight[j] = 1.0f / (float)count;
    for (int t = 1; t < count; t++) {
        copy_pair(l, &l->part, j, &l->part, used);
        l->part.weight[used] = 1.0f / (float)count;
        l->part.a_next[used++] = ties[t].action;
    }
    return used;
}

// Chooses a' for every sample of every row; returns the number of rows, ties included.
static int choose_next_actions(fgsf_learner *l, int k, int count) {
    const fgsf_config *cfg = &l->agent->cfg;
    enum fgsf_next_action rule = next_action_rule(l, k);
    int n = l->samples, actions = l->agent->shape.actions, used = count;
    int task = fgsf_config_is_dqn(cfg) || k == l->policy ? l->task : k;
    for (int j = 0; j < count; j++) {
        bool by_mean = rule == FGSF_NEXT_OWN_MEAN || at_mean_state(l);
        int common = by_mean ? mean_action(l, k, j) : 0;
        for (int p = 0; p < n; p++) {
            int32_t *a_next = &l->part.a_next[j * n + p];
            if (by_mean) {
                *a_next = common;
            } else if (rule == FGSF_NEXT_OWN) {
                *a_next = best(values_at(l, k, task, j, p), actions);
            } else {
                const float *table = gpi_table(l, task, j, p);
                *a_next =
                    fgsf_gpi_choose(table, l->scope, actions, (enum fgsf_tie)cfg->gpi.tie, l->rng)
                        .action;
                if (cfg->gpi.tie == FGSF_TIE_HULL && n == 1) {
                    used = spread_ties(l, j, table, used);
                }
            }
        }
    }
    return used;
}

static void track_target(const fgsf_config *cfg, fgsf_student *student, const fgsf_network *net) {
    int64_t period = fgsf_config_is_dqn(cfg) && cfg->dqn.target_period > 0 ? cfg->dqn.target_period
                                                                           : cfg->sf.target_period;
    student->updates++;
    if (cfg->sf.target_mode == FGSF_TARGET_POLYAK) {
        fgsf_network_track(student->target, net, (float)cfg->sf.polyak);
    } else if (cfg->sf.target_mode == FGSF_TARGET_HARD && student->updates % period == 0) {
        fgsf_network_track(student->target, net, 1.0f);
    }
}

static double learning_rate(const fgsf_learner *l, int k) {
    const fgsf_config *cfg = &l->agent->cfg;
    if (fgsf_config_is_dqn(cfg)) {
        return cfg->dqn.lr;
    }
    return k == l->policy ? cfg->sf.lr : cfg->sf.lr_prior;
}

// The gradient step proper: loss and gradient from the graph, then the optimiser.
static fgsf_status descend(fgsf_learner *l, int k, int rows, double denominator,
                           fgsf_learned *out) {
    const fgsf_config *cfg = &l->agent->cfg;
    const fgsf_batch_arrays *part = &l->part;
    fgsf_batch batch = {.pairs = rows,
                        .s = part->s,
                        .a = part->a,
                        .y = part->y,
                        .s_next = part->s_next,
                        .a_next = part->a_next,
                        .discount = part->discount,
                        .weight = part->weight,
                        .present = part->present,
                        .denominator = denominator};
    fgsf_student *student = &l->students[k];
    fgsf_network *net = l->agent->nets[k];
    double loss = 0.0, norm = 0.0;
    fgsf_status status = fgsf_bellman_run(l->bellman, &batch, net, student->target, &loss);
    l->flops += fgsf_bellman_flops(l->bellman, rows);
    if (status == FGSF_OK && !(fabs(loss) <= cfg->train.divergence_limit)) {
        status =
            fgsf_fail(FGSF_DIVERGED, "the loss of policy %d is %g, above train.divergence_limit %g",
                      k, loss, cfg->train.divergence_limit);
    }
    if (status == FGSF_OK) {
        status = fgsf_optimizer_step(student->opt, net, fgsf_bellman_gradient(l->bellman),
                                     learning_rate(l, k), &norm);
    }
    if (status != FGSF_OK) {
        return status;
    }
    track_target(cfg, student, net);
    out->updates++;
    if (k == l->policy) {
        out->task_updates++;
        out->loss += loss;
        out->grad_norm += norm;
    }
    return FGSF_OK;
}

// Updates policy k on the pairs listed in l->rows.
static fgsf_status update_policy(fgsf_learner *l, int k, int count, double denominator,
                                 fgsf_learned *out) {
    if (learning_rate(l, k) == 0.0) {
        return FGSF_OK;
    }
    bool whole = count == l->pairs;
    for (int j = 0; j < count; j++) {
        copy_pair(l, &l->batch, l->rows[j], &l->part, j);
    }
    bool all = next_action_rule(l, k) == FGSF_NEXT_GPI && !at_mean_state(l);
    fgsf_status status = FGSF_OK;
    for (int m = l->first; m < l->first + l->scope && status == FGSF_OK; m++) {
        if (all || m == k) {
            status = refresh(l, m, whole, count);
        }
    }
    if (status != FGSF_OK) {
        return status;
    }
    return descend(l, k, choose_next_actions(l, k, count), denominator, out);
}

// --- which policies are updated -----------------------------------------------------------------

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

// Policy i on the whole batch, then every prior c on the pairs where it is best, all divided by B.
static fgsf_status update_i_and_c(fgsf_learner *l, fgsf_learned *out) {
    bool priors = l->agent->cfg.sf.update_set == FGSF_UPDATE_I_AND_C;
    fgsf_status status = update_policy(l, l->policy, list_rows(l, -1), l->pairs, out);
    for (int b = 0, c; priors && status == FGSF_OK && (c = next_prior(l, &b)) >= 0;) {
        if (c != l->policy) {
            status = update_policy(l, c, list_rows(l, c), l->pairs, out);
        }
    }
    return status;
}

// As the authors' code: one step per prior group for i and for c, lower index first, each divided by
// the size of its group.
static fgsf_status update_groups(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = FGSF_OK;
    for (int b = 0, c; status == FGSF_OK && (c = next_prior(l, &b)) >= 0;) {
        int count = list_rows(l, c);
        int order[2] = {c < l->policy ? c : l->policy, c < l->policy ? l->policy : c};
        for (int u = c == l->policy ? 1 : 0; u < 2 && status == FGSF_OK; u++) {
            status = update_policy(l, order[u], count, count, out);
        }
    }
    return status;
}

// Every policy in scope on the whole batch.
static fgsf_status update_all(fgsf_learner *l, fgsf_learned *out) {
    fgsf_status status = FGSF_OK;
    for (int k = l->first; k < l->first + l->scope && status == FGSF_OK; k++) {
        status = update_policy(l, k, list_rows(l, -1), l->pairs, out);
    }
    return status;
}

fgsf_status fgsf_learner_step(fgsf_learner *l, int task, fgsf_learned *out) {
    const fgsf_config *cfg = &l->agent->cfg;
    bool is_dqn = fgsf_config_is_dqn(cfg);
    l->task = task;
    l->policy = fgsf_agent_policy_of(l->agent, task);
    l->scope = fgsf_agent_scope(l->agent, task, &l->first);
    if (sample_batch(l) == 0) {
        out->skipped = true;
        return FGSF_OK;
    }
    fgsf_status status = evaluate_all(l);
    if (status == FGSF_OK) {
        status = choose_priors(l, out);
    }
    if (status != FGSF_OK) {
        return status;
    }
    if (!is_dqn && cfg->sf.update_set == FGSF_UPDATE_ALL) {
        return update_all(l, out);
    }
    return !is_dqn && cfg->sf.group_by_prior ? update_groups(l, out) : update_i_and_c(l, out);
}
