// Memory that lives until the program ends, lists of names, and files.
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"
#include "io.h"

static struct {
    void **blocks;
    size_t count;
} pool;

void pool_free(void) {
    for (size_t i = 0; i < pool.count; i++) free(pool.blocks[i]);
    free(pool.blocks);
    pool.blocks = NULL;
    pool.count = 0;
}

// Without memory nothing can go on; what is half done is removed on the way out.
static void *checked(void *block) {
    if (block) return block;
    fputs("export: out of memory\n", stderr);
    exit(2);
}

static void *pool_keep(void *block) {
    if ((pool.count & (pool.count - 1)) == 0) { // capacities are powers of two
        size_t room = pool.count ? 2 * pool.count : 1;
        pool.blocks = checked(realloc(pool.blocks, room * sizeof *pool.blocks));
    }
    return pool.blocks[pool.count++] = checked(block);
}

void *memory_get(size_t size) {
    return checked(malloc(size));
}

void *pool_get(size_t count, size_t size) {
    return pool_keep(calloc(count ? count : 1, size));
}

void pool_push(void *items, size_t *n, const void *item, size_t size) {
    char *list = NULL;
    memcpy(&list, items, sizeof list);
    if ((*n & (*n - 1)) == 0) { // capacities are powers of two
        char *grown = pool_get(*n ? 2 * *n : 1, size);
        if (*n) memcpy(grown, list, *n * size);
        memcpy(items, &grown, sizeof grown);
        list = grown;
    }
    memcpy(list + (*n)++ * size, item, size);
}

const char *pool_printf(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return pool_keep(length < 0 ? NULL : text);
}

const char *text_join(const char *list, const char *separator, const char *item) {
    return *list ? pool_printf("%s%s%s", list, separator, item) : item;
}

bool names_find(const names *list, const char *name, size_t *at) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i], name) != 0) continue;
        if (at) *at = i;
        return true;
    }
    return false;
}

void names_add(names *list, const char *name) {
    if (!names_find(list, name, NULL)) pool_push(&list->v, &list->n, &name, sizeof name);
}

size_t names_longest(const names *list) {
    size_t longest = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t length = strlen(list->v[i]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

void names_sort(names *list, int (*order)(const char *, const char *)) {
    for (size_t i = 1; i < list->n; i++) {
        const char *name = list->v[i];
        size_t k = i;
        for (; k > 0 && order(list->v[k - 1], name) > 0; k--) list->v[k] = list->v[k - 1];
        list->v[k] = name;
    }
}

fgsf_status file_read(const char *path, char **text, size_t *size) {
    int fd;
    size_t room = 0;
    TRY(fgsf_io_open(path, false, &fd, &room));
    *text = pool_get(room + 1, 1);
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

fgsf_status file_list(const char *path, names *out) {
    DIR *dir = opendir(path);
    if (!dir) return fgsf_fail(FGSF_ERR_IO, "%s: %s", path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] != '.') names_add(out, pool_printf("%s", entry->d_name));
    }
    closedir(dir);
    names_sort(out, strcmp);
    return FGSF_OK;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info, (void)type, (void)at;
    return remove(path), 0; // what stays is no reason to leave the rest
}

void file_remove_tree(const char *path) {
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
