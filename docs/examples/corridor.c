// Corridor: cells in a row with an exit at either end. The smallest complete environment, to be copied
// when you write your own; docs/environments.md explains it. Compiled as a shared object it is a plugin:
//
//     cc -shared -fPIC -Iinclude docs/examples/corridor.c -o corridor.so
//     experiments/run train --plugin corridor.so --env corridor
//
// Actions: 0 left, 1 right. Raw state: the cell. Encoded state: the cell one-hot. Features: left exit
// taken, right exit taken. Reward: w . phi, with another w per task.
#include <stdlib.h>
#include <string.h>

#include "fgsf/env.h"

// Every environment starts with the common head; the rest is its own.
typedef struct corridor {
    fgsf_env base;
    int cells, cell;
    double phi[2];
} corridor;

// What its keys set, and the keys. They all start with "env.".
typedef struct corridor_params {
    int64_t cells;
} corridor_params;

static const fgsf_key KEYS[] = {
    {"env.cells", FGSF_KEY_INT, offsetof(corridor_params, cells), "7", 3, 1000, NULL,
     "Cells of the corridor, exits included."},
};

// The defaults that `--env corridor` brings along; any key may stand here.
static const fgsf_setting SETTINGS[] = {
    {NULL, "env.num_tasks", "2"},
    {NULL, "train.steps_per_task", "2000"},
    {NULL, "train.horizon", "50"},
    {"compat", "eval.episodes", "10"}, // in one preset only
};

// Two tasks to train on, one held out.
static const double WEIGHTS[3][2] = {{1.0, 0.0}, {0.0, 1.0}, {1.0, -1.0}};

static fgsf_status corridor_create(const void *params, int num_tasks, fgsf_env **out) {
    const corridor_params *p = params;
    if (num_tasks != 2) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.num_tasks: %d, but corridor has 2 tasks",
                         num_tasks);
    }
    corridor *self = calloc(1, sizeof *self);
    if (!self) return fgsf_fail(FGSF_ERR_MEMORY, "corridor: out of memory");
    self->cells = (int)p->cells;
    self->cell = self->cells / 2;
    self->base.spec = (fgsf_env_spec){.num_tasks = 2,
                                      .num_heldout = 1,
                                      .num_actions = 2,
                                      .num_features = 2,
                                      .state_size = self->cells,
                                      .raw_size = 1,
                                      .full_size = 1};
    *out = &self->base;
    return FGSF_OK;
}

static void corridor_free(fgsf_env *env) {
    free(env); // the head is the first member: both have the same address
}

static fgsf_status corridor_reset(fgsf_env *env, fgsf_rng *rng) {
    corridor *self = (corridor *)env;
    self->cell = 1 + (int)fgsf_rng_below(rng, (uint64_t)self->cells - 2); // anywhere but the exits
    return FGSF_OK;
}

// phi(s, a, s') depends on s' alone here.
static void corridor_features(const fgsf_env *env, const double *raw, int action,
                              const double *raw_next, double *phi) {
    (void)raw;
    (void)action;
    phi[0] = raw_next[0] == 0.0;
    phi[1] = raw_next[0] == ((const corridor *)env)->cells - 1;
}

static void corridor_get_state(const fgsf_env *env, double *values) {
    values[0] = ((const corridor *)env)->cell;
}

static fgsf_status corridor_set_state(fgsf_env *env, const double *values, int n) {
    (void)n; // the caller has checked that it is raw_size or full_size
    corridor *self = (corridor *)env;
    if (!(values[0] >= 0.0 && values[0] < self->cells) || values[0] != (int)values[0]) {
        return fgsf_fail(FGSF_ERR_INVALID, "corridor: state %g is not a cell", values[0]);
    }
    self->cell = (int)values[0];
    return FGSF_OK;
}

static bool corridor_task_weights(const fgsf_env *env, int task, double *w) {
    (void)env;
    memcpy(w, WEIGHTS[task], sizeof WEIGHTS[task]);
    return true;
}

// The action is in range, and slip is already applied.
static fgsf_status corridor_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    (void)rng;
    corridor *self = (corridor *)env;
    int cell = self->cell + (action == 0 ? -1 : 1);
    self->cell = cell < 0 ? 0 : cell >= self->cells ? self->cells - 1 : cell;
    double next = self->cell;
    corridor_features(env, NULL, action, &next, self->phi);
    bool done = self->phi[0] + self->phi[1] > 0.0;
    const double *w = WEIGHTS[env->task];
    *out = (fgsf_step_result){.reward = w[0] * self->phi[0] + w[1] * self->phi[1],
                              .terminal = done,
                              .success = done,
                              .phi = self->phi};
    return FGSF_OK;
}

static void corridor_encode(const fgsf_env *env, double *state) {
    const corridor *self = (const corridor *)env;
    memset(state, 0, (size_t)self->cells * sizeof *state);
    state[self->cell] = 1.0;
}

static const fgsf_env_def DEFINITION = {
    .name = "corridor",
    .summary = "cells in a row, an exit at either end",
    .keys = KEYS,
    .num_keys = sizeof KEYS / sizeof KEYS[0],
    .params_size = sizeof(corridor_params),
    .settings = SETTINGS,
    .num_settings = sizeof SETTINGS / sizeof SETTINGS[0],
    .deterministic = true,
    .create = corridor_create,
    .free = corridor_free,
    .reset = corridor_reset,
    .step = corridor_step,
    .encode = corridor_encode,
    .get_state = corridor_get_state,
    .set_state = corridor_set_state,
    .features = corridor_features,
    .task_weights = corridor_task_weights,
};

// What a driver calls after `--plugin`. A program of your own calls fgsf_env_register itself.
fgsf_status fgsf_plugin_register(void);

fgsf_status fgsf_plugin_register(void) {
    return fgsf_env_register(&DEFINITION);
}
