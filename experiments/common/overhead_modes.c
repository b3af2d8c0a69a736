// The overhead benchmark's own modes: a table of methods, acting, scaling, runs in parallel.
#define _POSIX_C_SOURCE 200809L // fork
#include "overhead_modes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas_kernel.h"
#include "say.h"

#define PROGRAM "overhead"

bool fgsf_overhead_configure(const fgsf_overhead_options *o, const char *method, fgsf_config *cfg) {
    fgsf_status status = fgsf_config_resolve("four_rooms", o->preset, method, cfg);
    if (status == FGSF_OK) {
        cfg->learner.batch_size = o->batch;
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
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
    }
    return status == FGSF_OK;
}

FILE *fgsf_overhead_open_csv(const fgsf_overhead_options *o) {
    FILE *csv = o->csv ? fopen(o->csv, "w") : NULL;
    if (o->csv && !csv) {
        fgsf_say(PROGRAM ": --csv %s: %s", o->csv, strerror(errno));
    }
    return csv;
}

static fgsf_bench_setup setup_of(const fgsf_overhead_options *o) {
    return (fgsf_bench_setup){o->replay, (int)o->steps, (int)o->warmup};
}

// --- the table of methods -----------------------------------------------------------------------

static void print_header(FILE *out, bool table) {
    if (table) {
        fprintf(out, "%-21s %9s %9s %9s %8s %9s %8s %8s %6s %8s\n", "method", "mean ms",
                "median ms", "p99 ms", "updates", "GFLOP", "GFLOP/s", "sgemm", "eff.", "RSS MB");
    } else {
        fprintf(out, "method,mean_ms,median_ms,p99_ms,updates_per_step,gflop_per_step,gflops,"
                     "sgemm_gflops,efficiency,rss_mb\n");
    }
}

static void print_row(FILE *out, bool table, const char *method, const fgsf_bench_figures *f) {
    const char *format = table ? "%-21s %9.3f %9.3f %9.3f %8.2f %9.4f %8.1f %8.1f %6.3f %8.1f\n"
                               : "%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.4g,%.6g\n";
    fprintf(out, format, method, f->mean_ms, f->median_ms, f->p99_ms, f->updates_per_step,
            f->gflop_per_step, f->gflops, f->sgemm_gflops, f->efficiency, f->rss_mb);
    fflush(out);
}

// Measures a method, with the setting of --versus as well when `versus`.
static bool measure_method(const fgsf_overhead_options *o, const char *method, bool versus,
                           FILE *csv) {
    static fgsf_config cfg;
    fgsf_overhead_options settings = *o;
    fgsf_bench_setup setup = setup_of(o);
    fgsf_bench_figures figures;
    char name[256];
    if (versus) settings.sets[settings.num_sets++] = o->versus;
    snprintf(name, sizeof name, "%s%s%s", method, versus ? " " : "", versus ? o->versus : "");
    bool good = fgsf_overhead_configure(&settings, method, &cfg) &&
                fgsf_bench_measure(PROGRAM, &cfg, &setup, &figures);
    if (good) print_row(stdout, o->table, name, &figures);
    if (good && csv) print_row(csv, false, name, &figures);
    return good;
}

int fgsf_overhead_methods(const fgsf_overhead_options *o) {
    FILE *csv = fgsf_overhead_open_csv(o);
    if (o->csv && !csv) {
        return 2;
    }
    if (o->table) {
        printf("batch %ld, %ld tasks, preset %s, one thread, OpenBLAS kernels: %s\n", o->batch,
               o->tasks, o->preset, fgsf_driver_blas_kernel());
    }
    print_header(stdout, o->table);
    if (csv) print_header(csv, false);
    bool good = true;
    for (int m = 0; m < o->num_methods && good; m++) {
        good = measure_method(o, o->methods[m], false, csv) &&
               (!o->versus || measure_method(o, o->methods[m], true, csv));
    }
    if (csv) fclose(csv);
    return good ? 0 : 2;
}

// --- acting -------------------------------------------------------------------------------------

