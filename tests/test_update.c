// Every learning update against the specification: one step of each method, re-derived here from its
// sections 2.1 to 2.8 in double precision, moves every parameter to within 1e-5 of where the library
// moves it, over three steps in a row and several seeds, and draws as much from the replay stream.
#include <math.h>
#include <stdio.h>

#include "support_assert.h"
#include "support_update.h"

#define STEPS 3
#define SEEDS 5
#define RATES "sf.lr=0.01 sf.lr_prior=3e-3 dqn.lr=0.01 "

typedef struct update_case {
    const char *preset, *method, *settings; // the settings go behind RATES
    int task;
    int (*step)(world *w, const recipe *r); // takes the step and returns the number of updates
    recipe recipe;                          // what is left out is FGSF_HALF_MEAN and FGSF_SHARED
    int least;                              // samples that a pivot needs, 0 for one
} update_case;

static double rate(const world *w, int k) {
    const fgsf_config *cfg = &w->t->cfg;
    bool is_dqn = cfg->learner.agent.representation == FGSF_Q;
    return is_dqn ? cfg->dqn_lr : k == w->task ? cfg->learner.lr : cfg->learner.lr_prior;
}

// --- DQN (2.1, 2.2) -----------------------------------------------------------------------------

static int greedy(const double *q, int n) {
    int best = 0;
    for (int a = 1; a < n; a++) best = q[a] > q[best] ? a : best;
    return best;
}

static int dqn_step(world *w, const recipe *r, int k, bool chosen_by_target) {
    pick picks[WORLD_BATCH];
    const twin *p = &w->policies[k];
    for (int b = 0; b < w->num_pairs; b++) {
        double q[WORLD_MAX_ACTIONS];
        const double *chooser = chosen_by_target ? p->target : p->theta;
        world_q(w, chooser, world_match(w, b, 0).s_next, w->task, q);
        picks[b] = (pick){.pair = b, .weight = 1.0, .a_next = {greedy(q, w->t->spec.num_actions)}};
    }
    world_update(w, r, k, picks, w->num_pairs, w->num_pairs, rate(w, k));
    return 1;
}

static int per_task_dqn(world *w, const recipe *r) {
    return dqn_step(w, r, w->task, false);
}

static int shared_dqn(world *w, const recipe *r) {
    return dqn_step(w, r, 0, false);
}

static int target_dqn(world *w, const recipe *r) {
    return dqn_step(w, r, 0, true);
}

// --- Successor features, one sample per pair (2.3, 2.4, 2.5) ---------------------------------------

// The prior of every pair: the policy that is best at s' (or at s) under the active task.
static void find_priors(const world *w, bool at_s, int *prior) {
    for (int b = 0; b < w->num_pairs; b++) {
        const float *s = at_s ? world_pivot(w, b).s : world_match(w, b, 0).s_next;
        world_gpi_action(w, WORLD_TASKS, s, w->task, &prior[b]);
    }
}

// The pairs of one prior (all for c < 0) with a' of policy k: GPI under the active task for k = i,
// k's own greedy action under its own reward else.
static int pick_pairs(const world *w, const int *prior, int c, int k, pick *picks) {
    int count = 0;
    for (int b = 0; b < w->num_pairs; b++) {
        if (c >= 0 && prior[b] != c) continue;
        const float *s = world_match(w, b, 0).s_next;
        int a = k == w->task ? world_gpi_action(w, WORLD_TASKS, s, w->task, NULL)
                             : world_own_action(w, k, s, k);
        picks[count++] = (pick){.pair = b, .weight = 1.0, .a_next = {a}};
    }
    return count;
}

// i on the whole batch, then each prior on its pairs, all divided by B (section 2.4, clean).
static int i_then_priors(world *w, const recipe *r, bool at_s) {
    int prior[WORLD_BATCH], updates = 1;
    pick picks[WORLD_BATCH];
    find_priors(w, at_s, prior);
    int count = pick_pairs(w, prior, -1, w->task, picks);
    world_update(w, r, w->task, picks, count, w->num_pairs, rate(w, w->task));
    for (int c = 0; c < WORLD_TASKS; c++) {
        count = c == w->task ? 0 : pick_pairs(w, prior, c, c, picks);
        if (count > 0) {
            world_update(w, r, c, picks, count, w->num_pairs, rate(w, c));
            updates++;
        }
    }
    return updates;
}

