// Internal: threads that help one thread with its work.
#ifndef FGSF_POOL_H
#define FGSF_POOL_H

#include "fgsf/status.h"

#define FGSF_MAX_THREADS 1024

typedef struct fgsf_pool fgsf_pool;

// Does one part of a piece of work. Any thread may do any part, in any order.
typedef void fgsf_pool_work(const void *what, int part, int parts);

// Starts threads - 1 helpers. The caller of fgsf_pool_run is the other thread.
fgsf_status fgsf_pool_create(int threads, fgsf_pool **out);
void fgsf_pool_free(fgsf_pool *pool);

// Returns the number of threads; 1 without a pool.
int fgsf_pool_threads(const fgsf_pool *pool);

// Does all parts and returns when they are done. One thread at a time may call it.
void fgsf_pool_run(fgsf_pool *pool, fgsf_pool_work *work, const void *what, int parts);

#endif
