// Networks x(s) -> (actions, features): a definition builds the graph, a flat buffer holds the
// parameters.
//
//     fgsf_network_shape shape = {.input = 38, .num_hidden = 2, .hidden = {256, 256},
//                                 .actions = 4, .features = 4, .bias = true};
//     fgsf_network *net = NULL;
//     fgsf_network_create(&shape, &net);
//     fgsf_network_init(net, FGSF_NORMAL_FAN_IN, &rng);
//
// A definition lists its parameters and builds the forward pass from them with ggml calls. The
// library derives everything else: gradients of every kind, policy evaluation, the optimiser,
// archives. `mlp` (the default) and `torso` are ours; docs/networks.md shows how to write another.
// Without hidden layers `mlp` is a linear map, so tabular and linear theory run through the same code. Outputs are ordered (head, action, feature), feature fastest.
#ifndef FGSF_NETWORK_H
#define FGSF_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/rng.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

#define FGSF_MAX_HIDDEN 8      // widths in a shape
#define FGSF_MAX_PARAMETERS 64 // of one definition

struct ggml_context;
struct ggml_tensor;

// The order of each enum is the order of its choices in the key table.
enum fgsf_activation { FGSF_RELU, FGSF_SILU, FGSF_SOFTPLUS };
enum fgsf_norm { FGSF_NORM_NONE, FGSF_NORM_RMS, FGSF_NORM_LAYER };
enum fgsf_init { FGSF_NORMAL_FAN_IN, FGSF_UNIFORM_FAN_IN, FGSF_ZEROS };

typedef struct fgsf_network_def fgsf_network_def;

// The sizes that a definition builds from. What the hidden widths mean is up to the definition.
typedef struct fgsf_network_shape {
    int input;
    int num_hidden;
    int hidden[FGSF_MAX_HIDDEN];
    int actions, features;
    enum fgsf_activation activation;
    bool bias;
    enum fgsf_norm norm;         // before each activation
    int heads;                   // policies that share the network; 0 means 1
    const fgsf_network_def *def; // NULL means mlp
} fgsf_network_shape;

// What a parameter holds before training.
enum fgsf_fill {
    FGSF_FILL_WEIGHTS, // drawn as fgsf_init says, with `fan_in`
    FGSF_FILL_BIASES,  // likewise; zero with FGSF_NORMAL_FAN_IN
    FGSF_FILL_ONES,
    FGSF_FILL_ZEROS,
};

// One parameter: a matrix (rows, columns), row-major, or a vector (rows = 1). In ggml its shape is
// ne = {columns, rows}, so that ggml_mul_mat(weights, x) is x W^T with W (out, in).
typedef struct fgsf_parameter {
    char name[32];
    int rows, columns;
    enum fgsf_fill fill;
    int fan_in;
    size_t offset; // in the flat buffer, in floats; set by the library
} fgsf_parameter;

// The parameters of a shape, in the order of the flat buffer.
typedef struct fgsf_parameters {
    int count;
    fgsf_parameter list[FGSF_MAX_PARAMETERS];
    size_t flat_size; // floats; each parameter starts on 64 bytes, zeros between
    bool overflow;    // one was added that has no name or does not fit
} fgsf_parameters;

// A kind of network.
struct fgsf_network_def {
    const char *name;    // for net.kind
    const char *summary; // one line for --list-keys
    // Lists the parameters by calls of fgsf_parameters_add.
    void (*parameters)(const fgsf_network_shape *shape, fgsf_parameters *out);
    // Builds x(input): input (input, rows) -> (heads * actions * features, rows), in ggml's order.
    // `p` holds one tensor per parameter, in the order they were added.
    struct ggml_tensor *(*forward)(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                   struct ggml_tensor *const *p, struct ggml_tensor *input);
    // Set it if the last operation is x = W h (+ b), where W and b are the last parameters. Policy
    // evaluation then folds a reward into W and computes Q directly. `forward` must not assume W's
    // number of rows.
    bool linear_head;
    // One network serves all policies, with a head each. Needs linear_head.
    bool shared;
    // `forward` also works with a third dimension: parameters and input of several networks side by
    // side, one in each slice. Devices other than the CPU then evaluate all policies at once.
    bool stacks;
};

// The definitions of the library: a multi-layer perceptron, and the same with one body for all
// policies.
FGSF_API extern const fgsf_network_def fgsf_network_mlp, fgsf_network_torso;

// Registers a definition under its name. It must outlive every use. An empty name, a name that another
// definition has, and a definition without functions are refused.
FGSF_API fgsf_status fgsf_network_register(const fgsf_network_def *def);

// Returns the i-th definition, or NULL past the last; and the one of a name, or NULL.
FGSF_API const fgsf_network_def *fgsf_network_def_at(int i);
FGSF_API const fgsf_network_def *fgsf_network_def_find(const char *name);

// Adds a parameter; for use in a definition.
FGSF_API void fgsf_parameters_add(fgsf_parameters *out, const char *name, int rows, int columns,
                                  enum fgsf_fill fill, int fan_in);

typedef struct fgsf_network fgsf_network;

// Checks a shape, naming the field that is wrong.
FGSF_API fgsf_status fgsf_network_shape_check(const fgsf_network_shape *shape);

// Lists the parameters of a valid shape.
FGSF_API void fgsf_network_list(const fgsf_network_shape *shape, fgsf_parameters *out);

// Returns the length of the flat buffer of a shape, and the number of parameters proper.
FGSF_API size_t fgsf_network_flat_size(const fgsf_network_shape *shape);
FGSF_API size_t fgsf_network_num_parameters(const fgsf_network_shape *shape);

// Creates a network of zeros.
FGSF_API fgsf_status fgsf_network_create(const fgsf_network_shape *shape, fgsf_network **out);
FGSF_API void fgsf_network_free(fgsf_network *net);

// Draws the parameters. normal_fan_in: weights N(0, 1/fan_in), biases 0. uniform_fan_in: weights and
// biases U(-1/sqrt(fan_in), 1/sqrt(fan_in)). zeros: all zero, nothing drawn. With several heads all
// but the first stay zero until fgsf_network_init_head.
FGSF_API void fgsf_network_init(fgsf_network *net, enum fgsf_init init, fgsf_rng *rng);

// Draws one head of a shared network, or copies the head before it.
FGSF_API void fgsf_network_init_head(fgsf_network *net, int head, enum fgsf_init init,
                                     fgsf_rng *rng);
FGSF_API void fgsf_network_copy_head(fgsf_network *net, int head);

FGSF_API const fgsf_network_shape *fgsf_network_get_shape(const fgsf_network *net);

// Returns the parameters' names and places, and the length of the flat buffer.
FGSF_API const fgsf_parameters *fgsf_network_get_parameters(const fgsf_network *net);
FGSF_API size_t fgsf_network_size(const fgsf_network *net);

// Returns the flat buffer for reading, or for writing. The call for writing marks the network as changed,
// so that cached evaluations of it are computed again.
FGSF_API const float *fgsf_network_parameters(const fgsf_network *net);
FGSF_API float *fgsf_network_edit(fgsf_network *net);

// Returns a number that changes with every fgsf_network_edit.
FGSF_API uint64_t fgsf_network_version(const fgsf_network *net);

// Moves `net` towards `source` of the same shape: net += rate (source - net); rate 1 copies.
FGSF_API fgsf_status fgsf_network_track(fgsf_network *net, const fgsf_network *source, float rate);

FGSF_END_DECLS
#endif
