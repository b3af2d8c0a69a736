// Averaging over N next states: three estimators, three slip probabilities.
//
// Deterministic dynamics cannot show what averaging does, so the environment slips: with probability
// env.slip another action is taken. N = 1 is plain fg-sfrql; sfrql is the semi-gradient beside it.
//
//     experiments/run averaging --seeds 5
//     experiments/run averaging --seeds 5 --cells slip0.1,slip0.1-n5-shared,slip0.1-n5-split
#include "study.h"

#define AVERAGED(slip, n, estimator, ...)                                                          \
    {                                                                                              \
        "slip" slip "-n" n "-" estimator, "fg-sfrql-seq-average", NULL, {                          \
            FGSF_SET("env.slip", slip), FGSF_SET("avg.n", n),                                      \
                FGSF_SET("avg.estimator", estimator), __VA_ARGS__                                  \
        }                                                                                          \
    }
// Disjoint halves cannot be drawn with replacement, as the authors' code draws.
#define ESTIMATORS(slip, n)                                                                        \
    AVERAGED(slip, n, "shared", {0}), AVERAGED(slip, n, "critic_only", {0}),                       \
        AVERAGED(slip, n, "split", {"compat", "avg.shortfall", "use_available"})
#define CELLS(slip)                                                                                \
    {"slip" slip, "sfrql", NULL, {FGSF_SET("env.slip", slip)}},                                    \
        {"slip" slip, "fg-sfrql", NULL, {FGSF_SET("env.slip", slip)}}, ESTIMATORS(slip, "5"),      \
        ESTIMATORS(slip, "10"), ESTIMATORS(slip, "20")

static const fgsf_cell cells[] = {CELLS("0"), CELLS("0.1"), CELLS("0.2")};
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
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
