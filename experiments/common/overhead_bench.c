// Times training steps; see the header.
#define _POSIX_C_SOURCE 200809L // clock_gettime, fork
#include "overhead_bench.h"
#include "say.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SGEMM_ROWS 512
#define SGEMM_COLUMNS 256
#define SGEMM_INNER 256
#define SGEMM_REPEATS 3
#define CHUNK 10 // steps between two looks at sgemm

struct fgsf_bench {
    fgsf_trainer *trainer;
    double *ms; // of every timed step
    int count, capacity;
    double *gflops, *sgemm, *efficiency; // of every chunk
    int chunks;
    fgsf_progress start;
};

// --- tools --------------------------------------------------------------------------------------

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double fgsf_bench_cpu_seconds(void) {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double fgsf_bench_wall_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fgsf_bench_quantile(double *values, int n, double q) {
    if (n == 0) {
        return NAN;
    }
    qsort(values, (size_t)n, sizeof *values, compare);
    double position = q * (double)(n - 1);
    int low = (int)position, high = low + 1 < n ? low + 1 : low;
    return values[low] + (position - low) * (values[high] - values[low]);
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
    int64_t replay = setup->replay;
    if (replay == 0) {
        replay = cfg->learner.batch_size > 1000 ? cfg->learner.batch_size : 1000;
    }
    own.train.steps_per_task = replay + setup->steps + setup->warmup + 1;
    if (own.learner.buffer_capacity < replay) {
        own.learner.buffer_capacity = replay;
    }
    fgsf_status status = fgsf_trainer_create(&own, &bench->trainer);
    if (status == FGSF_OK) {
        status = fgsf_trainer_prefill(bench->trainer, 0, replay);
    }
    for (int i = 0; i < setup->warmup && status == FGSF_OK; i++) {
        status = fgsf_trainer_step(bench->trainer);
    }
    if (status == FGSF_OK) {
        bench->start = fgsf_trainer_progress(bench->trainer);
    }
    return status;
}

bool fgsf_bench_open(const fgsf_config *cfg, const fgsf_bench_setup *setup, fgsf_bench **out) {
    openblas_set_num_threads(1);
    fgsf_bench *bench = calloc(1, sizeof *bench);
    if (!bench) {
        return false;
    }
    size_t steps = (size_t)setup->steps;
    bench->capacity = setup->steps;
    bench->ms = calloc(steps, sizeof(double));
    bench->gflops = calloc(steps, sizeof(double));
    bench->sgemm = calloc(steps, sizeof(double));
    bench->efficiency = calloc(steps, sizeof(double));
    if (!bench->ms || !bench->gflops || !bench->sgemm || !bench->efficiency ||
        prepare(bench, cfg, setup) != FGSF_OK) {
        fgsf_bench_free(bench);
        return false;
    }
    *out = bench;
    return true;
}

void fgsf_bench_free(fgsf_bench *bench) {
    if (!bench) {
        return;
    }
    fgsf_trainer_free(bench->trainer);
    free(bench->ms);
    free(bench->gflops);
    free(bench->sgemm);
    free(bench->efficiency);
    free(bench);
}

fgsf_trainer *fgsf_bench_trainer(const fgsf_bench *bench) {
    return bench->trainer;
}

bool fgsf_bench_run(fgsf_bench *bench, int steps) {
    double flops = fgsf_trainer_progress(bench->trainer).flops, seconds = 0.0;
    for (int i = 0; i < steps && bench->count < bench->capacity; i++) {
        double start = fgsf_bench_cpu_seconds();
        if (fgsf_trainer_step(bench->trainer) != FGSF_OK) {
            return false;
        }
        double taken = fgsf_bench_cpu_seconds() - start;
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
    double sum = 0.0, steps = (double)bench->count;
    for (int i = 0; i < bench->count; i++) {
        sum += bench->ms[i];
    }
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
    };
}

// --- in a process of its own --------------------------------------------------------------------

bool fgsf_bench_in_child(const char *program, bool (*work)(const void *task, void *result),
                         const void *task, void *result, size_t size) {
    int ends[2], state = 0;
    if (pipe(ends) != 0) {
        perror(program);
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        bool good = work(task, result) && write(ends[1], result, size) == (ssize_t)size;
        if (!good) fgsf_say("%s: %s", program, fgsf_last_error());
        _exit(good ? 0 : 2);
    }
    close(ends[1]);
    bool good = child > 0 && read(ends[0], result, size) == (ssize_t)size;
    close(ends[0]);
    if (child > 0) {
        waitpid(child, &state, 0);
    }
    if (WIFSIGNALED(state)) {
        fgsf_say("%s: a measurement ended with signal %d", program, WTERMSIG(state));
    }
    return good;
}

double fgsf_bench_rss_mb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

typedef struct measurement {
    const fgsf_config *cfg;
    const fgsf_bench_setup *setup;
} measurement;

static bool measure_here(const void *task, void *result) {
    const measurement *m = task;
    fgsf_bench *bench = NULL;
    bool good = fgsf_bench_open(m->cfg, m->setup, &bench);
    for (int left = m->setup->steps; left > 0 && good; left -= CHUNK) {
        good = fgsf_bench_run(bench, left < CHUNK ? left : CHUNK);
    }
    if (good) {
        *(fgsf_bench_figures *)result = fgsf_bench_get(bench);
    }
    fgsf_bench_free(bench);
    return good;
}

bool fgsf_bench_measure(const char *program, const fgsf_config *cfg, const fgsf_bench_setup *setup,
                        fgsf_bench_figures *out) {
    measurement task = {cfg, setup};
    return fgsf_bench_in_child(program, measure_here, &task, out, sizeof *out);
}
