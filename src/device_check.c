// Checks a device before it is trusted: one full-gradient problem there and on ggml's plain CPU
// backend. Devices that compute in half precision, say, show here.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/bellman.h"
#include "fgsf/device.h"
#include "require.h"

// Two batches: a device may have other kernels, and another precision, for the few rows of a small one.
static const int batches[] = {32, 4};
enum { PAIRS = 32, INPUT = 38, ACTIONS = 4, FEATURES = 4 };

typedef struct check_data {
    float s[PAIRS * INPUT], s_next[PAIRS * INPUT], y[PAIRS * FEATURES], discount[PAIRS];
    int32_t a[PAIRS], a_next[PAIRS];
} check_data;

static void draw(check_data *data, fgsf_rng *rng) {
    for (int i = 0; i < PAIRS * INPUT; i++) {
        data->s[i] = (float)fgsf_rng_normal(rng);
        data->s_next[i] = (float)fgsf_rng_normal(rng);
    }
    for (int i = 0; i < PAIRS * FEATURES; i++) data->y[i] = (float)fgsf_rng_normal(rng);
    for (int b = 0; b < PAIRS; b++) {
        data->discount[b] = b % 8 ? 0.95f : 0.0f;
        data->a[b] = (int32_t)fgsf_rng_below(rng, ACTIONS);
        data->a_next[b] = (int32_t)fgsf_rng_below(rng, ACTIONS);
    }
}

// Runs the problem on its first pairs and copies the gradient out.
static fgsf_status solve(fgsf_device *device, const check_data *data, int pairs,
                         const fgsf_network *net, double *loss, float *gradient) {
    const fgsf_network_shape *shape = fgsf_network_get_shape(net);
    fgsf_bellman_params params = fgsf_bellman_default_params(shape);
    params.max_pairs = pairs;
    fgsf_batch batch = {.pairs = pairs,
                        .s = data->s,
                        .a = data->a,
                        .y = data->y,
                        .s_next = data->s_next,
                        .a_next = data->a_next,
                        .discount = data->discount};
    fgsf_bellman *bellman = NULL;
    fgsf_status status = fgsf_bellman_create(device, &params, &bellman);
    if (status == FGSF_OK) status = fgsf_bellman_run(bellman, &batch, net, NULL, loss);
    if (status == FGSF_OK) {
        memcpy(gradient, fgsf_bellman_gradient(bellman),
               fgsf_network_flat_size(shape) * sizeof(float));
    }
    fgsf_bellman_free(bellman);
    return status;
}

// The larger of the two relative errors; infinity where there is a NaN.
static double compare(const double loss[2], const float *gradient, const float *truth,
                      size_t size) {
    double largest = 0.0, error = 0.0;
    for (size_t i = 0; i < size; i++) {
        double difference = fabs((double)gradient[i] - truth[i]);
        largest = fmax(largest, fabs((double)truth[i]));
        error = difference <= error ? error : difference;
    }
    error = fmax(error / largest, fabs(loss[0] - loss[1]) / fabs(loss[1]));
    return isfinite(error) && isfinite(loss[0]) ? error : INFINITY;
}

fgsf_status fgsf_device_check(fgsf_device *device, double limit, double *error) {
    FGSF_REQUIRE(device);
    fgsf_network_shape shape = {.input = INPUT,
                                .num_hidden = 2,
                                .hidden = {64, 64},
                                .actions = ACTIONS,
                                .features = FEATURES,
                                .activation = FGSF_SILU, // no kink that rounding could cross
                                .bias = true};
    size_t size = fgsf_network_flat_size(&shape);
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_device *cpu = NULL;
    fgsf_network *net = NULL;
    check_data *data = malloc(sizeof *data);
    float *gradients = malloc(2 * size * sizeof *gradients);
    double loss[2] = {0}, largest = 0.0;
    fgsf_status status = data && gradients ? fgsf_network_create(&shape, &net)
                                           : fgsf_fail(FGSF_ERR_MEMORY, "no memory for a check");
    if (status == FGSF_OK) status = fgsf_device_open("cpu", &cpu);
    if (status == FGSF_OK) {
        fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, &rng);
        draw(data, &rng);
    }
    for (int k = 0; k < 2 && status == FGSF_OK; k++) {
        status = solve(device, data, batches[k], net, &loss[0], gradients);
        if (status == FGSF_OK) {
            status = solve(cpu, data, batches[k], net, &loss[1], gradients + size);
        }
        if (status == FGSF_OK) {
            largest = fmax(largest, compare(loss, gradients, gradients + size, size));
        }
    }
    if (status == FGSF_OK && error) *error = largest;
    if (status == FGSF_OK && !(largest <= limit)) {
        status = fgsf_fail(FGSF_ERR_UNSUPPORTED,
                           "device: loss or gradient on %s differ from the CPU's by %.3g, more "
                           "than %.3g",
                           fgsf_device_description(device), largest, limit);
    }
    fgsf_network_free(net);
    fgsf_device_free(cpu);
    free(data);
    free(gradients);
    return status;
}
