// Four Rooms as an environment. Deterministic unless env.slip is set; the map is read in
// four_rooms_map.c, the exact model is in four_rooms_model.c.
//
// Encoded state: one-hot row, one-hot column, one number per inventory bit (13 + 13 + 12 = 38).
// Raw state: row, column, one number (0 or 1) per inventory bit.
#include "four_rooms.h"

#include <stdlib.h>
#include <string.h>

#define ACTIONS FGSF_FOUR_ROOMS_ACTIONS
#define MAX_TASKS 100000
// The held-out rewards are the same for every seed, so they have a stream of their own.
#define HELDOUT_SEED 0x46523130u

typedef struct four_rooms {
    fgsf_env base;
    fgsf_four_rooms model;
    double step_cost;
    double *weights; // (num_tasks + num_heldout, num_features)
    double *reward;  // (num_tasks + num_heldout, num_kinds): what a step of each kind pays
    int cell;
    uint64_t inventory;
} four_rooms;

static const fgsf_setting SETTINGS[] = {
    {NULL, "env.num_tasks", "6"},     {NULL, "train.steps_per_task", "10000"},
    {NULL, "train.batch_size", "64"}, {NULL, "train.buffer_capacity", "200000"},
    {NULL, "train.gamma", "0.95"},    {NULL, "train.horizon", "200"},
    {NULL, "explore.epsilon", "0.6"}, {NULL, "eval.horizon", "100"},
    {NULL, "sf.xi_set", "exact"},
};

fgsf_four_rooms_outcome fgsf_four_rooms_move(const fgsf_four_rooms *m, int cell, uint64_t inventory,
                                             int action) {
    int to = m->next[cell * ACTIONS + action];
    int kind = to == cell ? 0 : m->kind[to]; // a bump gives nothing, at the goal neither
    int bit = m->object[to];
    if (bit >= 0) {
        if (inventory >> bit & 1) kind = 0;
        if (to != cell) inventory |= (uint64_t)1 << bit;
    }
    return (fgsf_four_rooms_outcome){.probability = 1.0,
                                     .cell = to,
                                     .inventory = inventory,
                                     .kind = kind,
                                     .terminal = kind == m->num_types + 1};
}

static void four_rooms_free(fgsf_env *env) {
    four_rooms *self = (four_rooms *)env;
    fgsf_four_rooms_unload(&self->model);
    free(self->weights);
    free(self->reward);
    free(self);
}

static void fill_weights(four_rooms *self, int tasks) {
    const fgsf_four_rooms *m = &self->model;
    fgsf_rng rng = fgsf_rng_make(HELDOUT_SEED, FGSF_STREAM_ENV);
    for (int task = 0; task < tasks + FGSF_FOUR_ROOMS_HELDOUT; task++) {
        double *w = self->weights + (size_t)task * (size_t)m->num_features;
        double *reward = self->reward + (size_t)task * (size_t)m->num_kinds;
        for (int k = 0; k < m->num_features; k++) {
            bool goal = k == m->num_types;
            if (task < tasks) {
                w[k] = m->rewards[task % m->num_rewards * m->num_features + k];
            } else {
                w[k] = goal ? 1.0 : 2.0 * fgsf_rng_uniform(&rng) - 1.0;
            }
            reward[k + 1] = w[k];
        }
        reward[0] = 0.0 - self->step_cost; // 0 - 0 is +0, where -0 would print as "-0"
    }
}

static const fgsf_key KEYS[] = {
    {"env.map", FGSF_KEY_TEXT, offsetof(fgsf_four_rooms_params, map), "", 0, FGSF_TEXT_SIZE, NULL,
     "A text file with a map and its goal; empty for the built-in one."},
    {"env.step_cost", FGSF_KEY_REAL, offsetof(fgsf_four_rooms_params, step_cost), "0", -1e6, 1e6,
     NULL, "Subtracted from the reward of a step that collects nothing."},
};

