// Archives: what goes in comes out, what is damaged is refused whatever the damage, and a save that
// fails leaves the old file.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "fgsf/rng.h"
#include "ggml.h"
#include "gguf.h"
#include "support_assert.h"

static char directory[64], path[96], other[96];

static const float FLOATS[] = {1.5f, -0.0f, 3.4028235e38f, 1e-45f, NAN};
static const double DOUBLES[] = {0.1, -1e308, 5e-324};
static const int32_t INTS[] = {INT32_MIN, -1, 0, INT32_MAX};
static const int64_t LONGS[] = {INT64_MIN, INT64_MAX};

static void put_all(fgsf_archive *archive) {
    fgsf_archive_put_int(archive, "step", -1234567890123456789);
    fgsf_archive_put_real(archive, "gamma", 0.95);
    fgsf_archive_put_text(archive, "config", "{\"a\": \"\xc3\xa9\\n\"}");
    fgsf_archive_put_text(archive, "empty", "");
    fgsf_archive_put(archive, "floats", FGSF_F32, FLOATS, 5);
    fgsf_archive_put(archive, "doubles", FGSF_F64, DOUBLES, 3);
    fgsf_archive_put(archive, "ints", FGSF_I32, INTS, 4);
    fgsf_archive_put(archive, "longs", FGSF_I64, LONGS, 2);
    fgsf_archive_put(archive, "nothing", FGSF_F32, NULL, 0);
    fgsf_archive_put(archive, "last", FGSF_I32, INTS, 1);
}

static fgsf_status save_all(const char *to) {
    fgsf_archive *archive = NULL;
    fgsf_status status = fgsf_archive_create(&archive);
    if (status != FGSF_OK) return status;
    put_all(archive);
    status = fgsf_archive_save(archive, to);
    fgsf_archive_free(archive);
    return status;
}

static unsigned char *read_bytes(const char *from, size_t *size) {
    struct stat info;
    FILE *file = fopen(from, "rb");
    if (!file || fstat(fileno(file), &info) != 0) abort();
    *size = (size_t)info.st_size;
    unsigned char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) abort();
    fclose(file);
    return bytes;
}

static void write_bytes(const char *to, const void *bytes, size_t size) {
    FILE *file = fopen(to, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
}

TEST round_trip_is_exact(void) {
    ASSERT_EQ_FMT(FGSF_OK, save_all(path), "%d");
    fgsf_archive *a = NULL;
    ASSERT_EQ_FMT(FGSF_OK, fgsf_archive_open(path, &a), "%d");
    int64_t step = 0, longs[2];
    double gamma = 0.0, doubles[3];
    const char *text = NULL;
    float floats[5];
    int32_t ints[4];
    ASSERT_EQ(FGSF_OK, fgsf_archive_get_int(a, "step", &step));
    ASSERT_EQ(-1234567890123456789, step);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get_real(a, "gamma", &gamma));
    ASSERT_EQ(0.95, gamma);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get_text(a, "config", &text));
    ASSERT_STR_EQ("{\"a\": \"\xc3\xa9\\n\"}", text);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get_text(a, "empty", &text));
    ASSERT_STR_EQ("", text);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get(a, "floats", FGSF_F32, floats, 5));
    ASSERT_MEM_EQ(FLOATS, floats, sizeof floats);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get(a, "doubles", FGSF_F64, doubles, 3));
    ASSERT_MEM_EQ(DOUBLES, doubles, sizeof doubles);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get(a, "ints", FGSF_I32, ints, 4));
    ASSERT_MEM_EQ(INTS, ints, sizeof ints);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get(a, "longs", FGSF_I64, longs, 2));
    ASSERT_MEM_EQ(LONGS, longs, sizeof longs);
    ASSERT_EQ(FGSF_OK, fgsf_archive_get(a, "nothing", FGSF_F32, NULL, 0));
    ASSERT_EQ(0, fgsf_archive_count(a, "nothing"));
    ASSERT_EQ(5, fgsf_archive_count(a, "floats"));
    ASSERT_EQ(3, fgsf_archive_count(a, "doubles"));
    ASSERT_EQ(-1, fgsf_archive_count(a, "step"));
    fgsf_archive_free(a);
    fgsf_archive_free(NULL);
    PASS();
}

