// Strict JSON: the text, then values of the expected type and range.
#include "json_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Messages ------------------------------------------------------------------------------------

// Goes down into a field; returns where to come back to with json_leave().
size_t json_enter(json_reader *r, const char *key) {
    size_t mark = r->length;
    int n = snprintf(r->path + mark, sizeof r->path - mark, "%s%s", mark ? "." : "", key);
    r->length = n > 0 && mark + (size_t)n < sizeof r->path ? mark + (size_t)n : mark;
    return mark;
}

size_t json_enter_item(json_reader *r, size_t index) {
    size_t mark = r->length;
    int n = snprintf(r->path + mark, sizeof r->path - mark, "[%zu]", index);
    r->length = n > 0 && mark + (size_t)n < sizeof r->path ? mark + (size_t)n : mark;
    return mark;
}

void json_leave(json_reader *r, size_t mark) {
    r->path[r->length = mark] = '\0';
}

fgsf_status json_refuse(const json_reader *r, const char *format, ...) {
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

const char *json_type_name(const cJSON *node) {
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
            if (depth > 0 && !frames[depth - 1].key) {
                frames[depth - 1].key = p;
            }
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
            while (key + 1 + length < where && key[1 + length] != '"' && length < 40) {
                length++;
            }
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
    return json_refuse(&r, "not valid JSON at line %d, column %d", line, column);
}

fgsf_status json_parse_text(const char *text, size_t length, cJSON **out) {
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

fgsf_status json_check_keys(json_reader *r, const cJSON *object, const char *const *known) {
    char name[48];
    if (!cJSON_IsObject(object)) {
        return json_refuse(r, "is %s, expected an object", json_type_name(object));
    }
    unsigned seen = 0;
    for (const cJSON *item = object->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string) != 0) {
            i++;
        }
        size_t mark = json_enter(r, printable(item->string, name));
        if (!known[i]) {
            return json_refuse(r, "unknown field");
        }
        if (seen & 1u << i) {
            return json_refuse(r, "given twice");
        }
        seen |= 1u << i;
        json_leave(r, mark);
    }
    return FGSF_OK;
}

const cJSON *json_find(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static fgsf_status read_real(json_reader *r, const cJSON *object, const char *key, double *out) {
    size_t mark = json_enter(r, key);
    const cJSON *node = json_find(object, key);
    if (!node) {
        return json_refuse(r, "missing");
    }
    if (!cJSON_IsNumber(node)) {
        return json_refuse(r, "is %s, expected a number", json_type_name(node));
    }
    if (!isfinite(node->valuedouble)) {
        return json_refuse(r, "is not a finite number");
    }
    *out = node->valuedouble;
    json_leave(r, mark);
    return FGSF_OK;
}

fgsf_status json_read_range(json_reader *r, const cJSON *object, const char *key, double min,
                            double max, bool open, double *out) {
    fgsf_status status = read_real(r, object, key, out);
    if (status == FGSF_OK && !(*out <= max && (open ? *out > min : *out >= min))) {
        json_enter(r, key);
        return json_refuse(r, "%.9g is not in %c%.9g, %.9g]", *out, open ? '(' : '[', min, max);
    }
    return status;
}

fgsf_status json_to_integer(const json_reader *r, const cJSON *node, double min, double end,
                            int *out) {
    if (!cJSON_IsNumber(node)) {
        return json_refuse(r, "is %s, expected an integer", json_type_name(node));
    }
    double value = node->valuedouble;
    if (!isfinite(value) || value != floor(value)) {
        return json_refuse(r, "%.9g is not an integer", value);
    }
    if (!(value >= min && value < end)) {
        return json_refuse(r, "%.12g is not in [%.12g, %.12g)", value, min, end);
    }
    *out = (int)value;
    return FGSF_OK;
}

fgsf_status json_read_integer(json_reader *r, const cJSON *object, const char *key, double min,
                              double end, int *out) {
    size_t mark = json_enter(r, key);
    const cJSON *node = json_find(object, key);
    fgsf_status status = node ? json_to_integer(r, node, min, end, out) : json_refuse(r, "missing");
    if (status == FGSF_OK) {
        json_leave(r, mark);
    }
    return status;
}

fgsf_status json_read_choice(json_reader *r, const cJSON *object, const char *key,
                             const char *const *choices, int *out) {
    char given[48];
    size_t mark = json_enter(r, key);
    const cJSON *node = json_find(object, key);
    if (!node) {
        return json_refuse(r, "missing");
    }
    if (!cJSON_IsString(node)) {
        return json_refuse(r, "is %s, expected a string", json_type_name(node));
    }
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], node->valuestring) == 0) {
            *out = i;
            json_leave(r, mark);
            return FGSF_OK;
        }
    }
    char list[96] = "";
    for (int i = 0; choices[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choices[i]);
    }
    return json_refuse(r, "'%s' is not one of %s", printable(node->valuestring, given), list);
}

