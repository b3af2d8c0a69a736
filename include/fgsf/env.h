// The environment contract: a few functions on a flat struct, with buffers owned by the caller.
//
//     fgsf_env_register(&windy_def);                     // an environment of your own
//     fgsf_config_resolve("windy", "clean", "fg-sfrql", &cfg);
//     fgsf_env *env = NULL;
//     fgsf_env_create(&cfg, &env);                       // cfg.env.name picks it
//     fgsf_env_set_task(env, 0);
//     fgsf_env_reset(env, &rng);
//     fgsf_env_observe(env, state);                      // state_size floats
//     fgsf_step_result step;
//     fgsf_env_step(env, action, &rng, &step);           // step.reward, step.phi, step.terminal
//
// A registered environment is known to trainer, evaluation, configuration and drivers, with its own
// keys. docs/environments.md has a complete example. The library fgsf_envs registers ours with
// fgsf_envs_register (fgsf/envs.h). Instances are independent: no globals, no allocation per step. Use an
// instance from one thread at a time. Inside, everything is double precision.
#ifndef FGSF_ENV_H
#define FGSF_ENV_H

#include <stdbool.h>

#include "fgsf/config.h"
#include "fgsf/key.h"
#include "fgsf/reward.h"
#include "fgsf/rng.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_env fgsf_env;

// The sizes of an environment. Tasks 0..num_tasks-1 are trained on; the num_heldout tasks after
// them are for zero-shot evaluation only.
typedef struct fgsf_env_spec {
    int num_tasks, num_heldout;
    int num_actions;
    int num_features; // length of phi
    int state_size;   // numbers in the encoded state
    int raw_size;     // numbers in the raw state, in the environment's own units
    int full_size;    // raw_size plus whatever else an exact restart needs
    int files;        // a checksum of the files it is made from, or 0: a run goes on with the same
} fgsf_env_spec;

// The result of one step. `phi` belongs to the environment and is valid until its next call.
typedef struct fgsf_step_result {
    double reward;
    bool terminal;
    bool success; // the task's goal is reached at this state (a statistic, not a signal)
    const double *phi;
} fgsf_step_result;

// The functions that make an environment. Every concrete struct starts with a fgsf_env.
typedef struct fgsf_env_def {
    const char *name;
    const char *summary;  // one line for --help
    const fgsf_key *keys; // its own, all called "env.SOMETHING"
    int num_keys;
    size_t params_size;           // of the struct that the keys' offsets are for
    const fgsf_setting *settings; // what it sets of all keys: sizes and defaults, by preset
    int num_settings;
    bool deterministic; // without slip, a state and an action have one next state, and set_state
                        // restores exactly

    // Allocates and sets up an instance for `num_tasks` tasks and fills (*out)->spec; `params` is the
    // struct that the keys set. The rest of the head is filled by the caller, and so is every range
    // check of actions, tasks, and sizes of states.
    fgsf_status (*create)(const void *params, int num_tasks, fgsf_env **out);
    void (*free)(fgsf_env *env);
    // Starts an episode of the active task (env->task).
    fgsf_status (*reset)(fgsf_env *env, fgsf_rng *rng);
    fgsf_status (*step)(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out);
    // Writes the encoded state (state_size numbers).
    void (*encode)(const fgsf_env *env, double *state);
    // Reads or writes full_size numbers, of which the first raw_size are the raw state. With n ==
    // raw_size, set takes the rest as at the start of an episode.
    void (*get_state)(const fgsf_env *env, double *values);
    fgsf_status (*set_state)(fgsf_env *env, const double *values, int n);
    // Optional: the raw state of an encoded one, for avg.source=fresh; false where the encoding lacks
    // some of it.
    bool (*decode)(const fgsf_env *env, const double *state, double *raw);
    // phi(s, a, s') from two raw states, whoever they belong to.
    void (*features)(const fgsf_env *env, const double *raw, int action, const double *raw_next,
                     double *phi);
    // Writes the weights of the task's reward and returns true when it is linear in phi; else false.
    bool (*task_weights)(const fgsf_env *env, int task, double *w);
    // Optional: the reward of a feature vector under a task, where it is a function of phi.
    bool (*task_reward)(const fgsf_env *env, int task, const double *phi, double *reward);
    // Optional: the finite set of all feature vectors (count x num_features), for xi.
    const double *(*feature_set)(const fgsf_env *env, int *count);
    // Optional: the position shown in trajectories.
    void (*position)(const fgsf_env *env, double *x, double *y);
} fgsf_env_def;

// The head that every concrete environment's struct starts with.
struct fgsf_env {
    const fgsf_env_def *def;
    fgsf_env_spec spec;
    int task;
    double slip;     // env.slip: probability that a uniform action replaces the chosen one
    double *scratch; // state_size numbers, owned by fgsf_env_create
};

// Registers an environment under its name. The definition must outlive every use. Refused are a
// definition that lacks a function, a key that is taken, does not start with "env.", has more than 63
// characters or others than a-z, 0-9, '_' and '.', texts with control characters, and a name that another
// definition has.
FGSF_API fgsf_status fgsf_env_register(const fgsf_env_def *def);

// Returns the i-th registered environment, or NULL past the last.
FGSF_API const fgsf_env_def *fgsf_env_def_at(int i);

// Returns the environment of that name, or NULL.
FGSF_API const fgsf_env_def *fgsf_env_def_find(const char *name);

// Creates the environment that cfg->env.name names.
FGSF_API fgsf_status fgsf_env_create(const fgsf_config *cfg, fgsf_env **out);

FGSF_API void fgsf_env_free(fgsf_env *env);

FGSF_API const fgsf_env_spec *fgsf_env_get_spec(const fgsf_env *env);

// Makes `task` active and leaves the state as it is; the next reset starts an episode of this task.
FGSF_API fgsf_status fgsf_env_set_task(fgsf_env *env, int task);

FGSF_API fgsf_status fgsf_env_reset(fgsf_env *env, fgsf_rng *rng);

// Takes one step; an action out of range is refused and changes nothing. With env.slip 0 only
// the environment itself draws from rng.
FGSF_API fgsf_status fgsf_env_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out);

// Writes the encoded state as floats (the trainer's) or doubles (rollout's).
FGSF_API void fgsf_env_observe(const fgsf_env *env, float *state);
FGSF_API void fgsf_env_observe_f64(const fgsf_env *env, double *state);

// Reads full_size numbers; writes raw_size or full_size numbers.
FGSF_API void fgsf_env_get_state(const fgsf_env *env, double *values);
FGSF_API fgsf_status fgsf_env_set_state(fgsf_env *env, const double *values, int n);

// Describes a task's reward. `w` (num_features) receives the weights if it is linear. `w` and the
// environment must live as long as `out` is used.
FGSF_API void fgsf_env_task(const fgsf_env *env, int task, double *w, fgsf_task *out);

FGSF_END_DECLS
#endif
