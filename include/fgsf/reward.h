// Reward models: what one task pays for a feature vector, known or learned from (phi, r).
//
//     fgsf_reward_create(&cfg, env, task, device, &rng, &reward);
//     fgsf_reward_update(reward, phi, r);                     // one step per transition
//     fgsf_reward_rho(reward, NULL, rho);                     // psi: rho = w
//     fgsf_reward_rho(reward, set, rho);                      // xi:  rho[f] = R(phi^f)
//
// known: the environment's own. linear_lms: w += alpha (r - w.phi) phi. linear_nlms: the same step
// divided by 1e-6 + |phi|^2. linear_rls: recursive least squares with forgetting. mlp: phi ->
// hidden SiLU -> 1, one clipped Adam step on the squared error per transition, through ggml (the
// authors use tanh, which has no ggml backward pass). Linear models compute in double precision.
#ifndef FGSF_REWARD_H
#define FGSF_REWARD_H

#include "fgsf/device.h"
#include "fgsf/env.h"
#include "fgsf/feature_set.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_reward fgsf_reward;

// Creates the model of one task. Linear weights start as U(-0.01, 0.01), the MLP's parameters as
// U(-1/sqrt(in), 1/sqrt(in)); nothing is drawn for `known`. `known` without a reward that is a
// function of phi (a held-out task, say), or for psi without one that is linear, is an error. `env`
// must outlive the model; `device` is used by mlp alone.
FGSF_API fgsf_status fgsf_reward_create(const fgsf_config *cfg, const fgsf_env *env, int task,
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

// The whole state, for checkpoints, as one array of doubles, which hold floats and step counts
// exactly. `values` is read or written in full.
FGSF_API size_t fgsf_reward_state_size(const fgsf_reward *reward);
FGSF_API void fgsf_reward_get_state(fgsf_reward *reward, double *values);
FGSF_API void fgsf_reward_set_state(fgsf_reward *reward, const double *values);

// Fits w by ridge regression on n stored (phi, r): w = (Phi'Phi + lambda I)^-1 Phi'r. Stores the
// root mean squared error of the fit, if wanted. A matrix that is singular is an error.
FGSF_API fgsf_status fgsf_reward_ridge(const float *phi, const double *r, int n, int num_features,
                                       double lambda, double *w, double *rmse);

FGSF_END_DECLS
#endif
