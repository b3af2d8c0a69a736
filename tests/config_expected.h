// The values of the specification's table, typed from it and not from the library's: what each
// preset and method must resolve to. For test_config.c.
#ifndef CONFIG_EXPECTED_H
#define CONFIG_EXPECTED_H

// The binding table, written as it stands there: a value per method, "-" where it is not used.
typedef struct expectation {
    const char *key, *presets;
    const char *value[7];
} expectation;

#define C "clean"
#define K "compat"
#define P "paper"
#define CP "clean,paper"
#define CK "clean,compat"
#define CKP "clean,compat,paper"
static const expectation expected[] = {
    {"gradient.kind", CKP, {"semi", "full", "semi", "full", "full", "full", "full"}},
    {"target.mode", CP, {"none", "none", "none", "none", "none", "none", "none"}},
    {"target.mode", K, {"hard", "none", "hard", "none", "none", "none", "none"}},
    {"target.period", CKP, {"1000", "-", "1000", "-", "-", "-", "-"}},
    {"sf.update_set", CP, {"-", "-", "i_and_c", "i_and_c", "i_and_c", "i_and_c", "i_and_c"}},
    {"sf.update_set", K, {"-", "-", "all", "i_and_c", "i_and_c", "i_and_c", "i_and_c"}},
    {"sf.prior_select",
     CK,
     {"-", "-", "next_state", "next_state", "next_state", "next_state", "next_state"}},
    {"sf.prior_select",
     P,
     {"-", "-", "current_state", "current_state", "next_state", "next_state", "current_state"}},
    {"sf.group_by_prior", CP, {"-", "-", "false", "false", "false", "false", "false"}},
    {"sf.group_by_prior", K, {"-", "-", "false", "true", "true", "false", "false"}},
    {"sf.lr", CKP, {"-", "-", "0.001", "0.001", "0.001", "0.001", "0.001"}},
    {"sf.lr_prior", C, {"-", "-", "1e-05", "1e-05", "1e-05", "1e-05", "1e-05"}},
    {"sf.lr_prior", K, {"-", "-", "0.001", "1e-05", "1e-05", "1e-05", "1e-05"}},
    {"sf.lr_prior", P, {"-", "-", "0.001", "0.001", "0.001", "0.001", "0.001"}},
    {"sf.init_from", CK, {"-", "-", "fresh", "fresh", "fresh", "fresh", "fresh"}},
    {"sf.init_from", P, {"-", "-", "previous", "previous", "fresh", "fresh", "previous"}},
    {"loss.scale",
     C,
     {"half_mean", "half_mean", "half_mean", "half_mean", "half_mean", "half_mean", "half_mean"}},
    {"loss.scale",
     K,
     {"mean_actions", "mean", "mean", "half_mean", "half_mean", "half_mean", "half_mean"}},
    {"loss.scale", P, {"half_mean", "half_mean", "sum", "sum", "sum", "double_sum", "double_sum"}},
    {"sf.next_action_prior", CP, {"-", "-", "own", "own", "own", "own", "own"}},
    {"sf.next_action_prior", K, {"-", "-", "gpi", "own", "own", "own_mean", "own_mean"}},
    {"opt.grad_clip", C, {"1", "1", "1", "1", "1", "1", "1"}},
    {"opt.grad_clip", K, {"0", "0", "1", "1", "1", "1", "1"}},
    {"dqn.lr", CP, {"0.001", "0.001", "-", "-", "-", "-", "-"}},
    {"dqn.lr", K, {"0.5", "0.5", "-", "-", "-", "-", "-"}},
    {"target.double", CP, {"false", "false", "true", "true", "true", "true", "true"}},
    {"target.double", K, {"true", "false", "true", "true", "true", "true", "true"}},
    {"dqn.per_task", CP, {"true", "true", "-", "-", "-", "-", "-"}},
    {"dqn.per_task", K, {"false", "false", "-", "-", "-", "-", "-"}},
    {"net.hidden",
     CP,
     {"256,256", "256,256", "256,256", "256,256", "256,256", "256,256", "256,256"}},
    {"net.hidden",
     K,
     {"128,128", "128,128", "256,256", "256,256", "256,256", "256,256", "256,256"}},
    {"net.init",
     CP,
     {"normal_fan_in", "normal_fan_in", "normal_fan_in", "normal_fan_in", "normal_fan_in",
      "normal_fan_in", "normal_fan_in"}},
    {"net.init",
     K,
     {"uniform_fan_in", "uniform_fan_in", "normal_fan_in", "normal_fan_in", "normal_fan_in",
      "normal_fan_in", "normal_fan_in"}},
    {"reward.model",
     C,
     {"-", "-", "linear_nlms", "linear_nlms", "linear_nlms", "linear_nlms", "linear_nlms"}},
    {"reward.model",
     "compat,paper",
     {"-", "-", "linear_lms", "linear_lms", "linear_lms", "linear_lms", "linear_lms"}},
    {"avg.n", CKP, {"1", "1", "1", "1", "1", "5", "5"}},
    {"avg.estimator", CKP, {"-", "-", "-", "-", "-", "shared", "shared"}},
    {"avg.pivots", C, {"-", "-", "-", "-", "-", "batch", "batch"}},
    {"avg.pivots", "compat,paper", {"-", "-", "-", "-", "-", "1", "1"}},
    {"avg.pivot_source", CP, {"-", "-", "-", "-", "-", "replay", "replay"}},
    {"avg.pivot_source", K, {"-", "-", "-", "-", "-", "replay", "current"}},
    {"avg.shortfall", C, {"-", "-", "-", "-", "-", "use_available", "use_available"}},
    {"avg.shortfall", K, {"-", "-", "-", "-", "-", "replace", "replace"}},
    {"avg.shortfall", P, {"-", "-", "-", "-", "-", "skip", "skip"}},
    {"tasks.schedule",
     CKP,
     {"sequential", "sequential", "sequential", "sequential", "random_step", "random_step",
      "sequential"}},
    {"tasks.isolate_state", CP, {"true", "true", "true", "true", "true", "true", "true"}},
    {"tasks.isolate_state", K, {"true", "true", "true", "true", "false", "false", "true"}},
    {"eval.reward",
     CP,
     {"learned", "learned", "learned", "learned", "learned", "learned", "learned"}},
    {"eval.reward", K, {"true", "true", "true", "true", "true", "true", "true"}},
    {"eval.epsilon", CP, {"0", "0", "0", "0", "0", "0", "0"}},
    {"eval.epsilon", K, {"0.03", "0.03", "0.03", "0.03", "0.03", "0.03", "0.03"}},
    // Cells that the text below the table and the list of keys state.
    {"representation", CK, {"q", "q", "psi", "psi", "psi", "psi", "psi"}},
    {"representation", P, {"q", "q", "xi", "xi", "xi", "xi", "xi"}},
    {"gpi.scope", CKP, {"-", "-", "seen", "seen", "all", "all", "seen"}},
    {"opt.kind", CK, {"adam", "adam", "adam", "adam", "adam", "adam", "adam"}},
    {"opt.kind", P, {"sgd_rm", "sgd_rm", "sgd_rm", "sgd_rm", "sgd_rm", "sgd_rm", "sgd_rm"}},
    {"opt.grad_clip", P, {"0", "0", "0", "0", "0", "0", "0"}},
    {"gpi.tie", CK, {"-", "-", "first", "first", "first", "first", "first"}},
    {"gpi.tie", P, {"-", "-", "hull", "hull", "hull", "hull", "hull"}},
    {"avg.next_action", C, {"-", "-", "-", "-", "-", "gpi", "gpi"}},
    {"avg.next_action", K, {"-", "-", "-", "-", "-", "own_mean", "own_mean"}},
    {"avg.next_action", P, {"-", "-", "-", "-", "-", "policy_c_at_mean", "policy_c_at_mean"}},
    {"train.buffer_reset_on_task",
     CP,
     {"true", "true", "false", "false", "false", "false", "false"}},
    {"train.buffer_reset_on_task",
     K,
     {"false", "false", "false", "false", "false", "false", "false"}},
    {"eval.episodes", C, {"20", "20", "20", "20", "20", "20", "20"}},
    {"eval.episodes", "compat,paper", {"10", "10", "10", "10", "10", "10", "10"}},
    {"tasks.warmup", CP, {"-", "-", "-", "-", "uniform", "uniform", "-"}},
    {"tasks.warmup", K, {"-", "-", "-", "-", "first_task", "first_task", "-"}},
};
#undef C
#undef K
#undef P
#undef CP
#undef CK
#undef CKP

#endif
