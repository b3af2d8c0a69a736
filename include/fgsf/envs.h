// The environments of the library fgsf_envs: Four Rooms, and with MuJoCo Reacher and PointMaze.
//
//     fgsf_envs_register();
//     fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg);
#ifndef FGSF_ENVS_H
#define FGSF_ENVS_H

#include "fgsf/status.h"

FGSF_BEGIN_DECLS

// Registers them all. Calling it again does no harm.
FGSF_API fgsf_status fgsf_envs_register(void);

FGSF_END_DECLS
#endif
