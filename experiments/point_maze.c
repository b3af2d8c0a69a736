// PointMaze: eight goals in a maze, 30,000 steps each, batch 512.
//
//     experiments/run point_maze --layout umaze --seeds 3
#include <stdio.h>
#include <string.h>

#include "study.h"
#include "say.h"

static const char *const methods[] = {
    "dqn", "fg-dqn", "sfrql", "fg-sfrql", "fg-sfrql-random", "fg-sfrql-average", NULL,
};

static const char *layout = "";

static const fgsf_cli_flag flags[] = {
    {"--layout", "NAME", "umaze (default), medium or large", &layout},
};

static const fgsf_setting smoke[] = {{NULL, "train.batch_size", "64"}};

static const fgsf_cli_spec spec = {
    .program = "point_maze",
    .summary = "PointMaze: eight goals x 30,000 steps.",
    .env = "point_maze",
    .methods = methods,
    .smoke = smoke,
    .num_smoke = 1,
    .flags = flags,
    .num_flags = 1,
};

int main(int argc, char **argv) {
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli);
    if (code != FGSF_CLI_RUN) {
        return code;
    }
    // A layout that --config or --set names counts as much as --layout's.
    const fgsf_setting chosen = {NULL, "env.layout", layout};
    const int given = *layout != '\0';
    fgsf_config cfg;
    if (!fgsf_cli_config(&cli, cli.methods[0], &chosen, given, &cfg)) {
        return FGSF_CLI_BAD;
    }
    char named[FGSF_NAME_SIZE];
    fgsf_config_get(&cfg, "env.layout", named, sizeof named);
    if (given && strcmp(named, layout) != 0) {
        fgsf_say("point_maze: --layout '%.80s': --config or --set says %s", layout, named);
        return FGSF_CLI_BAD;
    }
    if (cli.out == cli.out_text) { // each layout has an OUT of its own
        size_t used = strlen(cli.out_text);
        snprintf(cli.out_text + used, sizeof cli.out_text - used, "-%.32s", named);
    }
    fgsf_variant variants[FGSF_CLI_MAX_METHODS];
    for (int m = 0; m < cli.num_methods; m++) {
        variants[m] = (fgsf_variant){cli.methods[m], "", &chosen, given};
    }
    return fgsf_study_run(&cli, variants, cli.num_methods);
}
