// Worlds for tests of learning steps.
#include "support_update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/envs.h"
#include "support_assert.h"

#define TRANSITIONS 40
#define STATES 7

static void require(fgsf_status status) {
    if (status != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
}

static void apply_settings(fgsf_config *cfg, const char *settings) {
    char text[1024], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        require(fgsf_config_set(cfg, word, value, "test"));
    }
}

static fgsf_config configure(const char *preset, const char *method, const char *settings) {
    fgsf_config cfg;
    require(fgsf_envs_register());
    require(fgsf_config_resolve("four_rooms", preset, method, &cfg));
    // A large Adam epsilon keeps a step from depending on the sign of gradients that are rounding.
    apply_settings(&cfg, "env.num_tasks=3 train.batch_size=6 train.steps_per_task=100 "
                         "train.buffer_capacity=64 net.hidden=6,5 net.activation=silu opt.eps=1e-4 "
                         "diag.residual_batch=0");
    apply_settings(&cfg, settings);
    return cfg;
}

// Few states, so that (s, a) repeat.
static void fill_replay(world *w, fgsf_rng *rng) {
    const fgsf_env_spec *spec = &w->t->spec;
    bool xi = w->t->agent->set != NULL;
    float states[STATES][64], phi[8];
    for (int i = 0; i < STATES; i++) {
        for (int k = 0; k < spec->state_size; k++) {
            states[i][k] = (float)fgsf_rng_normal(rng);
        }
    }
    for (int i = 0; i < TRANSITIONS; i++) {
        for (int k = 0; k < spec->num_features; k++) {
            phi[k] = (float)fgsf_rng_normal(rng);
        }
        fgsf_transition t = {
            .s = states[fgsf_rng_below(rng, 3)],
            .s_next = states[fgsf_rng_below(rng, STATES)],
            .phi = phi,
            .reward = (float)fgsf_rng_normal(rng),
            .discount = fgsf_rng_below(rng, 4) == 0 ? 0.0f : 0.95f,
            .action = (int32_t)fgsf_rng_below(rng, (uint64_t)spec->num_actions),
            .event = xi ? (int32_t)fgsf_rng_below(rng, (uint64_t)w->t->agent->shape.features) : -1,
            .task = (int32_t)fgsf_rng_below(rng, WORLD_TASKS)};
        require(fgsf_replay_add(w->t->learner->replay, &t));
        require(fgsf_replay_add(w->mirror, &t));
    }
}

// Draws all heads of a network.
static void draw_network(fgsf_network *net, fgsf_rng *rng) {
    fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, rng);
    for (int head = 1; head < fgsf_network_get_shape(net)->heads; head++) {
        fgsf_network_init_head(net, head, FGSF_UNIFORM_FAN_IN, rng);
    }
}

// An error network that is not zero, and its twin.
static void add_error(world *w, int k, fgsf_rng *rng) {
    fgsf_network *net = w->t->learner->training[k].error;
    twin *h = w->policies[k].error = calloc(1, sizeof *h);
    if (!h) abort();
    draw_network(net, rng);
    h->theta = reference_parameters(net);
    h->start = reference_parameters(net);
    h->opt = reference_optimizer_create(&w->t->cfg.learner.opt, fgsf_network_size(net));
}

// Random parameters, other ones in the target network, and scoring vectors that disagree.
static void fill_policies(world *w, fgsf_rng *rng) {
    fgsf_agent *agent = w->t->agent;
    const fgsf_config *cfg = &w->t->cfg;
    size_t size = fgsf_network_flat_size(&agent->shape);
    for (int k = 0; k < w->num_policies; k++) {
        twin *p = &w->policies[k];
        draw_network(agent->nets[k], rng);
        p->theta = reference_parameters(agent->nets[k]);
        p->start = reference_parameters(agent->nets[k]);
        if (w->t->learner->training[k].target) {
            draw_network(w->t->learner->training[k].target, rng);
            p->target = reference_parameters(w->t->learner->training[k].target);
        }
        p->opt = reference_optimizer_create(&cfg->learner.opt, size);
        if (w->t->learner->training[k].error) add_error(w, k, rng);
    }
    for (int i = 0;
         i < WORLD_TASKS * agent->shape.features && cfg->learner.agent.representation != FGSF_Q;
         i++) {
        agent->rho[i] = (float)fgsf_rng_normal(rng);
    }
}

