// Devices with memory of their own: steps inside the graph against the host's optimiser, one graph for
// several policies, and what travels. On the device `resident`, with what it is taken to lack and
// without; and on the device that FGSF_TEST_DEVICE names, Vulkan0 say.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support_assert.h"
#include "support_problem.h"
#include "update.h"

#define STEPS 200

static const char *name = "resident";
static bool complete; // `resident` with the operations that it is usually taken to lack

static fgsf_device *open_device(void) {
    fgsf_device *device = NULL;
    if (fgsf_device_open(name, &device) != FGSF_OK) abort();
    if (complete) device->poor = false;
    return device;
}

static fgsf_network *make_network(uint64_t seed) {
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    fgsf_network *net = NULL;
    fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    if (fgsf_network_create(&shape, &net) != FGSF_OK) abort();
    fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, &rng);
    return net;
}

static double difference(const float *a, const float *b, size_t size) {
    double worst = 0.0;
    for (size_t i = 0; i < size; i++) worst = worse(worst, fabs((double)a[i] - b[i]));
    return worst;
}

static double apart(const fgsf_network *a, const fgsf_network *b) {
    return difference(fgsf_network_parameters(a), fgsf_network_parameters(b), fgsf_network_size(a));
}

// A graph of one step, with its inputs: the gradient is a network's copy, as in bellman.c.
typedef struct stepper {
    fgsf_program program;
    fgsf_step_leaves leaves;
    fgsf_network *gradient;
    ggml_backend_buffer_t buffer; // the optimiser's numbers, and a 1 behind them
    ggml_gallocr_t scratch;
    struct ggml_tensor *numbers, *square;
} stepper;

static fgsf_status build_stepper(fgsf_device *device, const fgsf_step *step, stepper *s) {
    const fgsf_step steps[2] = {*step};
    fgsf_plan plan = fgsf_plan_of(steps);
    const fgsf_copy *copy;
    fgsf_status status = fgsf_network_copy(s->gradient, device, &copy);
    if (status == FGSF_OK) {
        status = fgsf_program_begin(&s->program, (fgsf_program_size){0}, false);
    }
    if (status != FGSF_OK) return status;
    struct ggml_context *ctx = s->program.ctx;
    size_t block = fgsf_device_block(device);
    s->buffer = ggml_backend_buft_alloc_buffer(device->memory, 2 * block * sizeof(float));
    float *base = ggml_backend_buffer_get_base(s->buffer);
    struct ggml_tensor *one = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor *g = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, (int64_t)copy->slab->stride);
    s->numbers = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, plan.of[0].adam ? FGSF_STEP_NUMBERS : 2);
    fgsf_tensor_place(s->numbers, s->buffer, base);
    fgsf_tensor_place(one, s->buffer, base + block);
    fgsf_tensor_place(g, copy->slab->buffer, fgsf_copy_data(copy));
    fgsf_device_upload(device, s->buffer, base + block, &(float){1.0f}, 1);
    s->square = fgsf_step_build(ctx, s->program.graph, &plan.of[0], g, s->numbers, one, &s->leaves);
    ggml_set_output(s->square);
    s->scratch = ggml_gallocr_new(device->memory);
    status = fgsf_lower_device(&s->program, device, NULL);
    if (status == FGSF_OK) status = fgsf_program_finish(&s->program, device, s->scratch);
    return status;
}

static void free_stepper(stepper *s) {
    fgsf_program_free(&s->program);
    ggml_gallocr_free(s->scratch);
    ggml_backend_buffer_free(s->buffer);
    fgsf_network_free(s->gradient);
}

