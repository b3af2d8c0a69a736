// Strict JSON: the text, then values of the expected type and range.
#include "json_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Messages ------------------------------------------------------------------------------------

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

// The way to a value: "batches[0].a_next[3]". Steps that do not fit are left out.
typedef struct path {
    char text[160];
    size_t length;
} path;

static void enter(path *p, const char *key, size_t index) {
    char step[80], name[48];
    int n = key ? snprintf(step, sizeof step, "%s%s", p->length ? "." : "", printable(key, name))
                : snprintf(step, sizeof step, "[%zu]", index);
    if (p->length + (size_t)n >= sizeof p->text) return;
    memcpy(p->text + p->length, step, (size_t)n + 1);
    p->length += (size_t)n;
}

// Looks for `wanted` at `node` and below; `p` is then the way to it.
static bool find_path(const cJSON *node, const cJSON *wanted, path *p) {
    size_t mark = p->length, index = 0;
    if (node == wanted) return true;
    for (const cJSON *item = node->child; item; item = item->next, index++) {
        enter(p, item->string, index);
        if (find_path(item, wanted, p)) return true;
        p->text[p->length = mark] = '\0';
    }
    return false;
}

void json_refuse(json_reader *r, const cJSON *node, const char *key, const char *format, ...) {
    char message[512];
    path p = {0};
    va_list args;
    if (r->status != FGSF_OK) return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    find_path(r->root, node, &p);
    if (key) enter(&p, key, 0);
    r->status = fgsf_fail(FGSF_ERR_FORMAT, "%s%s%s", p.text, p.length ? ": " : "", message);
}

// Whether `node` is of the type that `is` asks for; refuses it where not.
static bool expect(json_reader *r, const cJSON *node, cJSON_bool (*is)(const cJSON *),
                   const char *expected) {
    static const struct {
        cJSON_bool (*is)(const cJSON *);
        const char *name;
    } types[] = {{cJSON_IsNumber, "a number"}, {cJSON_IsString, "a string"},
                 {cJSON_IsArray, "an array"},  {cJSON_IsObject, "an object"},
                 {cJSON_IsBool, "a boolean"},  {cJSON_IsNull, "null"}};
    if (r->status == FGSF_OK && !is(node)) {
        size_t i = 0;
        while (i < sizeof types / sizeof *types - 1 && !types[i].is(node)) i++;
        json_refuse(r, node, NULL, "is %s, expected %s", types[i].name, expected);
    }
    return r->status == FGSF_OK;
}

// ---- Text ----------------------------------------------------------------------------------------

// Returns the end of the digits at `p`, or NULL when there are none.
static const char *skip_digits(const char *p, const char *end) {
    const char *first = p;
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p > first ? p : NULL;
}

// Returns the end of the JSON number at `p`, or NULL when it is none by the standard's grammar.
static const char *skip_number(const char *p, const char *end) {
    p += p < end && *p == '-';
    const char *first = p;
    p = skip_digits(p, end);
    if (p && *first == '0' && p > first + 1) return NULL;
    if (p && p < end && *p == '.') p = skip_digits(p + 1, end);
    if (p && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p = skip_digits(p + (p < end && (*p == '+' || *p == '-')), end);
    }
    return p;
}

// Returns the end of the string at `p`, or NULL when it holds control characters or an escaped NUL,
// which would cut it short in C.
static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20 || (end - p > 6 && strncmp(p, "\\u0000", 6) == 0)) return NULL;
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
        if (!p) return token;
    }
    return NULL;
}

// Finds which field the text is in at `where`, as far as brackets and keys tell.
static void locate(path *p, const char *text, const char *where) {
    struct {
        bool array;
        size_t index;
        const char *key; // its opening quote
    } frames[8] = {0};
    size_t depth = 0, deepest = sizeof frames / sizeof *frames;
    for (const char *c = text; c < where && depth < deepest; c++) {
        if (*c == '[' || *c == '{') {
            frames[depth].array = *c == '[';
            frames[depth].index = 0;
            frames[depth++].key = NULL;
        } else if ((*c == ']' || *c == '}') && depth > 0) {
            depth--;
        } else if (*c == ',' && depth > 0) {
            frames[depth - 1].index++;
            frames[depth - 1].key = NULL;
        } else if (*c == '"') {
            const char *end = skip_string(c, where);
            if (depth > 0 && !frames[depth - 1].key) frames[depth - 1].key = c;
            c = end ? end - 1 : where - 1;
        }
    }
    for (size_t i = 0; i < depth; i++) {
        const char *key = frames[i].key;
        char name[48] = "";
        for (size_t n = 1; key && n < 42 && key + n < where && key[n] != '"'; n++) {
            name[n - 1] = key[n];
        }
        if (frames[i].array || key) enter(p, frames[i].array ? NULL : name, frames[i].index);
    }
}