world *world_create(const char *preset, const char *method, const char *settings, int task) {
    world *w = calloc(1, sizeof *w);
    fgsf_config cfg = configure(preset, method, settings);
    if (!w) {
        abort();
    }
    require(fgsf_trainer_create(&cfg, &w->t));
    require(fgsf_trainer_add_tasks(w->t, WORLD_TASKS));
    w->task = task;
    w->num_policies = fgsf_agent_num_nets(w->t->agent); // with a shared body, one
    fgsf_replay_params params = {.capacity = cfg.learner.buffer_capacity,
                                 .state_size = w->t->spec.state_size,
                                 .num_features = w->t->spec.num_features,
                                 .indexed = cfg.learner.avg.n > 1,
                                 .key = cfg.learner.avg.key,
                                 .grid_pitch = cfg.learner.avg.grid_pitch};
    require(fgsf_replay_create(&params, &w->mirror));
    fgsf_rng rng = fgsf_rng_make((uint64_t)cfg.seed + 7, FGSF_STREAM_INIT);
    fill_policies(w, &rng);
    fill_replay(w, &rng);
    w->rng = w->t->learner->replay_rng;
    return w;
}

static void twin_free(twin *p) {
    if (p->error) twin_free(p->error);
    free(p->error);
    free(p->theta);
    free(p->start);
    free(p->target);
    reference_optimizer_free(&p->opt);
}

void world_free(world *w) {
    for (int k = 0; k < w->num_policies; k++) twin_free(&w->policies[k]);
    fgsf_replay_free(w->mirror);
    fgsf_trainer_free(w->t);
    free(w);
}

void world_sample(world *w, int least) {
    const fgsf_config *cfg = &w->t->cfg;
    int n = (int)cfg->learner.avg.n, wanted = WORLD_BATCH;
    int64_t slots[WORLD_BATCH];
    if (n > 1 && cfg->learner.avg.pivots > 0) {
        wanted = (int)cfg->learner.avg.pivots;
    }
    for (int b = 0; b < wanted; b++) {
        bool current = n > 1 && cfg->learner.avg.pivot_source == FGSF_PIVOT_CURRENT;
        slots[b] = current ? TRANSITIONS - 1 : (int64_t)fgsf_rng_below(&w->rng, TRANSITIONS);
    }
    w->num_pairs = 0;
    for (int b = 0; b < wanted; b++) {
        drawn *pair = &w->pairs[w->num_pairs];
        *pair = (drawn){.slot = slots[b], .matches = {slots[b]}, .count = 1};
        if (n > 1) {
            bool replace = cfg->learner.avg.shortfall == FGSF_SHORTFALL_REPLACE;
            pair->count =
                fgsf_replay_matching(w->mirror, &w->rng, slots[b], n, replace, pair->matches);
        }
        w->num_pairs += pair->count >= least;
    }
}

fgsf_transition world_pivot(const world *w, int pair) {
    return fgsf_replay_at(w->mirror, w->pairs[pair].slot);
}

fgsf_transition world_match(const world *w, int pair, int p) {
    return fgsf_replay_at(w->mirror, w->pairs[pair].matches[p]);
}

// The encoded state as the network sees it, in the eyes of `task`.
static void write_input(const world *w, int task, const float *state, float *input) {
    const fgsf_agent *agent = w->t->agent;
    int size = w->t->spec.state_size, extra = agent->shape.input - size;
    memcpy(input, state, (size_t)size * sizeof *input);
    for (int k = 0; k < extra; k++) { // the one-hot of the task
        input[size + k] = k == task ? 1.0f : 0.0f;
    }
}

