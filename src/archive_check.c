// Checksum, footer and structure of archives.
#include "archive_check.h"

#include <stdbool.h>
#include <string.h>

#include "ggml.h"
#include "gguf.h"

static const char MAGIC[8] = {'F', 'G', 'S', 'F', 'S', 'U', 'M', '1'};

_Static_assert(FGSF_ARCHIVE_BLOCK == GGUF_DEFAULT_ALIGNMENT, "arrays start at checksum blocks");
_Static_assert(FGSF_ARCHIVE_MAX_NAME < GGML_MAX_NAME, "ggml has room for every name");

// ---- Checksum -----------------------------------------------------------------------------------

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

fgsf_checksum fgsf_checksum_start(void) {
    return (fgsf_checksum){
        {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd1342543de82ef95u}};
}

void fgsf_checksum_add(fgsf_checksum *sum, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t at = 0; at < size; at += FGSF_ARCHIVE_BLOCK) {
        uint64_t words[4];
        memcpy(words, bytes + at, sizeof words);
        for (int i = 0; i < 4; i++) {
            sum->lanes[i] = rotate_left(sum->lanes[i] ^ words[i], 29) * 0x9e3779b97f4a7c15u;
        }
    }
}

fgsf_archive_footer fgsf_archive_seal(const fgsf_checksum *sum, uint64_t size) {
    fgsf_archive_footer footer = {.size = size + sizeof footer, .checksum = size};
    memcpy(footer.magic, MAGIC, sizeof MAGIC);
    for (int i = 0; i < 4; i++) {
        footer.checksum = (footer.checksum ^ sum->lanes[i]) * 0xbf58476d1ce4e5b9u;
        footer.checksum ^= footer.checksum >> 29;
    }
    return footer;
}

// ---- Structure ----------------------------------------------------------------------------------

// What is left to read; `ok` turns false when something is missing or wrong, and stays so.
typedef struct cursor {
    const unsigned char *at;
    size_t left;
    bool ok;
} cursor;

static void read_bytes(cursor *c, void *value, size_t size) {
    memset(value, 0, size);
    c->ok = c->ok && size <= c->left;
    if (!c->ok) return;
    memcpy(value, c->at, size);
    c->at += size;
    c->left -= size;
}

static uint32_t take_u32(cursor *c) {
    uint32_t value;
    read_bytes(c, &value, sizeof value);
    return value;
}

static uint64_t take_u64(cursor *c) {
    uint64_t value;
    read_bytes(c, &value, sizeof value);
    return value;
}

// Passes over a text and returns its length.
static size_t take_text(cursor *c, size_t max) {
    uint64_t length = take_u64(c);
    c->ok = c->ok && length <= max && length <= c->left && !memchr(c->at, '\0', (size_t)length);
    if (!c->ok) return 0;
    c->at += length;
    c->left -= (size_t)length;
    return (size_t)length;
}

// Refuses empty names and the name of the alignment: another alignment would move the arrays. ggml
// aborts on an empty name and on an alignment that is not a number.
static void take_name(cursor *c) {
    static const char alignment[] = GGUF_KEY_GENERAL_ALIGNMENT;
    size_t length = take_text(c, FGSF_ARCHIVE_MAX_NAME);
    bool same = length == sizeof alignment - 1 && !memcmp(c->at - length, alignment, length);
    c->ok = c->ok && length > 0 && !same;
}

static void take_value(cursor *c) {
    take_name(c);
    switch (take_u32(c)) {
    case GGUF_TYPE_UINT32:
        take_u32(c);
        break;
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_FLOAT64:
        take_u64(c);
        break;
    case GGUF_TYPE_STRING:
        take_text(c, SIZE_MAX);
        break;
    default:
        c->ok = false;
    }
}

// Returns the padded bytes of an array that has to start at `offset`.
static uint64_t take_array(cursor *c, uint64_t offset, uint64_t room) {
    take_name(c);
    uint32_t dimensions = take_u32(c);
    uint64_t count = take_u64(c);
    uint32_t type = take_u32(c);
    uint64_t start = take_u64(c), each = 0;
    if (type == GGML_TYPE_F32 || type == GGML_TYPE_I32) each = 4;
    if (type == GGML_TYPE_F64 || type == GGML_TYPE_I64) each = 8;
    c->ok = c->ok && dimensions == 1 && each > 0 && start == offset && count <= room / each;
    if (!c->ok) return 0;
    return (count * each + FGSF_ARCHIVE_BLOCK - 1) / FGSF_ARCHIVE_BLOCK * FGSF_ARCHIVE_BLOCK;
}

static bool is_well_formed(const unsigned char *content, size_t size) {
    cursor c = {.at = content, .left = size, .ok = true};
    char magic[4];
    read_bytes(&c, magic, sizeof magic);
    c.ok = c.ok && take_u32(&c) == GGUF_VERSION;
    uint64_t arrays = take_u64(&c), values = take_u64(&c), offset = 0;
    for (uint64_t i = 0; i < values && c.ok; i++) take_value(&c);
    for (uint64_t i = 0; i < arrays && c.ok; i++) {
        offset += take_array(&c, offset, offset < size ? size - offset : 0);
    }
    size_t padding = c.left % FGSF_ARCHIVE_BLOCK; // size is a multiple of it
    return c.ok && c.left - padding == offset;
}

fgsf_status fgsf_archive_check(const char *path, const unsigned char *content, size_t size) {
    fgsf_archive_footer found, right;
    if (size < sizeof found || memcmp(content, GGUF_MAGIC, 4) != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: is not a GGUF file", path);
    }
    size_t body = size - sizeof found;
    memcpy(&found, content + body, sizeof found);
    if (memcmp(found.magic, MAGIC, sizeof MAGIC) != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: is cut off, or not one of FGSF's files", path);
    }
    if (found.size != size || body % FGSF_ARCHIVE_BLOCK != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: has %zu bytes, but was written with %llu", path,
                         size, (unsigned long long)found.size);
    }
    fgsf_checksum sum = fgsf_checksum_start();
    fgsf_checksum_add(&sum, content, body);
    right = fgsf_archive_seal(&sum, body);
    if (found.checksum != right.checksum) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: is damaged: its checksum does not match", path);
    }
    if (!is_well_formed(content, body)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: is not GGUF as this library writes it", path);
    }
    return FGSF_OK;
}
