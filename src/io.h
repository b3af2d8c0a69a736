// Files: read whole, written atomically. Messages name the file and what the system said.
#ifndef FGSF_IO_H
#define FGSF_IO_H

#include <stddef.h>

#include "fgsf/status.h"

// Reads a whole regular file of at most `max` bytes. The text is terminated, holds no zero byte and
// is freed with free(); `length` may be NULL.
fgsf_status fgsf_io_read(const char *path, size_t max, char **text, size_t *length);

// Replaces a file: written beside it, synced, renamed, and the directory synced. Whoever reads
// `path` sees the old content or the new one, also after a crash.
fgsf_status fgsf_io_write(const char *path, const void *data, size_t length);

// The two halves of the above for writers that need a path of their own (GGUF): the temporary name
// for `path`, and the sync, rename and sync that put it in place. Commit removes `temporary` when it
// fails.
fgsf_status fgsf_io_temporary(const char *path, char *temporary, size_t size);
fgsf_status fgsf_io_commit(const char *temporary, const char *path);

// Makes a directory and its parents.
fgsf_status fgsf_io_make_directory(const char *path);

#endif
