// Uses the installed library from C: the linked version is that of the headers, and full-gradient
// steps on one small batch bring its Bellman loss down.
#include <stdio.h>
#include <string.h>

#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"
#include "fgsf/version.h"

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, fgsf_last_error());
    return 1;
}

// Two pairs of a two-state problem, one-hot states, two actions, two features.
static int take_steps(fgsf_device *device, fgsf_network *net, double *first, double *last) {
    static const float s[] = {1, 0, 0, 1}, s_next[] = {0, 1, 1, 0}, y[] = {1, 0, 0, 1};
    static const float discount[] = {0.9f, 0.9f};
    static const int32_t a[] = {0, 1}, a_next[] = {1, 0};
    fgsf_batch batch = {.pairs = 2, .s = s, .a = a, .y = y, .s_next = s_next};
    batch.a_next = a_next;
    batch.discount = discount;
    fgsf_bellman_params params = fgsf_bellman_default_params(fgsf_network_get_shape(net));
    fgsf_optimizer_params opt_params = fgsf_optimizer_default_params();
    fgsf_bellman *bellman = NULL;
    fgsf_optimizer *opt = NULL;
    fgsf_status status = fgsf_bellman_create(device, &params, &bellman);
    if (status == FGSF_OK) status = fgsf_optimizer_create(&opt_params, net, &opt);
    for (int step = 0; step < 1000 && status == FGSF_OK; step++) {
        status = fgsf_bellman_run(bellman, &batch, net, NULL, last);
        if (step == 0) *first = *last;
        if (status == FGSF_OK)
            status = fgsf_optimizer_step(opt, net, fgsf_bellman_gradient(bellman), 1e-2, NULL);
    }
    fgsf_optimizer_free(opt);
    fgsf_bellman_free(bellman);
    return status == FGSF_OK ? 0 : fail("step");
}

int main(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", FGSF_VERSION_MAJOR, FGSF_VERSION_MINOR,
             FGSF_VERSION_PATCH);
    printf("fgsf %s on ggml %s", fgsf_version(), fgsf_ggml_version());
    if (strcmp(expected, fgsf_version()) != 0) return 1;

    fgsf_network_shape shape = {.input = 2, .actions = 2, .features = 2, .bias = true};
    shape.num_hidden = 1;
    shape.hidden[0] = 16;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_device *device = NULL;
    fgsf_network *net = NULL;
    double first = 0.0, last = 0.0;
    if (fgsf_device_open("auto", &device) != FGSF_OK) return fail("device");
    if (fgsf_network_create(&shape, &net) != FGSF_OK) return fail("network");
    fgsf_network_init(net, FGSF_NORMAL_FAN_IN, &rng);
    int failed = take_steps(device, net, &first, &last);
    fgsf_network_free(net);
    fgsf_device_free(device);
    printf(", loss %.3g -> %.3g\n", first, last);
    return failed || !(last < 0.1 * first);
}
