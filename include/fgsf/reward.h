// Reward models: what one task pays for a feature vector, known or learned from (phi, r).
//
//     fgsf_reward_params params = fgsf_reward_default_params(num_features);
//     fgsf_reward_create(&params, NULL, device, &rng, &reward);
//     fgsf_reward_update(reward, phi, r);                     // one step per transition
//     fgsf_reward_rho(reward, NULL, rho);                     // psi: rho = w
//     fgsf_reward_rho(reward, set, rho);                      // xi:  rho[f] = R(phi^f)
//
// known: given by the caller. linear_lms: w += alpha (r - w.phi) phi. linear_nlms: the same step
// divided by 1e-6 + |phi|^2. linear_rls: recursive least squares with forgetting. mlp: phi ->
// hidden SiLU -> 1, one clipped Adam step on the squared error per transition, through ggml (the
// authors use tanh, which has no ggml backward pass). Linear models compute in double precision.
#ifndef FGSF_REWARD_H
#define FGSF_REWARD_H

#include <stdbool.h>

#include "fgsf/device.h"
#include "fgsf/feature_set.h"
#include "fgsf/rng.h"

FGSF_BEGIN_DECLS

enum fgsf_reward_model {
    FGSF_REWARD_KNOWN,
    FGSF_REWARD_LINEAR_LMS,
    FGSF_REWARD_LINEAR_NLMS,
    FGSF_REWARD_LINEAR_RLS,
    FGSF_REWARD_MLP,
};

typedef struct fgsf_reward_params {
    enum fgsf_reward_model model;
    int num_features;
    double alpha_w;     // LMS and NLMS: step size
    double forgetting;  // RLS
    int64_t mlp_hidden; // width
    double mlp_lr;
} fgsf_reward_params;

// What is known about the reward of a task; every member may be left out.
typedef struct fgsf_task {
    const double *w; // the reward is w . phi
    // Writes the reward of a feature vector and returns true; false where it is no function of phi.
    bool (*reward)(const void *context, int task, const double *phi, double *reward);
    const void *context;
    int task; // handed to `reward`, and named in messages
} fgsf_task;

typedef struct fgsf_reward fgsf_reward;

// Returns linear_nlms with step 0.5.
FGSF_API fgsf_reward_params fgsf_reward_default_params(int num_features);

// Creates the model of one task. Linear weights start as U(-0.01, 0.01), the MLP's parameters as
// U(-1/sqrt(in), 1/sqrt(in)); nothing is drawn for `known`. `known` without a reward that is a
// function of phi is an error. `task` may be NULL; it and what it points to must outlive the model.
// `device` is used by mlp alone.
FGSF_API fgsf_status fgsf_reward_create(const fgsf_reward_params *params, const fgsf_task *task,
                                        fgsf_device *device, fgsf_rng *rng, fgsf_reward **out);
FGSF_API void fgsf_reward_free(fgsf_reward *reward);

// Learns from one transition; does nothing for `known`. A model whose numbers are no longer finite
// is reported as diverged.
FGSF_API fgsf_status fgsf_reward_update(fgsf_reward *reward, const float *phi, double r);

// Returns the modelled reward of a feature vector; NaN when it cannot be computed.
FGSF_API double fgsf_reward_predict(fgsf_reward *reward, const float *phi);

// Writes the scoring vector: w for psi (set NULL), R(phi^f) for every slot of the set for xi (0 for
// slots without a member).
FGSF_API fgsf_status fgsf_reward_rho(fgsf_reward *reward, const fgsf_feature_set *set, float *rho);

// Returns |w - w_true| / |w_true| where the true reward is linear and so is the model, else NaN.
FGSF_API double fgsf_reward_error(const fgsf_reward *reward);

// Fits w by ridge regression on n stored (phi, r): w = (Phi'Phi + lambda I)^-1 Phi'r. Stores the
// root mean squared error of the fit, if wanted. A matrix that is singular is an error.
FGSF_API fgsf_status fgsf_reward_ridge(const float *phi, const double *r, int n, int num_features,
                                       double lambda, double *w, double *rmse);

FGSF_END_DECLS
#endif
