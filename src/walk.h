// Internal: one walk over a module's state, which serves saving and loading, so that the two cannot
// drift apart. The modules know no files: checkpoint.c walks them with an archive behind it.
#ifndef FGSF_WALK_H
#define FGSF_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/replay.h"
#include "fgsf/rng.h"
#include "fgsf/status.h"

// Each call saves what it is given under a name, or loads it. After the first failure, which stays
// in `status`, loading does nothing. Arrays that are saved must live until the walk's owner is done.
typedef struct fgsf_walk fgsf_walk;
struct fgsf_walk {
    bool loading;
    fgsf_status status;
    const char *source; // the file, for messages
    void (*array)(fgsf_walk *w, const char *name, fgsf_number type, void *data, size_t count);
    void (*integer)(fgsf_walk *w, const char *name, int64_t *value);
    void (*real)(fgsf_walk *w, const char *name, double *value);
};

// A random stream is four 64-bit words.
static inline void fgsf_walk_rng(fgsf_walk *w, const char *name, fgsf_rng *rng) {
    w->array(w, name, FGSF_I64, rng->s, 4);
}

#endif
