// Adam, SGD and Robbins-Monro SGD against the double reference, PyTorch's clip, and refusals.
#include "fgsf/optimizer.h"

#include <math.h>
#include <stdlib.h>

#include "support_assert.h"
#include "support_problem.h"
#include "support_reference.h"

#define STEPS 200

static fgsf_network *make_network(uint64_t seed) {
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    fgsf_network *net = NULL;
    fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    if (fgsf_network_create(&shape, &net) != FGSF_OK) {
        abort();
    }
    fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, &rng);
    return net;
}

// Random gradients of all magnitudes; the learning rate changes at every step.
TEST follows_the_reference(enum fgsf_opt_kind kind, double clip) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = kind;
    params.clip = clip;
    params.rm_k0 = 10.0;
    fgsf_network *net = make_network(3);
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(net));
    double *theta = reference_parameters(net), *exact = reference_zeros(size);
    float *gradient = calloc(size, sizeof(float));
    fgsf_optimizer *opt = NULL;
    ASSERT_OK(fgsf_optimizer_create(&params, net, &opt));
    reference_optimizer reference = reference_optimizer_create(&params, size);
    fgsf_rng rng = fgsf_rng_make(4, FGSF_STREAM_INIT);
    for (int step = 0; step < STEPS; step++) {
        double scale = pow(10.0, 4.0 * fgsf_rng_uniform(&rng) - 3.0), lr = 1e-3 / (1 + step % 3);
        for (size_t i = 0; i < size; i++) {
            exact[i] = gradient[i] = (float)(scale * fgsf_rng_normal(&rng));
        }
        double norm = 0.0;
        uint64_t version = fgsf_network_version(net);
        ASSERT_OK(fgsf_optimizer_step(opt, net, gradient, lr, &norm));
        double expected = reference_optimizer_step(&reference, theta, exact, lr);
        ASSERT_BELOW("norm", fabs(norm - expected), 1e-12 * expected);
        ASSERT(fgsf_network_version(net) != version);
    }
    ASSERT_EQ(STEPS, fgsf_optimizer_steps(opt));
    for (size_t i = 0; i < size; i++) {
        double error = fabs(fgsf_network_parameters(net)[i] - theta[i]);
        ASSERT_BELOW("parameter", error, 1e-6 + 1e-6 * fabs(theta[i]));
    }
    ASSERT_EQ(kind == FGSF_ADAM, fgsf_optimizer_moment(opt, 0) != NULL);
    ASSERT_EQ(kind == FGSF_ADAM, fgsf_optimizer_moment(opt, 1) != NULL);
    reference_optimizer_free(&reference);
    fgsf_optimizer_free(opt);
    fgsf_network_free(net);
    free(theta);
    free(exact);
    free(gradient);
    PASS();
}

// g *= clip / (norm + 1e-6) above the limit, untouched below; the reported norm is from before.
TEST clips_as_pytorch(void) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = FGSF_SGD;
    params.clip = 1.0;
    fgsf_network *net = make_network(1);
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(net));
    float *gradient = calloc(size, sizeof(float));
    fgsf_optimizer *opt = NULL;
    ASSERT_OK(fgsf_optimizer_create(&params, net, &opt));
    static const struct {
        float g0, g1;
        double moved; // by the first parameter at lr 1
    } cases[] = {
        {3.0f, 4.0f, 3.0 / (5.0 + 1e-6)},
        {0.3f, 0.4f, 0.3},
        {0.0f, 1.0f, 0.0},
        {2e-3f, 0.0f, 2e-3},
        {3e18f, 4e18f, 0.6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double norm = 0.0;
        gradient[0] = cases[i].g0;
        gradient[1] = cases[i].g1;
        memset(fgsf_network_edit(net), 0, size * sizeof(float));
        ASSERT_OK(fgsf_optimizer_step(opt, net, gradient, 1.0, &norm));
        double expected = hypot(cases[i].g0, cases[i].g1);
        ASSERT_BELOW("norm", fabs(norm - expected), 1e-7 * expected + 1e-300);
        double moved = -fgsf_network_parameters(net)[0];
        ASSERT_BELOW("step", fabs(moved - cases[i].moved), 2e-7 * fabs(cases[i].moved) + 1e-300);
    }
    fgsf_optimizer_free(opt);
    fgsf_network_free(net);
    free(gradient);
    PASS();
}

