// Archives: a GGUF file, then a footer with its size and a checksum over everything before it.
//
// ggml's reader takes offsets from the meta data and ignores what follows the last tensor, so the
// file stays a plain GGUF file to every other tool. Its own checks are not made for files that are
// damaged, so it only ever sees bytes that archive_check.c has passed, from memory, after one read.
#include "fgsf/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive_check.h"
#include "ggml.h"
#include "gguf.h"
#include "io.h"
#include "memory.h"
#include "require.h"

// An array that is referenced until it is saved.
typedef struct array {
    const void *data;
    size_t size; // in bytes
} array;

struct fgsf_archive {
    struct gguf_context *gguf;
    // Writing.
    fgsf_status status; // of the first put that failed, with its message
    char message[512];
    array *arrays; // in the order of gguf's tensors
    size_t num_arrays, max_arrays;
    // Reading.
    char *path;
    unsigned char *content;
};

// ---- Writing ------------------------------------------------------------------------------------

static fgsf_status create(fgsf_archive **out) {
    fgsf_archive *archive = calloc(1, sizeof *archive);
    if (!archive) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an archive");
    *out = archive;
    return FGSF_OK;
}

fgsf_status fgsf_archive_create(fgsf_archive **out) {
    FGSF_REQUIRE(out);
    fgsf_archive *archive = NULL;
    FGSF_TRY(fgsf_memory_check(0, "an archive"));
    FGSF_TRY(create(&archive));
    archive->gguf = gguf_init_empty();
    gguf_set_val_str(archive->gguf, "general.architecture", "fgsf"); // what GGUF tools show
    gguf_set_val_u32(archive->gguf, FGSF_ARCHIVE_KEY, FGSF_ARCHIVE_VERSION);
    *out = archive;
    return FGSF_OK;
}

void fgsf_archive_free(fgsf_archive *archive) {
    if (!archive) return;
    if (archive->gguf) gguf_free(archive->gguf);
    free(archive->arrays);
    free(archive->path);
    free(archive->content);
    free(archive);
}

// Keeps the first failure for fgsf_archive_save; returns whether there is none.
static bool keep(fgsf_archive *archive, fgsf_status status) {
    archive->status = status;
    if (status != FGSF_OK) {
        snprintf(archive->message, sizeof archive->message, "%s", fgsf_last_error());
    }
    return status == FGSF_OK;
}

// ggml aborts on a name that is too long or taken, and without memory, so all three are found here.
static fgsf_status check_put(const fgsf_archive *archive, const char *name, size_t bytes) {
    FGSF_TRY(fgsf_memory_check(bytes, "an archive"));
    if (archive->content) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: opened for reading", archive->path);
    }
    if (!name) return fgsf_fail(FGSF_ERR_INVALID, "archive: a name or a value is NULL");
    size_t length = strlen(name);
    if (length == 0 || length > FGSF_ARCHIVE_MAX_NAME || strncmp(name, "general.", 8) == 0) {
        return fgsf_fail(FGSF_ERR_INVALID, "archive: '%.100s' cannot be a name", name);
    }
    if (gguf_find_key(archive->gguf, name) >= 0 || gguf_find_tensor(archive->gguf, name) >= 0) {
        return fgsf_fail(FGSF_ERR_INVALID, "archive: '%s' is put twice", name);
    }
    return FGSF_OK;
}

static bool may_put(fgsf_archive *archive, const char *name, size_t bytes) {
    return archive && archive->status == FGSF_OK && keep(archive, check_put(archive, name, bytes));
}

void fgsf_archive_put_int(fgsf_archive *archive, const char *name, int64_t value) {
    if (may_put(archive, name, 0)) gguf_set_val_i64(archive->gguf, name, value);
}

void fgsf_archive_put_real(fgsf_archive *archive, const char *name, double value) {
    if (may_put(archive, name, 0)) gguf_set_val_f64(archive->gguf, name, value);
}

void fgsf_archive_put_text(fgsf_archive *archive, const char *name, const char *value) {
    if (!may_put(archive, value ? name : NULL, value ? 2 * strlen(value) : 0)) return;
    gguf_set_val_str(archive->gguf, name, value);
}

// The type of our arrays in ggml's words; none of them where there is no such type.
static enum ggml_type array_type(fgsf_number type) {
    static const enum ggml_type types[] = {[FGSF_F32] = GGML_TYPE_F32,
                                           [FGSF_F64] = GGML_TYPE_F64,
                                           [FGSF_I32] = GGML_TYPE_I32,
                                           [FGSF_I64] = GGML_TYPE_I64};
    return (unsigned)type <= FGSF_I64 ? types[type] : GGML_TYPE_COUNT;
}

