// What a training step costs: milliseconds, floating-point work, and how close it comes to sgemm.
//
//     overhead --preset compat --batch 512 --tasks 8 --steps 488 --warmup 50 --methods dqn,fg-sfrql
//     overhead --peer                    # beside PyTorch, in turns
//     overhead --scaling --csv runs/overhead_scaling.csv
//
// Four Rooms with all policies present, the first task active and the replay filled by random
// actions: the work that the authors' benchmark times. One thread, CPU time of that thread.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas_kernel.h"
#include "overhead_modes.h"
#include "plugins.h"
#include "say.h"

#define PROGRAM "overhead"

enum mode { METHODS, WHOLE, PARTS, ACT, SCALING, PARALLEL, PEER };

typedef struct arguments {
    fgsf_overhead_options options;
    enum mode mode;
    long processes;
    char methods[1024]; // what options.methods points into
    bool preset_given;
} arguments;

static const char HELP[] =
    "usage: overhead [flags]\n"
    "  --preset P           clean, compat or paper (compat; clean for --scaling)\n"
    "  --batch B            transitions per update (64)\n"
    "  --tasks M            tasks, all with a policy (6; 8 for --act)\n"
    "  --steps N            timed training steps (488; 100 for --scaling; rounds for --act, "
    "--parts)\n"
    "  --warmup W           steps before them (50)\n"
    "  --replay R           transitions stored before the warm-up (the batch, at least 1000)\n"
    "  --methods a,b        methods to measure; --scaling and --parallel take the first\n"
    "  --set key=value      any key of the configuration\n"
    "  --versus key=value   every method a second time, with this setting as well\n"
    "  --format csv|table   what is printed (table)\n"
    "  --csv FILE           write the table to a file as well\n"
    "what to measure, instead of a table of methods:\n"
    "  --parts              update, evaluation and optimiser alone, beside their sgemm calls\n"
    "  --act                one decision\n"
    "  --whole              whole runs of all tasks, as a driver trains them\n"
    "  --scaling            against batch, tasks, hidden width, features and replay\n"
    "  --parallel P         P runs at once against one alone\n"
    "  --peer               the same updates in PyTorch, in turns with ours\n"
    "  --peer-style S       how it is written: best (parameters in flat tensors) or plain (best)\n";

static bool read_number(const char *flag, const char *text, long min, long max, long *out) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        fgsf_say(PROGRAM ": %s '%.80s': not a whole number in [%ld, %ld]", flag, text, min, max);
        return false;
    }
    *out = value;
    return true;
}

static bool read_methods(arguments *a, const char *value) {
    static fgsf_config cfg;
    fgsf_overhead_options *o = &a->options;
    snprintf(a->methods, sizeof a->methods, "%s", value);
    o->num_methods = 0;
    for (char *m = strtok(a->methods, ","); m; m = strtok(NULL, ",")) {
        if (o->num_methods == FGSF_OVERHEAD_MAX_METHODS ||
            fgsf_config_resolve("four_rooms", "compat", m, &cfg) != FGSF_OK) {
            fgsf_say(PROGRAM ": --methods '%.80s': %s", value, fgsf_last_error());
            return false;
        }
        o->methods[o->num_methods++] = m;
    }
    if (o->num_methods == 0) {
        fgsf_say(PROGRAM ": --methods '%.80s': names no method", value);
    }
    return o->num_methods > 0;
}

static bool read_preset(arguments *a, const char *value) {
    static fgsf_config cfg;
    if (fgsf_config_resolve("four_rooms", value, "dqn", &cfg) != FGSF_OK) {
        fgsf_say(PROGRAM ": --preset '%.80s': %s", value, fgsf_last_error());
        return false;
    }
    a->options.preset = value;
    a->preset_given = true;
    return true;
}

