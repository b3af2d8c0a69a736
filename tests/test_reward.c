// Reward models against the same mathematics written out by hand in double precision.
#include <math.h>
#include <string.h>

#include "fgsf/device.h"
#include "fgsf/learner.h"
#include "fgsf/reward.h"
#include "learning.h"
#include "support_assert.h"

#define D 3

// Task 0 is linear, task 1 is not, task 2 (held out) is no function of phi.
static const double W[D] = {1.0, -0.5, 2.0};
static const double MEMBERS[5 * D] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.5, 0.5, 0.5};

static double nonlinear(const double *phi) {
    return phi[0] * phi[0] - 2.0 * phi[1] * phi[2] + 0.25;
}

static bool toy_reward(const void *context, int task, const double *phi, double *reward) {
    (void)context;
    if (task == 0) *reward = W[0] * phi[0] + W[1] * phi[1] + W[2] * phi[2];
    if (task == 1) *reward = nonlinear(phi);
    return task < 2;
}

static const fgsf_task tasks[] = {
    {.w = W, .reward = toy_reward, .task = 0},
    {.reward = toy_reward, .task = 1},
    {.reward = toy_reward, .task = 2},
};

static fgsf_reward_params params;
static fgsf_device *device;
static fgsf_feature_set *set; // exact, the five members

static fgsf_reward *make(enum fgsf_reward_model model, int task, uint64_t seed) {
    fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    fgsf_reward *reward = NULL;
    params.model = model;
    if (fgsf_reward_create(&params, &tasks[task], device, &rng, &reward) != FGSF_OK) return NULL;
    return reward;
}

static void random_phi(fgsf_rng *rng, float *phi) {
    for (int k = 0; k < D; k++) phi[k] = (float)(2.0 * fgsf_rng_uniform(rng) - 1.0);
}

static double dot(const double *w, const float *phi) {
    return w[0] * phi[0] + w[1] * phi[1] + w[2] * phi[2];
}

// A walk whose file is an array of doubles.
typedef struct array_walk {
    fgsf_walk walk;
    double *values;
    size_t count;
} array_walk;

static void walk_array(fgsf_walk *w, const char *name, fgsf_number type, void *data, size_t count) {
    array_walk *a = (array_walk *)w;
    if (strcmp(name, "task.0.reward") != 0 || type != FGSF_F64) w->status = FGSF_ERR_FORMAT;
    a->count = count;
    if (count == 0) return;
    memcpy(w->loading ? data : a->values, w->loading ? a->values : data, count * sizeof(double));
}

// Saves a model's state to `values`, or loads it from there; returns how many numbers that is.
static size_t walk_state(fgsf_reward *reward, bool loading, double *values) {
    array_walk a = {.walk = {.loading = loading, .array = walk_array}, .values = values};
    fgsf_reward_walk(reward, &a.walk, "task.0.reward");
    return a.walk.status == FGSF_OK ? a.count : SIZE_MAX;
}

static size_t save(fgsf_reward *reward, double *values) {
    return walk_state(reward, false, values);
}

// ---- known --------------------------------------------------------------------------------------

TEST known_linear_rewards_score_psi_and_xi(void) {
    fgsf_reward *reward = make(FGSF_REWARD_KNOWN, 0, 1);
    ASSERT(reward);
    float rho[5];
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, NULL, rho));
    for (int k = 0; k < D; k++) ASSERT_EQ((float)W[k], rho[k]);
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, set, rho));
    const float expected[5] = {0.0f, 1.0f, -0.5f, 2.0f, 1.25f};
    ASSERT_MEM_EQ(expected, rho, sizeof rho);
    const float phi[D] = {1, 1, 1};
    ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi, 100.0)); // nothing to learn
    ASSERT_EQ(2.5, fgsf_reward_predict(reward, phi));
    ASSERT_EQ(0.0, fgsf_reward_error(reward));
    ASSERT_EQ(0u, save(reward, NULL));
    fgsf_reward_free(reward);
    fgsf_reward_free(NULL);
    PASS();
}

