// Helpers for pieces of work of tens of microseconds, on machines that may be busy.
//
// A piece is cut into parts, which threads take one by one: the caller from the front, so that it has
// the same rows in its cache each time, the helpers from the back. A helper that comes late, or not at
// all, finds less to do, and nobody waits for it. Only a helper that the system stops in the middle of
// a part makes the caller wait. The caller then works alone for a while, so that a busy machine costs
// it a fraction of its time. Helpers without work spin for a moment, then sleep; one that finds itself on
// the caller's core, which it could only slow down, does neither work nor spin there.
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "denormals.h"

#define SPIN                                                                                       \
    200e-6 // seconds a helper looks for work before it sleeps: longer than between products
#define LATE 100e-6 // seconds the caller spins for the last part; more means a helper was stopped
#define REST 10     // times as long as it waited, the caller then works alone
#define CROWDED 2e6 // nanoseconds that a helper sleeps which is on the caller's core

struct fgsf_pool {
    // Parts that nobody has taken: piece << 32 | first << 16 | end. The number of the piece keeps a
    // helper that looked long ago from taking a part of another piece.
    _Atomic uint64_t open;
    atomic_int unfinished;
    atomic_int core;      // of the caller
    fgsf_pool_work *work; // constant while a part is unfinished
    const void *what;
    int parts;
    double alone_until;

    pthread_mutex_t lock;
    pthread_cond_t opened, finished;
    atomic_int sleeping; // helpers
    atomic_bool waiting; // the caller
    atomic_bool stop;
    int threads;
    pthread_t helpers[FGSF_MAX_THREADS - 1];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The core that this runs on, or -1 where that is not known.
static int this_core(void) {
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool is_open(fgsf_pool *pool) {
    uint64_t open = atomic_load(&pool->open);
    return (open >> 16 & 0xffff) < (open & 0xffff);
}

// Takes a part, or returns -1 when none is left.
static int take(fgsf_pool *pool, bool from_front) {
    uint64_t open = atomic_load(&pool->open);
    for (;;) {
        int first = (int)(open >> 16 & 0xffff), end = (int)(open & 0xffff);
        if (first >= end) return -1;
        uint64_t rest = from_front ? open + (1u << 16) : open - 1;
        if (atomic_compare_exchange_weak(&pool->open, &open, rest)) {
            return from_front ? first : end - 1;
        }
    }
}

// Does parts until none is left to take.
static void work_on(fgsf_pool *pool, bool from_front) {
    for (int part; (part = take(pool, from_front)) >= 0;) {
        pool->work(pool->what, part, pool->parts);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->waiting)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->finished);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void *help(void *arg) {
    fgsf_pool *pool = arg;
    fgsf_denormals_flush(); // as the caller does while it computes
    while (!atomic_load(&pool->stop)) {
        int core = this_core();
        bool crowded = core >= 0 && core == atomic_load(&pool->core);
        if (crowded && is_open(pool)) {
            nanosleep(&(struct timespec){.tv_nsec = (long)CROWDED}, NULL);
            continue;
        }
        work_on(pool, false);
        double until = now() + SPIN;
        while (!crowded && !is_open(pool) && !atomic_load(&pool->stop) && now() < until) {
            pause_briefly();
        }
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->sleeping, 1);
        while (!is_open(pool) && !atomic_load(&pool->stop)) {
            pthread_cond_wait(&pool->opened, &pool->lock);
        }
        atomic_fetch_sub(&pool->sleeping, 1);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

// Waits for the parts that helpers are at.
static void wait_for_helpers(fgsf_pool *pool) {
    if (atomic_load(&pool->unfinished) == 0) return;
    double start = now();
    while (atomic_load(&pool->unfinished) > 0 && now() < start + LATE) {
        pause_briefly();
    }
    if (atomic_load(&pool->unfinished) == 0) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, true);
    while (atomic_load(&pool->unfinished) > 0) {
        pthread_cond_wait(&pool->finished, &pool->lock);
    }
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->lock);
    double end = now();
    pool->alone_until = end + REST * (end - start);
}

void fgsf_pool_run(fgsf_pool *pool, fgsf_pool_work *work, const void *what, int parts) {
    if (pool->alone_until > 0.0 && now() < pool->alone_until) {
        for (int part = 0; part < parts; part++) {
            work(what, part, parts);
        }
        return;
    }
    pool->alone_until = 0.0;
    pool->work = work;
    pool->what = what;
    pool->parts = parts;
    atomic_store(&pool->core, this_core());
    atomic_store(&pool->unfinished, parts);
    uint64_t piece = (atomic_load(&pool->open) >> 32) + 1;
    atomic_store(&pool->open, piece << 32 | (uint64_t)parts);
    if (atomic_load(&pool->sleeping) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->opened);
        pthread_mutex_unlock(&pool->lock);
    }
    work_on(pool, true);
    wait_for_helpers(pool);
}

fgsf_status fgsf_pool_create(int threads, fgsf_pool **out) {
    fgsf_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %d threads", threads);
    atomic_init(&pool->core, -1);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->finished, NULL);
    sigset_t all, before; // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    for (pool->threads = 1; pool->threads < threads && !error; pool->threads += !error) {
        error = pthread_create(&pool->helpers[pool->threads - 1], NULL, help, pool);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        fgsf_pool_free(pool);
        return fgsf_fail(FGSF_ERR_MEMORY, "device.threads: %d threads cannot be started", threads);
    }
    *out = pool;
    return FGSF_OK;
}

void fgsf_pool_free(fgsf_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads - 1; i++) {
        pthread_join(pool->helpers[i], NULL);
    }
    pthread_cond_destroy(&pool->opened);
    pthread_cond_destroy(&pool->finished);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

int fgsf_pool_threads(const fgsf_pool *pool) {
    return pool ? pool->threads : 1;
}
