// Status names and the thread-local failure message.
#include "fgsf/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "number.h"

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
    };
    unsigned index = (unsigned)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

const char *fgsf_last_error(void) {
    return last_error;
}

fgsf_status fgsf_fail(fgsf_status status, const char *format, ...) {
    char message[sizeof last_error]; // a caller may pass fgsf_last_error() itself as an argument
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fgsf_number_end(before);
    snprintf(last_error, sizeof last_error, "%s", message);
    return status;
}
