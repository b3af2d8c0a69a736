// Every configuration key, and the values that presets and methods give to them.
//
// This file is data. A key is one row of fgsf_key_table; what a preset means is the two tables
// after it. Sizes (steps, tasks, batch, epsilon, gamma, horizon, buffer) are in neither: they
// belong to the environment's own table, so that a preset never changes how long a run is.
#include "config_table.h"

#define AT(field) offsetof(fgsf_config, field)
#define INT(key, field, fallback, min, max, doc)                                                   \
    { key, FGSF_KEY_INT, AT(field), fallback, min, max, NULL, doc }
#define REAL(key, field, fallback, min, max, doc)                                                  \
    { key, FGSF_KEY_REAL, AT(field), fallback, min, max, NULL, doc }
#define BOOL(key, field, fallback, doc)                                                            \
    { key, FGSF_KEY_BOOL, AT(field), fallback, 0, 1, NULL, doc }
#define CHOICE(key, field, fallback, choices, doc)                                                 \
    { key, FGSF_KEY_CHOICE, AT(field), fallback, 0, 0, choices, doc }
#define TEXT(key, field, fallback, doc)                                                            \
    { key, FGSF_KEY_TEXT, AT(field), fallback, 0, 0, NULL, doc }
#define WIDTHS(key, field, fallback, max, doc)                                                     \
    { key, FGSF_KEY_INT_LIST, AT(field), fallback, 1, max, NULL, doc }

#define SEED_MAX 9007199254740991.0 // the largest integer that JSON's numbers hold exactly
#define MANY 1e9

