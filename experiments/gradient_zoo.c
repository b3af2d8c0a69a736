// Every gradient of the Bellman error side by side on Four Rooms, without chance and with slip 0.1.
//
//     experiments/run gradient_zoo --seeds 5
//     experiments/run gradient_zoo --cells slip0-corrected,slip0.1-corrected --seeds 10
//
// docs/gradients.md says what each kind is. All cells are `fg-sfrql` of the preset `clean` but for the
// kind; those with a target network copy it every 100 updates. `semi-hard` is the semi-gradient with
// that target network, the baseline that practitioners use.
#include <stdio.h>
#include <string.h>

#include "study.h"

#define NUM(array) (int)(sizeof array / sizeof *array)
#define SET(key, value)                                                                            \
    { NULL, key, value }
#define HARD SET("target.mode", "hard"), SET("target.period", "100")

typedef struct kind {
    const char *name;
    fgsf_setting settings[4];
} kind;

static const kind kinds[] = {
    {"semi", {SET("gradient.kind", "semi")}},
    {"semi-hard", {SET("gradient.kind", "semi"), HARD}},
    {"full", {SET("gradient.kind", "full")}},
    {"mix", {SET("gradient.kind", "mix"), SET("gradient.eta", "0.5")}},
    {"corrected", {SET("gradient.kind", "corrected")}},
    {"gtd2", {SET("gradient.kind", "gtd2")}},
    {"bidirectional", {SET("gradient.kind", "bidirectional"), HARD}},
    {"convergent", {SET("gradient.kind", "convergent"), HARD}},
    {"semi-rms", {SET("gradient.kind", "semi"), SET("net.norm", "rms")}},
    {"full-rms", {SET("gradient.kind", "full"), SET("net.norm", "rms")}},
};
static const char *const slips[] = {"0", "0.1"};

typedef struct cell {
    char name[64];
    fgsf_setting settings[5];
} cell;

static const char *chosen = "";
static const fgsf_cli_flag flags[] = {
    {"--cells", "A,B", "only these cells (`list` prints all)", &chosen},
};
static const char *const methods[] = {"fg-sfrql", NULL};
static const fgsf_cli_spec spec = {
    .program = "gradient_zoo",
    .summary = "Every gradient of the Bellman error on Four Rooms, with slip 0 and 0.1.",
    .env = "four_rooms",
    .methods = methods,
    .flags = flags,
    .num_flags = 1,
};

static fgsf_variant make(cell *c, const kind *k, const char *slip) {
    int n = 0;
    snprintf(c->name, sizeof c->name, "slip%s-%s", slip, k->name);
    c->settings[n++] = (fgsf_setting)SET("env.slip", slip);
    for (int i = 0; i < NUM(k->settings) && k->settings[i].key; i++) {
        c->settings[n++] = k->settings[i];
    }
    return (fgsf_variant){methods[0], c->name, c->settings, n};
}

int main(int argc, char **argv) {
    static cell cells[NUM(kinds) * NUM(slips)];
    fgsf_variant variants[NUM(cells)];
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli), count = 0;
    if (code != FGSF_CLI_RUN) return code;
    for (int s = 0; s < NUM(slips); s++) {
        for (int k = 0; k < NUM(kinds); k++, count++) {
            variants[count] = make(&cells[count], &kinds[k], slips[s]);
        }
    }
    if (strcmp(chosen, "list") == 0) {
        for (int i = 0; i < count; i++) printf("%s\n", variants[i].cell);
        return 0;
    }
    count = fgsf_study_choose(&cli, chosen, variants, count);
    return count < 0 ? FGSF_CLI_BAD : fgsf_study_run(&cli, variants, count);
}
