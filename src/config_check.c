// Combinations of keys that contradict each other, and why. Ranges of single keys are checked by the
// key table; what is merely unused (avg.* without averaging, dqn.* without DQN) is no error.
#include "fgsf/config.h"

#include <string.h>

#include "config_table.h"
#include "fgsf/env.h"

typedef long long ll;

static bool is_q(const fgsf_config *cfg) {
    return cfg->learner.agent.representation == FGSF_Q;
}

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
    ll batch = cfg->learner.batch_size, capacity = cfg->learner.buffer_capacity;
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
    if (is_q(cfg)) return FGSF_OK;
    bool xi = cfg->learner.agent.representation == FGSF_XI;
    if (!xi && cfg->learner.reward.model == FGSF_REWARD_MLP) {
        return refuse("representation=psi with reward.model=mlp: R(E sum phi) is not E sum "
                      "R(phi), so a nonlinear reward cannot score psi; set representation=xi");
    }
    if (xi && cfg->learner.agent.xi.kind == FGSF_XI_EXACT && def && !def->feature_set) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "sf.xi_set=exact: %s has no finite feature set; use prototypes or bins",
                         def->name);
    }
    if (cfg->learner.reward.model == FGSF_REWARD_KNOWN && !has_reward_of_features(def)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.model=known: %s does not give its reward as a function of phi",
                         def->name);
    }
    if (cfg->learner.reward.model == FGSF_REWARD_KNOWN && !xi && def && !def->task_weights) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.model=known with representation=psi: %s has no linear reward",
                         def->name);
    }
    if (cfg->learner.reward.model == FGSF_REWARD_LINEAR_NLMS && cfg->learner.reward.alpha_w >= 2) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "reward.alpha_w %g with linear_nlms: steps of 2 or more do not converge",
                         cfg->learner.reward.alpha_w);
    }
    return FGSF_OK;
}

static fgsf_status check_gradient(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    enum fgsf_gradient_kind kind = cfg->learner.gradient.kind;
    fgsf_gradient_need need = fgsf_gradient_needs(kind);
    bool target = cfg->learner.target.mode != FGSF_TARGET_NONE;
    double eta = cfg->learner.gradient.eta;
    if (kind == FGSF_MIX && !(eta > 0.0 && eta < 1.0)) {
        return fgsf_fail(
            FGSF_ERR_INVALID,
            "gradient.kind=mix with gradient.eta=%g is %s: set gradient.eta between 0 and "
            "1, such as 0.5",
            eta, eta > 0.0 ? "full" : "semi");
    }
    if (target && !need.target_network && kind != FGSF_SEMI) {
        return refuse("target.mode with gradient.kind full, mix, corrected or gtd2: the bootstrap "
                      "term's gradient is taken through the trained network, and a target network "
                      "has none; set target.mode=none, or gradient.kind=semi, bidirectional or "
                      "convergent");
    }
    if (!target && need.target_network) {
        return refuse("gradient.kind bidirectional or convergent needs a target network: set "
                      "target.mode=hard or polyak");
    }
    if (need.error_network && cfg->learner.avg.n > 1) {
        return refuse(
            "gradient.kind corrected or gtd2 with avg.n > 1: the error network learns the "
            "mean that averaging estimates; set avg.n=1");
    }
    if (need.target_network && cfg->learner.avg.n > 1 &&
        cfg->learner.avg.estimator != FGSF_SHARED) {
        return refuse("gradient.kind bidirectional or convergent with avg.estimator critic_only or "
                      "split: their losses have one set of samples; set avg.estimator=shared");
    }
    return FGSF_OK;
}

static fgsf_status check_network(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    fgsf_learner_params params;
    return fgsf_config_learner(cfg, &params);
}

static fgsf_status check_updates(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (is_q(cfg)) return FGSF_OK;
    if (cfg->learner.group_by_prior && cfg->learner.update_set != FGSF_UPDATE_I_AND_C) {
        return refuse("sf.group_by_prior needs sf.update_set=i_and_c: a group is the samples whose "
                      "prior is updated with the task");
    }
    bool at_once = is_random(cfg) || cfg->learner.agent.scope == FGSF_SCOPE_ALL;
    if (cfg->learner.agent.init_from == FGSF_INIT_PREVIOUS && at_once) {
        return refuse("sf.init_from=previous with a random tasks.schedule or gpi.scope=all: all "
                      "tasks start at once, so there is no trained network to copy");
    }
    return FGSF_OK;
}

