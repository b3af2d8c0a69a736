// Generalised policy evaluation: Q of a policy's successor representation under given rewards.
//
//     fgsf_gpe_create(device, &shape, rows, &gpe);
//     fgsf_gpe_run(gpe, net, rho, num_rho, s, rows, q);
//
//     q[row][r][a] = sum_f x(s_row, a, f) rho_r[f]
//
// Q needs only the product with rho. If the network ends in a linear layer, rho is folded into that
// layer before the pass, whenever R * A outputs are fewer than A * F. The result is the same up to
// rounding; tests compare both ways. For a shared network A is heads * actions: one pass of the body
// serves all policies.
#ifndef FGSF_GPE_H
#define FGSF_GPE_H

#include "fgsf/device.h"
#include "fgsf/network.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_gpe fgsf_gpe;

// Creates an evaluator for networks of `shape` and up to `max_rows` states at once.
FGSF_API fgsf_status fgsf_gpe_create(fgsf_device *device, const fgsf_network_shape *shape,
                                     int max_rows, fgsf_gpe **out);
FGSF_API void fgsf_gpe_free(fgsf_gpe *gpe);

// Evaluates `rows` states (rows, input) under `num_rho` rewards (num_rho, F) into q (rows, num_rho,
// A).
FGSF_API fgsf_status fgsf_gpe_run(fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                                  int num_rho, const float *s, int rows, float *q);

// Like fgsf_gpe_run, but never folds: x first, then the product. For comparison.
FGSF_API fgsf_status fgsf_gpe_run_plain(fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                                        int num_rho, const float *s, int rows, float *q);

// Evaluates the representation itself: x (rows, A, F).
FGSF_API fgsf_status fgsf_gpe_representation(fgsf_gpe *gpe, const fgsf_network *net, const float *s,
                                             int rows, float *x);

// Returns the floating-point operations of the matrix products of the last run.
FGSF_API double fgsf_gpe_flops(const fgsf_gpe *gpe);

FGSF_END_DECLS
#endif
