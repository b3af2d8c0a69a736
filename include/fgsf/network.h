// A multi-layer perceptron x(s) -> (actions, features) whose parameters live in one flat buffer.
//
//     fgsf_network_shape shape = {.input = 38, .num_hidden = 2, .hidden = {256, 256},
//                                 .actions = 4, .features = 4, .bias = true};
//     fgsf_network *net = NULL;
//     fgsf_network_create(&shape, &net);
//     fgsf_network_init(net, FGSF_NORMAL_FAN_IN, &rng);
//
// With no hidden layer it is a linear map, which is how tabular and linear theory runs through the
// same code. DQN is the case features = 1. Outputs are ordered (action, feature), feature fastest.
#ifndef FGSF_NETWORK_H
#define FGSF_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/config.h"
#include "fgsf/rng.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_network_shape {
    int input;
    int num_hidden;
    int hidden[FGSF_MAX_HIDDEN];
    int actions, features;
    enum fgsf_activation activation;
    bool bias;
} fgsf_network_shape;

// Where one layer's numbers stand in the flat buffer: weights (out, in) row-major, then biases.
typedef struct fgsf_layer {
    int in, out;
    size_t weights, biases; // offsets in floats; biases is 0 without bias
} fgsf_layer;

typedef struct fgsf_network fgsf_network;

// Checks a shape, naming the field that is wrong.
FGSF_API fgsf_status fgsf_network_shape_check(const fgsf_network_shape *shape);

// Returns the number of layers (hidden + 1) and fills `layers`, which may be NULL.
FGSF_API int fgsf_network_layers(const fgsf_network_shape *shape,
                                 fgsf_layer layers[FGSF_MAX_HIDDEN + 1]);

// Returns the length of the flat buffer: the parameters, each block padded to 64 bytes with zeros.
FGSF_API size_t fgsf_network_flat_size(const fgsf_network_shape *shape);

// Returns the number of parameters proper, without padding.
FGSF_API size_t fgsf_network_num_parameters(const fgsf_network_shape *shape);

// Creates a network of zeros.
FGSF_API fgsf_status fgsf_network_create(const fgsf_network_shape *shape, fgsf_network **out);
FGSF_API void fgsf_network_free(fgsf_network *net);

// Draws the parameters. normal_fan_in: weights N(0, 1/in), biases 0. uniform_fan_in: weights and
// biases U(-1/sqrt(in), 1/sqrt(in)). zeros: all zero, nothing drawn.
FGSF_API void fgsf_network_init(fgsf_network *net, enum fgsf_init init, fgsf_rng *rng);

FGSF_API const fgsf_network_shape *fgsf_network_get_shape(const fgsf_network *net);

// Returns the flat buffer for reading, or for writing: the latter marks the network as changed, so
// that cached evaluations of it are computed anew.
FGSF_API const float *fgsf_network_parameters(const fgsf_network *net);
FGSF_API float *fgsf_network_edit(fgsf_network *net);

// Returns a number that changes with every fgsf_network_edit.
FGSF_API uint64_t fgsf_network_version(const fgsf_network *net);

// Moves `net` towards `source` of the same shape: net += rate (source - net); rate 1 copies.
FGSF_API void fgsf_network_track(fgsf_network *net, const fgsf_network *source, float rate);

FGSF_END_DECLS
#endif
