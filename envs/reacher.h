// Reacher: a planar arm of two links that brings its tip to the task's target.
//
// The environment itself is reached through fgsf/env.h. This header adds what tests look into: the
// closed-form dynamics of `bullet` and the MJCF text of `gymnasium`. Angles in rad, q[0] of the
// shoulder (unwrapped) and q[1] of the elbow; velocities w in rad/s.
#ifndef FGSF_ENVS_REACHER_H
#define FGSF_ENVS_REACHER_H

#include <stddef.h>

#include "fgsf/env.h"

FGSF_BEGIN_DECLS

enum fgsf_reacher_dynamics { FGSF_REACHER_BULLET, FGSF_REACHER_GYMNASIUM };

// What its keys set.
typedef struct fgsf_reacher_params {
    char goals[FGSF_TEXT_SIZE]; // "" for the built-in targets
    enum fgsf_reacher_dynamics dynamics;
    bool target_in_state, lag;
} fgsf_reacher_params;

#define FGSF_REACHER_DT 0.0165       // s, one step of `bullet`
#define FGSF_REACHER_TORQUE 0.05     // N m, per unit of action, `bullet`
#define FGSF_REACHER_ELBOW_LIMIT 3.0 // rad

// Position of the tip, in metres.
void fgsf_reacher_tip(const double q[2], double tip[2]);

// Mass matrix of `bullet` at the cosine of an elbow angle: M00, M01, M11 (kg m^2).
void fgsf_reacher_mass(double cos_elbow, double M[3]);

// One step of `bullet` under the given joint torques (N m).
void fgsf_reacher_bullet_step(double q[2], double w[2], const double torque[2]);

// Writes the MJCF of `gymnasium`, whose joints have armature 1 and damping 1 there.
void fgsf_reacher_xml(double armature, double damping, char *xml, size_t size);

FGSF_END_DECLS
#endif
