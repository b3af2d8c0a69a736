// The library's mathematics once more, in plain C and double precision, without ggml: what tests
// compare with.
//
//     double *theta = reference_parameters(net);
//     double loss = reference_bellman(&params, &batch, theta, NULL, gradient);
//     reference_differences(&params, &batch, theta, NULL, 1e-5, differences);
//
// Parameters and gradients are arrays of fgsf_network_flat_size() doubles in the network's own flat
// layout, padding included (zero). Shapes, parameters and batches are the library's own structs, so
// that one problem is handed to both. Written for clearness, not speed; out of memory ends the test.
#ifndef FGSF_SUPPORT_REFERENCE_H
#define FGSF_SUPPORT_REFERENCE_H

#include "fgsf/bellman.h"
#include "fgsf/network.h"
#include "fgsf/optimizer.h"

// Returns `count` zeros, to be freed with free().
double *reference_zeros(size_t count);

// Returns a network's flat buffer as doubles, to be freed with free().
double *reference_parameters(const fgsf_network *net);

// How many numbers x(s) has: (heads, actions, features).
size_t reference_outputs(const fgsf_network_shape *shape);

// Computes x(s) of mlp and torso, normalised or not. Returns the smallest |pre-activation| of the
// hidden layers, the distance to the nearest kink of a ReLU (infinity without hidden layers).
double reference_forward(const fgsf_network_shape *shape, const double *theta, const float *s,
                         double *x);

// The same for a definition of the test's own, which sets it.
typedef double (*reference_forward_fn)(const fgsf_network_shape *shape, const double *theta,
                                       const float *s, double *x);
extern reference_forward_fn reference_user_forward;

// Adds to `gradient` the gradient of <x(s), dx> with respect to theta, by back-propagation;
// of mlp and torso without normalisation.
void reference_backward(const fgsf_network_shape *shape, const double *theta, const float *s,
                        const double *dx, double *gradient);

// Returns the loss as fgsf_bellman_run reports it and, unless NULL, fills its gradient: full, semi
// or mixed, with any estimator. `target` is the target network's parameters or NULL.
double reference_bellman(const fgsf_bellman_params *params, const fgsf_batch *batch,
                         const double *theta, const double *target, double *gradient);

// Fills the gradient of a kind with another network: h for corrected and gtd2, whose own gradient with
// its weight decay goes to `error`, or the target network of bidirectional and convergent (`error` NULL).
void reference_kind(const fgsf_bellman_params *params, const fgsf_batch *batch, const double *theta,
                    const double *other, double *gradient, double *error);

// Returns a scalar whose true gradient in theta, at theta = frozen, is the direction of the
// parameters' method: what is detached there is computed from `frozen` here. For the full gradient
// with the shared estimator it is the loss itself and `frozen` plays no part.
double reference_objective(const fgsf_bellman_params *params, const fgsf_batch *batch,
                           const double *theta, const double *frozen, const double *target);

// Fills `gradient` with central differences of reference_objective, step h on every parameter.
void reference_differences(const fgsf_bellman_params *params, const fgsf_batch *batch,
                           const double *theta, const double *target, double h, double *gradient);

// Returns the smallest |pre-activation| over all states and next states of a batch.
double reference_margin(const fgsf_bellman_params *params, const fgsf_batch *batch,
                        const double *theta);

// Adam, SGD and SGD with Robbins-Monro steps, after PyTorch's global-norm clip.
typedef struct reference_optimizer {
    fgsf_optimizer_params params;
    size_t size;
    int64_t steps;
    double *m, *v;
} reference_optimizer;

reference_optimizer reference_optimizer_create(const fgsf_optimizer_params *params, size_t size);
void reference_optimizer_free(reference_optimizer *opt);

// Takes one step on theta and returns the gradient's norm before clipping.
double reference_optimizer_step(reference_optimizer *opt, double *theta, const double *gradient,
                                double lr);

// Returns max |value - truth| / max |truth|, the error relative to the largest entry; infinity when
// a value is not a number.
double reference_error(const float *value, const double *truth, size_t count);

#endif
