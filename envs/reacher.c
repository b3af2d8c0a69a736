// Reacher as an environment, with the dynamics of Bullet (closed form, reacher_arm.c) or those of
// Gymnasium's model (MuJoCo). Never terminates.
//
// Raw state: q1 q2 w1 w2 (rad, rad/s). Encoded state: q1, 0.1 w1, q2/3, 0.1 w2, and the target's x
// and y when env.reacher_target_in_state is true. Full state: raw, then for `gymnasium` the solver's
// warm start (2).
#ifdef FGSF_HAVE_MUJOCO
#include "reacher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goals.h"
#include "mujoco_sim.h"

#define RAW_SIZE 4
#define FRAME_SKIP 2        // simulator steps per action, `gymnasium`
#define SUCCESS_RADIUS 0.05 // m
#define MAX_TASKS 1000
#define XML_SIZE 4096

typedef struct reacher {
    fgsf_env base;
    bool gymnasium, target_in_state, lag;
    fgsf_sim sim; // `gymnasium` only
    double q[2], w[2];
    double (*targets)[2]; // (num_tasks + num_heldout, 2): x, y in metres
    double *phi;          // (num_tasks)
} reacher;

static const double TARGETS[][2] = {{0.14, 0.0}, {-0.14, 0.0}, {0.0, 0.14}, {0.0, -0.14}};
static const double HELDOUT[][2] = {{0.22, 0.0}, {-0.22, 0.0}, {0.0, 0.22}, {0.0, -0.22},
                                    {0.1, 0.1},  {0.1, -0.1},  {-0.1, 0.1}, {-0.1, -0.1}};
#define NUM_TARGETS ((int)(sizeof TARGETS / sizeof TARGETS[0]))
#define NUM_HELDOUT ((int)(sizeof HELDOUT / sizeof HELDOUT[0]))

static const fgsf_setting SETTINGS[] = {
    {NULL, "env.num_tasks", "4"},          {NULL, "env.reacher_lag", "false"},
    {"compat", "env.reacher_lag", "true"}, {NULL, "train.steps_per_task", "100000"},
    {NULL, "train.batch_size", "64"},      {NULL, "train.buffer_capacity", "200000"},
    {NULL, "train.gamma", "0.95"},         {NULL, "train.horizon", "200"},
    {NULL, "explore.epsilon", "0.6"},      {NULL, "eval.horizon", "100"},
    {NULL, "sf.xi_set", "prototypes"},
};

#define AT(field) offsetof(fgsf_reacher_params, field)
static const fgsf_key KEYS[] = {
    {"env.goals", FGSF_KEY_TEXT, AT(goals), "", 0, FGSF_TEXT_SIZE, NULL,
     "Targets as points `@x,y` (metres), separated by semicolons; empty for the built-in ones."},
    {"env.reacher_dynamics", FGSF_KEY_CHOICE, AT(dynamics), "bullet", 0, 0, "bullet|gymnasium",
     "Arm of pybullet-gym (the authors') or of Gymnasium."},
    {"env.reacher_target_in_state", FGSF_KEY_BOOL, AT(target_in_state), "false", 0, 1, NULL,
     "Append the target's position to the encoded state."},
    {"env.reacher_lag", FGSF_KEY_BOOL, AT(lag), "false", 0, 1, NULL,
     "Reward and features from the state before the step, as in the authors' code."},
};

static void reacher_free(fgsf_env *env) {
    reacher *self = (reacher *)env;
    fgsf_sim_free(&self->sim);
    free(self->targets);
    free(self->phi);
    free(self);
}

