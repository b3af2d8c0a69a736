// Any environment: ours, or one of a shared object.
//
//     experiments/run train --env four_rooms --methods sfrql,fg-sfrql --seeds 5
//     experiments/run train --env windy --plugin ./windy.so --set env.wind=0.2
//     experiments/run watch runs/train-windy-clean/windy/fg-sfrql/seed-0/policy.gguf --plugin ./windy.so
#include <stdio.h>
#include <string.h>

#include "fgsf/env.h"
#include "study.h"

static const char *const methods[] = {"dqn", "fg-dqn", "sfrql", "fg-sfrql", NULL};

static const char *env = "";
static const fgsf_cli_flag flags[] = {
    {"--env", "NAME", "the environment to train on (needed)", &env},
};

int main(int argc, char **argv) {
    fgsf_cli_spec spec = {
        .program = "train",
        .summary = "Any environment: ours, or one that --plugin FILE.so brings.",
        .methods = methods,
        .flags = flags,
        .num_flags = 1,
    };
    // The environment decides which keys there are, so it is looked for before all else.
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--env=", 6) == 0) spec.env = argv[i] + 6;
        if (strcmp(argv[i], "--env") == 0 && i + 1 < argc) spec.env = argv[i + 1];
    }
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli);
    if (code != FGSF_CLI_RUN) return code;
    if (!spec.env || !fgsf_env_def_find(spec.env)) {
        fprintf(stderr, "train: --env '%.80s': there are", spec.env ? spec.env : "");
        for (int i = 0; fgsf_env_def_at(i); i++) {
            fprintf(stderr, "%s %s", i ? "," : "", fgsf_env_def_at(i)->name);
        }
        fprintf(stderr, "; --plugin FILE.so brings others\n");
        return FGSF_CLI_BAD;
    }
    if (cli.out == cli.out_text) { // each environment has an OUT of its own
        snprintf(cli.out_text, sizeof cli.out_text, "runs/train-%.60s-%s%s", spec.env, cli.preset,
                 cli.smoke ? "-smoke" : "");
    }
    return fgsf_study_run_methods(&cli);
}
