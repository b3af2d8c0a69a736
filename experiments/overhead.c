// What a training step costs: milliseconds, floating-point work, and how close it comes to sgemm.
//
//     overhead --preset compat --batch 512 --tasks 8 --steps 488 --warmup 50 --methods dqn,fg-sfrql
//     overhead --kinds --batch 512 --tasks 8     # every kind of gradient, in turns
//     overhead --peer                            # beside PyTorch, in turns
//     overhead --scaling                         # against the sizes of the problem
//
// Four Rooms with all policies present, the first task active and the replay filled by random
// actions: the work that the authors' benchmark times. One thread, CPU time of that thread.
#include <stdlib.h>
#include <string.h>

#include "blas_kernel.h"
#include "devices.h"
#include "draw.h"
#include "flags.h"
#include "overhead_modes.h"
#include "say.h"

#define PROGRAM "overhead"

typedef int mode(const fgsf_overhead_options *o);

static fgsf_overhead_options o = {
    .preset = "", .device = "", .peer_style = "best", .batch = 64, .warmup = 50, .table = true};
static const char *format = "table", *methods = "";
static mode *chosen = fgsf_overhead_methods;
static bool kinds, parts, act, whole, scaling, peer;

static bool is_setting(fgsf_flags *flags, const char *value) {
    return strchr(value, '=') || fgsf_flags_bad(flags, value, "is not key=value");
}

static bool read_set(fgsf_flags *flags, const char *value) {
    if (!is_setting(flags, value)) return false;
    if (o.num_sets + 3 >= FGSF_OVERHEAD_MAX_SETS) { // the modes add their own
        return fgsf_flags_bad(flags, value, "is one too many");
    }
    o.sets[o.num_sets++] = value;
    return true;
}

static bool read_versus(fgsf_flags *flags, const char *value) {
    o.versus = value;
    return is_setting(flags, value);
}

static bool one_of(fgsf_flags *flags, const char *value, const char *a, const char *b) {
    char why[64];
    snprintf(why, sizeof why, "is neither %s nor %s", a, b);
    bool known = strcmp(value, a) == 0 || strcmp(value, b) == 0;
    return known || fgsf_flags_bad(flags, value, why);
}

static bool read_format(fgsf_flags *flags, const char *value) {
    return one_of(flags, format = value, "csv", "table");
}

static bool read_style(fgsf_flags *flags, const char *value) {
    return one_of(flags, o.peer_style = value, "best", "plain");
}

static const fgsf_flag FLAGS[] = {
    {"--preset", "P", "clean, compat or paper (compat; clean for --scaling and --kinds)",
     .text = &o.preset},
    {"--batch", "B", "transitions per update (64)", .number = &o.batch, .min = 1, .max = 1000000},
    {"--tasks", "M", "tasks, all with a policy (6; 8 for --act)", .number = &o.tasks, .min = 1,
     .max = 1000},
    {"--steps", "N",
     "timed steps (488; 100 for --scaling and --kinds), or rounds of --act, --parts",
     .number = &o.steps, .min = 1, .max = 10000000},
    {"--warmup", "W", "steps before them (50)", .number = &o.warmup, .max = 10000000},
    {"--replay", "R", "transitions stored before the warm-up (the batch, at least 1000)",
     .number = &o.replay, .min = 1, .max = 100000000},
    {"--methods", "A,B", "methods to measure; --scaling and --parallel take the first",
     .text = &methods},
    {"--set", "KEY=VALUE", "any key of the configuration", .read = read_set},
    {"--device", "NAME", "count what this device does: graphs, nodes, bytes up and down",
     .text = &o.device},
    {"--versus", "KEY=VALUE", "every method a second time, with this setting as well",
     .read = read_versus},
    {"--format", "csv|table", "what is printed (table)", .read = read_format},
    {"--csv", "FILE", "write the table to FILE as well, and draw no figure", .text = &o.csv},
    {"--kinds", NULL, "instead: each kind of gradient, an update alone and steps of the methods",
     .on = &kinds},
    {"--parts", NULL, "instead: update, evaluation and optimiser alone, beside their sgemm calls",
     .on = &parts},
    {"--act", NULL, "instead: one decision", .on = &act},
    {"--whole", NULL, "instead: whole runs of all tasks, as a driver trains them", .on = &whole},
    {"--scaling", NULL, "instead: against batch, tasks, hidden width, features and replay",
     .on = &scaling},
    {"--parallel", "P", "instead: P runs at once against one alone", .number = &o.processes,
     .min = 1, .max = 64},
    {"--peer", NULL, "instead: the same updates in PyTorch, in turns with ours", .on = &peer},
    {"--peer-style", "best|plain", "how it is written: parameters in flat tensors, or not (best)",
     .read = read_style},
};

