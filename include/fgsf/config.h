// Every choice of a run as one plain struct, and the one table that defines its keys.
//
//     fgsf_config cfg;
//     fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg);   // defaults to method
//     fgsf_config_load(&cfg, "my.json");                              // --config
//     fgsf_config_set(&cfg, "sf.grad_mix", "0.5", "--set");           // --set
//     fgsf_config_validate(&cfg);
//
// Later steps win: defaults < environment < preset < method < --config < --set. A key's type,
// default, range, choices and documentation stand in one table (fgsf_config_keys), from which
// validation, --list-keys, --print-config and docs/config.md are all made.
#ifndef FGSF_CONFIG_H
#define FGSF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

FGSF_BEGIN_DECLS

#define FGSF_MAX_HIDDEN 8 // hidden layers of a network
#define FGSF_TEXT_SIZE 1024

// The order of each enum is the order of its choices in the key table.
enum fgsf_method {
    FGSF_DQN,
    FGSF_FG_DQN,
    FGSF_SFRQL,
    FGSF_FG_SFRQL,
    FGSF_FG_SFRQL_RANDOM,
    FGSF_FG_SFRQL_AVERAGE,
    FGSF_FG_SFRQL_SEQ_AVERAGE,
};
enum fgsf_preset { FGSF_CLEAN, FGSF_COMPAT, FGSF_PAPER };
enum fgsf_activation { FGSF_RELU, FGSF_SILU };
enum fgsf_init { FGSF_NORMAL_FAN_IN, FGSF_UNIFORM_FAN_IN, FGSF_ZEROS };
enum fgsf_opt_kind { FGSF_ADAM, FGSF_SGD, FGSF_SGD_RM };
enum fgsf_representation { FGSF_PSI, FGSF_XI };
enum fgsf_xi_set { FGSF_XI_EXACT, FGSF_XI_BINS, FGSF_XI_PROTOTYPES };
enum fgsf_target_mode { FGSF_TARGET_NONE, FGSF_TARGET_HARD, FGSF_TARGET_POLYAK };
enum fgsf_update_set { FGSF_UPDATE_I_AND_C, FGSF_UPDATE_ALL, FGSF_UPDATE_I_ONLY };
enum fgsf_prior_select { FGSF_PRIOR_NEXT_STATE, FGSF_PRIOR_CURRENT_STATE };
enum fgsf_init_from { FGSF_INIT_FRESH, FGSF_INIT_PREVIOUS };
enum fgsf_gpi_scope { FGSF_SCOPE_SEEN, FGSF_SCOPE_ALL };
enum fgsf_loss_scale {
    FGSF_HALF_MEAN,
    FGSF_MEAN,
    FGSF_SUM,
    FGSF_DOUBLE_SUM,
    FGSF_MEAN_ACTIONS, // `mean` with a further division by the number of actions (DQN compat)
};
// Which action the bootstrap target takes: the GPI action under the task's reward, the network's
// own greedy action under its own reward, or (as the authors' averaging code does) the network's
// own greedy action on the mean successor vector under the current task's reward.
enum fgsf_next_action { FGSF_NEXT_GPI, FGSF_NEXT_OWN, FGSF_NEXT_OWN_MEAN };
enum fgsf_tie { FGSF_TIE_FIRST, FGSF_TIE_RANDOM, FGSF_TIE_HULL };
enum fgsf_reward_model {
    FGSF_REWARD_KNOWN,
    FGSF_REWARD_LINEAR_LMS,
    FGSF_REWARD_LINEAR_NLMS,
    FGSF_REWARD_LINEAR_RLS,
    FGSF_REWARD_MLP,
};
enum fgsf_estimator { FGSF_SHARED, FGSF_CRITIC_ONLY, FGSF_SPLIT };
enum fgsf_pivot_source { FGSF_PIVOT_REPLAY, FGSF_PIVOT_CURRENT };
enum fgsf_shortfall { FGSF_SHORTFALL_USE_AVAILABLE, FGSF_SHORTFALL_REPLACE, FGSF_SHORTFALL_SKIP };
enum fgsf_avg_next_action { FGSF_AVG_GPI, FGSF_AVG_OWN_MEAN, FGSF_AVG_POLICY_C_AT_MEAN };
enum fgsf_key_mode { FGSF_KEY_EXACT, FGSF_KEY_GRID };
enum fgsf_schedule { FGSF_SEQUENTIAL, FGSF_RANDOM_STEP, FGSF_RANDOM_EPISODE };
enum fgsf_warmup { FGSF_WARMUP_UNIFORM, FGSF_WARMUP_FIRST_TASK };
enum fgsf_task_input { FGSF_TASK_INPUT_NONE, FGSF_TASK_INPUT_ONEHOT, FGSF_TASK_INPUT_W };
enum fgsf_eval_reward { FGSF_EVAL_LEARNED, FGSF_EVAL_TRUE };
enum fgsf_reacher_dynamics { FGSF_REACHER_BULLET, FGSF_REACHER_GYMNASIUM };

typedef struct fgsf_int_list {
    int n;
    int64_t v[FGSF_MAX_HIDDEN];
} fgsf_int_list;