// The pairs of one prior (all for c < 0) for policy k of a shared network, behind those listed so far.
static int pick_head(const world *w, const int *prior, int c, int k, pick *picks) {
    const fgsf_learner_params *cfg = &w->t->cfg.learner;
    int count = pick_pairs(w, prior, c, k, picks);
    for (int j = 0; j < count; j++) {
        picks[j].head = k;
        picks[j].weight = k == w->task ? 1.0 : (float)(cfg->lr_prior / cfg->lr);
    }
    return count;
}

// A shared body: one step on the rows of i and of all priors, those of priors weighted by their rate
// over the task's, all divided by B.
static int torso_sf(world *w, const recipe *r) {
    int prior[WORLD_BATCH];
    pick picks[2 * WORLD_BATCH];
    find_priors(w, false, prior);
    int count = pick_head(w, prior, -1, w->task, picks);
    for (int c = 0; c < WORLD_TASKS; c++) {
        count += c == w->task ? 0 : pick_head(w, prior, c, c, picks + count);
    }
    world_update(w, r, 0, picks, count, w->num_pairs, w->t->cfg.learner.lr);
    return 1;
}

// A shared body and every head on the whole batch, in one step.
static int torso_all(world *w, const recipe *r) {
    pick picks[WORLD_TASKS * WORLD_BATCH];
    int count = 0;
    for (int k = 0; k < WORLD_TASKS; k++) count += pick_head(w, NULL, -1, k, picks + count);
    world_update(w, r, 0, picks, count, w->num_pairs, w->t->cfg.learner.lr);
    return 1;
}

// A shared body and one step per prior group, on the rows of {i, c}, divided by the group's size.
static int torso_grouped(world *w, const recipe *r) {
    int prior[WORLD_BATCH], updates = 0;
    bool done[WORLD_TASKS] = {false};
    pick picks[2 * WORLD_BATCH];
    find_priors(w, false, prior);
    for (int b = 0; b < w->num_pairs; b++) {
        int c = prior[b], count = 0, size = 0;
        if (done[c]) continue;
        done[c] = true;
        for (int k = 0; k < WORLD_TASKS; k++) {
            if (k != w->task && k != c) continue;
            size = pick_head(w, prior, c, k, picks + count);
            count += size;
        }
        world_update(w, r, 0, picks, count, size, w->t->cfg.learner.lr);
        updates++;
    }
    return updates;
}

static int clean_sf(world *w, const recipe *r) {
    return i_then_priors(w, r, false);
}

static int paper_sf(world *w, const recipe *r) {
    return i_then_priors(w, r, true);
}

// One step per prior group for {i, c}, lower index first, divided by the group's size; a' with the
// parameters as they are by then, membership as it was (section 2.4, the authors' code).
static int grouped_sf(world *w, const recipe *r) {
    int prior[WORLD_BATCH], updates = 0;
    bool done[WORLD_TASKS] = {false};
    pick picks[WORLD_BATCH];
    find_priors(w, false, prior);
    for (int b = 0; b < w->num_pairs; b++) { // order of first appearance
        int c = prior[b];
        if (done[c]) continue;
        done[c] = true;
        for (int k = 0; k < WORLD_TASKS; k++) {
            if (k != w->task && k != c) continue;
            int count = pick_pairs(w, prior, c, k, picks);
            world_update(w, r, k, picks, count, count, rate(w, k));
            updates++;
        }
    }
    return updates;
}

// Every seen policy on the whole batch, one after another, with the GPI action under its own reward
// and its own target network (section 2.3, the authors' code).
static int all_sf(world *w, const recipe *r) {
    pick picks[WORLD_BATCH];
    for (int k = 0; k < WORLD_TASKS; k++) {
        for (int b = 0; b < w->num_pairs; b++) {
            const float *s = world_match(w, b, 0).s_next;
            int a = world_gpi_action(w, WORLD_TASKS, s, k, NULL);
            picks[b] = (pick){.pair = b, .weight = 1.0, .a_next = {a}};
        }
        world_update(w, r, k, picks, w->num_pairs, w->num_pairs, rate(w, k));
    }
    return WORLD_TASKS;
}

static int i_alone(world *w, const recipe *r) {
    pick picks[WORLD_BATCH];
    int count = pick_pairs(w, NULL, -1, w->task, picks);
    world_update(w, r, w->task, picks, count, w->num_pairs, rate(w, w->task));
    return 1;
}

