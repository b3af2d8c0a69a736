// A training step under the stopwatch: a trainer in the benchmark's situation, timed in CPU time of
// the thread, with cblas_sgemm measured in between so that both see the same machine.
//
//     fgsf_bench *bench = NULL;
//     if (!fgsf_bench_open(&cfg, &setup, &bench)) { ... fgsf_last_error() ... }
//     for (int i = 0; i < 50; i++) fgsf_bench_run(bench, 10);
//     fgsf_bench_figures figures = fgsf_bench_get(bench);
//
// The situation: all policies present, the first task active (index 0; "task 1" of the authors'
// benchmark), the replay filled by random actions, then `warmup` training steps that do not count.
// Methods with a random schedule draw their task at each step, as they do in training.
#ifndef FGSF_OVERHEAD_BENCH_H
#define FGSF_OVERHEAD_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_parts.h"
#include "fgsf/trainer.h"

#define FGSF_BENCH_CHUNK 10 // steps between two looks at sgemm

typedef struct fgsf_bench_setup {
    int64_t replay; // transitions stored before the first step; 0: the batch, and at least 1000
    int steps, warmup;
} fgsf_bench_setup;

// What a row of the table says.
typedef struct fgsf_bench_figures {
    double mean_ms, median_ms, p99_ms;
    double updates_per_step;
    double gflop_per_step; // of the matrix products that the method needs
    double gflops;         // median over chunks of steps, as are the next two
    double sgemm_gflops;   // cblas_sgemm at 512x256x256, measured between the chunks
    double efficiency;     // gflops / sgemm_gflops of the same chunk
    double rss_mb;         // largest resident set of the process so far
    double low_ms;         // 10th percentile: steps that other programs disturbed least
    double wall_ms;        // median, of the wall clock
    double graphs, nodes;  // computed per step
    double up, down;       // bytes per step between the host and a device
    double least;          // bytes of one batch and of the values that a step compares
} fgsf_bench_figures;

typedef struct fgsf_bench fgsf_bench;

// Makes the situation. The configuration's steps per task are set so that the task never changes.
bool fgsf_bench_open(const fgsf_config *cfg, const fgsf_bench_setup *setup, fgsf_bench **out);

// Takes `steps` timed steps, then measures cblas_sgemm. False when a step fails.
bool fgsf_bench_run(fgsf_bench *bench, int steps);

fgsf_trainer *fgsf_bench_trainer(const fgsf_bench *bench);

fgsf_bench_figures fgsf_bench_get(const fgsf_bench *bench);
void fgsf_bench_free(fgsf_bench *bench);

// Does `work` in `count` processes of their own and brings their results (`size` bytes each) back.
// False after a message when one fails.
bool fgsf_bench_fork(int count, bool (*work)(const void *task, void *result), const void *task,
                     void *results, size_t size);

// Called by `work`: waits until all processes are there. False when one has failed.
bool fgsf_bench_meet(void);

// What fgsf_bench_fork can do: all steps of a configuration, in chunks.
typedef struct fgsf_bench_task {
    const fgsf_config *cfg;
    fgsf_bench_setup setup;
} fgsf_bench_task;
bool fgsf_bench_measure(const void *task, void *figures);

double fgsf_bench_rss_mb(void); // largest resident set of this process so far
double fgsf_bench_sgemm(void);  // GFLOP/s of a few products of 512x256x256, one thread

#endif
