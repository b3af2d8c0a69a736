// Reads JSON strictly: every value is checked, and a message names the field that is wrong.
//
//     json_reader r = {0};
//     size_t mark = json_enter(&r, "batches");
//     status = json_refuse(&r, "is missing");              // "batches: is missing"
//     json_leave(&r, mark);
//
// cJSON accepts more than JSON is (numbers like 01, text behind the end); this refuses it.
#ifndef FGSF_JSON_READER_H
#define FGSF_JSON_READER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

// Where the reader stands, for messages: "batches[0].a_next[3]".
typedef struct json_reader {
    char path[160];
    size_t length;
} json_reader;

// Goes down into a field; returns where to come back to with json_leave().
size_t json_enter(json_reader *r, const char *key);

size_t json_enter_item(json_reader *r, size_t index);

void json_leave(json_reader *r, size_t mark);

// Fails with a message that begins with where the reader stands.
fgsf_status json_refuse(const json_reader *r, const char *format, ...) FGSF_PRINTF(2, 3);

// Returns "a number", "an array" and so on.
const char *json_type_name(const cJSON *node);

// Parses text that must be JSON and nothing else; a message says where it is not.
fgsf_status json_parse_text(const char *text, size_t length, cJSON **out);

// Refuses keys that are unknown or given twice. `known` ends with NULL.
fgsf_status json_check_keys(json_reader *r, const cJSON *object, const char *const *known);

// Returns a member, or NULL where there is none.
const cJSON *json_find(const cJSON *object, const char *key);

// Reads a real in [min, max], or (min, max] where `open`.
fgsf_status json_read_range(json_reader *r, const cJSON *object, const char *key, double min,
                            double max, bool open, double *out);

// Reads an integer in [min, end).
fgsf_status json_to_integer(const json_reader *r, const cJSON *node, double min, double end,
                            int *out);

fgsf_status json_read_integer(json_reader *r, const cJSON *object, const char *key, double min,
                              double end, int *out);

// Reads one of `choices` (ending with NULL) as its index.
fgsf_status json_read_choice(json_reader *r, const cJSON *object, const char *key,
                             const char *const *choices, int *out);

// Enters an array and counts its items; `node` is then the array and the caller leaves it.
fgsf_status json_enter_array(json_reader *r, const cJSON *object, const char *key,
                             const cJSON **node, size_t *count);

// Reads an array of exactly `count` numbers that a float can hold.
fgsf_status json_read_floats(json_reader *r, const cJSON *array, size_t count, float *out);

// As calloc, but never of size zero.
void *json_allocate(size_t count, size_t size);

// Fails for want of memory.
fgsf_status json_out_of_memory(void);

// Reads `rows` rows of `columns` floats, or a flat array of `rows` when columns is 0.
fgsf_status json_read_matrix(json_reader *r, const cJSON *object, const char *key, size_t rows,
                             size_t columns, float **out);

// Reads `count` integers in [0, actions).
fgsf_status json_read_actions(json_reader *r, const cJSON *object, const char *key, size_t count,
                              int actions, int32_t **out);

#endif
