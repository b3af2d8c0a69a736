// Opens devices and runs graphs on them: one CPU graph where possible, ggml's scheduler elsewhere.
#include "program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "denormals.h"
#include "ggml-blas.h"
#include "ggml-cpu.h"
#include "memory.h"
#include "require.h"
#include "resident.h"

#define CHECKED_ROWS 3 // of the forward pass that is checked; any number above one

static void discard_log(enum ggml_log_level level, const char *text, void *userdata) {
    (void)level, (void)text, (void)userdata;
}

static void set_log(void) {
    ggml_log_set(discard_log, NULL);
}

// Once: ggml keeps it in a variable of all threads.
void fgsf_silence_ggml(void) {
    static pthread_once_t done = PTHREAD_ONCE_INIT;
    pthread_once(&done, set_log);
}

static fgsf_status add_backend(fgsf_device *device, ggml_backend_dev_t dev, const char *name) {
    ggml_backend_t backend = dev ? ggml_backend_dev_init(dev, NULL) : NULL;
    if (!backend) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "device.name: '%s' is no device of this build on this machine", name);
    }
    // Left alone, ggml's BLAS backend would set four threads for the whole process at each product.
    ggml_backend_set_n_threads_t set_threads =
        (ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(
            ggml_backend_dev_backend_reg(dev), "ggml_backend_set_n_threads");
    if (set_threads) {
        set_threads(backend, 1);
    }
    device->backends[device->num_backends++] = backend;
    return FGSF_OK;
}

// The library does not link ggml's BLAS backend, which needs OpenBLAS; a program that does has this
// function.
#pragma weak ggml_backend_blas_reg

static void register_blas(void) {
    if (ggml_backend_blas_reg && !ggml_backend_reg_by_name("BLAS")) {
        ggml_backend_register(ggml_backend_blas_reg());
    }
}

static ggml_backend_dev_t find_device(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_blas);
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (strcasecmp(ggml_backend_dev_name(dev), name) == 0) {
            return dev;
        }
    }
    return NULL;
}

// Adds the backends that `name` stands for, the CPU last.
static fgsf_status add_backends(fgsf_device *device, const char *name) {
    fgsf_status status = FGSF_OK;
    bool plain = strcasecmp(name, "auto") == 0 || strcasecmp(name, "cpu") == 0 ||
                 strcasecmp(name, "resident") == 0;
    bool only_blas = strcasecmp(name, "blas") == 0;
    if (!plain && !only_blas) {
        status = add_backend(device, find_device(name), name);
    }
    ggml_backend_dev_t blas = find_device("BLAS");
    if (status == FGSF_OK && !plain && (blas || only_blas)) {
        status = add_backend(device, blas, "blas");
    }
    if (status == FGSF_OK) {
        status = add_backend(device, ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), "cpu");
    }
    return status;
}

static enum ggml_backend_dev_type type_of(const fgsf_device *device) {
    return ggml_backend_dev_type(ggml_backend_get_device(device->backends[0]));
}

// Decides where networks live and how products run.
static void choose_memory(fgsf_device *device, const char *name) {
    enum ggml_backend_dev_type type = type_of(device);
    device->lower = strcasecmp(name, "auto") == 0;
    device->poor = strcasecmp(name, "resident") == 0;
    device->resident = device->poor || (type != GGML_BACKEND_DEVICE_TYPE_CPU &&
                                        type != GGML_BACKEND_DEVICE_TYPE_ACCEL);
    device->memory = device->resident ? ggml_backend_get_default_buffer_type(device->backends[0])
                                      : ggml_backend_cpu_buffer_type();
}

static void describe(fgsf_device *device) {
    size_t used = 0;
    for (int i = 0; i < device->num_backends; i++) {
        int n = snprintf(device->description + used, sizeof device->description - used, "%s%s",
                         i ? " + " : "", ggml_backend_name(device->backends[i]));
        used += n > 0 && used + (size_t)n < sizeof device->description ? (size_t)n : 0;
    }
    if (device->lower) {
        snprintf(device->description + used, sizeof device->description - used,
                 " with FGSF's products");
    } else if (device->poor) {
        snprintf(device->description + used, sizeof device->description - used, " as a device");
    }
}