// Another name, type or count is an error that names file and entry and leaves the output alone.
TEST wrong_entries_are_named(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    fgsf_archive *a = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_archive_open(path, &a));
    float floats[6] = {7, 7, 7, 7, 7, 7};
    int64_t step = 7;
    const char *text = NULL;
    const struct {
        fgsf_status status;
        const char *entry;
    } wrong[] = {
        {fgsf_archive_get(a, "floats", FGSF_F32, floats, 6), "floats"},
        {fgsf_archive_get(a, "floats", FGSF_F32, floats, 4), "floats"},
        {fgsf_archive_get(a, "ints", FGSF_F32, floats, 4), "ints"},
        {fgsf_archive_get(a, "absent", FGSF_F32, floats, 4), "absent"},
        {fgsf_archive_get(a, "step", FGSF_F32, floats, 1), "step"},
        {fgsf_archive_get_int(a, "gamma", &step), "gamma"},
        {fgsf_archive_get_int(a, "floats", &step), "floats"},
        {fgsf_archive_get_text(a, "step", &text), "step"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ASSERT_EQ(FGSF_ERR_FORMAT, wrong[i].status);
    }
    ASSERT(strstr(fgsf_last_error(), path) && strstr(fgsf_last_error(), "'step'"));
    ASSERT(floats[0] == 7 && step == 7 && text == NULL);
    fgsf_archive_free(a);
    PASS();
}

TEST wrong_puts_are_reported_by_save(void) {
    char longest[65];
    memset(longest, 'x', sizeof longest);
    longest[64] = '\0';
    const char *names[] = {"", longest, "general.alignment", "fgsf.archive", "step"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fgsf_archive *a = NULL;
        ASSERT_EQ(FGSF_OK, fgsf_archive_create(&a));
        put_all(a);
        fgsf_archive_put(a, names[i], FGSF_F32, FLOATS, 1);
        fgsf_archive_put_int(a, "later", 1);
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_archive_save(a, other));
        ASSERT(strstr(fgsf_last_error(), names[i]));
        ASSERT(access(other, F_OK) != 0);
        fgsf_archive_free(a);
    }
    fgsf_archive *a = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_archive_create(&a));
    longest[63] = '\0'; // as long as a name may be
    fgsf_archive_put(a, longest, FGSF_F32, FLOATS, 4);
    ASSERT_EQ(FGSF_OK, fgsf_archive_save(a, other));
    fgsf_archive_free(a);
    ASSERT_EQ(FGSF_OK, fgsf_archive_open(other, &a));
    ASSERT_EQ(4, fgsf_archive_count(a, longest));
    fgsf_archive_free(a);
    unlink(other);
    PASS();
}

// To ggml's own reader, tensors included, the file is a GGUF file like any other.
TEST ggml_reads_the_file(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    struct ggml_context *tensors = NULL;
    struct gguf_init_params params = {.no_alloc = false, .ctx = &tensors};
    struct gguf_context *gguf = gguf_init_from_file(path, params);
    ASSERT(gguf && tensors);
    ASSERT_EQ(6, gguf_get_n_tensors(gguf));
    ASSERT_EQ(1u, gguf_get_val_u32(gguf, gguf_find_key(gguf, "fgsf.archive")));
    const struct ggml_tensor *t = ggml_get_tensor(tensors, "ints");
    ASSERT(t && t->type == GGML_TYPE_I32 && t->ne[0] == 4);
    ASSERT_MEM_EQ(INTS, t->data, sizeof INTS);
    t = ggml_get_tensor(tensors, "last");
    ASSERT_MEM_EQ(INTS, t->data, sizeof *INTS);
    ggml_free(tensors);
    gguf_free(gguf);
    PASS();
}