// --- Averaging (2.6, 2.7, 2.8) --------------------------------------------------------------------

// mean_p Q_k(s'_p, .) under the active task.
static void mean_q(const world *w, int k, int b, double *mean) {
    int actions = w->t->spec.num_actions, n = w->pairs[b].count;
    memset(mean, 0, (size_t)actions * sizeof *mean);
    for (int p = 0; p < n; p++) {
        double q[WORLD_MAX_ACTIONS];
        world_q(w, w->policies[k].theta, world_match(w, b, p).s_next, w->task, q);
        for (int a = 0; a < actions; a++) mean[a] += q[a] / n;
    }
}

static int prior_by_mean_q(const world *w, int b) {
    int best = 0;
    double top = -INFINITY;
    for (int k = 0; k < WORLD_TASKS; k++) {
        double q[WORLD_MAX_ACTIONS];
        mean_q(w, k, b, q);
        double value = q[greedy(q, w->t->spec.num_actions)];
        best = value > top ? k : best;
        top = fmax(top, value);
    }
    return best;
}

static void mean_state(const world *w, int b, float *mean) {
    int size = w->t->spec.state_size, n = w->pairs[b].count;
    memset(mean, 0, (size_t)size * sizeof *mean);
    for (int p = 0; p < n; p++) {
        for (int i = 0; i < size; i++) mean[i] += world_match(w, b, p).s_next[i] / (float)n;
    }
}

// How a pair's prior is chosen, and how its next actions are.
enum prior_rule { BY_MEAN_Q, AT_MEAN_STATE, AT_S };
enum action_rule { EACH_SAMPLE, OWN_MEAN, POLICY_C_AT_MEAN };

static int average_prior(const world *w, enum prior_rule rule, int b) {
    float state[64];
    int c = 0;
    if (rule == BY_MEAN_Q) return prior_by_mean_q(w, b);
    mean_state(w, b, state);
    world_gpi_action(w, WORLD_TASKS, rule == AT_S ? world_pivot(w, b).s : state, w->task, &c);
    return c;
}

// a' of policy k at every sample of pair b, whose prior is c. `common` is the listing's one action.
static pick average_pick(const world *w, enum action_rule rule, int b, int k, int common) {
    pick p = {.pair = b, .weight = 1.0};
    double q[WORLD_MAX_ACTIONS];
    mean_q(w, k, b, q);
    for (int i = 0; i < w->pairs[b].count; i++) {
        const float *s = world_match(w, b, i).s_next;
        if (rule == EACH_SAMPLE) {
            p.a_next[i] = k == w->task ? world_gpi_action(w, WORLD_TASKS, s, w->task, NULL)
                                       : world_own_action(w, k, s, k);
        } else {
            p.a_next[i] = rule == OWN_MEAN ? greedy(q, w->t->spec.num_actions) : common;
        }
    }
    return p;
}

static int average(world *w, const recipe *r, enum prior_rule priors, enum action_rule actions) {
    int prior[WORLD_BATCH], common[WORLD_BATCH], updates = 0;
    for (int b = 0; b < w->num_pairs; b++) {
        float state[64];
        prior[b] = average_prior(w, priors, b);
        mean_state(w, b, state);
        common[b] = world_own_action(w, prior[b], state, w->task);
    }
    for (int turn = -1; turn < WORLD_TASKS; turn++) { // i first, then the priors
        pick picks[WORLD_BATCH];
        int k = turn < 0 ? w->task : turn, count = 0;
        for (int b = 0; b < w->num_pairs; b++) {
            if (turn < 0 || (k != w->task && prior[b] == k)) {
                picks[count++] = average_pick(w, actions, b, k, common[b]);
            }
        }
        if (count > 0) {
            world_update(w, r, k, picks, count, w->num_pairs, rate(w, k));
            updates++;
        }
    }
    return updates;
}

static int clean_average(world *w, const recipe *r) {
    return average(w, r, BY_MEAN_Q, EACH_SAMPLE);
}

static int compat_average(world *w, const recipe *r) {
    return average(w, r, BY_MEAN_Q, OWN_MEAN);
}

static int compat_ablation(world *w, const recipe *r) {
    return average(w, r, AT_MEAN_STATE, OWN_MEAN);
}

static int paper_average(world *w, const recipe *r) {
    return average(w, r, AT_MEAN_STATE, POLICY_C_AT_MEAN);
}

