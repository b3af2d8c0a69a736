// The overhead benchmark's own modes: a table of methods, acting, scaling, runs in parallel.
#include "overhead_modes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas_kernel.h"
#include "say.h"

#define PROGRAM "overhead"
#define COUNT(array) (int)(sizeof array / sizeof *array)

bool fgsf_overhead_fail(void) {
    fgsf_say(PROGRAM ": %s", fgsf_last_error());
    return false;
}

// Sets "key=value"; several are separated by spaces.
static fgsf_status set_keys(fgsf_config *cfg, const char *text) {
    fgsf_status status = FGSF_OK;
    while (*text && status == FGSF_OK) {
        char key[128], value[128];
        size_t end = strcspn(text, " "), sign = strcspn(text, "= ");
        if (text[sign] != '=' || end >= sizeof value) {
            return fgsf_fail(FGSF_ERR_INVALID, "--set: '%.80s' is not a short KEY=VALUE", text);
        }
        snprintf(key, sizeof key, "%.*s", (int)sign, text);
        snprintf(value, sizeof value, "%.*s", (int)(end - sign - 1), text + sign + 1);
        status = fgsf_config_set(cfg, key, value, "--set");
        text += end + (text[end] == ' ');
    }
    return status;
}

bool fgsf_overhead_configure(const fgsf_overhead_options *o, const char *method, fgsf_config *cfg) {
    fgsf_status status = fgsf_config_resolve("four_rooms", o->preset, method, cfg);
    if (status == FGSF_OK) {
        cfg->learner.batch_size = o->batch;
        cfg->env.num_tasks = o->tasks;
    }
    char device[128];
    snprintf(device, sizeof device, "device.name=%s", o->device);
    if (status == FGSF_OK && *o->device) status = set_keys(cfg, device);
    for (int i = 0; i < o->num_sets && status == FGSF_OK; i++) status = set_keys(cfg, o->sets[i]);
    if (status == FGSF_OK) status = fgsf_config_validate(cfg);
    return status == FGSF_OK || fgsf_overhead_fail();
}

fgsf_bench_setup fgsf_overhead_setup(const fgsf_overhead_options *o) {
    return (fgsf_bench_setup){o->replay, (int)o->steps, (int)o->warmup};
}

// --- tables -------------------------------------------------------------------------------------

static void print_header(FILE *out, const fgsf_overhead_table *t, bool table) {
    for (int i = 0; i < t->count; i++) {
        const fgsf_overhead_column *c = &t->columns[i];
        if (i > 0) putc(table ? ' ' : ',', out);
        fprintf(out, "%*s", !table ? 0 : i == 0 ? -c->width : c->width, table ? c->title : c->name);
    }
    putc('\n', out);
}

static void print_row(FILE *out, const fgsf_overhead_table *t, bool table, const char *label,
                      const double *values) {
    fprintf(out, "%*s", table ? -t->columns[0].width : 0, label);
    for (int i = 1; i < t->count; i++) {
        const fgsf_overhead_column *c = &t->columns[i];
        if (table) {
            fprintf(out, " %*.*f", c->width, c->digits, values[i - 1]);
        } else {
            fprintf(out, ",%.6g", values[i - 1]);
        }
    }
    putc('\n', out);
    fflush(out);
}

bool fgsf_overhead_begin(const fgsf_overhead_options *o, fgsf_overhead_table *t) {
    t->csv = o->csv ? fopen(o->csv, "w") : NULL;
    if (o->csv && !t->csv) {
        fgsf_say(PROGRAM ": --csv %s: %s", o->csv, strerror(errno));
        return false;
    }
    print_header(stdout, t, o->table);
    if (t->csv) {
        fputs(t->note ? t->note : "", t->csv);
        print_header(t->csv, t, false);
    }
    return true;
}

void fgsf_overhead_row(const fgsf_overhead_options *o, const fgsf_overhead_table *t,
                       const char *label, const double *values) {
    print_row(stdout, t, o->table, label, values);
    if (t->csv) print_row(t->csv, t, false, label, values);
}

int fgsf_overhead_end(const fgsf_overhead_table *t, bool good) {
    bool written = !t->csv || !ferror(t->csv);
    if (t->csv && (fclose(t->csv) != 0 || !written)) {
        fgsf_say(PROGRAM ": --csv: cannot write all of it");
        good = false;
    }
    return good ? 0 : 2;
}

// --- the table of methods -----------------------------------------------------------------------

static const fgsf_overhead_column FIGURES[] = {
    {"method", "method", 21, 0},           {"mean ms", "mean_ms", 9, 3},
    {"median ms", "median_ms", 9, 3},      {"p99 ms", "p99_ms", 9, 3},
    {"updates", "updates_per_step", 8, 2}, {"GFLOP", "gflop_per_step", 9, 4},
    {"GFLOP/s", "gflops", 8, 1},           {"sgemm", "sgemm_gflops", 8, 1},
    {"eff.", "efficiency", 6, 3},          {"RSS MB", "rss_mb", 8, 1},
};

