// One learning step: batch -> priors by GPI -> next actions -> Bellman graph -> optimiser.
//
// Names follow the paper: i is the active task's policy, c the prior that GPI picks, a' the next
// action. The batch is in learner_batch.c, the choices of c and a' are in learner_choose.c.
#include "learner.h"

#include <math.h>
#include <stdlib.h>

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
    b->states = calloc(pairs * samples * input, sizeof(float));
    b->row = calloc(pairs * samples, sizeof(int32_t));
    return b->s && b->a && b->y && b->s_next && b->a_next && b->discount && b->weight &&
           b->present && b->states && b->row;
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

// With hull ties a pair takes one row per maximising action.
static int max_rows_of_update(const fgsf_learner *l) {
    bool hull = l->agent->cfg.gpi.tie == FGSF_TIE_HULL;
    return hull ? l->max_pairs * l->agent->shape.actions : l->max_pairs;
}

static bool allocate(fgsf_learner *l) {
    const fgsf_agent *agent = l->agent;
    const fgsf_network_shape *shape = &agent->shape;
    size_t pairs = (size_t)l->max_pairs, samples = (size_t)l->samples, rows = pairs * samples;
    size_t policies = (size_t)agent->num_policies, actions = (size_t)shape->actions;
    size_t rhos = l->all_rho ? policies : 2;
    size_t part = (size_t)max_rows_of_update(l);
    l->slots = calloc(pairs, sizeof *l->slots);
    l->matches = calloc(samples, sizeof *l->matches);
    l->ties = calloc(policies * actions, sizeof *l->ties);
    l->select = calloc(pairs * (size_t)shape->input, sizeof(float));
    l->rho = calloc(rhos * (size_t)shape->features, sizeof(float));
    l->q = calloc(policies, sizeof *l->q);
    l->part_q = calloc(policies, sizeof *l->part_q);
    l->select_q = calloc(policies, sizeof *l->select_q);
    l->q_version = calloc(policies, sizeof *l->q_version);
    l->table = calloc(policies * actions, sizeof(float));
    l->prior = calloc(pairs, sizeof *l->prior);
    l->rows = calloc(pairs, sizeof *l->rows);
    return l->slots && l->matches && l->ties && l->select && l->rho && l->q_version && l->table &&
           l->prior && l->rows &&
           allocate_batch(&l->batch, pairs, samples, (size_t)shape->input,
                          (size_t)shape->features) &&
           allocate_batch(&l->part, part, samples, (size_t)shape->input, (size_t)shape->features) &&
           allocate_tables(l->q, agent->num_policies, rows * rhos * actions) &&
           allocate_tables(l->part_q, agent->num_policies, rows * rhos * actions) &&
           allocate_tables(l->select_q, agent->num_policies, pairs * actions);
}

static fgsf_status create_bellman(fgsf_learner *l) {
    const fgsf_config *cfg = &l->agent->cfg;
    fgsf_bellman_params params = {
        .shape = l->agent->shape,
        .max_pairs = max_rows_of_update(l),
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
                                fgsf_rng *rng, fgsf_learner **out) {
    fgsf_learner *l = calloc(1, sizeof *l);
    if (!l) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a learner");
    }
    const fgsf_config *cfg = &agent->cfg;
    l->agent = agent;
    l->replay = replay;
    l->students = students;
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
    free(l->matches);
    free(l->ties);
    free(l->select);
    free(l->rho);
    free(l->q_version);
    free(l->table);
    free(l->prior);
    free(l->rows);
    free(l);
}

// --- one update --------------------------------------------------------------------------------

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
    if (status == FGSF_OK) {
        l->flops += fgsf_bellman_flops(l->bellman);
    }
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
    for (int j = 0; j < count; j++) {
        fgsf_learner_copy_pair(l, &l->batch, l->rows[j], &l->part, j);
    }
    int rows = 0;
    fgsf_status status = fgsf_learner_choose_actions(l, k, count, &rows);
    return status == FGSF_OK ? descend(l, k, rows, denominator, out) : status;
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
    fgsf_learner_sample(l);
    if (l->pairs == 0) {
        out->skipped = true;
        return FGSF_OK;
    }
    fgsf_status status = fgsf_learner_evaluate(l);
    if (status == FGSF_OK) {
        status = fgsf_learner_choose_priors(l, out);
    }
    if (status != FGSF_OK) {
        return status;
    }
    if (!is_dqn && cfg->sf.update_set == FGSF_UPDATE_ALL) {
        return update_all(l, out);
    }
    return !is_dqn && cfg->sf.group_by_prior ? update_groups(l, out) : update_i_and_c(l, out);
}