// Given the same gradients, of all magnitudes, both walk the same way; and so does the target.
TEST steps_like_the_host(enum fgsf_opt_kind kind, double clip) {
    fgsf_device *device = open_device();
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = kind;
    params.clip = clip;
    params.rm_k0 = 10.0;
    fgsf_network *net[2] = {make_network(3), make_network(3)};
    fgsf_network *target[2] = {make_network(4), make_network(4)};
    fgsf_optimizer *opt[2];
    for (int i = 0; i < 2; i++) ASSERT_OK(fgsf_optimizer_create(&params, net[i], &opt[i]));
    fgsf_step step = {net[1], opt[1], 0.0, target[1], 0.05};
    stepper s = {.gradient = make_network(5)};
    ASSERT_OK(build_stepper(device, &step, &s));
    ASSERT(s.program.whole);
    const fgsf_parameters *list = fgsf_network_get_parameters(net[0]);
    fgsf_rng rng = fgsf_rng_make(6, FGSF_STREAM_INIT);
    for (int n = 0; n < STEPS; n++) {
        double scale = pow(10.0, 4.0 * fgsf_rng_uniform(&rng) - 3.0), lr = 1e-3 / (1 + n % 3), norm;
        float *g = fgsf_network_edit(s.gradient), numbers[FGSF_STEP_NUMBERS], square;
        memset(g, 0, list->flat_size * sizeof *g);
        for (int i = 0; i < list->count; i++) {
            for (int k = 0; k < list->list[i].rows * list->list[i].columns; k++) {
                g[list->list[i].offset + (size_t)k] = (float)(scale * fgsf_rng_normal(&rng));
            }
        }
        ASSERT_OK(fgsf_optimizer_step(opt[0], net[0], g, lr, &norm));
        ASSERT_OK(fgsf_network_track(target[0], net[0], 0.05f));
        const fgsf_copy *copy;
        ASSERT_OK(fgsf_network_copy(s.gradient, device, &copy));
        ASSERT_OK(fgsf_step_bind(&s.leaves, &step, device));
        fgsf_optimizer_advance(opt[1], lr, numbers);
        ggml_backend_tensor_set(s.numbers, numbers, 0, ggml_nbytes(s.numbers));
        ASSERT_OK(fgsf_program_run(&s.program, device));
        fgsf_step_moved(&step);
        ggml_backend_tensor_get(s.square, &square, 0, sizeof square);
        ASSERT_BELOW("norm", fabs(sqrt(square) - norm), 1e-6 * norm);
    }
    ASSERT_BELOW("parameters", apart(net[0], net[1]), 1e-6);
    ASSERT_BELOW("target", apart(target[0], target[1]), 1e-6);
    fgsf_network *start = make_network(3);
    ASSERT(apart(net[1], start) > 1e-4);
    fgsf_network_free(start);
    free_stepper(&s);
    for (int i = 0; i < 2; i++) {
        fgsf_optimizer_free(opt[i]);
        fgsf_network_free(net[i]);
        fgsf_network_free(target[i]);
    }
    fgsf_device_free(device);
    PASS();
}

// A few updates of a kind, with its error network or target, here and by run and step on the CPU.
TEST updates_like_the_host(enum fgsf_gradient_kind kind, int samples) {
    fgsf_device *devices[2] = {NULL, open_device()};
    ASSERT_OK(fgsf_device_open("cpu", &devices[0]));
    fgsf_network_shape shape = problem_shape(FGSF_SILU);
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    fgsf_gradient_need need = fgsf_gradient_needs(kind);
    params.kind = kind;
    params.samples = samples;
    params.h_beta = 0.1;
    params.max_pairs = 13; // the inputs fill their memory
    problem *p = problem_create(&params, 13, 7);
    fgsf_optimizer_params adam = fgsf_optimizer_default_params();
    adam.clip = 0.1;
    fgsf_network *net[2], *other[2] = {NULL};
    fgsf_optimizer *opt[2], *other_opt[2] = {NULL};
    for (int d = 0; d < 2; d++) {
        fgsf_bellman *bellman;
        ASSERT_OK(fgsf_bellman_create(devices[d], &params, &bellman));
        ASSERT_OK(fgsf_network_create(&shape, &net[d]));
        ASSERT_OK(fgsf_network_track(net[d], p->net, 1.0f));
        ASSERT_OK(fgsf_optimizer_create(&adam, net[d], &opt[d]));
        if (need.error_network || need.target_network) {
            fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_INIT);
            ASSERT_OK(fgsf_network_create(&shape, &other[d]));
            fgsf_network_init(other[d], FGSF_UNIFORM_FAN_IN, &rng);
        }
        if (need.error_network) ASSERT_OK(fgsf_optimizer_create(&adam, other[d], &other_opt[d]));
        ASSERT_EQ(d == 1, fgsf_bellman_updates(bellman));
        for (int n = 0; n < 10; n++) {
            double loss, norm;
            fgsf_step steps[2] = {
                {net[d], opt[d], 1e-3, need.target_network ? other[d] : NULL, 0.1},
                {need.error_network ? other[d] : NULL, other_opt[d], 2e-3, NULL, 0}};
            if (d == 1) {
                ASSERT_OK(fgsf_bellman_update(bellman, &p->batch, steps, other[d], &loss, &norm));
                continue;
            }
            ASSERT_OK(fgsf_bellman_run(bellman, &p->batch, net[d], other[d], &loss));
            ASSERT_OK(
                fgsf_optimizer_step(opt[d], net[d], fgsf_bellman_gradient(bellman), 1e-3, &norm));
            if (need.error_network) {
                ASSERT_OK(fgsf_optimizer_step(other_opt[d], other[d],
                                              fgsf_bellman_error_gradient(bellman), 2e-3, NULL));
            }
            if (need.target_network) ASSERT_OK(fgsf_network_track(other[d], net[d], 0.1f));
        }
        fgsf_bellman_free(bellman);
    }
    ASSERT_BELOW("network", apart(net[0], net[1]), 1e-5);
    ASSERT(apart(net[0], p->net) > 1e-3);
    if (other[0]) ASSERT_BELOW("other network", apart(other[0], other[1]), 1e-5);
    for (int d = 0; d < 2; d++) {
        fgsf_optimizer_free(opt[d]);
        fgsf_optimizer_free(other_opt[d]);
        fgsf_network_free(net[d]);
        fgsf_network_free(other[d]);
        fgsf_device_free(devices[d]);
    }
    problem_free(p);
    PASS();
}

