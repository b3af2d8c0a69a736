// Fuzzes the reader of archives. The input is a file as it is, and again with a footer that makes
// the checksum match, so that what lies behind it is reached too: whatever is accepted must be
// readable entry by entry, whatever is refused must be named.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive_check.h"
#include "fgsf/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds) abort();
}

static void read_entries(const fgsf_archive *archive) {
    static const char *const names[] = {"step", "floats", "doubles", "ints", "longs", "text", ""};
    static double room[1 << 16]; // for arrays of every type
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = NULL;
        int64_t number = 0, count = fgsf_archive_count(archive, names[i]);
        double real = 0.0;
        fgsf_archive_get_int(archive, names[i], &number);
        fgsf_archive_get_real(archive, names[i], &real);
        if (fgsf_archive_get_text(archive, names[i], &text) == FGSF_OK) {
            require(strlen(text) < (size_t)1 << 30);
        }
        if (count < 0 || count > 1 << 16) continue;
        size_t n = (size_t)count;
        fgsf_archive_get(archive, names[i], FGSF_F32, room, n);
        fgsf_archive_get(archive, names[i], FGSF_F64, room, n);
        fgsf_archive_get(archive, names[i], FGSF_I32, room, n);
        fgsf_archive_get(archive, names[i], FGSF_I64, room, n);
    }
}

// Opens the bytes, followed by a footer if there is one, through a file in memory.
static void open_bytes(const uint8_t *data, size_t size, const fgsf_archive_footer *footer) {
    char path[64];
    int fd = memfd_create("archive", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (footer) require(write(fd, footer, sizeof *footer) == (ssize_t)sizeof *footer);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    fgsf_archive *archive = NULL;
    if (fgsf_archive_open(path, &archive) == FGSF_OK) {
        read_entries(archive);
    } else {
        require(!archive && strstr(fgsf_last_error(), path) != NULL);
    }
    fgsf_archive_free(archive);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_bytes(data, size, NULL);
    size_t body = size / FGSF_ARCHIVE_BLOCK * FGSF_ARCHIVE_BLOCK;
    fgsf_checksum sum = fgsf_checksum_start();
    fgsf_checksum_add(&sum, data, body);
    fgsf_archive_footer footer = fgsf_archive_seal(&sum, body);
    open_bytes(data, body, &footer);
    return 0;
}
