// Checks for memory before code runs that aborts without it.
#include "memory.h"

#include <stdint.h>
#include <sys/mman.h>

#define RESERVE ((size_t)4 << 20) // bytes; ggml's contexts, hash tables and queues are far smaller

// Maps and unmaps, which touches no page. malloc would: sanitizers mark every byte of it.
fgsf_status fgsf_memory_check(size_t bytes, const char *what) {
    size_t size = bytes < SIZE_MAX - RESERVE ? bytes + RESERVE : SIZE_MAX;
    void *probe = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
    }
    munmap(probe, size);
    return FGSF_OK;
}