static fgsf_status four_rooms_create(const void *params, int tasks, fgsf_env **out) {
    const fgsf_four_rooms_params *p = params;
    if (tasks < 1 || tasks > MAX_TASKS) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.num_tasks: %d is not in [1, %d]", tasks, MAX_TASKS);
    }
    four_rooms *self = calloc(1, sizeof *self);
    if (!self) return fgsf_fail(FGSF_ERR_MEMORY, "four_rooms: out of memory");
    fgsf_four_rooms *m = &self->model;
    fgsf_status status = fgsf_four_rooms_load(p->map, m);
    if (status != FGSF_OK) {
        free(self);
        return status;
    }
    self->step_cost = p->step_cost;
    self->cell = m->start;
    size_t all = (size_t)tasks + FGSF_FOUR_ROOMS_HELDOUT;
    self->weights = calloc(all * (size_t)m->num_features, sizeof *self->weights);
    self->reward = calloc(all * (size_t)m->num_kinds, sizeof *self->reward);
    if (!self->weights || !self->reward) {
        four_rooms_free(&self->base);
        return fgsf_fail(FGSF_ERR_MEMORY, "four_rooms: out of memory");
    }
    fill_weights(self, tasks);
    self->base.spec = (fgsf_env_spec){.num_tasks = tasks,
                                      .num_heldout = FGSF_FOUR_ROOMS_HELDOUT,
                                      .num_actions = ACTIONS,
                                      .num_features = m->num_features,
                                      .state_size = m->rows + m->cols + m->num_objects,
                                      .raw_size = 2 + m->num_objects,
                                      .full_size = 2 + m->num_objects,
                                      .files = m->file};
    *out = &self->base;
    return FGSF_OK;
}

static fgsf_status four_rooms_reset(fgsf_env *env, fgsf_rng *rng) {
    (void)rng;
    four_rooms *self = (four_rooms *)env;
    self->cell = self->model.start;
    self->inventory = 0;
    return FGSF_OK;
}

static fgsf_status four_rooms_step(fgsf_env *env, int action, fgsf_rng *rng,
                                   fgsf_step_result *out) {
    (void)rng;
    four_rooms *self = (four_rooms *)env;
    const fgsf_four_rooms *m = &self->model;
    fgsf_four_rooms_outcome o = fgsf_four_rooms_move(m, self->cell, self->inventory, action);
    self->cell = o.cell;
    self->inventory = o.inventory;
    *out = (fgsf_step_result){.reward = self->reward[env->task * m->num_kinds + o.kind],
                              .terminal = o.terminal,
                              .success = o.terminal,
                              .phi = m->features + o.kind * m->num_features};
    return FGSF_OK;
}

static void four_rooms_encode(const fgsf_env *env, double *state) {
    const four_rooms *self = (const four_rooms *)env;
    const fgsf_four_rooms *m = &self->model;
    memset(state, 0, (size_t)env->spec.state_size * sizeof *state);
    state[m->row[self->cell]] = 1.0;
    state[m->rows + m->col[self->cell]] = 1.0;
    double *bits = state + m->rows + m->cols;
    for (int i = 0; i < m->num_objects; i++) bits[i] = (double)(self->inventory >> i & 1);
}

static void four_rooms_get_state(const fgsf_env *env, double *values) {
    const four_rooms *self = (const four_rooms *)env;
    const fgsf_four_rooms *m = &self->model;
    values[0] = m->row[self->cell];
    values[1] = m->col[self->cell];
    for (int i = 0; i < m->num_objects; i++) values[2 + i] = (double)(self->inventory >> i & 1);
}

static bool four_rooms_decode(const fgsf_env *env, const double *state, double *raw) {
    const fgsf_four_rooms *m = &((const four_rooms *)env)->model;
    raw[0] = raw[1] = 0.0;
    for (int i = 0; i < m->rows; i++) raw[0] += i * state[i];
    for (int i = 0; i < m->cols; i++) raw[1] += i * state[m->rows + i];
    memcpy(raw + 2, state + m->rows + m->cols, (size_t)m->num_objects * sizeof *raw);
    return true;
}

// Returns the free cell at (row, col), or -1.
static int find_cell(const fgsf_four_rooms *m, double row, double col) {
    bool inside = row >= 0.0 && row < m->rows && col >= 0.0 && col < m->cols;
    if (!inside || row != (int)row || col != (int)col) return -1;
    return m->cell_at[(int)row * m->cols + (int)col];
}

