// Reward models of one task: given, linear by LMS, NLMS or RLS, or an MLP through ggml.
#include "fgsf/reward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/bellman.h"
#include "fgsf/gpe.h"
#include "fgsf/optimizer.h"
#include "learning.h"
#include "require.h"

#define ROWS 64       // members that the MLP scores at once
#define RLS_START 1e6 // the first covariance is this times I: little trust in the first weights
#define MLP_CLIP 1.0

typedef struct mlp {
    fgsf_network *net;
    fgsf_bellman *bellman;
    fgsf_optimizer *opt;
    fgsf_gpe *gpe;
    double lr;
    double *saved; // (3 n + 1) for n parameters, while they are saved or loaded
} mlp;

struct fgsf_reward {
    enum fgsf_reward_model model;
    fgsf_task task;
    int d;
    double alpha, forgetting;
    bool linear;    // the true reward is w_true . phi
    double *w;      // (d), the start of all numbers
    double *p;      // (d, d), linear_rls; directly behind w, so that the two are saved together
    double *w_true; // (d)
    double *gain;   // (d), scratch
    mlp mlp;
};

static double dot(const double *w, const float *phi, int d) {
    double sum = 0.0;
    for (int k = 0; k < d; k++) sum += w[k] * phi[k];
    return sum;
}

// ---- Creation -----------------------------------------------------------------------------------

static fgsf_status create_mlp(mlp *m, const fgsf_reward_params *params, fgsf_device *device,
                              fgsf_rng *rng) {
    fgsf_network_shape shape = {.input = params->num_features,
                                .num_hidden = 1,
                                .hidden = {(int)params->mlp_hidden},
                                .actions = 1,
                                .features = 1,
                                .activation = FGSF_SILU,
                                .bias = true};
    fgsf_optimizer_params optimizer = fgsf_optimizer_default_params();
    optimizer.clip = MLP_CLIP;
    fgsf_bellman_params bellman = fgsf_bellman_default_params(&shape);
    bellman.max_pairs = 1;
    bellman.loss_scale = FGSF_MEAN;
    m->lr = params->mlp_lr;
    FGSF_TRY(fgsf_network_create(&shape, &m->net));
    fgsf_network_init(m->net, FGSF_UNIFORM_FAN_IN, rng);
    FGSF_TRY(fgsf_bellman_create(device, &bellman, &m->bellman));
    FGSF_TRY(fgsf_optimizer_create(&optimizer, m->net, &m->opt));
    m->saved = malloc((3 * fgsf_network_size(m->net) + 1) * sizeof *m->saved);
    if (!m->saved) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a reward model");
    return fgsf_gpe_create(device, &shape, ROWS, &m->gpe);
}

static bool task_reward(const fgsf_reward *reward, const double *phi, double *value) {
    const fgsf_task *task = &reward->task;
    return task->reward && task->reward(task->context, task->task, phi, value);
}

static fgsf_status create_known(fgsf_reward *reward) {
    double value = 0.0;
    memcpy(reward->w, reward->w_true, (size_t)reward->d * sizeof *reward->w);
    if (reward->linear || task_reward(reward, reward->gain, &value)) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "reward.model=known: the reward of task %d is no function "
                     "of phi",
                     reward->task.task);
}

static fgsf_status create_model(fgsf_reward *reward, const fgsf_reward_params *params,
                                fgsf_device *device, fgsf_rng *rng) {
    int d = reward->d;
    switch (reward->model) {
    case FGSF_REWARD_KNOWN:
        return create_known(reward);
    case FGSF_REWARD_MLP:
        return create_mlp(&reward->mlp, params, device, rng);
    case FGSF_REWARD_LINEAR_LMS:
    case FGSF_REWARD_LINEAR_NLMS:
    case FGSF_REWARD_LINEAR_RLS:
        for (int k = 0; k < d; k++) reward->w[k] = 0.01 * (2.0 * fgsf_rng_uniform(rng) - 1.0);
        for (int k = 0; k < d; k++) reward->p[k * d + k] = RLS_START;
        return FGSF_OK;
    }
    return fgsf_fail(FGSF_ERR_INVALID, "reward.model: %d is not a model", (int)reward->model);
}

fgsf_reward_params fgsf_reward_default_params(int num_features) {
    return (fgsf_reward_params){.model = FGSF_REWARD_LINEAR_NLMS,
                                .num_features = num_features,
                                .alpha_w = 0.5,
                                .forgetting = 1.0,
                                .mlp_hidden = 128,
                                .mlp_lr = 1e-3};
}

