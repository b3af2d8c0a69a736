// The batch of a learning step: pairs (s, a) from the replay and what followed them.
#include <string.h>

#include "learning.h"
#include "program.h"

#define PREFETCH 8 // pairs ahead

void fgsf_learner_target(const fgsf_learner *l, const fgsf_transition *t, float *y) {
    const fgsf_agent *agent = l->agent;
    int d = agent->params.num_features;
    switch (agent->params.representation) {
    case FGSF_XI:
        memset(y, 0, (size_t)agent->shape.features * sizeof(float));
        y[t->event] = 1.0f;
        break;
    case FGSF_PSI:
        memcpy(y, t->phi, (size_t)d * sizeof(float));
        break;
    case FGSF_Q:
        y[0] = l->params.relabel ? 0.0f : t->reward;
        for (int k = 0; k < d && l->params.relabel; k++) { // what the task would have paid
            y[0] += agent->task_weights[l->task * d + k] * t->phi[k];
        }
    }
}

static bool draws_fresh(const fgsf_learner *l) {
    return l->averaging && l->params.avg.source == FGSF_SAMPLES_FRESH;
}

// Draws a fresh outcome of the pivot's (s, a).
static fgsf_status draw(fgsf_learner *l, const fgsf_transition *pivot, fgsf_transition *out) {
    fgsf_experience e = {.s = pivot->s, .action = pivot->action, .task = pivot->task};
    FGSF_TRY(l->params.avg.draw(l->params.avg.context, &l->replay_rng, &e));
    *out = (fgsf_transition){.s_next = e.s_next,
                             .phi = e.phi,
                             .reward = (float)e.reward,
                             .discount = e.terminal ? 0.0f : (float)l->params.gamma};
    if (l->agent->set) out->event = fgsf_feature_set_nearest(l->agent->set, e.phi);
    return FGSF_OK;
}

// Finds the next state that was written behind the others among those of its pair, which begin at
// `first`, or keeps it; returns where it stands.
static int place_next(fgsf_batch_arrays *b, int first, size_t input) {
    const float *last = b->s_next + (size_t)b->num_states * input;
    int at = first;
    while (at < b->num_states &&
           memcmp(b->s_next + (size_t)at * input, last, input * sizeof(float)) != 0) {
        at++;
    }
    b->num_states += at == b->num_states;
    return at;
}

// Copies the pivot's (s, a) and what followed it: `present` transitions with the same key.
static fgsf_status gather(fgsf_learner *l, int pair, int64_t slot, const int64_t *matches,
                          int present) {
    const fgsf_agent *agent = l->agent;
    fgsf_batch_arrays *b = &l->batch;
    size_t input = (size_t)agent->shape.input, features = (size_t)agent->shape.features;
    fgsf_transition pivot = fgsf_replay_at(l->replay, slot);
    int seen_as = l->params.relabel ? l->task : pivot.task, first = b->num_states;
    fgsf_agent_input(agent, seen_as, pivot.s, b->s + (size_t)pair * input);
    b->a[pair] = pivot.action;
    b->present[pair] = present;
    for (int p = 0; p < l->samples; p++) {
        size_t row = (size_t)(pair * l->samples + p);
        // Missing samples repeat the first one; the Bellman graph gives them no weight.
        fgsf_transition t = fgsf_replay_at(l->replay, matches[p < present ? p : 0]);
        FGSF_TRY(draws_fresh(l) ? draw(l, &pivot, &t) : FGSF_OK);
        fgsf_learner_target(l, &t, b->y + row * features);
        fgsf_agent_input(agent, seen_as, t.s_next, b->s_next + (size_t)b->num_states * input);
        b->row[row] = place_next(b, first, input);
        b->discount[row] = t.discount;
    }
    return FGSF_OK;
}

// Finds up to n transitions with the pivot's (s, a); returns how many, or 0 where the pivot cannot
// be learned from: fewer than avg.min_stored, fewer than n with avg.shortfall=skip, or one alone with
// avg.estimator=split.
static int find_samples(fgsf_learner *l, int64_t pivot) {
    const fgsf_learner_params *params = &l->params;
    bool replace = params->avg.shortfall == FGSF_SHORTFALL_REPLACE;
    int n = l->samples, least = params->avg.estimator == FGSF_SPLIT ? 2 : 1;
    if (params->avg.shortfall == FGSF_SHORTFALL_SKIP) {
        least = n;
    }
    if (params->avg.min_stored > 1 &&
        fgsf_replay_matching_count(l->replay, pivot) < params->avg.min_stored) {
        return 0;
    }
    if (draws_fresh(l)) {
        for (int p = 0; p < n; p++) l->matches[p] = pivot; // gather draws what follows
        return n;
    }
    int found = fgsf_replay_matching(l->replay, &l->replay_rng, pivot, n, replace, l->matches);
    return found < least ? 0 : found;
}

// Samples the pairs to learn from; l->pairs may be none. Pivots without enough samples are left out,
// so that means are over what is learned from and no policy takes a step on nothing.
fgsf_status fgsf_learner_sample(fgsf_learner *l) {
    if (l->averaging && l->params.avg.pivot_source == FGSF_PIVOT_CURRENT) {
        l->slots[0] = fgsf_replay_last(l->replay);
    } else {
        fgsf_replay_sample(l->replay, &l->replay_rng, l->max_pairs, l->slots);
    }
    l->pairs = l->batch.num_states = 0;
    fgsf_status status = FGSF_OK;
    for (int b = 0; b < l->max_pairs && status == FGSF_OK; b++) {
        if (b + PREFETCH < l->max_pairs) {
            fgsf_replay_prefetch(l->replay, l->slots[b + PREFETCH]);
        }
        int present = l->averaging ? find_samples(l, l->slots[b]) : 1;
        if (present > 0) {
            const int64_t *matches = l->averaging ? l->matches : &l->slots[b];
            status = gather(l, l->pairs++, l->slots[b], matches, present);
        }
    }
    return status;
}

void fgsf_learner_copy_pair(const fgsf_learner *l, const fgsf_batch_arrays *from, int b,
                            fgsf_batch_arrays *to, int j) {
    size_t input = (size_t)l->agent->shape.input, features = (size_t)l->agent->shape.features;
    size_t n = (size_t)l->samples, source = (size_t)b, dest = (size_t)j;
    memcpy(to->s + dest * input, from->s + source * input, input * sizeof(float));
    memcpy(to->y + dest * n * features, from->y + source * n * features,
           n * features * sizeof(float));
    int first = from->row[source * n], last = first; // the pair's next states stand together
    for (size_t p = 0; p < n; p++) {
        int at = from->row[source * n + p];
        last = at > last ? at : last;
        to->row[dest * n + p] = to->num_states + at - first;
    }
    memcpy(to->s_next + (size_t)to->num_states * input, from->s_next + (size_t)first * input,
           (size_t)(last - first + 1) * input * sizeof(float));
    to->num_states += last - first + 1;
    memcpy(to->discount + dest * n, from->discount + source * n, n * sizeof(float));
    to->a[j] = from->a[b];
    to->pair[j] = from == &l->batch ? b : from->pair[b];
    to->present[j] = from->present[b];
    to->weight[j] = from->weight[b];
}
