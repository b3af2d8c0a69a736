// Policy evaluation: folded equals plain equals the double reference, for any number of rows and
// rewards, on every device.
#include "fgsf/gpe.h"

#include <math.h>
#include <stdlib.h>

#include "support_assert.h"
#include "support_devices.h"
#include "support_problem.h"
#include "support_reference.h"

#define MAX_ROWS 40
#define LIMIT 1e-5

static fgsf_device *devices[NUM_DEVICES];

static const fgsf_network_shape shapes[] = {
    {.input = 5, .num_hidden = 2, .hidden = {8, 8}, .actions = 2, .features = 3, .bias = true},
    {.input = 5, .num_hidden = 2, .hidden = {8, 8}, .actions = 2, .features = 3, .bias = false},
    {.input = 7, .actions = 3, .features = 4, .bias = true},
    {.input = 7, .actions = 3, .features = 4, .bias = false},
    {.input = 1, .actions = 1, .features = 1, .bias = false},
    {.input = 6, .num_hidden = 1, .hidden = {12}, .actions = 9, .features = 1, .bias = true},
    {.input = 38, .num_hidden = 2, .hidden = {64, 64}, .actions = 4, .features = 5, .bias = true},
    {.input = 40, .num_hidden = 1, .hidden = {96}, .actions = 1, .features = 2, .bias = true},
};

// The exact Q of all rows: (rows, num_rho, actions), and x (rows, actions, features).
static void exact(const fgsf_network *net, const float *rho, int num_rho, const float *s, int rows,
                  double *q, double *x) {
    const fgsf_network_shape *shape = fgsf_network_get_shape(net);
    double *theta = reference_parameters(net);
    int actions = shape->actions, features = shape->features;
    for (int row = 0; row < rows; row++) {
        double *xs = x + row * actions * features;
        reference_forward(shape, theta, s + row * shape->input, xs);
        for (int r = 0; r < num_rho; r++) {
            for (int a = 0; a < actions; a++) {
                double sum = 0.0;
                for (int f = 0; f < features; f++) {
                    sum += xs[a * features + f] * (double)rho[r * features + f];
                }
                q[(row * num_rho + r) * actions + a] = sum;
            }
        }
    }
    free(theta);
}

static const int row_counts[] = {1, 2, 7, 8, 9, 16, 33, MAX_ROWS};

// All numbers of rewards from 1 to F + 2 at one number of rows.
static enum greatest_test_res evaluate(fgsf_gpe *gpe, const problem *p, const float *rho,
                                       int rows) {
    const fgsf_network_shape *shape = &p->params.shape;
    size_t outputs = (size_t)(shape->actions * shape->features), most = (size_t)shape->features + 2;
    double *q = reference_zeros((size_t)rows * most * (size_t)shape->actions);
    double *x = reference_zeros((size_t)rows * outputs);
    float *got = calloc((size_t)rows * most * outputs, sizeof(float));
    for (int num_rho = 1; num_rho <= (int)most; num_rho++) {
        size_t count = (size_t)(rows * num_rho * shape->actions);
        exact(p->net, rho, num_rho, p->s, rows, q, x);
        ASSERT_OK(fgsf_gpe_run(gpe, p->net, rho, num_rho, p->s, rows, got));
        ASSERT_BELOW("folded", reference_error(got, q, count), LIMIT);
        ASSERT_OK(fgsf_gpe_run_plain(gpe, p->net, rho, num_rho, p->s, rows, got));
        ASSERT_BELOW("plain", reference_error(got, q, count), LIMIT);
    }
    ASSERT_OK(fgsf_gpe_representation(gpe, p->net, p->s, rows, got));
    ASSERT_BELOW("representation", reference_error(got, x, (size_t)rows * outputs), LIMIT);
    free(q);
    free(x);
    free(got);
    PASS();
}

TEST matches_the_reference(int shape, enum fgsf_activation activation, int device) {
    fgsf_bellman_params params = fgsf_bellman_default_params(&shapes[shape]);
    params.shape.activation = activation;
    problem *p = problem_create(&params, MAX_ROWS, (uint64_t)shape);
    int features = params.shape.features;
    float *rho = calloc((size_t)((features + 2) * features), sizeof(float));
    fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_EVAL);
    for (int i = 0; i < (features + 2) * features; i++) {
        rho[i] = (float)fgsf_rng_normal(&rng);
    }
    fgsf_gpe *gpe = NULL;
    ASSERT_OK(fgsf_gpe_create(devices[device], &params.shape, MAX_ROWS, &gpe));
    for (size_t i = 0; i < sizeof row_counts / sizeof *row_counts; i++) {
        CHECK_CALL(evaluate(gpe, p, rho, row_counts[i]));
    }
    fgsf_gpe_free(gpe);
    free(rho);
    problem_free(p);
    PASS();
}

