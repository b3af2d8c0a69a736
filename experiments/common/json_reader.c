// Strict JSON: the text, then values of the expected type and range.
#include "json_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Messages ------------------------------------------------------------------------------------

static size_t enter(json_reader *r, const char *format, ...) {
    size_t mark = r->length;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(r->path + mark, sizeof r->path - mark, format, args);
    va_end(args);
    r->length = n > 0 && mark + (size_t)n < sizeof r->path ? mark + (size_t)n : mark;
    return mark;
}

size_t json_enter(json_reader *r, const char *key) {
    return enter(r, "%s%s", r->length ? "." : "", key);
}

size_t json_enter_item(json_reader *r, size_t index) {
    return enter(r, "[%zu]", index);
}

void json_leave(json_reader *r, size_t mark) {
    r->path[r->length = mark] = '\0';
}

static void refuse(json_reader *r, const char *format, va_list args) {
    char message[512];
    if (r->status != FGSF_OK) return;
    vsnprintf(message, sizeof message, format, args);
    r->status = fgsf_fail(FGSF_ERR_FORMAT, "%s%s%s", r->path, r->length ? ": " : "", message);
}

void json_refuse(json_reader *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    refuse(r, format, args);
    va_end(args);
}

void json_refuse_field(json_reader *r, const char *key, const char *format, ...) {
    size_t mark = json_enter(r, key);
    va_list args;
    va_start(args, format);
    refuse(r, format, args);
    va_end(args);
    json_leave(r, mark);
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

// Whether `node` is of the type that `is` asks for; refuses it where not.
static bool expect(json_reader *r, const cJSON *node, cJSON_bool (*is)(const cJSON *),
                   const char *expected) {
    static const struct {
        cJSON_bool (*is)(const cJSON *);
        const char *name;
    } types[] = {{cJSON_IsNumber, "a number"}, {cJSON_IsString, "a string"},
                 {cJSON_IsArray, "an array"},  {cJSON_IsObject, "an object"},
                 {cJSON_IsBool, "a boolean"},  {cJSON_IsNull, "null"}};
    if (!node) {
        json_refuse(r, "missing");
    } else if (!is(node)) {
        size_t i = 0;
        while (i < sizeof types / sizeof *types - 1 && !types[i].is(node)) i++;
        json_refuse(r, "is %s, expected %s", types[i].name, expected);
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
static void locate(json_reader *r, const char *text, const char *where) {
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
            if (depth > 0 && !frames[depth - 1].key) frames[depth - 1].key = p;
            p = end ? end - 1 : where - 1;
        }
    }
    for (size_t i = 0; i < depth; i++) {
        const char *key = frames[i].key;
        if (frames[i].array) {
            json_enter_item(r, frames[i].index);
        } else if (key) {
            char name[48] = "";
            size_t length = 0;
            while (key + 1 + length < where && key[1 + length] != '"' && length < 40) length++;
            memcpy(name, key + 1, length);
            char safe[48];
            json_enter(r, printable(name, safe));
        }
    }
}

static fgsf_status refuse_text(const char *text, const char *where) {
    json_reader r = {0};
    int line = 1, column = 1;
    for (const char *p = text; p < where; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    locate(&r, text, where);
    json_refuse(&r, "not valid JSON at line %d, column %d", line, column);
    return r.status;
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

void json_check_keys(json_reader *r, const cJSON *object, const char *const *known) {
    if (!expect(r, object, cJSON_IsObject, "an object")) return;
    unsigned seen = 0;
    for (const cJSON *item = object->child; item; item = item->next) {
        char name[48];
        int i = 0;
        while (known[i] && strcmp(known[i], item->string) != 0) i++;
        if (!known[i] || seen & 1u << i) {
            json_refuse_field(r, printable(item->string, name),
                              known[i] ? "given twice" : "unknown field");
        }
        if (known[i]) seen |= 1u << i;
    }
}

void json_real(json_reader *r, const cJSON *object, const char *key, double min, double max,
               bool open, double *out) {
    size_t mark = json_enter(r, key);
    const cJSON *node = json_find(object, key);
    if (expect(r, node, cJSON_IsNumber, "a number")) {
        double value = node->valuedouble;
        if (!isfinite(value)) {
            json_refuse(r, "is not a finite number");
        } else if (!(value <= max && (open ? value > min : value >= min))) {
            json_refuse(r, "%.9g is not in %c%.9g, %.9g]", value, open ? '(' : '[', min, max);
        } else {
            *out = value;
        }
    }
    json_leave(r, mark);
}

int json_to_integer(json_reader *r, const cJSON *node, double min, double end) {
    if (!expect(r, node, cJSON_IsNumber, "an integer")) return 0;
    double value = node->valuedouble;
    if (!isfinite(value) || value != floor(value)) {
        json_refuse(r, "%.9g is not an integer", value);
    } else if (!(value >= min && value < end)) {
        json_refuse(r, "%.12g is not in [%.12g, %.12g)", value, min, end);
    }
    return r->status == FGSF_OK ? (int)value : 0;
}

int json_integer(json_reader *r, const cJSON *object, const char *key, double min, double end) {
    size_t mark = json_enter(r, key);
    int value = json_to_integer(r, json_find(object, key), min, end);
    json_leave(r, mark);
    return value;
}

int json_choice(json_reader *r, const cJSON *object, const char *key, const char *const *choices) {
    size_t mark = json_enter(r, key);
    const cJSON *node = json_find(object, key);
    int found = 0;
    if (expect(r, node, cJSON_IsString, "a string")) {
        char given[48], list[96] = "";
        while (choices[found] && strcmp(choices[found], node->valuestring) != 0) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", choices[found++]);
        }
        if (!choices[found]) {
            json_refuse(r, "'%s' is not one of %s", printable(node->valuestring, given), list);
        }
    }
    json_leave(r, mark);
    return found;
}

const cJSON *json_array(json_reader *r, const cJSON *object, const char *key, size_t *count) {
    json_enter(r, key);
    const cJSON *node = json_find(object, key);
    *count = 0;
    if (!expect(r, node, cJSON_IsArray, "an array")) return NULL;
    for (const cJSON *item = node->child; item; item = item->next) ++*count;
    return node;
}

void json_floats(json_reader *r, const cJSON *array, size_t count, float *out) {
    if (!expect(r, array, cJSON_IsArray, "an array")) return;
    size_t i = 0;
    for (const cJSON *item = array->child; item && r->status == FGSF_OK; item = item->next, i++) {
        if (out && i == count) {
            json_refuse(r, "has more than the %zu numbers expected", count);
        } else if (out) {
            size_t mark = json_enter_item(r, i);
            if (expect(r, item, cJSON_IsNumber, "a number")) {
                out[i] = (float)item->valuedouble;
                if (!isfinite(out[i])) {
                    json_refuse(r, "%.9g is not a finite float", item->valuedouble);
                }
            }
            json_leave(r, mark);
        }
    }
    if (i != count) json_refuse(r, "has %zu numbers, expected %zu", i, count);
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
    size_t mark = r->length, count;
    const cJSON *array = json_array(r, object, key, &count);
    if (count != rows) {
        json_refuse(r, "has %zu %s, expected %zu", count, columns ? "rows" : "numbers", rows);
    }
    float *out = json_allocate(r, rows * (columns ? columns : 1), sizeof(float));
    if (out && !columns) json_floats(r, array, rows, out);
    const cJSON *row = out ? array->child : NULL;
    for (size_t i = 0; columns && row && r->status == FGSF_OK; i++, row = row->next) {
        size_t outer = json_enter_item(r, i);
        json_floats(r, row, columns, out + i * columns);
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return out;
}

int32_t *json_actions(json_reader *r, const cJSON *object, const char *key, size_t count,
                      size_t repeat, int actions) {
    size_t mark = r->length, given;
    const cJSON *array = json_array(r, object, key, &given);
    if (given != count) json_refuse(r, "has %zu actions, expected %zu", given, count);
    int32_t *out = json_allocate(r, count * repeat, sizeof(int32_t));
    const cJSON *item = out ? array->child : NULL;
    for (size_t i = 0; item && r->status == FGSF_OK; i++, item = item->next) {
        size_t outer = json_enter_item(r, i);
        int32_t action = json_to_integer(r, item, 0, actions);
        for (size_t k = 0; k < repeat; k++) out[i * repeat + k] = action;
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return out;
}