// Whether the CPU has the instructions that ggml's CPU backend was compiled for. An unknown one
// would end the program.
static bool runs_ggml(void) {
#if defined(__x86_64__)
    return (!ggml_cpu_has_avx2() || __builtin_cpu_supports("avx2")) &&
           (!ggml_cpu_has_fma() || __builtin_cpu_supports("fma")) &&
           (!ggml_cpu_has_avx512() || __builtin_cpu_supports("avx512f"));
#else
    return true;
#endif
}

fgsf_status fgsf_device_open(const char *name, fgsf_device **out) {
    FGSF_REQUIRE(out);
    if (!name || !*name) {
        name = "auto";
    }
    fgsf_status status = fgsf_memory_check(0, "a device");
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_silence_ggml();
    if (!runs_ggml()) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "device.name: '%s': ggml was compiled for a newer CPU (AVX2 and FMA)",
                         name);
    }
    fgsf_device *device = calloc(1, sizeof *device);
    if (!device) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for device '%s'", name);
    }
    device->users = 1;
    status = add_backends(device, name);
    if (status != FGSF_OK) {
        fgsf_device_free(device);
        return status;
    }
    struct ggml_threadpool_params one = ggml_threadpool_params_default(1);
    device->threads = ggml_threadpool_new(&one);
    ggml_backend_t cpu = device->backends[device->num_backends - 1];
    ggml_backend_cpu_set_threadpool(cpu, device->threads);
    choose_memory(device, name);
    describe(device);
    *out = device;
    return FGSF_OK;
}

void fgsf_device_free(fgsf_device *device) {
    if (!device || atomic_fetch_sub(&device->users, 1) > 1) {
        return; // networks have copies on it
    }
    for (int i = 0; i < device->num_backends; i++) {
        ggml_backend_free(device->backends[i]);
    }
    if (device->threads) {
        ggml_threadpool_free(device->threads);
    }
    fgsf_pool_free(device->pool);
    free(device);
}

fgsf_status fgsf_device_set_threads(fgsf_device *device, int threads) {
    FGSF_REQUIRE(device);
    if (threads < 1 || threads > FGSF_MAX_THREADS) {
        return fgsf_fail(FGSF_ERR_INVALID, "device.threads: %d is not in [1, %d]", threads,
                         FGSF_MAX_THREADS);
    }
    if (threads > 1 && !device->lower) {
        return fgsf_fail(
            FGSF_ERR_UNSUPPORTED,
            "device.threads: %d, but %s computes with one; only the device auto can use "
            "more",
            threads, device->description);
    }
    fgsf_pool *pool = NULL;
    fgsf_status status = threads > 1 ? fgsf_pool_create(threads, &pool) : FGSF_OK;
    if (status == FGSF_OK) {
        fgsf_pool_free(device->pool);
        device->pool = pool;
    }
    return status;
}

const char *fgsf_device_description(const fgsf_device *device) {
    if (!device) return NULL;
    return device->description;
}

fgsf_device_counts fgsf_device_get_counts(const fgsf_device *device) {
    return device ? device->counts : (fgsf_device_counts){0};
}

const char *fgsf_device_fallbacks(const fgsf_device *device) {
    if (!device) return NULL;
    return device->fallbacks;
}