TEST known_nonlinear_rewards_score_xi_only(void) {
    fgsf_reward *reward = make(FGSF_REWARD_KNOWN, 1, 1);
    ASSERT(reward);
    float rho[5];
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, set, rho));
    for (int f = 0; f < 5; f++) ASSERT_EQ((float)nonlinear(MEMBERS + f * D), rho[f]);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_rho(reward, NULL, rho));
    ASSERT(strstr(fgsf_last_error(), "not linear"));
    ASSERT(isnan(fgsf_reward_error(reward)));
    fgsf_reward_free(reward);
    ASSERT_EQ(NULL, make(FGSF_REWARD_KNOWN, 2, 1)); // outside the span of the features
    ASSERT(strstr(fgsf_last_error(), "task 2"));
    PASS();
}

// A learner of psi is told at once that it cannot use such a reward.
TEST known_nonlinear_rewards_are_refused_for_psi(void) {
    fgsf_learner_params learner = fgsf_learner_default_params();
    fgsf_learner *made = NULL;
    learner.agent.num_tasks = 2;
    learner.agent.num_actions = learner.agent.state_size = 1;
    learner.agent.num_features = D;
    learner.agent.tasks = tasks;
    learner.reward.model = FGSF_REWARD_KNOWN;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_learner_create(&learner, &made));
    ASSERT(strstr(fgsf_last_error(), "task 1"));
    ASSERT(strstr(fgsf_last_error(), "not linear"));
    ASSERT_EQ(NULL, made);
    learner.agent.num_tasks = 1;
    ASSERT_OK(fgsf_learner_create(&learner, &made));
    fgsf_learner_free(made);
    PASS();
}

TEST refuses_bad_parameters(void) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_reward_params bad = params;
    fgsf_reward *reward = NULL;
    bad.num_features = 0;
    ASSERT_REFUSED(fgsf_reward_create(&bad, NULL, device, &rng, &reward), "reward.num_features: 0");
    bad = params;
    bad.model = (enum fgsf_reward_model)9;
    ASSERT_REFUSED(fgsf_reward_create(&bad, NULL, device, &rng, &reward), "reward.model: 9");
    bad.model = FGSF_REWARD_KNOWN; // of nothing
    ASSERT_REFUSED(fgsf_reward_create(&bad, NULL, device, &rng, &reward), "reward.model=known");
    ASSERT_EQ(NULL, reward);
    PASS();
}

// ---- Linear models ------------------------------------------------------------------------------

// w after each step, as written in the specification.
static enum greatest_test_res follow_lms(enum fgsf_reward_model model, double alpha) {
    params.alpha_w = alpha;
    fgsf_reward *reward = make(model, 0, 5);
    ASSERT(reward);
    double w[D], state[D];
    ASSERT_EQ((size_t)D, save(reward, w));
    for (int k = 0; k < D; k++) ASSERT(fabs(w[k]) <= 0.01 && w[k] != 0.0);
    fgsf_rng rng = fgsf_rng_make(6, FGSF_STREAM_ENV);
    for (int t = 0; t < 200; t++) {
        float phi[D];
        random_phi(&rng, phi);
        double r = dot(W, phi) + 0.1 * fgsf_rng_normal(&rng);
        double square = phi[0] * (double)phi[0] + phi[1] * (double)phi[1] + phi[2] * (double)phi[2];
        double step = model == FGSF_REWARD_LINEAR_NLMS ? alpha / (1e-6 + square) : alpha;
        double error = r - dot(w, phi);
        for (int k = 0; k < D; k++) w[k] += step * error * phi[k];
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi, r));
        save(reward, state);
        for (int k = 0; k < D; k++) ASSERT_IN_RANGE(w[k], state[k], 1e-12);
        ASSERT_IN_RANGE(dot(w, phi), fgsf_reward_predict(reward, phi), 1e-12);
    }
    double expected = sqrt(pow(w[0] - W[0], 2) + pow(w[1] - W[1], 2) + pow(w[2] - W[2], 2)) /
                      sqrt(W[0] * W[0] + W[1] * W[1] + W[2] * W[2]);
    ASSERT_IN_RANGE(expected, fgsf_reward_error(reward), 1e-12);
    fgsf_reward_free(reward);
    params.alpha_w = 0.5;
    PASS();
}