// Reads a flag that has a value; false after a message.
static bool read_flag(arguments *a, const char *flag, const char *value) {
    fgsf_overhead_options *o = &a->options;
    const struct {
        const char *name;
        long min, max, *out;
    } numbers[] = {
        {"--batch", 1, 1000000, &o->batch},     {"--tasks", 1, 1000, &o->tasks},
        {"--steps", 1, 10000000, &o->steps},    {"--warmup", 0, 10000000, &o->warmup},
        {"--replay", 1, 100000000, &o->replay}, {"--parallel", 1, 64, &a->processes},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(flag, numbers[i].name) == 0) {
            a->mode = numbers[i].out == &a->processes ? PARALLEL : a->mode;
            return read_number(flag, value, numbers[i].min, numbers[i].max, numbers[i].out);
        }
    }
    if (strcmp(flag, "--methods") == 0) {
        return read_methods(a, value);
    }
    if (strcmp(flag, "--preset") == 0) {
        return read_preset(a, value);
    }
    if (strcmp(flag, "--csv") == 0) {
        o->csv = value;
    } else if (strcmp(flag, "--set") == 0 && strchr(value, '=') &&
               o->num_sets + 1 < FGSF_OVERHEAD_MAX_SETS) { // one is left for --versus
        o->sets[o->num_sets++] = value;
    } else if (strcmp(flag, "--versus") == 0 && strchr(value, '=')) {
        o->versus = value;
    } else if (strcmp(flag, "--peer-style") == 0 &&
               (strcmp(value, "best") == 0 || strcmp(value, "plain") == 0)) {
        o->peer_style = value;
    } else if (strcmp(flag, "--format") == 0 &&
               (strcmp(value, "csv") == 0 || strcmp(value, "table") == 0)) {
        o->table = strcmp(value, "table") == 0;
    } else {
        fgsf_say(PROGRAM ": unknown flag or bad value: %s '%.80s' (see --help)", flag, value);
        return false;
    }
    return true;
}

// What a mode measures unless told otherwise.
static bool settle(arguments *a) {
    fgsf_overhead_options *o = &a->options;
    if (a->mode == SCALING && !a->preset_given) o->preset = "clean";
    if (o->steps == 0) o->steps = a->mode == SCALING ? 100 : 488;
    if (o->tasks == 0) o->tasks = a->mode == ACT ? 8 : 6;
    if (a->mode == PEER && (strcmp(o->preset, "compat") != 0 || o->num_sets > 0)) {
        fgsf_say(PROGRAM ": --peer: the peer knows the preset compat only, without --set");
        return false;
    }
    if (o->num_methods > 0) {
        return true;
    }
    bool one = a->mode == SCALING || a->mode == PARALLEL;
    return read_methods(a, one ? "fg-sfrql"
                               : "dqn,fg-dqn,sfrql,fg-sfrql,fg-sfrql-random,fg-sfrql-average");
}

static bool read_arguments(int argc, char **argv, arguments *a) {
    static const struct {
        const char *name;
        enum mode mode;
    } switches[] = {{"--parts", PARTS},
                    {"--act", ACT},
                    {"--whole", WHOLE},
                    {"--scaling", SCALING},
                    {"--peer", PEER}};
    for (int i = 1; i < argc; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof switches / sizeof *switches && !found; k++) {
            found = strcmp(argv[i], switches[k].name) == 0;
            a->mode = found ? switches[k].mode : a->mode;
        }
        if (found) {
            continue;
        }
        if (i + 1 >= argc) {
            fgsf_say(PROGRAM ": %.80s: unknown flag, or its value is missing (see --help)",
                     argv[i]);
            return false;
        }
        if (!read_flag(a, argv[i], argv[i + 1])) {
            return false;
        }
        i++;
    }
    return settle(a);
}

// The peer's script stands beside this source file.
static const char *peer_script(void) {
    static char path[1024];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*speers/pytorch_overhead.py",
             slash ? (int)(slash - __FILE__) + 1 : 0, __FILE__);
    return path;
}

int main(int argc, char **argv) {
    if (!fgsf_plugins_load("overhead", &argc, argv)) return 2;
    fgsf_driver_best_blas(argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(HELP, stdout);
            return 0;
        }
    }
    static arguments a = {
        .options = {
            .preset = "compat", .peer_style = "best", .batch = 64, .warmup = 50, .table = true}};
    if (!read_arguments(argc, argv, &a)) {
        return 2;
    }
    switch (a.mode) {
    case WHOLE:
        return fgsf_overhead_whole(&a.options);
    case PARTS:
        return fgsf_overhead_parts(&a.options);
    case ACT:
        return fgsf_overhead_act(&a.options);
    case SCALING:
        return fgsf_overhead_scaling(&a.options);
    case PARALLEL:
        return fgsf_overhead_parallel(&a.options, (int)a.processes);
    case PEER:
        return fgsf_overhead_peer(&a.options, peer_script());
    default:
        return fgsf_overhead_methods(&a.options);
    }
}
