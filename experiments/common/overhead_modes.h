// The parts of the overhead benchmark: what `experiments/overhead.c` can be asked for.
#ifndef FGSF_OVERHEAD_MODES_H
#define FGSF_OVERHEAD_MODES_H

#include <stdbool.h>
#include <stdio.h>

#include "overhead_bench.h"

#define FGSF_OVERHEAD_MAX_SETS 32
#define FGSF_OVERHEAD_MAX_METHODS 16

typedef struct fgsf_overhead_options {
    const char *preset;
    const char *peer_style; // of --peer: plain or best
    const char *methods[FGSF_OVERHEAD_MAX_METHODS];
    int num_methods;
    long batch, tasks, replay; // replay 0: the batch, and at least 1000
    long steps, warmup;
    bool table;                               // else CSV on stdout
    const char *csv;                          // file, or NULL
    const char *sets[FGSF_OVERHEAD_MAX_SETS]; // key=value
    int num_sets;
    const char *versus; // key=value of a second row for every method, or NULL
} fgsf_overhead_options;

// Resolves the configuration of a method; false after a message.
bool fgsf_overhead_configure(const fgsf_overhead_options *o, const char *method, fgsf_config *cfg);

// Opens the file of --csv for writing; NULL after a message, or when there is none.
FILE *fgsf_overhead_open_csv(const fgsf_overhead_options *o);

// The modes; each returns the exit code.
int fgsf_overhead_methods(const fgsf_overhead_options *o);
int fgsf_overhead_parts(const fgsf_overhead_options *o);
int fgsf_overhead_act(const fgsf_overhead_options *o);
int fgsf_overhead_scaling(const fgsf_overhead_options *o);
int fgsf_overhead_whole(const fgsf_overhead_options *o);
int fgsf_overhead_parallel(const fgsf_overhead_options *o, int processes);
int fgsf_overhead_peer(const fgsf_overhead_options *o, const char *script);

// Milliseconds per step of the authors' PyTorch code, on another machine; NAN where not measured.
double fgsf_overhead_authors(const char *method, long batch, long tasks);

#endif
