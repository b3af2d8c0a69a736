// Every configuration key, and the values that presets and methods give to them.
//
// This file is data. A key is one row of fgsf_key_table; what a preset means is the two tables
// after it. Sizes (steps, tasks, batch, epsilon, gamma, horizon, buffer) are in neither: they
// belong to the environment's own table, so that a preset never changes how long a run is.
#include "config_table.h"

#define AT(field) offsetof(fgsf_config, field)
#define SIZE(field) sizeof(((fgsf_config *)0)->field)
#define INT(key, field, fallback, min, max, doc)                                                   \
    { key, FGSF_KEY_INT, AT(field), fallback, min, max, NULL, doc }
#define REAL(key, field, fallback, min, max, doc)                                                  \
    { key, FGSF_KEY_REAL, AT(field), fallback, min, max, NULL, doc }
#define BOOL(key, field, fallback, doc)                                                            \
    { key, FGSF_KEY_BOOL, AT(field), fallback, 0, 1, NULL, doc }
#define CHOICE(key, field, fallback, choices, doc)                                                 \
    { key, FGSF_KEY_CHOICE, AT(field), fallback, 0, 0, choices, doc }
#define TEXT(key, field, fallback, doc)                                                            \
    { key, FGSF_KEY_TEXT, AT(field), fallback, 0, SIZE(field), NULL, doc }
#define WIDTHS(key, field, fallback, max, doc)                                                     \
    { key, FGSF_KEY_INT_LIST, AT(field), fallback, 1, max, NULL, doc }

#define MANY 1e9