fgsf_status fgsf_reward_create(const fgsf_reward_params *params, const fgsf_task *task,
                               fgsf_device *device, fgsf_rng *rng, fgsf_reward **out) {
    FGSF_REQUIRE(params && rng && out);
    const fgsf_check checks[] = {
        {"num_features", params->num_features,
         params->num_features >= 1 && params->num_features <= 1 << 20},
        {"alpha_w", params->alpha_w, params->alpha_w >= 0.0 && isfinite(params->alpha_w)},
        {"forgetting", params->forgetting, params->forgetting > 0.0 && params->forgetting <= 1.0},
        {"mlp_hidden", (double)params->mlp_hidden,
         params->mlp_hidden >= 1 && params->mlp_hidden <= 1 << 20},
        {"mlp_lr", params->mlp_lr, params->mlp_lr >= 0.0 && isfinite(params->mlp_lr)}};
    FGSF_TRY(fgsf_check_all("reward", checks, sizeof checks / sizeof *checks));
    size_t d = (size_t)params->num_features;
    fgsf_reward *reward = calloc(1, sizeof *reward);
    double *numbers = calloc(3 * d + d * d, sizeof *numbers);
    if (!reward || !numbers) {
        free(reward);
        free(numbers);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a reward model of %zu features", d);
    }
    *reward = (fgsf_reward){.model = params->model,
                            .task = task ? *task : (fgsf_task){0},
                            .d = (int)d,
                            .alpha = params->alpha_w,
                            .forgetting = params->forgetting,
                            .w = numbers,
                            .p = numbers + d,
                            .w_true = numbers + d + d * d,
                            .gain = numbers + 2 * d + d * d};
    reward->linear = reward->task.w != NULL;
    if (reward->linear) memcpy(reward->w_true, reward->task.w, d * sizeof *numbers);
    fgsf_status status = create_model(reward, params, device, rng);
    if (status == FGSF_OK) *out = reward;
    if (status != FGSF_OK) fgsf_reward_free(reward);
    return status;
}

void fgsf_reward_free(fgsf_reward *reward) {
    if (!reward) return;
    fgsf_gpe_free(reward->mlp.gpe);
    fgsf_optimizer_free(reward->mlp.opt);
    fgsf_bellman_free(reward->mlp.bellman);
    fgsf_network_free(reward->mlp.net);
    free(reward->mlp.saved);
    free(reward->w);
    free(reward);
}

// ---- Learning -----------------------------------------------------------------------------------

static void update_lms(fgsf_reward *reward, const float *phi, double r) {
    double step = reward->alpha;
    if (reward->model == FGSF_REWARD_LINEAR_NLMS) {
        double square = 0.0;
        for (int k = 0; k < reward->d; k++) square += (double)phi[k] * phi[k];
        step /= 1e-6 + square;
    }
    double error = r - dot(reward->w, phi, reward->d);
    for (int k = 0; k < reward->d; k++) reward->w[k] += step * error * phi[k];
}

// P <- (P - g g' / (lambda + phi' g)) / lambda with g = P phi. The division by lambda is left out
// while it would raise the trace of P above its start: without new directions P would grow forever.
static void update_rls(fgsf_reward *reward, const float *phi, double r) {
    int d = reward->d;
    double *g = reward->gain, *p = reward->p;
    for (int i = 0; i < d; i++) g[i] = dot(p + i * d, phi, d);
    double scale = 1.0 / (reward->forgetting + dot(g, phi, d));
    double error = r - dot(reward->w, phi, d);
    double trace = 0.0;
    for (int i = 0; i < d; i++) {
        reward->w[i] += scale * error * g[i];
        for (int j = 0; j < d; j++) p[i * d + j] -= scale * g[i] * g[j];
        trace += p[i * d + i];
    }
    if (reward->forgetting == 1.0 || trace > RLS_START * d * reward->forgetting) return;
    for (int i = 0; i < d * d; i++) p[i] /= reward->forgetting;
}

// The squared error is the Bellman error of a network with one action and discount 0.
static fgsf_status update_mlp(mlp *m, const float *phi, double r) {
    const int32_t zero = 0;
    const float y = (float)r, discount = 0.0f;
    fgsf_batch batch = {.pairs = 1,
                        .s = phi,
                        .a = &zero,
                        .y = &y,
                        .s_next = phi,
                        .a_next = &zero,
                        .discount = &discount};
    double loss = 0.0;
    FGSF_TRY(fgsf_bellman_run(m->bellman, &batch, m->net, NULL, &loss));
    return fgsf_optimizer_step(m->opt, m->net, fgsf_bellman_gradient(m->bellman), m->lr, NULL);
}