static int paper_ablation(world *w, const recipe *r) {
    return average(w, r, AT_S, POLICY_C_AT_MEAN);
}

// --- The cases ------------------------------------------------------------------------------------

// How a row of CASES ends: the recipe, and one sample per pivot.
#define WITH(eta, scale) {eta, scale, FGSF_SHARED}, 1
#define FULL WITH(1.0, FGSF_HALF_MEAN)
#define SEMI WITH(0.0, FGSF_HALF_MEAN)
#define N3 "avg.n=3 "
#define MANY N3 "avg.pivots=6 "
#define SINGLE "gpi.tie=first "
#define TORSO "net.kind=torso "
#define HARD "target.mode=hard target.period=2 "
#define POLYAK "target.mode=polyak "
#define NOT_DOUBLE "target.double=false "
#define BI "gradient.kind=bidirectional "
#define CONV "gradient.kind=convergent "
// Enough to change the next action between the updates of one step.
#define LARGE "sf.lr=0.1 sf.lr_prior=0.2 opt.eps=1e-2"

static const update_case CASES[] = {
    {"clean", "fg-sfrql", TORSO, 1, torso_sf, FULL},
    {"clean", "sfrql", TORSO, 2, torso_sf, SEMI},
    {"clean", "fg-sfrql", TORSO "opt.kind=sgd", 1, torso_sf, FULL},
    {"clean", "dqn", "", 1, per_task_dqn, SEMI},
    {"clean", "fg-dqn", "", 1, per_task_dqn, FULL},
    {"clean", "fg-dqn", "gradient.kind=mix gradient.eta=0.5", 1, per_task_dqn,
     WITH(0.5, FGSF_HALF_MEAN)},
    {"compat", "dqn", "target.period=2", 1, shared_dqn, WITH(0.0, FGSF_MEAN_ACTIONS)},
    {"compat", "dqn", "target.period=2 " NOT_DOUBLE, 1, target_dqn, WITH(0.0, FGSF_MEAN_ACTIONS)},
    {"compat", "fg-dqn", "", 1, shared_dqn, WITH(1.0, FGSF_MEAN)},
    {"compat", "fg-dqn", "dqn.task_input=onehot dqn.relabel=true", 1, shared_dqn,
     WITH(1.0, FGSF_MEAN)},
    {"paper", "fg-dqn", SINGLE, 2, per_task_dqn, FULL},

    {"clean", "sfrql", "", 2, clean_sf, SEMI},
    {"clean", "sfrql", "net.activation=relu", 2, clean_sf, SEMI},
    {"clean", "sfrql", POLYAK, 2, clean_sf, SEMI},
    {"compat", "sfrql", "target.period=2", 2, all_sf, WITH(0.0, FGSF_MEAN)},
    {"compat", "sfrql", "target.period=1", 1, all_sf, WITH(0.0, FGSF_MEAN)},
    {"paper", "sfrql", SINGLE, 2, paper_sf, WITH(0.0, FGSF_SUM)},

    {"clean", "fg-sfrql", "", 2, clean_sf, FULL},
    {"clean", "fg-sfrql", "net.bias=false", 2, clean_sf, FULL},
    {"clean", "fg-sfrql", "gradient.kind=mix gradient.eta=0.25", 2, clean_sf,
     WITH(0.25, FGSF_HALF_MEAN)},
    {"clean", "fg-sfrql", "opt.kind=sgd", 2, clean_sf, FULL},
    {"clean", "fg-sfrql", "sf.update_set=i_only", 2, i_alone, FULL},
    {"clean", "fg-sfrql", "sf.lr=0.01 sf.lr_prior=0", 2, i_alone, FULL},
    {"clean", "fg-sfrql", "loss.scale=mean", 2, clean_sf, WITH(1.0, FGSF_MEAN)},
    {"clean", "fg-sfrql", "loss.scale=mean_actions", 2, clean_sf, WITH(1.0, FGSF_MEAN_ACTIONS)},
    {"clean", "fg-sfrql", "loss.scale=double_sum", 2, clean_sf, WITH(1.0, FGSF_DOUBLE_SUM)},
    {"clean", "fg-sfrql", "representation=xi", 2, clean_sf, FULL},
    {"compat", "fg-sfrql", "", 2, grouped_sf, FULL},
    {"compat", "fg-sfrql", LARGE, 2, grouped_sf, FULL},
    {"paper", "fg-sfrql", SINGLE, 2, paper_sf, WITH(1.0, FGSF_SUM)},
    {"paper", "fg-sfrql", SINGLE "opt.rm_k0=2", 2, paper_sf, WITH(1.0, FGSF_SUM)},

    {"clean", "fg-sfrql-random", "", 1, clean_sf, FULL},
    {"compat", "fg-sfrql-random", "", 1, grouped_sf, FULL},
    {"compat", "fg-sfrql-random", LARGE, 1, grouped_sf, FULL},
    {"paper", "fg-sfrql-random", SINGLE, 0, clean_sf, WITH(1.0, FGSF_SUM)},

    // Kinds with another network. Its rate, decay and target must be the kind's and the policy's.
    {"clean", "corrected-dqn", "gradient.h_rate=0.5 gradient.h_beta=0.3", 1, per_task_dqn, FULL},
    {"clean", "corrected-sfrql", "gradient.h_rate=2 gradient.eta=0.4", 2, clean_sf,
     WITH(0.4, FGSF_HALF_MEAN)},
    {"clean", "corrected-sfrql", "gradient.h_beta=0.5 representation=xi", 2, clean_sf, FULL},
    {"clean", "corrected-sfrql", "gradient.h_rate=0 opt.kind=sgd", 2, clean_sf, FULL},
    {"compat", "corrected-sfrql", "gradient.h_beta=0.5", 2, grouped_sf, FULL},
    {"paper", "corrected-sfrql", SINGLE "gradient.h_beta=0.1", 2, paper_sf, WITH(1.0, FGSF_SUM)},
    {"clean", "fg-sfrql-random", "gradient.kind=gtd2 gradient.eta=0.7", 1, clean_sf,
     WITH(0.7, FGSF_HALF_MEAN)},
    {"clean", "fg-dqn", "gradient.kind=gtd2", 1, per_task_dqn, FULL},
    {"clean", "sfrql", BI HARD "gradient.eta=0.5", 2, clean_sf, WITH(0.5, FGSF_HALF_MEAN)},
    {"clean", "dqn", BI POLYAK "target.double=true", 1, per_task_dqn, FULL},
    {"clean", "sfrql", CONV POLYAK NOT_DOUBLE, 2, clean_sf, FULL},
    {"clean", "fg-sfrql-average", N3 CONV HARD, 1, clean_average, FULL},
    {"clean", "fg-sfrql-average", N3 BI HARD, 1, clean_average, FULL},
    {"clean", "sfrql", HARD NOT_DOUBLE, 2, clean_sf, SEMI},
    {"clean", "sfrql", POLYAK NOT_DOUBLE "representation=xi", 2, clean_sf, SEMI},

    // A shared body, with each of them and with every set of rows.
    {"clean", "corrected-sfrql", TORSO "gradient.h_rate=2", 1, torso_sf, FULL},
    {"clean", "corrected-sfrql", TORSO "opt.kind=sgd gradient.h_beta=0.5", 1, torso_sf, FULL},
    {"clean", "corrected-sfrql", TORSO "gradient.h_beta=0.5", 2, torso_sf, FULL},
    {"clean", "sfrql", TORSO POLYAK, 2, torso_sf, SEMI},
    {"clean", "sfrql", TORSO CONV HARD, 2, torso_sf, FULL},
    {"clean", "fg-sfrql", TORSO "sf.update_set=all", 1, torso_all, FULL},
    {"clean", "fg-sfrql", TORSO "sf.group_by_prior=true", 1, torso_grouped, FULL},
    {"clean", "fg-sfrql-random", TORSO, 1, torso_sf, FULL},

    {"clean", "fg-sfrql-average", N3, 1, clean_average, FULL},
    {"clean",
     "fg-sfrql-average",
     N3 "avg.estimator=critic_only",
     1,
     clean_average,
     {1.0, FGSF_HALF_MEAN, FGSF_CRITIC_ONLY},
     1},
    {"clean",
     "fg-sfrql-average",
     N3 "avg.estimator=split",
     1,
     clean_average,
     {1.0, FGSF_HALF_MEAN, FGSF_SPLIT},
     2},
    {"clean", "fg-sfrql-average", N3 "avg.key=grid avg.grid_pitch=100", 2, clean_average, FULL},
    {"compat", "fg-sfrql-average", N3, 2, compat_average, FULL},
    {"compat", "fg-sfrql-average", MANY, 1, compat_average, FULL},
    {"paper",
     "fg-sfrql-average",
     MANY SINGLE,
     1,
     paper_average,
     {1.0, FGSF_DOUBLE_SUM, FGSF_SHARED},
     3},
    {"clean", "fg-sfrql-seq-average", N3, 2, clean_average, FULL},
    {"compat", "fg-sfrql-seq-average", N3, 2, compat_ablation, FULL},
    {"paper",
     "fg-sfrql-seq-average",
     MANY SINGLE,
     2,
     paper_ablation,
     {1.0, FGSF_DOUBLE_SUM, FGSF_SHARED},
     3},
};
#define NUM_CASES (int)(sizeof CASES / sizeof *CASES)

