// The calls of fgsf/env.h: which environments there are, and what is checked once for all of them.
#include "fgsf/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "registry.h"
#include "require.h"

#define LARGEST (1 << 20) // of the sizes that a definition may have

static fgsf_registry registry = {.what = "environment"};

// ---- Definitions --------------------------------------------------------------------------------

#define NOT_PLAIN "has control characters or is not UTF-8"

static bool are_plain(const char *const *texts, int count) {
    bool plain = true;
    for (int i = 0; i < count; i++) plain = plain && (!texts[i] || fgsf_text_is_plain(texts[i]));
    return plain;
}

// Returns what is wrong with a key, or NULL. Its texts go to terminals, its name and choices also into
// arguments (--set KEY=VALUE) and, as they are, into JSON.
static const char *fault_of_key(const fgsf_env_def *def, int k) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    const fgsf_key *key = &def->keys[k];
    size_t common, n = strlen(key->name);
    const fgsf_key *table = fgsf_config_keys(&common);
    if (strncmp(key->name, "env.", 4) != 0) return "does not start with 'env.'";
    if (n >= 64 || strspn(key->name, letters) != n) {
        return "has more than 63 characters, or others than a-z, 0-9, '_' and '.'";
    }
    if (!are_plain((const char *[]){key->fallback, key->choices, key->doc}, 3)) return NOT_PLAIN;
    if (key->choices && (strlen(key->choices) >= FGSF_TEXT_SIZE || strpbrk(key->choices, "\"\\"))) {
        return "has choices that are too long, or with '\"' or '\\'";
    }
    bool taken = false;
    for (size_t i = 0; i < common; i++) taken = taken || strcmp(table[i].name, key->name) == 0;
    for (int i = 0; i < k; i++) taken = taken || strcmp(def->keys[i].name, key->name) == 0;
    return taken ? "exists already" : NULL;
}

static fgsf_status check_keys(const fgsf_env_def *def) {
    if (def->params_size > FGSF_ENV_PARAMS_SIZE) {
        return fgsf_fail(FGSF_ERR_INVALID, "environment '%s': %zu bytes of parameters, at most %d",
                         def->name, def->params_size, FGSF_ENV_PARAMS_SIZE);
    }
    bool given = (def->keys || def->num_keys <= 0) && (def->settings || def->num_settings <= 0);
    for (int k = 0; given && k < def->num_keys; k++) {
        const fgsf_key *key = &def->keys[k];
        size_t size = fgsf_key_size(key);
        given = key->name && key->fallback && key->doc && size > 0 && size <= def->params_size &&
                key->offset <= def->params_size - size && !(isnan(key->min) || isnan(key->max));
    }
    if (!given) {
        return fgsf_fail(
            FGSF_ERR_INVALID,
            "environment '%s': a key lacks its name, default, choices or text, or does "
            "not fit into the parameters",
            def->name);
    }
    for (int k = 0; k < def->num_keys; k++) {
        const char *why = fault_of_key(def, k);
        if (!why) continue;
        return fgsf_fail(FGSF_ERR_INVALID, "environment '%s': key '%.80s' %s", def->name,
                         def->keys[k].name, why);
    }
    bool plain = are_plain((const char *[]){def->summary}, 1);
    for (int i = 0; i < def->num_settings; i++) {
        const fgsf_setting *s = &def->settings[i];
        plain = plain && are_plain((const char *[]){s->preset, s->key, s->value}, 3);
    }
    return plain ? FGSF_OK
                 : fgsf_fail(FGSF_ERR_INVALID, "environment '%s': its summary or a setting %s",
                             def->name, NOT_PLAIN);
}

fgsf_status fgsf_env_register(const fgsf_env_def *def) {
    if (!def || !def->create || !def->free || !def->reset || !def->step || !def->encode ||
        !def->get_state || !def->set_state || !def->features || !def->task_weights) {
        return fgsf_fail(FGSF_ERR_INVALID, "environment '%.80s': a function is missing",
                         def && def->name ? def->name : "");
    }
    if (fgsf_registry_find(&registry, def->name) == def) return FGSF_OK;
    FGSF_TRY(check_keys(def));
    return fgsf_registry_add(&registry, def);
}

const fgsf_env_def *fgsf_env_def_at(int i) {
    return fgsf_registry_at(&registry, i);
}

const fgsf_env_def *fgsf_env_def_find(const char *name) {
    return fgsf_registry_find(&registry, name);
}

static fgsf_status unknown(const char *name) {
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; fgsf_env_def_at(i) && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 fgsf_env_def_at(i)->name);
    }
    return fgsf_fail(FGSF_ERR_INVALID, "env.name: no environment is called '%.80s'; there are %s",
                     name, *names ? names : "none: register one first");
}

fgsf_status fgsf_env_require(const char *name, const fgsf_env_def **def) {
    *def = fgsf_env_def_find(name);
    return *def ? FGSF_OK : unknown(name);
}

// ---- Instances ----------------------------------------------------------------------------------

// What a definition says of its own sizes.
static fgsf_status check_spec(const char *name, const fgsf_env_spec *s) {
    const struct {
        const char *name;
        int value, least;
    } sizes[] = {{"num_tasks", s->num_tasks, 1},          {"num_heldout", s->num_heldout, 0},
                 {"num_actions", s->num_actions, 1},      {"num_features", s->num_features, 0},
                 {"state_size", s->state_size, 1},        {"raw_size", s->raw_size, 0},
                 {"full_size", s->full_size, s->raw_size}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].value < sizes[i].least || sizes[i].value > LARGEST) {
            return fgsf_fail(FGSF_ERR_INVALID, "%s: %s: %d is not in [%d, %d]", name, sizes[i].name,
                             sizes[i].value, sizes[i].least, LARGEST);
        }
    }
    return FGSF_OK;
}

