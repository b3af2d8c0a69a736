// Configurations: resolved from the tables, set and read by key.
//
// What a key may hold is in config_value.c, what contradicts what in config_check.c, JSON in
// config_json.c, and the data behind all of it in config_table.c.
#include "fgsf/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "fgsf/env.h"
#include "require.h"

const fgsf_key *fgsf_config_keys(size_t *count) {
    if (count) *count = fgsf_key_count;
    return fgsf_key_table;
}

const fgsf_key *fgsf_config_key_at(const fgsf_config *cfg, size_t i) {
    if (i < fgsf_key_count) return &fgsf_key_table[i];
    const fgsf_env_def *def = fgsf_env_def_find(cfg->env.name);
    i -= fgsf_key_count;
    return def && i < (size_t)def->num_keys ? &def->keys[i] : NULL;
}

fgsf_status fgsf_config_reset_env(fgsf_config *cfg) {
    const fgsf_env_def *def = fgsf_env_def_find(cfg->env.name);
    memset(&cfg->env_params, 0, sizeof cfg->env_params);
    for (int k = 0; def && k < def->num_keys; k++) {
        FGSF_TRY(fgsf_key_set_text(cfg, &def->keys[k], def->keys[k].fallback, def->name));
    }
    return FGSF_OK;
}

fgsf_status fgsf_config_set(fgsf_config *cfg, const char *key, const char *value,
                            const char *source) {
    FGSF_REQUIRE(cfg && key && value);
    const fgsf_key *row = fgsf_key_find(cfg, key);
    if (!row) return fgsf_key_unknown(cfg, key, source);
    char before[FGSF_NAME_SIZE];
    memcpy(before, cfg->env.name, sizeof before);
    fgsf_status status = fgsf_key_set_text(cfg, row, value, source);
    bool other = status == FGSF_OK && strcmp(before, cfg->env.name) != 0;
    return other ? fgsf_config_reset_env(cfg) : status;
}

fgsf_status fgsf_config_get(const fgsf_config *cfg, const char *key, char *buffer, size_t size) {
    FGSF_REQUIRE(cfg && key && buffer);
    const fgsf_key *row = fgsf_key_find(cfg, key);
    if (!row) return fgsf_key_unknown(cfg, key, NULL);
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
        FGSF_TRY(fgsf_config_set(cfg, s->key, s->value, source));
    }
    return FGSF_OK;
}

// Preset names are whole words of a row's list and none is part of another, so strstr is enough.
static fgsf_status apply_method(fgsf_config *cfg, const char *preset) {
    bool corrected = cfg->method == FGSF_CORRECTED_DQN || cfg->method == FGSF_CORRECTED_SFRQL;
    enum fgsf_method column = cfg->method == FGSF_CORRECTED_DQN     ? FGSF_FG_DQN
                              : cfg->method == FGSF_CORRECTED_SFRQL ? FGSF_FG_SFRQL
                                                                    : cfg->method;
    for (size_t i = 0; i < fgsf_method_count; i++) {
        const fgsf_method_row *row = &fgsf_method_table[i];
        const char *value = row->value[column];
        if (!value || !strstr(row->presets, preset)) continue;
        FGSF_TRY(fgsf_config_set(cfg, row->key, value, "the method table"));
    }
    if (corrected) cfg->learner.gradient.kind = FGSF_CORRECTED;
    return FGSF_OK;
}

// Fills in the defaults and the three names that decide every other value.
static fgsf_status start(fgsf_config *cfg, const char *env, const char *preset,
                         const char *method) {
    memset(cfg, 0, sizeof *cfg);
    for (size_t i = 0; i < fgsf_key_count; i++) {
        const fgsf_key *key = &fgsf_key_table[i];
        FGSF_TRY(fgsf_key_set_text(cfg, key, key->fallback, "the key table"));
    }
    FGSF_TRY(fgsf_config_set(cfg, "preset", preset, NULL));
    FGSF_TRY(fgsf_config_set(cfg, "method", method, NULL));
    return fgsf_config_set(cfg, "env.name", env, NULL);
}

