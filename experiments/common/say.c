// Lines on stderr, and what reaches stdout.
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/status.h"

void fgsf_say(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fgsf_fail(FGSF_OK, "%s", line); // makes it fit for a terminal
    fprintf(stderr, "%s\n", fgsf_last_error());
}

// What was printed may wait in stdio's buffer until the end, and the device be full.
static void check_stdout(void) {
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !failed) return;
    fgsf_say("the output could not be written%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "");
    _exit(2);
}

// Every program that says anything through here also looks at its output when it ends.
__attribute__((constructor)) static void check_at_exit(void) {
    atexit(check_stdout);
}