static fgsf_status refuse_text(const char *text, const char *where) {
    path p = {0};
    int line = 1, column = 1;
    for (const char *c = text; c < where; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    locate(&p, text, where);
    return fgsf_fail(FGSF_ERR_FORMAT, "%s%snot valid JSON at line %d, column %d", p.text,
                     p.length ? ": " : "", line, column);
}

fgsf_status json_parse_text(const char *text, size_t length, cJSON **out) {
    const char *where = find_leniency(text, text + length);
    cJSON *root = NULL;
    if (!where) {
        root = cJSON_ParseWithLengthOpts(text, length, &where, false);
        const char *rest = where; // cJSON leaves it behind the value, or at the error
        while (root && rest < text + length && strchr(" \t\n\r", *rest)) rest++;
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

const cJSON *json_find(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const cJSON *json_need(json_reader *r, const cJSON *object, const char *key,
                       cJSON_bool (*is)(const cJSON *), const char *expected) {
    const cJSON *node = json_find(object, key);
    if (!node) json_refuse(r, object, key, "missing");
    return node && expect(r, node, is, expected) ? node : NULL;
}

void json_check_keys(json_reader *r, const cJSON *object, const char *const *known) {
    if (!expect(r, object, cJSON_IsObject, "an object")) return;
    unsigned seen = 0;
    for (const cJSON *item = object->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string) != 0) i++;
        if (!known[i]) json_refuse(r, item, NULL, "unknown field");
        if (seen & 1u << i) json_refuse(r, item, NULL, "given twice");
        seen |= 1u << i;
    }
}

void json_real(json_reader *r, const cJSON *object, const char *key, double min, double max,
               bool open, double *out) {
    const cJSON *node = json_need(r, object, key, cJSON_IsNumber, "a number");
    double value = node ? node->valuedouble : NAN;
    if (node && !isfinite(value)) {
        json_refuse(r, node, NULL, "is not a finite number");
    } else if (node && !(value <= max && (open ? value > min : value >= min))) {
        json_refuse(r, node, NULL, "%.9g is not in %c%.9g, %.9g]", value, open ? '(' : '[', min,
                    max);
    } else if (node) {
        *out = value;
    }
}

int json_to_integer(json_reader *r, const cJSON *node, double min, double end) {
    if (!expect(r, node, cJSON_IsNumber, "an integer")) return 0;
    double value = node->valuedouble;
    if (!isfinite(value) || value != floor(value)) {
        json_refuse(r, node, NULL, "%.9g is not an integer", value);
    } else if (!(value >= min && value < end)) {
        json_refuse(r, node, NULL, "%.12g is not in [%.12g, %.12g)", value, min, end);
    }
    return r->status == FGSF_OK ? (int)value : 0;
}

int json_integer(json_reader *r, const cJSON *object, const char *key, double min, double end) {
    const cJSON *node = json_need(r, object, key, cJSON_IsNumber, "an integer");
    return node ? json_to_integer(r, node, min, end) : 0;
}

int json_choice(json_reader *r, const cJSON *object, const char *key, const char *const *choices) {
    const cJSON *node = json_need(r, object, key, cJSON_IsString, "a string");
    char given[48], list[96] = "";
    int found = 0;
    while (node && choices[found] && strcmp(choices[found], node->valuestring) != 0) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", choices[found++]);
    }
    if (node && !choices[found]) {
        json_refuse(r, node, NULL, "'%s' is not one of %s", printable(node->valuestring, given),
                    list);
    }
    return found;
}

const cJSON *json_array(json_reader *r, const cJSON *object, const char *key, size_t *count) {
    const cJSON *node = json_need(r, object, key, cJSON_IsArray, "an array");
    *count = 0;
    for (const cJSON *item = node ? node->child : NULL; item; item = item->next) ++*count;
    return node;
}

void json_floats(json_reader *r, const cJSON *array, size_t count, float *out) {
    if (!expect(r, array, cJSON_IsArray, "an array")) return;
    size_t i = 0;
    for (const cJSON *item = array->child; item && r->status == FGSF_OK; item = item->next, i++) {
        if (!out) continue;
        if (i == count) {
            json_refuse(r, array, NULL, "has more than the %zu numbers expected", count);
        } else if (expect(r, item, cJSON_IsNumber, "a number")) {
            out[i] = (float)item->valuedouble;
            if (!isfinite(out[i])) {
                json_refuse(r, item, NULL, "%.9g is not a finite float", item->valuedouble);
            }
        }
    }
    if (i != count) json_refuse(r, array, NULL, "has %zu numbers, expected %zu", i, count);
}

void *json_allocate(json_reader *r, size_t count, size_t size) {
    void *memory = r->status == FGSF_OK ? calloc(count ? count : 1, size) : NULL;
    if (!memory && r->status == FGSF_OK) {
        r->status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for the problem");
    }
    return memory;
}

float *json_matrix(json_reader *r, const cJSON *object, const char *key, size_t rows,
                   size_t columns) {
    size_t count;
    const cJSON *array = json_array(r, object, key, &count);
    if (count != rows) {
        json_refuse(r, array, NULL, "has %zu %s, expected %zu", count, columns ? "rows" : "numbers",
                    rows);
    }
    float *out = json_allocate(r, rows * (columns ? columns : 1), sizeof(float));
    if (out && !columns) json_floats(r, array, rows, out);
    const cJSON *row = out && columns ? array->child : NULL;
    for (size_t i = 0; row && r->status == FGSF_OK; i++, row = row->next) {
        json_floats(r, row, columns, out + i * columns);
    }
    return out;
}

int32_t *json_actions(json_reader *r, const cJSON *object, const char *key, size_t count,
                      size_t repeat, int actions) {
    size_t given;
    const cJSON *array = json_array(r, object, key, &given);
    if (given != count) {
        json_refuse(r, array, NULL, "has %zu actions, expected %zu", given, count);
    }
    int32_t *out = json_allocate(r, count * repeat, sizeof(int32_t));
    const cJSON *item = out ? array->child : NULL;
    for (size_t i = 0; item && r->status == FGSF_OK; i++, item = item->next) {
        int32_t action = json_to_integer(r, item, 0, actions);
        for (size_t k = 0; k < repeat; k++) out[i * repeat + k] = action;
    }
    return out;
}