fgsf_status fgsf_config_resolve(const char *env, const char *preset, const char *method,
                                fgsf_config *out) {
    FGSF_REQUIRE(preset && method && out);
    const fgsf_env_def *def = NULL;
    fgsf_config cfg;
    if (env && *env) FGSF_TRY(fgsf_env_require(env, &def));
    FGSF_TRY(start(&cfg, env ? env : "", preset, method));
    if (def) {
        FGSF_TRY(apply_settings(&cfg, def->settings, (size_t)def->num_settings, preset, def->name));
    }
    FGSF_TRY(
        apply_settings(&cfg, fgsf_preset_table, fgsf_preset_count, preset, "the preset table"));
    FGSF_TRY(apply_method(&cfg, preset));
    *out = cfg;
    return FGSF_OK;
}

bool fgsf_config_counts(const char *key) {
    static const char *const others[] = {"seed",     "method",          "preset",
                                         "env.name", "train.log_every", "train.checkpoint_every",
                                         "diag.",    "device."};
    size_t n = key ? strcspn(key, "=") : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i]);
        bool group = others[i][length - 1] == '.';
        if (key && strncmp(others[i], key, length) == 0 && (group || n == length)) return false;
    }
    return n > 0;
}

// Fills in a configuration of the same environment, preset and method in which nothing was changed.
static fgsf_status resolve_like(const fgsf_config *cfg, fgsf_config *out) {
    char env[FGSF_TEXT_SIZE], preset[FGSF_TEXT_SIZE], method[FGSF_TEXT_SIZE];
    FGSF_TRY(fgsf_config_get(cfg, "env.name", env, sizeof env));
    FGSF_TRY(fgsf_config_get(cfg, "preset", preset, sizeof preset));
    FGSF_TRY(fgsf_config_get(cfg, "method", method, sizeof method));
    return fgsf_config_resolve(env, preset, method, out);
}

char *fgsf_config_changes(const fgsf_config *cfg) {
    fgsf_config usual;
    const fgsf_key *key;
    char *text = NULL, is[FGSF_TEXT_SIZE], was[FGSF_TEXT_SIZE];
    size_t size = 0;
    if (resolve_like(cfg, &usual) != FGSF_OK) return NULL;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && (key = fgsf_config_key_at(cfg, i)); i++) {
        fgsf_key_print(cfg, key, false, is, sizeof is);
        fgsf_key_print(&usual, key, false, was, sizeof was);
        if (!fgsf_config_counts(key->name) || strcmp(is, was) == 0) continue;
        fprintf(out, "%s%s=%s", ftell(out) > 0 ? ", " : "", key->name, is);
    }
    if (out && fclose(out) == 0) return text;
    free(text);
    fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    return NULL;
}

double fgsf_config_epsilon(const fgsf_config *cfg, int64_t steps) {
    if (!cfg) return 0.0;
    double from = cfg->explore.epsilon, to = cfg->explore.to;
    double done = (double)steps / (double)cfg->explore.over;
    if (cfg->explore.schedule == FGSF_EXPLORE_CONSTANT) return from;
    return done < 1.0 ? from + (to - from) * done : to;
}

fgsf_status fgsf_config_learner(const fgsf_config *cfg, fgsf_learner_params *out) {
    FGSF_REQUIRE(cfg && out);
    fgsf_learner_params params = cfg->learner;
    params.seed = cfg->seed;
    params.agent.num_tasks = (int)cfg->env.num_tasks;
    params.agent.net.def = fgsf_network_def_find(cfg->net_kind);
    if (!params.agent.net.def) {
        return fgsf_fail(FGSF_ERR_INVALID, "net.kind: no network is called '%.80s'", cfg->net_kind);
    }
    if (params.agent.representation == FGSF_Q) params.lr = cfg->dqn_lr;
    *out = params;
    return FGSF_OK;
}

fgsf_status fgsf_config_from_learner(const fgsf_learner_params *params, fgsf_config *out) {
    FGSF_REQUIRE(params);
    const fgsf_network_def *def = params->agent.net.def;
    FGSF_TRY(fgsf_config_resolve(NULL, "clean", "fg-sfrql", out));
    out->learner = *params;
    out->seed = params->seed;
    out->dqn_lr = params->lr;
    out->env.num_tasks = params->agent.num_tasks;
    snprintf(out->net_kind, sizeof out->net_kind, "%s", def ? def->name : "mlp");
    // The sizes and pointers are the program's, not the configuration's.
    fgsf_agent_params *agent = &out->learner.agent;
    agent->num_tasks = agent->num_heldout = agent->num_actions = agent->num_features = 0;
    agent->state_size = 0;
    agent->tasks = NULL;
    agent->xi.members = NULL;
    agent->net.def = NULL;
    return FGSF_OK;
}