// Microseconds per decision: median over `rounds` rounds of one decision in each of 20 states. With
// `changed`, every network counts as updated before each decision, as while training.
static double time_acting(fgsf_trainer *trainer, int rounds, bool changed) {
    enum { STATES = 20 };
    fgsf_agent *agent = fgsf_trainer_agent(trainer);
    const fgsf_replay *replay = fgsf_trainer_replay(trainer);
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_EVAL);
    double *us = calloc((size_t)rounds, sizeof *us);
    for (int i = 0; i < rounds && us; i++) {
        double seconds = 0.0;
        for (int s = 0; s < STATES; s++) {
            fgsf_choice choice;
            const float *state = fgsf_replay_at(replay, (i * STATES + s) % 900).s;
            for (int k = 0; k < fgsf_agent_num_policies(agent) && changed; k++) {
                fgsf_network_edit(fgsf_agent_network(agent, k));
            }
            double start = fgsf_bench_cpu_seconds();
            if (fgsf_agent_act(agent, 0, NULL, state, &rng, &choice) != FGSF_OK) {
                free(us);
                return NAN;
            }
            seconds += fgsf_bench_cpu_seconds() - start;
        }
        us[i] = 1e6 * seconds / STATES;
    }
    double median = us ? fgsf_bench_quantile(us, rounds, 0.5) : NAN;
    free(us);
    return median;
}

int fgsf_overhead_act(const fgsf_overhead_options *o) {
    static fgsf_config cfg;
    fgsf_bench *bench = NULL;
    fgsf_bench_setup setup = {.replay = 1000, .steps = 1};
    if (!fgsf_overhead_configure(o, "fg-sfrql", &cfg)) {
        return 2;
    }
    if (!fgsf_bench_open(&cfg, &setup, &bench)) {
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
        return 2;
    }
    fgsf_trainer *trainer = fgsf_bench_trainer(bench);
    const fgsf_agent *agent = fgsf_trainer_agent(trainer);
    size_t parameters = fgsf_network_num_parameters(fgsf_agent_shape(agent));
    time_acting(trainer, 20, true); // warms up
    double same = time_acting(trainer, (int)o->steps, false);
    double changed = time_acting(trainer, (int)o->steps, true);
    int policies = fgsf_agent_num_policies(agent);
    if (o->table) {
        printf("%d policies of %zu parameters, one state: %.2f us per decision; %.2f us when every "
               "policy was updated since the last\n",
               policies, parameters, same, changed);
    } else {
        printf("policies,parameters,us,us_updated\n%d,%zu,%.4g,%.4g\n", policies, parameters, same,
               changed);
    }
    fgsf_bench_free(bench);
    return 0;
}

// --- a whole run --------------------------------------------------------------------------------

typedef struct whole {
    double cpu, wall, rss_mb, steps, updates;
} whole;

// Trains as a driver does, every log row included; checkpoints and files are left out.
static bool train_whole(const void *task, void *result) {
    fgsf_trainer *trainer = NULL;
    fgsf_log_row row;
    double wall = fgsf_bench_wall_seconds(), cpu = fgsf_bench_cpu_seconds();
    fgsf_status status = fgsf_trainer_create(task, &trainer);
    while (status == FGSF_OK && !fgsf_trainer_done(trainer)) {
        status = fgsf_trainer_step(trainer);
        fgsf_trainer_log(trainer, &row);
    }
    if (status != FGSF_OK) {
        return false;
    }
    fgsf_progress progress = fgsf_trainer_progress(trainer);
    *(whole *)result = (whole){.cpu = fgsf_bench_cpu_seconds() - cpu,
                               .wall = fgsf_bench_wall_seconds() - wall,
                               .rss_mb = fgsf_bench_rss_mb(),
                               .steps = (double)progress.step,
                               .updates = (double)progress.optimizer_steps};
    fgsf_trainer_free(trainer);
    return true;
}

int fgsf_overhead_whole(const fgsf_overhead_options *o) {
    static fgsf_config cfg;
    printf(o->table ? "%-18s %9s %9s %9s %9s %9s %8s\n" : "%s,%s,%s,%s,%s,%s,%s\n", "method",
           "steps", "cpu_s", "wall_s", "ms/step", "updates", "rss_mb");
    for (int m = 0; m < o->num_methods; m++) {
        whole w;
        if (!fgsf_overhead_configure(o, o->methods[m], &cfg) ||
            !fgsf_bench_in_child(PROGRAM, train_whole, &cfg, &w, sizeof w)) {
            return 2;
        }
        printf(o->table ? "%-18s %9.0f %9.1f %9.1f %9.3f %9.2f %8.1f\n"
                        : "%s,%.0f,%.6g,%.6g,%.6g,%.6g,%.6g\n",
               o->methods[m], w.steps, w.cpu, w.wall, 1e3 * w.cpu / w.steps, w.updates / w.steps,
               w.rss_mb);
        fflush(stdout);
    }
    return 0;
}

// --- scaling ------------------------------------------------------------------------------------

