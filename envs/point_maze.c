// PointMaze as an environment: the motion of the ball on MuJoCo, its features and rewards. The maze
// and the goals are in point_maze_plan.c.
//
// Raw state: x y vx vy gx gy (m, m/s), the goal of the running episode included. Encoded state: the
// same, without the goal when env.goal_in_state is false. Full state: raw, then the solver's warm
// start (2), without which a contact would be solved from another guess.
#ifdef FGSF_HAVE_MUJOCO
#include "point_maze.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goals.h"
#include "mujoco_sim.h"

#define MAX_SPEED 5.0    // m/s, per axis, at the start of a step
#define START_NOISE 0.25 // m, per axis
#define GOAL_RADIUS 0.45 // m
#define RAW_SIZE 6
#define FULL_SIZE 8

typedef struct point_maze {
    fgsf_env base;
    fgsf_point_maze_plan plan;
    fgsf_sim sim;
    bool goal_in_state, terminate_on_goal;
    double goal_noise; // m, per axis
    double goal[2];    // of the running episode
    double *phi;       // (num_tasks)
} point_maze;

static const fgsf_setting SETTINGS[] = {
    {NULL, "env.num_tasks", "8"},
    {NULL, "env.layout", "umaze"},
    {NULL, "env.goal_noise", "0"},
    {"compat", "env.goal_noise", "0.25"},
    {"compat", "env.listed_goals", "true"},
    {NULL, "env.terminate_on_goal", "false"},
    {"compat", "env.terminate_on_goal", "true"},
    {NULL, "train.steps_per_task", "30000"},
    {NULL, "train.batch_size", "512"},
    {NULL, "train.buffer_capacity", "200000"},
    {NULL, "train.gamma", "0.95"},
    {NULL, "train.horizon", "200"},
    {NULL, "explore.epsilon", "0.6"},
    {NULL, "eval.horizon", "100"},
    {"compat", "eval.horizon", "200"},
    {NULL, "sf.xi_set", "prototypes"},
};

static void point_maze_free(fgsf_env *env) {
    point_maze *self = (point_maze *)env;
    fgsf_sim_free(&self->sim);
    fgsf_point_maze_plan_free(&self->plan);
    free(self->phi);
    free(self);
}

static fgsf_status load_sim(point_maze *self) {
    char *xml = fgsf_point_maze_xml(&self->plan);
    if (!xml) return fgsf_fail(FGSF_ERR_MEMORY, "point_maze: out of memory");
    fgsf_status status = fgsf_sim_load("point_maze", xml, &self->sim);
    free(xml);
    if (status != FGSF_OK) return status;
    // Contact softness follows from this; 2.2.2 computes 2/(3 m) where 3.x has 1/m.
    mjModel *model = self->sim.model;
    int ball = (int)model->nbody - 1;
    model->body_invweight0[2 * ball] = 1.0 / model->body_mass[ball];
    return FGSF_OK;
}

#define AT(field) offsetof(fgsf_point_maze_params, field)
static const fgsf_key KEYS[] = {
    {"env.map", FGSF_KEY_TEXT, AT(map), "", 0, FGSF_TEXT_SIZE, NULL,
     "A text file with a map; empty for a built-in layout."},
    {"env.layout", FGSF_KEY_TEXT, AT(layout), "umaze", 0, FGSF_NAME_SIZE, NULL,
     "Built-in layout: umaze, medium or large; env.map overrides it."},
    {"env.goals", FGSF_KEY_TEXT, AT(goals), "", 0, FGSF_TEXT_SIZE, NULL,
     "Goals as cells `row,col` or points `@x,y` (metres), separated by semicolons; overrides the "
     "map's `G` cells."},
    {"env.listed_goals", FGSF_KEY_BOOL, AT(listed_goals), "false", 0, 1, NULL,
     "Use the goals of the authors' code for a built-in layout; env.map and env.goals override "
     "it."},
    {"env.goal_in_state", FGSF_KEY_BOOL, AT(goal_in_state), "true", 0, 1, NULL,
     "Append the goal's position to the encoded state."},
    {"env.goal_noise", FGSF_KEY_REAL, AT(goal_noise), "0", 0, 0.5, NULL,
     "Uniform noise on the goal at each reset, in metres; features do not see it."},
    {"env.terminate_on_goal", FGSF_KEY_BOOL, AT(terminate_on_goal), "false", 0, 1, NULL,
     "End the episode within 0.45 m of the goal."},
};

static fgsf_status set_up(const fgsf_point_maze_params *p, int tasks, point_maze *self) {
    FGSF_TRY(fgsf_point_maze_plan_make(p, tasks, &self->plan));
    FGSF_TRY(load_sim(self));
    self->phi = calloc((size_t)self->plan.num_tasks, sizeof *self->phi);
    if (!self->phi) return fgsf_fail(FGSF_ERR_MEMORY, "point_maze: out of memory");
    self->goal_in_state = p->goal_in_state;
    self->terminate_on_goal = p->terminate_on_goal;
    self->goal_noise = p->goal_noise;
    self->base.spec = (fgsf_env_spec){.num_tasks = self->plan.num_tasks,
                                      .num_heldout = self->plan.num_heldout,
                                      .num_actions = 9,
                                      .num_features = self->plan.num_tasks,
                                      .state_size = self->goal_in_state ? RAW_SIZE : RAW_SIZE - 2,
                                      .raw_size = RAW_SIZE,
                                      .full_size = FULL_SIZE,
                                      .files = self->plan.file};
    return FGSF_OK;
}

