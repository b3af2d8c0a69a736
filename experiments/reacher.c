// Reacher: four targets, 100,000 steps each; held-out targets afterwards.
//
//     experiments/run reacher --seeds 3
//     experiments/run reacher --set env.reacher_dynamics=gymnasium
#include "study.h"

static const char *const methods[] = {"dqn",      "fg-dqn",          "sfrql",
                                      "fg-sfrql", "fg-sfrql-random", NULL};

static const fgsf_cli_spec spec = {
    .program = "reacher",
    .summary = "Reacher: four targets x 100,000 steps, then held-out targets.",
    .env = "reacher",
    .methods = methods,
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
