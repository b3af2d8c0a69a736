// The environments of this library. To add one, write its files and add one line to ENVIRONMENTS:
// X(name) stands for the definition fgsf_NAME_def.
#include "fgsf/env.h"
#include "fgsf/envs.h"

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

fgsf_status fgsf_envs_register(void) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) FGSF_TRY(fgsf_env_register(TABLE[i]));
    return FGSF_OK;
}
