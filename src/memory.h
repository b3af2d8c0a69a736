// Looks whether there is memory before ggml is asked for some: where its allocations fail, it aborts the
// whole program.
#ifndef FGSF_MEMORY_H
#define FGSF_MEMORY_H

#include <stddef.h>

#include "fgsf/status.h"

// Fails when `bytes`, with a reserve for what a library allocates beside them, are not to be had now.
fgsf_status fgsf_memory_check(size_t bytes, const char *what);

#endif
