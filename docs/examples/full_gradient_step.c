// One full-gradient step, from nothing: the complete program behind the README's example.
#include <stdio.h>

#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"

static int fail(void) {
    fprintf(stderr, "%s\n", fgsf_last_error());
    return 1;
}

int main(void) {
    // Two transitions of a two-state problem: one-hot states, two actions, two features.
    static const float s[] = {1, 0, 0, 1}, s_next[] = {0, 1, 1, 0}, y[] = {1, 0, 0, 1};
    static const float discount[] = {0.9f, 0.9f};
    static const int32_t a[] = {0, 1}, a_next[] = {1, 0};
    fgsf_batch batch = {.pairs = 2, .s = s, .a = a, .y = y, .s_next = s_next};
    batch.a_next = a_next;
    batch.discount = discount;

    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_device *device = NULL;
    fgsf_network *net = NULL;
    fgsf_bellman *bellman = NULL;
    fgsf_optimizer *opt = NULL;
    double loss, norm;

    fgsf_network_shape shape = {
        .input = 2, .num_hidden = 1, .hidden = {32}, .actions = 2, .features = 2, .bias = true};
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.grad_mix = 1.0; // the flag: 1 is the full gradient, 0 the semi-gradient
    fgsf_optimizer_params adam = fgsf_optimizer_default_params();
    if (fgsf_device_open("auto", &device) || fgsf_network_create(&shape, &net)) return fail();
    fgsf_network_init(net, FGSF_NORMAL_FAN_IN, &rng);
    if (fgsf_bellman_create(device, &params, &bellman)) return fail();
    if (fgsf_optimizer_create(&adam, net, &opt)) return fail();
    if (fgsf_bellman_run(bellman, &batch, net, NULL, &loss)) return fail();
    if (fgsf_optimizer_step(opt, net, fgsf_bellman_gradient(bellman), 1e-3, &norm)) return fail();

    printf("loss %.4f, gradient norm %.4f\n", loss, norm);
    fgsf_optimizer_free(opt);
    fgsf_bellman_free(bellman);
    fgsf_network_free(net);
    fgsf_device_free(device);
    return 0;
}