TEST an_archive_without_arrays_works(void) {
    fgsf_archive *a = NULL;
    int64_t value = 0;
    ASSERT_EQ(FGSF_OK, fgsf_archive_create(&a));
    fgsf_archive_put_int(a, "x", 3);
    ASSERT_EQ(FGSF_OK, fgsf_archive_save(a, path));
    fgsf_archive_free(a);
    ASSERT_EQ_FMT(FGSF_OK, fgsf_archive_open(path, &a), "%d");
    ASSERT_EQ(FGSF_OK, fgsf_archive_get_int(a, "x", &value));
    ASSERT_EQ(3, value);
    fgsf_archive_put_int(a, "y", 4); // opened for reading
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_archive_save(a, path));
    fgsf_archive_free(a);
    PASS();
}

// ---- Damage -------------------------------------------------------------------------------------

// The bytes as a file in memory: thousands of files on a disk would take half a minute.
static bool is_refused(const void *bytes, size_t size) {
    char name[64];
    fgsf_archive *a = NULL;
    int fd = memfd_create("archive", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) abort();
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    fgsf_status status = fgsf_archive_open(name, &a);
    close(fd);
    if (a) fgsf_archive_free(a);
    return status == FGSF_ERR_FORMAT && !a && strstr(fgsf_last_error(), name);
}

TEST every_damaged_byte_is_found(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    size_t size = 0;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t i = 0; i < size; i++) {
        const unsigned char flips[] = {0x01, 0x80, 0xff, (unsigned char)(1 + i % 255)};
        for (size_t k = 0; k < sizeof flips; k++) {
            bytes[i] ^= flips[k];
            ASSERT(is_refused(bytes, size));
            bytes[i] ^= flips[k];
        }
    }
    ASSERT_FALSE(is_refused(bytes, size));
    free(bytes);
    PASS();
}

TEST every_truncation_is_found(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    size_t size = 0;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t n = 0; n < size; n++) ASSERT(is_refused(bytes, n));
    bytes[size] = 0;
    ASSERT(is_refused(bytes, size + 1)); // nor may anything follow
    free(bytes);
    PASS();
}

// Blocks exchanged, runs overwritten with zeros or noise.
TEST larger_damage_is_found(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    size_t size = 0;
    unsigned char *bytes = read_bytes(path, &size), *bad = malloc(size);
    fgsf_rng rng = fgsf_rng_make(5, FGSF_STREAM_EVAL);
    for (int i = 0; i < 3000; i++) {
        memcpy(bad, bytes, size);
        size_t from = fgsf_rng_below(&rng, size), n = 1 + fgsf_rng_below(&rng, size - from);
        for (size_t k = 0; k < n; k++) {
            bad[from + k] = i % 3 == 0   ? 0
                            : i % 3 == 1 ? (unsigned char)fgsf_rng_bits(&rng)
                                         : bytes[(from + k + 32) % size];
        }
        if (memcmp(bad, bytes, size) != 0) ASSERT(is_refused(bad, size));
    }
    free(bad);
    free(bytes);
    PASS();
}

TEST files_of_others_are_refused(void) {
    fgsf_archive *a = NULL;
    struct gguf_context *gguf = gguf_init_empty(); // a GGUF file, but none of ours
    gguf_set_val_u32(gguf, "fgsf.archive", 1);
    gguf_write_to_file(gguf, other, false);
    gguf_free(gguf);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_archive_open(other, &a));
    write_bytes(other, "{\"seed\": 1}\n", 12);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_archive_open(other, &a));
    write_bytes(other, "", 0);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_archive_open(other, &a));
    unlink(other);
    ASSERT_EQ(FGSF_ERR_IO, fgsf_archive_open(other, &a));
    ASSERT(strstr(fgsf_last_error(), other));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_archive_open(directory, &a));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_archive_open("/dev/zero", &a));
    ASSERT_EQ(NULL, a);
    PASS();
}