fgsf_status fgsf_device_list(int i, char *name, size_t name_size, char *about, size_t about_size) {
    FGSF_REQUIRE((name || name_size == 0) && (about || about_size == 0));
    static const char *const fixed[][2] = {
        {"auto", "CPU, matrix products by FGSF's kernels inside the graph (the default)"},
        {"cpu", "ggml's CPU backend alone"},
        {"resident", "the same, with networks in memory of their own, as on a GPU: to test that"},
        {"blas", "ggml's scheduler over BLAS and CPU"},
    };
    fgsf_silence_ggml(); // before its registry opens every backend
    int num_fixed = find_device("BLAS") ? 4 : 3;
    if (i >= 0 && i < num_fixed) {
        snprintf(name, name_size, "%s", fixed[i][0]);
        snprintf(about, about_size, "%s", fixed[i][1]);
        return FGSF_OK;
    }
    int seen = num_fixed;
    for (size_t k = 0; i >= 0 && k < ggml_backend_dev_count(); k++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(k);
        enum ggml_backend_dev_type type = ggml_backend_dev_type(dev);
        if (type == GGML_BACKEND_DEVICE_TYPE_CPU || type == GGML_BACKEND_DEVICE_TYPE_ACCEL) {
            continue; // covered by cpu and blas
        }
        if (seen++ == i) {
            snprintf(name, name_size, "%s", ggml_backend_dev_name(dev));
            snprintf(about, about_size, "%s", ggml_backend_dev_description(dev));
            return FGSF_OK;
        }
    }
    return fgsf_fail(FGSF_ERR_INVALID, "device %d does not exist", i);
}

// Whether graphs of one owner share their memory on the device: not where ggml's scheduler has them.
static bool shares_memory(const fgsf_device *device) {
    return device->num_backends == 1 || device->resident;
}

int fgsf_bucket(const fgsf_device *device, int rows) {
    int step = 1, sizes = shares_memory(device) ? 32 : 8;
    while (step * sizes < rows) {
        step *= 2;
    }
    return rows < 2 ? 2 : (rows + step - 1) / step * step;
}

fgsf_status fgsf_program_begin(fgsf_program *program, fgsf_program_size size, bool with_gradients) {
    int nodes = size.nodes > 0 ? size.nodes : FGSF_GRAPH_ROOM;
    size_t tensors = size.bytes > 0 ? size.bytes : 2 * (size_t)nodes * ggml_tensor_overhead();
    struct ggml_init_params params = {
        .mem_size =
            tensors + ggml_graph_overhead_custom((size_t)nodes, with_gradients) +
            ggml_graph_overhead_custom((size_t)nodes, false), // lower_device.c makes another
        .no_alloc = true,
    };
    *program = (fgsf_program){0};
    fgsf_status status = fgsf_memory_check(params.mem_size, "a graph");
    if (status != FGSF_OK) {
        return status;
    }
    program->ctx = ggml_init(params);
    program->graph = ggml_new_graph_custom(program->ctx, (size_t)nodes, with_gradients);
    return FGSF_OK;
}

fgsf_program_size fgsf_program_measure(const fgsf_program *program) {
    int nodes = 16;
    for (struct ggml_tensor *t = ggml_get_first_tensor(program->ctx); t;
         t = ggml_get_next_tensor(program->ctx, t)) {
        // Leaves and nodes alike; a rewritten product takes the model of a custom node as well.
        nodes += t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_OUT_PROD ? 2 : 1;
    }
    return (fgsf_program_size){nodes, (size_t)nodes * ggml_tensor_overhead()};
}

void fgsf_program_enlarge(fgsf_program_size *size) {
    const int more = 2 * FGSF_MAX_PARAMETERS;
    size->nodes += more;
    size->bytes += (size_t)more * ggml_tensor_overhead();
}

