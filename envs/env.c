// The calls of fgsf/env.h: what is checked once for every environment, so that none of them has to.
#include "fgsf/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void list_names(char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; fgsf_env_def_at(i) && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? "|" : "",
                                 fgsf_env_def_at(i)->name);
    }
}

fgsf_status fgsf_env_create(const fgsf_config *cfg, fgsf_env **out) {
    const fgsf_env_def *def = fgsf_env_def_find(cfg->env.name);
    if (!def) {
        char names[256];
        list_names(names, sizeof names);
        return fgsf_fail(FGSF_ERR_INVALID, "env.name: '%s' is not one of %s", cfg->env.name, names);
    }
    return fgsf_env_create_from(def, cfg, out);
}

fgsf_status fgsf_env_create_from(const fgsf_env_def *def, const fgsf_config *cfg, fgsf_env **out) {
    if (!(cfg->env.slip >= 0.0 && cfg->env.slip <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.slip: %g is not in [0, 1]", cfg->env.slip);
    }
    fgsf_env *env = NULL;
    fgsf_status status = def->create(cfg, &env);
    if (status != FGSF_OK) return status;
    env->def = def;
    env->task = 0;
    env->slip = cfg->env.slip;
    env->scratch = calloc((size_t)env->spec.state_size, sizeof *env->scratch);
    if (!env->scratch) {
        fgsf_env_free(env);
        return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", def->name);
    }
    *out = env;
    return FGSF_OK;
}

void fgsf_env_free(fgsf_env *env) {
    if (!env) return;
    free(env->scratch);
    env->def->free(env);
}

const fgsf_env_spec *fgsf_env_get_spec(const fgsf_env *env) {
    return &env->spec;
}

fgsf_status fgsf_env_set_task(fgsf_env *env, int task) {
    int count = env->spec.num_tasks + env->spec.num_heldout;
    if (task < 0 || task >= count) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: task %d is not in [0, %d)", env->def->name, task,
                         count);
    }
    env->task = task;
    return FGSF_OK;
}

fgsf_status fgsf_env_reset(fgsf_env *env, fgsf_rng *rng) {
    return env->def->reset(env, rng);
}

fgsf_status fgsf_env_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    if (action < 0 || action >= env->spec.num_actions) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: action %d is not in [0, %d)", env->def->name,
                         action, env->spec.num_actions);
    }
    if (env->slip > 0.0 && fgsf_rng_uniform(rng) < env->slip) {
        action = (int)fgsf_rng_below(rng, (uint64_t)env->spec.num_actions);
    }
    return env->def->step(env, action, rng, out);
}

void fgsf_env_observe(const fgsf_env *env, float *state) {
    env->def->encode(env, env->scratch);
    for (int i = 0; i < env->spec.state_size; i++) state[i] = (float)env->scratch[i];
}

void fgsf_env_observe_f64(const fgsf_env *env, double *state) {
    env->def->encode(env, state);
}

void fgsf_env_get_state(const fgsf_env *env, double *values) {
    env->def->get_state(env, values);
}

fgsf_status fgsf_env_set_state(fgsf_env *env, const double *values, int n) {
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
    return env->def->set_state(env, values, n);
}
