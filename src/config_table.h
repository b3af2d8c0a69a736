// The tables that config.c reads: keys, and what presets and methods set.
#ifndef FGSF_CONFIG_TABLE_H
#define FGSF_CONFIG_TABLE_H

#include "fgsf/config.h"

#define FGSF_NUM_METHODS 7

// One row of the preset x method table: a value per method in the order of enum fgsf_method, NULL
// where the method does not use the key. `presets` holds the preset names the row is for.
typedef struct fgsf_method_row {
    const char *key, *presets;
    const char *value[FGSF_NUM_METHODS];
} fgsf_method_row;

extern const fgsf_key fgsf_key_table[];
extern const size_t fgsf_key_count;
extern const char *const fgsf_synonym_table[][2]; // another name, and the key
extern const size_t fgsf_synonym_count;
extern const fgsf_setting fgsf_preset_table[];
extern const size_t fgsf_preset_count;
extern const fgsf_method_row fgsf_method_table[];
extern const size_t fgsf_method_count;

// Returns the row of a key of a configuration, or NULL.
const fgsf_key *fgsf_key_find(const fgsf_config *cfg, const char *name);

// Returns what a key of an earlier version is called now, or NULL.
const char *fgsf_key_renamed(const char *name);

// Reports an unknown key with the nearest one as a suggestion.
fgsf_status fgsf_key_unknown(const fgsf_config *cfg, const char *name, const char *source);

// Sets a key from a number or a list that is already parsed (JSON), checking type and range.
fgsf_status fgsf_key_set_number(fgsf_config *cfg, const fgsf_key *key, double value,
                                const char *source);
fgsf_status fgsf_key_set_list(fgsf_config *cfg, const fgsf_key *key, const double *values, int n,
                              const char *source);
// Returns the bytes that a value takes, or 0 for a key that cannot be.
size_t fgsf_key_size(const fgsf_key *key);

fgsf_status fgsf_key_set_text(fgsf_config *cfg, const fgsf_key *key, const char *value,
                              const char *source);

// Whether a key says what is learned and how: all but the seed and the device do. Runs that differ in
// the others alone are of one family, and a run may be resumed on another device.
bool fgsf_key_matters(const fgsf_key *key);

// Writes a key's value as text (as JSON when `json`); returns the length without the terminator,
// which may exceed `size`, as snprintf does.
size_t fgsf_key_print(const fgsf_config *cfg, const fgsf_key *key, bool json, char *buffer,
                      size_t size);

// Checks one value that is in place against the table: for structs filled without fgsf_config_set.
fgsf_status fgsf_key_check(const fgsf_config *cfg, const fgsf_key *key);

struct cJSON;

// Parses JSON text, naming source and line when it is not valid.
fgsf_status fgsf_json_parse(const char *text, const char *source, struct cJSON **out);

// Whether a run.json must have the checksum of its content. Those of version 0.1 have none.
bool fgsf_json_is_sealed(const struct cJSON *run);

// Sets every key found in a parsed object; all or nothing. With `skip_env`, keys of an environment
// that is not registered are passed over.
fgsf_status fgsf_config_read_json(fgsf_config *cfg, const struct cJSON *object, const char *source,
                                  bool skip_env);

// Sets the environment's own parameters to their defaults.
fgsf_status fgsf_config_reset_env(fgsf_config *cfg);

struct fgsf_env_def;

// Finds a registered environment, or says which there are (env.c).
fgsf_status fgsf_env_require(const char *name, const struct fgsf_env_def **def);

#endif