// Puts the ball to rest at the start, plus `shift`, and the goal at the active task's, plus `noise`.
static fgsf_status begin(point_maze *self, const double shift[2], const double noise[2]) {
    double at[2], rest[2] = {0.0, 0.0};
    const fgsf_point_maze_plan *plan = &self->plan;
    fgsf_point_maze_centre(&plan->grid, plan->start_row, plan->start_col, &at[0], &at[1]);
    for (int i = 0; i < 2; i++) {
        self->goal[i] = plan->goals[self->base.task][i] + noise[i];
        at[i] += shift[i];
    }
    return fgsf_sim_set(&self->sim, at, rest, NULL);
}

static fgsf_status point_maze_create(const void *params, int tasks, fgsf_env **out) {
    point_maze *self = calloc(1, sizeof *self);
    if (!self) return fgsf_fail(FGSF_ERR_MEMORY, "point_maze: out of memory");
    const double zero[2] = {0.0, 0.0};
    fgsf_status status = set_up(params, tasks, self);
    if (status == FGSF_OK) status = begin(self, zero, zero);
    if (status == FGSF_OK) *out = &self->base;
    if (status != FGSF_OK) point_maze_free(&self->base);
    return status;
}

static void draw(fgsf_rng *rng, double size, double out[2]) {
    for (int i = 0; i < 2; i++) out[i] = size * (2.0 * fgsf_rng_uniform(rng) - 1.0);
}

static fgsf_status point_maze_reset(fgsf_env *env, fgsf_rng *rng) {
    point_maze *self = (point_maze *)env;
    double noise[2], shift[2];
    draw(rng, self->goal_noise, noise); // always drawn, so that starts do not depend on the noise
    draw(rng, START_NOISE, shift);
    return begin(self, shift, noise);
}

static void fill_features(const point_maze *self, const double at[2], double *phi) {
    for (int k = 0; k < self->plan.num_tasks; k++)
        phi[k] = exp(-fgsf_goal_distance(at, self->plan.goals[k]));
}

static fgsf_status point_maze_step(fgsf_env *env, int action, fgsf_rng *rng,
                                   fgsf_step_result *out) {
    (void)rng;
    point_maze *self = (point_maze *)env;
    mjData *data = self->sim.data;
    data->ctrl[0] = action / 3 - 1;
    data->ctrl[1] = action % 3 - 1;
    for (int i = 0; i < 2; i++) data->qvel[i] = fmin(fmax(data->qvel[i], -MAX_SPEED), MAX_SPEED);
    FGSF_TRY(fgsf_sim_step(&self->sim, 1));
    double left = fgsf_goal_distance(data->qpos, self->goal);
    fill_features(self, data->qpos, self->phi);
    *out = (fgsf_step_result){.reward = exp(-left),
                              .terminal = self->terminate_on_goal && left <= GOAL_RADIUS,
                              .success = left <= GOAL_RADIUS,
                              .phi = self->phi};
    return FGSF_OK;
}

static void point_maze_get_state(const fgsf_env *env, double *values) {
    const point_maze *self = (const point_maze *)env;
    const mjData *data = self->sim.data;
    for (int i = 0; i < 2; i++) {
        values[i] = data->qpos[i];
        values[2 + i] = data->qvel[i];
        values[4 + i] = self->goal[i];
        values[6 + i] = data->qacc_warmstart[i];
    }
}

static void point_maze_encode(const fgsf_env *env, double *state) {
    double values[FULL_SIZE];
    point_maze_get_state(env, values);
    memcpy(state, values, (size_t)env->spec.state_size * sizeof *state);
}

// Without the goal in the encoding it is not known, since noise may have moved it.
static bool point_maze_decode(const fgsf_env *env, const double *state, double *raw) {
    memcpy(raw, state, (size_t)env->spec.state_size * sizeof *raw);
    return env->spec.state_size == RAW_SIZE;
}

static fgsf_status point_maze_set_state(fgsf_env *env, const double *values, int n) {
    point_maze *self = (point_maze *)env;
    if (!fgsf_point_maze_is_free(&self->plan.grid, values[0], values[1])) {
        return fgsf_fail(FGSF_ERR_INVALID, "point_maze: state (%g, %g) is in a wall or outside",
                         values[0], values[1]);
    }
    fgsf_status status =
        fgsf_sim_set(&self->sim, values, values + 2, n == FULL_SIZE ? values + RAW_SIZE : NULL);
    if (status == FGSF_OK) memcpy(self->goal, values + 4, sizeof self->goal);
    return status;
}

static void point_maze_features(const fgsf_env *env, const double *raw, int action,
                                const double *raw_next, double *phi) {
    (void)raw;
    (void)action;
    fill_features((const point_maze *)env, raw_next, phi);
}

static void point_maze_position(const fgsf_env *env, double *x, double *y) {
    const point_maze *self = (const point_maze *)env;
    *x = self->sim.data->qpos[0];
    *y = self->sim.data->qpos[1];
}

const fgsf_env_def fgsf_point_maze_def = {
    .name = "point_maze",
    .summary = "a ball pushed through a maze towards a goal (MuJoCo)",
    .keys = KEYS,
    .num_keys = sizeof KEYS / sizeof KEYS[0],
    .params_size = sizeof(fgsf_point_maze_params),
    .settings = SETTINGS,
    .num_settings = sizeof SETTINGS / sizeof SETTINGS[0],
    .create = point_maze_create,
    .free = point_maze_free,
    .reset = point_maze_reset,
    .step = point_maze_step,
    .encode = point_maze_encode,
    .get_state = point_maze_get_state,
    .set_state = point_maze_set_state,
    .decode = point_maze_decode,
    .features = point_maze_features,
    // With env.goal_noise that of the reward without its noise, as the authors use.
    .task_weights = fgsf_goal_weights,
    .task_reward = fgsf_goal_reward,
    .position = point_maze_position,
};

#else
typedef int fgsf_point_maze_is_not_built; // ISO C wants a declaration in every file
#endif