TEST refuses_a_gradient_that_is_not_finite(enum fgsf_opt_kind kind) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = kind;
    params.clip = 1.0;
    fgsf_network *net = make_network(2);
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(net)), bytes = size * sizeof(float);
    float *gradient = calloc(size, sizeof(float)), *before = malloc(bytes),
          *moments = malloc(bytes);
    fgsf_optimizer *opt = NULL;
    ASSERT_OK(fgsf_optimizer_create(&params, net, &opt));
    gradient[3] = 1.0f;
    ASSERT_OK(fgsf_optimizer_step(opt, net, gradient, 1e-3, NULL));
    memcpy(before, fgsf_network_parameters(net), bytes);
    if (kind == FGSF_ADAM) {
        memcpy(moments, fgsf_optimizer_moment(opt, 1), bytes);
    }
    uint64_t version = fgsf_network_version(net);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        double norm = 0.0;
        gradient[17] = bad[i];
        ASSERT_EQ(FGSF_DIVERGED, fgsf_optimizer_step(opt, net, gradient, 1e-3, &norm));
        ASSERT(!isfinite(norm));
        ASSERT(strstr(fgsf_last_error(), "norm"));
        ASSERT_MEM_EQ(before, fgsf_network_parameters(net), bytes);
        ASSERT_EQ(1, fgsf_optimizer_steps(opt));
        ASSERT_EQ(version, fgsf_network_version(net));
        if (kind == FGSF_ADAM) {
            ASSERT_MEM_EQ(moments, fgsf_optimizer_moment(opt, 1), bytes);
        }
    }
    fgsf_optimizer_free(opt);
    fgsf_network_free(net);
    free(gradient);
    free(before);
    free(moments);
    PASS();
}

// Steps, moments and parameters are the whole state: copied over, a second optimiser goes on alike.
TEST resumes_from_its_state(void) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    fgsf_network *a = make_network(5), *b = make_network(6);
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(a)), bytes = size * sizeof(float);
    float *gradient = calloc(size, sizeof(float));
    fgsf_optimizer *first = NULL, *second = NULL;
    ASSERT_OK(fgsf_optimizer_create(&params, a, &first));
    ASSERT_OK(fgsf_optimizer_create(&params, b, &second));
    for (int step = 0; step < 10; step++) {
        if (step == 5) {
            ASSERT_OK(fgsf_network_track(b, a, 1.0f));
            fgsf_optimizer_set_steps(second, fgsf_optimizer_steps(first));
            for (int k = 0; k < 2; k++) {
                memcpy(fgsf_optimizer_moment(second, k), fgsf_optimizer_moment(first, k), bytes);
            }
        }
        for (size_t i = 0; i < size; i++) {
            gradient[i] = sinf((float)(i + 31 * (size_t)step));
        }
        ASSERT_OK(fgsf_optimizer_step(first, a, gradient, 1e-2, NULL));
        ASSERT_OK(fgsf_optimizer_step(second, b, gradient, 1e-2, NULL));
    }
    ASSERT_MEM_EQ(fgsf_network_parameters(a), fgsf_network_parameters(b), bytes);
    fgsf_optimizer_free(first);
    fgsf_optimizer_free(second);
    fgsf_network_free(a);
    fgsf_network_free(b);
    free(gradient);
    PASS();
}

