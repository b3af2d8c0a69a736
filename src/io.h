// Files: read whole, written atomically. Messages name the file and what the system said.
#ifndef FGSF_IO_H
#define FGSF_IO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

// Opens a regular file for reading, or for reading and writing where it is no link. Anything else in its
// place, such as a pipe, is refused without waiting for it.
fgsf_status fgsf_io_open(const char *path, bool write, int *fd, size_t *size);

// Reads up to `size` bytes and ends them with a zero; fewer when the file was shortened meanwhile.
fgsf_status fgsf_io_read_all(int fd, const char *path, size_t size, char *text, size_t *length);

// Reads a whole regular file of at most `max` bytes. The text is terminated, holds no zero byte and
// is freed with free(); `length` may be NULL.
fgsf_status fgsf_io_read(const char *path, size_t max, char **text, size_t *length);

// Replaces a file: written beside it, synced, renamed, and the directory synced. Whoever reads
// `path` sees the old content or the new one, also after a crash.
fgsf_status fgsf_io_write(const char *path, const void *data, size_t length);

// The two halves of the above for writers that need a descriptor of their own. What is written to `fd`
// replaces `path` when fgsf_io_end gets FGSF_OK, and is removed when it gets anything else; either way
// it closes the descriptor and returns the first failure.
typedef struct fgsf_io_file {
    const char *path;
    char temporary[PATH_MAX];
    int fd;
} fgsf_io_file;

fgsf_status fgsf_io_begin(const char *path, fgsf_io_file *out);
fgsf_status fgsf_io_end(fgsf_io_file *file, fgsf_status status);

// Continues a 64-bit FNV-1a, which starts at FGSF_HASH_START.
#define FGSF_HASH_START 0xcbf29ce484222325u
uint64_t fgsf_hash(uint64_t hash, const void *data, size_t size);

// A sealed JSON object begins with a line that has the checksum of what follows it.
#define FGSF_SEAL "{\n\"checksum\": \"................\",\n"
void fgsf_io_seal(char *text, size_t length); // fills in the dots
fgsf_status fgsf_io_check_seal(const char *text, const char *path);

// Removes the temporary files of processes that were killed. Those that are being written are locked
// by their writers and stay.
void fgsf_io_remove_leftovers(const char *directory);

// Makes a directory and its parents.
fgsf_status fgsf_io_make_directory(const char *path);

#endif
