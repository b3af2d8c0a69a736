// Times training steps; see the header.
#include "overhead_bench.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

#define PROGRAM "overhead"
#define SGEMM_ROWS 512
#define SGEMM_COLUMNS 256
#define SGEMM_INNER 256
#define SGEMM_REPEATS 3

struct fgsf_bench {
    fgsf_trainer *trainer;
    double *ms, *wall; // of every timed step
    int count, capacity;
    double *gflops, *sgemm, *efficiency; // of every chunk
    int chunks;
    fgsf_progress start;
    fgsf_device_counts counted; // at the start
    double least;
};

static fgsf_device_counts count(const fgsf_bench *bench) {
    return fgsf_device_get_counts(fgsf_agent_device(fgsf_trainer_agent(bench->trainer)));
}

// What no implementation can do without: a batch (s, s', y, a, a', discount) up, and the values of every
// policy at every s' under the active task down.
static double least_bytes(const fgsf_bench *bench, const fgsf_config *cfg) {
    const fgsf_agent *agent = fgsf_trainer_agent(bench->trainer);
    const fgsf_network_shape *shape = fgsf_agent_shape(agent);
    double batch = (double)cfg->learner.batch_size, policies = fgsf_agent_num_policies(agent);
    return sizeof(float) * batch *
           (2.0 * shape->input + shape->features + 3.0 + policies * shape->actions);
}

double fgsf_bench_sgemm(void) {
    static float a[SGEMM_ROWS * SGEMM_INNER], b[SGEMM_INNER * SGEMM_COLUMNS];
    static float c[SGEMM_ROWS * SGEMM_COLUMNS];
    static bool ready;
    for (int i = 0; i < SGEMM_ROWS * SGEMM_INNER && !ready; i++) {
        a[i] = 0.001f * (float)(i % 977) - 0.5f;
        b[i % (SGEMM_INNER * SGEMM_COLUMNS)] = 0.001f * (float)(i % 991) - 0.5f;
    }
    ready = true;
    double best = 0.0;
    for (int i = 0; i <= SGEMM_REPEATS; i++) { // the first brings the operands into the cache
        double start = fgsf_bench_cpu_seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SGEMM_ROWS, SGEMM_COLUMNS,
                    SGEMM_INNER, 1.0f, a, SGEMM_INNER, b, SGEMM_COLUMNS, 0.0f, c, SGEMM_COLUMNS);
        double seconds = fgsf_bench_cpu_seconds() - start;
        double gflops = 2e-9 * SGEMM_ROWS * SGEMM_COLUMNS * SGEMM_INNER / seconds;
        best = i > 0 && gflops > best ? gflops : best;
    }
    return best;
}

// --- one trainer --------------------------------------------------------------------------------

static fgsf_status prepare(fgsf_bench *bench, const fgsf_config *cfg,
                           const fgsf_bench_setup *setup) {
    fgsf_config own = *cfg;
    int64_t replay = setup->replay, batch = cfg->learner.batch_size;
    if (replay == 0) replay = batch > 1000 ? batch : 1000;
    own.train.steps_per_task = replay + setup->steps + setup->warmup + 1;
    if (own.learner.buffer_capacity < replay) own.learner.buffer_capacity = replay;
    fgsf_status status = fgsf_trainer_create(&own, &bench->trainer);
    if (status == FGSF_OK) status = fgsf_trainer_prefill(bench->trainer, 0, replay);
    for (int i = 0; i < setup->warmup && status == FGSF_OK; i++) {
        status = fgsf_trainer_step(bench->trainer);
    }
    if (status == FGSF_OK) {
        bench->start = fgsf_trainer_progress(bench->trainer);
        bench->counted = count(bench);
        bench->least = least_bytes(bench, &own);
    }
    return status;
}

bool fgsf_bench_open(const fgsf_config *cfg, const fgsf_bench_setup *setup, fgsf_bench **out) {
    openblas_set_num_threads(1);
    fgsf_bench *bench = calloc(1, sizeof *bench);
    size_t steps = (size_t)setup->steps;
    double *times = calloc(5 * steps, sizeof *times);
    if (!bench || !times) {
        free(bench);
        free(times);
        return false;
    }
    *bench = (fgsf_bench){.capacity = setup->steps,
                          .ms = times,
                          .gflops = times + steps,
                          .sgemm = times + 2 * steps,
                          .efficiency = times + 3 * steps,
                          .wall = times + 4 * steps};
    *out = bench;
    if (prepare(bench, cfg, setup) == FGSF_OK) return true;
    fgsf_bench_free(bench);
    *out = NULL;
    return false;
}

void fgsf_bench_free(fgsf_bench *bench) {
    if (!bench) return;
    fgsf_trainer_free(bench->trainer);
    free(bench->ms); // and the other arrays
    free(bench);
}

fgsf_trainer *fgsf_bench_trainer(const fgsf_bench *bench) {
    return bench->trainer;
}

