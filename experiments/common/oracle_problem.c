// The gradient oracle's problem format: every field checked before anything is computed.
#include "oracle_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_reader.h"

#define PROBLEM_SCHEMA "fgsf.gradient-problem/1"
#define MAX_SIZE (1 << 20)        // of a layer, as the library allows
#define MAX_ACTIVATIONS (1 << 26) // floats in one pass over a batch: a quarter of a gigabyte

// ---- Networks ------------------------------------------------------------------------------------

const oracle_group oracle_groups[ORACLE_GROUPS] = {{"weights", ".weight"},
                                                   {"biases", ".bias"},
                                                   {"norm_scales", ".scale"},
                                                   {"norm_shifts", ".shift"}};

// The first NUM_SHAPE_KEYS say the shape, the others are the parameters.
static const char *const network_keys[] = {"input",       "hidden",      "actions", "features",
                                           "activation",  "norm",        "weights", "biases",
                                           "norm_scales", "norm_shifts", NULL};
#define NUM_SHAPE_KEYS 6

int oracle_group_list(const oracle_group *group, const fgsf_parameters *all,
                      int out[FGSF_MAX_PARAMETERS]) {
    int count = 0;
    size_t tail = strlen(group->parameter);
    for (int i = 0; i < all->count; i++) {
        const char *name = all->list[i].name;
        size_t length = strlen(name);
        if (length > tail && strcmp(name + length - tail, group->parameter) == 0) out[count++] = i;
    }
    return count;
}

static void read_hidden(json_reader *r, const cJSON *object, fgsf_network_shape *shape) {
    size_t count;
    const cJSON *array = json_array(r, object, "hidden", &count);
    if (count > FGSF_MAX_HIDDEN) {
        json_refuse(r, array, NULL, "%zu layers, at most %d are supported", count, FGSF_MAX_HIDDEN);
    }
    const cJSON *item = r->status == FGSF_OK ? array->child : NULL;
    for (; item; item = item->next) {
        shape->hidden[shape->num_hidden++] = json_to_integer(r, item, 1, MAX_SIZE + 1);
    }
}

static void read_shape(json_reader *r, const cJSON *object, fgsf_network_shape *shape) {
    static const char *const activations[] = {"relu", "silu", "softplus", NULL}; // as the enums
    static const char *const norms[] = {"none", "rms", "layer", NULL};
    shape->input = json_integer(r, object, "input", 1, MAX_SIZE + 1);
    read_hidden(r, object, shape);
    shape->actions = json_integer(r, object, "actions", 1, MAX_SIZE + 1);
    shape->features = json_integer(r, object, "features", 1, MAX_SIZE + 1);
    shape->activation = (enum fgsf_activation)json_choice(r, object, "activation", activations);
    if (json_find(object, "norm")) {
        shape->norm = (enum fgsf_norm)json_choice(r, object, "norm", norms);
    }
    shape->bias = json_find(object, "biases") != NULL;
    if (r->status == FGSF_OK) r->status = fgsf_network_shape_check(shape);
}

// Reads a group: one flat array per layer, into their places in the flat buffer. Without the buffer
// it only checks the lengths.
static void read_group(json_reader *r, const cJSON *object, const oracle_group *group,
                       const fgsf_parameters *all, float *flat) {
    int list[FGSF_MAX_PARAMETERS];
    size_t layers = (size_t)oracle_group_list(group, all, list), count;
    if (layers == 0 && !json_find(object, group->name)) return;
    const cJSON *array = json_array(r, object, group->name, &count);
    if (count != layers) json_refuse(r, array, NULL, "has %zu layers, expected %zu", count, layers);
    const cJSON *block = r->status == FGSF_OK ? array->child : NULL;
    for (size_t l = 0; block; l++, block = block->next) {
        const fgsf_parameter *p = &all->list[list[l]];
        json_floats(r, block, (size_t)p->rows * (size_t)p->columns, flat ? flat + p->offset : NULL);
    }
}

// Reads the numbers of a network whose shape is known.
static float *read_parameters(json_reader *r, const cJSON *object,
                              const fgsf_network_shape *shape) {
    fgsf_parameters all;
    if (r->status != FGSF_OK) return NULL;
    fgsf_network_list(shape, &all);
    // Lengths first, without memory: after that the flat buffer is no larger than the file.
    for (int g = 0; g < ORACLE_GROUPS; g++) read_group(r, object, &oracle_groups[g], &all, NULL);
    float *flat = json_allocate(r, all.flat_size, sizeof(float));
    for (int g = 0; g < ORACLE_GROUPS && flat; g++) {
        read_group(r, object, &oracle_groups[g], &all, flat);
    }
    return flat;
}

static void read_network(json_reader *r, const cJSON *root, oracle_problem *p) {
    const cJSON *object = json_need(r, root, "network", cJSON_IsObject, "an object");
    if (object) json_check_keys(r, object, network_keys);
    read_shape(r, object, &p->bellman.shape);
    p->parameters = read_parameters(r, object, &p->bellman.shape);
}