TEST lms_takes_the_steps_written(void) {
    CHECK_CALL(follow_lms(FGSF_REWARD_LINEAR_LMS, 0.5));
    PASS();
}

TEST nlms_takes_the_steps_written(void) {
    CHECK_CALL(follow_lms(FGSF_REWARD_LINEAR_NLMS, 0.5));
    CHECK_CALL(follow_lms(FGSF_REWARD_LINEAR_NLMS, 1.9));
    PASS();
}

// |error| after n steps on one phi of squared length `square`, starting from about 1.
static double error_after(enum fgsf_reward_model model, double square, int n, fgsf_status *status) {
    fgsf_reward *reward = make(model, 0, 2);
    const float phi[D] = {(float)sqrt(square), 0, 0};
    *status = FGSF_OK;
    for (int t = 0; t < n && *status == FGSF_OK; t++)
        *status = fgsf_reward_update(reward, phi, 1.0);
    double error = fabs(1.0 - fgsf_reward_predict(reward, phi));
    fgsf_reward_free(reward);
    return error;
}

// With alpha = 0.5 the error's factor per step is 1 - 0.5 |phi|^2: stable below |phi|^2 = 4 alone.
TEST lms_is_stable_up_to_its_edge(void) {
    fgsf_status status;
    ASSERT(error_after(FGSF_REWARD_LINEAR_LMS, 1.0, 60, &status) < 1e-12);
    ASSERT(error_after(FGSF_REWARD_LINEAR_LMS, 3.9, 1000, &status) < 1e-9);
    double edge = error_after(FGSF_REWARD_LINEAR_LMS, 4.0, 1000, &status);
    ASSERT(edge > 0.9 && edge < 1.1);
    ASSERT(error_after(FGSF_REWARD_LINEAR_LMS, 4.1, 1000, &status) > 1e15);
    ASSERT_EQ(FGSF_OK, status);
    error_after(FGSF_REWARD_LINEAR_LMS, 100.0, 1000, &status);
    ASSERT_EQ(FGSF_DIVERGED, status);
    ASSERT(strstr(fgsf_last_error(), "task 0"));
    ASSERT(error_after(FGSF_REWARD_LINEAR_NLMS, 1e4, 60, &status) < 1e-12); // whatever the length
    ASSERT_EQ(FGSF_OK, status);
    PASS();
}

TEST rls_is_exact_after_independent_samples(void) {
    fgsf_reward *reward = make(FGSF_REWARD_LINEAR_RLS, 0, 3);
    const float phi[D][D] = {{1, 0.2f, 0}, {0, 1, -0.3f}, {0.5f, 0, 1}};
    ASSERT(reward);
    for (int t = 0; t < D; t++) {
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi[t], dot(W, phi[t])));
    }
    ASSERT(fgsf_reward_error(reward) < 1e-5); // up to the trust in the first weights
    float rho[D];
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, NULL, rho));
    for (int k = 0; k < D; k++) ASSERT_IN_RANGE(W[k], rho[k], 1e-4);
    fgsf_reward_free(reward);
    PASS();
}

// After n samples, RLS is the weighted ridge solution around its start; with noise and forgetting.
TEST rls_equals_weighted_ridge(void) {
    enum { N = 40 };
    params.forgetting = 0.95;
    fgsf_reward *reward = make(FGSF_REWARD_LINEAR_RLS, 0, 4);
    ASSERT(reward);
    fgsf_rng rng = fgsf_rng_make(8, FGSF_STREAM_ENV);
    float phi[N][D], scaled[N][D];
    double r[N], scaled_r[N], w[D], state[D + D * D];
    for (int t = 0; t < N; t++) {
        random_phi(&rng, phi[t]);
        r[t] = dot(W, phi[t]) + 0.3 * fgsf_rng_normal(&rng);
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi[t], r[t]));
    }
    for (int t = 0; t < N; t++) { // rows weighted by sqrt(0.95^age)
        double weight = pow(0.95, 0.5 * (N - 1 - t));
        for (int k = 0; k < D; k++) scaled[t][k] = (float)(weight * phi[t][k]);
        scaled_r[t] = weight * r[t];
    }
    ASSERT_EQ(FGSF_OK, fgsf_reward_ridge(scaled[0], scaled_r, N, D, 1e-7, w, NULL));
    ASSERT_EQ((size_t)(D + D * D), save(reward, state));
    for (int k = 0; k < D; k++) ASSERT_IN_RANGE(w[k], state[k], 1e-5);
    fgsf_reward_free(reward);
    params.forgetting = 1.0;
    PASS();
}

