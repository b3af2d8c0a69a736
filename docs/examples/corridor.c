// Corridor as an environment. Copy corridor.c and corridor.h to envs/ and add X(corridor) to
// ENVIRONMENTS in envs/registry.c; nothing else is needed.
//
// Actions: 0 left, 1 right. Raw state: the cell. Encoded state: the cell one-hot (7). Features: left
// exit taken, right exit taken. Reward: w . phi, with another w per task.
#include "corridor.h"

#include <stdlib.h>
#include <string.h>

// Every environment starts with the common head; the rest is its own.
typedef struct corridor {
    fgsf_env base;
    int cell;
    double phi[2];
} corridor;

// Two tasks to train on, one held out.
static const double WEIGHTS[3][2] = {{1.0, 0.0}, {0.0, 1.0}, {1.0, -1.0}};

// The defaults that `--env corridor` brings along; any key may stand here.
static const fgsf_setting SETTINGS[] = {
    {NULL, NULL, "env.num_tasks", "2"},
    {NULL, NULL, "train.steps_per_task", "2000"},
    {NULL, NULL, "train.horizon", "50"},
    {"compat", NULL, "eval.episodes", "10"}, // in one preset only
};

static fgsf_status corridor_create(const fgsf_config *cfg, fgsf_env **out) {
    if (cfg->env.num_tasks != 2) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.num_tasks: %lld, but corridor has 2 tasks",
                         (long long)cfg->env.num_tasks);
    }
    corridor *self = calloc(1, sizeof *self);
    if (!self) return fgsf_fail(FGSF_ERR_MEMORY, "corridor: out of memory");
    self->cell = CORRIDOR_CELLS / 2;
    self->base.spec = (fgsf_env_spec){.num_tasks = 2,
                                      .num_heldout = 1,
                                      .num_actions = 2,
                                      .num_features = 2,
                                      .state_size = CORRIDOR_CELLS,
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
    self->cell = 1 + (int)fgsf_rng_below(rng, CORRIDOR_CELLS - 2); // anywhere but the exits
    return FGSF_OK;
}

// phi(s, a, s') depends on s' alone here.
static void corridor_features(const fgsf_env *env, const double *raw, int action,
                              const double *raw_next, double *phi) {
    (void)env;
    (void)raw;
    (void)action;
    phi[0] = raw_next[0] == 0.0;
    phi[1] = raw_next[0] == CORRIDOR_CELLS - 1;
}

static void corridor_get_state(const fgsf_env *env, double *values) {
    values[0] = ((const corridor *)env)->cell;
}

static fgsf_status corridor_set_state(fgsf_env *env, const double *values, int n) {
    (void)n; // the caller has checked that it is raw_size or full_size
    int cell = (int)values[0];
    if (!(values[0] >= 0.0 && values[0] < CORRIDOR_CELLS) || cell != values[0]) {
        return fgsf_fail(FGSF_ERR_INVALID, "corridor: state %g is not a cell", values[0]);
    }
    ((corridor *)env)->cell = cell;
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
    self->cell = cell < 0 ? 0 : cell >= CORRIDOR_CELLS ? CORRIDOR_CELLS - 1 : cell;
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
    memset(state, 0, CORRIDOR_CELLS * sizeof *state);
    state[((const corridor *)env)->cell] = 1.0;
}

const fgsf_env_def fgsf_corridor_def = {
    .name = "corridor",
    .summary = "seven cells in a row, an exit at either end",
    .settings = SETTINGS,
    .num_settings = sizeof SETTINGS / sizeof SETTINGS[0],
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