// Q of one head of parameters theta.
static void head_q(const world *w, const double *theta, int head, const float *s, int task,
                   double *q) {
    const fgsf_network_shape *shape = &w->t->agent->shape;
    const float *rho = w->t->agent->rho + task * shape->features;
    double all[WORLD_TASKS * WORLD_MAX_ACTIONS * 8];
    const double *x = all + head * shape->actions * shape->features;
    float input[64];
    write_input(w, w->task, s, input);
    reference_forward(shape, theta, input, all);
    for (int a = 0; a < shape->actions; a++) {
        q[a] = 0.0;
        for (int f = 0; f < shape->features; f++) {
            q[a] += x[a * shape->features + f] * rho[f];
        }
    }
}

void world_q(const world *w, const double *theta, const float *s, int task, double *q) {
    head_q(w, theta, 0, s, task, q);
}

// Q of policy k, by the network that chooses actions: without target.double, the target network.
static void policy_q(const world *w, int k, const float *s, int task, double *q) {
    const fgsf_agent *agent = w->t->agent;
    const twin *p = &w->policies[fgsf_agent_net_of(agent, k)];
    const double *theta = p->target && !w->t->cfg.learner.target.double_q ? p->target : p->theta;
    head_q(w, theta, fgsf_agent_head_of(agent, k), s, task, q);
}

int world_own_action(const world *w, int k, const float *s, int task) {
    double q[WORLD_MAX_ACTIONS];
    policy_q(w, k, s, task, q);
    int best = 0;
    for (int a = 1; a < w->t->spec.num_actions; a++) {
        best = q[a] > q[best] ? a : best;
    }
    return best;
}

int world_gpi_action(const world *w, int scope, const float *s, int task, int *policy) {
    double top = -INFINITY;
    int best = 0;
    for (int k = 0; k < scope; k++) {
        double q[WORLD_MAX_ACTIONS];
        policy_q(w, k, s, task, q);
        for (int a = 0; a < w->t->spec.num_actions; a++) {
            if (q[a] > top) {
                top = q[a];
                best = a;
                if (policy) *policy = k;
            }
        }
    }
    return best;
}

// The arrays of one reference batch.
typedef struct arrays {
    float s[4 * WORLD_BATCH * 64], s_next[4 * WORLD_BATCH * WORLD_MAX_N * 64];
    float y[4 * WORLD_BATCH * WORLD_MAX_N * 8], discount[4 * WORLD_BATCH * WORLD_MAX_N];
    float weight[4 * WORLD_BATCH];
    int32_t a[4 * WORLD_BATCH], a_next[4 * WORLD_BATCH * WORLD_MAX_N], present[4 * WORLD_BATCH];
} arrays;

static void write_y(const world *w, const fgsf_transition *t, float *y) {
    const fgsf_config *cfg = &w->t->cfg;
    int features = w->t->agent->shape.features, d = w->t->spec.num_features;
    double weights[8];
    if (w->t->agent->set) {
        for (int f = 0; f < features; f++) y[f] = f == t->event ? 1.0f : 0.0f;
    } else if (cfg->learner.agent.representation != FGSF_Q) {
        memcpy(y, t->phi, (size_t)d * sizeof *y);
    } else if (cfg->learner.relabel) {
        w->t->envs[0]->def->task_weights(w->t->envs[0], w->task, weights);
        double sum = 0.0;
        for (int k = 0; k < d; k++) sum += weights[k] * t->phi[k];
        y[0] = (float)sum;
    } else {
        y[0] = t->reward;
    }
}