bool fgsf_bench_run(fgsf_bench *bench, int steps) {
    double flops = fgsf_trainer_progress(bench->trainer).flops, seconds = 0.0;
    for (int i = 0; i < steps && bench->count < bench->capacity; i++) {
        double start = fgsf_bench_cpu_seconds(), wall = fgsf_bench_wall_seconds();
        if (fgsf_trainer_step(bench->trainer) != FGSF_OK) return false;
        double taken = fgsf_bench_cpu_seconds() - start;
        bench->wall[bench->count] = 1e3 * (fgsf_bench_wall_seconds() - wall);
        bench->ms[bench->count++] = 1e3 * taken;
        seconds += taken;
    }
    flops = fgsf_trainer_progress(bench->trainer).flops - flops;
    int chunk = bench->chunks++;
    bench->sgemm[chunk] = fgsf_bench_sgemm();
    bench->gflops[chunk] = seconds > 0.0 ? 1e-9 * flops / seconds : NAN;
    bench->efficiency[chunk] = bench->gflops[chunk] / bench->sgemm[chunk];
    return true;
}

fgsf_bench_figures fgsf_bench_get(const fgsf_bench *bench) {
    fgsf_progress now = fgsf_trainer_progress(bench->trainer);
    fgsf_device_counts counts = count(bench), before = bench->counted;
    double sum = 0.0, steps = (double)bench->count;
    for (int i = 0; i < bench->count; i++) sum += bench->ms[i];
    return (fgsf_bench_figures){
        .mean_ms = sum / steps,
        .median_ms = fgsf_bench_quantile(bench->ms, bench->count, 0.5),
        .p99_ms = fgsf_bench_quantile(bench->ms, bench->count, 0.99),
        .low_ms = fgsf_bench_quantile(bench->ms, bench->count, 0.1),
        .updates_per_step = (double)(now.optimizer_steps - bench->start.optimizer_steps) / steps,
        .gflop_per_step = 1e-9 * (now.flops - bench->start.flops) / steps,
        .gflops = fgsf_bench_quantile(bench->gflops, bench->chunks, 0.5),
        .sgemm_gflops = fgsf_bench_quantile(bench->sgemm, bench->chunks, 0.5),
        .efficiency = fgsf_bench_quantile(bench->efficiency, bench->chunks, 0.5),
        .rss_mb = fgsf_bench_rss_mb(),
        .wall_ms = fgsf_bench_quantile(bench->wall, bench->count, 0.5),
        .graphs = (double)(counts.graphs - before.graphs) / steps,
        .nodes = (double)(counts.nodes - before.nodes) / steps,
        .up = (double)(counts.bytes_up - before.bytes_up) / steps,
        .down = (double)(counts.bytes_down - before.bytes_down) / steps,
        .least = bench->least,
    };
}

bool fgsf_bench_measure(const void *task, void *figures) {
    const fgsf_bench_task *t = task;
    fgsf_bench *bench = NULL;
    bool good = fgsf_bench_open(t->cfg, &t->setup, &bench);
    for (int left = t->setup.steps; left > 0 && good; left -= FGSF_BENCH_CHUNK) {
        good = fgsf_bench_run(bench, left < FGSF_BENCH_CHUNK ? left : FGSF_BENCH_CHUNK);
    }
    if (good) *(fgsf_bench_figures *)figures = fgsf_bench_get(bench);
    fgsf_bench_free(bench);
    return good;
}

double fgsf_bench_rss_mb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

// --- in processes of their own ------------------------------------------------------------------

// What the processes share; the results follow it.
typedef struct shared {
    atomic_int arrived, failed;
    int count;
    double results[];
} shared;

static shared *together;

bool fgsf_bench_meet(void) {
    atomic_fetch_add(&together->arrived, 1);
    while (atomic_load(&together->arrived) < together->count && !atomic_load(&together->failed)) {
        usleep(100);
    }
    return !atomic_load(&together->failed);
}

static void run_child(bool (*work)(const void *task, void *result), const void *task, char *slot) {
    bool good = work(task, slot);
    if (!good) fgsf_say(PROGRAM ": %s", fgsf_last_error());
    _exit(good ? 0 : 2);
}

bool fgsf_bench_fork(int count, bool (*work)(const void *task, void *result), const void *task,
                     void *results, size_t size) {
    size_t bytes = sizeof *together + (size_t)count * size;
    together = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (together == MAP_FAILED) {
        fgsf_say(PROGRAM ": no memory for a measurement");
        return false;
    }
    together->count = count;
    char *slots = (char *)together->results;
    int started = 0, state;
    fflush(NULL);
    while (started < count) {
        pid_t child = fork();
        if (child == 0) run_child(work, task, slots + (size_t)started * size);
        if (child < 0) break;
        started++;
    }
    if (started < count) {
        fgsf_say(PROGRAM ": no process for a measurement");
        atomic_store(&together->failed, 1);
    }
    for (int i = 0; i < started && wait(&state) > 0; i++) {
        if (WIFEXITED(state) && WEXITSTATUS(state) == 0) continue;
        atomic_store(&together->failed, 1);
        if (WIFSIGNALED(state)) {
            fgsf_say(PROGRAM ": a measurement ended with signal %d", WTERMSIG(state));
        }
    }
    bool good = !atomic_load(&together->failed);
    if (good) memcpy(results, slots, (size_t)count * size);
    munmap(together, bytes);
    return good;
}
