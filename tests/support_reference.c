// The double-precision reference: MLP, Bellman loss and optimisers by hand. See the header.
#include "support_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_assert.h"

#define MAX_LAYERS (FGSF_MAX_HIDDEN + 1)

double *reference_zeros(size_t count) {
    double *zeros = calloc(count ? count : 1, sizeof *zeros);
    if (!zeros) {
        fprintf(stderr, "no memory for the reference\n");
        abort();
    }
    return zeros;
}

double *reference_parameters(const fgsf_network *net) {
    size_t size = fgsf_network_flat_size(fgsf_network_get_shape(net));
    double *theta = reference_zeros(size);
    for (size_t i = 0; i < size; i++) {
        theta[i] = fgsf_network_parameters(net)[i];
    }
    return theta;
}

static double activation(const fgsf_network_shape *shape, double z) {
    switch (shape->activation) {
    case FGSF_SILU:
        return z / (1.0 + exp(-z));
    case FGSF_SOFTPLUS:
        return fmax(z, 0.0) + log1p(exp(-fabs(z)));
    default:
        return fmax(z, 0.0);
    }
}

static double activation_slope(const fgsf_network_shape *shape, double z) {
    double sigmoid = 1.0 / (1.0 + exp(-z));
    switch (shape->activation) {
    case FGSF_SILU:
        return sigmoid * (1.0 + z * (1.0 - sigmoid));
    case FGSF_SOFTPLUS:
        return sigmoid;
    default:
        return z > 0.0;
    }
}

// One linear layer: where its parameters stand in the flat layout.
typedef struct reference_layer {
    int in, out;
    size_t weight, bias, scale, shift;
    bool biased, scaled, shifted;
} reference_layer;

// The layers of a multi-layer perceptron, with the heads of all policies in the last; returns how
// many. Places are taken from the library's list of parameters by name.
static int list_layers(const fgsf_network_shape *shape, reference_layer *layers) {
    fgsf_parameters *all = calloc(1, sizeof *all);
    int count = 0;
    if (!all) abort();
    fgsf_network_list(shape, all);
    for (int i = 0; i < all->count; i++) {
        const fgsf_parameter *p = &all->list[i];
        char what[32] = "";
        int l = -1;
        sscanf(p->name, "layers.%d.%31s", &l, what);
        if (strcmp(what, "weight") == 0) {
            layers[l] = (reference_layer){.in = p->columns, .out = p->rows, .weight = p->offset};
            count = l + 1;
        } else if (strcmp(what, "bias") == 0) {
            layers[l].bias = p->offset;
            layers[l].biased = true;
        } else if (strcmp(what, "scale") == 0) {
            layers[l].scale = p->offset;
            layers[l].scaled = true;
        } else if (strcmp(what, "shift") == 0) {
            layers[l].shift = p->offset;
            layers[l].shifted = true;
        } else {
            fprintf(stderr, "the reference knows no parameter '%s'\n", p->name);
            abort();
        }
    }
    free(all);
    return count;
}

// The pre-activations z[l] (layers[l].out) of one state and the inputs h[l] (layers[l].in) of every
// layer, in one block of memory.
typedef struct pass {
    int num_layers;
    reference_layer layers[MAX_LAYERS];
    double *h[MAX_LAYERS], *z[MAX_LAYERS];
    double *memory;
} pass;

// Normalises the `out` numbers of z: `layer` takes the mean off first and adds a shift at the end.
static void normalise(const reference_layer *layer, const double *theta, double *z) {
    double mean = 0.0, squares = 0.0;
    for (int o = 0; o < layer->out; o++) mean += z[o] / layer->out;
    for (int o = 0; o < layer->out; o++) {
        z[o] -= layer->shifted ? mean : 0.0;
        squares += z[o] * z[o] / layer->out;
    }
    for (int o = 0; o < layer->out; o++) {
        z[o] *= theta[layer->scale + (size_t)o] / sqrt(squares + 1e-5);
        z[o] += layer->shifted ? theta[layer->shift + (size_t)o] : 0.0;
    }
}