// Features that stay the same, or are zero, must not blow the covariance up.
TEST rls_forgets_no_more_than_it_knew(void) {
    params.forgetting = 0.5;
    fgsf_reward *reward = make(FGSF_REWARD_LINEAR_RLS, 0, 4);
    ASSERT(reward);
    const float same[D] = {1, 0, 0}, zero[D] = {0}, third[D] = {0, 0, 1};
    for (int t = 0; t < 5000; t++) {
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, t % 2 ? same : zero, t % 2 ? 1.0 : 0.0));
    }
    double state[D + D * D];
    save(reward, state);
    for (int i = 0; i < D + D * D; i++) ASSERT(fabs(state[i]) < 1e7);
    ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, third, 2.0)); // and it still learns at once
    ASSERT_IN_RANGE(2.0, fgsf_reward_predict(reward, third), 1e-4);
    ASSERT_IN_RANGE(1.0, fgsf_reward_predict(reward, same), 1e-4);
    fgsf_reward_free(reward);
    params.forgetting = 1.0;
    PASS();
}

// ---- MLP ----------------------------------------------------------------------------------------

// Where the parameters stand: 8 hidden, so weights (8, 3) | biases (8) | weights (8) | bias, each
// block padded to 16 floats.
#define HIDDEN 8
enum { W1 = 0, B1 = 32, W2 = 48, B2 = 64, FLAT = 80 };

static double silu(double x) {
    return x / (1.0 + exp(-x));
}

// Loss (r - f)^2, its clipped gradient and one Adam step, in double precision.
static double reference_step(double *theta, double *m, double *v, int steps, const float *phi,
                             double r, double lr) {
    double g[FLAT] = {0}, h[HIDDEN], slope[HIDDEN], f = theta[B2], norm = 0.0;
    for (int i = 0; i < HIDDEN; i++) {
        double x = theta[B1 + i];
        for (int k = 0; k < D; k++) x += theta[W1 + i * D + k] * phi[k];
        double s = 1.0 / (1.0 + exp(-x));
        h[i] = silu(x);
        slope[i] = s * (1.0 + x * (1.0 - s));
        f += theta[W2 + i] * h[i];
    }
    double out = -2.0 * (r - f);
    g[B2] = out;
    for (int i = 0; i < HIDDEN; i++) {
        g[W2 + i] = out * h[i];
        g[B1 + i] = out * theta[W2 + i] * slope[i];
        for (int k = 0; k < D; k++) g[W1 + i * D + k] = g[B1 + i] * phi[k];
    }
    for (int i = 0; i < FLAT; i++) norm += g[i] * g[i];
    norm = sqrt(norm);
    for (int i = 0; i < FLAT; i++) {
        double gi = norm > 1.0 ? g[i] / (norm + 1e-6) : g[i];
        m[i] = 0.9 * m[i] + 0.1 * gi;
        v[i] = 0.999 * v[i] + 0.001 * gi * gi;
        double mean = m[i] / (1.0 - pow(0.9, steps)), root = sqrt(v[i] / (1.0 - pow(0.999, steps)));
        theta[i] -= lr * mean / (root + 1e-8);
    }
    return f;
}

TEST mlp_takes_the_steps_written(void) {
    params.mlp_hidden = HIDDEN;
    params.mlp_lr = 1e-3;
    fgsf_reward *reward = make(FGSF_REWARD_MLP, 1, 7);
    ASSERT(reward);
    double state[3 * FLAT + 1], theta[FLAT], m[FLAT] = {0}, v[FLAT] = {0};
    ASSERT_EQ((size_t)(3 * FLAT + 1), save(reward, state));
    memcpy(theta, state, sizeof theta);
    fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_ENV);
    for (int t = 1; t <= 30; t++) {
        float phi[D];
        random_phi(&rng, phi);
        double r = t % 3 ? 0.2 * fgsf_rng_normal(&rng) : 5.0; // clipped and not
        double before = fgsf_reward_predict(reward, phi);
        double f = reference_step(theta, m, v, t, phi, r, 1e-3);
        ASSERT_IN_RANGE(f, before, 1e-5);
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi, r));
        save(reward, state);
        for (int i = 0; i < FLAT; i++) ASSERT_IN_RANGE(theta[i], state[i], 1e-5);
        ASSERT_EQ((double)t, state[3 * FLAT]);
    }
    fgsf_reward_free(reward);
    PASS();
}