// Passes on what a function of a definition returned, and names it where it failed without fgsf_fail;
// `before` is fgsf_failures from before the call.
static fgsf_status told(const fgsf_env_def *def, const char *call, unsigned before,
                        fgsf_status status) {
    if (status == FGSF_OK || fgsf_failures != before) return status;
    return fgsf_fail(status, "%s: %s failed without a message (%s)", def->name, call,
                     fgsf_status_name(status));
}

fgsf_status fgsf_env_create(const fgsf_config *cfg, fgsf_env **out) {
    FGSF_REQUIRE(cfg && out);
    const fgsf_env_def *def;
    FGSF_TRY(fgsf_env_require(cfg->env.name, &def));
    if (!(cfg->env.slip >= 0.0 && cfg->env.slip <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.slip: %g is not in [0, 1]", cfg->env.slip);
    }
    for (int k = 0; k < def->num_keys; k++) { // a struct may be filled without fgsf_config_set
        FGSF_TRY(fgsf_key_check(cfg, &def->keys[k]));
    }
    fgsf_env *env = NULL;
    unsigned before = fgsf_failures;
    FGSF_TRY(told(def, "create", before,
                  def->create(cfg->env_params.bytes, (int)cfg->env.num_tasks, &env)));
    if (!env) return fgsf_fail(FGSF_ERR_INVALID, "%s: create made no environment", def->name);
    env->def = def;
    env->task = 0;
    env->slip = cfg->env.slip;
    env->scratch = NULL;
    fgsf_status status = check_spec(def->name, &env->spec);
    if (status == FGSF_OK) {
        env->scratch = calloc((size_t)env->spec.state_size, sizeof *env->scratch);
        if (!env->scratch) status = fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", def->name);
    }
    if (status == FGSF_OK) *out = env;
    if (status != FGSF_OK) fgsf_env_free(env);
    return status;
}

void fgsf_env_free(fgsf_env *env) {
    if (!env) return;
    free(env->scratch);
    env->def->free(env);
}

const fgsf_env_spec *fgsf_env_get_spec(const fgsf_env *env) {
    return env ? &env->spec : NULL;
}

fgsf_status fgsf_env_set_task(fgsf_env *env, int task) {
    FGSF_REQUIRE(env);
    int count = env->spec.num_tasks + env->spec.num_heldout;
    if (task < 0 || task >= count) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: task %d is not in [0, %d)", env->def->name, task,
                         count);
    }
    env->task = task;
    return FGSF_OK;
}

fgsf_status fgsf_env_reset(fgsf_env *env, fgsf_rng *rng) {
    FGSF_REQUIRE(env && rng);
    unsigned before = fgsf_failures;
    return told(env->def, "reset", before, env->def->reset(env, rng));
}

fgsf_status fgsf_env_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    FGSF_REQUIRE(env && rng && out);
    if (action < 0 || action >= env->spec.num_actions) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: action %d is not in [0, %d)", env->def->name,
                         action, env->spec.num_actions);
    }
    if (env->slip > 0.0 && fgsf_rng_uniform(rng) < env->slip) {
        action = (int)fgsf_rng_below(rng, (uint64_t)env->spec.num_actions);
    }
    unsigned before = fgsf_failures;
    FGSF_TRY(told(env->def, "step", before, env->def->step(env, action, rng, out)));
    bool good = isfinite(out->reward) && (out->phi || env->spec.num_features == 0);
    for (int i = 0; good && i < env->spec.num_features; i++) good = isfinite(out->phi[i]);
    return good ? FGSF_OK
                : fgsf_fail(FGSF_ERR_INVALID,
                            "%s: a step gave a reward or features that are not "
                            "finite, or no features",
                            env->def->name);
}

void fgsf_env_observe(const fgsf_env *env, float *state) {
    if (!(env && state)) return;
    env->def->encode(env, env->scratch);
    for (int i = 0; i < env->spec.state_size; i++) state[i] = (float)env->scratch[i];
}

void fgsf_env_observe_f64(const fgsf_env *env, double *state) {
    if (!(env && state)) return;
    env->def->encode(env, state);
}

void fgsf_env_get_state(const fgsf_env *env, double *values) {
    if (!(env && values)) return;
    env->def->get_state(env, values);
}

fgsf_status fgsf_env_set_state(fgsf_env *env, const double *values, int n) {
    FGSF_REQUIRE(env && values);
    const fgsf_env_spec *spec = &env->spec;
    if (n != spec->raw_size && n != spec->full_size) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "%s: a state of %d numbers, but %d (raw) or %d (full) are needed",
                         env->def->name, n, spec->raw_size, spec->full_size);
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return fgsf_fail(FGSF_ERR_INVALID, "%s: state[%d] is %g, not a finite number",
                             env->def->name, i, values[i]);
        }
    }
    unsigned before = fgsf_failures;
    return told(env->def, "set_state", before, env->def->set_state(env, values, n));
}

static bool task_reward(const void *env, int task, const double *phi, double *reward) {
    const fgsf_env *e = env;
    return e->def->task_reward && e->def->task_reward(e, task, phi, reward);
}

void fgsf_env_task(const fgsf_env *env, int task, double *w, fgsf_task *out) {
    if (!(env && w && out)) return;
    bool exists = task >= 0 && task < env->spec.num_tasks + env->spec.num_heldout;
    if (!exists) {
        *out = (fgsf_task){.task = task}; // about which nothing is known
        return;
    }
    *out = (fgsf_task){.reward = task_reward, .context = env, .task = task};
    if (env->def->task_weights(env, task, w)) out->w = w;
}
