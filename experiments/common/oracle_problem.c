// The gradient oracle's problem format: every field checked before anything is computed.
#include "oracle_problem.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_SCHEMA "fgsf.gradient-problem/1"
#define MAX_SIZE (1 << 20)        // of a layer, as the library allows
#define MAX_ACTIVATIONS (1 << 26) // floats in one pass over a batch: a quarter of a gigabyte

// Where the reader stands, for messages: "batches[0].a_next[3]".
typedef struct reader {
    char path[160];
    size_t length;
} reader;

// ---- Messages ------------------------------------------------------------------------------------

// Goes down into a field; returns where to come back to with leave().
static size_t enter(reader *r, const char *key) {
    size_t mark = r->length;
    int n = snprintf(r->path + mark, sizeof r->path - mark, "%s%s", mark ? "." : "", key);
    r->length = n > 0 && mark + (size_t)n < sizeof r->path ? mark + (size_t)n : mark;
    return mark;
}

static size_t enter_item(reader *r, size_t index) {
    size_t mark = r->length;
    int n = snprintf(r->path + mark, sizeof r->path - mark, "[%zu]", index);
    r->length = n > 0 && mark + (size_t)n < sizeof r->path ? mark + (size_t)n : mark;
    return mark;
}

static void leave(reader *r, size_t mark) {
    r->path[r->length = mark] = '\0';
}

FGSF_PRINTF(2, 3) static fgsf_status refuse(const reader *r, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return fgsf_fail(FGSF_ERR_FORMAT, "%s%s%s", r->path, r->length ? ": " : "", message);
}

// Returns `text` shortened and without anything that would break a line.
static const char *printable(const char *text, char buffer[48]) {
    size_t n = 0;
    for (; text[n] && n < 40; n++) {
        unsigned char c = (unsigned char)text[n];
        buffer[n] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    snprintf(buffer + n, 48 - n, "%s", text[n] ? "..." : "");
    return buffer;
}

static const char *type_name(const cJSON *node) {
    return cJSON_IsNumber(node)   ? "a number"
           : cJSON_IsString(node) ? "a string"
           : cJSON_IsArray(node)  ? "an array"
           : cJSON_IsObject(node) ? "an object"
           : cJSON_IsBool(node)   ? "a boolean"
                                  : "null";
}

// ---- Text ----------------------------------------------------------------------------------------

// Returns the end of the JSON number at `p`, or NULL when it is none by the standard's grammar.
static const char *skip_number(const char *p, const char *end) {
    const char *digits;
    p += p < end && *p == '-';
    digits = p;
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    if (p == digits || (*digits == '0' && p > digits + 1)) {
        return NULL;
    }
    if (p < end && *p == '.') {
        digits = ++p;
        while (p < end && *p >= '0' && *p <= '9') {
            p++;
        }
        if (p == digits) {
            return NULL;
        }
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        digits = p;
        while (p < end && *p >= '0' && *p <= '9') {
            p++;
        }
        if (p == digits) {
            return NULL;
        }
    }
    return p;
}

// Returns the end of the string at `p`, or NULL when it holds control characters or an escaped NUL,
// which would cut it short in C.
static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20 || (end - p > 6 && strncmp(p, "\\u0000", 6) == 0)) {
            return NULL;
        }
        p += *p == '\\';
    }
    return p < end ? p + 1 : NULL;
}

// Finds what cJSON lets pass although it is not JSON: returns the place, or NULL.
static const char *find_leniency(const char *text, const char *end) {
    const char *p = text;
    while (p < end) {
        const char *token = p;
        if (*p == '"') {
            p = skip_string(p, end);
        } else if (*p == '-' || (*p >= '0' && *p <= '9')) {
            p = skip_number(p, end);
        } else if ((unsigned char)*p < 0x20 && !strchr("\t\n\r", *p)) {
            p = NULL;
        } else if ((unsigned char)*p >= 0x7f || !*p) {
            p = NULL; // a byte-order mark, say
        } else {
            p++;
        }
        if (!p) {
            return token;
        }
    }
    return NULL;
}