// Parameters travel when one side has changed and the other asks, and at no other time.
TEST moves_only_what_is_asked_for(void) {
    fgsf_device *device = open_device();
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    problem *p = problem_create(&params, 8, 7);
    size_t size = fgsf_network_num_parameters(&shape) * sizeof(float);
    fgsf_bellman *bellman;
    fgsf_optimizer *opt;
    fgsf_network *target = make_network(2);
    fgsf_optimizer_params adam = fgsf_optimizer_default_params();
    ASSERT_OK(fgsf_bellman_create(device, &params, &bellman));
    ASSERT_OK(fgsf_optimizer_create(&adam, p->net, &opt));
    const fgsf_step steps[2] = {{.net = p->net, .opt = opt, .lr = 1e-3}};
    double loss, norm;
    uint64_t batch = 0;
    for (int n = 0; n < 3; n++) {
        fgsf_device_counts before = fgsf_device_get_counts(device);
        ASSERT_OK(fgsf_bellman_update(bellman, &p->batch, steps, NULL, &loss, &norm));
        fgsf_device_counts after = fgsf_device_get_counts(device);
        if (n > 0) {
            batch = batch ? batch : after.bytes_up - before.bytes_up;
            ASSERT_EQ(batch, after.bytes_up - before.bytes_up);
            ASSERT_BELOW("down", (double)(after.bytes_down - before.bytes_down), 2048.0);
            ASSERT_EQ(1, after.graphs - before.graphs);
            ASSERT(after.nodes - before.nodes > 20);
        }
    }
    fgsf_device_counts start = fgsf_device_get_counts(device);
    ASSERT_OK(fgsf_network_track(target, p->net, 1.0f)); // stays there
    fgsf_device_counts copied = fgsf_device_get_counts(device);
    ASSERT_EQ(start.bytes_down, copied.bytes_down);
    fgsf_network_parameters(p->net);
    fgsf_device_counts fetched = fgsf_device_get_counts(device);
    ASSERT_EQ(size, fetched.bytes_down - copied.bytes_down);
    fgsf_network_parameters(p->net);
    ASSERT_EQ(fetched.bytes_down, fgsf_device_get_counts(device).bytes_down);
    fgsf_network_edit(p->net)[0] += 1.0f;
    ASSERT_OK(fgsf_bellman_update(bellman, &p->batch, steps, NULL, &loss, &norm));
    ASSERT_EQ(fetched.bytes_up + batch + size, fgsf_device_get_counts(device).bytes_up);
    fgsf_bellman_free(bellman);
    fgsf_device_free(device); // before those who have a copy there
    ASSERT_BELOW("target", apart(target, p->net), 1.1);
    fgsf_network_free(target);
    fgsf_optimizer_free(opt);
    problem_free(p);
    PASS();
}

