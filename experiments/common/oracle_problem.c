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

static const char *const network_keys[] = {"input",       "hidden",      "actions", "features",
                                           "activation",  "norm",        "weights", "biases",
                                           "norm_scales", "norm_shifts", NULL};

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

static fgsf_status read_hidden(json_reader *r, const cJSON *object, fgsf_network_shape *shape) {
    size_t mark = r->length, count;
    const cJSON *array;
    fgsf_status status = json_enter_array(r, object, "hidden", &array, &count);
    if (status == FGSF_OK && count > FGSF_MAX_HIDDEN) {
        status = json_refuse(r, "%zu layers, at most %d are supported", count, FGSF_MAX_HIDDEN);
    }
    if (status != FGSF_OK) {
        return status;
    }
    for (const cJSON *item = array->child; item; item = item->next) {
        size_t outer = json_enter_item(r, (size_t)shape->num_hidden);
        status = json_to_integer(r, item, 1, MAX_SIZE + 1, &shape->hidden[shape->num_hidden]);
        if (status != FGSF_OK) {
            return status;
        }
        shape->num_hidden++;
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return FGSF_OK;
}

static fgsf_status read_shape(json_reader *r, const cJSON *object, fgsf_network_shape *shape) {
    static const char *const activations[] = {"relu", "silu", "softplus", NULL}; // as the enums
    static const char *const norms[] = {"none", "rms", "layer", NULL};
    int activation = 0, norm = 0;
    fgsf_status status = json_read_integer(r, object, "input", 1, MAX_SIZE + 1, &shape->input);
    if (status == FGSF_OK) {
        status = read_hidden(r, object, shape);
    }
    if (status == FGSF_OK) {
        status = json_read_integer(r, object, "actions", 1, MAX_SIZE + 1, &shape->actions);
    }
    if (status == FGSF_OK) {
        status = json_read_integer(r, object, "features", 1, MAX_SIZE + 1, &shape->features);
    }
    if (status == FGSF_OK) {
        status = json_read_choice(r, object, "activation", activations, &activation);
    }
    if (status == FGSF_OK && json_find(object, "norm")) {
        status = json_read_choice(r, object, "norm", norms, &norm);
    }
    shape->activation = (enum fgsf_activation)activation;
    shape->norm = (enum fgsf_norm)norm;
    shape->bias = json_find(object, "biases") != NULL;
    return status == FGSF_OK ? fgsf_network_shape_check(shape) : status;
}

// Reads a group: one flat array per layer, into their places in the flat buffer. Without the buffer
// it only checks the lengths.
static fgsf_status read_group(json_reader *r, const cJSON *object, const oracle_group *group,
                              const fgsf_parameters *all, float *flat) {
    int list[FGSF_MAX_PARAMETERS];
    size_t layers = (size_t)oracle_group_list(group, all, list), mark = r->length, count = 0;
    if (layers == 0 && !json_find(object, group->name)) return FGSF_OK;
    const cJSON *array;
    fgsf_status status = json_enter_array(r, object, group->name, &array, &count);
    if (status == FGSF_OK && count != layers) {
        status = json_refuse(r, "has %zu layers, expected %zu", count, layers);
    }
    if (status != FGSF_OK) {
        return status;
    }
    const cJSON *block = array->child;
    for (size_t l = 0; l < layers; l++, block = block->next) {
        const fgsf_parameter *p = &all->list[list[l]];
        size_t outer = json_enter_item(r, l), expected = (size_t)p->rows * (size_t)p->columns;
        if (flat) {
            status = json_read_floats(r, block, expected, flat + p->offset);
        } else if (!cJSON_IsArray(block)) {
            status = json_refuse(r, "is %s, expected an array", json_type_name(block));
        } else if ((size_t)cJSON_GetArraySize(block) != expected) {
            status =
                json_refuse(r, "has %d numbers, expected %zu", cJSON_GetArraySize(block), expected);
        }
        if (status != FGSF_OK) {
            return status;
        }
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return FGSF_OK;
}

// Reads the numbers of a network whose shape is known.
static fgsf_status read_parameters(json_reader *r, const cJSON *object,
                                   const fgsf_network_shape *shape, float **out) {
    fgsf_parameters all;
    fgsf_network_list(shape, &all);
    fgsf_status status = FGSF_OK;
    // Lengths first, without memory: after that the flat buffer is no larger than the file.
    for (int i = 0; i < 2 * ORACLE_GROUPS && status == FGSF_OK; i++) {
        if (i == ORACLE_GROUPS) {
            *out = json_allocate(all.flat_size, sizeof(float));
            if (!*out) return json_out_of_memory();
        }
        status = read_group(r, object, &oracle_groups[i % ORACLE_GROUPS], &all,
                            i < ORACLE_GROUPS ? NULL : *out);
    }
    return status;
}

static fgsf_status read_network(json_reader *r, const cJSON *root, oracle_problem *p) {
    size_t mark = json_enter(r, "network");
    const cJSON *object = json_find(root, "network");
    fgsf_network_shape *shape = &p->bellman.shape;
    fgsf_status status =
        object ? json_check_keys(r, object, network_keys) : json_refuse(r, "missing");
    if (status == FGSF_OK) {
        status = read_shape(r, object, shape);
    }
    if (status == FGSF_OK) {
        status = read_parameters(r, object, shape, &p->parameters);
    }
    if (status == FGSF_OK) {
        json_leave(r, mark);
    }
    return status;
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
static fgsf_status read_other(json_reader *r, const cJSON *root, oracle_problem *p) {
    fgsf_gradient_need need = fgsf_gradient_needs(p->bellman.kind);
    const char *key = need.error_network ? "error_network" : "target_network";
    const char *unused = need.error_network ? "target_network" : "error_network";
    const cJSON *object = json_find(root, key);
    if (json_find(root, unused)) {
        json_enter(r, unused);
        return json_refuse(r, "this gradient uses none");
    }
    if (!object && (need.error_network || need.target_network)) {
        json_enter(r, key);
        return json_refuse(r, "missing");
    }
    if (!object) {
        return FGSF_OK;
    }
    size_t mark = json_enter(r, key);
    fgsf_network_shape shape = {0};
    fgsf_status status = json_check_keys(r, object, network_keys);
    bool shaped = false;
    for (int i = 0; i < 6 && status == FGSF_OK; i++) {
        shaped = shaped || json_find(object, network_keys[i]);
    }
    if (status == FGSF_OK && shaped) {
        status = read_shape(r, object, &shape);
    } else if (status == FGSF_OK) {
        shape = p->bellman.shape;
        shape.bias = json_find(object, "biases") != NULL;
    }
    const char *difference = status == FGSF_OK ? shape_difference(&shape, &p->bellman.shape) : NULL;
    if (difference) {
        json_enter(r, difference);
        status = json_refuse(r, "differs from the network's");
    }
    if (status == FGSF_OK) {
        status = read_parameters(r, object, &shape, &p->other);
    }
    if (status == FGSF_OK) {
        p->bellman.target_network = !need.error_network && !need.target_network;
        json_leave(r, mark);
    }
    return status;
}

// ---- The rest of the problem ---------------------------------------------------------------------

static fgsf_status read_optimizer(json_reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {"kind", "lr", "beta1", "beta2", "eps", "clip", NULL};
    static const char *const kinds[] = {"adam", "sgd", NULL}; // as enum fgsf_opt_kind
    const cJSON *object = json_find(root, "optimizer");
    if (!object || cJSON_IsNull(object)) {
        return FGSF_OK;
    }
    size_t mark = json_enter(r, "optimizer");
    fgsf_optimizer_params *opt = &p->optimizer;
    int kind = 0;
    fgsf_status status = json_check_keys(r, object, keys);
    if (status == FGSF_OK) {
        status = json_read_choice(r, object, "kind", kinds, &kind);
    }
    if (status == FGSF_OK) {
        status = json_read_range(r, object, "lr", 0.0, 1e6, false, &p->lr);
    }
    if (status == FGSF_OK && json_find(object, "beta1")) {
        status = json_read_range(r, object, "beta1", 0.0, 1.0 - 1e-7, false, &opt->beta1);
    }
    if (status == FGSF_OK && json_find(object, "beta2")) {
        status = json_read_range(r, object, "beta2", 0.0, 1.0 - 1e-7, false, &opt->beta2);
    }
    if (status == FGSF_OK && json_find(object, "eps")) {
        status = json_read_range(r, object, "eps", 0.0, 1.0, true, &opt->eps);
    }
    const cJSON *clip = json_find(object, "clip");
    if (status == FGSF_OK && clip && !cJSON_IsNull(clip)) {
        status = json_read_range(r, object, "clip", 0.0, 1e30, true, &opt->clip);
    }
    if (status == FGSF_OK) {
        opt->kind = kind == 0 ? FGSF_ADAM : FGSF_SGD;
        p->has_optimizer = true;
        json_leave(r, mark);
    }
    return status;
}

static fgsf_status read_estimator(json_reader *r, const cJSON *root, fgsf_bellman_params *params) {
    static const char *const estimators[] = {"shared", "critic_only", "split", NULL};
    int estimator = FGSF_SHARED;
    fgsf_status status = FGSF_OK;
    if (json_find(root, "estimator")) {
        status = json_read_choice(r, root, "estimator", estimators, &estimator);
    }
    if (status != FGSF_OK) {
        return status;
    }
    params->estimator = (enum fgsf_estimator)estimator; // the choices are in the enum's order
    if (estimator == FGSF_SPLIT) {
        return json_read_integer(r, root, "split", 1, params->samples, &params->split);
    }
    if (json_find(root, "split")) {
        json_enter(r, "split");
        return json_refuse(r, "only the estimator 'split' splits");
    }
    return FGSF_OK;
}

static fgsf_status read_kind(json_reader *r, const cJSON *root, fgsf_bellman_params *params) {
    // As enum fgsf_gradient_kind from FGSF_MIX on; `residual` is semi, full or mix by grad_mix.
    static const char *const kinds[] = {"residual",      "corrected",  "gtd2",
                                        "bidirectional", "convergent", NULL};
    int kind = 0;
    fgsf_status status = FGSF_OK;
    if (json_find(root, "gradient")) {
        status = json_read_choice(r, root, "gradient", kinds, &kind);
    }
    params->kind = (enum fgsf_gradient_kind)(FGSF_MIX + kind);
    if (status == FGSF_OK && json_find(root, "beta")) {
        status = json_read_range(r, root, "beta", 0.0, 1e30, false, &params->h_beta);
    }
    return status;
}

static fgsf_status read_settings(json_reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const losses[] = {"half_mean", "mean", "sum", "double_sum", NULL};
    fgsf_bellman_params *params = &p->bellman;
    int loss = 0;
    fgsf_status status =
        json_read_choice(r, root, "loss", losses, &loss); // as enum fgsf_loss_scale
    params->loss_scale = (enum fgsf_loss_scale)loss;
    if (status == FGSF_OK) {
        status = json_read_range(r, root, "grad_mix", 0.0, 1.0, false, &params->grad_mix);
    }
    if (status == FGSF_OK && params->target_network && params->grad_mix != 0.0) {
        json_enter(r, "grad_mix");
        return json_refuse(r, "%.9g with a target_network, through which no gradient passes",
                           params->grad_mix);
    }
    if (status == FGSF_OK) {
        status = json_read_integer(r, root, "samples_per_pair", 1, (1 << 16) + 1, &params->samples);
    }
    if (status == FGSF_OK) {
        status = read_estimator(r, root, params);
    }
    if (status == FGSF_OK && json_find(root, "denominator")) {
        status = json_read_range(r, root, "denominator", 0.0, 1e30, true, &p->denominator);
    }
    return status;
}

// Reads one action per pair and repeats it for each of the pair's samples.
static fgsf_status read_next_actions(json_reader *r, const cJSON *object, size_t pairs, int samples,
                                     int actions, int32_t **out) {
    int32_t *one = NULL;
    fgsf_status status = json_read_actions(r, object, "a_next", pairs, actions, &one);
    size_t next = pairs * (size_t)samples;
    if (status == FGSF_OK && !(*out = json_allocate(next, sizeof(int32_t)))) {
        status = json_out_of_memory();
    }
    for (size_t i = 0; i < next && status == FGSF_OK; i++) {
        (*out)[i] = one[i / (size_t)samples];
    }
    free(one);
    return status;
}

// A pass over the batch must fit into memory, or computing it would end the process.
static fgsf_status check_size(const json_reader *r, const fgsf_bellman_params *params,
                              size_t pairs) {
    fgsf_parameters all;
    fgsf_network_list(&params->shape, &all);
    double width = params->shape.input;
    for (int i = 0; i < all.count; i++) {
        width += all.list[i].rows > 1 ? all.list[i].rows : all.list[i].columns;
    }
    double rows = ((double)pairs + 8.0) * (1.0 + params->samples);
    return rows * width <= MAX_ACTIVATIONS
               ? FGSF_OK
               : json_refuse(r, "%zu pairs of %d samples are too many for this network", pairs,
                             params->samples);
}

static fgsf_status read_batch(json_reader *r, const cJSON *object, const oracle_problem *p,
                              oracle_batch *b) {
    static const char *const keys[] = {"s",      "a",        "y",           "s_next",
                                       "a_next", "discount", "row_weights", NULL};
    const fgsf_bellman_params *params = &p->bellman;
    const fgsf_network_shape *shape = &params->shape;
    size_t input = (size_t)shape->input, features = (size_t)shape->features, pairs = 0;
    const cJSON *array;
    fgsf_status status = json_check_keys(r, object, keys);
    size_t mark = r->length;
    if (status == FGSF_OK) {
        status = json_enter_array(r, object, "s", &array, &pairs);
    }
    if (status == FGSF_OK && (pairs < 1 || pairs > 1 << 20)) {
        status = json_refuse(r, "%zu pairs are not in [1, 1048576]", pairs);
    }
    if (status == FGSF_OK) {
        status = check_size(r, params, pairs);
    }
    if (status != FGSF_OK) {
        return status;
    }
    json_leave(r, mark);
    size_t next = pairs * (size_t)params->samples;
    if ((status = json_read_matrix(r, object, "s", pairs, input, &b->s)) != FGSF_OK ||
        (status = json_read_actions(r, object, "a", pairs, shape->actions, &b->a)) != FGSF_OK ||
        (status = json_read_matrix(r, object, "y", next, features, &b->y)) != FGSF_OK ||
        (status = json_read_matrix(r, object, "s_next", next, input, &b->s_next)) != FGSF_OK ||
        (status = read_next_actions(r, object, pairs, params->samples, shape->actions,
                                    &b->a_next)) != FGSF_OK ||
        (status = json_read_matrix(r, object, "discount", next, 0, &b->discount)) != FGSF_OK) {
        return status;
    }
    if (json_find(object, "row_weights")) {
        status = json_read_matrix(r, object, "row_weights", pairs, 0, &b->weight);
    }
    b->batch = (fgsf_batch){.pairs = (int)pairs,
                            .s = b->s,
                            .a = b->a,
                            .y = b->y,
                            .s_next = b->s_next,
                            .a_next = b->a_next,
                            .discount = b->discount,
                            .weight = b->weight,
                            .denominator = p->denominator};
    return status;
}

static fgsf_status read_batches(json_reader *r, const cJSON *root, oracle_problem *p) {
    size_t mark = r->length, count;
    const cJSON *array;
    fgsf_status status = json_enter_array(r, root, "batches", &array, &count);
    if (status == FGSF_OK && (count < 1 || count > 1 << 20)) {
        status = json_refuse(r, "%zu batches are not in [1, 1048576]", count);
    }
    if (status == FGSF_OK && !(p->batches = json_allocate(count, sizeof *p->batches))) {
        status = json_out_of_memory();
    }
    if (status != FGSF_OK) {
        return status;
    }
    p->bellman.max_pairs = 1;
    for (const cJSON *item = array->child; item; item = item->next) {
        size_t outer = json_enter_item(r, (size_t)p->num_batches);
        oracle_batch *b = &p->batches[p->num_batches++];
        status = read_batch(r, item, p, b);
        if (status != FGSF_OK) {
            return status;
        }
        if (b->batch.pairs > p->bellman.max_pairs) {
            p->bellman.max_pairs = b->batch.pairs;
        }
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return FGSF_OK;
}

static fgsf_status read_problem(const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {"schema",    "network",       "target_network",
                                       "loss",      "grad_mix",      "samples_per_pair",
                                       "optimizer", "batches",       "denominator",
                                       "estimator", "split",         "gradient",
                                       "beta",      "error_network", NULL};
    static const char *const schemas[] = {PROBLEM_SCHEMA, NULL};
    json_reader r = {0};
    int schema;
    fgsf_status status = json_check_keys(&r, root, keys);
    if (status == FGSF_OK && json_find(root, "schema")) {
        status = json_read_choice(&r, root, "schema", schemas, &schema);
    }
    if (status == FGSF_OK) {
        status = read_network(&r, root, p);
    }
    if (status == FGSF_OK) {
        status = read_kind(&r, root, &p->bellman);
    }
    if (status == FGSF_OK) {
        status = read_other(&r, root, p);
    }
    if (status == FGSF_OK) {
        status = read_settings(&r, root, p);
    }
    if (status == FGSF_OK) {
        status = read_optimizer(&r, root, p);
    }
    return status == FGSF_OK ? read_batches(&r, root, p) : status;
}

fgsf_status oracle_problem_parse(const char *text, size_t length, oracle_problem **out) {
    cJSON *root = NULL;
    fgsf_status status = json_parse_text(text, length, &root);
    if (status != FGSF_OK) {
        return status;
    }
    oracle_problem *p = calloc(1, sizeof *p);
    if (!p) {
        cJSON_Delete(root);
        return json_out_of_memory();
    }
    p->bellman = fgsf_bellman_default_params(&(fgsf_network_shape){0});
    p->optimizer = fgsf_optimizer_default_params();
    status = read_problem(root, p);
    cJSON_Delete(root);
    if (status != FGSF_OK) {
        oracle_problem_free(p);
        return status;
    }
    *out = p;
    return FGSF_OK;
}

void oracle_problem_free(oracle_problem *p) {
    if (!p) {
        return;
    }
    for (int i = 0; i < p->num_batches; i++) {
        oracle_batch *b = &p->batches[i];
        free(b->s);
        free(b->y);
        free(b->s_next);
        free(b->discount);
        free(b->weight);
        free(b->a);
        free(b->a_next);
    }
    free(p->batches);
    free(p->parameters);
    free(p->other);
    free(p);
}
