// Internal: what makes a file one of ours, checked before ggml reads it.
#ifndef FGSF_ARCHIVE_CHECK_H
#define FGSF_ARCHIVE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

#define FGSF_ARCHIVE_BLOCK 32           // everything is padded to it: GGUF's default alignment
#define FGSF_ARCHIVE_MAX_NAME 63        // ggml's limit
#define FGSF_ARCHIVE_KEY "fgsf.archive" // its value is the version of the schema
#define FGSF_ARCHIVE_VERSION 1

// What follows the GGUF file.
typedef struct fgsf_archive_footer {
    char magic[8];
    uint64_t size; // of the whole file
    uint64_t checksum;
} fgsf_archive_footer;

// Four lanes of 8 bytes each. Each step is a bijection of the word and of the lane, so damage
// within one word is always found.
typedef struct fgsf_checksum {
    uint64_t lanes[4];
} fgsf_checksum;

fgsf_checksum fgsf_checksum_start(void);

// Adds `size` bytes, a multiple of FGSF_ARCHIVE_BLOCK.
void fgsf_checksum_add(fgsf_checksum *sum, const void *data, size_t size);

// Returns the footer of a file whose `size` bytes before it have been added to `sum`.
fgsf_archive_footer fgsf_archive_seal(const fgsf_checksum *sum, uint64_t size);

// Checks footer, checksum, and that the content is GGUF as this library writes it: single values
// and one-dimensional arrays of our types, in order, up to the footer exactly. ggml's reader
// accepts more than that, but divides by zero or aborts on some of what it does not accept.
fgsf_status fgsf_archive_check(const char *path, const unsigned char *content, size_t size);

#endif