// Several networks, in one graph, against each alone on the CPU; also after one more has come.
TEST evaluates_policies_together(enum fgsf_norm norm, int rows, int num_rho) {
    enum { NETS = 3, MOST = 16 };
    fgsf_device *device = open_device(), *cpu = NULL;
    ASSERT_OK(fgsf_device_open("cpu", &cpu));
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    shape.norm = norm;
    fgsf_gpe *gpe, *alone;
    ASSERT_OK(fgsf_gpe_create(device, &shape, MOST, &gpe));
    ASSERT_OK(fgsf_gpe_create(cpu, &shape, MOST, &alone));
    size_t step = (size_t)(num_rho * shape.features),
           size = (size_t)(rows * num_rho * shape.actions);
    float s[MOST * 5], rho[NETS * 2 * 3], q[NETS][MOST * 4], truth[MOST * 4];
    fgsf_rng rng = fgsf_rng_make(11, FGSF_STREAM_INIT);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) s[i] = (float)fgsf_rng_normal(&rng);
    for (size_t i = 0; i < sizeof rho / sizeof *rho; i++) rho[i] = (float)fgsf_rng_normal(&rng);
    fgsf_network *nets[NETS];
    for (int k = 0; k < NETS; k++) {
        ASSERT_OK(fgsf_network_create(&shape, &nets[k]));
        fgsf_network_init(nets[k], FGSF_UNIFORM_FAN_IN, &rng);
    }
    float *const tables[NETS] = {q[0], q[1], q[2]};
    for (int count = 1; count <= NETS; count++) {
        for (int same = 0; same < 2; same++) {
            fgsf_device_counts before = fgsf_device_get_counts(device);
            ASSERT_OK(fgsf_gpe_run_all(gpe, (const fgsf_network *const *)nets, count, rho,
                                       same ? 0 : step, num_rho, s, rows, tables));
            ASSERT_EQ(1, fgsf_device_get_counts(device).graphs - before.graphs);
            for (int k = 0; k < count; k++) {
                const float *own = rho + (same ? 0 : (size_t)k * step);
                ASSERT_OK(fgsf_gpe_run_plain(alone, nets[k], own, num_rho, s, rows, truth));
                ASSERT_BELOW("values", difference(truth, q[k], size), 3e-6);
            }
        }
    }
    fgsf_gpe_free(gpe);
    fgsf_gpe_free(alone);
    for (int k = 0; k < NETS; k++) fgsf_network_free(nets[k]);
    fgsf_device_free(device);
    fgsf_device_free(cpu);
    PASS();
}

// Many rows: more than a kernel of CUDA's can fill become masks; where samples share rows and there are
// too many for masks, the operation is left to the CPU, by name. The gradient is right all the same.
TEST takes_many_rows(int pairs, int samples) {
    fgsf_device *device = open_device(), *cpu = NULL;
    ASSERT_OK(fgsf_device_open("cpu", &cpu));
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.max_pairs = pairs;
    params.samples = samples;
    params.one_size = true;
    problem *p = problem_create(&params, pairs, 7);
    size_t size = fgsf_network_flat_size(&shape);
    fgsf_bellman *bellman[2];
    double loss[2];
    ASSERT_OK(fgsf_bellman_create(device, &params, &bellman[0]));
    ASSERT_OK(fgsf_bellman_create(cpu, &params, &bellman[1]));
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(fgsf_bellman_run(bellman[i], &p->batch, p->net, NULL, &loss[i]));
    }
    bool scatters = samples == 1 || fgsf_device_scatters(device, 4);
    ASSERT_EQ(scatters, fgsf_bellman_updates(bellman[0]));
    ASSERT_STR_EQ(scatters ? "" : "GET_ROWS_BACK", fgsf_device_fallbacks(device));
    ASSERT_BELOW("loss", fabs(loss[0] - loss[1]), 1e-5 * loss[1]);
    ASSERT_BELOW(
        "gradient",
        difference(fgsf_bellman_gradient(bellman[0]), fgsf_bellman_gradient(bellman[1]), size),
        1e-6);
    fgsf_bellman_free(bellman[0]);
    fgsf_bellman_free(bellman[1]);
    problem_free(p);
    fgsf_device_free(device);
    fgsf_device_free(cpu);
    PASS();
}

static void run_all(void) {
    for (int clip = 0; clip < 2; clip++) {
        RUN_TESTp(steps_like_the_host, FGSF_ADAM, clip);
        RUN_TESTp(steps_like_the_host, FGSF_SGD, clip);
        RUN_TESTp(steps_like_the_host, FGSF_SGD_RM, clip);
    }
    for (int kind = FGSF_SEMI; kind <= FGSF_CONVERGENT; kind++) {
        RUN_TESTp(updates_like_the_host, (enum fgsf_gradient_kind)kind, 1);
        bool error = fgsf_gradient_needs((enum fgsf_gradient_kind)kind).error_network;
        if (!error) RUN_TESTp(updates_like_the_host, (enum fgsf_gradient_kind)kind, 3);
    }
    RUN_TEST(moves_only_what_is_asked_for);
    for (int norm = FGSF_NORM_NONE; norm <= FGSF_NORM_LAYER; norm++) {
        RUN_TESTp(evaluates_policies_together, (enum fgsf_norm)norm, 1, 1);
        RUN_TESTp(evaluates_policies_together, (enum fgsf_norm)norm, 11, 2);
    }
    RUN_TESTp(takes_many_rows, 300, 20);
    RUN_TESTp(takes_many_rows, 17000, 1);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    const char *other = getenv("FGSF_TEST_DEVICE");
    if (other) {
        name = other;
        run_all();
    } else {
        for (int i = 0; i < 2; i++) {
            complete = i == 1;
            run_all();
        }
    }
    GREATEST_MAIN_END();
}