// Names the field in which a target network differs from the network.
static const char *shape_difference(const fgsf_network_shape *a, const fgsf_network_shape *b) {
    bool same_hidden = a->num_hidden == b->num_hidden &&
                       memcmp(a->hidden, b->hidden, sizeof *a->hidden * (size_t)a->num_hidden) == 0;
    return a->input != b->input             ? "input"
           : !same_hidden                   ? "hidden"
           : a->actions != b->actions       ? "actions"
           : a->features != b->features     ? "features"
           : a->activation != b->activation ? "activation"
           : a->norm != b->norm             ? "norm"
           : a->bias != b->bias             ? "biases"
                                            : NULL;
}

// The other network, the kind's target or error network: one of the same shape, or its `weights` and
// `biases` alone.
static void read_other(json_reader *r, const cJSON *root, oracle_problem *p) {
    fgsf_gradient_need need = fgsf_gradient_needs(p->bellman.kind);
    const char *key = need.error_network ? "error_network" : "target_network";
    const char *unused = need.error_network ? "target_network" : "error_network";
    const cJSON *object = json_find(root, key);
    if (json_find(root, unused)) json_refuse(r, root, unused, "this gradient uses none");
    if (!object) {
        if (need.error_network || need.target_network) json_refuse(r, root, key, "missing");
        return;
    }
    fgsf_network_shape shape = {0};
    bool shaped = false;
    json_check_keys(r, object, network_keys);
    for (int i = 0; i < NUM_SHAPE_KEYS; i++) shaped |= json_find(object, network_keys[i]) != NULL;
    if (shaped) {
        read_shape(r, object, &shape);
    } else {
        shape = p->bellman.shape;
        shape.bias = json_find(object, "biases") != NULL;
    }
    const char *difference = shape_difference(&shape, &p->bellman.shape);
    if (difference) json_refuse(r, object, difference, "differs from the network's");
    p->other = read_parameters(r, object, &shape);
    p->bellman.target_network = !need.error_network && !need.target_network;
}

// ---- The rest of the problem ---------------------------------------------------------------------

static void read_optimizer(json_reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {"kind", "lr", "beta1", "beta2", "eps", "clip", NULL};
    static const char *const kinds[] = {"adam", "sgd", NULL};
    const cJSON *object = json_find(root, "optimizer");
    if (!object || cJSON_IsNull(object)) return;
    fgsf_optimizer_params *opt = &p->optimizer;
    struct {
        const char *key;
        double min, max;
        bool open;
        double *out;
    } optional[] = {{"beta1", 0.0, 1.0 - 1e-7, false, &opt->beta1},
                    {"beta2", 0.0, 1.0 - 1e-7, false, &opt->beta2},
                    {"eps", 0.0, 1.0, true, &opt->eps},
                    {"clip", 0.0, 1e30, true, &opt->clip}};
    json_check_keys(r, object, keys);
    opt->kind = json_choice(r, object, "kind", kinds) == 0 ? FGSF_ADAM : FGSF_SGD;
    json_real(r, object, "lr", 0.0, 1e6, false, &p->lr);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        const cJSON *node = json_find(object, optional[i].key);
        bool is_off = optional[i].out == &opt->clip && cJSON_IsNull(node);
        if (node && !is_off) {
            json_real(r, object, optional[i].key, optional[i].min, optional[i].max,
                      optional[i].open, optional[i].out);
        }
    }
    p->has_optimizer = true;
}

static void read_estimator(json_reader *r, const cJSON *root, fgsf_bellman_params *params) {
    static const char *const estimators[] = {"shared", "critic_only", "split", NULL}; // as the enum
    if (json_find(root, "estimator")) {
        params->estimator = (enum fgsf_estimator)json_choice(r, root, "estimator", estimators);
    }
    if (params->estimator == FGSF_SPLIT) {
        params->split = json_integer(r, root, "split", 1, params->samples);
    } else if (json_find(root, "split")) {
        json_refuse(r, root, "split", "only the estimator 'split' splits");
    }
}

static void read_kind(json_reader *r, const cJSON *root, fgsf_bellman_params *params) {
    // As enum fgsf_gradient_kind from FGSF_MIX on; `residual` is semi, full or mix by grad_mix.
    static const char *const kinds[] = {"residual",      "corrected",  "gtd2",
                                        "bidirectional", "convergent", NULL};
    int kind = json_find(root, "gradient") ? json_choice(r, root, "gradient", kinds) : 0;
    params->kind = (enum fgsf_gradient_kind)(FGSF_MIX + kind);
    if (json_find(root, "beta")) json_real(r, root, "beta", 0.0, 1e30, false, &params->h_beta);
}

static void read_settings(json_reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const losses[] = {"half_mean", "mean", "sum", "double_sum", NULL};
    fgsf_bellman_params *params = &p->bellman;
    params->loss_scale = (enum fgsf_loss_scale)json_choice(r, root, "loss", losses); // as the enum
    json_real(r, root, "grad_mix", 0.0, 1.0, false, &params->grad_mix);
    if (params->target_network && params->grad_mix != 0.0) {
        json_refuse(r, root, "grad_mix",
                    "%.9g with a target_network, through which no gradient passes",
                    params->grad_mix);
    }
    params->samples = json_integer(r, root, "samples_per_pair", 1, (1 << 16) + 1);
    read_estimator(r, root, params);
    if (json_find(root, "denominator")) {
        json_real(r, root, "denominator", 0.0, 1e30, true, &p->denominator);
    }
}