// --- Hull ties (1.4) ------------------------------------------------------------------------------

// Makes actions a and a + 2 of every policy equally good and their vectors different: features 0 and 1
// change places, and every reward weighs the two alike.
static void tie_actions(world *w) {
    fgsf_agent *agent = w->t->agent;
    const fgsf_parameters *list = fgsf_network_get_parameters(agent->nets[0]);
    const fgsf_parameter *weights = &list->list[list->count - 2], *biases = weights + 1;
    size_t in = (size_t)weights->columns;
    int features = agent->shape.features;
    for (int k = 0; k < w->num_policies; k++) {
        float *theta = fgsf_network_edit(agent->nets[k]);
        for (int o = 0; o < 2 * features; o++) {
            int f = o % features, from = o - f + (f < 2 ? 1 - f : f), to = o + 2 * features;
            float *m = theta + weights->offset, *b = theta + biases->offset;
            memcpy(m + (size_t)to * in, m + (size_t)from * in, in * sizeof *m);
            b[to] = b[from];
        }
        for (size_t i = 0; i < w->policies[k].opt.size; i++) w->policies[k].theta[i] = theta[i];
        agent->rho[k * features + 1] = agent->rho[k * features];
    }
}

// Adds one pick per action that is best for any of the policies [first, last), weighted by how many
// (policy, action) it stands for.
static int pick_ties(const world *w, int first, int last, const float *s, int task, int pair,
                     pick *picks) {
    double q[WORLD_TASKS][WORLD_MAX_ACTIONS], top = -INFINITY;
    int actions = w->t->spec.num_actions, total = 0, count = 0, share[WORLD_MAX_ACTIONS] = {0};
    for (int k = first; k < last; k++) {
        world_q(w, w->policies[k].theta, s, task, q[k]);
        top = fmax(top, q[k][greedy(q[k], actions)]);
    }
    for (int k = first; k < last; k++) {
        for (int a = 0; a < actions; a++) {
            bool best = q[k][a] >= top - 1e-6 * fabs(top);
            share[a] += best;
            total += best;
        }
    }
    for (int a = 0; a < actions; a++) {
        if (share[a] > 0) {
            picks[count] = (pick){.pair = pair, .weight = (double)share[a] / total};
            for (int p = 0; p < WORLD_MAX_N; p++) picks[count].a_next[p] = a;
            count++;
        }
    }
    return count;
}

