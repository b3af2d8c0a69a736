// Prints loss and gradient of a Bellman problem given as JSON.
//
// Any autodiff framework can be checked against this library with it, or this library against that one.
//
//     gradient_oracle PROBLEM.json
//
// Exit codes: 0; 2 with one line that names the field when something about the problem is wrong.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/bellman.h"
#include "fgsf/device.h"
#include "fgsf/network.h"
#include "fgsf/optimizer.h"
#include "devices.h"
#include "flags.h"
#include "oracle_problem.h"
#include "say.h"

#define MAX_FILE_SIZE ((size_t)256 << 20)

static const char about[] =
    "Prints the loss and the gradient of a Bellman problem as JSON.\n"
    "\n"
    "    delta = mean over n samples of (y + discount x(s', a')) - x(s, a)\n"
    "\n"
    "PROBLEM.json, schema fgsf.gradient-problem/1; brackets mark what may be left out:\n"
    "    network           input, hidden [..], actions, features, activation relu|silu|softplus,\n"
    "                      weights [[..] per layer], each flat, row-major (out, in), [biases],\n"
    "                      [norm none|rms|layer, norm_scales, norm_shifts: one per hidden layer]\n"
    "    [gradient]        residual (the default) | corrected | gtd2 | bidirectional | convergent\n"
    "    [target_network]  the same shape; for residual with grad_mix 0, bidirectional, "
    "convergent\n"
    "    [error_network]   the same shape, h, and [beta], its weight decay: for corrected and "
    "gtd2\n"
    "    loss              half_mean | mean | sum | double_sum, of sum_b weight_b |delta_b|^2\n"
    "    grad_mix          eta: residual 0 is the semi-gradient, 1 the full gradient\n"
    "    samples_per_pair  n; the rows of s_next, y and discount come in groups of n per pair\n"
    "    [optimizer]       null, or kind adam|sgd, lr, [beta1, beta2, eps], [clip] (a norm or "
    "null)\n"
    "    batches           each s (B, input), a (B), y (B n, F), s_next (B n, input), a_next (B),\n"
    "                      discount (B n), [row_weights] (B)\n"
    "    [denominator]     N of half_mean and mean; the number of pairs by default\n"
    "    [estimator]       shared | critic_only (error from all samples, gradient from the first)\n"
    "                      | split (error from the first `split` samples, gradient from the rest)\n"
    "\n"
    "The answer, schema fgsf.gradient-answer/1: loss and grad_norm (before clipping) of each "
    "batch,\n"
    "the gradient of the first batch (and error_gradient, of scale sum w |delta - h|^2 + beta/2\n"
    "|theta_h|^2, where there is h) and, with an optimizer, the parameters after all batches.\n"
    "The loss of critic_only and split is that of the error factor.";

// Reads a stream to its end; the text is freed with free().
static fgsf_status read_all(FILE *file, char **text, size_t *length) {
    size_t capacity = 1 << 16, used = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        used += fread(buffer + used, 1, capacity - used, file);
        if (used < capacity || used > MAX_FILE_SIZE) break;
        char *larger = realloc(buffer, capacity *= 2);
        if (!larger) free(buffer);
        buffer = larger;
    }
    if (!buffer) return fgsf_fail(FGSF_ERR_MEMORY, "no memory to read it");
    if (ferror(file) || used > MAX_FILE_SIZE) {
        free(buffer);
        return ferror(file) ? fgsf_fail(FGSF_ERR_IO, "cannot be read: %s", strerror(errno))
                            : fgsf_fail(FGSF_ERR_FORMAT, "is larger than %zu bytes", MAX_FILE_SIZE);
    }
    *text = buffer;
    *length = used;
    return FGSF_OK;
}

static fgsf_status load(const char *path, oracle_problem **problem) {
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) return fgsf_fail(FGSF_ERR_IO, "cannot be read: %s", strerror(errno));
    char *text = NULL;
    size_t length = 0;
    fgsf_status status = read_all(file, &text, &length);
    if (!standard) fclose(file);
    if (status == FGSF_OK) status = oracle_problem_parse(text, length, problem);
    free(text);
    return status;
}

// What the batches gave.
typedef struct answer {
    double *loss, *grad_norm; // (batches)
    float *gradient[2];       // of the first batch, flat; the second is the error network's
} answer;

// Everything that computes; made and freed together.
typedef struct machine {
    fgsf_device *device;
    fgsf_network *net, *other;
    fgsf_bellman *bellman;
    fgsf_optimizer *optimizer;
} machine;

static fgsf_status fill_network(const fgsf_network_shape *shape, const float *parameters,
                                fgsf_network **net) {
    FGSF_TRY(fgsf_network_create(shape, net));
    memcpy(fgsf_network_edit(*net), parameters, fgsf_network_flat_size(shape) * sizeof(float));
    return FGSF_OK;
}

static fgsf_status machine_create(machine *m, const oracle_problem *p, const char *device) {
    const fgsf_network_shape *shape = &p->bellman.shape;
    FGSF_TRY(fgsf_device_open(device, &m->device));
    FGSF_TRY(fill_network(shape, p->parameters, &m->net));
    if (p->other) FGSF_TRY(fill_network(shape, p->other, &m->other));
    FGSF_TRY(fgsf_bellman_create(m->device, &p->bellman, &m->bellman));
    if (p->has_optimizer) FGSF_TRY(fgsf_optimizer_create(&p->optimizer, m->net, &m->optimizer));
    return FGSF_OK;
}

