// A pool of processes: one per job, N at once. A job that crashes or is killed harms no other.
//
//     int train_one(void *ctx, int index, fgsf_job_progress *p) {
//         p->total = steps;
//         for (; p->steps < p->total; p->steps++) {
//             if (fgsf_stop) { save_checkpoint(); return FGSF_JOB_STOPPED; }
//             ...
//         }
//         return 0;
//     }
//     fgsf_jobs_options options = {.parallel = 2, .name = job_name, .ended = job_ended};
//     int unfinished = fgsf_jobs_run(train_one, ctx, count, &options);
//
// Jobs are forked: they can read whatever `ctx` points to, but what they write to it is lost. Only one thread may run when the pool starts: ggml and BLAS are first used inside jobs.
//
// Ctrl-C (SIGINT or SIGTERM) starts no further job and asks the running ones to stop, which they do
// at their next look at fgsf_stop; another one, a second later or more, kills them. When the driver
// itself dies, however it dies, the kernel kills the workers.
#ifndef FGSF_JOBS_H
#define FGSF_JOBS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FGSF_JOB_STOPPED 75 // a job's return value after fgsf_stop: resumable, not failed

// How far a job is; shared between worker and driver.
typedef struct fgsf_job_progress {
    _Atomic int64_t steps, total;
    _Atomic double last_return, loss; // of the last episodes and updates; NaN while unknown
    _Atomic bool returned;            // set by the pool: the job's function came to its end
    char message[512]; // what the driver says when the job ends: a failure, or a remark
} fgsf_job_progress;

// Runs job `index` in a process of its own; 0 for success, FGSF_JOB_STOPPED, or a failure.
typedef int (*fgsf_job)(void *ctx, int index, fgsf_job_progress *p);

typedef enum fgsf_job_end {
    FGSF_JOB_DONE,
    FGSF_JOB_INTERRUPTED, // stopped when asked to, or never started
    FGSF_JOB_FAILED,      // returned a failure
    FGSF_JOB_CRASHED,     // killed by a signal, or its process ended before it did
} fgsf_job_end;

typedef struct fgsf_jobs_options {
    int parallel; // at once; 0: as many as there are cores
    bool quiet;   // only failures are shown
    FILE *out;    // NULL: stderr
    // Returns the name of a job for the display, valid until the next call.
    const char *(*name)(void *ctx, int index);
    // Optional: called in the driver after each job that was started.
    void (*ended)(void *ctx, int index, fgsf_job_end end, const char *message);
    // Optional: how long a job takes beside the others, for the time that is left.
    double (*cost)(void *ctx, int index);
    // Optional: called in the driver a few times per second, with the seconds left (-1: unknown).
    void (*tick)(void *ctx, double eta);
} fgsf_jobs_options;

// Set when the process was asked to stop; long loops look at it.
extern volatile sig_atomic_t fgsf_stop;

// Lets SIGINT, SIGTERM and SIGHUP set fgsf_stop, except those that were ignored. A pool does this by
// itself while it runs.
void fgsf_jobs_watch_stop(void);

// Runs jobs 0..count-1 and returns how many did not end as done, or -1 (with a message in
// fgsf_last_error) when the pool itself could not run.
int fgsf_jobs_run(fgsf_job job, void *ctx, int count, const fgsf_jobs_options *options);

// Returns the seconds of a clock that never goes back.
double fgsf_jobs_now(void);

// Returns the number of cores this process may use.
int fgsf_jobs_cores(void);

#endif