// A stretch that comes in late and counts its own steps moves as a new optimiser would move it; by the
// optimiser's count Adam's first steps would be several times too large, and sgd_rm's too small.
TEST counts_the_steps_of_a_stretch(enum fgsf_opt_kind kind) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = kind;
    params.rm_k0 = 10.0;
    fgsf_network *late = make_network(5), *fresh = make_network(5);
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(late)), half = size / 2;
    float *gradient = calloc(size, sizeof(float));
    fgsf_optimizer *first = NULL, *second = NULL;
    ASSERT_OK(fgsf_optimizer_create(&params, late, &first));
    ASSERT_OK(fgsf_optimizer_create(&params, fresh, &second));
    for (int step = -50; step < 20; step++) {
        fgsf_stretch parts[2] = {{.count = half, .lr = 1e-3}, {half, size - half, 1e-2, step + 1}};
        for (size_t i = 0; i < size; i++) gradient[i] = sinf((float)i + (float)step);
        int moving = step < 0 ? 1 : 2;
        ASSERT_OK(fgsf_optimizer_step_stretches(first, late, gradient, parts, moving, NULL));
        if (step >= 0) ASSERT_OK(fgsf_optimizer_step(second, fresh, gradient, 1e-2, NULL));
    }
    const float *of_late = fgsf_network_parameters(late) + half;
    const float *of_fresh = fgsf_network_parameters(fresh) + half;
    ASSERT_MEM_EQ(of_fresh, of_late, (size - half) * sizeof(float));
    fgsf_optimizer_free(first);
    fgsf_optimizer_free(second);
    fgsf_network_free(late);
    fgsf_network_free(fresh);
    free(gradient);
    PASS();
}

TEST refuses_bad_parameters(void) {
    fgsf_network *net = make_network(1);
    fgsf_optimizer *opt = NULL;
    fgsf_optimizer_params good = fgsf_optimizer_default_params(), p;
#define REFUSED(change, field)                                                                     \
    p = good;                                                                                      \
    change;                                                                                        \
    ASSERT_REFUSED(fgsf_optimizer_create(&p, net, &opt), field);                                   \
    ASSERT_EQ(NULL, opt)
    REFUSED(p.clip = -1.0, "opt.grad_clip: -1");
    REFUSED(p.clip = NAN, "opt.grad_clip");
    REFUSED(p.beta1 = 1.0, "opt.beta1");
    REFUSED(p.beta2 = -0.1, "opt.beta2");
    REFUSED(p.eps = 0.0, "opt.eps");
    REFUSED((p.kind = FGSF_SGD_RM, p.rm_k0 = 0.0), "opt.rm_k0");
    REFUSED(p.kind = (enum fgsf_opt_kind)5, "opt.kind");
#undef REFUSED
    ASSERT_OK(fgsf_optimizer_create(&good, net, &opt));
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    shape.hidden[0] = 64;
    fgsf_network *other = NULL;
    ASSERT_OK(fgsf_network_create(&shape, &other));
    ASSERT_REFUSED(fgsf_optimizer_step(opt, other, fgsf_network_parameters(other), 1.0, NULL),
                   "the optimiser was made for a network of another shape");
    fgsf_optimizer_free(opt);
    fgsf_optimizer_free(NULL);
    fgsf_network_free(net);
    fgsf_network_free(other);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    static const enum fgsf_opt_kind kinds[] = {FGSF_ADAM, FGSF_SGD, FGSF_SGD_RM};
    GREATEST_MAIN_BEGIN();
    for (int k = 0; k < 3; k++) {
        RUN_TESTp(follows_the_reference, kinds[k], 0.0);
        RUN_TESTp(follows_the_reference, kinds[k], 1.0);
        RUN_TEST1(refuses_a_gradient_that_is_not_finite, kinds[k]);
        RUN_TEST1(counts_the_steps_of_a_stretch, kinds[k]);
    }
    RUN_TEST(clips_as_pytorch);
    RUN_TEST(resumes_from_its_state);
    RUN_TEST(refuses_bad_parameters);
    GREATEST_MAIN_END();
}
