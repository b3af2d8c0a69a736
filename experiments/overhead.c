// What a training step costs: milliseconds, floating-point work and how close it comes to sgemm.
//
//     overhead --preset compat --batch 512 --tasks 8 --steps 488 --warmup 50 --methods dqn,fg-sfrql
//
// Four Rooms with all policies present, the first task active and the replay filled by random
// actions: the work that the authors' benchmark times. One thread, CPU time.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas_kernel.h"
#include "overhead_bench.h"

#define PROGRAM "overhead"
#define MAX_SETS 32
#define ALL_METHODS "dqn,fg-dqn,sfrql,fg-sfrql,fg-sfrql-random,fg-sfrql-average"

typedef struct options {
    const char *preset, *methods, *csv;
    long batch, tasks, steps, warmup, replay;
    bool table;
    const char *sets[MAX_SETS];
    int num_sets;
} options;

static int usage(FILE *out, int code) {
    fprintf(out, "usage: overhead [--preset P] [--batch B] [--tasks M] [--steps N] [--warmup W]\n"
                 "                [--replay R] [--methods a,b] [--set key=value]\n"
                 "                [--format csv|table] [--csv FILE]\n");
    return code;
}

// --- the table ----------------------------------------------------------------------------------

static void print_header(FILE *out, bool table) {
    if (table) {
        fprintf(out, "%-20s %9s %9s %9s %8s %9s %8s %8s %6s %8s\n", "method", "mean ms",
                "median ms", "p99 ms", "updates", "GFLOP", "GFLOP/s", "sgemm", "eff.", "RSS MB");
    } else {
        fprintf(out, "method,mean_ms,median_ms,p99_ms,updates_per_step,gflop_per_step,gflops,"
                     "sgemm_gflops,efficiency,rss_mb\n");
    }
}

static void print_row(FILE *out, bool table, const char *method, const fgsf_bench_figures *f) {
    const char *format = table ? "%-20s %9.3f %9.3f %9.3f %8.2f %9.4f %8.1f %8.1f %6.3f %8.1f\n"
                               : "%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.4g,%.6g\n";
    fprintf(out, format, method, f->mean_ms, f->median_ms, f->p99_ms, f->updates_per_step,
            f->gflop_per_step, f->gflops, f->sgemm_gflops, f->efficiency, f->rss_mb);
    fflush(out);
}

static bool configure(const options *o, const char *method, fgsf_config *cfg) {
    fgsf_status status = fgsf_config_resolve("four_rooms", o->preset, method, cfg);
    if (status == FGSF_OK) {
        cfg->train.batch_size = o->batch;
        cfg->env.num_tasks = o->tasks;
    }
    for (int i = 0; i < o->num_sets && status == FGSF_OK; i++) {
        char key[128];
        const char *value = strchr(o->sets[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(value - o->sets[i]), o->sets[i]);
        status = fgsf_config_set(cfg, key, value + 1, "--set");
    }
    if (status == FGSF_OK) status = fgsf_config_validate(cfg);
    if (status != FGSF_OK) {
        fprintf(stderr, PROGRAM ": %s\n", fgsf_last_error());
    }
    return status == FGSF_OK;
}

// Calls `each` for every method of the list; stops at the first that fails.
static int measure_methods(const options *o) {
    static fgsf_config cfg;
    char list[1024];
    snprintf(list, sizeof list, "%s", o->methods);
    FILE *csv = o->csv ? fopen(o->csv, "w") : NULL;
    if (o->csv && !csv) {
        fprintf(stderr, PROGRAM ": --csv %s: %s\n", o->csv, strerror(errno));
        return 2;
    }
    fgsf_bench_setup setup = {o->replay, (int)o->steps, (int)o->warmup};
    if (o->table) {
        printf("batch %ld, %ld tasks, preset %s, OpenBLAS kernels: %s\n", o->batch, o->tasks,
               o->preset, fgsf_driver_blas_kernel());
    }
    print_header(stdout, o->table);
    if (csv) print_header(csv, false);
    int code = 0;
    for (char *method = strtok(list, ","); method && code == 0; method = strtok(NULL, ",")) {
        fgsf_bench_figures figures;
        if (!configure(o, method, &cfg) || !fgsf_bench_measure(PROGRAM, &cfg, &setup, &figures)) {
            code = 2;
            break;
        }
        print_row(stdout, o->table, method, &figures);
        if (csv) print_row(csv, false, method, &figures);
    }
    if (csv) fclose(csv);
    return code;
}

// --- the command line ---------------------------------------------------------------------------

static bool read_number(const char *flag, const char *text, long min, long max, long *out) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        fprintf(stderr, PROGRAM ": %s %s: not a whole number in [%ld, %ld]\n", flag, text, min,
                max);
        return false;
    }
    *out = value;
    return true;
}

// Reads one flag and its value; false after a message.
static bool read_flag(options *o, const char *flag, const char *value) {
    const struct {
        const char *name;
        long min, max, *out;
    } numbers[] = {{"--batch", 1, 1000000, &o->batch},
                   {"--tasks", 1, 1000, &o->tasks},
                   {"--steps", 1, 10000000, &o->steps},
                   {"--warmup", 0, 10000000, &o->warmup},
                   {"--replay", 1, 100000000, &o->replay}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(flag, numbers[i].name) == 0) {
            return read_number(flag, value, numbers[i].min, numbers[i].max, numbers[i].out);
        }
    }
    if (strcmp(flag, "--preset") == 0) {
        o->preset = value;
    } else if (strcmp(flag, "--methods") == 0) {
        o->methods = value;
    } else if (strcmp(flag, "--csv") == 0) {
        o->csv = value;
    } else if (strcmp(flag, "--set") == 0 && strchr(value, '=') && o->num_sets < MAX_SETS) {
        o->sets[o->num_sets++] = value;
    } else if (strcmp(flag, "--format") == 0 &&
               (strcmp(value, "csv") == 0 || strcmp(value, "table") == 0)) {
        o->table = strcmp(value, "table") == 0;
    } else {
        fprintf(stderr, PROGRAM ": unknown flag or value: %s %s (see --help)\n", flag, value);
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    fgsf_driver_best_blas(argv);
    options o = {.preset = "compat",
                 .methods = ALL_METHODS,
                 .batch = 64,
                 .tasks = 6,
                 .steps = 488,
                 .warmup = 50,
                 .table = true};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return usage(stdout, 0);
        }
        if (i + 1 >= argc) {
            fprintf(stderr, PROGRAM ": %s: unknown flag, or its value is missing (see --help)\n",
                    argv[i]);
            return 2;
        }
        if (!read_flag(&o, argv[i], argv[i + 1])) {
            return 2;
        }
        i++;
    }
    return measure_methods(&o);
}