const fgsf_key fgsf_key_table[] = {
    INT("seed", seed, "0", 0, FGSF_SEED_MAX, "Seed of every random stream of the run."),
    CHOICE("method", method, "fg-sfrql",
           "dqn|fg-dqn|sfrql|fg-sfrql|fg-sfrql-random|fg-sfrql-average|fg-sfrql-seq-average|"
           "corrected-dqn|corrected-sfrql",
           "The learning method; choose it with --methods."),
    CHOICE(
        "preset", preset, "clean", "clean|compat|paper",
        "The preset: ours, the authors' code, or the paper's listings; choose it with --preset."),
    CHOICE("representation", learner.agent.representation, "psi", "q|psi|xi",
           "What networks learn: Q (DQN), discounted features (psi) or probabilities over a finite "
           "feature set (xi)."),

    TEXT("env.name", env.name, "", "Environment: four_rooms, reacher, point_maze or a plugin's."),
    INT("env.num_tasks", env.num_tasks, "1", 1, 1000, "Tasks to train on, in order."),
    REAL("env.slip", env.slip, "0", 0, 1,
         "Probability that the action is replaced by a uniform one."),
    BOOL("env.centre_features", env.centre_features, "false",
         "Learn from phi - m, where m is the mean of phi over 10,000 uniformly random steps, and "
         "from the reward minus w m. For tasks that never end; their best policies do not change."),

    REAL("train.gamma", learner.gamma, "0.95", 0, 0.999999, "Discount."),
    INT("train.batch_size", learner.batch_size, "64", 1, 1e6, "Transitions per update."),
    INT("train.steps_per_task", train.steps_per_task, "10000", 1, MANY,
        "Environment steps per task."),
    INT("train.horizon", train.horizon, "200", 1, MANY,
        "Steps after which an episode is cut off; the last state does not count as terminal."),
    INT("train.buffer_capacity", learner.buffer_capacity, "200000", 1, MANY,
        "Transitions that the replay ring holds."),
    BOOL("train.buffer_reset_on_task", train.buffer_reset_on_task, "false",
         "Empty the replay ring when a new task starts."),
    INT("train.log_every", train.log_every, "200", 1, MANY, "Steps between rows of train.csv."),
    INT("train.checkpoint_every", train.checkpoint_every, "1000", 1, MANY,
        "Steps between checkpoints."),
    REAL("train.divergence_limit", learner.divergence_limit, "1e10", 1e-300, 1e300,
         "A loss above it (or one that is not a number) ends the run as diverged."),

    REAL("explore.epsilon", explore.epsilon, "0.6", 0, 1,
         "Probability of a uniform action while training; with explore.schedule=linear, the one at "
         "the start."),
    CHOICE("explore.schedule", explore.schedule, "constant", "constant|linear",
           "Constant, or linear from explore.epsilon to explore.to over explore.over steps of a "
           "task."),
    REAL("explore.to", explore.to, "0.05", 0, 1, "linear: the probability at the end."),
    INT("explore.over", explore.over, "10000", 1, MANY,
        "linear: steps of a task until explore.to is reached."),

    TEXT("net.kind", net_kind, "mlp",
         "Network definition: mlp, torso (one body for all policies) or a plugin's."),
    WIDTHS("net.hidden", learner.agent.net.num_hidden, "256,256", 65536,
           "Widths of the hidden layers."),
    CHOICE("net.activation", learner.agent.net.activation, "relu", "relu|silu|softplus",
           "Activation of hidden layers."),
    CHOICE("net.norm", learner.agent.net.norm, "none", "none|rms|layer",
           "Normalisation before each activation, with a learned scale (and shift for layer)."),
    BOOL("net.bias", learner.agent.net.bias, "true", "Give every layer a bias."),
    CHOICE("net.init", learner.agent.init, "normal_fan_in", "normal_fan_in|uniform_fan_in|zeros",
           "Initial weights: N(0, 1/fan_in), U(+-1/sqrt(fan_in)) for biases too, or zero."),

    CHOICE("opt.kind", learner.opt.kind, "adam", "adam|sgd|sgd_rm",
           "Optimiser; sgd_rm steps with lr (k0/(k0+k))^p (Robbins-Monro)."),
    REAL("opt.grad_clip", learner.opt.clip, "1", 0, 1e30,
         "Largest L2 norm of one network's gradient; 0 turns clipping off."),
    REAL("opt.beta1", learner.opt.beta1, "0.9", 0, 0.999999999, "Adam: decay of the first moment."),
    REAL("opt.beta2", learner.opt.beta2, "0.999", 0, 0.999999999,
         "Adam: decay of the second moment."),
    REAL("opt.eps", learner.opt.eps, "1e-8", 1e-30, 1,
         "Adam: term that keeps the division finite."),
    REAL("opt.rm_k0", learner.opt.rm_k0, "1000", 1e-9, MANY,
         "sgd_rm: step at which the decay begins to count."),
    REAL("opt.rm_power", learner.opt.rm_power, "0.75", 0, 1,
         "sgd_rm: power of the decay; convergence theory wants (0.5, 1]."),

    CHOICE("gradient.kind", learner.gradient.kind, "full",
           "semi|full|mix|corrected|gtd2|bidirectional|convergent",
           "Gradient of the Bellman error; docs/gradients.md says what each one is."),
    REAL("gradient.eta", learner.gradient.eta, "1", 0, 1,
         "Share of the gradient through the bootstrap term; semi and full do not use it."),
    REAL("gradient.h_rate", learner.gradient.h_rate, "1", 0, 1e6,
         "corrected, gtd2: learning rate of the error network, times that of its network."),
    REAL("gradient.h_beta", learner.gradient.h_beta, "0", 0, 1e6,
         "corrected, gtd2: weight decay of the error network, relative to |delta - h|^2 / 2."),
    CHOICE("target.mode", learner.target.mode, "none", "none|hard|polyak",
           "Target network: none, copied every target.period updates, or averaged."),
    INT("target.period", learner.target.period, "1000", 1, MANY, "Updates between hard copies."),
    REAL("target.polyak", learner.target.polyak, "0.005", 1e-9, 1, "Step of the Polyak average."),
    BOOL("target.double", learner.target.double_q, "true",
         "The trained network chooses the bootstrap action and the target network values it; if "
         "false, the target network does both."),
    CHOICE(
        "loss.scale", learner.loss_scale, "half_mean", "half_mean|mean|sum|double_sum|mean_actions",
        "Factor on sum w |delta|^2 for N pairs, F features, A actions: 1/(2NF), 1/(NF), 1/2, 1 or "
        "1/(NFA)."),

    CHOICE(
        "sf.xi_set", learner.agent.xi.kind, "prototypes", "exact|bins|prototypes",
        "xi: the environment's own finite set, uniform bins, or prototypes added while training."),
    INT("sf.xi_max_centers", learner.agent.xi.max_centers, "64", 1, 65536,
        "xi prototypes: largest number of centres."),
    INT("sf.xi_bins", learner.agent.xi.bins, "8", 1, 4096, "xi bins: bins per feature."),
    REAL("sf.xi_center_threshold", learner.agent.xi.center_threshold, "0.05", 0, 1e9,
         "xi prototypes: distance beyond which a feature vector becomes a new centre."),
    CHOICE("sf.update_set", learner.update_set, "i_and_c", "i_and_c|all|i_only",
           "Networks that one step updates: task and prior, every seen task, or the task alone."),
    CHOICE("sf.prior_select", learner.prior_select, "next_state", "next_state|current_state",
           "State at which the prior c is chosen: s' or s."),
    BOOL("sf.group_by_prior", learner.group_by_prior, "false",
         "One optimiser step per group of samples with the same prior, as in the authors' code."),
    REAL("sf.lr", learner.lr, "1e-3", 0, 1e3, "Learning rate of the current task's network."),
    REAL("sf.lr_prior", learner.lr_prior, "1e-5", 0, 1e3, "Learning rate of the other networks."),
    CHOICE("sf.init_from", learner.agent.init_from, "fresh", "fresh|previous",
           "A new task's network: random, or a copy of the previous task's."),
    CHOICE("sf.next_action_current", learner.next_action_current, "gpi", "gpi|own|own_mean",
           "Bootstrap action of the current task's network."),
    CHOICE("sf.next_action_prior", learner.next_action_prior, "own", "gpi|own|own_mean",
           "Bootstrap action of the other networks."),

    CHOICE("gpi.scope", learner.agent.scope, "seen", "seen|all|own",
           "Policies that GPI ranges over: tasks added so far, all, or the task's own (no GPI)."),
    CHOICE("gpi.tie", learner.agent.tie, "first", "first|random|hull",
           "Equal values (1e-6 relative): lowest index, a random one, or all averaged."),

    CHOICE("reward.model", learner.reward.model, "linear_nlms",
           "known|linear_lms|linear_nlms|linear_rls|mlp",
           "How a task's reward is learned from features; known: it is given."),
    REAL("reward.alpha_w", learner.reward.alpha_w, "0.5", 1e-12, 1e3, "LMS and NLMS: step size."),
    REAL("reward.forgetting", learner.reward.forgetting, "1", 1e-3, 1, "RLS: forgetting factor."),
    INT("reward.mlp_hidden", learner.reward.mlp_hidden, "128", 1, 65536,
        "MLP: width of the hidden SiLU layer."),
    REAL("reward.mlp_lr", learner.reward.mlp_lr, "1e-3", 0, 1e3, "MLP: Adam's learning rate."),

    INT("avg.n", learner.avg.n, "1", 1, 1e6,
        "Transitions averaged per pivot; 1 turns averaging off."),
    CHOICE("avg.estimator", learner.avg.estimator, "shared", "shared|critic_only|split",
           "Samples for the error and for its gradient: the same, one for the gradient, or "
           "disjoint ones."),
    {"avg.pivots", FGSF_KEY_INT, AT(learner.avg.pivots), "batch", 0, 1e6, "batch",
     "Pivots per update; batch means train.batch_size."},
    CHOICE("avg.pivot_source", learner.avg.pivot_source, "replay", "replay|current",
           "Pivots drawn from the replay ring, or the transition just made."),
    CHOICE("avg.shortfall", learner.avg.shortfall, "use_available", "use_available|replace|skip",
           "Fewer than avg.n stored: use them, draw with replacement, or skip the pivot."),
    INT("avg.min_stored", learner.avg.min_stored, "1", 1, MANY,
        "A pair takes part once this many of its transitions are stored."),
    CHOICE("avg.source", learner.avg.source, "stored", "stored|fresh",
           "Next states that are averaged: stored ones, or fresh ones, drawn by setting a copy of "
           "the environment to the pair's state."),
    CHOICE("avg.next_action", learner.avg.next_action, "gpi", "gpi|own_mean|policy_c_at_mean",
           "Bootstrap action when averaging."),
    CHOICE("avg.key", learner.avg.key, "exact", "exact|grid",
           "When two states are the same: equal bytes, or the same grid cell."),
    REAL("avg.grid_pitch", learner.avg.grid_pitch, "0.05", 1e-12, 1e9, "Pitch of that grid."),

    CHOICE("tasks.schedule", tasks.schedule, "sequential", "sequential|random_step|random_episode",
           "Tasks one after another, or a random task for each step or episode."),
    BOOL("tasks.isolate_state", tasks.isolate_state, "true",
         "Random schedules: each task keeps its own state; false mixes them, as the authors' code "
         "does."),
    CHOICE("tasks.warmup", tasks.warmup, "uniform", "uniform|first_task",
           "Random schedules: which tasks are played before the first update."),

    REAL("dqn.lr", dqn_lr, "1e-3", 0, 1e3, "Learning rate of dqn and fg-dqn."),
    BOOL("dqn.per_task", learner.agent.per_task, "true", "A fresh network for each task."),
    CHOICE("dqn.task_input", learner.agent.task_input, "none", "none|onehot|w",
           "Append the task to the network's input: one-hot, or its reward weights."),
    BOOL("dqn.relabel", learner.relabel, "false",
         "Recompute replayed rewards from stored features for the task being trained."),

    INT("eval.every", eval.every, "0", 0, MANY,
        "Steps between greedy evaluations while training (curve.csv); 0 turns them off."),
    INT("eval.episodes", eval.episodes, "20", 0, 1e6, "Evaluation episodes per task."),
    INT("eval.horizon", eval.horizon, "100", 1, MANY, "Steps of an evaluation episode."),
    REAL("eval.epsilon", eval.epsilon, "0", 0, 1, "Probability of a uniform evaluation action."),
    CHOICE("eval.reward", eval.reward, "learned", "learned|true",
           "Reward that evaluation acts on: the learned model, or the task's true one."),

    INT("diag.residual_batch", diag.residual_batch, "256", 0, 1e6,
        "Held-out transitions for the Bellman residual; 0 turns it off."),
    BOOL("diag.psi_error", diag.psi_error, "false",
         "Log the error of psi against exact rollouts; deterministic environments only."),

    TEXT("device.name", learner.agent.device, "auto",
         "Compute device: auto, cpu, blas or a ggml device."),
    INT("device.threads", learner.agent.threads, "1", 1, 1024,
        "Threads of one run, for its large matrix products; results do not depend on it."),
};
const size_t fgsf_key_count = sizeof fgsf_key_table / sizeof *fgsf_key_table;

