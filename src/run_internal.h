// Internal: what the files of the run directory module share.
#ifndef FGSF_RUN_INTERNAL_H
#define FGSF_RUN_INTERNAL_H

#include <limits.h>

#include "fgsf/run.h"

#define FGSF_PATH PATH_MAX
#define FGSF_MAX_CSV ((size_t)1 << 28) // bytes of one file

struct fgsf_run {
    char directory[FGSF_PATH];
    int lock; // descriptor that holds the flock, or -1
    fgsf_run_record record;
    double earlier_seconds; // of the processes before this one
};

// Finds the entry of a file, or makes it; NULL when there is no room.
fgsf_run_file *fgsf_run_find_file(fgsf_run_record *record, const char *name);

// fgsf_run_verify with the record at hand.
fgsf_status fgsf_csv_verify(const char *directory, const fgsf_run_record *record);

// fgsf_run_read where a driver wrote the run: the record must be of this place, not of a run that
// was copied here.
fgsf_status fgsf_run_read_own(const char *directory, fgsf_run_record *out);

// Writes a/b.
fgsf_status fgsf_path_join(const char *a, const char *b, char *path, size_t size);

#endif
