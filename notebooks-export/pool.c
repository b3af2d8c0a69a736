// Memory that lives until the program ends, lists of names, and files.
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"
#include "io.h"

void pool_free(pool *p) {
    for (size_t i = 0; i < p->count; i++) free(p->blocks[i]);
    free(p->blocks);
    *p = (pool){0};
}

static void *pool_keep(pool *p, void *block) {
    if ((p->count & (p->count - 1)) == 0) { // capacities are powers of two
        void **blocks = realloc(p->blocks, (p->count ? 2 * p->count : 1) * sizeof *blocks);
        if (blocks) p->blocks = blocks; // else the old ones are still there, to be freed
        if (!blocks) block = NULL;
    }
    if (!block) { // nothing can go on; what is half done is removed on the way out
        fputs("export: out of memory\n", stderr);
        exit(2);
    }
    return p->blocks[p->count++] = block;
}

void *pool_get(pool *p, size_t count, size_t size) {
    return pool_keep(p, calloc(count ? count : 1, size));
}

void pool_push(pool *p, void *items, size_t *n, const void *item, size_t size) {
    char *list = NULL;
    memcpy(&list, items, sizeof list);
    if ((*n & (*n - 1)) == 0) { // capacities are powers of two
        char *grown = pool_get(p, *n ? 2 * *n : 1, size);
        if (*n) memcpy(grown, list, *n * size);
        memcpy(items, &grown, sizeof grown);
        list = grown;
    }
    memcpy(list + (*n)++ * size, item, size);
}

const char *pool_printf(pool *p, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return pool_keep(p, length < 0 ? NULL : text);
}

bool names_find(const names *list, const char *name, size_t *at) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i], name) != 0) continue;
        if (at) *at = i;
        return true;
    }
    return false;
}

void names_add(pool *p, names *list, const char *name) {
    if (!names_find(list, name, NULL)) pool_push(p, &list->v, &list->n, &name, sizeof name);
}

fgsf_status file_read(pool *p, const char *path, char **text, size_t *size) {
    int fd;
    size_t room = 0;
    TRY(fgsf_io_open(path, false, &fd, &room));
    *text = pool_get(p, room + 1, 1);
    fgsf_status status = fgsf_io_read_all(fd, path, room, *text, size);
    close(fd);
    return status;
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

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info, (void)type, (void)at;
    return remove(path), 0; // what stays is no reason to leave the rest
}

void file_remove_tree(const char *path) {
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