fgsf_status json_enter_array(json_reader *r, const cJSON *object, const char *key,
                             const cJSON **node, size_t *count) {
    json_enter(r, key);
    *node = json_find(object, key);
    if (!*node) {
        return json_refuse(r, "missing");
    }
    if (!cJSON_IsArray(*node)) {
        return json_refuse(r, "is %s, expected an array", json_type_name(*node));
    }
    *count = 0;
    for (const cJSON *item = (*node)->child; item; item = item->next) {
        ++*count;
    }
    return FGSF_OK;
}

fgsf_status json_read_floats(json_reader *r, const cJSON *array, size_t count, float *out) {
    if (!cJSON_IsArray(array)) {
        return json_refuse(r, "is %s, expected an array", json_type_name(array));
    }
    size_t i = 0;
    for (const cJSON *item = array->child; item; item = item->next, i++) {
        if (i == count) {
            return json_refuse(r, "has more than the %zu numbers expected", count);
        }
        size_t mark = json_enter_item(r, i);
        if (!cJSON_IsNumber(item)) {
            return json_refuse(r, "is %s, expected a number", json_type_name(item));
        }
        out[i] = (float)item->valuedouble;
        if (!isfinite(out[i])) {
            return json_refuse(r, "%.9g is not a finite float", item->valuedouble);
        }
        json_leave(r, mark);
    }
    return i == count ? FGSF_OK : json_refuse(r, "has %zu numbers, expected %zu", i, count);
}

void *json_allocate(size_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

fgsf_status json_out_of_memory(void) {
    return fgsf_fail(FGSF_ERR_MEMORY, "no memory for the problem");
}

fgsf_status json_read_matrix(json_reader *r, const cJSON *object, const char *key, size_t rows,
                             size_t columns, float **out) {
    size_t mark = r->length, count = 0;
    const cJSON *array;
    fgsf_status status = json_enter_array(r, object, key, &array, &count);
    if (status == FGSF_OK && count != rows) {
        status =
            json_refuse(r, "has %zu %s, expected %zu", count, columns ? "rows" : "numbers", rows);
    }
    if (status != FGSF_OK) {
        return status;
    }
    *out = json_allocate(rows * (columns ? columns : 1), sizeof(float));
    if (!*out) {
        return json_out_of_memory();
    }
    if (!columns) {
        status = json_read_floats(r, array, rows, *out);
    }
    const cJSON *row = array->child;
    for (size_t i = 0; columns && i < rows && status == FGSF_OK; i++, row = row->next) {
        size_t outer = json_enter_item(r, i);
        status = json_read_floats(r, row, columns, *out + i * columns);
        if (status == FGSF_OK) {
            json_leave(r, outer);
        }
    }
    if (status == FGSF_OK) {
        json_leave(r, mark);
    }
    return status;
}

fgsf_status json_read_actions(json_reader *r, const cJSON *object, const char *key, size_t count,
                              int actions, int32_t **out) {
    size_t mark = r->length, given = 0;
    const cJSON *array;
    fgsf_status status = json_enter_array(r, object, key, &array, &given);
    if (status == FGSF_OK && given != count) {
        status = json_refuse(r, "has %zu actions, expected %zu", given, count);
    }
    if (status != FGSF_OK) {
        return status;
    }
    *out = json_allocate(count, sizeof(int32_t));
    if (!*out) {
        return json_out_of_memory();
    }
    size_t i = 0;
    for (const cJSON *item = array->child; item; item = item->next, i++) {
        size_t outer = json_enter_item(r, i);
        int action = 0;
        status = json_to_integer(r, item, 0, actions, &action);
        if (status != FGSF_OK) {
            return status;
        }
        (*out)[i] = action;
        json_leave(r, outer);
    }
    json_leave(r, mark);
    return FGSF_OK;
}
