// Status names and the thread-local failure message.
#include "fgsf/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "number.h"
#include "require.h"

static _Thread_local char last_error[1024];

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

// Replaces what a terminal could take for a command: control characters, as one byte or as UTF-8, and
// bytes that are not UTF-8. Messages quote files and arguments.
static void clean(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        int more = *c >= 0xf0 && *c < 0xf5 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 && *c < 0xe0 ? 1 : 0;
        bool good = *c >= 0x20 && *c < 0x7f;
        if (more > 0 && *c < 0xf5 && !(*c == 0xc2 && c[1] < 0xa0)) {
            int n = 1;
            while (n <= more && (c[n] & 0xc0) == 0x80) n++;
            good = n > more;
        }
        if (!good) *c = '?';
        if (good) c += more;
    }
}

fgsf_status fgsf_fail(fgsf_status status, const char *format, ...) {
    char message[sizeof last_error]; // a caller may pass fgsf_last_error() itself as an argument
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    vsnprintf(message, sizeof message, format ? format : "no message", args);
    va_end(args);
    fgsf_number_end(before);
    clean(message);
    snprintf(last_error, sizeof last_error, "%s", message);
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