static pass run_pass(const fgsf_network_shape *shape, const double *theta, const float *s) {
    pass p = {0};
    p.num_layers = list_layers(shape, p.layers);
    size_t total = 0;
    for (int l = 0; l < p.num_layers; l++) {
        total += (size_t)(p.layers[l].in + p.layers[l].out);
    }
    double *next = p.memory = reference_zeros(total);
    for (int l = 0; l < p.num_layers; l++) {
        const reference_layer *layer = &p.layers[l];
        p.h[l] = next;
        p.z[l] = next += layer->in;
        next += layer->out;
        for (int i = 0; i < layer->in; i++) {
            p.h[l][i] = l == 0 ? (double)s[i] : activation(shape, p.z[l - 1][i]);
        }
        for (int o = 0; o < layer->out; o++) {
            const double *w = theta + layer->weight + (size_t)o * (size_t)layer->in;
            double sum = layer->biased ? theta[layer->bias + (size_t)o] : 0.0;
            for (int i = 0; i < layer->in; i++) {
                sum += w[i] * p.h[l][i];
            }
            p.z[l][o] = sum;
        }
        if (layer->scaled) normalise(layer, theta, p.z[l]);
    }
    return p;
}

reference_forward_fn reference_user_forward;

double reference_forward(const fgsf_network_shape *shape, const double *theta, const float *s,
                         double *x) {
    if (shape->def && shape->def != &fgsf_network_mlp && shape->def != &fgsf_network_torso) {
        return reference_user_forward(shape, theta, s, x);
    }
    pass p = run_pass(shape, theta, s);
    double margin = INFINITY;
    for (int l = 0; l + 1 < p.num_layers; l++) {
        for (int o = 0; o < p.layers[l].out; o++) {
            margin = fmin(margin, fabs(p.z[l][o]));
        }
    }
    const reference_layer *last = &p.layers[p.num_layers - 1];
    memcpy(x, p.z[p.num_layers - 1], (size_t)last->out * sizeof *x);
    free(p.memory);
    return margin;
}

void reference_backward(const fgsf_network_shape *shape, const double *theta, const float *s,
                        const double *dx, double *gradient) {
    pass p = run_pass(shape, theta, s);
    size_t outputs = (size_t)p.layers[p.num_layers - 1].out;
    double *dz = reference_zeros(outputs);
    memcpy(dz, dx, outputs * sizeof *dz);
    for (int l = p.num_layers - 1; l >= 0; l--) {
        const reference_layer *layer = &p.layers[l];
        double *dh = reference_zeros((size_t)layer->in);
        if (layer->scaled) abort(); // by differences only
        for (int o = 0; o < layer->out; o++) {
            size_t row = layer->weight + (size_t)o * (size_t)layer->in;
            for (int i = 0; i < layer->in; i++) {
                gradient[row + (size_t)i] += dz[o] * p.h[l][i];
                dh[i] += dz[o] * theta[row + (size_t)i];
            }
            if (layer->biased) {
                gradient[layer->bias + (size_t)o] += dz[o];
            }
        }
        for (int i = 0; l > 0 && i < layer->in; i++) {
            dh[i] *= activation_slope(shape, p.z[l - 1][i]);
        }
        free(dz);
        dz = dh;
    }
    free(dz);
    free(p.memory);
}

size_t reference_outputs(const fgsf_network_shape *shape) {
    return (size_t)(shape->actions * shape->features * (shape->heads > 1 ? shape->heads : 1));
}

// x(s, a): (features).
static void forward_action(const fgsf_network_shape *shape, const double *theta, const float *s,
                           int action, double *x) {
    double *all = reference_zeros(reference_outputs(shape));
    reference_forward(shape, theta, s, all);
    memcpy(x, all + action * shape->features, (size_t)shape->features * sizeof *x);
    free(all);
}

// Adds scale * <x(s, a), dx>'s gradient.
static void backward_action(const fgsf_network_shape *shape, const double *theta, const float *s,
                            int action, double scale, const double *dx, double *gradient) {
    double *all = reference_zeros(reference_outputs(shape));
    for (int f = 0; f < shape->features; f++) {
        all[action * shape->features + f] = scale * dx[f];
    }
    reference_backward(shape, theta, s, all, gradient);
    free(all);
}

// Which samples of a pair enter a factor: [first, last).
typedef struct span {
    int first, last;
} span;