static fgsf_status check_average(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    if (cfg->learner.avg.estimator == FGSF_SPLIT && cfg->learner.avg.n < 2) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "avg.estimator=split needs avg.n >= 2 (it is %lld): the residual and the "
                         "gradient factor take disjoint samples",
                         (ll)cfg->learner.avg.n);
    }
    if (cfg->learner.avg.n < 2) return FGSF_OK;
    if (cfg->learner.avg.estimator == FGSF_SPLIT &&
        cfg->learner.avg.shortfall == FGSF_SHORTFALL_REPLACE) {
        return refuse(
            "avg.estimator=split with avg.shortfall=replace: draws with replacement would "
            "put the same sample into both halves");
    }
    // FG-DQN averages over equal (s, a) too, but its samples carry rewards.
    bool one_task =
        cfg->env.num_tasks == 1 || cfg->train.buffer_reset_on_task || cfg->learner.relabel;
    if (is_q(cfg) && !one_task) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "avg.n %lld with dqn: samples of one (s, a) would mix the rewards of "
                         "several tasks; set train.buffer_reset_on_task=true or dqn.relabel=true",
                         (ll)cfg->learner.avg.n);
    }
    if (cfg->learner.avg.n > cfg->learner.buffer_capacity) {
        return fgsf_fail(FGSF_ERR_INVALID, "avg.n %lld is larger than train.buffer_capacity %lld",
                         (ll)cfg->learner.avg.n, (ll)cfg->learner.buffer_capacity);
    }
    if (cfg->learner.avg.pivot_source == FGSF_PIVOT_CURRENT && cfg->learner.avg.pivots != 1) {
        return refuse("avg.pivot_source=current needs avg.pivots=1: the transition just made is "
                      "one pivot");
    }
    if (cfg->learner.group_by_prior) {
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
    if (!is_q(cfg)) return FGSF_OK;
    bool reset = cfg->train.buffer_reset_on_task;
    if (cfg->learner.target.double_q && cfg->learner.target.mode == FGSF_TARGET_NONE) {
        return refuse("target.double needs target.mode hard or polyak: without a target network "
                      "one network both chooses and values, which is plain DQN");
    }
    if (cfg->learner.agent.per_task && cfg->learner.agent.task_input != FGSF_TASK_INPUT_NONE) {
        return refuse("dqn.task_input with dqn.per_task=true: each network sees one task, so the "
                      "input would be constant; set dqn.per_task=false");
    }
    if (cfg->learner.agent.per_task && !reset && !cfg->learner.relabel && cfg->env.num_tasks > 1) {
        return refuse("dqn.per_task=true needs train.buffer_reset_on_task=true or "
                      "dqn.relabel=true: else a task's network learns from other tasks' rewards");
    }
    if (cfg->learner.relabel && reset) {
        return refuse("dqn.relabel with train.buffer_reset_on_task=true: no other task's "
                      "transition is left to relabel");
    }
    if (cfg->learner.relabel && !has_reward_of_features(def)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "dqn.relabel: %s does not give its reward as a function of phi",
                         def->name);
    }
    if (cfg->learner.agent.task_input == FGSF_TASK_INPUT_W && def && !def->task_weights) {
        return fgsf_fail(FGSF_ERR_INVALID, "dqn.task_input=w: %s has no linear reward", def->name);
    }
    return FGSF_OK;
}

static fgsf_status check_diagnostics(const fgsf_config *cfg, const fgsf_env_def *def) {
    if (cfg->eval.every > 0 && cfg->eval.episodes == 0) {
        return refuse("eval.every needs eval.episodes of at least 1: its rows are their means");
    }
    if (!cfg->diag.psi_error) return FGSF_OK;
    if (!def || !def->deterministic) {
        return refuse("diag.psi_error is for deterministic environments such as four_rooms, whose "
                      "rollouts are exact");
    }
    if (cfg->env.slip > 0) {
        return refuse("diag.psi_error needs env.slip=0: one rollout is exact only without chance");
    }
    if (is_q(cfg)) return refuse("diag.psi_error: dqn learns no psi");
    return FGSF_OK;
}

static fgsf_status check_centre(const fgsf_config *cfg, const fgsf_env_def *def) {
    (void)def;
    bool xi = cfg->learner.agent.representation == FGSF_XI;
    if (!cfg->env.centre_features || !xi) return FGSF_OK;
    return refuse("env.centre_features with representation=xi: a set of feature vectors has no "
                  "mean to subtract; set representation=psi");
}

static fgsf_status (*const checks[])(const fgsf_config *, const fgsf_env_def *) = {
    check_sizes,   check_representation, check_gradient, check_updates,     check_network,
    check_average, check_schedule,       check_dqn,      check_diagnostics, check_centre,
};

fgsf_status fgsf_config_validate(const fgsf_config *cfg) {
    if (!cfg) return refuse("fgsf_config_validate: the configuration is NULL");
    const fgsf_key *key;
    for (size_t i = 0; (key = fgsf_config_key_at(cfg, i)); i++) FGSF_TRY(fgsf_key_check(cfg, key));
    const fgsf_env_def *def = NULL;
    if (cfg->env.name[0]) FGSF_TRY(fgsf_env_require(cfg->env.name, &def));
    if (strcmp(cfg->learner.agent.device, "") == 0) return refuse("device.name is empty; use auto");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) FGSF_TRY(checks[i](cfg, def));
    return FGSF_OK;
}