// Finds which field the text is in at `where`, as far as brackets and keys tell.
static void locate(reader *r, const char *text, const char *where) {
    struct {
        bool array;
        size_t index;
        const char *key; // its opening quote
    } frames[8] = {0};
    size_t depth = 0, deepest = sizeof frames / sizeof *frames;
    for (const char *p = text; p < where && depth < deepest; p++) {
        if (*p == '[' || *p == '{') {
            frames[depth].array = *p == '[';
            frames[depth].index = 0;
            frames[depth++].key = NULL;
        } else if ((*p == ']' || *p == '}') && depth > 0) {
            depth--;
        } else if (*p == ',' && depth > 0) {
            frames[depth - 1].index++;
            frames[depth - 1].key = NULL;
        } else if (*p == '"') {
            const char *end = skip_string(p, where);
            if (depth > 0 && !frames[depth - 1].key) {
                frames[depth - 1].key = p;
            }
            p = end ? end - 1 : where - 1;
        }
    }
    for (size_t i = 0; i < depth; i++) {
        const char *key = frames[i].key;
        if (frames[i].array) {
            enter_item(r, frames[i].index);
        } else if (key) {
            char name[48] = "";
            size_t length = 0;
            while (key + 1 + length < where && key[1 + length] != '"' && length < 40) {
                length++;
            }
            memcpy(name, key + 1, length);
            char safe[48];
            enter(r, printable(name, safe));
        }
    }
}

static fgsf_status refuse_text(const char *text, const char *where) {
    reader r = {0};
    int line = 1, column = 1;
    for (const char *p = text; p < where; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    locate(&r, text, where);
    return refuse(&r, "not valid JSON at line %d, column %d", line, column);
}

static fgsf_status parse_text(const char *text, size_t length, cJSON **out) {
    const char *where = find_leniency(text, text + length);
    cJSON *root = NULL;
    if (!where) {
        root = cJSON_ParseWithLengthOpts(text, length, &where, false);
        const char *rest = where; // cJSON leaves it behind the value, or at the error
        while (root && rest < text + length && strchr(" \t\n\r", *rest)) {
            rest++;
        }
        if (root && rest == text + length) {
            *out = root;
            return FGSF_OK;
        }
        where = root ? rest : where;
    }
    cJSON_Delete(root);
    return refuse_text(text, where ? where : text);
}

// ---- Values --------------------------------------------------------------------------------------

// Refuses keys that are unknown or given twice. `known` ends with NULL.
static fgsf_status check_keys(reader *r, const cJSON *object, const char *const *known) {
    char name[48];
    if (!cJSON_IsObject(object)) {
        return refuse(r, "is %s, expected an object", type_name(object));
    }
    unsigned seen = 0;
    for (const cJSON *item = object->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string) != 0) {
            i++;
        }
        size_t mark = enter(r, printable(item->string, name));
        if (!known[i]) {
            return refuse(r, "unknown field");
        }
        if (seen & 1u << i) {
            return refuse(r, "given twice");
        }
        seen |= 1u << i;
        leave(r, mark);
    }
    return FGSF_OK;
}