TEST mlp_learns_what_no_linear_model_can(void) {
    params.mlp_hidden = 128;
    params.mlp_lr = 1e-3;
    fgsf_reward *reward = make(FGSF_REWARD_MLP, 1, 11);
    ASSERT(reward);
    fgsf_rng rng = fgsf_rng_make(12, FGSF_STREAM_ENV);
    for (int t = 0; t < 4000; t++) {
        int f = (int)fgsf_rng_below(&rng, 5);
        float phi[D];
        for (int k = 0; k < D; k++) phi[k] = (float)MEMBERS[f * D + k];
        ASSERT_EQ(FGSF_OK, fgsf_reward_update(reward, phi, nonlinear(MEMBERS + f * D)));
    }
    float rho[5];
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, set, rho));
    for (int f = 0; f < 5; f++) ASSERT_IN_RANGE(nonlinear(MEMBERS + f * D), rho[f], 0.02);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_rho(reward, NULL, rho)); // cannot score psi
    ASSERT(isnan(fgsf_reward_error(reward)));
    const float phi[D] = {0};
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_update(reward, phi, NAN));
    fgsf_reward_free(reward);
    PASS();
}

// More members than are scored at once, and slots without a member.
TEST rho_covers_every_slot(void) {
    fgsf_feature_set *bins = NULL, *prototypes = NULL;
    params.mlp_hidden = 16;
    fgsf_reward *reward = make(FGSF_REWARD_MLP, 0, 13);
    ASSERT(reward);
    fgsf_feature_set_params xi = {.kind = FGSF_XI_BINS, .num_features = D, .bins = 5};
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&xi, &bins));
    float rho[125];
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, bins, rho));
    for (int f = 0; f < 125; f++) {
        const float *phi = fgsf_feature_set_members(bins) + f * D;
        ASSERT_IN_RANGE(fgsf_reward_predict(reward, phi), rho[f], 1e-6);
    }
    xi.kind = FGSF_XI_PROTOTYPES;
    xi.max_centers = 8;
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&xi, &prototypes));
    const float phi[D] = {0.1f, 0.2f, 0.3f};
    int index = -1;
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(prototypes, phi, &index));
    ASSERT_EQ(FGSF_OK, fgsf_reward_rho(reward, prototypes, rho));
    ASSERT_IN_RANGE(fgsf_reward_predict(reward, phi), rho[0], 1e-6);
    for (int f = 1; f < 8; f++) ASSERT_EQ(0.0f, rho[f]);
    fgsf_feature_set_free(bins);
    fgsf_feature_set_free(prototypes);
    fgsf_reward_free(reward);
    PASS();
}

// ---- State --------------------------------------------------------------------------------------

TEST restored_models_go_on_bit_for_bit(void) {
    params.mlp_hidden = 16;
    for (int model = 0; model <= FGSF_REWARD_MLP; model++) {
        fgsf_reward *a = make((enum fgsf_reward_model)model, 0, 20);
        fgsf_reward *b = make((enum fgsf_reward_model)model, 0, 21);
        ASSERT(a && b);
        double state[512] = {0}, other[512] = {0};
        fgsf_rng rng = fgsf_rng_make(22, FGSF_STREAM_ENV);
        for (int t = 0; t < 60; t++) {
            float phi[D];
            random_phi(&rng, phi);
            double r = fgsf_rng_normal(&rng);
            ASSERT_EQ(FGSF_OK, fgsf_reward_update(a, phi, r));
            if (t >= 30) ASSERT_EQ(FGSF_OK, fgsf_reward_update(b, phi, r));
            if (t == 29) {
                ASSERT(save(a, state) <= 512);
                walk_state(b, true, state);
            }
        }
        ASSERT_EQ(save(a, state), save(b, other));
        ASSERT_MEM_EQ(state, other, sizeof state);
        const float phi[D] = {0.3f, -0.7f, 0.1f};
        ASSERT_EQ(fgsf_reward_predict(a, phi), fgsf_reward_predict(b, phi));
        fgsf_reward_free(a);
        fgsf_reward_free(b);
    }
    PASS();
}

