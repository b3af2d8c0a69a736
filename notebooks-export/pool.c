// Memory that lives until the program ends, lists of names, and files.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"

static fgsf_status fail_memory(void) {
    return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
}

void pool_free(pool *p) {
    for (size_t i = 0; i < p->count; i++) free(p->blocks[i]);
    free(p->blocks);
    *p = (pool){0};
}

static fgsf_status pool_keep(pool *p, void *block) {
    if (!block) return fail_memory();
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 64;
        void **blocks = realloc(p->blocks, capacity * sizeof *blocks);
        if (!blocks) {
            free(block);
            return fail_memory();
        }
        p->blocks = blocks;
        p->capacity = capacity;
    }
    p->blocks[p->count++] = block;
    return FGSF_OK;
}

fgsf_status pool_get(pool *p, size_t count, size_t size, void *out) {
    void *block = calloc(count ? count : 1, size);
    TRY(pool_keep(p, block));
    memcpy(out, &block, sizeof block);
    return FGSF_OK;
}

fgsf_status pool_push(pool *p, void *items, size_t *n, size_t size) {
    bool full = (*n & (*n - 1)) == 0; // capacities are powers of two
    if (full) {
        void *old = NULL;
        void *grown = NULL;
        memcpy(&old, items, sizeof old);
        TRY(pool_get(p, *n ? 2 * *n : 1, size, &grown));
        if (*n) memcpy(grown, old, *n * size);
        memcpy(items, &grown, sizeof grown);
    }
    (*n)++;
    return FGSF_OK;
}

fgsf_status pool_printf(pool *p, const char **out, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    TRY(pool_keep(p, length < 0 ? NULL : text));
    *out = text;
    return FGSF_OK;
}

bool names_find(const names *list, const char *name, size_t *at) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i], name) == 0) {
            if (at) *at = i;
            return true;
        }
    }
    return false;
}

fgsf_status names_add(pool *p, names *list, const char *name) {
    if (names_find(list, name, NULL)) return FGSF_OK;
    TRY(pool_push(p, &list->v, &list->n, sizeof *list->v));
    list->v[list->n - 1] = name;
    return FGSF_OK;
}

fgsf_status file_read(pool *p, const char *path, char **text, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return fgsf_fail(FGSF_ERR_IO, "%s: %s", path, strerror(errno));
    char *buffer = NULL;
    size_t used = 0;
    size_t capacity = 0;
    for (size_t got = 1; got > 0; used += got) {
        if (capacity - used < 2) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *grown = realloc(buffer, capacity);
            if (!grown) {
                free(buffer);
                fclose(f);
                return fail_memory();
            }
            buffer = grown;
        }
        got = fread(buffer + used, 1, capacity - used - 1, f);
    }
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    buffer[used] = '\0';
    TRY(pool_keep(p, buffer));
    if (failed) return fgsf_fail(FGSF_ERR_IO, "%s: %s", path, strerror(failed));
    *text = buffer;
    *size = used;
    return FGSF_OK;
}

fgsf_status file_open(const char *path, FILE **out) {
    *out = fopen(path, "wb");
    return *out ? FGSF_OK : fgsf_fail(FGSF_ERR_IO, "%s: %s", path, strerror(errno));
}

fgsf_status file_close(FILE *f, const char *path) {
    bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) {
        return fgsf_fail(FGSF_ERR_IO, "%s: %s", path, errno ? strerror(errno) : "write failed");
    }
    return FGSF_OK;
}

fgsf_status file_make_dirs(const char *path) {
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof prefix) {
        return fgsf_fail(FGSF_ERR_IO, "'%s': not a usable path", path);
    }
    memcpy(prefix, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (prefix[i] != '/' && prefix[i] != '\0') continue;
        char kept = prefix[i];
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) != 0 && errno != EEXIST) {
            return fgsf_fail(FGSF_ERR_IO, "%s: %s", prefix, strerror(errno));
        }
        prefix[i] = kept;
    }
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return fgsf_fail(FGSF_ERR_IO, "%s: not a directory", path);
    }
    return FGSF_OK;
}

void file_remove_tree(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) {
        unlink(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char child[PATH_MAX];
        struct stat info;
        int length = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof child || lstat(child, &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) {
            file_remove_tree(child);
        } else {
            unlink(child);
        }
    }
    closedir(dir);
    rmdir(path);
}
