// One row of a key table: the name of a setting, the values it may have, and where it is stored.
//
//     typedef struct windy_params { double wind; } windy_params;
//     static const fgsf_key windy_keys[] = {
//         {"env.wind", FGSF_KEY_REAL, offsetof(windy_params, wind), "0.1", 0, 1, NULL,
//          "Probability that the wind blows."},
//     };
//
// The configuration (fgsf/config.h) has such a table, and every environment brings its own
// (fgsf/env.h). Validation, --list-keys, --print-config, run.json and docs/config.md come from them.
#ifndef FGSF_KEY_H
#define FGSF_KEY_H

#include <stddef.h>

#include "fgsf/export.h"

FGSF_BEGIN_DECLS

#define FGSF_TEXT_SIZE 1024 // the longest text, terminator included

// How a value is stored.
typedef enum fgsf_key_type {
    FGSF_KEY_INT,      // int64_t
    FGSF_KEY_REAL,     // double
    FGSF_KEY_BOOL,     // bool
    FGSF_KEY_CHOICE,   // an enum: the place of the word in `choices`
    FGSF_KEY_INT_LIST, // an int, how many, and FGSF_MAX_HIDDEN ints
    FGSF_KEY_TEXT,     // char[max]
} fgsf_key_type;

typedef struct fgsf_key {
    const char *name; // "env.wind"
    fgsf_key_type type;
    size_t offset;        // into the struct that the table is for
    const char *fallback; // the default, as text
    double min, max;      // range of INT and REAL; of TEXT, max is the size of the array
    const char *choices;  // "a|b|c" of CHOICE; of INT, a word that stands for 0
    const char *doc;      // one sentence
} fgsf_key;

// One value that an environment or a preset sets; a NULL preset matches every one.
typedef struct fgsf_setting {
    const char *preset, *key, *value;
} fgsf_setting;

FGSF_END_DECLS
#endif
