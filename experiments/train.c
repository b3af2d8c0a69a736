// Trains on any environment: one of ours, or one from a shared object.
//
//     experiments/run train --env four_rooms --methods sfrql,fg-sfrql --seeds 5
//     experiments/run train --env windy --plugin ./windy.so --set env.wind=0.2
//     experiments/run watch runs/train-windy-clean-env.wind=0.2/windy/fg-sfrql/seed-0/policy.gguf
//         --plugin ./windy.so
#include "study.h"

static const char *const methods[] = {"dqn", "fg-dqn", "sfrql", "fg-sfrql", NULL};

static const fgsf_cli_spec spec = {
    .program = "train",
    .summary = "Any environment: ours, or one that --plugin FILE.so brings.",
    .methods = methods,
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