static const cJSON *find(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static fgsf_status read_real(reader *r, const cJSON *object, const char *key, double *out) {
    size_t mark = enter(r, key);
    const cJSON *node = find(object, key);
    if (!node) {
        return refuse(r, "missing");
    }
    if (!cJSON_IsNumber(node)) {
        return refuse(r, "is %s, expected a number", type_name(node));
    }
    if (!isfinite(node->valuedouble)) {
        return refuse(r, "is not a finite number");
    }
    *out = node->valuedouble;
    leave(r, mark);
    return FGSF_OK;
}

// Reads a real in [min, max], or (min, max] where `open`.
static fgsf_status read_range(reader *r, const cJSON *object, const char *key, double min,
                              double max, bool open, double *out) {
    fgsf_status status = read_real(r, object, key, out);
    if (status == FGSF_OK && !(*out <= max && (open ? *out > min : *out >= min))) {
        enter(r, key);
        return refuse(r, "%.9g is not in %c%.9g, %.9g]", *out, open ? '(' : '[', min, max);
    }
    return status;
}

static fgsf_status to_integer(const reader *r, const cJSON *node, double min, double end,
                              int *out) {
    if (!cJSON_IsNumber(node)) {
        return refuse(r, "is %s, expected an integer", type_name(node));
    }
    double value = node->valuedouble;
    if (!isfinite(value) || value != floor(value)) {
        return refuse(r, "%.9g is not an integer", value);
    }
    if (!(value >= min && value < end)) {
        return refuse(r, "%.12g is not in [%.12g, %.12g)", value, min, end);
    }
    *out = (int)value;
    return FGSF_OK;
}

static fgsf_status read_integer(reader *r, const cJSON *object, const char *key, double min,
                                double end, int *out) {
    size_t mark = enter(r, key);
    const cJSON *node = find(object, key);
    fgsf_status status = node ? to_integer(r, node, min, end, out) : refuse(r, "missing");
    if (status == FGSF_OK) {
        leave(r, mark);
    }
    return status;
}

// Reads one of `choices` (ending with NULL) as its index.
static fgsf_status read_choice(reader *r, const cJSON *object, const char *key,
                               const char *const *choices, int *out) {
    char given[48];
    size_t mark = enter(r, key);
    const cJSON *node = find(object, key);
    if (!node) {
        return refuse(r, "missing");
    }
    if (!cJSON_IsString(node)) {
        return refuse(r, "is %s, expected a string", type_name(node));
    }
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], node->valuestring) == 0) {
            *out = i;
            leave(r, mark);
            return FGSF_OK;
        }
    }
    char list[96] = "";
    for (int i = 0; choices[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choices[i]);
    }
    return refuse(r, "'%s' is not one of %s", printable(node->valuestring, given), list);
}

// Enters an array and counts its items; `node` is then the array and the caller leaves it.
static fgsf_status enter_array(reader *r, const cJSON *object, const char *key, const cJSON **node,
                               size_t *count) {
    enter(r, key);
    *node = find(object, key);
    if (!*node) {
        return refuse(r, "missing");
    }
    if (!cJSON_IsArray(*node)) {
        return refuse(r, "is %s, expected an array", type_name(*node));
    }
    *count = 0;
    for (const cJSON *item = (*node)->child; item; item = item->next) {
        ++*count;
    }
    return FGSF_OK;
}

// Reads an array of exactly `count` numbers that a float can hold.
static fgsf_status read_floats(reader *r, const cJSON *array, size_t count, float *out) {
    if (!cJSON_IsArray(array)) {
        return refuse(r, "is %s, expected an array", type_name(array));
    }
    size_t i = 0;
    for (const cJSON *item = array->child; item; item = item->next, i++) {
        if (i == count) {
            return refuse(r, "has more than the %zu numbers expected", count);
        }
        size_t mark = enter_item(r, i);
        if (!cJSON_IsNumber(item)) {
            return refuse(r, "is %s, expected a number", type_name(item));
        }
        out[i] = (float)item->valuedouble;
        if (!isfinite(out[i])) {
            return refuse(r, "%.9g is not a finite float", item->valuedouble);
        }
        leave(r, mark);
    }
    return i == count ? FGSF_OK : refuse(r, "has %zu numbers, expected %zu", i, count);
}