// What a device does, counted; times are those of the wall clock.
static const fgsf_overhead_column COUNTS[] = {
    {"method", "method", 21, 0},
    {"wall ms", "wall_ms", 9, 3},
    {"updates", "updates_per_step", 8, 2},
    {"graphs", "graphs_per_step", 8, 2},
    {"nodes", "nodes_per_step", 8, 1},
    {"KB up", "kb_up", 9, 1},
    {"KB down", "kb_down", 9, 1},
    {"least KB", "kb_least", 9, 1},
    {"ratio", "ratio", 6, 2},
};

// Measures a method, with the setting of --versus as well when `versus`.
static bool measure_method(const fgsf_overhead_options *o, const fgsf_overhead_table *t,
                           const char *method, bool versus) {
    static fgsf_config cfg;
    fgsf_overhead_options settings = *o;
    fgsf_bench_task task = {&cfg, fgsf_overhead_setup(o)};
    fgsf_bench_figures f;
    char name[256];
    if (versus) settings.sets[settings.num_sets++] = o->versus;
    snprintf(name, sizeof name, "%s%s%s", method, versus ? " " : "", versus ? o->versus : "");
    if (!fgsf_overhead_configure(&settings, method, &cfg) ||
        !fgsf_bench_fork(1, fgsf_bench_measure, &task, &f, sizeof f)) {
        return false;
    }
    const double counts[] = {
        f.wall_ms,  f.updates_per_step, f.graphs,      f.nodes,
        f.up / 1e3, f.down / 1e3,       f.least / 1e3, (f.up + f.down) / f.least};
    const double values[] = {f.mean_ms,          f.median_ms,      f.p99_ms,
                             f.updates_per_step, f.gflop_per_step, f.gflops,
                             f.sgemm_gflops,     f.efficiency,     f.rss_mb};
    fgsf_overhead_row(o, t, name, *o->device ? counts : values);
    return true;
}

int fgsf_overhead_methods(const fgsf_overhead_options *o) {
    fgsf_overhead_table t = {FIGURES, COUNT(FIGURES), NULL, NULL};
    static fgsf_config cfg; // refused before anything is printed
    if (o->num_methods > 0 && !fgsf_overhead_configure(o, o->methods[0], &cfg)) return 2;
    if (*o->device) t = (fgsf_overhead_table){COUNTS, COUNT(COUNTS), NULL, NULL};
    if (*o->device && o->table) {
        printf("batch %ld, %ld tasks, preset %s, device %s, counted per step\n", o->batch, o->tasks,
               o->preset, o->device);
    } else if (o->table) {
        printf("batch %ld, %ld tasks, preset %s, one thread, OpenBLAS kernels: %s\n", o->batch,
               o->tasks, o->preset, fgsf_driver_blas_kernel());
    }
    bool good = fgsf_overhead_begin(o, &t);
    for (int m = 0; m < o->num_methods && good; m++) {
        good = measure_method(o, &t, o->methods[m], false) &&
               (!o->versus || measure_method(o, &t, o->methods[m], true));
    }
    return fgsf_overhead_end(&t, good);
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
    bool good = us != NULL;
    for (int i = 0; i < rounds * STATES && good; i++) {
        fgsf_choice choice;
        const float *state = fgsf_replay_at(replay, i % 900).s;
        for (int k = 0; k < fgsf_agent_num_policies(agent) && changed; k++) {
            fgsf_network_edit(fgsf_agent_network(agent, k));
        }
        double start = fgsf_bench_cpu_seconds();
        good = fgsf_agent_act(agent, 0, NULL, state, &rng, &choice) == FGSF_OK;
        us[i / STATES] += 1e6 * (fgsf_bench_cpu_seconds() - start) / STATES;
    }
    double median = good ? fgsf_bench_quantile(us, rounds, 0.5) : NAN;
    free(us);
    return median;
}

int fgsf_overhead_act(const fgsf_overhead_options *o) {
    static fgsf_config cfg;
    fgsf_bench *bench = NULL;
    fgsf_bench_setup setup = {.replay = 1000, .steps = 1};
    if (!fgsf_overhead_configure(o, "fg-sfrql", &cfg)) return 2;
    if (!fgsf_bench_open(&cfg, &setup, &bench)) return fgsf_overhead_fail() ? 0 : 2;
    fgsf_trainer *trainer = fgsf_bench_trainer(bench);
    const fgsf_agent *agent = fgsf_trainer_agent(trainer);
    time_acting(trainer, 20, true); // warms up
    double same = time_acting(trainer, (int)o->steps, false);
    double changed = time_acting(trainer, (int)o->steps, true);
    printf(o->table
               ? "%d policies of %zu parameters, one state: %.2f us per decision; %.2f us when "
                 "every policy was updated since the last\n"
               : "policies,parameters,us,us_updated\n%d,%zu,%.4g,%.4g\n",
           fgsf_agent_num_policies(agent), fgsf_network_num_parameters(fgsf_agent_shape(agent)),
           same, changed);
    fgsf_bench_free(bench);
    return 0;
}

