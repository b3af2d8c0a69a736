// Memory that is about to be used by code that cannot do without.
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

#define RESERVE ((size_t)4 << 20) // bytes; ggml's contexts, hash tables and queues are far smaller

fgsf_status fgsf_memory_check(size_t bytes, const char *what) {
    void *volatile probe = bytes < SIZE_MAX - RESERVE ? malloc(bytes + RESERVE) : NULL;
    if (!probe) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
    free(probe);
    return FGSF_OK;
}
