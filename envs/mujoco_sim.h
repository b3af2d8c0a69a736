// A MuJoCo simulation whose failures are statuses: errors, warnings and states that are not numbers
// come back with a message; nothing exits, waits for a key, or writes a log file.
//
// Works with MuJoCo 2.2.2 and 3.x. Not public: shared by the environments with physics.
#ifndef FGSF_ENVS_MUJOCO_SIM_H
#define FGSF_ENVS_MUJOCO_SIM_H
#ifdef FGSF_HAVE_MUJOCO

#include <stdbool.h>

#include <mujoco/mujoco.h>

#include "fgsf/status.h"

#define FGSF_SIM_MAX_DOF 8

typedef struct fgsf_sim {
    const char *name; // of the environment, in messages
    mjModel *model;
    mjData *data;
    bool broken; // an error left MuJoCo in the middle of something: data must be made anew
} fgsf_sim;

// Compiles a model of at most FGSF_SIM_MAX_DOF slide and hinge joints from MJCF text.
fgsf_status fgsf_sim_load(const char *name, const char *xml, fgsf_sim *out);
void fgsf_sim_free(fgsf_sim *sim);

// Sets positions and velocities (nv each) and the solver's warm start (nv, or NULL for zero), and
// forgets everything else.
fgsf_status fgsf_sim_set(fgsf_sim *sim, const double *qpos, const double *qvel, const double *warm);

// Takes `count` steps. After a failure positions, velocities and warm start are those from before.
fgsf_status fgsf_sim_step(fgsf_sim *sim, int count);

// Calls fn(arg) so that an error or a warning of MuJoCo inside it becomes a status.
fgsf_status fgsf_sim_guard(const char *name, void (*fn)(void *), void *arg);

#endif
#endif