TEST hull_ties_share_the_gradient(void) {
    world *w = world_create("clean", "fg-sfrql", RATES "gpi.tie=hull", 2);
    const recipe r = {1.0, FGSF_HALF_MEAN, FGSF_SHARED};
    pick picks[4 * WORLD_BATCH];
    int prior[WORLD_BATCH], count = 0;
    tie_actions(w);
    world_sample(w, 1);
    find_priors(w, false, prior);
    for (int b = 0; b < w->num_pairs; b++) {
        const float *s = world_match(w, b, 0).s_next;
        count += pick_ties(w, 0, WORLD_TASKS, s, w->task, b, picks + count);
    }
    ASSERT_EQ_FMT(2 * w->num_pairs, count, "%d");
    world_update(w, &r, w->task, picks, count, w->num_pairs, rate(w, w->task));
    for (int c = 0; c < w->task; c++) { // the priors' own actions tie too
        count = 0;
        for (int b = 0; b < w->num_pairs; b++) {
            const float *s = world_match(w, b, 0).s_next;
            if (prior[b] == c) count += pick_ties(w, c, c + 1, s, c, b, picks + count);
        }
        if (count > 0) world_update(w, &r, c, picks, count, w->num_pairs, rate(w, c));
    }
    ASSERT_OK(world_learn(w));
    ASSERT_BELOW("error", world_error(w), 1e-5);
    world_free(w);
    PASS();
}