fgsf_status fgsf_reward_update(fgsf_reward *reward, const float *phi, double r) {
    FGSF_REQUIRE(reward && phi && isfinite(r) && fgsf_all_finite(phi, (size_t)reward->d));
    switch (reward->model) {
    case FGSF_REWARD_KNOWN:
        return FGSF_OK;
    case FGSF_REWARD_MLP:
        return update_mlp(&reward->mlp, phi, r);
    case FGSF_REWARD_LINEAR_LMS:
    case FGSF_REWARD_LINEAR_NLMS:
        update_lms(reward, phi, r);
        break;
    case FGSF_REWARD_LINEAR_RLS:
        update_rls(reward, phi, r);
        break;
    }
    for (int k = 0; k < reward->d; k++) {
        if (!isfinite(reward->w[k])) {
            return fgsf_fail(FGSF_DIVERGED, "the reward weight %d of task %d is %g", k,
                             reward->task.task, reward->w[k]);
        }
    }
    return FGSF_OK;
}

// ---- Evaluation ---------------------------------------------------------------------------------

static double known_reward(const fgsf_reward *reward, const float *phi) {
    if (reward->linear) return dot(reward->w, phi, reward->d);
    double value = 0.0;
    for (int k = 0; k < reward->d; k++) reward->gain[k] = phi[k];
    return task_reward(reward, reward->gain, &value) ? value : NAN;
}

double fgsf_reward_predict(fgsf_reward *reward, const float *phi) {
    if (!(reward && phi)) return 0;
    if (reward->model == FGSF_REWARD_KNOWN) return known_reward(reward, phi);
    if (reward->model != FGSF_REWARD_MLP) return dot(reward->w, phi, reward->d);
    const float one = 1.0f;
    float value = NAN;
    fgsf_status status = fgsf_gpe_run(reward->mlp.gpe, reward->mlp.net, &one, 1, phi, 1, &value);
    return status == FGSF_OK ? value : NAN;
}

static fgsf_status mlp_rho(const mlp *m, const float *members, int count, int d, float *rho) {
    const float one = 1.0f;
    for (int f = 0; f < count; f += ROWS) {
        int rows = count - f < ROWS ? count - f : ROWS;
        FGSF_TRY(
            fgsf_gpe_run(m->gpe, m->net, &one, 1, members + (size_t)f * (size_t)d, rows, rho + f));
    }
    return FGSF_OK;
}

fgsf_status fgsf_reward_rho(fgsf_reward *reward, const fgsf_feature_set *set, float *rho) {
    FGSF_REQUIRE(reward && rho);
    int d = reward->d;
    if (!set) {
        if (reward->model == FGSF_REWARD_MLP ||
            (reward->model == FGSF_REWARD_KNOWN && !reward->linear)) {
            return fgsf_fail(FGSF_ERR_INVALID,
                             "reward: the model of task %d is not linear, so it cannot score psi",
                             reward->task.task);
        }
        for (int k = 0; k < d; k++) rho[k] = (float)reward->w[k];
        return FGSF_OK;
    }
    FGSF_REQUIRE(fgsf_feature_set_width(set) == d);
    const float *members = fgsf_feature_set_members(set);
    int count = fgsf_feature_set_count(set), size = fgsf_feature_set_size(set);
    for (int f = count; f < size; f++) rho[f] = 0.0f;
    if (reward->model == FGSF_REWARD_MLP) return mlp_rho(&reward->mlp, members, count, d, rho);
    for (int f = 0; f < count; f++) {
        rho[f] = (float)fgsf_reward_predict(reward, members + (size_t)f * (size_t)d);
    }
    return FGSF_OK;
}

double fgsf_reward_error(const fgsf_reward *reward) {
    if (!reward) return 0;
    if (!reward->linear || reward->model == FGSF_REWARD_MLP) return NAN;
    double difference = 0.0, norm = 0.0;
    for (int k = 0; k < reward->d; k++) {
        double e = reward->w[k] - reward->w_true[k];
        difference += e * e;
        norm += reward->w_true[k] * reward->w_true[k];
    }
    return norm > 0.0 ? sqrt(difference / norm) : NAN;
}

// ---- State --------------------------------------------------------------------------------------

// Copies parameters, both moments and the steps to doubles, which hold floats and counts exactly, or
// back from there.
static void copy_mlp(mlp *m, bool back) {
    size_t n = fgsf_network_size(m->net);
    float *parameters = back ? fgsf_network_edit(m->net) : (float *)fgsf_network_parameters(m->net);
    float *parts[] = {parameters, fgsf_optimizer_moment(m->opt, 0),
                      fgsf_optimizer_moment(m->opt, 1)};
    for (size_t i = 0; i < 3 * n; i++) {
        float *own = &parts[i / n][i % n];
        if (back) *own = (float)m->saved[i];
        if (!back) m->saved[i] = *own;
    }
    if (back) fgsf_optimizer_set_steps(m->opt, (int64_t)m->saved[3 * n]);
    if (!back) m->saved[3 * n] = (double)fgsf_optimizer_steps(m->opt);
}