// Whether `name` stands in the comma-separated list; MUL does not stand in "MUL_MAT".
static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length) {
        bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

// Remembers, by name, an operation that the preferred backend cannot run.
static void note_fallback(fgsf_device *device, const struct ggml_tensor *node) {
    const char *op = ggml_op_desc(node);
    size_t used = strlen(device->fallbacks);
    if (!listed(device->fallbacks, op) && used + strlen(op) + 2 < sizeof device->fallbacks) {
        snprintf(device->fallbacks + used, sizeof device->fallbacks - used, "%s%s", used ? "," : "",
                 op);
    }
}

bool fgsf_computes(const struct ggml_tensor *node) {
    return node->op != GGML_OP_NONE && node->op != GGML_OP_VIEW && node->op != GGML_OP_RESHAPE &&
           node->op != GGML_OP_PERMUTE && node->op != GGML_OP_TRANSPOSE;
}

bool fgsf_device_runs(const fgsf_device *device, const struct ggml_tensor *node) {
    bool lacking = node->op == GGML_OP_OUT_PROD || node->op == GGML_OP_GET_ROWS_BACK ||
                   node->op == GGML_OP_REPEAT_BACK;
    bool high = node->op == GGML_OP_GET_ROWS_BACK && node->ne[1] > FGSF_MAX_SCATTER;
    return !(device->poor && lacking) && !(device->resident && high) &&
           ggml_backend_supports_op(device->backends[0], node);
}

// Whether a tensor of a scheduled graph is in the device's memory.
static bool on_device(const fgsf_device *device, const struct ggml_tensor *t) {
    t = t->view_src ? t->view_src : t;
    if (t->buffer) return ggml_backend_buffer_get_type(t->buffer) == device->memory;
    return fgsf_device_runs(device, t);
}

// Adds up what the scheduler copies between the two memories in a run: each tensor once.
static void count_moves(fgsf_program *program, const fgsf_device *device) {
    for (int i = 0; i < ggml_graph_n_nodes(program->graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        bool there = fgsf_device_runs(device, node);
        for (int s = 0; s < GGML_MAX_SRC && fgsf_computes(node); s++) {
            const struct ggml_tensor *t = node->src[s];
            bool counted = !t || on_device(device, t) == there;
            for (int k = 0; k < i && !counted; k++) {
                const struct ggml_tensor *earlier = ggml_graph_node(program->graph, k);
                for (int j = 0; j < GGML_MAX_SRC && fgsf_computes(earlier); j++) {
                    counted = counted ||
                              (earlier->src[j] == t && fgsf_device_runs(device, earlier) == there);
                }
            }
            if (!counted) program->moved[there ? 0 : 1] += ggml_nbytes(t);
        }
    }
}

static fgsf_status schedule(fgsf_program *program, fgsf_device *device) {
    program->sched = ggml_backend_sched_new(device->backends, NULL, device->num_backends,
                                            (size_t)ggml_graph_size(program->graph), false, false);
    if (!program->sched) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a scheduler");
    }
    for (int i = 0; i < ggml_graph_n_nodes(program->graph); i++) {
        struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        int b = fgsf_device_runs(device, node) ? 0 : 1;
        while (b < device->num_backends - 1 && b > 0 &&
               !ggml_backend_supports_op(device->backends[b], node)) {
            b++;
        }
        // Parameters are nodes too, of no operation. They stay where they are.
        if (fgsf_computes(node)) {
            ggml_backend_sched_set_tensor_backend(program->sched, node, device->backends[b]);
            if (b > 0 && device->resident) {
                note_fallback(device, node);
            }
        }
    }
    if (device->resident) count_moves(program, device);
    if (!ggml_backend_sched_alloc_graph(program->sched, program->graph)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph on %s", device->description);
    }
    return FGSF_OK;
}

int fgsf_count_products(struct ggml_cgraph *graph, double *flops) {
    int count = 0;
    *flops = 0.0;
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, i);
        bool inner = node->op == GGML_OP_MUL_MAT;
        if (inner || node->op == GGML_OP_OUT_PROD) {
            *flops += 2.0 * (double)ggml_nelements(node) * (double)node->src[0]->ne[inner ? 0 : 1];
            count++;
        }
    }
    return count;
}

// Lists the views of leaves. A leaf is bound to another network before each run, and a view of it
// keeps the address that the leaf had when the view was made.
static fgsf_status find_leaf_views(fgsf_program *program) {
    int count = ggml_graph_n_nodes(program->graph);
    program->views = calloc((size_t)count + 1, sizeof *program->views);
    if (!program->views) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph");
    for (int i = 0; i < count; i++) {
        struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        if (node->view_src && node->view_src->op == GGML_OP_NONE) {
            program->views[program->num_views++] = node;
        }
    }
    return FGSF_OK;
}