// The listing of Algorithm 3: one a' for all samples, from the mean next state, for i and for c.
TEST hull_ties_at_the_mean_next_state(void) {
    world *w = world_create("paper", "fg-sfrql-average", RATES MANY "representation=psi", 1);
    const recipe r = {1.0, FGSF_DOUBLE_SUM, FGSF_SHARED};
    pick picks[4 * WORLD_BATCH];
    int prior[WORLD_BATCH], updates = 0, count = 0, first[WORLD_BATCH + 1] = {0};
    tie_actions(w);
    world_sample(w, 3);
    ASSERT(w->num_pairs > 1);
    for (int b = 0; b < w->num_pairs; b++) {
        float s[64];
        prior[b] = average_prior(w, AT_MEAN_STATE, b);
        mean_state(w, b, s);
        count += pick_ties(w, 0, WORLD_TASKS, s, w->task, b, picks + count);
        first[b + 1] = count;
    }
    ASSERT_EQ_FMT(2 * w->num_pairs, count, "%d");
    world_update(w, &r, w->task, picks, count, w->num_pairs, rate(w, w->task));
    for (int c = 0; c < WORLD_TASKS; c++) {
        pick own[4 * WORLD_BATCH];
        count = 0;
        for (int b = 0; b < w->num_pairs; b++) {
            bool wanted = c != w->task && prior[b] == c;
            for (int i = first[b]; wanted && i < first[b + 1]; i++) own[count++] = picks[i];
        }
        updates += count > 0;
        if (count > 0) world_update(w, &r, c, own, count, w->num_pairs, rate(w, c));
    }
    ASSERT_OK(world_learn(w));
    ASSERT_EQ_FMT(updates + 1, w->learned.updates, "%d");
    ASSERT_BELOW("error", world_error(w), 1e-5);
    world_free(w);
    PASS();
}

static enum greatest_test_res check_step(world *w, const update_case *c) {
    world_sample(w, c->least);
    int updates = w->num_pairs > 0 ? c->step(w, &c->recipe) : 0;
    ASSERT_OK(world_learn(w));
    ASSERT_EQ_FMTm(c->settings, updates, w->learned.updates, "%d");
    ASSERT_EQ(w->num_pairs == 0, w->learned.skipped);
    ASSERTm("draws from the replay stream",
            memcmp(&w->rng, &w->t->learner->replay_rng, sizeof w->rng) == 0);
    ASSERT_BELOW(c->method, world_error(w), 1e-5);
    PASS();
}

// Runs one seed and stores how far the active policy and all others moved.
static enum greatest_test_res check_seed(const update_case *c, int seed, double moved[2]) {
    char settings[256];
    snprintf(settings, sizeof settings, RATES "%s seed=%d", c->settings, seed);
    world *w = world_create(c->preset, c->method, settings, c->task);
    for (int step = 0; step < STEPS; step++) {
        CHECK_CALL(check_step(w, c));
    }
    for (int k = 0; k < w->num_policies; k++) {
        moved[w->num_policies > 1 && k != c->task] += world_moved(w, k);
    }
    if (greatest_get_verbosity() > 0) {
        printf("%s %s %s: error %.2g\n", c->preset, c->method, settings, world_error(w));
    }
    world_free(w);
    PASS();
}

TEST update_is_the_specification_s(const update_case *c) {
    double moved[2] = {0};
    for (int seed = 0; seed < SEEDS; seed++) {
        CHECK_CALL(check_seed(c, seed, moved));
    }
    // The error would be small as well if nothing had moved.
    bool alone = c->step == i_alone || strstr(c->method, "dqn");
    ASSERTm("the active policy moves", moved[0] > 1e-3);
    bool torso = strstr(c->settings, "torso"); // whose policies are not told apart here
    bool apart = !alone && !torso;
    ASSERT_EQm("priors move where they should", apart, moved[1] > 1e-4);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int i = 0; i < NUM_CASES; i++) {
        RUN_TESTp(update_is_the_specification_s, &CASES[i]);
    }
    RUN_TEST(hull_ties_share_the_gradient);
    RUN_TEST(hull_ties_at_the_mean_next_state);
    GREATEST_MAIN_END();
}
