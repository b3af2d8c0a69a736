// What a training step costs: milliseconds, floating-point work, and how close it comes to sgemm.
//
//     overhead --preset compat --batch 512 --tasks 8 --steps 488 --warmup 50 --methods dqn,fg-sfrql
//     overhead --kinds --batch 512 --tasks 8     # every kind of gradient, in turns
//     overhead --peer                            # beside PyTorch, in turns
//     overhead --scaling --csv runs/overhead_scaling.csv
//
// Four Rooms with all policies present, the first task active and the replay filled by random
// actions: the work that the authors' benchmark times. One thread, CPU time of that thread.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blas_kernel.h"
#include "overhead_modes.h"
#include "plugins.h"
#include "say.h"

#define PROGRAM "overhead"

typedef int mode(const fgsf_overhead_options *o);

static fgsf_overhead_options o = {
    .preset = "", .peer_style = "best", .batch = 64, .warmup = 50, .table = true};
static const char *format = "table", *methods = "";
static mode *chosen = fgsf_overhead_methods;

// A flag with a value has an argument: a whole number, one of several words, key=value, or any text.
static const struct flag {
    const char *name, *argument, *doc;
    struct {
        long *place, min, max;
    } number;
    const char **text;
    int *count; // of texts, where there may be several
    mode *run;
} FLAGS[] = {
    {"--preset", "P", "clean, compat or paper (compat; clean for --scaling and --kinds)",
     .text = &o.preset},
    {"--batch", "B", "transitions per update (64)", .number = {&o.batch, 1, 1000000}},
    {"--tasks", "M", "tasks, all with a policy (6; 8 for --act)", .number = {&o.tasks, 1, 1000}},
    {"--steps", "N",
     "timed steps (488; 100 for --scaling and --kinds), or rounds of --act, --parts",
     .number = {&o.steps, 1, 10000000}},
    {"--warmup", "W", "steps before them (50)", .number = {&o.warmup, 0, 10000000}},
    {"--replay", "R", "transitions stored before the warm-up (the batch, at least 1000)",
     .number = {&o.replay, 1, 100000000}},
    {"--methods", "a,b", "methods to measure; --scaling and --parallel take the first",
     .text = &methods},
    {"--set", "key=value", "any key of the configuration", .text = o.sets, .count = &o.num_sets},
    {"--versus", "key=value", "every method a second time, with this setting as well",
     .text = &o.versus},
    {"--format", "csv|table", "what is printed (table)", .text = &format},
    {"--csv", "FILE", "write the table to a file as well", .text = &o.csv},
    {"--kinds", NULL, "instead: each kind of gradient, an update alone and steps of the methods",
     .run = fgsf_overhead_kinds},
    {"--parts", NULL, "instead: update, evaluation and optimiser alone, beside their sgemm calls",
     .run = fgsf_overhead_parts},
    {"--act", NULL, "instead: one decision", .run = fgsf_overhead_act},
    {"--whole", NULL, "instead: whole runs of all tasks, as a driver trains them",
     .run = fgsf_overhead_whole},
    {"--scaling", NULL, "instead: against batch, tasks, hidden width, features and replay",
     .run = fgsf_overhead_scaling},
    {"--parallel", "P", "instead: P runs at once against one alone",
     .number = {&o.processes, 1, 64}, .run = fgsf_overhead_parallel},
    {"--peer", NULL, "instead: the same updates in PyTorch, in turns with ours",
     .run = fgsf_overhead_peer},
    {"--peer-style", "best|plain", "how it is written: parameters in flat tensors, or not (best)",
     .text = &o.peer_style},
};
#define NUM_FLAGS (sizeof FLAGS / sizeof *FLAGS)

static int print_help(void) {
    printf("usage: overhead [flags]\n");
    for (size_t i = 0; i < NUM_FLAGS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", FLAGS[i].name,
                 FLAGS[i].argument ? FLAGS[i].argument : "");
        printf("  %-24s %s\n", left, FLAGS[i].doc);
    }
    return 0;
}

// Whether a value has the form that the flag's argument shows.
static bool fits(const struct flag *f, const char *value) {
    if (strchr(f->argument, '=')) return strchr(value, '=') != NULL;
    const char *rest = strchr(f->argument, '|');
    if (!rest) return true;
    size_t first = (size_t)(rest - f->argument);
    return (strlen(value) == first && strncmp(value, f->argument, first) == 0) ||
           strcmp(value, rest + 1) == 0;
}

static bool read_number(const struct flag *f, const char *text) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < f->number.min ||
        value > f->number.max) {
        fgsf_say(PROGRAM ": %s '%.80s': not a whole number in [%ld, %ld]", f->name, text,
                 f->number.min, f->number.max);
        return false;
    }
    *f->number.place = value;
    return true;
}

static bool read_flag(const struct flag *f, const char *value) {
    if (f->run) chosen = f->run;
    if (!f->argument) return true;
    bool room = !f->count || *f->count + 3 < FGSF_OVERHEAD_MAX_SETS; // the modes add their own
    if (!value || !fits(f, value) || !room) {
        fgsf_say(PROGRAM ": %s '%.80s': a value like %s is missing (see --help)", f->name,
                 value ? value : "", f->argument);
        return false;
    }
    if (f->number.place) return read_number(f, value);
    f->text[f->count ? (*f->count)++ : 0] = value;
    return true;
}

static bool read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < NUM_FLAGS && strcmp(argv[i], FLAGS[k].name) != 0) k++;
        if (k == NUM_FLAGS) {
            fgsf_say(PROGRAM ": unknown flag '%.80s' (see --help)", argv[i]);
            return false;
        }
        if (!read_flag(&FLAGS[k], i + 1 < argc ? argv[i + 1] : NULL)) return false;
        i += FLAGS[k].argument != NULL;
    }
    return true;
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
    bool scaling = chosen == fgsf_overhead_scaling, kinds = chosen == fgsf_overhead_kinds;
    bool one = scaling || chosen == fgsf_overhead_parallel;
    if (!*o.preset) o.preset = scaling || kinds ? "clean" : "compat";
    if (o.steps == 0) o.steps = scaling || kinds ? 100 : 488;
    if (o.tasks == 0) o.tasks = chosen == fgsf_overhead_act ? 8 : 6;
    o.table = strcmp(format, "table") == 0;
    if (chosen == fgsf_overhead_peer && (strcmp(o.preset, "compat") != 0 || o.num_sets > 0)) {
        fgsf_say(PROGRAM ": --peer: the peer knows the preset compat only, without --set");
        return false;
    }
    const char *usual = one     ? "fg-sfrql"
                        : kinds ? "sfrql,dqn"
                                : "dqn,fg-dqn,sfrql,fg-sfrql,fg-sfrql-random,fg-sfrql-average";
    return list_methods(*methods ? methods : usual);
}

int main(int argc, char **argv) {
    if (!fgsf_plugins_load(PROGRAM, &argc, argv)) return 2;
    fgsf_driver_best_blas(argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return print_help();
    }
    return read_arguments(argc, argv) && settle() ? chosen(&o) : 2;
}
