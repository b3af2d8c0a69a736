// Internal: one update on a device that is not the CPU, where the optimiser is part of the graph.
//
// After the backward pass of a Bellman graph come, for the network and for its error network: the norm
// of the gradient, its clip, ggml's Adam or SGD, and Polyak tracking. The gradient never leaves the
// device; loss and norms come down.
#ifndef FGSF_UPDATE_H
#define FGSF_UPDATE_H

#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"
#include "resident.h"

#define FGSF_STEP_NUMBERS 7 // what ggml's Adam reads; its SGD reads the first two

// Lets the device's threads help with large steps, which have the same bits then.
void fgsf_optimizer_share(fgsf_optimizer *opt, const fgsf_device *device);

// What a step needs: a network, its optimiser and rate, and a target that follows it.
typedef struct fgsf_step {
    fgsf_network *net; // NULL: no step
    fgsf_optimizer *opt;
    double lr;
    fgsf_network *target; // NULL: none that moves with every step
    double polyak;
} fgsf_step;

// What of it is built into a graph.
typedef struct fgsf_plan {
    struct fgsf_plan_step {
        bool steps, adam, tracks;
        float clip, polyak;
    } of[2];
} fgsf_plan;

fgsf_plan fgsf_plan_of(const fgsf_step steps[2]);
bool fgsf_plan_equal(const fgsf_plan *a, const fgsf_plan *b);

// The flat tensors of one step, bound anew before each run.
typedef struct fgsf_step_leaves {
    struct ggml_tensor *theta, *moments[2], *target;
} fgsf_step_leaves;

// Adds the step along the flat `gradient` to a graph and returns the squared norm of the gradient.
// `numbers` is what fgsf_optimizer_advance writes, `one` a 1. `size` is that of the flat copies.
struct ggml_tensor *fgsf_step_build(struct ggml_context *ctx, struct ggml_cgraph *graph,
                                    const struct fgsf_plan_step *plan, struct ggml_tensor *gradient,
                                    struct ggml_tensor *numbers, struct ggml_tensor *one,
                                    fgsf_step_leaves *leaves);

// Binds the leaves to copies on the device; and says, after a run, that these have changed.
fgsf_status fgsf_step_bind(fgsf_step_leaves *leaves, const fgsf_step *step, fgsf_device *device);
void fgsf_step_moved(const fgsf_step *step);

// Whether updates of this graph can be one graph.
bool fgsf_bellman_updates(const fgsf_bellman *bellman);

// Loss and gradient as fgsf_bellman_run, and the steps of the network and of its error network (none:
// NULL) in the same graph. A norm that is not finite is reported as diverged, after the step: what
// moved is then lost. The loss is the caller's to check.
fgsf_status fgsf_bellman_update(fgsf_bellman *bellman, const fgsf_batch *batch,
                                const fgsf_step steps[2], const fgsf_network *other, double *loss,
                                double *norm);

// ---- The optimiser's side -----------------------------------------------------------------------

const fgsf_optimizer_params *fgsf_optimizer_get_params(const fgsf_optimizer *opt);

// Counts a step at the rate `lr` and writes what ggml's Adam, or SGD, reads.
void fgsf_optimizer_advance(fgsf_optimizer *opt, double lr, float numbers[FGSF_STEP_NUMBERS]);

// Returns the up-to-date copies of the moments on a device; says that a graph has changed them.
fgsf_status fgsf_optimizer_copies(fgsf_optimizer *opt, fgsf_device *device,
                                  const fgsf_copy *out[2]);
void fgsf_optimizer_moved(fgsf_optimizer *opt);

#endif