static void machine_free(machine *m) {
    fgsf_optimizer_free(m->optimizer);
    fgsf_bellman_free(m->bellman);
    fgsf_network_free(m->other);
    fgsf_network_free(m->net);
    fgsf_device_free(m->device);
}

static double norm_of(const float *v, size_t size) {
    double sum = 0.0;
    for (size_t i = 0; i < size; i++) sum += (double)v[i] * v[i];
    return sqrt(sum);
}

// Runs every batch, with an optimiser step after each where there is one.
static fgsf_status solve(machine *m, const oracle_problem *p, answer *out) {
    size_t size = fgsf_network_flat_size(&p->bellman.shape);
    for (int i = 0; i < p->num_batches; i++) {
        FGSF_TRY(fgsf_bellman_run(m->bellman, &p->batches[i], m->net, m->other, &out->loss[i]));
        const float *gradient = fgsf_bellman_gradient(m->bellman);
        out->grad_norm[i] = norm_of(gradient, size);
        if (!isfinite(out->loss[i]) || !isfinite(out->grad_norm[i])) {
            return fgsf_fail(FGSF_DIVERGED, "batches[%d]: loss or gradient overflows float32", i);
        }
        if (i == 0) {
            memcpy(out->gradient[0], gradient, size * sizeof(float));
            const float *error = fgsf_bellman_error_gradient(m->bellman);
            if (error) memcpy(out->gradient[1], error, size * sizeof(float));
        }
        if (m->optimizer)
            FGSF_TRY(fgsf_optimizer_step(m->optimizer, m->net, gradient, p->lr, NULL));
        if (!isfinite(norm_of(fgsf_network_parameters(m->net), size))) {
            return fgsf_fail(FGSF_DIVERGED, "batches[%d]: the step overflows float32", i);
        }
    }
    return FGSF_OK;
}

static void print_doubles(const char *name, const double *v, int count) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < count; i++) printf("%s%.9g", i ? ", " : "", v[i]);
    printf("]");
}

// Prints one array per layer; 9 significant digits give a float back exactly.
static void print_group(const oracle_group *group, const fgsf_parameters *all, const int *list,
                        int count, const float *flat) {
    printf("    \"%s\": [", group->name);
    for (int l = 0; l < count; l++) {
        const fgsf_parameter *p = &all->list[list[l]];
        printf("%s[", l ? ", " : "");
        for (size_t i = 0; i < (size_t)p->rows * (size_t)p->columns; i++) {
            printf("%s%.9g", i ? ", " : "", (double)flat[p->offset + i]);
        }
        printf("]");
    }
    printf("]");
}

static void print_flat(const char *name, const fgsf_network_shape *shape, const float *flat) {
    fgsf_parameters all;
    fgsf_network_list(shape, &all);
    printf(",\n  \"%s\": {\n", name);
    for (int g = 0; g < ORACLE_GROUPS; g++) {
        int list[FGSF_MAX_PARAMETERS];
        int count = oracle_group_list(&oracle_groups[g], &all, list);
        if (count == 0) continue;
        if (g > 0) printf(",\n");
        print_group(&oracle_groups[g], &all, list, count, flat);
    }
    printf("\n  }");
}

static void print_answer(const oracle_problem *p, const machine *m, const answer *a) {
    printf("{\n  \"schema\": \"fgsf.gradient-answer/1\",\n");
    print_doubles("loss", a->loss, p->num_batches);
    printf(",\n");
    print_doubles("grad_norm", a->grad_norm, p->num_batches);
    print_flat("gradient", &p->bellman.shape, a->gradient[0]);
    if (fgsf_bellman_error_gradient(m->bellman)) {
        print_flat("error_gradient", &p->bellman.shape, a->gradient[1]);
    }
    if (m->optimizer) print_flat("parameters", &p->bellman.shape, fgsf_network_parameters(m->net));
    printf("\n}\n");
}

static fgsf_status run(const char *path, const char *device) {
    oracle_problem *problem = NULL;
    FGSF_TRY(load(path, &problem));
    size_t batches = (size_t)problem->num_batches;
    size_t size = fgsf_network_flat_size(&problem->bellman.shape);
    machine m = {0};
    double *numbers = calloc(2 * batches, sizeof *numbers);
    float *gradients = calloc(2 * size, sizeof *gradients);
    answer a = {
        .loss = numbers, .grad_norm = numbers + batches, .gradient = {gradients, gradients + size}};
    fgsf_status status = numbers && gradients ? machine_create(&m, problem, device)
                                              : fgsf_fail(FGSF_ERR_MEMORY, "no memory");
    if (status == FGSF_OK) status = solve(&m, problem, &a);
    if (status == FGSF_OK) print_answer(problem, &m, &a);
    free(numbers);
    free(gradients);
    machine_free(&m);
    oracle_problem_free(problem);
    return status;
}

int main(int argc, char **argv) {
    fgsf_devices_exact();
    const char *path = NULL, *device = "auto";
    const fgsf_flag table[] = {
        {"--device", "NAME", "auto (default), cpu, blas or a ggml device", .text = &device}};
    fgsf_flags flags = {"gradient_oracle", "[FLAGS] PROBLEM.json", about, table, 1,
                        .words = &path,    .max_words = 1};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN) return code;
    if (!path) {
        fgsf_say("gradient_oracle: PROBLEM.json is missing ('-' reads standard input); see --help");
        return 2;
    }
    if (run(path, device) != FGSF_OK) {
        fgsf_say("%s: %s", path, fgsf_last_error());
        return 2;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fgsf_say("gradient_oracle: the answer could not be written");
        return 1;
    }
    return 0;
}