const fgsf_key fgsf_key_table[] = {
    INT("seed", seed, "0", 0, SEED_MAX, "Seed of every random stream of the run."),
    CHOICE("method", method, "fg-sfrql",
           "dqn|fg-dqn|sfrql|fg-sfrql|fg-sfrql-random|fg-sfrql-average|fg-sfrql-seq-average",
           "Method whose values were resolved; recorded, and read by the trainer."),
    CHOICE("preset", preset, "clean", "clean|compat|paper",
           "Preset whose values were resolved: ours, the authors' code, or the paper's listings."),

    TEXT("env.name", env.name, "", "Environment: four_rooms, reacher or point_maze."),
    INT("env.num_tasks", env.num_tasks, "1", 1, 1000, "Tasks to train on, in order."),
    TEXT("env.map", env.map, "",
         "Four Rooms, PointMaze: a text file with a map; empty for a built-in one."),
    TEXT("env.layout", env.layout, "umaze", "PointMaze without env.map: umaze, medium or large."),
    REAL("env.slip", env.slip, "0", 0, 1,
         "Probability that the action is replaced by a uniform one."),
    REAL("env.step_cost", env.step_cost, "0", -1e6, 1e6,
         "Four Rooms: subtracted from the reward of a step that collects nothing."),
    TEXT("env.goals", env.goals, "",
         "Goals as places `row,col` or `@x,y` (metres) with semicolons between; empty: built-in."),
    BOOL("env.goal_in_state", env.goal_in_state, "true",
         "PointMaze: append the goal's position to the encoded state."),
    REAL("env.goal_noise", env.goal_noise, "0", 0, 0.5,
         "PointMaze: uniform noise on the goal at each reset, in metres, unseen by features."),
    BOOL("env.terminate_on_goal", env.terminate_on_goal, "false",
         "PointMaze: end the episode within 0.45 of the goal."),
    CHOICE("env.reacher_dynamics", env.reacher_dynamics, "bullet", "bullet|gymnasium",
           "Reacher: arm of pybullet-gym (the authors') or of Gymnasium."),
    BOOL("env.reacher_target_in_state", env.reacher_target_in_state, "false",
         "Reacher: append the target's position to the encoded state."),
    BOOL("env.reacher_lag", env.reacher_lag, "false",
         "Reacher: reward and features from the state before the step, as the authors' code."),

    REAL("train.gamma", train.gamma, "0.95", 0, 0.999999, "Discount."),
    INT("train.batch_size", train.batch_size, "64", 1, 1e6, "Transitions per update."),
    INT("train.steps_per_task", train.steps_per_task, "10000", 1, MANY,
        "Environment steps per task."),
    INT("train.horizon", train.horizon, "200", 1, MANY,
        "Steps after which an episode is cut, which is not a terminal."),
    INT("train.buffer_capacity", train.buffer_capacity, "200000", 1, MANY,
        "Transitions that the replay ring holds."),
    BOOL("train.buffer_reset_on_task", train.buffer_reset_on_task, "false",
         "Empty the replay ring when a new task starts."),
    INT("train.log_every", train.log_every, "200", 1, MANY, "Steps between rows of train.csv."),
    INT("train.checkpoint_every", train.checkpoint_every, "1000", 1, MANY,
        "Steps between checkpoints."),
    REAL("train.divergence_limit", train.divergence_limit, "1e10", 1e-300, 1e300,
         "A loss above it (or one that is not a number) ends the run as diverged."),

    REAL("explore.epsilon", explore.epsilon, "0.6", 0, 1,
         "Probability of a uniform action while training; constant."),

    WIDTHS("net.hidden", net.hidden, "256,256", 65536, "Widths of the hidden layers."),
    CHOICE("net.activation", net.activation, "relu", "relu|silu", "Activation of hidden layers."),
    BOOL("net.bias", net.bias, "true", "Give every layer a bias."),
    CHOICE("net.init", net.init, "normal_fan_in", "normal_fan_in|uniform_fan_in|zeros",
           "Initial weights: N(0, 1/fan_in), U(+-1/sqrt(fan_in)) with biases alike, or zero."),

    CHOICE("opt.kind", opt.kind, "adam", "adam|sgd|sgd_rm",
           "Optimiser; sgd_rm steps with lr (k0/(k0+k))^p (Robbins-Monro)."),
    REAL("opt.grad_clip", opt.grad_clip, "1", 0, 1e30,
         "Largest L2 norm of one network's gradient; 0 turns clipping off."),
    REAL("opt.beta1", opt.beta1, "0.9", 0, 0.999999999, "Adam: decay of the first moment."),
    REAL("opt.beta2", opt.beta2, "0.999", 0, 0.999999999, "Adam: decay of the second moment."),
    REAL("opt.eps", opt.eps, "1e-8", 1e-30, 1, "Adam: term that keeps the division finite."),
    REAL("opt.rm_k0", opt.rm_k0, "1000", 1e-9, MANY, "sgd_rm: step at which the decay sets in."),
    REAL("opt.rm_power", opt.rm_power, "0.75", 0, 1,
         "sgd_rm: power of the decay; convergence theory wants (0.5, 1]."),

    CHOICE("sf.representation", sf.representation, "psi", "psi|xi",
           "Expected discounted features (psi) or probabilities over a finite feature set (xi)."),
    CHOICE("sf.xi_set", sf.xi_set, "prototypes", "exact|bins|prototypes",
           "xi: the environment's own finite set, uniform bins, or prototypes found on the way."),
    INT("sf.xi_max_centers", sf.xi_max_centers, "64", 1, 65536, "xi prototypes: most centres."),
    INT("sf.xi_bins", sf.xi_bins, "8", 1, 4096, "xi bins: bins per feature."),
    REAL("sf.xi_center_threshold", sf.xi_center_threshold, "0.05", 0, 1e9,
         "xi prototypes: distance beyond which a feature vector becomes a new centre."),
    REAL("sf.grad_mix", sf.grad_mix, "1", 0, 1,
         "Share of the gradient through the bootstrap term: 0 semi-gradient, 1 full gradient."),
    CHOICE("sf.target_mode", sf.target_mode, "none", "none|hard|polyak",
           "Target network: none, copied every target_period updates, or averaged."),
    INT("sf.target_period", sf.target_period, "1000", 1, MANY, "Updates between hard copies."),
    REAL("sf.polyak", sf.polyak, "0.005", 1e-9, 1, "Step of the Polyak average."),
    CHOICE("sf.update_set", sf.update_set, "i_and_c", "i_and_c|all|i_only",
           "Networks that one step updates: task and prior, every seen task, or the task alone."),
    CHOICE("sf.prior_select", sf.prior_select, "next_state", "next_state|current_state",
           "State at which the prior c is chosen: s' or s."),
    BOOL("sf.group_by_prior", sf.group_by_prior, "false",
         "One optimiser step per group of samples with the same prior, as the authors' code."),
    REAL("sf.lr", sf.lr, "1e-3", 0, 1e3, "Learning rate of the current task's network."),
    REAL("sf.lr_prior", sf.lr_prior, "1e-5", 0, 1e3, "Learning rate of the other networks."),
    CHOICE("sf.init_from", sf.init_from, "fresh", "fresh|previous",
           "A new task's network: random, or a copy of the previous task's."),
    CHOICE("sf.gpi_scope", sf.gpi_scope, "seen", "seen|all",
           "Policies that GPI ranges over: tasks added so far, or all."),
    CHOICE("sf.loss_scale", sf.loss_scale, "half_mean",
           "half_mean|mean|sum|double_sum|mean_actions",
           "Scale of the squared residual; mean_actions divides by the number of actions too."),
    CHOICE("sf.next_action_current", sf.next_action_current, "gpi", "gpi|own|own_mean",
           "Bootstrap action of the current task's network."),
    CHOICE("sf.next_action_prior", sf.next_action_prior, "own", "gpi|own|own_mean",
           "Bootstrap action of the other networks."),

    CHOICE("gpi.tie", gpi.tie, "first", "first|random|hull",
           "Equal values (1e-6 relative): lowest index, a random one, or all averaged."),

    CHOICE("reward.model", reward.model, "linear_nlms",
           "known|linear_lms|linear_nlms|linear_rls|mlp",
           "How a task's reward is learned from features, or that it is given."),
    REAL("reward.alpha_w", reward.alpha_w, "0.5", 1e-12, 1e3, "LMS and NLMS: step size."),
    REAL("reward.forgetting", reward.forgetting, "1", 1e-3, 1, "RLS: forgetting factor."),
    INT("reward.mlp_hidden", reward.mlp_hidden, "128", 1, 65536,
        "MLP: width of the hidden SiLU layer."),
    REAL("reward.mlp_lr", reward.mlp_lr, "1e-3", 0, 1e3, "MLP: Adam's learning rate."),

    INT("avg.n", avg.n, "1", 1, 1e6, "Transitions averaged per pivot; 1 turns averaging off."),
    CHOICE("avg.estimator", avg.estimator, "shared", "shared|critic_only|split",
           "Samples of residual and gradient factor: the same, one for the gradient, or disjoint."),
    {"avg.pivots", FGSF_KEY_INT, AT(avg.pivots), "batch", 0, 1e6, "batch",
     "Pivots per update; batch means train.batch_size."},
    CHOICE("avg.pivot_source", avg.pivot_source, "replay", "replay|current",
           "Pivots drawn from the replay ring, or the transition just made."),
    CHOICE("avg.shortfall", avg.shortfall, "use_available", "use_available|replace|skip",
           "Fewer than avg.n stored: use them, draw with replacement, or skip the pivot."),
    CHOICE("avg.next_action", avg.next_action, "gpi", "gpi|own_mean|policy_c_at_mean",
           "Bootstrap action when averaging."),
    CHOICE("avg.key", avg.key, "exact", "exact|grid",
           "When two states are the same: equal bytes, or the same grid cell."),
    REAL("avg.grid_pitch", avg.grid_pitch, "0.05", 1e-12, 1e9, "Pitch of that grid."),

    CHOICE("tasks.schedule", tasks.schedule, "sequential", "sequential|random_step|random_episode",
           "Tasks one after another, or drawn anew at each step or episode."),
    BOOL(
        "tasks.isolate_state", tasks.isolate_state, "true",
        "Random schedules: each task keeps its own state; false mixes them, as the authors' code."),
    CHOICE("tasks.warmup", tasks.warmup, "uniform", "uniform|first_task",
           "Random schedules: tasks of the steps before the first update."),

    REAL("dqn.lr", dqn.lr, "1e-3", 0, 1e3, "Learning rate of dqn and fg-dqn."),
    BOOL("dqn.double", dqn.double_q, "false",
         "Choose the bootstrap action by the online network, value it by the target network."),
    BOOL("dqn.per_task", dqn.per_task, "true", "A fresh network for each task."),
    CHOICE("dqn.task_input", dqn.task_input, "none", "none|onehot|w",
           "Append the task to the network's input: one-hot, or its reward weights."),
    BOOL("dqn.relabel", dqn.relabel, "false",
         "Recompute replayed rewards from stored features for the task being trained."),
    INT("dqn.target_period", dqn.target_period, "0", 0, MANY,
        "Updates between hard copies for dqn; 0 means sf.target_period."),

    INT("eval.episodes", eval.episodes, "20", 0, 1e6, "Evaluation episodes per task."),
    INT("eval.horizon", eval.horizon, "100", 1, MANY, "Steps of an evaluation episode."),
    REAL("eval.epsilon", eval.epsilon, "0", 0, 1, "Probability of a uniform evaluation action."),
    CHOICE("eval.reward", eval.reward, "learned", "learned|true",
           "Reward that evaluation acts on: the learned model, or the task's true one."),

    INT("diag.residual_batch", diag.residual_batch, "256", 0, 1e6,
        "Held-out transitions for the Bellman residual; 0 turns it off."),
    BOOL("diag.psi_error", diag.psi_error, "false",
         "Four Rooms: log the error of psi against exact rollouts."),

    TEXT("device.name", device.name, "auto", "Compute device: auto, cpu, blas or a ggml device."),
};
const size_t fgsf_key_count = sizeof fgsf_key_table / sizeof *fgsf_key_table;

