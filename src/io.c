// Whole-file reading and atomic writing.
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static fgsf_status io_error(const char *path, const char *action) {
    return fgsf_fail(FGSF_ERR_IO, "%s: cannot %s: %s", path, action, strerror(errno));
}

fgsf_status fgsf_io_read_all(int fd, const char *path, size_t size, char *text, size_t *length) {
    size_t used = 0;
    while (used < size) {
        ssize_t n = read(fd, text + used, size - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(path, "read");
        if (n == 0) break;
        used += (size_t)n;
    }
    text[used] = '\0';
    *length = used;
    return FGSF_OK;
}

fgsf_status fgsf_io_open(const char *path, bool write, int *fd, size_t *size) {
    int flags = (write ? O_RDWR | O_NOFOLLOW : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
    struct stat info;
    *fd = open(path, flags);
    if (*fd < 0 && errno != EISDIR) return io_error(path, "open");
    if (*fd >= 0 && fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *size = (size_t)info.st_size;
        return FGSF_OK;
    }
    if (*fd >= 0) close(*fd);
    return fgsf_fail(FGSF_ERR_IO, "%s: is not a regular file", path);
}

fgsf_status fgsf_io_read(const char *path, size_t max, char **text, size_t *length) {
    int fd;
    size_t size = 0, used = 0;
    char *buffer = NULL;
    fgsf_status status = fgsf_io_open(path, false, &fd, &size);
    if (status != FGSF_OK) return status;
    if (size > max) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: %zu bytes is more than the %zu expected at most",
                           path, size, max);
    } else if (!(buffer = malloc(size + 1))) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    } else {
        status = fgsf_io_read_all(fd, path, size, buffer, &used);
    }
    close(fd);
    if (status == FGSF_OK && memchr(buffer, '\0', used)) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: holds a zero byte, so it is not text", path);
    }
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

// Opens a new file and locks it. An existing link is not followed. The lock tells those who remove
// leftovers to leave the file alone; if one of them removes it before it is locked, it is made
// again.
static int open_new(const char *temporary) {
    for (int tries = 0; tries < 10; tries++) {
        unlink(temporary);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        struct stat info;
        if (fd < 0) return fd;
        flock(fd, LOCK_EX | LOCK_NB); // where there are no locks, leftovers are the lesser evil
        if (fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
        close(fd);
    }
    return -1;
}

fgsf_status fgsf_io_begin(const char *path, fgsf_io_file *out) {
    out->path = path;
    // The process id keeps two writers of one name (summary.csv) out of each other's file.
    int n = snprintf(out->temporary, sizeof out->temporary, "%s.%ld.tmp", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof out->temporary) {
        return fgsf_fail(FGSF_ERR_INVALID, "%.200s...: the path is too long", path);
    }
    out->fd = open_new(out->temporary);
    return out->fd < 0 ? io_error(path, "write") : FGSF_OK;
}

static fgsf_status sync_parent(const char *path) {
    char parent[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return io_error(parent, "open");
    fgsf_status status = fsync(fd) == 0 ? FGSF_OK : io_error(parent, "sync");
    close(fd);
    return status;
}

fgsf_status fgsf_io_end(fgsf_io_file *file, fgsf_status status) {
    if (status == FGSF_OK && fsync(file->fd) != 0) status = io_error(file->path, "sync");
    if (status == FGSF_OK && rename(file->temporary, file->path) != 0) {
        status = io_error(file->path, "replace");
    }
    if (status != FGSF_OK) unlink(file->temporary);
    close(file->fd); // after the sync there is nothing left to fail
    return status == FGSF_OK ? sync_parent(file->path) : status;
}

fgsf_status fgsf_io_write(const char *path, const void *data, size_t length) {
    fgsf_io_file file;
    FGSF_TRY(fgsf_io_begin(path, &file));
    return fgsf_io_end(&file, write_all(file.fd, path, data, length));
}

// NAME.PID.tmp, of a file that runs and drivers replace. What else a folder holds is not ours.
static bool is_temporary(const char *name) {
    static const char *const names[] = {"run.json.", "state.gguf.", "policy.gguf.", "summary.csv.",
                                        "index.html."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]), digits;
        if (strncmp(name, names[i], n) != 0) continue;
        digits = strspn(name + n, "0123456789");
        return digits > 0 && strcmp(name + n + digits, ".tmp") == 0;
    }
    return false;
}

void fgsf_io_remove_leftovers(const char *directory) {
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!is_temporary(entry->d_name)) continue;
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        int fd = openat(dirfd(dir), entry->d_name, flags);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(dir), entry->d_name, 0);
        if (fd >= 0) close(fd);
    }
    if (dir) closedir(dir);
}

// ---- Seals ---------------------------------------------------------------------------------------

#define SEAL_START (sizeof "{\n\"checksum\": \"" - 1)
#define SEAL_SIZE (sizeof FGSF_SEAL - 1)

uint64_t fgsf_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void print_seal(const char *text, size_t length, char seal[17]) {
    uint64_t sum = fgsf_hash(FGSF_HASH_START, text + SEAL_SIZE, length - SEAL_SIZE);
    snprintf(seal, 17, "%016llx", (unsigned long long)sum);
}

void fgsf_io_seal(char *text, size_t length) {
    char seal[17];
    print_seal(text, length, seal);
    memcpy(text + SEAL_START, seal, 16);
}

fgsf_status fgsf_io_check_seal(const char *text, const char *path) {
    size_t length = strlen(text);
    char seal[17], line[sizeof FGSF_SEAL] = FGSF_SEAL;
    if (length >= SEAL_SIZE) {
        print_seal(text, length, seal);
        memcpy(line + SEAL_START, seal, 16);
        if (strncmp(text, line, SEAL_SIZE) == 0) return FGSF_OK;
    }
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: its checksum is not that of its content", path);
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
    if (!S_ISDIR(info.st_mode)) return fgsf_fail(FGSF_ERR_IO, "%s: is not a directory", path);
    return FGSF_OK;
}
