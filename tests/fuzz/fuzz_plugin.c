// Fuzzes definitions as plugins bring them: an environment and a network whose sizes, names and numbers
// come from the input. Whatever they say, the library refuses it by name or goes on.
#include "fuzz.h"

#include <math.h>

#include "fgsf/env.h"
#include "fgsf/network.h"

static const uint8_t *bytes; // of the input at hand
static size_t left;

static int draw(void) { // small numbers mostly, and now and then one out of range
    static const int odd[] = {-1, 0, 1 << 20, 1 << 30, INT32_MAX, INT32_MIN, 65536, -1000};
    if (left == 0) return 1;
    left--;
    int b = *bytes++;
    return b < 240 ? b % 16 : odd[b % 8];
}

static double draw_real(void) {
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300};
    int x = draw();
    return x >= 0 && x < 12 ? 0.25 * x : odd[x & 3];
}

// ---- an environment --------------------------------------------------------------------------------

typedef struct thing {
    fgsf_env head;
    double phi[16], state[16];
} thing;

static fgsf_status make(const void *params, int num_tasks, fgsf_env **out) {
    (void)params;
    thing *t = calloc(1, sizeof *t);
    require(t != NULL);
    t->head.spec = (fgsf_env_spec){num_tasks, draw(), draw(), draw(), draw(), draw(), draw(), 0};
    *out = &t->head;
    int how = draw();
    if (how != 15) return FGSF_OK;
    free(t);
    *out = NULL;
    return fgsf_fail(FGSF_ERR_INVALID, "it does not want to");
}

static void end(fgsf_env *env) {
    free(env);
}

static fgsf_status reset(fgsf_env *env, fgsf_rng *rng) {
    (void)env, (void)rng;
    return draw() == 14 ? fgsf_fail(FGSF_ERR_INVALID, "no") : FGSF_OK;
}

static fgsf_status step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    thing *t = (thing *)env;
    (void)rng;
    require(action >= 0 && action < env->spec.num_actions);
    for (int i = 0; i < 16; i++) t->phi[i] = draw_real();
    *out = (fgsf_step_result){draw_real(), draw() & 1, draw() & 1, draw() == 13 ? NULL : t->phi};
    return FGSF_OK;
}

static void encode(const fgsf_env *env, double *state) {
    for (int i = 0; i < env->spec.state_size; i++) state[i] = draw_real();
}

static void get_state(const fgsf_env *env, double *values) {
    for (int i = 0; i < env->spec.full_size; i++) values[i] = draw_real();
}

static fgsf_status set_state(fgsf_env *env, const double *values, int n) {
    (void)values;
    require(n == env->spec.raw_size || n == env->spec.full_size);
    return FGSF_OK;
}

static void features(const fgsf_env *env, const double *raw, int action, const double *next,
                     double *phi) {
    (void)raw, (void)action, (void)next;
    for (int i = 0; i < env->spec.num_features; i++) phi[i] = draw_real();
}

static bool weights(const fgsf_env *env, int task, double *w) {
    require(task >= 0 && task < env->spec.num_tasks + env->spec.num_heldout);
    for (int i = 0; i < env->spec.num_features; i++) w[i] = draw_real();
    return draw() & 1;
}

static const fgsf_env_def THING = {.name = "thing",
                                   .summary = "From the input.",
                                   .create = make,
                                   .free = end,
                                   .reset = reset,
                                   .step = step,
                                   .encode = encode,
                                   .get_state = get_state,
                                   .set_state = set_state,
                                   .features = features,
                                   .task_weights = weights};

static void use_env(void) {
    fgsf_config cfg;
    fgsf_env *env = NULL;
    fgsf_rng rng = fgsf_rng_make(1, 0);
    require(fgsf_config_resolve("thing", "clean", "fg-sfrql", &cfg) == FGSF_OK);
    if (fgsf_env_create(&cfg, &env) != FGSF_OK) {
        require(!env);
        require_message();
        return;
    }
    // The numbers of phi and the states are held in arrays of sixteen by this definition.
    for (int i = 0; i < 4 && env->spec.num_features <= 16; i++) {
        fgsf_step_result result;
        if (fgsf_env_reset(env, &rng) != FGSF_OK) break;
        if (fgsf_env_step(env, draw(), &rng, &result) == FGSF_OK) {
            require(isfinite(result.reward) && (result.phi || env->spec.num_features == 0));
            for (int k = 0; k < env->spec.num_features; k++) require(isfinite(result.phi[k]));
        } else {
            require_message();
        }
    }
    fgsf_env_free(env);
}

// ---- a network -------------------------------------------------------------------------------------

// Lists the same parameters whenever it is asked, as a definition must.
static void parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    const uint8_t *first = bytes;
    size_t all = left;
    (void)shape;
    for (int n = draw(); n > 0 && left > 0; n--) {
        char name[48] = "p";
        int length = draw() & 63;
        for (int i = 1; i < length && i < 47; i++) name[i] = (char)draw();
        fgsf_parameters_add(out, draw() == 12 ? NULL : name, draw(), draw(), (enum fgsf_fill)draw(),
                            draw());
    }
    bytes = first;
    left = all;
}

static struct ggml_tensor *forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                   struct ggml_tensor *const *p, struct ggml_tensor *input) {
    (void)ctx, (void)shape, (void)p, (void)input;
    return NULL;
}

static const fgsf_network_def NET = {
    .name = "net", .summary = "From the input.", .parameters = parameters, .forward = forward};

static void use_network(void) {
    fgsf_network_shape shape = {.input = draw(),
                                .num_hidden = draw(),
                                .actions = draw(),
                                .features = draw(),
                                .heads = draw(),
                                .bias = draw() & 1,
                                .def = &NET};
    for (int i = 0; i < FGSF_MAX_HIDDEN; i++) shape.hidden[i] = draw();
    fgsf_network *net = NULL;
    // Gigabytes are a valid network, but more than the fuzzer may allocate.
    if (fgsf_network_shape_check(&shape) == FGSF_OK && fgsf_network_flat_size(&shape) > 1 << 24) {
        return;
    }
    if (fgsf_network_create(&shape, &net) != FGSF_OK) {
        require(!net);
        require_message();
    }
    fgsf_network_free(net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes = data;
    left = size;
    require(fgsf_env_register(&THING) == FGSF_OK && fgsf_network_register(&NET) == FGSF_OK);
    if (draw() & 1) {
        use_env();
    } else {
        use_network();
    }
    return 0;
}