static void write_pick(const world *w, const pick *p, int j, arrays *out) {
    size_t input = (size_t)w->t->agent->shape.input, features = (size_t)w->t->agent->shape.features;
    int n = (int)w->t->cfg.learner.avg.n;
    fgsf_transition pivot = world_pivot(w, p->pair);
    int seen_as = w->t->cfg.learner.relabel ? w->task : pivot.task;
    write_input(w, seen_as, pivot.s, out->s + (size_t)j * input);
    int head = p->head * w->t->agent->shape.actions;
    out->a[j] = head + pivot.action;
    out->weight[j] = (float)p->weight;
    out->present[j] = w->pairs[p->pair].count;
    for (int i = 0; i < n; i++) {
        size_t row = (size_t)(j * n + i);
        fgsf_transition t = world_match(w, p->pair, i < out->present[j] ? i : 0);
        write_y(w, &t, out->y + row * features);
        write_input(w, seen_as, t.s_next, out->s_next + row * input);
        out->discount[row] = t.discount;
        out->a_next[row] = head + p->a_next[i < out->present[j] ? i : 0];
    }
}

// Where a parameter of a shared network belongs: the head of number n of parameter q, or -1 for the
// body.
static int head_of(const world *w, const fgsf_parameters *list, int i, int n) {
    const fgsf_parameter *q = &list->list[i];
    int outputs = w->t->agent->shape.actions * w->t->agent->shape.features;
    int each = q->rows == 1 ? 1 : q->columns; // numbers of one output
    return i < list->count - 2 ? -1 : n / each / outputs;
}

// The rate of a head: lr for the task's, lr_prior for a prior's under Adam, which divides the weight
// of its rows out again, and lr under SGD, which does not.
static double head_rate(const world *w, int head) {
    const fgsf_learner_params *cfg = &w->t->cfg.learner;
    bool prior = head != w->task && cfg->opt.kind == FGSF_ADAM;
    return prior ? cfg->lr_prior : cfg->lr;
}

// Takes the step that the optimiser of one head, or of the body (-1), takes after `steps` steps.
static void step_one(const world *w, twin *p, const double *gradient, int head, int64_t steps,
                     double lr) {
    fgsf_parameters list;
    fgsf_network_list(&w->t->agent->shape, &list);
    double *now[3] = {p->theta, p->opt.m, p->opt.v}, *after[3];
    for (int m = 0; m < 3; m++) {
        after[m] = reference_zeros(p->opt.size);
        memcpy(after[m], now[m], p->opt.size * sizeof(double));
    }
    reference_optimizer opt = p->opt;
    opt.steps = steps;
    opt.m = after[1];
    opt.v = after[2];
    reference_optimizer_step(&opt, after[0], gradient, lr);
    for (int i = 0; i < list.count; i++) {
        for (int n = 0; n < list.list[i].rows * list.list[i].columns; n++) {
            size_t at = list.list[i].offset + (size_t)n;
            for (int m = 0; m < 3 && head_of(w, &list, i, n) == head; m++)
                now[m][at] = after[m][at];
        }
    }
    for (int m = 0; m < 3; m++) free(after[m]);
}

// One step of a shared network: the body and every head with a row, each by its own count of steps. A
// head without a row does not move, nor do its moments.
static void step_heads(const world *w, twin *p, const double *gradient, const pick *picks,
                       int count, double rate) {
    step_one(w, p, gradient, -1, p->opt.steps++, rate * w->t->cfg.learner.lr);
    for (int head = 0; head < WORLD_TASKS; head++) {
        bool has_rows = false;
        for (int j = 0; j < count; j++) has_rows = has_rows || picks[j].head == head;
        if (has_rows) {
            step_one(w, p, gradient, head, p->head_steps[head]++, rate * head_rate(w, head));
        }
    }
}

// beta of one pair's |delta - h|^2 / 2, in the scale of the loss.
static double decay(const world *w, enum fgsf_loss_scale scale) {
    double beta = w->t->cfg.learner.gradient.h_beta;
    return scale == FGSF_SUM ? beta * WORLD_BATCH : beta / w->t->agent->shape.features;
}