fgsf_status fgsf_program_finish(fgsf_program *program, fgsf_device *device,
                                ggml_gallocr_t scratch) {
    if (!device->resident) { // else lower_device.c has, before it made products of other things
        device->products += fgsf_count_products(program->graph, &program->flops);
    }
    fgsf_status status = fgsf_memory_check(0, "a graph"); // what it computes ggml reports itself
    if (status == FGSF_OK) {
        status = find_leaf_views(program);
    }
    if (status != FGSF_OK) {
        return status;
    }
    for (int i = 0; i < ggml_graph_n_nodes(program->graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        program->nodes += fgsf_computes(node);
        if (device->poor && !fgsf_device_runs(device, node)) note_fallback(device, node);
    }
    if (device->num_backends > 1 && !program->whole) {
        return schedule(program, device);
    }
    if (device->lower) {
        fgsf_lower(program->ctx, program->graph, device);
        double left;
        device->products_left += fgsf_count_products(program->graph, &left);
    }
    if (!ggml_gallocr_alloc_graph(scratch, program->graph)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph on %s", device->description);
    }
    return FGSF_OK;
}

fgsf_status fgsf_program_run(fgsf_program *program, fgsf_device *device) {
    for (int i = 0; i < program->num_views; i++) {
        struct ggml_tensor *view = program->views[i];
        view->data = (char *)view->view_src->data + view->view_offs;
        view->buffer = view->view_src->buffer;
    }
    device->counts.graphs++;
    device->counts.nodes += (uint64_t)program->nodes;
    device->counts.bytes_up += program->moved[0];
    device->counts.bytes_down += program->moved[1];
    unsigned before = fgsf_denormals_flush();
    enum ggml_status status = program->sched
                                  ? ggml_backend_sched_graph_compute(program->sched, program->graph)
                                  : ggml_backend_graph_compute(device->backends[0], program->graph);
    fgsf_denormals_restore(before);
    if (status != GGML_STATUS_SUCCESS) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED, "ggml could not compute a graph on %s: %s",
                         device->description, ggml_status_to_string(status));
    }
    return FGSF_OK;
}

void fgsf_program_free(fgsf_program *program) {
    ggml_backend_sched_free(program->sched);
    ggml_free(program->ctx);
    free(program->views);
    *program = (fgsf_program){0};
}

void fgsf_tensor_place(struct ggml_tensor *tensor, ggml_backend_buffer_t buffer, float *data) {
    tensor->buffer = buffer;
    tensor->data = data;
}

fgsf_leaves fgsf_leaves_create(struct ggml_context *ctx, const fgsf_network *net, bool parameters) {
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    fgsf_leaves leaves = {.count = list->count};
    for (int i = 0; i < list->count; i++) {
        const fgsf_parameter *p = &list->list[i];
        leaves.offsets[i] = p->offset;
        leaves.tensors[i] = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, p->columns, p->rows);
        if (parameters) {
            ggml_set_param(leaves.tensors[i]);
        }
    }
    return leaves;
}

fgsf_status fgsf_leaves_bind(fgsf_leaves *leaves, const fgsf_network *net, fgsf_device *device) {
    if (!device->resident) {
        float *data = (float *)fgsf_network_parameters(net); // ggml has no const tensors; only read
        ggml_backend_buffer_t buffer = fgsf_network_buffer(net);
        for (int i = 0; i < leaves->count; i++) {
            fgsf_tensor_place(leaves->tensors[i], buffer, data + leaves->offsets[i]);
        }
        return FGSF_OK;
    }
    const fgsf_copy *copy;
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    fgsf_status status = fgsf_network_copy(net, device, &copy);
    for (int i = 0; i < leaves->count && status == FGSF_OK; i++) {
        fgsf_tensor_place(leaves->tensors[i], copy->slab->buffer,
                          fgsf_copy_data(copy) + fgsf_copy_offset(device, list, i));
    }
    return status;
}

// ---- What can be differentiated -----------------------------------------------------------------