// What other libraries call a key, for the message about an unknown one.
const char *const fgsf_synonym_table[][2] = {
    {"dqn.learning_rate", "dqn.lr"},
    {"learning_rate", "sf.lr"},
    {"alpha", "sf.lr"},
    {"step_size", "sf.lr"},
    {"learning_rate_prior", "sf.lr_prior"},
    {"discount", "train.gamma"},
    {"discount_factor", "train.gamma"},
    {"minibatch_size", "train.batch_size"},
    {"batch", "train.batch_size"},
    {"total_timesteps", "train.steps_per_task"},
    {"timesteps", "train.steps_per_task"},
    {"num_steps", "train.steps_per_task"},
    {"steps", "train.steps_per_task"},
    {"max_steps", "train.steps_per_task"},
    {"max_episode_steps", "train.horizon"},
    {"episode_length", "train.horizon"},
    {"buffer_size", "train.buffer_capacity"},
    {"replay_size", "train.buffer_capacity"},
    {"replay_buffer_size", "train.buffer_capacity"},
    {"memory_size", "train.buffer_capacity"},
    {"log_interval", "train.log_every"},
    {"save_freq", "train.checkpoint_every"},
    {"save_every", "train.checkpoint_every"},
    {"eval_freq", "eval.every"},
    {"n_eval_episodes", "eval.episodes"},
    {"exploration", "explore.epsilon"},
    {"exploration_rate", "explore.epsilon"},
    {"adam.eps", "opt.eps"},
    {"eps", "explore.epsilon"},
    {"eps_start", "explore.epsilon"},
    {"exploration_initial_eps", "explore.epsilon"},
    {"eps_end", "explore.to"},
    {"epsilon_end", "explore.to"},
    {"exploration_final_eps", "explore.to"},
    {"exploration_fraction", "explore.over"},
    {"eps_decay", "explore.over"},
    {"hidden_size", "net.hidden"},
    {"hidden_sizes", "net.hidden"},
    {"hidden_dim", "net.hidden"},
    {"net_arch", "net.hidden"},
    {"layers", "net.hidden"},
    {"width", "net.hidden"},
    {"architecture", "net.kind"},
    {"network", "net.kind"},
    {"normalization", "net.norm"},
    {"layer_norm", "net.norm"},
    {"optimizer", "opt.kind"},
    {"adam_eps", "opt.eps"},
    {"max_grad_norm", "opt.grad_clip"},
    {"clip_grad_norm", "opt.grad_clip"},
    {"gradient_clipping", "opt.grad_clip"},
    {"tau", "target.polyak"},
    {"target_update", "target.period"},
    {"target_update_freq", "target.period"},
    {"target_update_interval", "target.period"},
    {"double_dqn", "target.double"},
    {"double_q", "target.double"},
    {"grad_mix", "gradient.kind"},
    {"full_gradient", "gradient.kind"},
    {"semi_gradient", "gradient.kind"},
    {"noise", "env.slip"},
    {"stochasticity", "env.slip"},
    {"threads", "device.threads"},
    {"num_threads", "device.threads"},
};
const size_t fgsf_synonym_count = sizeof fgsf_synonym_table / sizeof *fgsf_synonym_table;

