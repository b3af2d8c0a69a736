// Averaging over N next states: three estimators, three slip probabilities.
//
// Deterministic dynamics cannot show what averaging does, so the environment slips: with probability
// env.slip another action is taken. N = 1 is plain fg-sfrql; sfrql is the semi-gradient beside it.
//
//     experiments/run averaging --seeds 5
//     experiments/run averaging --cells plain,shared+avg.n=5 --grid env.slip=0.1 --seeds 5
#include "study.h"

#define PLAIN(method)                                                                              \
    {                                                                                              \
        "plain+avg.n=1", method, "one next state", {                                               \
            FGSF_SET("avg.n", "1")                                                                 \
        }                                                                                          \
    }
#define AVERAGED(estimator, n, about, ...)                                                         \
    {                                                                                              \
        estimator "+avg.n=" n, "fg-sfrql-seq-average", about, {                                    \
            FGSF_SET("avg.n", n), FGSF_SET("avg.estimator", estimator), __VA_ARGS__                \
        }                                                                                          \
    }
// Disjoint halves cannot be drawn with replacement, as the authors' code draws.
#define ESTIMATORS(n)                                                                              \
    AVERAGED("shared", n, "the same samples for error and gradient", {0}),                         \
        AVERAGED("critic_only", n, "one of the samples for the gradient", {0}),                    \
        AVERAGED("split", n, "disjoint halves", {"compat", "avg.shortfall", "use_available"})

static const fgsf_cell cells[] = {PLAIN("sfrql"), PLAIN("fg-sfrql"), ESTIMATORS("5"),
                                  ESTIMATORS("10"), ESTIMATORS("20")};
static const char *const methods[] = {"sfrql", "fg-sfrql", "fg-sfrql-seq-average", NULL};
static const fgsf_setting smoke[] = {FGSF_SET("train.steps_per_task", "300")};

static const fgsf_cli_spec spec = {
    .program = "averaging",
    .summary = "Averaging over next states: N = 1, 5, 10, 20; slip 0, 0.1, 0.2; three estimators.",
    .env = "four_rooms",
    .methods = methods,
    .smoke = smoke,
    .num_smoke = 1,
    .cells = cells,
    .num_cells = sizeof cells / sizeof *cells,
    .grid = "env.slip=0,0.1,0.2",
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