// Finds what is measured: one of the modes, or else the methods.
static bool find_mode(void) {
    const struct {
        bool on;
        mode *run;
    } modes[] = {{kinds, fgsf_overhead_kinds},     {parts, fgsf_overhead_parts},
                 {act, fgsf_overhead_act},         {whole, fgsf_overhead_whole},
                 {scaling, fgsf_overhead_scaling}, {o.processes > 0, fgsf_overhead_parallel},
                 {peer, fgsf_overhead_peer}};
    int count = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (modes[i].on) chosen = modes[i].run;
        count += modes[i].on;
    }
    if (count > 1) fgsf_say(PROGRAM ": only one flag that begins with \"instead\" at a time");
    return count <= 1;
}

static bool list_methods(const char *names) {
    static char text[1024];
    static fgsf_config cfg;
    snprintf(text, sizeof text, "%s", names);
    for (char *m = strtok(text, ","); m; m = strtok(NULL, ",")) {
        if (o.num_methods == FGSF_OVERHEAD_MAX_METHODS ||
            fgsf_config_resolve("four_rooms", o.preset, m, &cfg) != FGSF_OK) {
            fgsf_say(PROGRAM ": --methods '%.80s': %s", names, fgsf_last_error());
            return false;
        }
        o.methods[o.num_methods++] = m;
    }
    if (o.num_methods == 0) fgsf_say(PROGRAM ": --methods '%.80s': names no method", names);
    return o.num_methods > 0;
}

// What a mode measures unless told otherwise.
static bool settle(void) {
    if (!find_mode()) return false;
    bool one = scaling || o.processes > 0;
    if (!*o.preset) o.preset = scaling || kinds ? "clean" : "compat";
    if (o.steps == 0) o.steps = scaling || kinds ? 100 : 488;
    if (o.tasks == 0) o.tasks = act ? 8 : 6;
    o.table = strcmp(format, "table") == 0;
    if (peer && (strcmp(o.preset, "compat") != 0 || o.num_sets > 0)) {
        fgsf_say(PROGRAM ": --peer: the peer knows the preset compat only, without --set");
        return false;
    }
    const char *usual = one     ? "fg-sfrql"
                        : kinds ? "sfrql,dqn"
                                : "dqn,fg-dqn,sfrql,fg-sfrql,fg-sfrql-random,fg-sfrql-average";
    return list_methods(*methods ? methods : usual);
}

// Measures. What the export can draw goes to runs/overhead, unless --csv names another file.
static int measure(void) {
    static const char folder[] = "runs/overhead";
    bool draws = !o.csv && o.table && !*o.device && (scaling || chosen == fgsf_overhead_methods);
    if (draws && !fgsf_draw_folder(PROGRAM, folder)) return FGSF_FLAGS_BAD;
    if (draws)
        o.csv = scaling ? "runs/overhead/overhead_scaling.csv" : "runs/overhead/overhead.csv";
    int code = chosen(&o);
    if (draws && code == 0 && !fgsf_draw(PROGRAM, folder, false)) code = FGSF_FLAGS_BAD;
    return code;
}

int main(int argc, char **argv) {
    fgsf_driver_best_blas(argv);
    fgsf_devices_exact();
    fgsf_flags flags = {
        .program = PROGRAM,
        .usage = "[FLAGS]",
        .about = "What a training step costs, in milliseconds and beside sgemm.",
        .table = FLAGS,
        .count = sizeof FLAGS / sizeof *FLAGS,
    };
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN) return code;
    return settle() ? measure() : FGSF_FLAGS_BAD;
}
