// Ours and PyTorch's in turns: a chunk of our steps, a chunk of the peer's, and so on, so that both
// see the same machine. The peer is a Python process that takes steps when asked to.
#define _POSIX_C_SOURCE 200809L // fork, fdopen
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
#define CHUNK 10
#define GREETING 256

double fgsf_overhead_authors(const char *method, long batch, long tasks) {
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

static void start_python(const fgsf_overhead_options *o, const char *method, const char *script,
                         const char *start, int in, int out) {
    char batch[32], tasks[32], warmup[32], replay[32];
    const char *python = getenv("FGSF_PYTHON") ? getenv("FGSF_PYTHON") : "/usr/bin/python3";
    snprintf(batch, sizeof batch, "%ld", o->batch);
    snprintf(tasks, sizeof tasks, "%ld", o->tasks);
    snprintf(warmup, sizeof warmup, "%ld", o->warmup);
    snprintf(replay, sizeof replay, "%ld", o->replay);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execl(python, python, script, "--serve", "--method", method, "--batch", batch, "--tasks", tasks,
          "--warmup", warmup, "--replay", replay, "--style", o->peer_style, "--start", start,
          (char *)NULL);
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
static bool open_peer(const fgsf_overhead_options *o, const char *method, const char *script,
                      const char *start, peer *p, char greeting[GREETING]) {
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
        start_python(o, method, script, start, to[0], from[1]);
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

typedef struct pair {
    fgsf_bench_figures ours;
    double peer_ms, peer_low_ms, peer_updates;
} pair;

static bool measure_pair(const fgsf_overhead_options *o, const char *method, const char *script,
                         pair *out, char greeting[GREETING]) {
    static fgsf_config cfg;
    char start[] = "/tmp/fgsf_overhead_XXXXXX";
    fgsf_bench *bench = NULL;
    peer p = {0};
    fgsf_bench_setup setup = {o->replay, (int)o->steps, (int)o->warmup};
    bool good = fgsf_overhead_configure(o, method, &cfg);
    if (good && !(good = fgsf_bench_open(&cfg, &setup, &bench) && write_start(bench, start))) {
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
    }
    if (good) {
        good = open_peer(o, method, script, start, &p, greeting); // says itself what is wrong
        unlink(start);
    }
    for (int left = (int)o->steps; left > 0 && good; left -= CHUNK) {
        int steps = left < CHUNK ? left : CHUNK;
        good = fgsf_bench_run(bench, steps) && run_peer(&p, steps);
    }
    if (good) {
        out->ours = fgsf_bench_get(bench);
        out->peer_ms = fgsf_bench_quantile(p.ms, p.count, 0.5);
        out->peer_low_ms = fgsf_bench_quantile(p.ms, p.count, 0.1);
        out->peer_updates = p.updates / p.count;
    }
    fgsf_bench_free(bench);
    close_peer(&p);
    return good;
}

static void print_pair(FILE *out, bool table, const char *method, const pair *p, double authors) {
    double ours = p->ours.median_ms;
    fprintf(out,
            table ? "%-18s %9.3f %9.3f %7.2fx %7.2fx %8.2f %8.2f %6.3f %9.2f %7.2fx\n"
                  : "%s,%.6g,%.6g,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g\n",
            method, ours, p->peer_ms, p->peer_ms / ours, p->peer_low_ms / p->ours.low_ms,
            p->ours.updates_per_step, p->peer_updates, p->ours.efficiency, authors, authors / ours);
    fflush(out);
}

int fgsf_overhead_peer(const fgsf_overhead_options *o, const char *script) {
    const char *header =
        "method,ours_ms,torch_ms,ratio,ratio_low,updates_per_step,torch_updates_per_step,"
        "efficiency,authors_ms,authors_ratio\n";
    char greeting[GREETING];
    signal(SIGPIPE, SIG_IGN);
    FILE *csv = fgsf_overhead_open_csv(o);
    if (o->csv && !csv) {
        return 2;
    }
    if (csv) fputs(header, csv);
    bool good = true;
    for (int m = 0; m < o->num_methods && good; m++) {
        pair p;
        good = measure_pair(o, o->methods[m], script, &p, greeting);
        if (good && m == 0 && o->table) {
            printf("batch %ld, %ld tasks, preset compat, one thread each, median ms per step; "
                   "ours with kernels %s, %s",
                   o->batch, o->tasks, fgsf_driver_blas_kernel(), greeting);
            printf("%-18s %9s %9s %8s %8s %8s %8s %6s %9s %8s\n", "method", "ours", "torch",
                   "ratio", "at p10", "updates", "torch's", "eff.", "authors'", "ratio");
        } else if (good && m == 0) {
            fputs(header, stdout);
        }
        double authors = fgsf_overhead_authors(o->methods[m], o->batch, o->tasks);
        if (good) print_pair(stdout, o->table, o->methods[m], &p, authors);
        if (good && csv) print_pair(csv, false, o->methods[m], &p, authors);
    }
    if (csv) fclose(csv);
    return good ? 0 : 2;
}
