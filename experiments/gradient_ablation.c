// What differs between the published semi-gradient and full-gradient runs, one ingredient at a time.
//
// A0 and A1 are the two published methods, on the reward model of `clean`. B0 and B1 differ in the
// gradient alone. The path A0 -> C2 -> C1 -> B0 -> B3 / B1 -> A1 takes the published gap apart: what
// is updated and how (update set, prior rate, the priors' next action, loss factor), target lag,
// grouping, gradient. The other cells vary one thing around B0 and B1; F1 and J1 at the usual rate
// of 1e-3 are B0, B1 and J1-1e-3. The averaging rows of the grid (G1) are the driver `averaging`.
//
//     experiments/run gradient_ablation --seeds 10
//     experiments/run gradient_ablation --cells A0,C2,C1,B0,B3,B1,A1 --seeds 10
#include "study.h"

#define SET FGSF_SET
#define SEMI SET("gradient.kind", "semi")
#define FULL SET("gradient.kind", "full")
#define HARD(period) SET("target.mode", "hard"), SET("target.period", period)
#define LR(lr, prior) SET("sf.lr", lr), SET("sf.lr_prior", prior)

static const fgsf_cell cells[] = {
    {"A0",
     "sfrql",
     "published SFDQN",
     {SEMI, HARD("1000"), SET("sf.update_set", "all"), SET("sf.lr_prior", "1e-3"),
      SET("sf.next_action_prior", "gpi"), SET("loss.scale", "mean")}},
    {"A1", "fg-sfrql", "published FG-SFDQN", {FULL, SET("sf.group_by_prior", "true")}},
    {"B0", "sfrql", "only-gradient control", {SEMI}},
    {"B1", "fg-sfrql", "only-gradient treatment", {FULL}},
    {"B2", "fg-sfrql", "residual mix", {SET("gradient.kind", "mix"), SET("gradient.eta", "0.5")}},
    {"B3", "sfrql", "grouping alone", {SEMI, SET("sf.group_by_prior", "true")}},
    {"C1", "sfrql", "target lag 100", {SEMI, HARD("100")}},
    {"C2", "sfrql", "target lag 1000", {SEMI, HARD("1000")}},
    {"C3", "sfrql", "soft target", {SEMI, SET("target.mode", "polyak")}},
    {"D1-semi", "sfrql", "no prior updates", {SEMI, SET("sf.update_set", "i_only")}},
    {"D1-full", "fg-sfrql", "no prior updates", {FULL, SET("sf.update_set", "i_only")}},
    {"D2-semi", "sfrql", "prior at full rate", {SEMI, SET("sf.lr_prior", "1e-3")}},
    {"D2-full", "fg-sfrql", "prior at full rate", {FULL, SET("sf.lr_prior", "1e-3")}},
    {"D3-semi",
     "sfrql",
     "all tasks",
     {SEMI, SET("sf.update_set", "all"), SET("sf.lr_prior", "1e-3")}},
    {"D3-full",
     "fg-sfrql",
     "all tasks",
     {FULL, SET("sf.update_set", "all"), SET("sf.lr_prior", "1e-3")}},
    {"E1-semi", "sfrql", "paper's initialisation", {SEMI, SET("sf.init_from", "previous")}},
    {"E1-full", "fg-sfrql", "paper's initialisation", {FULL, SET("sf.init_from", "previous")}},
    {"F1-semi-1e-4", "sfrql", "learning rate", {SEMI, LR("1e-4", "1e-6")}},
    {"F1-semi-3e-4", "sfrql", "learning rate", {SEMI, LR("3e-4", "3e-6")}},
    {"F1-semi-3e-3", "sfrql", "learning rate", {SEMI, LR("3e-3", "3e-5")}},
    {"F1-full-1e-4", "fg-sfrql", "learning rate", {FULL, LR("1e-4", "1e-6")}},
    {"F1-full-3e-4", "fg-sfrql", "learning rate", {FULL, LR("3e-4", "3e-6")}},
    {"F1-full-3e-3", "fg-sfrql", "learning rate", {FULL, LR("3e-3", "3e-5")}},
    {"H1-semi", "sfrql", "single task", {SEMI, SET("env.num_tasks", "1")}},
    {"H1-full", "fg-sfrql", "single task", {FULL, SET("env.num_tasks", "1")}},
    {"I1-random", "fg-sfrql-random", "algorithm 2 repaired", {FULL}},
    {"I1-random-shared",
     "fg-sfrql-random",
     "algorithm 2 with mixed-up states",
     {FULL, SET("tasks.isolate_state", "false")}},
    {"I1-average", "fg-sfrql-average", "algorithm 3 repaired", {FULL}},
    {"I1-average-shared",
     "fg-sfrql-average",
     "algorithm 3 with mixed-up states",
     {FULL, SET("tasks.isolate_state", "false")}},
    {"J1-1e-4", "dqn", "fair baseline", {SET("dqn.lr", "1e-4")}},
    {"J1-3e-4", "dqn", "fair baseline", {SET("dqn.lr", "3e-4")}},
    {"J1-1e-3", "dqn", "fair baseline", {SET("dqn.lr", "1e-3")}},
    {"J1-3e-3", "dqn", "fair baseline", {SET("dqn.lr", "3e-3")}},
    {"J1-0.5", "dqn", "the authors' rate", {SET("dqn.lr", "0.5")}},
    {"J1-target", "dqn", "with a target network", {HARD("1000"), SET("dqn.lr", "1e-3")}},
    {"J1-1e-4", "fg-dqn", "fair baseline", {SET("dqn.lr", "1e-4")}},
    {"J1-3e-4", "fg-dqn", "fair baseline", {SET("dqn.lr", "3e-4")}},
    {"J1-1e-3", "fg-dqn", "fair baseline", {SET("dqn.lr", "1e-3")}},
    {"J1-3e-3", "fg-dqn", "fair baseline", {SET("dqn.lr", "3e-3")}},
    {"J1-0.5", "fg-dqn", "the authors' rate", {SET("dqn.lr", "0.5")}},
    {"J1-task-input",
     "dqn",
     "task input and relabelling",
     {SET("dqn.per_task", "false"), SET("train.buffer_reset_on_task", "false"),
      SET("dqn.task_input", "w"), SET("dqn.relabel", "true")}},
    {"J1-task-input",
     "fg-dqn",
     "task input and relabelling",
     {SET("dqn.per_task", "false"), SET("train.buffer_reset_on_task", "false"),
      SET("dqn.task_input", "w"), SET("dqn.relabel", "true")}},
};

static const char *const methods[] = {
    "sfrql", "fg-sfrql", "fg-sfrql-random", "fg-sfrql-average", "dqn", "fg-dqn", NULL,
};

static const fgsf_setting smoke[] = {SET("train.steps_per_task", "200"), SET("eval.episodes", "2")};

static const fgsf_cli_spec spec = {
    .program = "gradient_ablation",
    .summary = "One ingredient at a time between the published semi and full gradient.",
    .env = "four_rooms",
    .methods = methods,
    .smoke = smoke,
    .num_smoke = 2,
    .cells = cells,
    .num_cells = sizeof cells / sizeof *cells,
    .preset = "clean", // a cell says what differs from it, and nothing else
};

int main(int argc, char **argv) {
    return fgsf_study_main(&spec, argc, argv);
}
