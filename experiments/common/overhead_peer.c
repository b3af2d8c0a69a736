// Ours and PyTorch's in turns: a chunk of our steps, a chunk of the peer's, and so on, so that both
// see the same machine. The peer is a Python process that takes steps when asked to.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas_kernel.h"
#include "overhead_modes.h"
#include "say.h"

#define PROGRAM "overhead"
#define GREETING 256

// Milliseconds per step of the authors' PyTorch code, on another machine; NAN where not measured.
static double authors_ms(const char *method, long batch, long tasks) {
    static const struct {
        const char *method;
        double wide, narrow; // ms: batch 512 with 8 tasks, batch 64 with 6
    } figures[] = {{"dqn", 4.7, 1.75},
                   {"sfrql", 136.0, 23.3},
                   {"fg-sfrql", 83.0, 25.2},
                   {"fg-sfrql-random", 79.0, 19.7},
                   {"fg-sfrql-average", 7.8, 6.9},
                   {"fg-dqn", 7.0, 1.6}};
    bool wide = batch == 512 && tasks == 8, narrow = batch == 64 && tasks == 6;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(method, figures[i].method) == 0 && (wide || narrow)) {
            return wide ? figures[i].wide : figures[i].narrow;
        }
    }
    return NAN;
}

// --- the other process --------------------------------------------------------------------------

typedef struct peer {
    pid_t pid;
    FILE *to, *from;
    double *ms;
    int count;
    double updates;
} peer;

// Writes networks (per layer weights, then biases) and scoring vectors as plain floats, so that the
// peer starts where we do: how many updates a step takes depends on them.
static bool write_start(const fgsf_bench *bench, char *path) {
    const fgsf_agent *agent = fgsf_trainer_agent(fgsf_bench_trainer(bench));
    const fgsf_network_shape *shape = fgsf_agent_shape(agent);
    fgsf_parameters all;
    fgsf_network_list(shape, &all);
    int policies = fgsf_agent_num_policies(agent);
    int file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "wb");
    for (int k = 0; k < policies && out; k++) {
        const float *flat = fgsf_network_parameters(fgsf_agent_network(agent, k));
        for (int i = 0; i < all.count; i++) {
            const fgsf_parameter *p = &all.list[i];
            fwrite(flat + p->offset, sizeof(float), (size_t)p->rows * (size_t)p->columns, out);
        }
    }
    for (int task = 0; task < policies && out; task++) {
        fwrite(fgsf_agent_rho(agent, task), sizeof(float), (size_t)shape->features, out);
    }
    return out && fclose(out) == 0;
}

// The peer's script stands beside the source file of the driver.
static const char *peer_script(void) {
    static char path[1024];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s../peers/pytorch_overhead.py",
             slash ? (int)(slash - __FILE__) + 1 : 0, __FILE__);
    return path;
}

static void start_python(const fgsf_overhead_options *o, const char *method, const char *start,
                         int in, int out) {
    char numbers[4][32];
    const long values[4] = {o->batch, o->tasks, o->warmup, o->replay};
    const char *python = getenv("FGSF_PYTHON") ? getenv("FGSF_PYTHON") : "/usr/bin/python3";
    for (int i = 0; i < 4; i++) snprintf(numbers[i], sizeof numbers[i], "%ld", values[i]);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execl(python, python, peer_script(), "--serve", "--method", method, "--batch", numbers[0],
          "--tasks", numbers[1], "--warmup", numbers[2], "--replay", numbers[3], "--style",
          o->peer_style, "--start", start, (char *)NULL);
    fgsf_say(PROGRAM ": --peer: cannot start %s: %s", python, strerror(errno));
    _exit(2);
}

static void close_peer(peer *p) {
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    if (p->pid > 0) waitpid(p->pid, NULL, 0);
    free(p->ms);
}

