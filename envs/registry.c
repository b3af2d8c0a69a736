// The environments there are. One line declares an environment, one line in the table offers it.
#include <string.h>

#include "fgsf/env.h"

extern const fgsf_env_def fgsf_four_rooms_def;
extern const fgsf_env_def fgsf_point_maze_def;
extern const fgsf_env_def fgsf_reacher_def;

static const fgsf_env_def *const ENVIRONMENTS[] = {
    &fgsf_four_rooms_def,
#ifdef FGSF_HAVE_MUJOCO
    &fgsf_point_maze_def,
    &fgsf_reacher_def,
#endif
};

const fgsf_env_def *fgsf_env_def_at(int i) {
    int count = (int)(sizeof ENVIRONMENTS / sizeof ENVIRONMENTS[0]);
    return i >= 0 && i < count ? ENVIRONMENTS[i] : NULL;
}

const fgsf_env_def *fgsf_env_def_find(const char *name) {
    for (int i = 0; fgsf_env_def_at(i); i++) {
        if (strcmp(fgsf_env_def_at(i)->name, name) == 0) return fgsf_env_def_at(i);
    }
    return NULL;
}
