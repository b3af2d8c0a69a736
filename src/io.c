// Whole-file reading and atomic writing.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static fgsf_status io_error(const char *path, const char *action) {
    return fgsf_fail(FGSF_ERR_IO, "%s: cannot %s: %s", path, action, strerror(errno));
}

static fgsf_status read_all(int fd, const char *path, size_t size, char *text, size_t *length) {
    size_t used = 0;
    while (used < size) {
        ssize_t n = read(fd, text + used, size - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(path, "read");
        if (n == 0) break;
        used += (size_t)n;
    }
    text[used] = '\0';
    if (memchr(text, '\0', used)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: holds a zero byte, so it is not text", path);
    }
    *length = used;
    return FGSF_OK;
}

fgsf_status fgsf_io_read(const char *path, size_t max, char **text, size_t *length) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not block the open
    if (fd < 0) return io_error(path, "open");
    struct stat info;
    fgsf_status status = FGSF_OK;
    char *buffer = NULL;
    size_t used = 0;
    if (fstat(fd, &info) != 0) {
        status = io_error(path, "read");
    } else if (!S_ISREG(info.st_mode)) {
        status = fgsf_fail(FGSF_ERR_IO, "%s: is not a regular file", path);
    } else if ((uintmax_t)info.st_size > max) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: %jd bytes is more than the %zu expected at most",
                           path, (intmax_t)info.st_size, max);
    } else if (!(buffer = malloc((size_t)info.st_size + 1))) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    } else {
        status = read_all(fd, path, (size_t)info.st_size, buffer, &used);
    }
    close(fd);
    if (status != FGSF_OK) {
        free(buffer);
        return status;
    }
    *text = buffer;
    if (length) *length = used;
    return FGSF_OK;
}

static fgsf_status write_all(int fd, const char *path, const char *data, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(path, "write");
        data += n;
        length -= (size_t)n;
    }
    return FGSF_OK;
}

fgsf_status fgsf_io_temporary(const char *path, char *temporary, size_t size) {
    // The process id keeps two writers of one name (summary.csv) out of each other's file.
    int n = snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    if (n > 0 && (size_t)n < size) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "%.200s...: the path is too long", path);
}

// Syncs a file or directory that someone else wrote.
static fgsf_status sync_path(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) return io_error(path, "open");
    fgsf_status status = fsync(fd) == 0 ? FGSF_OK : io_error(path, "sync");
    close(fd);
    return status;
}

static fgsf_status sync_parent(const char *path) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash) return sync_path(".", O_RDONLY | O_DIRECTORY);
    int n = slash == path ? 1 : (int)(slash - path);
    snprintf(parent, sizeof parent, "%.*s", n, path);
    return sync_path(parent, O_RDONLY | O_DIRECTORY);
}

fgsf_status fgsf_io_commit(const char *temporary, const char *path) {
    fgsf_status status = sync_path(temporary, O_RDONLY);
    if (status == FGSF_OK && rename(temporary, path) != 0) status = io_error(path, "replace");
    if (status != FGSF_OK) {
        unlink(temporary);
        return status;
    }
    return sync_parent(path);
}

fgsf_status fgsf_io_write(const char *path, const void *data, size_t length) {
    char temporary[PATH_MAX];
    fgsf_status status = fgsf_io_temporary(path, temporary, sizeof temporary);
    if (status != FGSF_OK) return status;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return io_error(path, "write");
    status = write_all(fd, path, data, length);
    if (close(fd) != 0 && status == FGSF_OK) status = io_error(path, "write");
    if (status != FGSF_OK) {
        unlink(temporary);
        return status;
    }
    return fgsf_io_commit(temporary, path);
}

fgsf_status fgsf_io_make_directory(const char *path) {
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) {
        return fgsf_fail(FGSF_ERR_INVALID, "'%.200s': not a usable path of a directory", path);
    }
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return io_error(part, "make directory");
        if (i < n) part[i] = '/';
    }
    struct stat info;
    if (stat(path, &info) != 0) return io_error(path, "open");
    if (!S_ISDIR(info.st_mode)) {
        return fgsf_fail(FGSF_ERR_IO, "%s: is not a directory", path);
    }
    return FGSF_OK;
}