static void sample_spans(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                         span *error, span *gradient) {
    int present = batch->present ? batch->present[pair] : params->samples;
    *error = *gradient = (span){0, present};
    if (params->estimator == FGSF_CRITIC_ONLY) {
        gradient->last = 1;
    } else if (params->estimator == FGSF_SPLIT) { // when samples are short, the error gives way
        error->last = gradient->first = params->split < present ? params->split : present - 1;
    }
}

static bool is_empty(span s) {
    return s.last <= s.first;
}

// Adds to `sum` (F) the mean over the span of y (when wanted) + discount * x(s', a').
static void add_target(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                       span samples, const double *theta, bool with_y, double scale, double *sum) {
    const fgsf_network_shape *shape = &params->shape;
    double *x = reference_zeros((size_t)shape->features);
    scale /= samples.last - samples.first;
    for (int i = samples.first; i < samples.last; i++) {
        int row = pair * params->samples + i;
        forward_action(shape, theta, batch->s_next + (size_t)row * (size_t)shape->input,
                       batch->a_next[row], x);
        for (int f = 0; f < shape->features; f++) {
            double y = with_y ? (double)batch->y[row * shape->features + f] : 0.0;
            sum[f] += scale * (y + (double)batch->discount[row] * x[f]);
        }
    }
    free(x);
}

// delta (F) of one pair, every term computed from the parameters given for it.
static void residual(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                     span samples, const double *theta, const double *attached,
                     const double *detached, double *delta) {
    const fgsf_network_shape *shape = &params->shape;
    double eta = params->grad_mix;
    forward_action(shape, theta, batch->s + (size_t)pair * (size_t)shape->input, batch->a[pair],
                   delta);
    for (int f = 0; f < shape->features; f++) {
        delta[f] = -delta[f];
    }
    add_target(params, batch, pair, samples, attached, true, eta, delta);
    add_target(params, batch, pair, samples, detached, true, 1.0 - eta, delta);
}

// The factor of one pair's |delta|^2 in the loss; 0 where a factor has no sample.
static double pair_weight(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                          span error, span gradient) {
    const fgsf_network_shape *shape = &params->shape;
    double n = batch->denominator > 0.0 ? batch->denominator : batch->pairs;
    double weight = batch->weight ? batch->weight[pair] : 1.0;
    if (is_empty(error) || is_empty(gradient)) {
        return 0.0;
    }
    switch (params->loss_scale) {
    case FGSF_HALF_MEAN:
        return weight * 0.5 / (n * shape->features);
    case FGSF_MEAN:
        return weight / (n * shape->features);
    case FGSF_MEAN_ACTIONS:
        return weight / (n * shape->features * shape->actions);
    case FGSF_SUM:
        return weight * 0.5;
    case FGSF_DOUBLE_SUM:
        return weight;
    }
    return NAN;
}

static double squared_length(const double *v, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        sum += v[i] * v[i];
    }
    return sum;
}

// Adds one pair's share of the gradient: 2 weight (eta e2^T mean(discount dx(s', a')) - e1^T dx(s, a)).
// Either error may be NULL.
static void pair_gradient(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                          span samples, double weight, const double *theta, const double *e1,
                          const double *e2, double *gradient) {
    const fgsf_network_shape *shape = &params->shape;
    size_t input = (size_t)shape->input;
    if (e1) {
        backward_action(shape, theta, batch->s + (size_t)pair * input, batch->a[pair],
                        -2.0 * weight, e1, gradient);
    }
    for (int i = samples.first; i < samples.last && e2; i++) {
        int row = pair * params->samples + i;
        double scale = params->grad_mix * (double)batch->discount[row];
        backward_action(shape, theta, batch->s_next + (size_t)row * input, batch->a_next[row],
                        2.0 * weight * scale / (samples.last - samples.first), e2, gradient);
    }
}

