// How calls report failure.
//
//     fgsf_network *net = NULL;
//     if (fgsf_network_create(&shape, &net) != FGSF_OK) {
//         fprintf(stderr, "%s\n", fgsf_last_error());
//     }
//
// Every call that can fail returns a status and leaves its outputs untouched on failure. The
// message is kept per thread, names the key, the value and the file where there are any, is one line
// without control characters, and stays valid until the same thread's next failing call. The library
// itself never prints or exits.
//
// Wrong arguments, in every function of the library: a pointer that is NULL where the header does not
// say it may be, a number out of its range, a NaN, an object of another shape. A call with a status
// returns FGSF_ERR_INVALID. A call without one does nothing and returns 0, false, NULL or zeros. Only the
// caller can know that a pointer is valid and how long an array is; this is not checked.
#ifndef FGSF_STATUS_H
#define FGSF_STATUS_H

#include <stddef.h>

#include "fgsf/export.h"

FGSF_BEGIN_DECLS

typedef enum fgsf_status {
    FGSF_OK = 0,
    FGSF_ERR_INVALID,     // an argument, a key or a value is wrong
    FGSF_ERR_UNSUPPORTED, // valid, but not available in this build or on this device
    FGSF_ERR_MEMORY,      // an allocation failed
    FGSF_ERR_IO,          // a file could not be read or written
    FGSF_ERR_FORMAT,      // a file was read but its content is wrong
    FGSF_ERR_SIMULATOR,   // the physics engine reported an error or a state that is not a number
    FGSF_DIVERGED,        // training produced NaN, Inf or a loss above the limit
    FGSF_STOPPED,         // ended early because the caller asked for it
} fgsf_status;

// Returns the name of a status, such as "invalid".
FGSF_API const char *fgsf_status_name(fgsf_status status);

// Returns the calling thread's last failure message, or "" when nothing has failed yet.
FGSF_API const char *fgsf_last_error(void);

// Records a message for fgsf_last_error and returns `status`, so that code (a user's environment,
// too) can write `return fgsf_fail(FGSF_ERR_INVALID, "env.slip: %g is not in [0,1]", slip);`.
FGSF_API fgsf_status fgsf_fail(fgsf_status status, const char *format, ...) FGSF_PRINTF(2, 3);

// Copies a text as messages are: control characters and what is not UTF-8 become '?', and what does not
// fit `size` bytes is cut between two characters. NULL is "".
FGSF_API void fgsf_text_copy(char *out, size_t size, const char *text);

// Makes a call and, where it fails, returns its status from the function that this stands in.
#define FGSF_TRY(call)                                                                             \
    do {                                                                                           \
        fgsf_status fgsf_try_status = (call);                                                      \
        if (fgsf_try_status != FGSF_OK) return fgsf_try_status;                                    \
    } while (0)

FGSF_END_DECLS
#endif