// Starts the peer and reads its greeting, a line about its versions.
static bool open_peer(const fgsf_overhead_options *o, const char *method, const char *start,
                      peer *p, char greeting[GREETING]) {
    int to[2], from[2];
    *p = (peer){.ms = calloc((size_t)o->steps, sizeof(double))};
    if (!p->ms || pipe(to) != 0 || pipe(from) != 0) {
        return false;
    }
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        close(to[1]);
        close(from[0]);
        start_python(o, method, start, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    return p->pid > 0 && p->to && p->from && fgets(greeting, GREETING, p->from);
}

// Asks for `steps` steps; the answer is the updates made and the milliseconds of each step.
static bool run_peer(peer *p, int steps) {
    double updates = 0.0;
    fprintf(p->to, "%d\n", steps);
    fflush(p->to);
    bool good = fscanf(p->from, "%lf", &updates) == 1;
    for (int i = 0; i < steps && good; i++) {
        good = fscanf(p->from, "%lf", &p->ms[p->count++]) == 1;
    }
    p->updates += updates;
    return good;
}

// --- side by side -------------------------------------------------------------------------------

static const fgsf_overhead_column COLUMNS[] = {
    {"method", "method", 18, 0},
    {"ours", "ours_ms", 9, 3},
    {"torch", "torch_ms", 9, 3},
    {"ratio", "ratio", 8, 2},
    {"at p10", "ratio_low", 8, 2},
    {"updates", "updates_per_step", 8, 2},
    {"torch's", "torch_updates_per_step", 8, 2},
    {"eff.", "efficiency", 6, 3},
    {"authors'", "authors_ms", 9, 2},
    {"ratio", "authors_ratio", 8, 2},
};
#define NUM_COLUMNS (int)(sizeof COLUMNS / sizeof *COLUMNS)

static bool measure_pair(const fgsf_overhead_options *o, const char *method, double *values,
                         char greeting[GREETING]) {
    static fgsf_config cfg;
    char start[] = "/tmp/fgsf_overhead_XXXXXX";
    fgsf_bench *bench = NULL;
    peer p = {0};
    fgsf_bench_setup setup = fgsf_overhead_setup(o);
    bool good = fgsf_overhead_configure(o, method, &cfg);
    good = good && ((fgsf_bench_open(&cfg, &setup, &bench) && write_start(bench, start)) ||
                    fgsf_overhead_fail());
    if (good) {
        good = open_peer(o, method, start, &p, greeting); // says itself what is wrong
        unlink(start);
    }
    for (int left = (int)o->steps; left > 0 && good; left -= FGSF_BENCH_CHUNK) {
        int steps = left < FGSF_BENCH_CHUNK ? left : FGSF_BENCH_CHUNK;
        good = fgsf_bench_run(bench, steps) && run_peer(&p, steps);
    }
    if (good) {
        fgsf_bench_figures f = fgsf_bench_get(bench);
        double authors = authors_ms(method, o->batch, o->tasks), ours = f.median_ms;
        double torch = fgsf_bench_quantile(p.ms, p.count, 0.5);
        double low = fgsf_bench_quantile(p.ms, p.count, 0.1);
        const double row[NUM_COLUMNS - 1] = {ours,
                                             torch,
                                             torch / ours,
                                             low / f.low_ms,
                                             f.updates_per_step,
                                             p.updates / p.count,
                                             f.efficiency,
                                             authors,
                                             authors / ours};
        memcpy(values, row, sizeof row);
    }
    fgsf_bench_free(bench);
    close_peer(&p);
    return good;
}

int fgsf_overhead_peer(const fgsf_overhead_options *o) {
    fgsf_overhead_table t = {COLUMNS, NUM_COLUMNS, NULL, NULL};
    char greeting[GREETING];
    bool good = true;
    signal(SIGPIPE, SIG_IGN);
    for (int m = 0; m < o->num_methods && good; m++) {
        double values[NUM_COLUMNS - 1];
        good = measure_pair(o, o->methods[m], values, greeting);
        if (good && m == 0) { // the greeting belongs above the table
            if (o->table) {
                printf("batch %ld, %ld tasks, preset compat, one thread each, median ms per step; "
                       "ours with kernels %s, %s",
                       o->batch, o->tasks, fgsf_driver_blas_kernel(), greeting);
            }
            good = fgsf_overhead_begin(o, &t);
        }
        if (good) fgsf_overhead_row(o, &t, o->methods[m], values);
    }
    return fgsf_overhead_end(&t, good);
}