double reference_bellman(const fgsf_bellman_params *params, const fgsf_batch *batch,
                         const double *theta, const double *target, double *gradient) {
    double *delta = reference_zeros((size_t)params->shape.features), loss = 0.0;
    const double *bootstrap = target ? target : theta;
    if (gradient) {
        memset(gradient, 0, fgsf_network_flat_size(&params->shape) * sizeof *gradient);
    }
    for (int b = 0; b < batch->pairs; b++) {
        span error, factor;
        sample_spans(params, batch, b, &error, &factor);
        double weight = pair_weight(params, batch, b, error, factor);
        if (weight == 0.0) {
            continue;
        }
        residual(params, batch, b, error, theta, bootstrap, bootstrap, delta);
        loss += weight * squared_length(delta, params->shape.features);
        if (gradient) {
            pair_gradient(params, batch, b, factor, weight, theta, delta, delta, gradient);
        }
    }
    free(delta);
    return loss;
}

// mean(y + discount x(s', a')) of `next` minus x(s, a) of `now`: (F).
static void error_between(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                          const double *next, const double *now, double *delta) {
    span all = {0, batch->present ? batch->present[pair] : params->samples};
    residual(params, batch, pair, all, now, next, next, delta);
}

// Adds the share of one pair of the kinds with h: delta and h stand for e1 and e2 as the kind says.
static void pair_with_error(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                            double weight, const double *theta, const double *h, double *gradient,
                            double *error) {
    int features = params->shape.features;
    size_t input = (size_t)params->shape.input;
    double *delta = reference_zeros(2 * (size_t)features), *value = delta + features;
    error_between(params, batch, pair, theta, theta, delta);
    forward_action(&params->shape, h, batch->s + (size_t)pair * input, batch->a[pair], value);
    pair_gradient(params, batch, pair, (span){0, params->samples}, weight, theta,
                  params->kind == FGSF_GTD2 ? value : delta, value, gradient);
    for (int f = 0; f < features; f++) delta[f] -= value[f];
    pair_gradient(params, batch, pair, (span){0, 0}, weight, h, delta, NULL, error);
    free(delta);
}

// The same of the kinds with a target network.
static void pair_with_target(const fgsf_bellman_params *params, const fgsf_batch *batch, int pair,
                             double weight, const double *theta, const double *target,
                             double *gradient) {
    int features = params->shape.features;
    span all = {0, batch->present ? batch->present[pair] : params->samples};
    double *lagged = reference_zeros(2 * (size_t)features), *other = lagged + features;
    error_between(params, batch, pair, target, theta, lagged);
    bool both = params->kind == FGSF_BIDIRECTIONAL;
    error_between(params, batch, pair, theta, both ? target : theta, other);
    bool first = squared_length(lagged, features) > squared_length(other, features);
    if (both) {
        pair_gradient(params, batch, pair, all, weight, theta, lagged, other, gradient);
    } else {
        pair_gradient(params, batch, pair, all, weight, theta, first ? lagged : other,
                      first ? NULL : other, gradient);
    }
    free(lagged);
}

void reference_kind(const fgsf_bellman_params *params, const fgsf_batch *batch, const double *theta,
                    const double *other, double *gradient, double *error) {
    size_t size = fgsf_network_flat_size(&params->shape);
    memset(gradient, 0, size * sizeof *gradient);
    for (size_t i = 0; i < size && error; i++) error[i] = params->h_beta * other[i];
    for (int b = 0; b < batch->pairs; b++) {
        double weight = pair_weight(params, batch, b, (span){0, 1}, (span){0, 1});
        if (error) {
            pair_with_error(params, batch, b, weight, theta, other, gradient, error);
        } else {
            pair_with_target(params, batch, b, weight, theta, other, gradient);
        }
    }
}

double reference_objective(const fgsf_bellman_params *params, const fgsf_batch *batch,
                           const double *theta, const double *frozen, const double *target) {
    const fgsf_network_shape *shape = &params->shape;
    int features = shape->features;
    double *delta = reference_zeros((size_t)features), *factor = reference_zeros((size_t)features);
    const double *detached = target ? target : frozen;
    double sum = 0.0;
    for (int b = 0; b < batch->pairs; b++) {
        span error, samples;
        sample_spans(params, batch, b, &error, &samples);
        double weight = pair_weight(params, batch, b, error, samples);
        if (weight == 0.0) {
            continue;
        }
        if (params->estimator == FGSF_SHARED) {
            residual(params, batch, b, error, theta, target ? target : theta, detached, delta);
            sum += weight * squared_length(delta, features);
            continue;
        }
        residual(params, batch, b, error, frozen, detached, detached, delta);
        forward_action(shape, theta, batch->s + (size_t)b * (size_t)shape->input, batch->a[b],
                       factor);
        for (int f = 0; f < features; f++) {
            factor[f] = -factor[f];
        }
        add_target(params, batch, b, samples, target ? target : theta, false, params->grad_mix,
                   factor);
        for (int f = 0; f < features; f++) {
            sum += 2.0 * weight * delta[f] * factor[f];
        }
    }
    free(delta);
    free(factor);
    return sum;
}

