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
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli);
    return code == FGSF_CLI_RUN ? fgsf_study_run_methods(&cli) : code;
}