typedef struct sweep {
    const char *name;
    long values[8];
} sweep;

// gpi varies the tasks too, with one update per step: what remains is the evaluation of all policies.
static const sweep SWEEPS[] = {
    {"batch", {16, 64, 256, 1024, 4096}}, {"tasks", {1, 2, 4, 8, 16, 32}},
    {"gpi", {1, 2, 4, 8, 16, 32}},        {"hidden", {64, 128, 256, 512, 1024}},
    {"features", {4, 16, 64, 256}},       {"replay", {1000, 10000, 50000, 200000}},
};

// The options of one point, with the text of its settings in `text`.
static fgsf_overhead_options point_of(const fgsf_overhead_options *o, const sweep *s, long value,
                                      char text[64]) {
    fgsf_overhead_options point = *o;
    if (strcmp(s->name, "batch") == 0) point.batch = value;
    if (strcmp(s->name, "tasks") == 0 || strcmp(s->name, "gpi") == 0) point.tasks = value;
    if (strcmp(s->name, "replay") == 0) point.replay = value;
    if (strcmp(s->name, "gpi") == 0) point.sets[point.num_sets++] = "sf.update_set=i_only";
    if (strcmp(s->name, "hidden") == 0) {
        snprintf(text, 64, "net.hidden=%ld,%ld", value, value);
        point.sets[point.num_sets++] = text;
    }
    if (strcmp(s->name, "features") == 0) { // psi has the environment's; a set can have any number
        snprintf(text, 64, "sf.xi_max_centers=%ld", value);
        point.sets[point.num_sets++] = "representation=xi";
        point.sets[point.num_sets++] = "sf.xi_set=prototypes";
        point.sets[point.num_sets++] = text;
    }
    return point;
}

// `past` holds the times of the first value and of the one before.
static bool measure_point(const fgsf_overhead_options *o, const sweep *s, int v, double past[2],
                          FILE *csv) {
    static fgsf_config cfg;
    char text[64];
    fgsf_bench_figures f;
    fgsf_overhead_options point = point_of(o, s, s->values[v], text);
    fgsf_bench_setup setup = setup_of(&point);
    const char *method = o->methods[0];
    if (!fgsf_overhead_configure(&point, method, &cfg) ||
        !fgsf_bench_measure(PROGRAM, &cfg, &setup, &f)) {
        return false;
    }
    // Growth of time with growth of the quantity: 1 is linear, 0 is flat.
    double order =
        v == 0 ? NAN
               : log(f.median_ms / past[1]) / log((double)s->values[v] / (double)s->values[v - 1]);
    if (v == 0) past[0] = f.median_ms;
    past[1] = f.median_ms;
    printf(o->table ? "%-9s %8ld %7.2fx %7.2f %10.3f %8.2f %9.4f %8.1f %6.3f %8.1f\n"
                    : "%s,%ld,%.4g,%.3g,%.6g,%.6g,%.6g,%.6g,%.4g,%.6g\n",
           s->name, s->values[v], f.median_ms / past[0], order, f.median_ms, f.updates_per_step,
           f.gflop_per_step, f.gflops, f.efficiency, f.rss_mb);
    fflush(stdout);
    if (csv) {
        fprintf(csv, "%s,%ld,%.6g,%.6g,%.6g,%.6g,%.4g,%.6g\n", s->name, s->values[v], f.median_ms,
                f.updates_per_step, f.gflop_per_step, f.gflops, f.efficiency, f.rss_mb);
    }
    return true;
}

int fgsf_overhead_scaling(const fgsf_overhead_options *o) {
    FILE *csv = fgsf_overhead_open_csv(o);
    if ((o->csv && !csv) || o->num_sets + 3 > FGSF_OVERHEAD_MAX_SETS) {
        return 2;
    }
    if (csv) {
        fprintf(csv,
                "# title: %s, preset %s\n# x: value of the quantity that is varied\n"
                "# y: ms per step (median)\n"
                "series,x,y,updates_per_step,gflop_per_step,gflops,efficiency,rss_mb\n",
                o->methods[0], o->preset);
    }
    if (o->table) {
        printf("%s, preset %s; else batch %ld, %ld tasks, 256x256 hidden, 4 features\n",
               o->methods[0], o->preset, o->batch, o->tasks);
        printf("%-9s %8s %8s %7s %10s %8s %9s %8s %6s %8s\n", "varied", "value", "ratio", "order",
               "median ms", "updates", "GFLOP", "GFLOP/s", "eff.", "RSS MB");
    } else {
        printf("varied,value,ratio,order,median_ms,updates_per_step,gflop_per_step,gflops,"
               "efficiency,rss_mb\n");
    }
    bool good = true;
    for (size_t i = 0; i < sizeof SWEEPS / sizeof *SWEEPS; i++) {
        double past[2] = {NAN, NAN};
        for (int v = 0; v < 8 && SWEEPS[i].values[v] > 0 && good; v++) {
            good = measure_point(o, &SWEEPS[i], v, past, csv);
        }
    }
    if (csv) fclose(csv);
    return good ? 0 : 2;
}

