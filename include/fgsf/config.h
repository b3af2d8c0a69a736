// Every choice of a run as one plain struct, and the one table that defines its keys.
//
//     fgsf_config cfg;
//     fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg);   // defaults to method
//     fgsf_config_load(&cfg, "my.json");                              // --config
//     fgsf_config_set(&cfg, "sf.lr", "3e-4", "--set");                // --set
//     fgsf_config_validate(&cfg);
//
// Later steps win: defaults < environment < preset < method < --config < --set. A key's type,
// default, range, choices and documentation are rows of one table (fgsf_config_keys), or of the table of
// the environment that env.name names. Validation, --list-keys, --print-config and docs/config.md are made
// from them.
#ifndef FGSF_CONFIG_H
#define FGSF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/key.h"
#include "fgsf/learner.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

#define FGSF_SEED_MAX 9007199254740991 // the largest integer that JSON's numbers hold exactly
#define FGSF_ENV_PARAMS_SIZE 4096      // room for an environment's own parameters

// The order of each enum is the order of its choices in the key table.
enum fgsf_method {
    FGSF_DQN,
    FGSF_FG_DQN,
    FGSF_SFRQL,
    FGSF_FG_SFRQL,
    FGSF_FG_SFRQL_RANDOM,
    FGSF_FG_SFRQL_AVERAGE,
    FGSF_FG_SFRQL_SEQ_AVERAGE,
    FGSF_CORRECTED_DQN,   // as fg-dqn, but for the gradient
    FGSF_CORRECTED_SFRQL, // as fg-sfrql, but for the gradient
};
enum fgsf_preset { FGSF_CLEAN, FGSF_COMPAT, FGSF_PAPER };
enum fgsf_explore { FGSF_EXPLORE_CONSTANT, FGSF_EXPLORE_LINEAR };
enum fgsf_schedule { FGSF_SEQUENTIAL, FGSF_RANDOM_STEP, FGSF_RANDOM_EPISODE };
enum fgsf_warmup { FGSF_WARMUP_UNIFORM, FGSF_WARMUP_FIRST_TASK };
enum fgsf_eval_reward { FGSF_EVAL_LEARNED, FGSF_EVAL_TRUE };

// A resolved configuration. `learner` holds the learner's own parameters; fgsf_trainer_create fills in
// their sizes from the environment.
typedef struct fgsf_config {
    int64_t seed;
    enum fgsf_method method;
    enum fgsf_preset preset;
    struct {
        char name[FGSF_NAME_SIZE];
        int64_t num_tasks;
        double slip;
        bool centre_features;
    } env;
    struct {
        int64_t steps_per_task, horizon;
        bool buffer_reset_on_task;
        int64_t log_every, checkpoint_every;
    } train;
    struct {
        double epsilon;
        enum fgsf_explore schedule;
        double to;
        int64_t over;
    } explore;
    struct {
        enum fgsf_schedule schedule;
        bool isolate_state;
        enum fgsf_warmup warmup;
    } tasks;
    struct {
        int64_t episodes, horizon, every;
        double epsilon;
        enum fgsf_eval_reward reward;
    } eval;
    struct {
        int64_t residual_batch; // held-out transitions for the Bellman residual
        bool psi_error;         // error of psi against exact rollouts at each log step
    } diag;
    double dqn_lr;                 // the learner's lr where the representation is q
    char net_kind[FGSF_NAME_SIZE]; // a network definition
    fgsf_learner_params learner;
    // What the environment's own keys set, as its struct.
    union {
        unsigned char bytes[FGSF_ENV_PARAMS_SIZE];
        double align;
    } env_params;
} fgsf_config;

// Returns the key table and stores its length. The keys of environments are in their definitions.
FGSF_API const fgsf_key *fgsf_config_keys(size_t *count);

// Returns the i-th key of a configuration: those of the table, then those of its environment; NULL
// past the last.
FGSF_API const fgsf_key *fgsf_config_key_at(const fgsf_config *cfg, size_t i);

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

// Checks what no single range can: settings that contradict each other. The message says why.
FGSF_API fgsf_status fgsf_config_validate(const fgsf_config *cfg);

// Returns the configuration as flat JSON text, to be freed with free(); NULL when out of memory.
// Loading it gives the same configuration back, bit for bit.
FGSF_API char *fgsf_config_to_json(const fgsf_config *cfg);

// Returns a 64-bit hash of everything that decides a run's numbers except its seed and device.
FGSF_API uint64_t fgsf_config_hash(const fgsf_config *cfg);

// Returns whether a setting can change a result; `key` ends at '=' or at its end. Names (seed, method,
// preset, env.name), logging, diagnostics and devices cannot.
FGSF_API bool fgsf_config_counts(const char *key);

// Returns the settings that count and are not what environment, preset and method set, such as
// "env.slip=0.1, sf.lr=0.0003", to be freed with free(); "" for none. NULL when out of memory or when
// the environment is not registered; the last error says which.
FGSF_API char *fgsf_config_changes(const fgsf_config *cfg);

// Fills in the parameters of a learner from the keys. The sizes stay 0; fgsf_trainer_create takes them
// from the environment.
FGSF_API fgsf_status fgsf_config_learner(const fgsf_config *cfg, fgsf_learner_params *out);

// Returns the probability of a uniform action after `steps` training steps of a task (explore.*).
FGSF_API double fgsf_config_epsilon(const fgsf_config *cfg, int64_t steps);

// Makes a configuration from the parameters of a learner; for archives.
FGSF_API fgsf_status fgsf_config_from_learner(const fgsf_learner_params *params, fgsf_config *out);

FGSF_END_DECLS
#endif
