// Combinations of keys that contradict each other, and why. Ranges of single keys are checked by the
// key table; what is merely unused (avg.* without averaging, dqn.* without DQN) is no error.
#include "fgsf/config.h"

#include <string.h>

#include "config_table.h"
#include "fgsf/env.h"

typedef long long ll;

static bool is_random(const fgsf_config *cfg) {
    return cfg->tasks.schedule != FGSF_SEQUENTIAL;
}

static bool has_reward_of_features(const fgsf_env_def *def) {
    return !def || def->task_weights || def->task_reward;
}

static fgsf_status refuse(const char *message) {
    return fgsf_fail(FGSF_ERR_INVALID, "%s", message);
}

static fgsf_status check_sizes(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    ll batch = cfg->train.batch_size, capacity = cfg->train.buffer_capacity;
    if (batch > capacity) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "train.batch_size %lld is larger than train.buffer_capacity %lld: no "
                         "update would ever run",
                         batch, capacity);
    }
    bool reset = cfg->train.buffer_reset_on_task;
    ll stored = cfg->train.steps_per_task * (reset ? 1 : cfg->env.num_tasks);
    if (batch > stored) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "train.batch_size %lld is larger than the %lld steps of %s: no update "
                         "would ever run",
                         batch, stored, reset ? "a task (the buffer is reset)" : "the run");
    }
    return FGSF_OK;
}

static fgsf_status check_representation(const fgsf_config *cfg, const fgsf_env_def *def) {
    if (fgsf_config_is_dqn(cfg)) return FGSF_OK;
    bool xi = cfg->sf.representation == FGSF_XI;
    if (!xi && cfg->reward.model == FGSF_REWARD_MLP) {
        return refuse("sf.representation=psi with reward.model=mlp: R(E sum phi) is not E sum "
                      "R(phi), so a nonlinear reward cannot score psi; set sf.representation=xi");
    }
    if (xi && cfg->sf.xi_set == FGSF_XI_EXACT && def && !def->feature_set) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "sf.xi_set=exact: %s has no finite feature set; use prototypes or bins",
                         def->name);
    }
    if (cfg->reward.model == FGSF_REWARD_KNOWN && !has_reward_of_features(def)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.model=known: %s does not give its reward as a function of phi",
                         def->name);
    }
    if (cfg->reward.model == FGSF_REWARD_KNOWN && !xi && def && !def->task_weights) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.model=known with sf.representation=psi: %s has no linear reward",
                         def->name);
    }
    if (cfg->reward.model == FGSF_REWARD_LINEAR_NLMS && cfg->reward.alpha_w >= 2) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.alpha_w %g with linear_nlms: steps of 2 or more do not converge",
                         cfg->reward.alpha_w);
    }
    return FGSF_OK;
}

static fgsf_status check_target(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (cfg->sf.target_mode != FGSF_TARGET_NONE && cfg->sf.grad_mix != 0) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "sf.target_mode with sf.grad_mix %g: the bootstrap term's gradient is "
                         "taken through the trained network, and a target network has none; set "
                         "sf.target_mode=none or sf.grad_mix=0",
                         cfg->sf.grad_mix);
    }
    return FGSF_OK;
}

static fgsf_status check_updates(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (fgsf_config_is_dqn(cfg)) return FGSF_OK;
    if (cfg->sf.group_by_prior && cfg->sf.update_set != FGSF_UPDATE_I_AND_C) {
        return refuse("sf.group_by_prior needs sf.update_set=i_and_c: a group is the samples whose "
                      "prior is updated with the task");
    }
    bool at_once = is_random(cfg) || cfg->sf.gpi_scope == FGSF_SCOPE_ALL;
    if (cfg->sf.init_from == FGSF_INIT_PREVIOUS && at_once) {
        return refuse("sf.init_from=previous with a random tasks.schedule or sf.gpi_scope=all: all "
                      "tasks start at once, so there is no trained network to copy");
    }
    return FGSF_OK;
}

