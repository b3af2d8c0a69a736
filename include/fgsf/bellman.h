// The Bellman error of a network as a ggml graph, and its gradient by ggml's own backward pass.
//
//     fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
//     params.max_pairs = 64;
//     params.kind = FGSF_FULL;                           // or FGSF_SEMI, ...
//     fgsf_bellman_create(device, &params, &bellman);
//     fgsf_bellman_run(bellman, &batch, net, NULL, &loss);
//     fgsf_optimizer_step(opt, net, fgsf_bellman_gradient(bellman), lr, &norm);
//
// For pairs b with n next-state samples p each,
//
//     delta_b = mean_p( y_bp + discount_bp x(s'_bp, a'_bp) ) - x(s_b, a_b)      in R^F,
//     loss    = scale * sum_b weight_b |delta_b|^2.
//
// FGSF_FULL: the target stays attached, so the gradient is the true gradient of the loss with a'
// frozen. FGSF_SEMI: the target is computed from tensors that share the parameters' memory but are not
// marked as parameters, so no gradient reaches them. FGSF_MIX: Baird's residual mix of the two. The other kinds are rows of the same table.
// Every method goes through this one builder; DQN is the case F = 1.
#ifndef FGSF_BELLMAN_H
#define FGSF_BELLMAN_H

#include "fgsf/device.h"
#include "fgsf/network.h"

FGSF_BEGIN_DECLS

// The factor `scale` on sum_b weight_b |delta_b|^2, for F features, A actions and denominator N (the
// number of pairs unless the batch says otherwise). PyTorch's mse_loss with reduction "mean" is
// FGSF_MEAN, with "sum" it is FGSF_DOUBLE_SUM: note that FGSF_SUM is half the sum.
enum fgsf_loss_scale {
    FGSF_HALF_MEAN,    // 1 / (2 N F)
    FGSF_MEAN,         // 1 / (N F)
    FGSF_SUM,          // 1 / 2
    FGSF_DOUBLE_SUM,   // 1
    FGSF_MEAN_ACTIONS, // 1 / (N F A), as the authors' DQN
};

// The kinds differ in the error e1 in front of grad x(s, a) and e2 in front of -eta d grad x(s', a').
// docs/gradients.md has the whole table. h is an error network, xbar a target network.
enum fgsf_gradient_kind {
    FGSF_SEMI,          // delta, nothing: TD
    FGSF_FULL,          // delta, delta: the residual gradient
    FGSF_MIX,           // the same with a share eta
    FGSF_CORRECTED,     // delta, h(s, a): TDC, QC
    FGSF_GTD2,          // h(s, a), h(s, a)
    FGSF_BIDIRECTIONAL, // |y + d xbar' - x|^2 + eta |y + d x' - xbar|^2
    FGSF_CONVERGENT,    // max(|y + d xbar' - x|^2, |y + d x' - x|^2), the maximum per pair
};

// What a kind needs besides the network that is trained.
typedef struct fgsf_gradient_need {
    bool error_network, target_network;
} fgsf_gradient_need;

// Which of a pair's next-state samples enter the error, and which the gradient of the target.
enum fgsf_estimator {
    FGSF_SHARED,      // all in both
    FGSF_CRITIC_ONLY, // all in the error, one in the gradient
    FGSF_SPLIT,       // disjoint halves
};

typedef struct fgsf_bellman_params {
    fgsf_network_shape shape;
    int max_pairs;  // largest batch
    int max_states; // different states in it, where pairs share them; 0: as many as pairs
    int samples;    // n, next-state samples per pair
    enum fgsf_gradient_kind kind;
    double grad_mix; // eta in [0, 1]; FGSF_SEMI and FGSF_FULL do not look at it
    double h_beta;   // weight decay of the error network: + h_beta / 2 |theta_h|^2 in its loss
    enum fgsf_estimator estimator;
    int split; // FGSF_SPLIT: the first `split` samples give the error, the rest the gradient
    bool target_network; // semi: bootstrap from another network
    enum fgsf_loss_scale loss_scale;
    bool one_size; // batches are mostly of max_pairs: graphs of other sizes are built when needed
} fgsf_bellman_params;

// One batch; all arrays belong to the caller. Samples of one pair are consecutive. Several samples with
// the same state cost as much as one.
typedef struct fgsf_batch {
    int pairs;
    const float *s;         // (pairs, input)
    const int32_t *a;       // (pairs), of a shared network: head * actions + action
    const float *y;         // (pairs, samples, features)
    const float *s_next;    // (pairs, samples, input)
    const int32_t *a_next;  // (pairs, samples)
    const float *discount;  // (pairs, samples)
    const float *weight;    // (pairs), or NULL for 1
    const int32_t *present; // (pairs), how many of the samples exist, or NULL for all of them
    double denominator;     // N of the loss scale; 0 for the number of pairs
    const int32_t
        *state; // (pairs), the rows of s and s_next that belong to a pair, or NULL: its own
    int states; // rows of s and s_next then: pairs that share one cost one forward pass
    const int32_t *next; // where the samples of s_next stand among `nexts` rows, or NULL: as above
    int nexts;
} fgsf_batch;

typedef struct fgsf_bellman fgsf_bellman;

// Returns one sample, FGSF_MIX with grad_mix 1 (the full gradient), shared estimator, half_mean,
// max_pairs 64.
FGSF_API fgsf_bellman_params fgsf_bellman_default_params(const fgsf_network_shape *shape);

FGSF_API fgsf_status fgsf_bellman_create(fgsf_device *device, const fgsf_bellman_params *params,
                                         fgsf_bellman **out);
FGSF_API void fgsf_bellman_free(fgsf_bellman *bellman);

// Returns what a kind needs.
FGSF_API fgsf_gradient_need fgsf_gradient_needs(enum fgsf_gradient_kind kind);

// Computes loss and gradient at `net`. `other` is the error or target network that the kind needs; with
// FGSF_SEMI it is the target network if params.target_network is set. Otherwise it is NULL. The loss is
// that of delta, or the kind's own expression if it has one. The gradient stays valid
// until the next run.
FGSF_API fgsf_status fgsf_bellman_run(fgsf_bellman *bellman, const fgsf_batch *batch,
                                      const fgsf_network *net, const fgsf_network *other,
                                      double *loss);

// Returns the gradient of the last run, in the layout of the network's flat buffer.
FGSF_API const float *fgsf_bellman_gradient(const fgsf_bellman *bellman);

// Returns the gradient of the error network's own loss, scale sum_b weight_b |delta_b - h_b|^2 +
// h_beta / 2 |theta_h|^2 with delta constant; NULL for kinds without one.
FGSF_API const float *fgsf_bellman_error_gradient(const fgsf_bellman *bellman);

// Returns the floating-point operations of the matrix products of the last run.
FGSF_API double fgsf_bellman_flops(const fgsf_bellman *bellman);

// Returns the factor on sum_b weight_b |delta_b|^2 for a loss scale.
FGSF_API double fgsf_loss_factor(enum fgsf_loss_scale scale, double denominator, int features,
                                 int actions);

FGSF_END_DECLS
#endif
