// What the files of the run directory module share.
#ifndef FGSF_RUN_PRIVATE_H
#define FGSF_RUN_PRIVATE_H

#include <limits.h>

#include "fgsf/run.h"

#define FGSF_PATH PATH_MAX

struct fgsf_run {
    char directory[FGSF_PATH];
    int lock; // descriptor that holds the flock, or -1
    fgsf_run_record record;
    double earlier_seconds; // of the processes before this one
};

// Writes a/b.
fgsf_status fgsf_path_join(const char *a, const char *b, char *path, size_t size);

#endif