// --- runs in parallel ---------------------------------------------------------------------------

// Takes all steps and writes the milliseconds of one, by the wall and by the thread's clock.
static int run_alone(const fgsf_overhead_options *o, const fgsf_config *cfg, int ready, int go,
                     int out) {
    fgsf_bench *bench = NULL;
    fgsf_bench_setup setup = setup_of(o);
    double ms[2];
    char byte = 0;
    if (!fgsf_bench_open(cfg, &setup, &bench)) {
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
        return 2;
    }
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 0) { // the end of `go` starts all
        return 2;
    }
    double wall = fgsf_bench_wall_seconds(), cpu = fgsf_bench_cpu_seconds();
    for (long i = 0; i < o->steps; i++) {
        if (fgsf_trainer_step(fgsf_bench_trainer(bench)) != FGSF_OK) {
            return 2;
        }
    }
    ms[0] = 1e3 * (fgsf_bench_wall_seconds() - wall) / (double)o->steps;
    ms[1] = 1e3 * (fgsf_bench_cpu_seconds() - cpu) / (double)o->steps;
    return write(out, ms, sizeof ms) == (ssize_t)sizeof ms ? 0 : 2;
}

// Runs `count` processes that start together; adds their milliseconds to `ms` (mean of them).
static bool run_together(const fgsf_overhead_options *o, const fgsf_config *cfg, int count,
                         double ms[2]) {
    int ready[2], go[2], out[2], started = 0;
    if (pipe(ready) != 0 || pipe(go) != 0 || pipe(out) != 0) {
        return false;
    }
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            close(go[1]);
            _exit(run_alone(o, cfg, ready[1], go[0], out[1]));
        }
        started += child > 0;
    }
    close(ready[1]);
    close(out[1]);
    char byte;
    double one[2];
    bool good = started == count;
    for (int i = 0; i < count && good; i++) good = read(ready[0], &byte, 1) == 1;
    close(go[1]);
    ms[0] = ms[1] = 0.0;
    for (int i = 0; i < count && good; i++) {
        good = read(out[0], one, sizeof one) == (ssize_t)sizeof one;
        ms[0] += one[0] / count;
        ms[1] += one[1] / count;
    }
    close(ready[0]);
    close(go[0]);
    close(out[0]);
    while (wait(NULL) > 0) {
    }
    return good;
}

int fgsf_overhead_parallel(const fgsf_overhead_options *o, int processes) {
    enum { ROUNDS = 7 };
    static fgsf_config cfg;
    if (!fgsf_overhead_configure(o, o->methods[0], &cfg)) {
        return 2;
    }
    double figures[4][ROUNDS]; // wall alone, CPU alone, wall together, CPU together
    for (int r = 0; r < ROUNDS; r++) {
        double alone[2], together[2];
        if (!run_together(o, &cfg, 1, alone) || !run_together(o, &cfg, processes, together)) {
            return 2;
        }
        figures[0][r] = alone[0];
        figures[1][r] = alone[1];
        figures[2][r] = together[0];
        figures[3][r] = together[1];
    }
    double ms[4];
    for (int i = 0; i < 4; i++) ms[i] = fgsf_bench_quantile(figures[i], ROUNDS, 0.5);
    double wall = 100.0 * (ms[2] / ms[0] - 1.0), cpu = 100.0 * (ms[3] / ms[1] - 1.0);
    if (o->table) {
        printf("%s, batch %ld, %ld tasks, ms per step, median of %d rounds:\n", o->methods[0],
               o->batch, o->tasks, ROUNDS);
        printf("%-11s %9s %4d at once %9s\n", "clock", "alone", processes, "change");
    } else {
        printf("clock,alone_ms,together_ms,percent\n");
    }
    const char *format = o->table ? "%-11s %9.3f %12.3f %+8.1f%%\n" : "%s,%.6g,%.6g,%.3g\n";
    printf(format, "wall", ms[0], ms[2], wall);
    printf(format, "CPU", ms[1], ms[3], cpu);
    return 0;
}