static fgsf_status four_rooms_set_state(fgsf_env *env, const double *values, int n) {
    four_rooms *self = (four_rooms *)env;
    const fgsf_four_rooms *m = &self->model;
    int cell = find_cell(m, values[0], values[1]);
    if (cell < 0) {
        return fgsf_fail(FGSF_ERR_INVALID, "four_rooms: state (%g, %g) is not a free cell",
                         values[0], values[1]);
    }
    uint64_t inventory = 0;
    for (int i = 0; i + 2 < n; i++) {
        if (values[2 + i] != 0.0 && values[2 + i] != 1.0) {
            return fgsf_fail(FGSF_ERR_INVALID, "four_rooms: inventory bit %d is %g, not 0 or 1", i,
                             values[2 + i]);
        }
        inventory |= (uint64_t)(values[2 + i] != 0.0) << i;
    }
    self->cell = cell;
    self->inventory = inventory;
    return FGSF_OK;
}

// What the cell of s' holds that the inventory of s lacks. It does not ask whether s' follows from
// s: the authors' code does not either, and on real transitions the answer is that of step().
static void four_rooms_features(const fgsf_env *env, const double *raw, int action,
                                const double *raw_next, double *phi) {
    (void)action;
    const fgsf_four_rooms *m = &((const four_rooms *)env)->model;
    int cell = find_cell(m, raw_next[0], raw_next[1]);
    int kind = cell < 0 ? 0 : m->kind[cell];
    int bit = cell < 0 ? -1 : m->object[cell];
    if (bit >= 0 && raw[2 + bit] != 0.0) kind = 0;
    memcpy(phi, m->features + kind * m->num_features, (size_t)m->num_features * sizeof *phi);
}

static bool four_rooms_task_weights(const fgsf_env *env, int task, double *w) {
    const four_rooms *self = (const four_rooms *)env;
    int width = self->model.num_features;
    // A cost of steps without features is not linear in phi.
    if (self->step_cost != 0.0) return false;
    memcpy(w, self->weights + (size_t)task * (size_t)width, (size_t)width * sizeof *w);
    return true;
}

static bool four_rooms_task_reward(const fgsf_env *env, int task, const double *phi,
                                   double *reward) {
    const four_rooms *self = (const four_rooms *)env;
    int width = self->model.num_features;
    const double *w = self->weights + (size_t)task * (size_t)width;
    bool any = false;
    double sum = 0.0;
    for (int k = 0; k < width; k++) {
        any = any || phi[k] != 0.0;
        sum += w[k] * phi[k];
    }
    *reward = any ? sum : 0.0 - self->step_cost;
    return true;
}

static const double *four_rooms_feature_set(const fgsf_env *env, int *count) {
    const fgsf_four_rooms *m = &((const four_rooms *)env)->model;
    *count = m->num_kinds;
    return m->features;
}

static void four_rooms_position(const fgsf_env *env, double *x, double *y) {
    const four_rooms *self = (const four_rooms *)env;
    *x = self->model.col[self->cell];
    *y = self->model.row[self->cell];
}

const fgsf_env_def fgsf_four_rooms_def = {
    .name = "four_rooms",
    .summary = "13x13 grid: collect objects of the right type, then reach the goal",
    .keys = KEYS,
    .num_keys = sizeof KEYS / sizeof KEYS[0],
    .params_size = sizeof(fgsf_four_rooms_params),
    .deterministic = true,
    .settings = SETTINGS,
    .num_settings = sizeof SETTINGS / sizeof SETTINGS[0],
    .create = four_rooms_create,
    .free = four_rooms_free,
    .reset = four_rooms_reset,
    .step = four_rooms_step,
    .encode = four_rooms_encode,
    .get_state = four_rooms_get_state,
    .set_state = four_rooms_set_state,
    .decode = four_rooms_decode,
    .features = four_rooms_features,
    .task_weights = four_rooms_task_weights,
    .task_reward = four_rooms_task_reward,
    .feature_set = four_rooms_feature_set,
    .position = four_rooms_position,
};

const fgsf_four_rooms *fgsf_four_rooms_model(const fgsf_env *env) {
    if (!env || env->def != &fgsf_four_rooms_def) return NULL;
    four_rooms *self = (four_rooms *)env;
    self->model.slip = env->slip; // which the head holds, for every environment
    return &self->model;
}
