// PointMaze: eight goals in a maze, 30,000 steps each, batch 512.
//
//     experiments/run point_maze --seeds 3                       the U-shaped maze
//     experiments/run point_maze --seeds 3 --set env.layout=large
#include "study.h"

static const char *const methods[] = {
    "dqn", "fg-dqn", "sfrql", "fg-sfrql", "fg-sfrql-random", "fg-sfrql-average", NULL,
};

static const fgsf_setting smoke[] = {FGSF_SET("train.batch_size", "64")};

static const fgsf_cli_spec spec = {
    .program = "point_maze",
    .summary = "PointMaze: eight goals x 30,000 steps; --set env.layout=umaze, medium or large.",
    .env = "point_maze",
    .methods = methods,
    .smoke = smoke,
    .num_smoke = 1,
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