// --- a whole run --------------------------------------------------------------------------------

// Trains as a driver does, every log row included; checkpoints and files are left out. The result is
// steps, CPU seconds, wall seconds, ms per step, updates per step, MB.
static bool train_whole(const void *task, void *result) {
    fgsf_trainer *trainer = NULL;
    fgsf_log_row row;
    bool due = false;
    double wall = fgsf_bench_wall_seconds(), cpu = fgsf_bench_cpu_seconds(), *values = result;
    fgsf_status status = fgsf_trainer_create(task, &trainer);
    while (status == FGSF_OK && !fgsf_trainer_done(trainer)) {
        status = fgsf_trainer_step(trainer);
        if (status == FGSF_OK) status = fgsf_trainer_log(trainer, &row, &due);
    }
    if (status != FGSF_OK) return false;
    fgsf_progress progress = fgsf_trainer_progress(trainer);
    values[0] = (double)progress.step;
    values[1] = fgsf_bench_cpu_seconds() - cpu;
    values[2] = fgsf_bench_wall_seconds() - wall;
    values[3] = 1e3 * values[1] / values[0];
    values[4] = (double)progress.optimizer_steps / values[0];
    values[5] = fgsf_bench_rss_mb();
    fgsf_trainer_free(trainer);
    return true;
}

int fgsf_overhead_whole(const fgsf_overhead_options *o) {
    static fgsf_config cfg;
    static const fgsf_overhead_column columns[] = {
        {"method", "method", 18, 0}, {"steps", "steps", 9, 0},     {"cpu_s", "cpu_s", 9, 1},
        {"wall_s", "wall_s", 9, 1},  {"ms/step", "ms/step", 9, 3}, {"updates", "updates", 9, 2},
        {"rss_mb", "rss_mb", 8, 1}};
    fgsf_overhead_table t = {columns, COUNT(columns), NULL, NULL};
    bool good = fgsf_overhead_begin(o, &t);
    for (int m = 0; m < o->num_methods && good; m++) {
        double values[COUNT(columns)];
        good = fgsf_overhead_configure(o, o->methods[m], &cfg) &&
               fgsf_bench_fork(1, train_whole, &cfg, values, sizeof values);
        if (good) fgsf_overhead_row(o, &t, o->methods[m], values);
    }
    return fgsf_overhead_end(&t, good);
}

// --- scaling ------------------------------------------------------------------------------------

// gpi varies the tasks too, with one update per step: what remains is the evaluation of all policies.
// psi has the environment's features; a set of prototypes can have any number.
static const struct sweep {
    const char *name, *settings;
    long values[8];
} SWEEPS[] = {
    {"batch", "train.batch_size=%ld", {16, 64, 256, 1024, 4096}},
    {"tasks", "env.num_tasks=%ld", {1, 2, 4, 8, 16, 32}},
    {"gpi", "env.num_tasks=%ld sf.update_set=i_only", {1, 2, 4, 8, 16, 32}},
    {"hidden", "net.hidden=%ld,%ld", {64, 128, 256, 512, 1024}},
    {"features", "sf.xi_max_centers=%ld representation=xi sf.xi_set=prototypes", {4, 16, 64, 256}},
    {"replay", NULL, {1000, 10000, 50000, 200000}},
};

static const fgsf_overhead_column POINT[] = {
    {"varied", "series", 9, 0},        {"value", "x", 8, 0},
    {"median ms", "y", 10, 3},         {"updates", "updates_per_step", 8, 2},
    {"GFLOP", "gflop_per_step", 9, 4}, {"GFLOP/s", "gflops", 8, 1},
    {"eff.", "efficiency", 6, 3},      {"RSS MB", "rss_mb", 8, 1},
    {"ratio", "ratio", 8, 2},          {"order", "order", 7, 2},
};