static bool has_backward(const struct ggml_tensor *node) {
    static const enum ggml_op ops[] = {
        GGML_OP_NONE, GGML_OP_DUP,      GGML_OP_ADD,     GGML_OP_SUB,      GGML_OP_MUL,
        GGML_OP_DIV,  GGML_OP_SQR,      GGML_OP_SQRT,    GGML_OP_LOG,      GGML_OP_SIN,
        GGML_OP_COS,  GGML_OP_SUM,      GGML_OP_SCALE,   GGML_OP_SUM_ROWS, GGML_OP_RMS_NORM,
        GGML_OP_CPY,  GGML_OP_MUL_MAT,  GGML_OP_CONT,    GGML_OP_RESHAPE,  GGML_OP_VIEW,
        GGML_OP_ACC,  GGML_OP_GET_ROWS, GGML_OP_PERMUTE, GGML_OP_SOFT_MAX, GGML_OP_TRANSPOSE,
    };
    static const enum ggml_unary_op unary[] = {
        GGML_UNARY_OP_ABS,   GGML_UNARY_OP_SGN,  GGML_UNARY_OP_NEG,
        GGML_UNARY_OP_STEP,  GGML_UNARY_OP_RELU, GGML_UNARY_OP_EXP,
        GGML_UNARY_OP_EXPM1, GGML_UNARY_OP_SILU, GGML_UNARY_OP_SOFTPLUS};
    for (size_t i = 0; node->op != GGML_OP_UNARY && i < sizeof ops / sizeof *ops; i++) {
        if (node->op == ops[i]) return true;
    }
    for (size_t i = 0; node->op == GGML_OP_UNARY && i < sizeof unary / sizeof *unary; i++) {
        if (ggml_get_unary_op(node) == unary[i]) return true;
    }
    return false;
}

// Whether a gradient flows into `t`: it is a parameter or computed from one.
static bool depends(const struct ggml_cgraph *graph, const bool *flags, int count,
                    const struct ggml_tensor *t) {
    for (int i = count - 1; i >= 0; i--) {
        if (ggml_graph_node((struct ggml_cgraph *)graph, i) == t) return flags[i];
    }
    return false;
}

// Whether an earlier node than the i-th has the same first operand. Its gradient would be added to the
// transposed one of node i, which ggml cannot.
static bool read_before(struct ggml_cgraph *graph, int i) {
    const struct ggml_tensor *a = ggml_graph_node(graph, i)->src[0];
    for (int j = 0; j < i; j++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, j);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (node->src[k] == a) return true;
        }
    }
    return false;
}

static bool is_turned(const struct ggml_tensor *t) {
    return t && t->nb[0] != ggml_type_size(t->type);
}

// What about the operands of node i ggml would abort at.
static const char *obstacle_in_place(struct ggml_cgraph *graph, int i) {
    const struct ggml_tensor *node = ggml_graph_node(graph, i), *a = node->src[0];
    switch (node->op) {
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
        if (a->op != GGML_OP_NONE && a->op != GGML_OP_RESHAPE) {
            return " of what is not a parameter or a RESHAPE"; // its gradient would have gaps
        }
        return read_before(graph, i) ? " of what is read before; RESHAPE it first" : NULL;
    case GGML_OP_VIEW:
        return ggml_is_contiguous(a) ? NULL : " of what is not contiguous";
    case GGML_OP_NONE:
    case GGML_OP_CPY:
    case GGML_OP_DUP:
    case GGML_OP_CONT:
        return NULL;
    case GGML_OP_MUL_MAT:
        if (is_turned(node->src[1])) return " of what is transposed; CONT it first";
        // fall through
    default:
        return is_turned(a) ? " of what is transposed; CONT it first" : NULL;
    }
}

