// Adam and SGD over a network's flat buffer, with PyTorch's global-norm clip.
//
//     fgsf_optimizer_params params = fgsf_optimizer_default_params();
//     fgsf_optimizer_create(&params, net, &opt);
//     fgsf_optimizer_step(opt, net, gradient, 1e-3, &norm);
//
// The step: g *= clip / (|g| + 1e-6) where |g| > clip; then Adam (bias-corrected, no weight decay),
// plain SGD, or SGD with Robbins-Monro steps lr (k0 / (k0 + k))^power, k counting steps from 0.
#ifndef FGSF_OPTIMIZER_H
#define FGSF_OPTIMIZER_H

#include "fgsf/network.h"

FGSF_BEGIN_DECLS

enum fgsf_opt_kind { FGSF_ADAM, FGSF_SGD, FGSF_SGD_RM };

typedef struct fgsf_optimizer_params {
    enum fgsf_opt_kind kind;
    double beta1, beta2, eps;
    double clip; // 0: off
    double rm_k0, rm_power;
} fgsf_optimizer_params;

typedef struct fgsf_optimizer fgsf_optimizer;

// Returns Adam with 0.9, 0.999, 1e-8 and no clip.
FGSF_API fgsf_optimizer_params fgsf_optimizer_default_params(void);

// Creates the optimiser of one network: its moments (zeros) and its step count (0).
FGSF_API fgsf_status fgsf_optimizer_create(const fgsf_optimizer_params *params,
                                           const fgsf_network *net, fgsf_optimizer **out);
FGSF_API void fgsf_optimizer_free(fgsf_optimizer *opt);

// Takes one step of size `lr` along `gradient` (flat layout; not modified) and stores its norm before
// clipping, if wanted. A gradient that is not finite is refused as diverged and changes nothing.
FGSF_API fgsf_status fgsf_optimizer_step(fgsf_optimizer *opt, fgsf_network *net,
                                         const float *gradient, double lr, double *norm);

// A part of the flat buffer with its own learning rate. A part that does not move in every step counts its
// own steps; Adam's bias correction and the rate of sgd_rm then use that count.
typedef struct fgsf_stretch {
    size_t offset, count; // floats
    double lr;
    int64_t steps; // taken so far, with this one; 0: as many as the optimiser
} fgsf_stretch;

// As fgsf_optimizer_step, but only the given stretches move, each at its own rate; the norm is that
// of the whole gradient.
FGSF_API fgsf_status fgsf_optimizer_step_stretches(fgsf_optimizer *opt, fgsf_network *net,
                                                   const float *gradient,
                                                   const fgsf_stretch *stretches, int count,
                                                   double *norm);

// The state, for checkpoints: steps taken, and the two moments (each of the network's flat size;
// NULL for SGD).
FGSF_API int64_t fgsf_optimizer_steps(const fgsf_optimizer *opt);
FGSF_API void fgsf_optimizer_set_steps(fgsf_optimizer *opt, int64_t steps);
FGSF_API float *fgsf_optimizer_moment(fgsf_optimizer *opt, int which);

FGSF_END_DECLS
#endif
