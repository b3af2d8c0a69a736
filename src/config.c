// Configurations: resolved from the tables, set and read by key.
//
// What a key may hold is in config_value.c, what contradicts what in config_check.c, JSON in
// config_json.c, and the data behind all of it in config_table.c.
#include "fgsf/config.h"

#include <stdio.h>
#include <string.h>

#include "config_table.h"
#include "fgsf/env.h"

const fgsf_key *fgsf_config_keys(size_t *count) {
    if (count) *count = fgsf_key_count;
    return fgsf_key_table;
}

fgsf_status fgsf_config_set(fgsf_config *cfg, const char *key, const char *value,
                            const char *source) {
    if (!cfg || !key || !value) {
        return fgsf_fail(FGSF_ERR_INVALID, "fgsf_config_set: an argument is NULL");
    }
    const fgsf_key *row = fgsf_key_find(key);
    return row ? fgsf_key_set_text(cfg, row, value, source) : fgsf_key_unknown(key, source);
}

fgsf_status fgsf_config_get(const fgsf_config *cfg, const char *key, char *buffer, size_t size) {
    if (!cfg || !key || !buffer) {
        return fgsf_fail(FGSF_ERR_INVALID, "fgsf_config_get: an argument is NULL");
    }
    const fgsf_key *row = fgsf_key_find(key);
    if (!row) return fgsf_key_unknown(key, NULL);
    char text[FGSF_TEXT_SIZE];
    size_t length = fgsf_key_print(cfg, row, false, text, sizeof text);
    if (length >= size) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: its value needs %zu bytes, the buffer has %zu", key,
                         length + 1, size);
    }
    memcpy(buffer, text, length + 1);
    return FGSF_OK;
}

// Applies the settings of a table that are for every method, or for this preset.
static fgsf_status apply_settings(fgsf_config *cfg, const fgsf_setting *settings, size_t count,
                                  const char *preset, const char *source) {
    for (size_t i = 0; i < count; i++) {
        const fgsf_setting *s = &settings[i];
        if (s->preset && strcmp(s->preset, preset) != 0) continue;
        fgsf_status status = fgsf_config_set(cfg, s->key, s->value, source);
        if (status != FGSF_OK) return status;
    }
    return FGSF_OK;
}

// Preset names are whole words of a row's list and none is part of another, so strstr is enough.
static fgsf_status apply_method(fgsf_config *cfg, const char *preset) {
    for (size_t i = 0; i < fgsf_method_count; i++) {
        const fgsf_method_row *row = &fgsf_method_table[i];
        const char *value = row->value[cfg->method];
        if (!value || !strstr(row->presets, preset)) continue;
        fgsf_status status = fgsf_config_set(cfg, row->key, value, "the method table");
        if (status != FGSF_OK) return status;
    }
    return FGSF_OK;
}

static fgsf_status unknown_environment(const char *name) {
    char known[256] = "";
    for (int i = 0; fgsf_env_def_at(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 fgsf_env_def_at(i)->name);
    }
    return fgsf_fail(FGSF_ERR_INVALID, "env.name: no environment is called '%.80s'; there are %s",
                     name, known);
}

// Fills in the defaults and the three names that decide every other value.
static fgsf_status start(fgsf_config *cfg, const char *env, const char *preset,
                         const char *method) {
    memset(cfg, 0, sizeof *cfg);
    fgsf_status status = FGSF_OK;
    for (size_t i = 0; i < fgsf_key_count && status == FGSF_OK; i++) {
        const fgsf_key *key = &fgsf_key_table[i];
        status = fgsf_key_set_text(cfg, key, key->fallback, "the key table");
    }
    if (status == FGSF_OK) status = fgsf_config_set(cfg, "preset", preset, NULL);
    if (status == FGSF_OK) status = fgsf_config_set(cfg, "method", method, NULL);
    if (status == FGSF_OK) status = fgsf_config_set(cfg, "env.name", env, NULL);
    return status;
}

fgsf_status fgsf_config_resolve(const char *env, const char *preset, const char *method,
                                fgsf_config *out) {
    if (!preset || !method || !out) {
        return fgsf_fail(FGSF_ERR_INVALID, "fgsf_config_resolve: an argument is NULL");
    }
    const fgsf_env_def *def = env && *env ? fgsf_env_def_find(env) : NULL;
    if (env && *env && !def) return unknown_environment(env);
    fgsf_config cfg;
    fgsf_status status = start(&cfg, env ? env : "", preset, method);
    if (status == FGSF_OK && def) {
        status = apply_settings(&cfg, def->settings, (size_t)def->num_settings, preset, def->name);
    }
    if (status == FGSF_OK) {
        status =
            apply_settings(&cfg, fgsf_preset_table, fgsf_preset_count, preset, "the preset table");
    }
    if (status == FGSF_OK) status = apply_method(&cfg, preset);
    if (status == FGSF_OK) *out = cfg;
    return status;
}

bool fgsf_config_is_dqn(const fgsf_config *cfg) {
    return cfg->method == FGSF_DQN || cfg->method == FGSF_FG_DQN;
}