static void *allocate(size_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

static fgsf_status out_of_memory(void) {
    return fgsf_fail(FGSF_ERR_MEMORY, "no memory for the problem");
}

// Reads `rows` rows of `columns` floats, or a flat array of `rows` when columns is 0.
static fgsf_status read_matrix(reader *r, const cJSON *object, const char *key, size_t rows,
                               size_t columns, float **out) {
    size_t mark = r->length, count;
    const cJSON *array;
    fgsf_status status = enter_array(r, object, key, &array, &count);
    if (status == FGSF_OK && count != rows) {
        status = refuse(r, "has %zu %s, expected %zu", count, columns ? "rows" : "numbers", rows);
    }
    if (status != FGSF_OK) {
        return status;
    }
    *out = allocate(rows * (columns ? columns : 1), sizeof(float));
    if (!*out) {
        return out_of_memory();
    }
    if (!columns) {
        status = read_floats(r, array, rows, *out);
    }
    const cJSON *row = array->child;
    for (size_t i = 0; columns && i < rows && status == FGSF_OK; i++, row = row->next) {
        size_t outer = enter_item(r, i);
        status = read_floats(r, row, columns, *out + i * columns);
        if (status == FGSF_OK) {
            leave(r, outer);
        }
    }
    if (status == FGSF_OK) {
        leave(r, mark);
    }
    return status;
}

static fgsf_status read_actions(reader *r, const cJSON *object, const char *key, size_t count,
                                int actions, int32_t **out) {
    size_t mark = r->length, given;
    const cJSON *array;
    fgsf_status status = enter_array(r, object, key, &array, &given);
    if (status == FGSF_OK && given != count) {
        status = refuse(r, "has %zu actions, expected %zu", given, count);
    }
    if (status != FGSF_OK) {
        return status;
    }
    *out = allocate(count, sizeof(int32_t));
    if (!*out) {
        return out_of_memory();
    }
    size_t i = 0;
    for (const cJSON *item = array->child; item; item = item->next, i++) {
        size_t outer = enter_item(r, i);
        int action = 0;
        status = to_integer(r, item, 0, actions, &action);
        if (status != FGSF_OK) {
            return status;
        }
        (*out)[i] = action;
        leave(r, outer);
    }
    leave(r, mark);
    return FGSF_OK;
}

// ---- Networks ------------------------------------------------------------------------------------

static const char *const network_keys[] = {"input",      "hidden",  "actions", "features",
                                           "activation", "weights", "biases",  NULL};

static fgsf_status read_hidden(reader *r, const cJSON *object, fgsf_network_shape *shape) {
    size_t mark = r->length, count;
    const cJSON *array;
    fgsf_status status = enter_array(r, object, "hidden", &array, &count);
    if (status == FGSF_OK && count > FGSF_MAX_HIDDEN) {
        status = refuse(r, "%zu layers, at most %d are supported", count, FGSF_MAX_HIDDEN);
    }
    if (status != FGSF_OK) {
        return status;
    }
    for (const cJSON *item = array->child; item; item = item->next) {
        size_t outer = enter_item(r, (size_t)shape->num_hidden);
        status = to_integer(r, item, 1, MAX_SIZE + 1, &shape->hidden[shape->num_hidden]);
        if (status != FGSF_OK) {
            return status;
        }
        shape->num_hidden++;
        leave(r, outer);
    }
    leave(r, mark);
    return FGSF_OK;
}

static fgsf_status read_shape(reader *r, const cJSON *object, fgsf_network_shape *shape) {
    static const char *const activations[] = {"relu", "silu", NULL}; // as enum fgsf_activation
    int activation = 0;
    fgsf_status status = read_integer(r, object, "input", 1, MAX_SIZE + 1, &shape->input);
    if (status == FGSF_OK) {
        status = read_hidden(r, object, shape);
    }
    if (status == FGSF_OK) {
        status = read_integer(r, object, "actions", 1, MAX_SIZE + 1, &shape->actions);
    }
    if (status == FGSF_OK) {
        status = read_integer(r, object, "features", 1, MAX_SIZE + 1, &shape->features);
    }
    if (status == FGSF_OK) {
        status = read_choice(r, object, "activation", activations, &activation);
    }
    shape->activation = (enum fgsf_activation)activation;
    shape->bias = find(object, "biases") != NULL;
    return status == FGSF_OK ? fgsf_network_shape_check(shape) : status;
}

// Reads `weights` or `biases`: one flat array per layer, into their places in the flat buffer.
static fgsf_status read_blocks(reader *r, const cJSON *object, const char *key,
                               const fgsf_network_shape *shape, float *flat) {
    fgsf_layer layers[FGSF_MAX_HIDDEN + 1];
    size_t num_layers = (size_t)fgsf_network_layers(shape, layers), mark = r->length, count;
    bool biases = strcmp(key, "biases") == 0;
    const cJSON *array;
    fgsf_status status = enter_array(r, object, key, &array, &count);
    if (status == FGSF_OK && count != num_layers) {
        status = refuse(r, "has %zu layers, expected %zu", count, num_layers);
    }
    if (status != FGSF_OK) {
        return status;
    }
    const cJSON *block = array->child;
    for (size_t l = 0; l < num_layers; l++, block = block->next) {
        size_t outer = enter_item(r, l), out = (size_t)layers[l].out;
        size_t expected = biases ? out : out * (size_t)layers[l].in;
        if (flat) {
            status = read_floats(r, block, expected,
                                 flat + (biases ? layers[l].biases : layers[l].weights));
        } else if (!cJSON_IsArray(block)) {
            status = refuse(r, "is %s, expected an array", type_name(block));
        } else if ((size_t)cJSON_GetArraySize(block) != expected) {
            status = refuse(r, "has %d numbers, expected %zu", cJSON_GetArraySize(block), expected);
        }
        if (status != FGSF_OK) {
            return status;
        }
        leave(r, outer);
    }
    leave(r, mark);
    return FGSF_OK;
}

// Reads the numbers of a network whose shape is known.
static fgsf_status read_parameters(reader *r, const cJSON *object, const fgsf_network_shape *shape,
                                   float **out) {
    // Lengths first, without memory: after that the flat buffer is no larger than the file.
    fgsf_status status = read_blocks(r, object, "weights", shape, NULL);
    if (status == FGSF_OK && shape->bias) {
        status = read_blocks(r, object, "biases", shape, NULL);
    }
    if (status != FGSF_OK) {
        return status;
    }
    *out = allocate(fgsf_network_flat_size(shape), sizeof(float));
    if (!*out) {
        return out_of_memory();
    }
    status = read_blocks(r, object, "weights", shape, *out);
    return status == FGSF_OK && shape->bias ? read_blocks(r, object, "biases", shape, *out)
                                            : status;
}

static fgsf_status read_network(reader *r, const cJSON *root, oracle_problem *p) {
    size_t mark = enter(r, "network");
    const cJSON *object = find(root, "network");
    fgsf_network_shape *shape = &p->bellman.shape;
    fgsf_status status = object ? check_keys(r, object, network_keys) : refuse(r, "missing");
    if (status == FGSF_OK) {
        status = read_shape(r, object, shape);
    }
    if (status == FGSF_OK) {
        status = read_parameters(r, object, shape, &p->parameters);
    }
    if (status == FGSF_OK) {
        leave(r, mark);
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
           : a->bias != b->bias             ? "biases"
                                            : NULL;
}

// The target network: a network of the same shape, or its `weights` and `biases` alone.
static fgsf_status read_target(reader *r, const cJSON *root, oracle_problem *p) {
    const cJSON *object = find(root, "target_network");
    if (!object) {
        return FGSF_OK;
    }
    size_t mark = enter(r, "target_network");
    fgsf_network_shape shape = {0};
    fgsf_status status = check_keys(r, object, network_keys);
    bool shaped = false;
    for (int i = 0; i < 5 && status == FGSF_OK; i++) {
        shaped = shaped || find(object, network_keys[i]);
    }
    if (status == FGSF_OK && shaped) {
        status = read_shape(r, object, &shape);
    } else if (status == FGSF_OK) {
        shape = p->bellman.shape;
        shape.bias = find(object, "biases") != NULL;
    }
    const char *difference = status == FGSF_OK ? shape_difference(&shape, &p->bellman.shape) : NULL;
    if (difference) {
        enter(r, difference);
        status = refuse(r, "differs from the network's");
    }
    if (status == FGSF_OK) {
        status = read_parameters(r, object, &shape, &p->target);
    }
    if (status == FGSF_OK) {
        p->bellman.target_network = true;
        leave(r, mark);
    }
    return status;
}

// ---- The rest of the problem ---------------------------------------------------------------------

static fgsf_status read_optimizer(reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {"kind", "lr", "beta1", "beta2", "eps", "clip", NULL};
    static const char *const kinds[] = {"adam", "sgd", NULL}; // as enum fgsf_opt_kind
    const cJSON *object = find(root, "optimizer");
    if (!object || cJSON_IsNull(object)) {
        return FGSF_OK;
    }
    size_t mark = enter(r, "optimizer");
    fgsf_optimizer_params *opt = &p->optimizer;
    int kind = 0;
    fgsf_status status = check_keys(r, object, keys);
    if (status == FGSF_OK) {
        status = read_choice(r, object, "kind", kinds, &kind);
    }
    if (status == FGSF_OK) {
        status = read_range(r, object, "lr", 0.0, 1e6, false, &p->lr);
    }
    if (status == FGSF_OK && find(object, "beta1")) {
        status = read_range(r, object, "beta1", 0.0, 1.0 - 1e-7, false, &opt->beta1);
    }
    if (status == FGSF_OK && find(object, "beta2")) {
        status = read_range(r, object, "beta2", 0.0, 1.0 - 1e-7, false, &opt->beta2);
    }
    if (status == FGSF_OK && find(object, "eps")) {
        status = read_range(r, object, "eps", 0.0, 1.0, true, &opt->eps);
    }
    const cJSON *clip = find(object, "clip");
    if (status == FGSF_OK && clip && !cJSON_IsNull(clip)) {
        status = read_range(r, object, "clip", 0.0, 1e30, true, &opt->clip);
    }
    if (status == FGSF_OK) {
        opt->kind = kind == 0 ? FGSF_ADAM : FGSF_SGD;
        p->has_optimizer = true;
        leave(r, mark);
    }
    return status;
}

static fgsf_status read_estimator(reader *r, const cJSON *root, fgsf_bellman_params *params) {
    static const char *const estimators[] = {"shared", "critic_only", "split", NULL};
    int estimator = FGSF_SHARED;
    fgsf_status status = FGSF_OK;
    if (find(root, "estimator")) {
        status = read_choice(r, root, "estimator", estimators, &estimator);
    }
    if (status != FGSF_OK) {
        return status;
    }
    params->estimator = (enum fgsf_estimator)estimator; // the choices are in the enum's order
    if (estimator == FGSF_SPLIT) {
        return read_integer(r, root, "split", 1, params->samples, &params->split);
    }
    if (find(root, "split")) {
        enter(r, "split");
        return refuse(r, "only the estimator 'split' splits");
    }
    return FGSF_OK;
}

static fgsf_status read_settings(reader *r, const cJSON *root, oracle_problem *p) {
    static const char *const losses[] = {"half_mean", "mean", "sum", "double_sum", NULL};
    fgsf_bellman_params *params = &p->bellman;
    int loss = 0;
    fgsf_status status = read_choice(r, root, "loss", losses, &loss); // as enum fgsf_loss_scale
    params->loss_scale = (enum fgsf_loss_scale)loss;
    if (status == FGSF_OK) {
        status = read_range(r, root, "grad_mix", 0.0, 1.0, false, &params->grad_mix);
    }
    if (status == FGSF_OK && params->target_network && params->grad_mix != 0.0) {
        enter(r, "grad_mix");
        return refuse(r, "%.9g with a target_network, through which no gradient passes",
                      params->grad_mix);
    }
    if (status == FGSF_OK) {
        status = read_integer(r, root, "samples_per_pair", 1, (1 << 16) + 1, &params->samples);
    }
    if (status == FGSF_OK) {
        status = read_estimator(r, root, params);
    }
    if (status == FGSF_OK && find(root, "denominator")) {
        status = read_range(r, root, "denominator", 0.0, 1e30, true, &p->denominator);
    }
    return status;
}

// Reads one action per pair and repeats it for each of the pair's samples.
static fgsf_status read_next_actions(reader *r, const cJSON *object, size_t pairs, int samples,
                                     int actions, int32_t **out) {
    int32_t *one = NULL;
    fgsf_status status = read_actions(r, object, "a_next", pairs, actions, &one);
    size_t next = pairs * (size_t)samples;
    if (status == FGSF_OK && !(*out = allocate(next, sizeof(int32_t)))) {
        status = out_of_memory();
    }
    for (size_t i = 0; i < next && status == FGSF_OK; i++) {
        (*out)[i] = one[i / (size_t)samples];
    }
    free(one);
    return status;
}

// A pass over the batch must fit into memory, or computing it would end the process.
static fgsf_status check_size(const reader *r, const fgsf_bellman_params *params, size_t pairs) {
    fgsf_layer layers[FGSF_MAX_HIDDEN + 1];
    double width = params->shape.input;
    for (int l = 0, n = fgsf_network_layers(&params->shape, layers); l < n; l++) {
        width += layers[l].out;
    }
    double rows = ((double)pairs + 8.0) * (1.0 + params->samples);
    return rows * width <= MAX_ACTIVATIONS
               ? FGSF_OK
               : refuse(r, "%zu pairs of %d samples are too many for this network", pairs,
                        params->samples);
}

static fgsf_status read_batch(reader *r, const cJSON *object, const oracle_problem *p,
                              oracle_batch *b) {
    static const char *const keys[] = {"s",      "a",        "y",           "s_next",
                                       "a_next", "discount", "row_weights", NULL};
    const fgsf_bellman_params *params = &p->bellman;
    const fgsf_network_shape *shape = &params->shape;
    size_t input = (size_t)shape->input, features = (size_t)shape->features, pairs = 0;
    const cJSON *array;
    fgsf_status status = check_keys(r, object, keys);
    size_t mark = r->length;
    if (status == FGSF_OK) {
        status = enter_array(r, object, "s", &array, &pairs);
    }
    if (status == FGSF_OK && (pairs < 1 || pairs > 1 << 20)) {
        status = refuse(r, "%zu pairs are not in [1, 1048576]", pairs);
    }
    if (status == FGSF_OK) {
        status = check_size(r, params, pairs);
    }
    if (status != FGSF_OK) {
        return status;
    }
    leave(r, mark);
    size_t next = pairs * (size_t)params->samples;
    if ((status = read_matrix(r, object, "s", pairs, input, &b->s)) != FGSF_OK ||
        (status = read_actions(r, object, "a", pairs, shape->actions, &b->a)) != FGSF_OK ||
        (status = read_matrix(r, object, "y", next, features, &b->y)) != FGSF_OK ||
        (status = read_matrix(r, object, "s_next", next, input, &b->s_next)) != FGSF_OK ||
        (status = read_next_actions(r, object, pairs, params->samples, shape->actions,
                                    &b->a_next)) != FGSF_OK ||
        (status = read_matrix(r, object, "discount", next, 0, &b->discount)) != FGSF_OK) {
        return status;
    }
    if (find(object, "row_weights")) {
        status = read_matrix(r, object, "row_weights", pairs, 0, &b->weight);
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

static fgsf_status read_batches(reader *r, const cJSON *root, oracle_problem *p) {
    size_t mark = r->length, count;
    const cJSON *array;
    fgsf_status status = enter_array(r, root, "batches", &array, &count);
    if (status == FGSF_OK && (count < 1 || count > 1 << 20)) {
        status = refuse(r, "%zu batches are not in [1, 1048576]", count);
    }
    if (status == FGSF_OK && !(p->batches = allocate(count, sizeof *p->batches))) {
        status = out_of_memory();
    }
    if (status != FGSF_OK) {
        return status;
    }
    p->bellman.max_pairs = 1;
    for (const cJSON *item = array->child; item; item = item->next) {
        size_t outer = enter_item(r, (size_t)p->num_batches);
        oracle_batch *b = &p->batches[p->num_batches++];
        status = read_batch(r, item, p, b);
        if (status != FGSF_OK) {
            return status;
        }
        if (b->batch.pairs > p->bellman.max_pairs) {
            p->bellman.max_pairs = b->batch.pairs;
        }
        leave(r, outer);
    }
    leave(r, mark);
    return FGSF_OK;
}

static fgsf_status read_problem(const cJSON *root, oracle_problem *p) {
    static const char *const keys[] = {
        "schema",    "network", "target_network", "loss",      "grad_mix", "samples_per_pair",
        "optimizer", "batches", "denominator",    "estimator", "split",    NULL};
    static const char *const schemas[] = {PROBLEM_SCHEMA, NULL};
    reader r = {0};
    int schema;
    fgsf_status status = check_keys(&r, root, keys);
    if (status == FGSF_OK && find(root, "schema")) {
        status = read_choice(&r, root, "schema", schemas, &schema);
    }
    if (status == FGSF_OK) {
        status = read_network(&r, root, p);
    }
    if (status == FGSF_OK) {
        status = read_target(&r, root, p);
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
    fgsf_status status = parse_text(text, length, &root);
    if (status != FGSF_OK) {
        return status;
    }
    oracle_problem *p = calloc(1, sizeof *p);
    if (!p) {
        cJSON_Delete(root);
        return out_of_memory();
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
    free(p->target);
    free(p);
}