// Tasks take the targets in turn; given targets that no task takes are the held-out ones.
static fgsf_status choose_targets(const fgsf_reacher_params *p, int tasks, reacher *self) {
    fgsf_goal goals[FGSF_GOALS_MAX];
    int count = 0;
    FGSF_TRY(fgsf_goals_parse(p->goals, goals, &count));
    int heldout = count == 0 ? NUM_HELDOUT : count > tasks ? count - tasks : 0;
    self->targets = calloc((size_t)(tasks + heldout), sizeof *self->targets);
    self->phi = calloc((size_t)tasks, sizeof *self->phi);
    if (!self->targets || !self->phi) return fgsf_fail(FGSF_ERR_MEMORY, "reacher: out of memory");
    for (int i = 0; i < tasks + heldout; i++) {
        const double *from;
        if (count > 0) {
            from = goals[i % count].at;
            if (goals[i % count].is_cell) {
                return fgsf_fail(FGSF_ERR_INVALID,
                                 "env.goals: %g,%g is a cell; reacher needs '@x,y'", from[0],
                                 from[1]);
            }
        } else {
            from = i < tasks ? TARGETS[i % NUM_TARGETS] : HELDOUT[i - tasks];
        }
        memcpy(self->targets[i], from, sizeof self->targets[i]);
    }
    self->base.spec.num_tasks = tasks;
    self->base.spec.num_heldout = heldout;
    return FGSF_OK;
}

static fgsf_status set_up(const fgsf_reacher_params *p, int tasks, reacher *self) {
    if (tasks < 1 || tasks > MAX_TASKS) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.num_tasks: %d is not in [1, %d]", tasks, MAX_TASKS);
    }
    FGSF_TRY(choose_targets(p, tasks, self));
    self->gymnasium = p->dynamics == FGSF_REACHER_GYMNASIUM;
    self->target_in_state = p->target_in_state;
    self->lag = p->lag;
    fgsf_env_spec *spec = &self->base.spec;
    spec->num_actions = 9;
    spec->num_features = spec->num_tasks;
    spec->state_size = self->target_in_state ? RAW_SIZE + 2 : RAW_SIZE;
    spec->raw_size = RAW_SIZE;
    spec->full_size = self->gymnasium ? RAW_SIZE + 2 : RAW_SIZE;
    if (!self->gymnasium) return FGSF_OK;
    char xml[XML_SIZE];
    fgsf_reacher_xml(1.0, 1.0, xml, sizeof xml);
    return fgsf_sim_load("reacher", xml, &self->sim);
}

static fgsf_status reacher_create(const void *params, int tasks, fgsf_env **out) {
    reacher *self = calloc(1, sizeof *self);
    if (!self) return fgsf_fail(FGSF_ERR_MEMORY, "reacher: out of memory");
    fgsf_status status = set_up(params, tasks, self);
    if (status == FGSF_OK) *out = &self->base;
    if (status != FGSF_OK) reacher_free(&self->base);
    return status;
}

static fgsf_status reacher_set_state(fgsf_env *env, const double *values, int n) {
    reacher *self = (reacher *)env;
    if (self->gymnasium) {
        const double *warm = n > RAW_SIZE ? values + RAW_SIZE : NULL;
        FGSF_TRY(fgsf_sim_set(&self->sim, values, values + 2, warm));
    }
    memcpy(self->q, values, sizeof self->q);
    memcpy(self->w, values + 2, sizeof self->w);
    return FGSF_OK;
}

static fgsf_status reacher_reset(fgsf_env *env, fgsf_rng *rng) {
    double raw[RAW_SIZE] = {0};
    raw[0] = 3.14 * (2.0 * fgsf_rng_uniform(rng) - 1.0);
    raw[1] = 1.57 * (2.0 * fgsf_rng_uniform(rng) - 1.0);
    return reacher_set_state(env, raw, RAW_SIZE);
}

static fgsf_status move_bullet(reacher *self, const double action[2]) {
    double q[2] = {self->q[0], self->q[1]}, w[2] = {self->w[0], self->w[1]};
    double torque[2] = {FGSF_REACHER_TORQUE * action[0], FGSF_REACHER_TORQUE * action[1]};
    fgsf_reacher_bullet_step(q, w, torque);
    if (!isfinite(q[0]) || !isfinite(q[1]) || !isfinite(w[0]) || !isfinite(w[1])) {
        return fgsf_fail(FGSF_ERR_SIMULATOR, "reacher: the state is not a number");
    }
    memcpy(self->q, q, sizeof q);
    memcpy(self->w, w, sizeof w);
    return FGSF_OK;
}