// What a preset sets for every method. What it sets for one environment is in that environment's
// table.
const fgsf_setting fgsf_preset_table[] = {
    {"compat", NULL, "avg.next_action", "own_mean"},
    {"compat", NULL, "tasks.warmup", "first_task"},
    {"compat", NULL, "eval.episodes", "10"},
    {"compat", NULL, "eval.epsilon", "0.03"},
    {"compat", NULL, "eval.reward", "true"},

    {"paper", NULL, "opt.kind", "sgd_rm"},
    {"paper", NULL, "opt.grad_clip", "0"},
    {"paper", NULL, "gpi.tie", "hull"},
    {"paper", NULL, "avg.next_action", "policy_c_at_mean"},
    {"paper", NULL, "eval.episodes", "10"},
};
const size_t fgsf_preset_count = sizeof fgsf_preset_table / sizeof *fgsf_preset_table;

#define ALL "clean compat paper"
#define OURS "clean paper" // the listings say nothing else
#define EACH(v)                                                                                    \
    { v, v, v, v, v, v, v }
#define SF(v)                                                                                      \
    { NULL, NULL, v, v, v, v, v }
#define DQN(dqn, fg)                                                                               \
    { dqn, fg, NULL, NULL, NULL, NULL, NULL }
#define AVERAGING(v)                                                                               \
    { NULL, NULL, NULL, NULL, NULL, v, v }