// A pass over the batch must fit into memory, or computing it would end the process.
static void check_size(json_reader *r, const cJSON *states, const fgsf_bellman_params *params,
                       size_t pairs) {
    fgsf_parameters all;
    fgsf_network_list(&params->shape, &all);
    double width = params->shape.input;
    for (int i = 0; i < all.count; i++) {
        width += all.list[i].rows > 1 ? all.list[i].rows : all.list[i].columns;
    }
    double rows = ((double)pairs + 8.0) * (1.0 + params->samples);
    if (rows * width > MAX_ACTIVATIONS) {
        json_refuse(r, states, NULL, "%zu pairs of %d samples are too many for this network", pairs,
                    params->samples);
    }
}

static void read_batch(json_reader *r, const cJSON *object, const oracle_problem *p,
                       fgsf_batch *b) {
    static const char *const keys[] = {"s",      "a",        "y",           "s_next",
                                       "a_next", "discount", "row_weights", NULL};
    const fgsf_network_shape *shape = &p->bellman.shape;
    size_t input = (size_t)shape->input, samples = (size_t)p->bellman.samples, pairs;
    json_check_keys(r, object, keys);
    const cJSON *states = json_array(r, object, "s", &pairs);
    if (pairs < 1 || pairs > 1 << 20) {
        json_refuse(r, states, NULL, "%zu pairs are not in [1, 1048576]", pairs);
    }
    check_size(r, states, &p->bellman, pairs);
    size_t next = pairs * samples;
    b->s = json_matrix(r, object, "s", pairs, input);
    b->a = json_actions(r, object, "a", pairs, 1, shape->actions);
    b->y = json_matrix(r, object, "y", next, (size_t)shape->features);
    b->s_next = json_matrix(r, object, "s_next", next, input);
    b->a_next = json_actions(r, object, "a_next", pairs, samples, shape->actions);
    b->discount = json_matrix(r, object, "discount", next, 0);
    if (json_find(object, "row_weights")) {
        b->weight = json_matrix(r, object, "row_weights", pairs, 0);
    }
    b->pairs = (int)pairs;
    b->denominator = p->denominator;
}

static void read_batches(json_reader *r, const cJSON *root, oracle_problem *p) {
    size_t count;
    const cJSON *array = json_array(r, root, "batches", &count);
    if (count < 1 || count > 1 << 20) {
        json_refuse(r, array, NULL, "%zu batches are not in [1, 1048576]", count);
    }
    p->batches = json_allocate(r, count, sizeof *p->batches);
    p->bellman.max_pairs = 1;
    const cJSON *item = p->batches ? array->child : NULL;
    for (; item && r->status == FGSF_OK; item = item->next) {
        fgsf_batch *b = &p->batches[p->num_batches++];
        read_batch(r, item, p, b);
        if (b->pairs > p->bellman.max_pairs) p->bellman.max_pairs = b->pairs;
    }
}

static fgsf_status read_problem(const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {"schema",    "network",       "target_network",
                                       "loss",      "grad_mix",      "samples_per_pair",
                                       "optimizer", "batches",       "denominator",
                                       "estimator", "split",         "gradient",
                                       "beta",      "error_network", NULL};
    static const char *const schemas[] = {PROBLEM_SCHEMA, NULL};
    json_reader r = {.root = root};
    json_check_keys(&r, root, keys);
    if (json_find(root, "schema")) json_choice(&r, root, "schema", schemas);
    read_network(&r, root, p);
    read_kind(&r, root, &p->bellman);
    read_other(&r, root, p);
    read_settings(&r, root, p);
    read_optimizer(&r, root, p);
    read_batches(&r, root, p);
    return r.status;
}

fgsf_status oracle_problem_parse(const char *text, size_t length, oracle_problem **out) {
    cJSON *root = NULL;
    FGSF_TRY(json_parse_text(text, length, &root));
    oracle_problem *p = calloc(1, sizeof *p);
    if (p) {
        p->bellman = fgsf_bellman_default_params(&(fgsf_network_shape){0});
        p->optimizer = fgsf_optimizer_default_params();
    }
    fgsf_status status =
        p ? read_problem(root, p) : fgsf_fail(FGSF_ERR_MEMORY, "no memory for the problem");
    cJSON_Delete(root);
    if (status == FGSF_OK) *out = p;
    if (status != FGSF_OK) oracle_problem_free(p);
    return status;
}

void oracle_problem_free(oracle_problem *p) {
    if (!p) return;
    for (int i = 0; i < p->num_batches; i++) {
        const fgsf_batch *b = &p->batches[i];
        const void *const arrays[] = {b->s,      b->a,        b->y,     b->s_next,
                                      b->a_next, b->discount, b->weight};
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free((void *)arrays[k]);
    }
    free(p->batches);
    free(p->parameters);
    free(p->other);
    free(p);
}