void reference_differences(const fgsf_bellman_params *params, const fgsf_batch *batch,
                           const double *theta, const double *target, double h, double *gradient) {
    size_t size = fgsf_network_flat_size(&params->shape);
    double *moved = reference_zeros(size);
    memcpy(moved, theta, size * sizeof *moved);
    memset(gradient, 0, size * sizeof *gradient);
    fgsf_parameters *list = calloc(1, sizeof *list);
    if (!list) abort();
    fgsf_network_list(&params->shape, list);
    for (int p = 0; p < list->count; p++) {
        size_t from = list->list[p].offset;
        size_t count = (size_t)list->list[p].rows * (size_t)list->list[p].columns;
        for (size_t i = from; i < from + count; i++) {
            moved[i] = theta[i] + h;
            double above = reference_objective(params, batch, moved, theta, target);
            moved[i] = theta[i] - h;
            double below = reference_objective(params, batch, moved, theta, target);
            moved[i] = theta[i];
            gradient[i] = (above - below) / (2.0 * h);
        }
    }
    free(list);
    free(moved);
}

double reference_margin(const fgsf_bellman_params *params, const fgsf_batch *batch,
                        const double *theta) {
    const fgsf_network_shape *shape = &params->shape;
    double *x = reference_zeros(reference_outputs(shape)), margin = INFINITY;
    int next = batch->pairs * params->samples;
    for (int i = 0; i < batch->pairs + next; i++) {
        const float *s = i < batch->pairs ? batch->s + i * shape->input
                                          : batch->s_next + (i - batch->pairs) * shape->input;
        margin = fmin(margin, reference_forward(shape, theta, s, x));
    }
    free(x);
    return margin;
}

reference_optimizer reference_optimizer_create(const fgsf_optimizer_params *params, size_t size) {
    return (reference_optimizer){
        .params = *params, .size = size, .m = reference_zeros(size), .v = reference_zeros(size)};
}

void reference_optimizer_free(reference_optimizer *opt) {
    free(opt->m);
    free(opt->v);
}

double reference_optimizer_step(reference_optimizer *opt, double *theta, const double *gradient,
                                double lr) {
    const fgsf_optimizer_params *p = &opt->params;
    double sum = 0.0;
    for (size_t i = 0; i < opt->size; i++) {
        sum += gradient[i] * gradient[i];
    }
    double norm = sqrt(sum);
    double scale = p->clip > 0.0 && norm > p->clip ? p->clip / (norm + 1e-6) : 1.0;
    if (p->kind == FGSF_SGD_RM) {
        lr *= pow(p->rm_k0 / (p->rm_k0 + (double)opt->steps), p->rm_power);
    }
    double t = (double)++opt->steps;
    for (size_t i = 0; i < opt->size; i++) {
        double g = scale * gradient[i];
        if (p->kind != FGSF_ADAM) {
            theta[i] -= lr * g;
            continue;
        }
        opt->m[i] = p->beta1 * opt->m[i] + (1.0 - p->beta1) * g;
        opt->v[i] = p->beta2 * opt->v[i] + (1.0 - p->beta2) * g * g;
        double m = opt->m[i] / (1.0 - pow(p->beta1, t)), v = opt->v[i] / (1.0 - pow(p->beta2, t));
        theta[i] -= lr * m / (sqrt(v) + p->eps);
    }
    return norm;
}

double reference_error(const float *value, const double *truth, size_t count) {
    double largest = 0.0, error = 0.0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)value[i] - truth[i]);
        largest = fmax(largest, fabs(truth[i]));
        error = worse(error, difference);
    }
    return error == 0.0 ? 0.0 : error / largest;
}
