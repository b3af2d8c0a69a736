// Every gradient of the Bellman error side by side on Four Rooms, without chance and with slip 0.1.
//
//     experiments/run gradient_zoo --seeds 5
//     experiments/run gradient_zoo --cells semi,semi-hard,semi-polyak,mix,full --seeds 5
//         --grid sf.lr/sf.lr_prior=1e-4/1e-6,3e-4/3e-6,1e-3/1e-5,3e-3/3e-5       best against best
//     experiments/run gradient_zoo --cells semi,full --grid train.gamma=0.8,0.9,0.95,0.99 --seeds 5
//     experiments/run gradient_zoo --cells semi,full --methods fg-dqn --grid dqn.lr=3e-4,1e-3
//
// docs/gradients.md says what each kind is. A cell is `fg-sfrql` of the preset `clean`, or another
// method, with that kind of gradient. The cells with a target network copy it every 100 updates, but
// for `semi-polyak`, which averages it. `semi-hard` is the baseline that practitioners use.
#include "study.h"

#define KIND(kind) FGSF_SET("gradient.kind", kind)
#define HARD FGSF_SET("target.mode", "hard"), FGSF_SET("target.period", "100")
#define POLYAK FGSF_SET("target.mode", "polyak"), FGSF_SET("target.polyak", "0.005")

static const fgsf_cell cells[] = {
    {"semi", NULL, "the target is a constant", {KIND("semi")}},
    {"semi-hard", NULL, "with a copied target network", {KIND("semi"), HARD}},
    {"semi-polyak", NULL, "with an averaged target network", {KIND("semi"), POLYAK}},
    {"full", NULL, "the target is differentiated", {KIND("full")}},
    {"mix", NULL, "half of that", {KIND("mix"), FGSF_SET("gradient.eta", "0.5")}},
    {"corrected", NULL, "TD with gradient correction (QRC)", {KIND("corrected")}},
    {"gtd2", NULL, "GTD2", {KIND("gtd2")}},
    {"bidirectional", NULL, "bidirectional", {KIND("bidirectional"), HARD}},
    {"convergent", NULL, "convergent DQN", {KIND("convergent"), HARD}},
    {"semi-rms", NULL, "with RMS norm", {KIND("semi"), FGSF_SET("net.norm", "rms")}},
    {"full-rms", NULL, "with RMS norm", {KIND("full"), FGSF_SET("net.norm", "rms")}},
};
static const char *const methods[] = {"fg-sfrql", NULL};

static const fgsf_cli_spec spec = {
    .program = "gradient_zoo",
    .summary = "Every gradient of the Bellman error on Four Rooms, with slip 0 and 0.1.",
    .env = "four_rooms",
    .methods = methods,
    .cells = cells,
    .num_cells = sizeof cells / sizeof *cells,
    .grid = "env.slip=0,0.1",
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
