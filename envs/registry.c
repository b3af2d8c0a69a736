// The environments there are. To add one, write its files and add one line to ENVIRONMENTS: X(name)
// stands for the definition fgsf_NAME_def.
#include <string.h>

#include "fgsf/env.h"

#ifdef FGSF_HAVE_MUJOCO
#define WITH_MUJOCO(X)                                                                             \
    X(point_maze)                                                                                  \
    X(reacher)
#else
#define WITH_MUJOCO(X)
#endif

#define ENVIRONMENTS(X)                                                                            \
    X(four_rooms)                                                                                  \
    WITH_MUJOCO(X)

#define DECLARE(name) extern const fgsf_env_def fgsf_##name##_def;
ENVIRONMENTS(DECLARE)

#define LIST(name) &fgsf_##name##_def,
static const fgsf_env_def *const TABLE[] = {ENVIRONMENTS(LIST)};

const fgsf_env_def *fgsf_env_def_at(int i) {
    int count = (int)(sizeof TABLE / sizeof TABLE[0]);
    return i >= 0 && i < count ? TABLE[i] : NULL;
}

const fgsf_env_def *fgsf_env_def_find(const char *name) {
    for (int i = 0; fgsf_env_def_at(i); i++) {
        if (strcmp(fgsf_env_def_at(i)->name, name) == 0) return fgsf_env_def_at(i);
    }
    return NULL;
}
