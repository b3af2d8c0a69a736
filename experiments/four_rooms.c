// Four Rooms: the six methods of the paper's figure, 6 tasks x 10,000 steps.
//
//     experiments/run four_rooms                                 one seed each
//     experiments/run four_rooms --preset compat --seeds 5       what the authors' code does
//     experiments/run four_rooms --methods sfrql,fg-sfrql --seeds 20      the gradient alone
//     experiments/run four_rooms --methods sfrql,fg-sfrql --grid sf.lr=1e-4,3e-4,1e-3
#include "study.h"

static const char *const methods[] = {
    "dqn", "fg-dqn", "sfrql", "fg-sfrql", "fg-sfrql-random", "fg-sfrql-average", NULL,
};

static const fgsf_cli_spec spec = {
    .program = "four_rooms",
    .summary = "Four Rooms: six methods, 6 tasks x 10,000 steps.",
    .env = "four_rooms",
    .methods = methods,
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