// What a preset sets for every method. What it sets for one environment is in that environment's
// table.
const fgsf_setting fgsf_preset_table[] = {
    {"compat", "avg.next_action", "own_mean"},
    {"compat", "tasks.warmup", "first_task"},
    {"compat", "eval.episodes", "10"},
    {"compat", "eval.epsilon", "0.03"},
    {"compat", "eval.reward", "true"},

    {"paper", "opt.kind", "sgd_rm"},
    {"paper", "opt.grad_clip", "0"},
    {"paper", "gpi.tie", "hull"},
    {"paper", "avg.next_action", "policy_c_at_mean"},
    {"paper", "eval.episodes", "10"},
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
    {"representation", "clean compat", {"q", "q", "psi", "psi", "psi", "psi", "psi"}},
    {"representation", "paper", {"q", "q", "xi", "xi", "xi", "xi", "xi"}},
    {"gradient.kind", ALL, {"semi", "full", "semi", "full", "full", "full", "full"}},
    {"target.mode", OURS, EACH("none")},
    {"target.mode", "compat", {"hard", "none", "hard", "none", "none", "none", "none"}},
    {"target.period", ALL, {"1000", NULL, "1000", NULL, NULL, NULL, NULL}},
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
    {"gpi.scope", ALL, {NULL, NULL, "seen", "seen", "all", "all", "seen"}},
    {"loss.scale", "clean", EACH("half_mean")},
    {"loss.scale",
     "compat",
     {"mean_actions", "mean", "mean", "half_mean", "half_mean", "half_mean", "half_mean"}},
    {"loss.scale",
     "paper",
     {"half_mean", "half_mean", "sum", "sum", "sum", "double_sum", "double_sum"}},
    {"sf.next_action_prior", OURS, SF("own")},
    {"sf.next_action_prior", "compat", {NULL, NULL, "gpi", "own", "own", "own_mean", "own_mean"}},
    {"opt.grad_clip", "clean", EACH("1")},
    {"opt.grad_clip", "compat", {"0", "0", "1", "1", "1", "1", "1"}},
    {"dqn.lr", OURS, DQN("1e-3", "1e-3")},
    {"dqn.lr", "compat", DQN("0.5", "0.5")},
    {"target.double", OURS, {"false", "false", "true", "true", "true", "true", "true"}},
    {"target.double", "compat", {"true", "false", "true", "true", "true", "true", "true"}},
    {"dqn.per_task", OURS, DQN("true", "true")},
    {"dqn.per_task", "compat", DQN("false", "false")},
    {"train.buffer_reset_on_task", OURS, DQN("true", "true")}, // a network and data per task
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