// One evaluator serves many networks, and sees a network's changes.
TEST follows_the_network(int device) {
    fgsf_bellman_params params = fgsf_bellman_default_params(&shapes[0]);
    problem *a = problem_create(&params, 8, 1), *b = problem_create(&params, 8, 2);
    static const float rho[] = {1.0f, -2.0f, 0.5f};
    float first[16], other[16], again[16];
    fgsf_gpe *gpe = NULL;
    ASSERT_OK(fgsf_gpe_create(devices[device], &params.shape, 8, &gpe));
    ASSERT_OK(fgsf_gpe_run(gpe, a->net, rho, 1, a->s, 8, first));
    ASSERT_OK(fgsf_gpe_run(gpe, b->net, rho, 1, a->s, 8, other));
    ASSERT(memcmp(first, other, sizeof first) != 0);
    ASSERT_OK(fgsf_gpe_run(gpe, a->net, rho, 1, a->s, 8, again));
    ASSERT_MEM_EQ(first, again, sizeof first);
    ASSERT_OK(fgsf_network_track(a->net, b->net, 1.0f));
    ASSERT_OK(fgsf_gpe_run(gpe, a->net, rho, 1, a->s, 8, again));
    ASSERT_MEM_EQ(other, again, sizeof first);
    fgsf_gpe_free(gpe);
    problem_free(a);
    problem_free(b);
    PASS();
}

TEST refuses_bad_calls(void) {
    fgsf_gpe *gpe = NULL;
    ASSERT_REFUSED(fgsf_gpe_create(devices[0], &shapes[0], 0, &gpe), "gpe.max_rows: 0");
    ASSERT_REFUSED(fgsf_gpe_create(devices[0], &shapes[0], 1 << 30, &gpe), "gpe.max_rows");
    fgsf_network_shape bad = shapes[0];
    bad.hidden[1] = 0;
    ASSERT_REFUSED(fgsf_gpe_create(devices[0], &bad, 8, &gpe), "network.hidden[1]");
    ASSERT_EQ(NULL, gpe);
    ASSERT_OK(fgsf_gpe_create(devices[0], &shapes[0], 8, &gpe));
    fgsf_bellman_params params = fgsf_bellman_default_params(&shapes[0]);
    problem *p = problem_create(&params, 8, 1);
    static const float rho[9] = {1.0f};
    float q[64] = {-7.0f};
    ASSERT_REFUSED(fgsf_gpe_run(gpe, p->net, rho, 1, p->s, 0, q), "gpe.rows: 0");
    ASSERT_REFUSED(fgsf_gpe_run(gpe, p->net, rho, 1, p->s, 9, q), "gpe.rows: 9 is not in [1, 8]");
    ASSERT_REFUSED(fgsf_gpe_run(gpe, p->net, rho, 0, p->s, 8, q), "gpe.num_rho: 0");
    ASSERT_REFUSED(fgsf_gpe_run_plain(gpe, p->net, rho, -1, p->s, 8, q), "gpe.num_rho: -1");
    ASSERT_REFUSED(fgsf_gpe_representation(gpe, p->net, p->s, 9, q), "gpe.rows: 9");
    fgsf_network *other = NULL;
    ASSERT_OK(fgsf_network_create(&shapes[1], &other));
    ASSERT_REFUSED(fgsf_gpe_run(gpe, other, rho, 1, p->s, 8, q), "gpe: the network");
    ASSERT_EQ(-7.0f, q[0]);
    fgsf_network_free(other);
    fgsf_gpe_free(gpe);
    fgsf_gpe_free(NULL);
    problem_free(p);
    PASS();
}

TEST counts_operations(void) {
    fgsf_gpe *gpe = NULL;
    ASSERT_OK(fgsf_gpe_create(devices[0], &shapes[0], 8, &gpe));
    double hidden = 5 * 8 + 8 * 8;
    fgsf_bellman_params params = fgsf_bellman_default_params(&shapes[0]);
    problem *p = problem_create(&params, 8, 1);
    static const float rho[5 * 3] = {1.0f};
    float q[4 * 5 * 2];
    ASSERT_OK(fgsf_gpe_run(gpe, p->net, rho, 1, p->s, 4, q));
    ASSERT_EQ(2.0 * 4 * (hidden + 8 * 2 * 1), fgsf_gpe_flops(gpe));
    ASSERT_OK(fgsf_gpe_run(gpe, p->net, rho, 5, p->s, 4, q));
    ASSERT_EQ(2.0 * 4 * (hidden + 8 * 2 * 3), fgsf_gpe_flops(gpe)); // not folded
    problem_free(p);
    fgsf_gpe_free(gpe);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int d = 0; d < NUM_DEVICES; d++) {
        if (fgsf_device_open(device_names[d], &devices[d]) != FGSF_OK) {
            fprintf(stderr, "%s\n", fgsf_last_error());
            return 1;
        }
    }
    for (int d = 0; d < NUM_DEVICES; d++) {
        for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
            RUN_TESTp(matches_the_reference, s, FGSF_RELU, d);
            RUN_TESTp(matches_the_reference, s, FGSF_SILU, d);
        }
        RUN_TEST1(follows_the_network, d);
    }
    RUN_TEST(refuses_bad_calls);
    RUN_TEST(counts_operations);
    for (int d = 0; d < NUM_DEVICES; d++) {
        fgsf_device_free(devices[d]);
    }
    GREATEST_MAIN_END();
}