// A resolved configuration. int64_t: integer keys and choices (an enum above); double: reals.
typedef struct fgsf_config {
    int64_t seed;
    int64_t method; // enum fgsf_method
    int64_t preset; // enum fgsf_preset
    struct {
        char name[FGSF_TEXT_SIZE];
        int64_t num_tasks;
        char map[FGSF_TEXT_SIZE];    // a text file, or "" for the built-in one
        char layout[FGSF_TEXT_SIZE]; // point_maze: umaze|medium|large
        double slip;
        double step_cost; // four_rooms: reward of a step without any feature, subtracted
        char goals[FGSF_TEXT_SIZE];
        bool goal_in_state;
        double goal_noise;
        bool terminate_on_goal;
        int64_t reacher_dynamics;
        bool reacher_target_in_state;
        bool reacher_lag;
    } env;
    struct {
        double gamma;
        int64_t batch_size, steps_per_task, horizon, buffer_capacity;
        bool buffer_reset_on_task;
        int64_t log_every, checkpoint_every;
        double divergence_limit; // a loss above it ends the run as diverged
    } train;
    struct {
        double epsilon;
    } explore;
    struct {
        fgsf_int_list hidden;
        int64_t activation;
        bool bias;
        int64_t init;
    } net;
    struct {
        int64_t kind;
        double grad_clip; // 0: off
        double beta1, beta2, eps, rm_k0, rm_power;
    } opt;
    struct {
        int64_t representation, xi_set, xi_max_centers, xi_bins;
        double xi_center_threshold;
        double grad_mix;
        int64_t target_mode, target_period;
        double polyak;
        int64_t update_set, prior_select;
        bool group_by_prior;
        double lr, lr_prior;
        int64_t init_from, gpi_scope, loss_scale, next_action_current, next_action_prior;
    } sf;
    struct {
        int64_t tie;
    } gpi;
    struct {
        int64_t model;
        double alpha_w;
        double forgetting; // linear_rls
        int64_t mlp_hidden;
        double mlp_lr;
    } reward;
    struct {
        int64_t n, estimator;
        int64_t pivots; // 0: as many as the batch
        int64_t pivot_source, shortfall, next_action, key;
        double grid_pitch;
    } avg;
    struct {
        int64_t schedule;
        bool isolate_state;
        int64_t warmup;
    } tasks;
    struct {
        double lr;
        bool double_q, per_task; // keys dqn.double, dqn.per_task
        int64_t task_input;
        bool relabel;
        int64_t target_period; // 0: as sf.target_period
    } dqn;
    struct {
        int64_t episodes, horizon;
        double epsilon;
        int64_t reward;
    } eval;
    struct {
        int64_t residual_batch; // held-out transitions for the Bellman residual
        bool psi_error;         // four_rooms: error of psi against exact rollouts at each log step
    } diag;
    struct {
        char name[FGSF_TEXT_SIZE]; // auto|cpu|blas|a device of ggml's registry
    } device;
} fgsf_config;

typedef enum fgsf_key_type {
    FGSF_KEY_INT,
    FGSF_KEY_REAL,
    FGSF_KEY_BOOL,
    FGSF_KEY_CHOICE,
    FGSF_KEY_INT_LIST,
    FGSF_KEY_TEXT,
} fgsf_key_type;

// One row of the key table.
typedef struct fgsf_key {
    const char *name; // "sf.grad_mix"
    fgsf_key_type type;
    size_t offset;        // into fgsf_config
    const char *fallback; // the default, as text
    double min, max;      // range of INT and REAL
    const char *choices;  // "a|b|c" of CHOICE; of INT, a word that stands for 0
    const char *doc;      // one sentence
} fgsf_key;

// One value that an environment, a preset or a method sets; NULL matches every preset or method.
typedef struct fgsf_setting {
    const char *preset, *method, *key, *value;
} fgsf_setting;

// Returns the key table and stores its length.
FGSF_API const fgsf_key *fgsf_config_keys(size_t *count);

// Fills a configuration with defaults, then the environment's, the preset's and the method's values.
// Without an environment (NULL or "") its table is left out.
FGSF_API fgsf_status fgsf_config_resolve(const char *env, const char *preset, const char *method,
                                         fgsf_config *out);

// Sets one key from text; `source` (a file, "--set") only appears in messages. An unknown key is an
// error that suggests the nearest one.
FGSF_API fgsf_status fgsf_config_set(fgsf_config *cfg, const char *key, const char *value,
                                     const char *source);

// Writes one key's value as text into `buffer`.
FGSF_API fgsf_status fgsf_config_get(const fgsf_config *cfg, const char *key, char *buffer,
                                     size_t size);

// Sets every key found in a JSON file, flat ("sf.lr": 1) or nested ({"sf": {"lr": 1}}). All or
// nothing: `cfg` is unchanged when any key is refused.
FGSF_API fgsf_status fgsf_config_load(fgsf_config *cfg, const char *path);

// As fgsf_config_load, from text; `source` names it in messages.
FGSF_API fgsf_status fgsf_config_parse(fgsf_config *cfg, const char *text, const char *source);

// Checks the combinations that single ranges cannot: what contradicts what, and why.
FGSF_API fgsf_status fgsf_config_validate(const fgsf_config *cfg);

// Returns the configuration as flat JSON text, to be freed with free(); NULL when out of memory.
// Loading it gives the same configuration back, bit for bit.
FGSF_API char *fgsf_config_to_json(const fgsf_config *cfg);

// Returns a 64-bit hash of everything that decides a run's numbers except its seed.
FGSF_API uint64_t fgsf_config_hash(const fgsf_config *cfg);

// Returns true for dqn and fg-dqn.
FGSF_API bool fgsf_config_is_dqn(const fgsf_config *cfg);

FGSF_END_DECLS
#endif