void fgsf_archive_put(fgsf_archive *archive, const char *name, fgsf_number type, const void *data,
                      size_t count) {
    if (!may_put(archive, data || count == 0 ? name : NULL, 0)) return;
    if (array_type(type) == GGML_TYPE_COUNT || count > PTRDIFF_MAX / sizeof(double)) {
        keep(archive,
             fgsf_fail(FGSF_ERR_INVALID, "archive: '%s' is of no type, or too large", name));
        return;
    }
    if (archive->num_arrays == archive->max_arrays) {
        size_t max = archive->max_arrays ? 2 * archive->max_arrays : 64;
        array *grown = realloc(archive->arrays, max * sizeof *grown);
        if (!grown) {
            keep(archive, fgsf_fail(FGSF_ERR_MEMORY, "archive: no memory for '%s'", name));
            return;
        }
        archive->arrays = grown;
        archive->max_arrays = max;
    }
    size_t size = ggml_type_size(array_type(type));
    struct ggml_tensor tensor = {
        .type = array_type(type), .ne = {(int64_t)count, 1, 1, 1}, .nb = {size}};
    for (int i = 1; i < GGML_MAX_DIMS; i++) tensor.nb[i] = size * count;
    ggml_set_name(&tensor, name);
    gguf_add_tensor(archive->gguf, &tensor);
    archive->arrays[archive->num_arrays++] = (array){.data = data, .size = size * count};
}

// Where a file has got to. Stdio joins small pieces and passes large ones through.
typedef struct writer {
    FILE *file;
    fgsf_checksum sum;
    uint64_t size;
    bool failed;
} writer;

// Writes a piece and the zeros up to the next block.
static void write_piece(writer *w, const void *data, size_t size) {
    const unsigned char *bytes = data;
    size_t whole = size / FGSF_ARCHIVE_BLOCK * FGSF_ARCHIVE_BLOCK, rest = size - whole;
    unsigned char last[FGSF_ARCHIVE_BLOCK] = {0};
    if (whole > 0) {
        fgsf_checksum_add(&w->sum, bytes, whole);
        w->failed = w->failed || fwrite(bytes, 1, whole, w->file) != whole;
    }
    if (rest > 0) {
        memcpy(last, bytes + whole, rest);
        fgsf_checksum_add(&w->sum, last, FGSF_ARCHIVE_BLOCK);
        w->failed = w->failed || fwrite(last, 1, FGSF_ARCHIVE_BLOCK, w->file) != FGSF_ARCHIVE_BLOCK;
    }
    w->size += whole + (rest > 0 ? FGSF_ARCHIVE_BLOCK : 0);
}

static fgsf_status write_content(const fgsf_archive *archive, FILE *file, const char *path) {
    size_t meta_size = gguf_get_meta_size(archive->gguf);
    void *meta = malloc(meta_size);
    if (!meta) return fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory to write it", path);
    gguf_get_meta_data(archive->gguf, meta);
    writer w = {.file = file, .sum = fgsf_checksum_start()};
    write_piece(&w, meta, meta_size);
    free(meta);
    for (size_t i = 0; i < archive->num_arrays && !w.failed; i++) {
        write_piece(&w, archive->arrays[i].data, archive->arrays[i].size);
    }
    fgsf_archive_footer end = fgsf_archive_seal(&w.sum, w.size);
    if (w.failed || fwrite(&end, sizeof end, 1, file) != 1 || fflush(file) != 0) {
        return fgsf_fail(FGSF_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    return FGSF_OK;
}

fgsf_status fgsf_archive_save(fgsf_archive *archive, const char *path) {
    FGSF_REQUIRE(archive && path);
    if (archive->status != FGSF_OK) return fgsf_fail(archive->status, "%s", archive->message);
    if (archive->content) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: opened for reading", archive->path);
    }
    fgsf_io_file file;
    FGSF_TRY(fgsf_io_begin(path, &file));
    int copy = dup(file.fd); // closed with the stream
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "wb");
    if (!stream) {
        if (copy >= 0) close(copy);
        return fgsf_io_end(&file,
                           fgsf_fail(FGSF_ERR_IO, "%s: cannot write: %s", path, strerror(errno)));
    }
    fgsf_status status = write_content(archive, stream, path);
    if (fclose(stream) != 0 && status == FGSF_OK) {
        status = fgsf_fail(FGSF_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    return fgsf_io_end(&file, status);
}

// ---- Reading ------------------------------------------------------------------------------------

static fgsf_status read_file(const char *path, unsigned char **content, size_t *size) {
    int fd;
    size_t length = 0;
    FGSF_TRY(fgsf_io_open(path, false, &fd, &length));
    char *data = malloc(length + 1);
    fgsf_status status =
        data ? fgsf_io_read_all(fd, path, length, data, size) // the footer tells if it is short
             : fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory for %zu bytes", path, length);
    close(fd);
    if (status != FGSF_OK) {
        free(data);
        return status;
    }
    *content = (unsigned char *)data;
    return FGSF_OK;
}

static fgsf_status parse_content(fgsf_archive *archive, size_t size) {
    struct gguf_init_params params = {.no_alloc = true};
    FGSF_TRY(fgsf_memory_check(2 * size, archive->path));
    archive->gguf =
        gguf_init_from_buffer(archive->content, size - sizeof(fgsf_archive_footer), params);
    if (!archive->gguf) return fgsf_fail(FGSF_ERR_FORMAT, "%s: ggml cannot read it", archive->path);
    int64_t key = gguf_find_key(archive->gguf, FGSF_ARCHIVE_KEY);
    if (key < 0 || gguf_get_kv_type(archive->gguf, key) != GGUF_TYPE_UINT32) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: has no '%s'", archive->path, FGSF_ARCHIVE_KEY);
    }
    uint32_t version = gguf_get_val_u32(archive->gguf, key);
    if (version != FGSF_ARCHIVE_VERSION) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: is of version %u, but this library reads %d",
                         archive->path, (unsigned)version, FGSF_ARCHIVE_VERSION);
    }
    return FGSF_OK;
}

