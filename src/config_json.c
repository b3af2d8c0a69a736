// Configurations as JSON: reading flat or nested objects, writing the one canonical form, hashing it.
#include "fgsf/config.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "fgsf/env.h"
#include "io.h"
#include "require.h"

#define MAX_JSON ((size_t)1 << 20)
#define MAX_DEPTH 4
#define MAX_PATH 128

// What one parse carries: the configuration being filled and which keys were already given.
typedef struct reader {
    fgsf_config *cfg;
    const char *source;
    bool *seen;    // one per key
    bool skip_env; // pass over keys of an environment that is not registered
    bool is_run;   // of a run.json, maybe an old one
} reader;

// The place of a key among those of the configuration.
static size_t index_of(const fgsf_config *cfg, const fgsf_key *key) {
    size_t i = 0;
    while (fgsf_config_key_at(cfg, i) != key) i++;
    return i;
}

static fgsf_status wrong_type(const reader *r, const char *path, const char *expected) {
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s: expected %s", r->source, path, expected);
}

static fgsf_status read_list(const reader *r, const fgsf_key *key, const cJSON *item) {
    double numbers[FGSF_MAX_HIDDEN + 1];
    int n = 0;
    if (!cJSON_IsArray(item)) return wrong_type(r, key->name, "a list of integers");
    for (const cJSON *e = item->child; e && n <= FGSF_MAX_HIDDEN; e = e->next) {
        if (!cJSON_IsNumber(e)) return wrong_type(r, key->name, "a list of integers");
        numbers[n++] = e->valuedouble;
    }
    return fgsf_key_set_list(r->cfg, key, numbers, n, r->source);
}

static fgsf_status read_value(const reader *r, const fgsf_key *key, const cJSON *item) {
    switch (key->type) {
    case FGSF_KEY_INT:
    case FGSF_KEY_REAL:
        if (cJSON_IsNumber(item)) {
            return fgsf_key_set_number(r->cfg, key, item->valuedouble, r->source);
        }
        if (key->choices && cJSON_IsString(item)) {
            return fgsf_key_set_text(r->cfg, key, item->valuestring, r->source);
        }
        return wrong_type(r, key->name, "a number");
    case FGSF_KEY_BOOL:
        if (!cJSON_IsBool(item)) return wrong_type(r, key->name, "true or false");
        return fgsf_key_set_text(r->cfg, key, cJSON_IsTrue(item) ? "true" : "false", r->source);
    case FGSF_KEY_CHOICE:
    case FGSF_KEY_TEXT:
        if (!cJSON_IsString(item)) return wrong_type(r, key->name, "a text in quotes");
        return fgsf_key_set_text(r->cfg, key, item->valuestring, r->source);
    case FGSF_KEY_INT_LIST:
        return read_list(r, key, item);
    }
    return FGSF_ERR_INVALID;
}

// Reads a key of a run that version 0.1 wrote. It recorded the keys of every environment, and some had
// other names: those of DQN count in its runs only, and a target period of 0 meant the other one.
static fgsf_status read_old(const reader *r, const char *path, const cJSON *item) {
    const char *now = fgsf_key_renamed(path);
    bool is_dqn = r->cfg->method == FGSF_DQN || r->cfg->method == FGSF_FG_DQN;
    bool unset = strcmp(path, "dqn.target_period") == 0 && item->valuedouble == 0.0;
    if (strncmp(path, "env.", 4) == 0) return FGSF_OK;
    if (!now) return fgsf_key_unknown(r->cfg, path, r->source);
    if (unset || (strncmp(path, "dqn.", 4) == 0 && !is_dqn)) return FGSF_OK;
    if (strcmp(path, "sf.representation") == 0 && is_dqn) return FGSF_OK;
    if (strcmp(path, "sf.grad_mix") != 0) return read_value(r, fgsf_key_find(r->cfg, now), item);
    if (!cJSON_IsNumber(item)) return wrong_type(r, path, "a number");
    double eta = item->valuedouble;
    const char *kind = eta == 0.0 ? "semi" : eta == 1.0 ? "full" : "mix";
    fgsf_status status = fgsf_config_set(r->cfg, "gradient.kind", kind, r->source);
    const fgsf_key *key = fgsf_key_find(r->cfg, "gradient.eta");
    if (status != FGSF_OK || eta == 0.0) return status;
    return fgsf_key_set_number(r->cfg, key, eta, r->source);
}

// Reads the members of an object whose keys start with `prefix`.
static fgsf_status read_object(const reader *r, const cJSON *object, const char *prefix,
                               int depth) {
    for (const cJSON *item = object->child; item; item = item->next) {
        char path[MAX_PATH];
        int n = snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", item->string);
        const fgsf_key *key = fgsf_key_find(r->cfg, path);
        fgsf_status status;
        if (key) {
            bool *seen = &r->seen[index_of(r->cfg, key)];
            if (*seen) return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s is given twice", r->source, path);
            *seen = true;
            status = read_value(r, key, item);
        } else if (cJSON_IsObject(item) && (depth >= MAX_DEPTH || n >= MAX_PATH)) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%.80s...' is nested too deep", r->source, path);
        } else if (cJSON_IsObject(item) && item->child) {
            status = read_object(r, item, path, depth + 1);
        } else if (r->skip_env && strncmp(path, "env.", 4) == 0) {
            status = FGSF_OK;
        } else if (r->is_run) {
            status = read_old(r, path, item);
        } else {
            status = fgsf_key_unknown(r->cfg, path, r->source);
        }
        if (status != FGSF_OK) return status;
    }
    return FGSF_OK;
}