// ---- Saves that fail ----------------------------------------------------------------------------

static int count_files(void) {
    char command[128], line[16] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", directory);
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(line, sizeof line, pipe)) abort();
    pclose(pipe);
    return atoi(line);
}

// A large save over an existing file, in a child process that may write `limit` bytes. Returns the
// child's exit code: 0 for an error that names the file.
static int save_with_limit(rlim_t limit) {
    pid_t child = fork();
    if (child < 0) abort();
    if (child > 0) {
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
    struct rlimit file_size = {.rlim_cur = limit, .rlim_max = limit};
    signal(SIGXFSZ, SIG_IGN); // the write fails with EFBIG instead
    if (setrlimit(RLIMIT_FSIZE, &file_size) != 0) _exit(1);
    enum { N = 100000 };
    float *data = calloc(N, sizeof *data);
    fgsf_archive *a = NULL;
    if (!data || fgsf_archive_create(&a) != FGSF_OK) _exit(2);
    fgsf_archive_put(a, "data", FGSF_F32, data, N);
    fgsf_status status = fgsf_archive_save(a, path);
    bool named = strstr(fgsf_last_error(), path) && strstr(fgsf_last_error(), strerror(EFBIG));
    fgsf_archive_free(a);
    free(data);
    _exit(status == FGSF_ERR_IO && named ? 0 : 3);
}

TEST a_full_disk_leaves_the_old_file(void) {
    const rlim_t limits[] = {0, 1, 100, 4096, 100000, 400000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        unlink(other);
        ASSERT_EQ(FGSF_OK, save_all(path));
        size_t before = 0, after = 0;
        unsigned char *old = read_bytes(path, &before);
        int files = count_files();
        ASSERT_EQ_FMT(0, save_with_limit(limits[i]), "%d");
        unsigned char *now = read_bytes(path, &after);
        ASSERT_EQ(before, after);
        ASSERT_MEM_EQ(old, now, before);
        ASSERT_EQ(files, count_files()); // no temporary file is left
        free(old);
        free(now);
    }
    PASS();
}

TEST places_that_cannot_be_written_are_named(void) {
    char nested[160];
    snprintf(nested, sizeof nested, "%s/absent/state.gguf", directory);
    ASSERT_EQ(FGSF_ERR_IO, save_all(nested));
    ASSERT(strstr(fgsf_last_error(), nested));
    int files = count_files();
    snprintf(nested, sizeof nested, "%s/folder", directory);
    ASSERT_EQ(0, mkdir(nested, 0777));
    ASSERT_EQ(FGSF_ERR_IO, save_all(nested));
    ASSERT(strstr(fgsf_last_error(), nested));
    rmdir(nested);
    ASSERT_EQ(files, count_files());
    PASS();
}

TEST a_directory_without_permission_is_named(void) {
    ASSERT_EQ(FGSF_OK, save_all(path));
    ASSERT_EQ(0, chmod(directory, 0555));
    pid_t child = fork();
    ASSERT(child >= 0);
    if (child == 0) { // root may write everywhere, so be someone else
        if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
        fgsf_status status = save_all(path);
        _exit(status == FGSF_ERR_IO && strstr(fgsf_last_error(), path) ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    chmod(directory, 0755);
    ASSERT_EQ_FMT(0, status, "%d");
    fgsf_archive *a = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_archive_open(path, &a));
    fgsf_archive_free(a);
    PASS();
}

// What the system has counted for this process so far.
typedef struct io_count {
    long long read, written;             // bytes
    long long read_calls, written_calls; // system calls
} io_count;

static bool count_io(io_count *out) {
    FILE *file = fopen("/proc/self/io", "r");
    if (!file) return false;
    int n = fscanf(file, "rchar: %lld wchar: %lld syscr: %lld syscw: %lld", &out->read,
                   &out->written, &out->read_calls, &out->written_calls);
    fclose(file);
    return n == 4;
}

// 60,000 transitions of 38-float states are 20 MB: each byte crosses to the system once, in pieces
// of at least 64 KiB, both ways.
TEST large_archives_move_each_byte_once(void) {
    size_t n = 60000 * 85;
    long long bytes = (long long)(n * sizeof(float)), slack = 16384;
    float *data = malloc(n * sizeof *data), *back = malloc(n * sizeof *back);
    io_count from, saved, loaded;
    if (!count_io(&from)) SKIPm("no /proc/self/io");
    ASSERT(data && back);
    for (size_t i = 0; i < n; i++) data[i] = (float)i * 0.37f;
    fgsf_archive *a = NULL;
    ASSERT(count_io(&from));
    ASSERT_OK(fgsf_archive_create(&a));
    fgsf_archive_put(a, "data", FGSF_F32, data, n);
    ASSERT_OK(fgsf_archive_save(a, path));
    fgsf_archive_free(a);
    ASSERT(count_io(&saved));
    ASSERT_OK(fgsf_archive_open(path, &a));
    ASSERT_OK(fgsf_archive_get(a, "data", FGSF_F32, back, n));
    ASSERT(count_io(&loaded));
    fgsf_archive_free(a);
    ASSERT_MEM_EQ(data, back, n * sizeof *data);
    ASSERT_IN_RANGE(bytes, saved.written - from.written, slack);
    ASSERT_IN_RANGE(bytes, loaded.read - saved.read, slack);
    ASSERT_BELOW("bytes read to save", saved.read - from.read, slack);
    ASSERT_BELOW("write calls", saved.written_calls - from.written_calls, bytes / 65536);
    ASSERT_BELOW("read calls", loaded.read_calls - saved.read_calls, bytes / 65536);
    free(data);
    free(back);
    PASS();
}

// Policies say which version wrote them; those of 0.1, which did not, are refused by that name.
TEST other_versions_are_named(void) {
    static const char *const versions[] = {NULL, "0.1.7", "9.0.0", "nonsense"};
    for (int i = 0; i < 4; i++) {
        fgsf_archive *archive = NULL;
        fgsf_agent *agent = NULL;
        char expected[64];
        ASSERT_OK(fgsf_archive_create(&archive));
        if (versions[i]) fgsf_archive_put_text(archive, "version", versions[i]);
        fgsf_archive_put_text(archive, "kind", "policy");
        fgsf_archive_put_text(archive, "config", "{}");
        ASSERT_OK(fgsf_archive_save(archive, path));
        fgsf_archive_free(archive);
        snprintf(expected, sizeof expected, "was written by FGSF %s,", i ? versions[i] : "0.1");
        ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_agent_load(path, NULL, NULL, &agent));
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), expected));
        ASSERT_EQ(NULL, agent);
    }
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    snprintf(directory, sizeof directory, "test_archive.%ld", (long)getpid());
    if (mkdir(directory, 0777) != 0) return 1;
    snprintf(path, sizeof path, "%s/state.gguf", directory);
    snprintf(other, sizeof other, "%s/other.gguf", directory);
    RUN_TEST(round_trip_is_exact);
    RUN_TEST(wrong_entries_are_named);
    RUN_TEST(wrong_puts_are_reported_by_save);
    RUN_TEST(ggml_reads_the_file);
    RUN_TEST(an_archive_without_arrays_works);
    RUN_TEST(every_damaged_byte_is_found);
    RUN_TEST(every_truncation_is_found);
    RUN_TEST(larger_damage_is_found);
    RUN_TEST(files_of_others_are_refused);
    RUN_TEST(other_versions_are_named);
    RUN_TEST(a_full_disk_leaves_the_old_file);
    RUN_TEST(places_that_cannot_be_written_are_named);
    RUN_TEST(a_directory_without_permission_is_named);
    RUN_TEST(large_archives_move_each_byte_once);
    unlink(path);
    unlink(other);
    rmdir(directory);
    GREATEST_MAIN_END();
}
