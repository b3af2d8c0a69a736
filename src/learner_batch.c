// The batch of a learning step: pairs (s, a) from the replay and what followed them.
#include <string.h>

#include "learner.h"
#include "program.h"

#define PREFETCH 8 // pairs ahead

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

// Copies the pivot's (s, a) and what followed it: `present` transitions with the same key.
static void gather(fgsf_learner *l, int pair, int64_t slot, const int64_t *matches, int present) {
    const fgsf_agent *agent = l->agent;
    fgsf_batch_arrays *b = &l->batch;
    size_t input = (size_t)agent->shape.input, features = (size_t)agent->shape.features;
    fgsf_transition pivot = fgsf_replay_at(l->replay, slot);
    int seen_as = agent->cfg.dqn.relabel ? l->task : pivot.task;
    fgsf_agent_input(agent, seen_as, pivot.s, b->s + (size_t)pair * input);
    b->a[pair] = pivot.action;
    b->present[pair] = present;
    for (int p = 0; p < l->samples; p++) {
        size_t row = (size_t)(pair * l->samples + p);
        // Missing samples repeat the first one; the Bellman graph gives them no weight.
        fgsf_transition t = fgsf_replay_at(l->replay, matches[p < present ? p : 0]);
        write_target(l, &t, b->y + row * features);
        fgsf_agent_input(agent, seen_as, t.s_next, b->s_next + row * input);
        b->discount[row] = t.discount;
    }
}

// Finds up to n transitions with the pivot's (s, a); returns how many, or 0 where the pivot cannot
// be learned from: fewer than n with avg.shortfall=skip, or one alone with avg.estimator=split.
static int find_samples(fgsf_learner *l, int64_t pivot) {
    const fgsf_config *cfg = &l->agent->cfg;
    bool replace = cfg->avg.shortfall == FGSF_SHORTFALL_REPLACE;
    int n = l->samples, least = cfg->avg.estimator == FGSF_SPLIT ? 2 : 1;
    if (cfg->avg.shortfall == FGSF_SHORTFALL_SKIP) {
        least = n;
    }
    int found = fgsf_replay_matching(l->replay, l->rng, pivot, n, replace, l->matches);
    return found < least ? 0 : found;
}

// Samples the pairs to learn from; l->pairs may be none. Pivots without enough samples are left out,
// so that means are over what is learned from and no policy takes a step on nothing.
void fgsf_learner_sample(fgsf_learner *l) {
    if (l->averaging && l->agent->cfg.avg.pivot_source == FGSF_PIVOT_CURRENT) {
        l->slots[0] = fgsf_replay_last(l->replay);
    } else {
        fgsf_replay_sample(l->replay, l->rng, l->max_pairs, l->slots);
    }
    l->pairs = 0;
    for (int b = 0; b < l->max_pairs; b++) {
        if (b + PREFETCH < l->max_pairs) {
            fgsf_replay_prefetch(l->replay, l->slots[b + PREFETCH]);
        }
        int present = l->averaging ? find_samples(l, l->slots[b]) : 1;
        if (present > 0) {
            gather(l, l->pairs++, l->slots[b], l->averaging ? l->matches : &l->slots[b], present);
        }
    }
    fgsf_learner_collect_states(l, &l->batch, l->pairs);
}

void fgsf_learner_collect_states(const fgsf_learner *l, fgsf_batch_arrays *b, int pairs) {
    b->num_states = fgsf_distinct_rows(b->s_next, pairs * l->samples, l->samples,
                                       (size_t)l->agent->shape.input, b->states, b->row);
}

void fgsf_learner_copy_pair(const fgsf_learner *l, const fgsf_batch_arrays *from, int b,
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
