// Reads JSON strictly: every value is checked, and a message names the field that is wrong.
//
//     json_reader r = {.root = root};
//     double rate = 1e-3;
//     if (json_find(root, "rate")) json_real(&r, root, "rate", 0.0, 1.0, false, &rate);
//     int units = json_integer(&r, root, "units", 1, 4097);
//     if (r.status != FGSF_OK) return r.status;            // "units: 0 is not in [1, 4097)"
//
// The reader keeps its first failure. Every call after it does nothing, so that a caller may read all
// its fields and ask once. cJSON accepts more than JSON is (numbers like 01, text behind the end);
// this refuses it.
#ifndef FGSF_JSON_READER_H
#define FGSF_JSON_READER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

typedef struct json_reader {
    const cJSON *root;  // in which a value is looked for, to say where it stands: "batches[0].a[3]"
    fgsf_status status; // the first failure
} json_reader;

// Parses text that must be JSON and nothing else; a message says where it is not.
fgsf_status json_parse_text(const char *text, size_t length, cJSON **out);

// Fails with a message that begins with where `node` stands, or its field `key` unless that is NULL.
void json_refuse(json_reader *r, const cJSON *node, const char *key, const char *format, ...)
    FGSF_PRINTF(4, 5);

// Refuses what is not an object, and keys that are unknown or given twice. `known` ends with NULL.
void json_check_keys(json_reader *r, const cJSON *object, const char *const *known);

// Returns a member, or NULL where there is none; the second refuses one that is missing or of another
// type than `is` asks for.
const cJSON *json_find(const cJSON *object, const char *key);
const cJSON *json_need(json_reader *r, const cJSON *object, const char *key,
                       cJSON_bool (*is)(const cJSON *), const char *expected);

// Reads a real in [min, max], or (min, max] where `open`.
void json_real(json_reader *r, const cJSON *object, const char *key, double min, double max,
               bool open, double *out);

// Reads an integer in [min, end): of a node, or of a member.
int json_to_integer(json_reader *r, const cJSON *node, double min, double end);
int json_integer(json_reader *r, const cJSON *object, const char *key, double min, double end);

// Reads one of `choices` (ending with NULL) as its index.
int json_choice(json_reader *r, const cJSON *object, const char *key, const char *const *choices);

// Returns a member that must be an array and counts its items; NULL after a failure.
const cJSON *json_array(json_reader *r, const cJSON *object, const char *key, size_t *count);

// Reads an array of exactly `count` numbers that a float can hold; without `out` checks the count.
void json_floats(json_reader *r, const cJSON *array, size_t count, float *out);

// As calloc, but never of size zero; fails for want of memory.
void *json_allocate(json_reader *r, size_t count, size_t size);

// Reads `rows` rows of `columns` floats, or a flat array of `rows` when columns is 0; freed with free().
float *json_matrix(json_reader *r, const cJSON *object, const char *key, size_t rows,
                   size_t columns);

// Reads `count` integers in [0, actions), each repeated `repeat` times; freed with free().
int32_t *json_actions(json_reader *r, const cJSON *object, const char *key, size_t count,
                      size_t repeat, int actions);

#endif
