// What fuzz targets share: the input as a text, and as a file.
#ifndef FGSF_FUZZ_H
#define FGSF_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fgsf/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds) {
    if (!holds) abort();
}

// What was refused must be named, in one line without control characters.
static inline void require_message(void) {
    const unsigned char *c = (const unsigned char *)fgsf_last_error();
    require(*c != '\0');
    for (; *c; c++) require(*c >= ' ');
}

// A copy that ends with a zero; to be freed.
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    require(text != NULL);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

// A file in memory with these bytes; close the descriptor to remove it.
static inline int fuzz_file(const void *data, size_t size, char path[32]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