// The last number counts steps.
static fgsf_status check_saved(const mlp *m, const char *source, const char *name) {
    double steps = m->saved[3 * fgsf_network_size(m->net)];
    if (steps >= 0.0 && steps <= 1e15) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s: %g is not a number of steps", source, name, steps);
}

void fgsf_reward_walk(fgsf_reward *reward, fgsf_walk *w, const char *name) {
    mlp *m = &reward->mlp;
    size_t d = (size_t)reward->d;
    switch (reward->model) {
    case FGSF_REWARD_KNOWN:
        w->array(w, name, FGSF_F64, NULL, 0);
        break;
    case FGSF_REWARD_LINEAR_LMS:
    case FGSF_REWARD_LINEAR_NLMS:
        w->array(w, name, FGSF_F64, reward->w, d);
        break;
    case FGSF_REWARD_LINEAR_RLS:
        w->array(w, name, FGSF_F64, reward->w, d + d * d);
        break;
    case FGSF_REWARD_MLP:
        if (!w->loading) copy_mlp(m, false);
        w->array(w, name, FGSF_F64, m->saved, 3 * fgsf_network_size(m->net) + 1);
        if (w->loading && w->status == FGSF_OK) w->status = check_saved(m, w->source, name);
        if (w->loading && w->status == FGSF_OK) copy_mlp(m, true);
        break;
    }
}

// ---- Ridge regression ---------------------------------------------------------------------------

// Replaces the lower triangle of a (d, d) by its Cholesky factor; false when a is singular.
static bool factorise(double *a, int d) {
    for (int j = 0; j < d; j++) {
        double start = a[j * d + j], pivot = start;
        for (int k = 0; k < j; k++) pivot -= a[j * d + k] * a[j * d + k];
        if (!(pivot > 1e-13 * start)) return false; // what is left is rounding
        a[j * d + j] = sqrt(pivot);
        for (int i = j + 1; i < d; i++) {
            for (int k = 0; k < j; k++) a[i * d + j] -= a[i * d + k] * a[j * d + k];
            a[i * d + j] /= a[j * d + j];
        }
    }
    return true;
}

// Solves L L' x = b in place.
static void solve(const double *l, int d, double *x) {
    for (int i = 0; i < d; i++) {
        for (int k = 0; k < i; k++) x[i] -= l[i * d + k] * x[k];
        x[i] /= l[i * d + i];
    }
    for (int i = d - 1; i >= 0; i--) {
        for (int k = i + 1; k < d; k++) x[i] -= l[k * d + i] * x[k];
        x[i] /= l[i * d + i];
    }
}

fgsf_status fgsf_reward_ridge(const float *phi, const double *r, int n, int num_features,
                              double lambda, double *w, double *rmse) {
    int d = num_features;
    FGSF_REQUIRE(phi && r && w);
    if (n < 1 || d < 1 || !(lambda >= 0.0 && isfinite(lambda))) {
        return fgsf_fail(FGSF_ERR_INVALID, "ridge: %d rows of %d features with lambda %g", n, d,
                         lambda);
    }
    for (size_t i = 0; i < (size_t)n * (size_t)d; i++) {
        if (!isfinite(phi[i]) || !isfinite(r[i / (size_t)d])) {
            return fgsf_fail(FGSF_ERR_INVALID, "ridge: row %zu is not finite", i / (size_t)d);
        }
    }
    double *a = calloc((size_t)d * (size_t)(d + 1), sizeof *a);
    if (!a) return fgsf_fail(FGSF_ERR_MEMORY, "ridge: no memory for %d features", d);
    double *b = a + (size_t)d * (size_t)d;
    for (int t = 0; t < n; t++) {
        const float *row = phi + (size_t)t * (size_t)d;
        for (int i = 0; i < d; i++) {
            b[i] += row[i] * r[t];
            for (int j = 0; j <= i; j++) a[i * d + j] += (double)row[i] * row[j];
        }
    }
    for (int i = 0; i < d; i++) a[i * d + i] += lambda;
    bool regular = factorise(a, d);
    if (regular) {
        solve(a, d, b);
        memcpy(w, b, (size_t)d * sizeof *w);
    }
    free(a);
    if (!regular) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "ridge: %d rows do not determine %d weights with lambda %g", n, d, lambda);
    }
    double sum = 0.0;
    for (int t = 0; t < n; t++) {
        double e = r[t] - dot(w, phi + (size_t)t * (size_t)d, d);
        sum += e * e;
    }
    if (rmse) *rmse = sqrt(sum / n);
    return FGSF_OK;
}
