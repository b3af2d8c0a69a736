// Averaging over next states: N samples per pair, three estimators, three levels of slip.
//
// Deterministic dynamics cannot show what averaging does, so the environment slips: with probability
// env.slip another action is taken. N = 1 is plain fg-sfrql; sfrql is the semi-gradient beside it.
//
//     experiments/run averaging --seeds 5
//     experiments/run averaging --seeds 5 --cells slip0.1,slip0.1-n5-shared,slip0.1-n5-split
#include <stdio.h>
#include <string.h>

#include "study.h"

static const char *const methods[] = {"sfrql", "fg-sfrql", "fg-sfrql-seq-average", NULL};
static const char *const slips[] = {"0", "0.1", "0.2"};
static const char *const samples[] = {"5", "10", "20"};
static const char *const estimators[] = {"shared", "critic_only", "split"};

#define NUM(array) ((int)(sizeof(array) / sizeof *(array)))
#define MAX_CELLS (3 * (2 + 9))

static const char *chosen = "";

static const fgsf_cli_flag flags[] = {
    {"--cells", "A,B", "only these cells (default: all; `list` prints them)", &chosen},
};

static const fgsf_setting smoke[] = {{NULL, "train.steps_per_task", "300"}};

static const fgsf_cli_spec spec = {
    .program = "averaging",
    .summary = "Averaging over next states: N = 1, 5, 10, 20; slip 0, 0.1, 0.2; three estimators.",
    .env = "four_rooms",
    .methods = methods,
    .smoke = smoke,
    .num_smoke = 1,
    .flags = flags,
    .num_flags = 1,
};

typedef struct cell {
    char name[64];
    fgsf_setting settings[4];
} cell;

static fgsf_variant make(cell *c, const char *preset, const char *method, const char *slip,
                         const char *n, const char *estimator) {
    snprintf(c->name, sizeof c->name, "slip%s-n%s-%s", slip, n, estimator);
    c->settings[0] = (fgsf_setting){NULL, "env.slip", slip};
    c->settings[1] = (fgsf_setting){NULL, "avg.n", n};
    c->settings[2] = (fgsf_setting){NULL, "avg.estimator", estimator};
    // Disjoint halves cannot be drawn with replacement, as the authors' code draws.
    c->settings[3] = (fgsf_setting){NULL, "avg.shortfall", "use_available"};
    bool drawn_anew = strcmp(preset, "compat") == 0 && strcmp(estimator, "split") == 0;
    bool averaged = n[0] != '1' || n[1] != '\0';
    if (!averaged) {
        snprintf(c->name, sizeof c->name, "slip%s", slip);
    }
    return (fgsf_variant){method, c->name, c->settings, !averaged ? 1 : drawn_anew ? 4 : 3};
}

int main(int argc, char **argv) {
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli);
    if (code != FGSF_CLI_RUN) {
        return code;
    }
    static cell cells[MAX_CELLS];
    fgsf_variant variants[MAX_CELLS];
    int count = 0;
    for (int s = 0; s < NUM(slips); s++) {
        variants[count] = make(&cells[count], cli.preset, "sfrql", slips[s], "1", ""), count++;
        variants[count] = make(&cells[count], cli.preset, "fg-sfrql", slips[s], "1", ""), count++;
        for (int n = 0; n < NUM(samples); n++) {
            for (int e = 0; e < NUM(estimators); e++) {
                variants[count] = make(&cells[count], cli.preset, "fg-sfrql-seq-average", slips[s],
                                       samples[n], estimators[e]);
                count++;
            }
        }
    }
    if (strcmp(chosen, "list") == 0) {
        for (int i = 0; i < count; i++) {
            printf("%-24s %s\n", variants[i].cell, variants[i].method);
        }
        return 0;
    }
    count = fgsf_study_choose(&cli, chosen, variants, count);
    return count < 0 ? FGSF_CLI_BAD : fgsf_study_run(&cli, variants, count);
}