// ---- Ridge --------------------------------------------------------------------------------------

// Phi'Phi = [[5, 3], [3, 3]] and Phi'r = (9, 7). lambda 0: w = (1, 4/3) with residuals -1/3, 2/3,
// -1/3. lambda 1: [[6, 3], [3, 4]] w = (9, 7) has w = (1, 1) with residuals 0, 1, 0.
TEST ridge_matches_the_hand(void) {
    const float phi[] = {2, 1, 1, 1, 0, 1};
    const double r[] = {3, 3, 1};
    double w[2] = {0}, rmse = -1.0;
    ASSERT_EQ(FGSF_OK, fgsf_reward_ridge(phi, r, 3, 2, 0.0, w, &rmse));
    ASSERT_IN_RANGE(1.0, w[0], 1e-12);
    ASSERT_IN_RANGE(4.0 / 3.0, w[1], 1e-12);
    ASSERT_IN_RANGE(sqrt((1.0 / 9.0 + 4.0 / 9.0 + 1.0 / 9.0) / 3.0), rmse, 1e-12);
    ASSERT_EQ(FGSF_OK, fgsf_reward_ridge(phi, r, 3, 2, 1.0, w, &rmse));
    ASSERT_IN_RANGE(1.0, w[0], 1e-12);
    ASSERT_IN_RANGE(1.0, w[1], 1e-12);
    ASSERT_IN_RANGE(sqrt((0.0 + 1.0 + 0.0) / 3.0), rmse, 1e-12);
    PASS();
}

TEST ridge_refuses_what_it_cannot_solve(void) {
    const float twice[] = {1, 2, 2, 4};
    const double r[] = {1, 2};
    double w[2] = {7, 7}, rmse = 7;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_ridge(twice, r, 2, 2, 0.0, w, &rmse));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_ridge(twice, r, 0, 2, 1.0, w, &rmse));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_ridge(twice, r, 2, 2, -1.0, w, &rmse));
    ASSERT(w[0] == 7 && rmse == 7);
    ASSERT_EQ(FGSF_OK, fgsf_reward_ridge(twice, r, 2, 2, 1e-6, w, &rmse));
    ASSERT(rmse < 1e-5);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    fgsf_feature_set_params exact = {
        .kind = FGSF_XI_EXACT, .num_features = D, .members = MEMBERS, .num_members = 5};
    params = fgsf_reward_default_params(D);
    if (fgsf_device_open("auto", &device) != FGSF_OK) return 1;
    if (fgsf_feature_set_create(&exact, &set) != FGSF_OK) return 1;
    RUN_TEST(known_linear_rewards_score_psi_and_xi);
    RUN_TEST(known_nonlinear_rewards_score_xi_only);
    RUN_TEST(known_nonlinear_rewards_are_refused_for_psi);
    RUN_TEST(refuses_bad_parameters);
    RUN_TEST(lms_takes_the_steps_written);
    RUN_TEST(nlms_takes_the_steps_written);
    RUN_TEST(lms_is_stable_up_to_its_edge);
    RUN_TEST(rls_is_exact_after_independent_samples);
    RUN_TEST(rls_equals_weighted_ridge);
    RUN_TEST(rls_forgets_no_more_than_it_knew);
    RUN_TEST(mlp_takes_the_steps_written);
    RUN_TEST(mlp_learns_what_no_linear_model_can);
    RUN_TEST(rho_covers_every_slot);
    RUN_TEST(restored_models_go_on_bit_for_bit);
    RUN_TEST(ridge_matches_the_hand);
    RUN_TEST(ridge_refuses_what_it_cannot_solve);
    fgsf_feature_set_free(set);
    fgsf_device_free(device);
    GREATEST_MAIN_END();
}