static fgsf_status check_average(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (cfg->avg.estimator == FGSF_SPLIT && cfg->avg.n < 2) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "avg.estimator=split needs avg.n >= 2 (it is %lld): the residual and the "
                         "gradient factor take disjoint samples",
                         (ll)cfg->avg.n);
    }
    if (cfg->avg.n < 2) return FGSF_OK;
    // FG-DQN averages over equal (s, a) too, but its samples carry rewards.
    bool one_task = cfg->env.num_tasks == 1 || cfg->train.buffer_reset_on_task || cfg->dqn.relabel;
    if (fgsf_config_is_dqn(cfg) && !one_task) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "avg.n %lld with dqn: samples of one (s, a) would mix the rewards of "
                         "several tasks; set train.buffer_reset_on_task=true or dqn.relabel=true",
                         (ll)cfg->avg.n);
    }
    if (cfg->avg.n > cfg->train.buffer_capacity) {
        return fgsf_fail(FGSF_ERR_INVALID, "avg.n %lld is larger than train.buffer_capacity %lld",
                         (ll)cfg->avg.n, (ll)cfg->train.buffer_capacity);
    }
    if (cfg->avg.pivot_source == FGSF_PIVOT_CURRENT && cfg->avg.pivots != 1) {
        return refuse("avg.pivot_source=current needs avg.pivots=1: the transition just made is "
                      "one pivot");
    }
    if (cfg->sf.group_by_prior) {
        return refuse("sf.group_by_prior with avg.n > 1: groups are of replayed samples, and "
                      "averaging draws pivots instead");
    }
    return FGSF_OK;
}

static fgsf_status check_schedule(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (is_random(cfg) && cfg->train.buffer_reset_on_task) {
        return refuse("train.buffer_reset_on_task with a random tasks.schedule would empty the "
                      "buffer at every draw");
    }
    return FGSF_OK;
}

static fgsf_status check_dqn(const fgsf_config *cfg, const fgsf_env_def *def) {
    if (!fgsf_config_is_dqn(cfg)) return FGSF_OK;
    bool reset = cfg->train.buffer_reset_on_task;
    if (cfg->dqn.double_q && cfg->sf.target_mode == FGSF_TARGET_NONE) {
        return refuse("dqn.double needs sf.target_mode hard or polyak: without a target network "
                      "one network both chooses and values, which is plain DQN");
    }
    if (cfg->dqn.per_task && cfg->dqn.task_input != FGSF_TASK_INPUT_NONE) {
        return refuse("dqn.task_input with dqn.per_task=true: each network sees one task, so the "
                      "input would be constant; set dqn.per_task=false");
    }
    if (cfg->dqn.per_task && !reset && !cfg->dqn.relabel && cfg->env.num_tasks > 1) {
        return refuse("dqn.per_task=true needs train.buffer_reset_on_task=true or "
                      "dqn.relabel=true: else a task's network learns from other tasks' rewards");
    }
    if (cfg->dqn.relabel && reset) {
        return refuse("dqn.relabel with train.buffer_reset_on_task=true: no other task's "
                      "transition is left to relabel");
    }
    if (cfg->dqn.relabel && !has_reward_of_features(def)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "dqn.relabel: %s does not give its reward as a function of phi",
                         def->name);
    }
    if (cfg->dqn.task_input == FGSF_TASK_INPUT_W && def && !def->task_weights) {
        return fgsf_fail(FGSF_ERR_INVALID, "dqn.task_input=w: %s has no linear reward", def->name);
    }
    return FGSF_OK;
}

static fgsf_status check_diagnostics(const fgsf_config *cfg, const fgsf_env_def *def) {
    if (!cfg->diag.psi_error) return FGSF_OK;
    if (!def || strcmp(def->name, "four_rooms") != 0) {
        return refuse("diag.psi_error is for env.name=four_rooms, whose rollouts are exact");
    }
    if (cfg->env.slip > 0) {
        return refuse("diag.psi_error needs env.slip=0: one rollout is exact only without chance");
    }
    if (fgsf_config_is_dqn(cfg)) return refuse("diag.psi_error: dqn learns no psi");
    return FGSF_OK;
}

static fgsf_status (*const checks[])(const fgsf_config *, const fgsf_env_def *) = {
    check_sizes,   check_representation, check_target, check_updates,
    check_average, check_schedule,       check_dqn,    check_diagnostics,
};

fgsf_status fgsf_config_validate(const fgsf_config *cfg) {
    if (!cfg) return refuse("fgsf_config_validate: the configuration is NULL");
    for (size_t i = 0; i < fgsf_key_count; i++) {
        fgsf_status status = fgsf_key_check(cfg, &fgsf_key_table[i]);
        if (status != FGSF_OK) return status;
    }
    const fgsf_env_def *def = fgsf_env_def_find(cfg->env.name);
    if (!def && cfg->env.name[0]) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.name: no environment is called '%.80s'",
                         cfg->env.name);
    }
    if (strcmp(cfg->device.name, "") == 0) return refuse("device.name is empty; use auto");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        fgsf_status status = checks[i](cfg, def);
        if (status != FGSF_OK) return status;
    }
    return FGSF_OK;
}