// One step of twin p at `rate` times lr: all of it, or the body and the heads that have rows.
static void take_step(const world *w, twin *p, const double *gradient, const pick *picks, int count,
                      double rate, double lr) {
    if (w->t->agent->shared) {
        step_heads(w, p, gradient, picks, count, rate);
    } else {
        reference_optimizer_step(&p->opt, p->theta, gradient, rate * lr);
    }
}

void world_update(world *w, const recipe *r, int k, const pick *picks, int count,
                  double denominator, double lr) {
    const fgsf_learner_params *cfg = &w->t->cfg.learner;
    static arrays in; // too large for some stacks
    twin *p = &w->policies[k];
    fgsf_bellman_params params = {.shape = w->t->agent->shape,
                                  .max_pairs = count,
                                  .samples = (int)cfg->avg.n,
                                  .kind = cfg->gradient.kind,
                                  .grad_mix = r->eta,
                                  .h_beta = decay(w, r->scale),
                                  .estimator = r->estimator,
                                  .split = (int)cfg->avg.n / 2,
                                  .target_network = p->target != NULL,
                                  .loss_scale = r->scale};
    fgsf_batch batch = {.pairs = count,
                        .s = in.s,
                        .a = in.a,
                        .y = in.y,
                        .s_next = in.s_next,
                        .a_next = in.a_next,
                        .discount = in.discount,
                        .weight = in.weight,
                        .present = in.present,
                        .denominator = denominator};
    for (int j = 0; j < count; j++) {
        write_pick(w, &picks[j], j, &in);
    }
    double *gradient = reference_zeros(p->opt.size), *of_error = reference_zeros(p->opt.size);
    if (cfg->gradient.kind <= FGSF_MIX) {
        reference_bellman(&params, &batch, p->theta, p->target, gradient);
    } else {
        reference_kind(&params, &batch, p->theta, p->error ? p->error->theta : p->target, gradient,
                       p->error ? of_error : NULL);
    }
    take_step(w, p, gradient, picks, count, 1.0, lr);
    if (p->error) take_step(w, p->error, of_error, picks, count, cfg->gradient.h_rate, lr);
    free(gradient);
    free(of_error);
    p->updates++;
    bool hard = cfg->target.mode == FGSF_TARGET_HARD && p->updates % cfg->target.period == 0;
    double rate = cfg->target.mode == FGSF_TARGET_POLYAK ? cfg->target.polyak : hard ? 1.0 : 0.0;
    for (size_t i = 0; p->target && i < p->opt.size; i++) {
        p->target[i] = hard ? p->theta[i] : p->target[i] + rate * (p->theta[i] - p->target[i]);
    }
}

fgsf_status world_learn(world *w) {
    w->learned = (fgsf_learned){0};
    return fgsf_learner_learn(w->t->learner, w->task, &w->learned);
}

static double difference(const fgsf_network *net, const double *truth, size_t size) {
    double worst = 0.0;
    for (size_t i = 0; i < size; i++) {
        worst = worse(worst, fabs(fgsf_network_parameters(net)[i] - truth[i]));
    }
    return worst;
}

double world_error(const world *w) {
    double worst = 0.0;
    for (int k = 0; k < w->num_policies; k++) {
        const twin *p = &w->policies[k];
        worst = worse(worst, difference(w->t->agent->nets[k], p->theta, p->opt.size));
        const fgsf_training *training = &w->t->learner->training[k];
        if (p->target) worst = worse(worst, difference(training->target, p->target, p->opt.size));
        if (p->error) {
            worst = worse(worst, difference(training->error, p->error->theta, p->opt.size));
        }
    }
    return worst;
}

double world_moved(const world *w, int k) {
    const twin *p = &w->policies[k];
    double most = 0.0;
    for (size_t i = 0; i < p->opt.size; i++) {
        most = fmax(most, fabs(p->theta[i] - p->start[i]));
    }
    return most;
}
