// Internal: a device's backends, and a ggml graph made ready to run on them.
#ifndef FGSF_PROGRAM_H
#define FGSF_PROGRAM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fgsf/gpe.h"
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
    atomic_int users;                  // whoever opened it, and the copies that live on it
    ggml_backend_buffer_type_t memory; // where its graphs read and write
    bool resident;                     // that is not the host's: networks have a copy there
    bool poor;                         // for tests: taken to lack what lower_device.c replaces
    fgsf_device_counts counts;
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
    ggml_backend_sched_t sched; // NULL where one backend runs everything
    bool whole;                 // a device that is not the CPU runs all of it
    int nodes;                  // that are computed
    double flops;               // of the matrix products
    size_t moved[2];            // bytes that the scheduler brings up and down
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

// Adds room for what only some of the graphs have.
void fgsf_program_enlarge(fgsf_program_size *size);

// Refuses a definition whose forward pass has a result of the wrong size, or holds, on a way from a
// parameter, an operation that ggml cannot differentiate, by its name: ggml itself would abort.
fgsf_status fgsf_network_check_forward(const fgsf_network *net);

// Refuses a result of forward that is not (rows, outputs).
fgsf_status fgsf_check_result(const fgsf_network_shape *shape, const struct ggml_tensor *x,
                              int rows, int outputs);

// An index of a GET_ROWS whose gradient is scattered by products where a device has no GET_ROWS_BACK.
typedef struct fgsf_scatter {
    const struct ggml_tensor
        *index;                   // (picks): row * parts + part of the source seen as (rows, parts)
    struct ggml_tensor *parts;    // (picks, parts): 1 at the part, else 0
    struct ggml_tensor *rows;     // (picks): the row; NULL where pick j is of row j
    struct ggml_tensor *identity; // (rows, rows); with `rows`
} fgsf_scatter;

// Counts the matrix products of a graph and their multiplications and additions.
int fgsf_count_products(struct ggml_cgraph *graph, double *flops);

// On a device that is not the CPU: replaces what it lacks by what it has (lower_device.c). Nodes stay
// what they are for their users; new ones come in between, so program->graph is another graph
// afterwards. Says in program->whole whether the device then runs all of it.
fgsf_status fgsf_lower_device(fgsf_program *program, const fgsf_device *device,
                              const fgsf_scatter *scatter);

#define FGSF_MAX_SCATTER 65535 // rows that CUDA's GET_ROWS_BACK can fill: its grid is no higher

// Whether the device has GET_ROWS_BACK for so many rows, so that fgsf_scatter is not needed.
bool fgsf_device_scatters(const fgsf_device *device, int64_t rows);

// Whether a node computes something, and whether the first backend can.
bool fgsf_computes(const struct ggml_tensor *node);
bool fgsf_device_runs(const fgsf_device *device, const struct ggml_tensor *node);

// Places the graph on the device. `scratch` is the allocator that graphs of one owner share: they
// never run at the same time, so they may overlap in memory; none may need more of it than the first
// (build_programs in bellman.c sees to that).
fgsf_status fgsf_program_finish(fgsf_program *program, fgsf_device *device, ggml_gallocr_t scratch);

fgsf_status fgsf_program_run(fgsf_program *program, fgsf_device *device);
void fgsf_program_free(fgsf_program *program);

// Creates leaves for a network's shape, as parameters (differentiated) or plain (detached), still
// without memory.
fgsf_leaves fgsf_leaves_create(struct ggml_context *ctx, const fgsf_network *net, bool parameters);

// Points the leaves at a network's parameters where the device computes.
fgsf_status fgsf_leaves_bind(fgsf_leaves *leaves, const fgsf_network *net, fgsf_device *device);

// Points a tensor at a place in a buffer.
void fgsf_tensor_place(struct ggml_tensor *tensor, ggml_backend_buffer_t buffer, float *data);

// Rewrites the graph's products as calls of product.c; see lower.c.
void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph, fgsf_device *device);

// Rounds a number of rows up to the next size for which a graph is built: exact up to 32, at most 1/16
// of it padding above; up to 8 and 1/4 where each graph has memory of its own. At least
// two, since with one row a bias has the shape of what it is added to and ggml hands both one gradient.
int fgsf_bucket(const fgsf_device *device, int rows);

// Evaluates `count` networks at the same states into q[k] (rows, num_rho, A): in one graph where the
// device is not the CPU. The `num_rho` rewards of one network stand `step` numbers behind those of the
// one before it; 0 when they are the same for all.
fgsf_status fgsf_gpe_run_all(fgsf_gpe *gpe, const fgsf_network *const *nets, int count,
                             const float *rho, size_t step, int num_rho, const float *s, int rows,
                             float *const *q);

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