// `past` holds the times of the first value and of the one before.
static bool measure_point(const fgsf_overhead_options *o, const fgsf_overhead_table *t,
                          const struct sweep *s, int v, double past[2]) {
    static fgsf_config cfg;
    char text[128];
    long value = s->values[v];
    fgsf_bench_figures f;
    fgsf_overhead_options point = *o;
    if (s->settings) {
        snprintf(text, sizeof text, s->settings, value, value);
        point.sets[point.num_sets++] = text;
    } else {
        point.replay = value;
    }
    fgsf_bench_task task = {&cfg, fgsf_overhead_setup(&point)};
    if (!fgsf_overhead_configure(&point, o->methods[0], &cfg) ||
        !fgsf_bench_fork(1, fgsf_bench_measure, &task, &f, sizeof f)) {
        return false;
    }
    if (v == 0) past[0] = f.median_ms;
    // Growth of time with growth of the quantity: 1 is linear, 0 is flat.
    double order =
        log(f.median_ms / past[1]) / log((double)value / (double)s->values[v ? v - 1 : 0]);
    const double values[] = {
        (double)value, f.median_ms, f.updates_per_step,    f.gflop_per_step, f.gflops,
        f.efficiency,  f.rss_mb,    f.median_ms / past[0], v ? order : NAN};
    past[1] = f.median_ms;
    fgsf_overhead_row(o, t, s->name, values);
    return true;
}

int fgsf_overhead_scaling(const fgsf_overhead_options *o) {
    char note[256];
    fgsf_overhead_table t = {POINT, COUNT(POINT), note, NULL};
    snprintf(note, sizeof note,
             "# title: %s, preset %s\n# x: value of the quantity that is varied\n"
             "# y: ms per step (median)\n",
             o->methods[0], o->preset);
    if (o->table) {
        printf("%s, preset %s; else batch %ld, %ld tasks, 256x256 hidden, 4 features\n",
               o->methods[0], o->preset, o->batch, o->tasks);
    }
    bool good = o->num_sets + 1 < FGSF_OVERHEAD_MAX_SETS && fgsf_overhead_begin(o, &t);
    for (int i = 0; i < COUNT(SWEEPS); i++) {
        double past[2] = {NAN, NAN};
        for (int v = 0; v < 8 && SWEEPS[i].values[v] > 0 && good; v++) {
            good = measure_point(o, &t, &SWEEPS[i], v, past);
        }
    }
    return fgsf_overhead_end(&t, good);
}

// --- runs in parallel ---------------------------------------------------------------------------

// Takes all steps, once every process is there; the result is the milliseconds of one, by the wall
// and by the thread's clock.
static bool run_together(const void *task, void *result) {
    const fgsf_bench_task *t = task;
    fgsf_bench *bench = NULL;
    double *ms = result;
    bool good = fgsf_bench_open(t->cfg, &t->setup, &bench) && fgsf_bench_meet();
    double wall = fgsf_bench_wall_seconds(), cpu = fgsf_bench_cpu_seconds();
    for (int i = 0; i < t->setup.steps && good; i++) {
        good = fgsf_trainer_step(fgsf_bench_trainer(bench)) == FGSF_OK;
    }
    ms[0] = 1e3 * (fgsf_bench_wall_seconds() - wall) / t->setup.steps;
    ms[1] = 1e3 * (fgsf_bench_cpu_seconds() - cpu) / t->setup.steps;
    fgsf_bench_free(bench);
    return good;
}

int fgsf_overhead_parallel(const fgsf_overhead_options *o) {
    enum { ROUNDS = 7, MOST = 64 };
    static fgsf_config cfg;
    static const fgsf_overhead_column columns[] = {{"clock", "clock", 11, 0},
                                                   {"alone", "alone_ms", 9, 3},
                                                   {"at once", "together_ms", 12, 3},
                                                   {"change", "percent", 9, 1}};
    fgsf_overhead_table t = {columns, COUNT(columns), NULL, NULL};
    fgsf_bench_task task = {&cfg, fgsf_overhead_setup(o)};
    double ms[2][2][ROUNDS] = {{{0}}}; // wall and CPU; alone and together
    if (!fgsf_overhead_configure(o, o->methods[0], &cfg)) return 2;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        double all[MOST][2];
        int count = i % 2 ? (int)o->processes : 1;
        if (!fgsf_bench_fork(count, run_together, &task, all, sizeof *all)) return 2;
        for (int k = 0; k < 2 * count; k++) ms[k % 2][i % 2][i / 2] += all[k / 2][k % 2] / count;
    }
    if (o->table) {
        printf("%s, batch %ld, %ld tasks, ms per step, median of %d rounds, %ld at once:\n",
               o->methods[0], o->batch, o->tasks, ROUNDS, o->processes);
    }
    bool good = fgsf_overhead_begin(o, &t);
    for (int clock = 0; clock < 2 && good; clock++) {
        double alone = fgsf_bench_quantile(ms[clock][0], ROUNDS, 0.5);
        double together = fgsf_bench_quantile(ms[clock][1], ROUNDS, 0.5);
        const double values[] = {alone, together, 100.0 * (together / alone - 1.0)};
        fgsf_overhead_row(o, &t, clock ? "CPU" : "wall", values);
    }
    return fgsf_overhead_end(&t, good);
}