fgsf_status fgsf_archive_open(const char *path, fgsf_archive **out) {
    FGSF_REQUIRE(path && out);
    fgsf_archive *archive = NULL;
    size_t size = 0;
    fgsf_status status = create(&archive);
    if (status != FGSF_OK) return status;
    archive->path = strdup(path);
    if (!archive->path) status = fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory to open it", path);
    if (status == FGSF_OK) status = read_file(path, &archive->content, &size);
    if (status == FGSF_OK) status = fgsf_archive_check(path, archive->content, size);
    if (status == FGSF_OK) status = parse_content(archive, size);
    if (status == FGSF_OK) *out = archive;
    if (status != FGSF_OK) fgsf_archive_free(archive);
    return status;
}

// Finds a single value and checks its type.
static fgsf_status find_value(const fgsf_archive *archive, const char *name, enum gguf_type type,
                              int64_t *key) {
    const char *path = archive->path ? archive->path : "archive";
    *key = gguf_find_key(archive->gguf, name);
    if (*key < 0) return fgsf_fail(FGSF_ERR_FORMAT, "%s: has no '%s'", path, name);
    enum gguf_type found = gguf_get_kv_type(archive->gguf, *key);
    if (found != type) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' is of type %s, not %s", path, name,
                         gguf_type_name(found), gguf_type_name(type));
    }
    return FGSF_OK;
}

fgsf_status fgsf_archive_get_int(const fgsf_archive *archive, const char *name, int64_t *value) {
    FGSF_REQUIRE(archive && name && value);
    int64_t key = 0;
    fgsf_status status = find_value(archive, name, GGUF_TYPE_INT64, &key);
    if (status == FGSF_OK) *value = gguf_get_val_i64(archive->gguf, key);
    return status;
}

fgsf_status fgsf_archive_get_real(const fgsf_archive *archive, const char *name, double *value) {
    FGSF_REQUIRE(archive && name && value);
    int64_t key = 0;
    fgsf_status status = find_value(archive, name, GGUF_TYPE_FLOAT64, &key);
    if (status == FGSF_OK) *value = gguf_get_val_f64(archive->gguf, key);
    return status;
}

fgsf_status fgsf_archive_get_text(const fgsf_archive *archive, const char *name,
                                  const char **value) {
    FGSF_REQUIRE(archive && name && value);
    int64_t key = 0;
    fgsf_status status = find_value(archive, name, GGUF_TYPE_STRING, &key);
    if (status == FGSF_OK) *value = gguf_get_val_str(archive->gguf, key);
    return status;
}

fgsf_status fgsf_archive_get(const fgsf_archive *archive, const char *name, fgsf_number number,
                             void *data, size_t count) {
    FGSF_REQUIRE(archive && name && (data || count == 0) && array_type(number) != GGML_TYPE_COUNT);
    enum ggml_type type = array_type(number);
    if (!archive->content) {
        return fgsf_fail(FGSF_ERR_INVALID, "archive: '%s' is read before it is saved", name);
    }
    int64_t id = gguf_find_tensor(archive->gguf, name);
    if (id < 0) return fgsf_fail(FGSF_ERR_FORMAT, "%s: has no array '%s'", archive->path, name);
    enum ggml_type found = gguf_get_tensor_type(archive->gguf, id);
    if (found != type) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' holds %s, not %s", archive->path, name,
                         ggml_type_name(found), ggml_type_name(type));
    }
    size_t size = gguf_get_tensor_size(archive->gguf, id), each = ggml_type_size(type);
    if (size / each != count) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' holds %zu numbers, not %zu", archive->path,
                         name, size / each, count);
    }
    if (size == 0) return FGSF_OK;
    size_t at = gguf_get_data_offset(archive->gguf) + gguf_get_tensor_offset(archive->gguf, id);
    memcpy(data, archive->content + at, size);
    return FGSF_OK;
}

int64_t fgsf_archive_count(const fgsf_archive *archive, const char *name) {
    if (!archive || !name) return 0;
    int64_t id = gguf_find_tensor(archive->gguf, name);
    if (id < 0) return -1;
    size_t each = ggml_type_size(gguf_get_tensor_type(archive->gguf, id));
    return (int64_t)(gguf_get_tensor_size(archive->gguf, id) / each);
}