static fgsf_status syntax_error(const char *text, const char *where, const char *source) {
    int line = 1;
    for (const char *c = text; where && c < where && *c; c++) line += *c == '\n';
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: line %d: not valid JSON", source, line);
}

// Reads the environment's name first, wherever it is: it decides which keys exist.
static fgsf_status read_env_name(fgsf_config *cfg, const cJSON *object, const char *source) {
    const cJSON *group = cJSON_GetObjectItemCaseSensitive(object, "env");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "env.name");
    if (!name) name = cJSON_GetObjectItemCaseSensitive(group, "name");
    return cJSON_IsString(name) ? fgsf_config_set(cfg, "env.name", name->valuestring, source)
                                : FGSF_OK;
}

static fgsf_status read_config(fgsf_config *cfg, const cJSON *object, const char *source,
                               bool skip_env, bool is_run) {
    if (!cJSON_IsObject(object)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: expected an object of keys and values", source);
    }
    fgsf_config copy = *cfg;
    FGSF_TRY(read_env_name(&copy, object, source));
    size_t count = index_of(&copy, NULL);
    reader r = {&copy, source, calloc(count, sizeof(bool)), false, is_run};
    if (!r.seen) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    r.skip_env = skip_env && !fgsf_env_def_find(copy.env.name);
    fgsf_status status = read_object(&r, object, "", 1);
    free(r.seen);
    if (status == FGSF_OK) *cfg = copy;
    return status;
}

fgsf_status fgsf_config_read_json(fgsf_config *cfg, const cJSON *object, const char *source,
                                  bool skip_env) {
    return read_config(cfg, object, source, skip_env, false);
}

fgsf_status fgsf_json_parse(const char *text, const char *source, cJSON **out) {
    // cJSON would end the text there and so read another key than was written.
    const char *zero = strstr(text, "\\u0000");
    if (zero) return syntax_error(text, zero, source);
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, strlen(text) + 1, &end, 1);
    if (!root) return syntax_error(text, end, source);
    *out = root;
    return FGSF_OK;
}

bool fgsf_json_is_sealed(const cJSON *run) {
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(run, "fgsf_version");
    bool old = cJSON_IsString(version) && strncmp(version->valuestring, "0.1.", 4) == 0;
    return cJSON_HasObjectItem(run, "checksum") || (cJSON_HasObjectItem(run, "files") && !old);
}

fgsf_status fgsf_config_parse(fgsf_config *cfg, const char *text, const char *source) {
    FGSF_REQUIRE(cfg && text);
    if (!source) source = "config";
    size_t length = strlen(text);
    if (length > MAX_JSON) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: %zu bytes is too large for a configuration", source,
                         length);
    }
    cJSON *root = NULL;
    fgsf_status status = fgsf_json_parse(text, source, &root);
    // A run.json holds the run's configuration, among other things.
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(root, "schema");
    bool is_run = cJSON_IsString(run) && strncmp(run->valuestring, "fgsf.run/", 9) == 0;
    const cJSON *keys = is_run ? cJSON_GetObjectItemCaseSensitive(root, "config") : root;
    if (is_run && fgsf_json_is_sealed(root)) status = fgsf_io_check_seal(text, source);
    if (status == FGSF_OK) status = read_config(cfg, keys, source, false, is_run);
    cJSON_Delete(root);
    return status;
}

fgsf_status fgsf_config_load(fgsf_config *cfg, const char *path) {
    FGSF_REQUIRE(cfg && path);
    char *text = NULL;
    fgsf_status status = fgsf_io_read(path, MAX_JSON, &text, NULL);
    if (status == FGSF_OK) status = fgsf_config_parse(cfg, text, path);
    free(text);
    return status;
}

#define MAX_MEMBER (2 * FGSF_TEXT_SIZE + 64)

// Writes one member of the canonical form, after a comma unless it is the first.
static size_t print_member(const fgsf_config *cfg, const fgsf_key *key, bool first,
                           char text[MAX_MEMBER]) {
    int used = snprintf(text, MAX_MEMBER, "%s\n  \"%s\": ", first ? "{" : ",", key->name);
    return (size_t)used + fgsf_key_print(cfg, key, true, text + used, (size_t)(MAX_MEMBER - used));
}

char *fgsf_config_to_json(const fgsf_config *cfg) {
    char member[MAX_MEMBER];
    const fgsf_key *key;
    size_t size = 4, used = 0;
    if (!cfg) return NULL;
    for (size_t i = 0; (key = fgsf_config_key_at(cfg, i)); i++) {
        size += print_member(cfg, key, i == 0, member);
    }
    char *text = malloc(size);
    for (size_t i = 0; text && (key = fgsf_config_key_at(cfg, i)); i++) {
        size_t n = print_member(cfg, key, i == 0, member);
        memcpy(text + used, member, n);
        used += n;
    }
    if (text) memcpy(text + used, "\n}\n", 4);
    return text;
}

bool fgsf_key_matters(const fgsf_key *key) {
    return strcmp(key->name, "seed") != 0 && strncmp(key->name, "device.", 7) != 0;
}

// FNV-1a, member by member, so that hashing needs no memory and cannot fail.
uint64_t fgsf_config_hash(const fgsf_config *cfg) {
    uint64_t hash = 14695981039346656037u;
    const fgsf_key *key;
    for (size_t i = 0; cfg && (key = fgsf_config_key_at(cfg, i)); i++) {
        char member[MAX_MEMBER];
        if (!fgsf_key_matters(key)) continue;
        size_t n = print_member(cfg, key, false, member);
        for (size_t k = 0; k < n; k++) hash = (hash ^ (unsigned char)member[k]) * 1099511628211u;
    }
    return hash;
}
