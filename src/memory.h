// Checks that there is memory before ggml asks for some: ggml aborts the whole program when an
// allocation fails.
#ifndef FGSF_MEMORY_H
#define FGSF_MEMORY_H

#include <stddef.h>

#include "fgsf/status.h"

// Fails when `bytes`, plus a reserve for what a library allocates besides, are not available now.
fgsf_status fgsf_memory_check(size_t bytes, const char *what);

#endif
