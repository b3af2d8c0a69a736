// Internal: a device's backends, and a ggml graph made ready to run on them.
#ifndef FGSF_PROGRAM_H
#define FGSF_PROGRAM_H

#include <stdbool.h>

#include "fgsf/device.h"
#include "fgsf/network.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "pool.h"

#define FGSF_MAX_BACKENDS 3
#define FGSF_GRAPH_ROOM 16384 // nodes of the largest graph that is built, forward and backward
#define FGSF_MAX_BUCKETS 288  // more than there are sizes up to 2^20, see fgsf_bucket

struct fgsf_device {
    ggml_backend_t backends[FGSF_MAX_BACKENDS]; // by priority; the last is the CPU
    int num_backends;
    struct ggml_threadpool *threads; // kept, or ggml would make one for every graph it computes
    bool lower;                      // products run by product.c inside the CPU graph
    fgsf_pool *pool;                 // that helps them; NULL with one thread
    int products, products_left;     // of all graphs so far: in all, and what lower.c left to ggml
    char description[128];
    char fallbacks[512];
};

// Room for a graph: nodes, and bytes of its tensors' headers. All zero: the largest that is built.
typedef struct fgsf_program_size {
    int nodes;
    size_t bytes;
} fgsf_program_size;

// A graph with its tensors' headers. `ctx` and `graph` are made by fgsf_program_begin, filled by the
// caller, and closed by fgsf_program_finish.
typedef struct fgsf_program {
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    ggml_backend_sched_t sched; // NULL where the CPU runs everything
    double flops;               // of the matrix products
    struct ggml_tensor **views; // (num_views): of leaves
    int num_views;
} fgsf_program;

// The parameters of a network as leaves of a graph; bound to a network's memory before each run.
typedef struct fgsf_leaves {
    int count;
    size_t offsets[FGSF_MAX_PARAMETERS];
    struct ggml_tensor *tensors[FGSF_MAX_PARAMETERS];
} fgsf_leaves;

// Keeps ggml from printing: failures are reported by status, and the library never prints.
void fgsf_silence_ggml(void);

fgsf_status fgsf_program_begin(fgsf_program *program, fgsf_program_size size, bool with_gradients);

// Returns the room that a complete graph takes, for others of the same structure.
fgsf_program_size fgsf_program_measure(const fgsf_program *program);

// Refuses a definition whose forward pass has a result of the wrong size, or holds, on a way from a
// parameter, an operation that ggml cannot differentiate, by its name: ggml itself would abort.
fgsf_status fgsf_network_check_forward(const fgsf_network *net);

// Refuses a result of forward that is not (rows, outputs).
fgsf_status fgsf_check_result(const fgsf_network_shape *shape, const struct ggml_tensor *x,
                              int rows, int outputs);

// Places the graph on the device. `scratch` is the allocator that graphs of one owner share: they
// never run at the same time, so they may overlap in memory; none may need more of it than the first
// (build_programs in bellman.c sees to that).
fgsf_status fgsf_program_finish(fgsf_program *program, fgsf_device *device, ggml_gallocr_t scratch);

fgsf_status fgsf_program_run(fgsf_program *program, fgsf_device *device);
void fgsf_program_free(fgsf_program *program);

// Creates leaves for a network's shape, as parameters (differentiated) or plain (detached), bound to
// `net`.
fgsf_leaves fgsf_leaves_create(struct ggml_context *ctx, const fgsf_network *net, bool parameters);
void fgsf_leaves_bind(fgsf_leaves *leaves, const fgsf_network *net);

// Points a tensor at a place in host memory.
void fgsf_tensor_place(struct ggml_tensor *tensor, ggml_backend_buffer_t buffer, float *data);

// Rewrites the graph's products as calls of product.c; see lower.c.
void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph, fgsf_device *device);

// Rounds a number of rows up to the next size for which a graph is built: exact up to 32, at most 1/16
// of it padding above; up to 8 and 1/4 where each graph has memory of its own on a device. At least
// two, since with one row a bias has the shape of what it is added to and ggml hands both one gradient.
int fgsf_bucket(const fgsf_device *device, int rows);

// Copies the rows to `out` without repetitions among `group` consecutive ones, in order; row i then
// stands at index[i]. Returns how many were copied.
int fgsf_distinct_rows(const float *rows, int count, int group, size_t width, float *out,
                       int32_t *index);

// Refuses a network of another shape; `what` begins the message.
fgsf_status fgsf_network_require(const fgsf_network *net, const fgsf_network_shape *shape,
                                 const char *what);

// The definition of a shape; the actions of all heads; and the index of the linear head's W.
const fgsf_network_def *fgsf_shape_def(const fgsf_network_shape *shape);
int fgsf_shape_actions(const fgsf_network_shape *shape);
int fgsf_shape_head(const fgsf_network_shape *shape, const fgsf_parameters *list);

// Copies one head of a shared network from another one of the same shape.
void fgsf_network_take_head(fgsf_network *net, const fgsf_network *source, int head);

// The host memory of a network.
ggml_backend_buffer_t fgsf_network_buffer(const fgsf_network *net);

#endif