static fgsf_status move_gymnasium(reacher *self, const double action[2]) {
    mjData *data = self->sim.data;
    for (int i = 0; i < 2; i++) data->ctrl[i] = action[i];
    FGSF_TRY(fgsf_sim_step(&self->sim, FRAME_SKIP));
    for (int i = 0; i < 2; i++) {
        self->q[i] = data->qpos[i];
        self->w[i] = data->qvel[i];
    }
    return FGSF_OK;
}

static void fill_features(const reacher *self, const double tip[2], double *phi) {
    for (int k = 0; k < self->base.spec.num_tasks; k++) {
        phi[k] = 1.0 - 4.0 * fgsf_goal_distance(tip, self->targets[k]);
    }
}

static fgsf_status reacher_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    (void)rng;
    reacher *self = (reacher *)env;
    double push[2] = {action / 3 - 1, action % 3 - 1};
    double before[2] = {self->q[0], self->q[1]}, tip[2];
    FGSF_TRY(self->gymnasium ? move_gymnasium(self, push) : move_bullet(self, push));
    // From the angles: the bodies' poses in mjData are those from before the last step.
    fgsf_reacher_tip(self->lag ? before : self->q, tip);
    fill_features(self, tip, self->phi);
    double left = fgsf_goal_distance(tip, self->targets[env->task]);
    *out = (fgsf_step_result){.reward = 1.0 - 4.0 * left,
                              .terminal = false,
                              .success = left <= SUCCESS_RADIUS,
                              .phi = self->phi};
    return FGSF_OK;
}

static void reacher_encode(const fgsf_env *env, double *state) {
    const reacher *self = (const reacher *)env;
    state[0] = self->q[0];
    state[1] = 0.1 * self->w[0];
    state[2] = self->q[1] / 3.0;
    state[3] = 0.1 * self->w[1];
    if (self->target_in_state) memcpy(state + 4, self->targets[env->task], 2 * sizeof *state);
}

static bool reacher_decode(const fgsf_env *env, const double *state, double *raw) {
    (void)env;
    raw[0] = state[0];
    raw[1] = 3.0 * state[2];
    raw[2] = 10.0 * state[1];
    raw[3] = 10.0 * state[3];
    return true;
}

static void reacher_get_state(const fgsf_env *env, double *values) {
    const reacher *self = (const reacher *)env;
    for (int i = 0; i < 2; i++) {
        values[i] = self->q[i];
        values[2 + i] = self->w[i];
        if (self->gymnasium) values[RAW_SIZE + i] = self->sim.data->qacc_warmstart[i];
    }
}

static void reacher_features(const fgsf_env *env, const double *raw, int action,
                             const double *raw_next, double *phi) {
    (void)action;
    const reacher *self = (const reacher *)env;
    double tip[2];
    fgsf_reacher_tip(self->lag ? raw : raw_next, tip);
    fill_features(self, tip, phi);
}

static void reacher_position(const fgsf_env *env, double *x, double *y) {
    double tip[2];
    fgsf_reacher_tip(((const reacher *)env)->q, tip);
    *x = tip[0];
    *y = tip[1];
}

const fgsf_env_def fgsf_reacher_def = {
    .name = "reacher",
    .summary = "a planar arm of two links that brings its tip to a target",
    .keys = KEYS,
    .num_keys = sizeof KEYS / sizeof KEYS[0],
    .params_size = sizeof(fgsf_reacher_params),
    .settings = SETTINGS,
    .num_settings = sizeof SETTINGS / sizeof SETTINGS[0],
    .create = reacher_create,
    .free = reacher_free,
    .reset = reacher_reset,
    .step = reacher_step,
    .encode = reacher_encode,
    .get_state = reacher_get_state,
    .set_state = reacher_set_state,
    .decode = reacher_decode,
    .features = reacher_features,
    .task_weights = fgsf_goal_weights,
    .task_reward = fgsf_goal_reward,
    .position = reacher_position,
};

#else
typedef int fgsf_reacher_is_not_built; // ISO C wants a declaration in every file
#endif