// Says what about node i ggml's backward pass would abort at, or NULL. `second`: a gradient flows into
// its second operand.
static const char *obstacle(struct ggml_cgraph *graph, int i, bool second) {
    const struct ggml_tensor *node = ggml_graph_node(graph, i);
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    bool views = node->op == GGML_OP_VIEW || node->op == GGML_OP_RESHAPE ||
                 node->op == GGML_OP_CPY || node->op == GGML_OP_PERMUTE ||
                 node->op == GGML_OP_TRANSPOSE;
    if (!has_backward(node)) return "";
    if (node->type != GGML_TYPE_F32) return " of another type than float";
    if (node->view_src && !views) return " in place";
    const char *placed = obstacle_in_place(graph, i);
    if (placed) return placed;
    switch (node->op) {
    case GGML_OP_SUB:
    case GGML_OP_DIV:
        return second && !ggml_are_same_shape(a, b) ? " with a second operand that is repeated"
                                                    : NULL;
    case GGML_OP_MUL_MAT:
        return a->ne[2] != b->ne[2] || a->ne[3] != b->ne[3] ? " with an operand that is repeated"
                                                            : NULL;
    case GGML_OP_GET_ROWS:
        return node->ne[2] > 1 ? " of more than a matrix" : NULL;
    case GGML_OP_SOFT_MAX:
        if (node->src[2]) return " with sinks";
        return second || ((const float *)node->op_params)[1] != 0.0f ? " with such a mask" : NULL;
    default:
        return NULL;
    }
}

static fgsf_status check_nodes(struct ggml_cgraph *graph, const char *network) {
    int count = ggml_graph_n_nodes(graph);
    bool *flags = calloc((size_t)count + 1, sizeof *flags);
    if (!flags) return fgsf_fail(FGSF_ERR_MEMORY, "no memory to check a graph");
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, i);
        flags[i] = node->flags & GGML_TENSOR_FLAG_PARAM;
        for (int k = 0; k < GGML_MAX_SRC; k++) { // some may be missing
            flags[i] = flags[i] || depends(graph, flags, i, node->src[k]);
        }
        const char *why =
            flags[i] ? obstacle(graph, i, depends(graph, flags, i, node->src[1])) : NULL;
        if (why) {
            status = fgsf_fail(FGSF_ERR_UNSUPPORTED,
                               "network '%s': ggml cannot differentiate %s%s; docs/networks.md "
                               "lists what it can",
                               network, ggml_op_desc(node), why);
        }
    }
    if (status == FGSF_OK && (count == 0 || !flags[count - 1])) {
        status = fgsf_fail(FGSF_ERR_INVALID,
                           "network '%s': the result of forward depends on no parameter", network);
    }
    free(flags);
    return status;
}

fgsf_status fgsf_network_check_forward(const fgsf_network *net) {
    const fgsf_network_shape *shape = fgsf_network_get_shape(net);
    const fgsf_network_def *def = fgsf_shape_def(shape);
    fgsf_program program = {0};
    FGSF_TRY(fgsf_program_begin(&program, (fgsf_program_size){0}, false));
    fgsf_leaves leaves = fgsf_leaves_create(program.ctx, net, true);
    struct ggml_tensor *input =
        ggml_new_tensor_2d(program.ctx, GGML_TYPE_F32, shape->input, CHECKED_ROWS);
    struct ggml_tensor *x = def->forward(program.ctx, shape, leaves.tensors, input);
    int outputs = fgsf_shape_actions(shape) * shape->features;
    fgsf_status status = fgsf_check_result(shape, x, CHECKED_ROWS, outputs);
    if (status == FGSF_OK) {
        ggml_build_forward_expand(program.graph, x);
        status = check_nodes(program.graph, def->name);
    }
    fgsf_program_free(&program);
    return status;
}

fgsf_status fgsf_check_result(const fgsf_network_shape *shape, const struct ggml_tensor *x,
                              int rows, int outputs) {
    if (x && ggml_nelements(x) == (int64_t)rows * outputs && ggml_is_contiguous(x)) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "network '%s': forward gave %lld numbers for %d rows of %d outputs%s",
                     fgsf_shape_def(shape)->name, x ? (long long)ggml_nelements(x) : 0, rows,
                     outputs, x && !ggml_is_contiguous(x) ? ", not contiguous" : "");
}
