// Status names and the thread-local failure message.
#include "fgsf/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "require.h"

static _Thread_local char last_error[1024];
_Thread_local unsigned fgsf_failures;

const char *fgsf_status_name(fgsf_status status) {
    static const char *const names[] = {
        [FGSF_OK] = "ok",
        [FGSF_ERR_INVALID] = "invalid",
        [FGSF_ERR_UNSUPPORTED] = "unsupported",
        [FGSF_ERR_MEMORY] = "memory",
        [FGSF_ERR_IO] = "io",
        [FGSF_ERR_FORMAT] = "format",
        [FGSF_ERR_SIMULATOR] = "simulator",
        [FGSF_DIVERGED] = "diverged",
        [FGSF_STOPPED] = "stopped",
    };
    unsigned index = (unsigned)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

const char *fgsf_last_error(void) {
    return last_error;
}

size_t fgsf_text_character(const char *text) {
    // Per length: what a first byte has, and the least number that needs it.
    static const struct {
        unsigned mask, lead, least;
    } forms[] = {{0x80, 0, 0x20}, {0xe0, 0xc0, 0xa0}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *c = (const unsigned char *)text;
    for (size_t n = 0; n < 4; n++) {
        if ((*c & forms[n].mask) != forms[n].lead) continue;
        unsigned code = *c & ~forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((c[i] & 0xc0) != 0x80) return 0;
            code = code << 6 | (c[i] & 0x3f);
        }
        bool good = code >= forms[n].least && code != 0x7f && code >> 11 != 0x1b && code < 0x110000;
        return good ? n + 1 : 0;
    }
    return 0;
}

bool fgsf_text_is_plain(const char *text) {
    size_t length = 1;
    for (; *text && length > 0; text += length) length = fgsf_text_character(text);
    return length > 0;
}

void fgsf_text_copy(char *out, size_t size, const char *text) {
    if (!out || size == 0) return;
    size_t used = 0;
    for (size_t length; text && *text; text += length) {
        bool good = (length = fgsf_text_character(text)) > 0;
        if (!good) length = 1;
        if (used + length >= size) break;
        memcpy(out + used, good ? text : "?", length);
        used += length;
    }
    out[used] = '\0';
}

fgsf_status fgsf_fail(fgsf_status status, const char *format, ...) {
    char
        message[sizeof last_error + 4]; // a caller may pass fgsf_last_error() itself as an argument
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    vsnprintf(message, sizeof message, format ? format : "no message", args);
    va_end(args);
    fgsf_number_end(before);
    fgsf_text_copy(last_error, sizeof last_error, message);
    fgsf_failures++;
    return status;
}

fgsf_status fgsf_check_all(const char *what, const fgsf_check *checks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (checks[i].right) continue;
        return fgsf_fail(FGSF_ERR_INVALID, "%s.%s: %g is out of range", what, checks[i].name,
                         checks[i].value);
    }
    return FGSF_OK;
}