// What a preset sets per method:
//     dqn, fg-dqn, sfrql, fg-sfrql, fg-sfrql-random, fg-sfrql-average, fg-sfrql-seq-average
const fgsf_method_row fgsf_method_table[] = {
    {"sf.representation", "clean compat", SF("psi")},
    {"sf.representation", "paper", SF("xi")},
    {"sf.grad_mix", ALL, {"0", "1", "0", "1", "1", "1", "1"}},
    {"sf.target_mode", OURS, EACH("none")},
    {"sf.target_mode", "compat", {"hard", "none", "hard", "none", "none", "none", "none"}},
    {"sf.target_period", ALL, {"1000", NULL, "1000", NULL, NULL, NULL, NULL}},
    {"sf.update_set", OURS, SF("i_and_c")},
    {"sf.update_set", "compat", {NULL, NULL, "all", "i_and_c", "i_and_c", "i_and_c", "i_and_c"}},
    {"sf.prior_select", "clean compat", SF("next_state")},
    {"sf.prior_select",
     "paper",
     {NULL, NULL, "current_state", "current_state", "next_state", "next_state", "current_state"}},
    {"sf.group_by_prior", OURS, SF("false")},
    {"sf.group_by_prior", "compat", {NULL, NULL, "false", "true", "true", "false", "false"}},
    {"sf.lr", ALL, SF("1e-3")},
    {"sf.lr_prior", "clean", SF("1e-5")},
    {"sf.lr_prior", "compat", {NULL, NULL, "1e-3", "1e-5", "1e-5", "1e-5", "1e-5"}},
    {"sf.lr_prior", "paper", SF("1e-3")},
    {"sf.init_from", "clean compat", SF("fresh")},
    {"sf.init_from", "paper", {NULL, NULL, "previous", "previous", "fresh", "fresh", "previous"}},
    {"sf.gpi_scope", ALL, {NULL, NULL, "seen", "seen", "all", "all", "seen"}},
    {"sf.loss_scale", "clean", EACH("half_mean")},
    {"sf.loss_scale",
     "compat",
     {"mean_actions", "mean", "mean", "half_mean", "half_mean", "half_mean", "half_mean"}},
    {"sf.loss_scale",
     "paper",
     {"half_mean", "half_mean", "sum", "sum", "sum", "double_sum", "double_sum"}},
    {"sf.next_action_prior", OURS, SF("own")},
    {"sf.next_action_prior", "compat", {NULL, NULL, "gpi", "own", "own", "own_mean", "own_mean"}},
    {"opt.grad_clip", "clean", EACH("1")},
    {"opt.grad_clip", "compat", {"0", "0", "1", "1", "1", "1", "1"}},
    {"dqn.lr", OURS, DQN("1e-3", "1e-3")},
    {"dqn.lr", "compat", DQN("0.5", "0.5")},
    {"dqn.double", OURS, DQN("false", "false")},
    {"dqn.double", "compat", DQN("true", "false")},
    {"dqn.per_task", OURS, DQN("true", "true")},
    {"dqn.per_task", "compat", DQN("false", "false")},
    {"train.buffer_reset_on_task", OURS, DQN("true", "true")}, // a network per task, data alike
    {"net.hidden", OURS, EACH("256,256")},
    {"net.hidden",
     "compat",
     {"128,128", "128,128", "256,256", "256,256", "256,256", "256,256", "256,256"}},
    {"net.init", OURS, EACH("normal_fan_in")},
    {"net.init", "compat", DQN("uniform_fan_in", "uniform_fan_in")},
    {"reward.model", "clean", SF("linear_nlms")},
    {"reward.model", "compat paper", SF("linear_lms")},
    {"avg.n", ALL, {"1", "1", "1", "1", "1", "5", "5"}},
    {"avg.estimator", ALL, AVERAGING("shared")},
    {"avg.pivots", "clean", AVERAGING("batch")},
    {"avg.pivots", "compat paper", AVERAGING("1")},
    {"avg.pivot_source", OURS, AVERAGING("replay")},
    {"avg.pivot_source", "compat", {NULL, NULL, NULL, NULL, NULL, "replay", "current"}},
    {"avg.shortfall", "clean", AVERAGING("use_available")},
    {"avg.shortfall", "compat", AVERAGING("replace")},
    {"avg.shortfall", "paper", AVERAGING("skip")},
    {"tasks.schedule",
     ALL,
     {"sequential", "sequential", "sequential", "sequential", "random_step", "random_step",
      "sequential"}},
    {"tasks.isolate_state", OURS, EACH("true")},
    {"tasks.isolate_state", "compat", {"true", "true", "true", "true", "false", "false", "true"}},
};
const size_t fgsf_method_count = sizeof fgsf_method_table / sizeof *fgsf_method_table;
