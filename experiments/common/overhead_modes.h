// The parts of the overhead benchmark: what `experiments/overhead.c` can be asked for, and the tables
// that it prints.
#ifndef FGSF_OVERHEAD_MODES_H
#define FGSF_OVERHEAD_MODES_H

#include <stdbool.h>
#include <stdio.h>

#include "overhead_bench.h"

#define FGSF_OVERHEAD_MAX_SETS 32
#define FGSF_OVERHEAD_MAX_METHODS 16

typedef struct fgsf_overhead_options {
    const char *preset;
    const char *device;     // "" for the configuration's; else what it does is counted
    const char *peer_style; // of --peer: plain or best
    const char *methods[FGSF_OVERHEAD_MAX_METHODS];
    int num_methods;
    long batch, tasks, replay; // replay 0: the batch, and at least 1000
    long steps, warmup, processes;
    bool table;                               // else CSV on stdout
    const char *csv;                          // file, or NULL
    const char *sets[FGSF_OVERHEAD_MAX_SETS]; // key=value
    int num_sets;
    const char *versus; // key=value of a second row for every method, or NULL
} fgsf_overhead_options;

// A column: its title in a table, its name in CSV, its width and digits in a table.
typedef struct fgsf_overhead_column {
    const char *title, *name;
    int width, digits;
} fgsf_overhead_column;

typedef struct fgsf_overhead_table {
    const fgsf_overhead_column *columns; // the first is text, the others are numbers
    int count;
    const char *note; // comments before the header of a CSV file, or NULL
    FILE *csv;        // as well
} fgsf_overhead_table;

// Prints the header and opens the file of --csv, if there is one; false after a message.
bool fgsf_overhead_begin(const fgsf_overhead_options *o, fgsf_overhead_table *table);
void fgsf_overhead_row(const fgsf_overhead_options *o, const fgsf_overhead_table *table,
                       const char *label, const double *values);

// Closes the file and returns the exit code.
int fgsf_overhead_end(const fgsf_overhead_table *table, bool good);

// Resolves the configuration of a method; false after a message.
bool fgsf_overhead_configure(const fgsf_overhead_options *o, const char *method, fgsf_config *cfg);

// Prints the library's message and returns false.
bool fgsf_overhead_fail(void);

fgsf_bench_setup fgsf_overhead_setup(const fgsf_overhead_options *o);

// The modes; each returns the exit code.
int fgsf_overhead_methods(const fgsf_overhead_options *o);
int fgsf_overhead_parts(const fgsf_overhead_options *o);
int fgsf_overhead_kinds(const fgsf_overhead_options *o);
int fgsf_overhead_act(const fgsf_overhead_options *o);
int fgsf_overhead_scaling(const fgsf_overhead_options *o);
int fgsf_overhead_whole(const fgsf_overhead_options *o);
int fgsf_overhead_parallel(const fgsf_overhead_options *o);
int fgsf_overhead_peer(const fgsf_overhead_options *o);

#endif
