// The arm: as the physics engine Bullet moves it, in closed form (rigid links, quadratic drag on each
// of the three bodies, an elbow limit that takes effect one step late; no contact, no gravity), and
// as MJCF text for MuJoCo to move.
#include <math.h>

#include "number.h"
#include "reacher.h"

#define LINK 0.1    // m, length of the first link
#define TIP 0.11    // m, distance of the tip from the elbow
#define CENTRE 0.05 // m, centre of mass along each link
#define LINK_MASS 0.0356047155
#define LINK_INERTIA 4.39124832e-5 // kg m^2, about its centre
#define TIP_MASS 0.0041887902
#define TIP_INERTIA 1.67551608e-7
#define DRAG 0.04
#define MAX_RATE 100.0 // rad/s

// Of the second body (link and tip): inertia about the elbow, and first moment times LINK.
#define FORE_INERTIA                                                                               \
    (LINK_INERTIA + LINK_MASS * CENTRE * CENTRE + TIP_INERTIA + TIP_MASS * TIP * TIP)
#define COUPLING (LINK * (LINK_MASS * CENTRE + TIP_MASS * TIP))
#define UPPER_INERTIA                                                                              \
    (LINK_INERTIA + LINK_MASS * CENTRE * CENTRE + (LINK_MASS + TIP_MASS) * LINK * LINK)

void fgsf_reacher_tip(const double q[2], double tip[2]) {
    tip[0] = LINK * cos(q[0]) + TIP * cos(q[0] + q[1]);
    tip[1] = LINK * sin(q[0]) + TIP * sin(q[0] + q[1]);
}

void fgsf_reacher_mass(double cos_elbow, double M[3]) {
    M[0] = UPPER_INERTIA + FORE_INERTIA + 2.0 * COUPLING * cos_elbow;
    M[1] = FORE_INERTIA + COUPLING * cos_elbow;
    M[2] = FORE_INERTIA;
}

// Adds the joint torques of the drag on a body of the forearm, `reach` metres from the elbow. The
// velocity (vx, vy) is taken along and across the first link.
static void add_drag(double mass, double inertia, double reach, double s, double c,
                     const double w[2], double torque[2]) {
    double rate = w[0] + w[1];
    double vx = -reach * rate * s, vy = LINK * w[0] + reach * rate * c;
    double force = -DRAG * mass * (1.0 + sqrt(vx * vx + vy * vy));
    double elbow = force * reach * (c * vy - s * vx) - DRAG * inertia * rate * (1.0 + fabs(rate));
    torque[0] += elbow + force * LINK * vy;
    torque[1] += elbow;
}

static double clamp(double x, double size) {
    return x > size ? size : x < -size ? -size : x;
}

// An elbow beyond its limit may not move further out: not at all from 0.04 rad on, below that it is
// led back by a fifth of the overshoot per step. The shoulder takes the recoil, up to its own limit.
static void limit_elbow(double elbow, const double M[3], double w[2]) {
    double over = fabs(elbow) - FGSF_REACHER_ELBOW_LIMIT;
    if (over < 0.0) return;
    double side = elbow > 0.0 ? 1.0 : -1.0;
    double cap = over >= 0.04 ? 0.0 : -0.2 * over / FGSF_REACHER_DT;
    if (side * w[1] <= cap) return;
    double change = side * cap - w[1];
    w[0] = clamp(w[0] - M[1] / M[0] * change, MAX_RATE);
    w[1] += change;
}

void fgsf_reacher_bullet_step(double q[2], double w[2], const double torque[2]) {
    double s = sin(q[1]), c = cos(q[1]), M[3];
    fgsf_reacher_mass(c, M);
    double t[2] = {torque[0] + COUPLING * s * w[1] * (2.0 * w[0] + w[1]),
                   torque[1] - COUPLING * s * w[0] * w[0]};
    double speed = CENTRE * w[0]; // of the first link's centre
    t[0] -= DRAG * w[0] *
            (LINK_MASS * CENTRE * CENTRE * (1.0 + fabs(speed)) + LINK_INERTIA * (1.0 + fabs(w[0])));
    add_drag(LINK_MASS, LINK_INERTIA, CENTRE, s, c, w, t);
    add_drag(TIP_MASS, TIP_INERTIA, TIP, s, c, w, t);
    double determinant = M[0] * M[2] - M[1] * M[1];
    double a0 = (M[2] * t[0] - M[1] * t[1]) / determinant;
    double a1 = (M[0] * t[1] - M[1] * t[0]) / determinant;
    w[0] = clamp(w[0] + FGSF_REACHER_DT * a0, MAX_RATE);
    w[1] = clamp(w[1] + FGSF_REACHER_DT * a1, MAX_RATE);
    limit_elbow(q[1], M, w);
    q[0] += FGSF_REACHER_DT * w[0];
    q[1] += FGSF_REACHER_DT * w[1];
}

void fgsf_reacher_xml(double armature, double damping, char *xml, size_t size) {
    fgsf_number_format(
        xml, size,
        "<mujoco model=\"reacher\">\n"
        "  <compiler angle=\"radian\"/>\n"
        "  <option timestep=\"0.01\" integrator=\"RK4\" gravity=\"0 0 0\"/>\n"
        "  <default>\n"
        "    <joint type=\"hinge\" axis=\"0 0 1\" armature=\"%.17g\" damping=\"%.17g\"/>\n"
        "    <geom type=\"capsule\" size=\".01\" density=\"1000\" "
        "contype=\"0\" conaffinity=\"0\"/>\n"
        "  </default>\n"
        "  <worldbody>\n"
        "    <body pos=\"0 0 .01\">\n"
        "      <joint name=\"shoulder\" limited=\"false\"/>\n"
        "      <geom fromto=\"0 0 0 .1 0 0\"/>\n"
        "      <body pos=\".1 0 0\">\n"
        "        <joint name=\"elbow\" limited=\"true\" range=\"-3 3\"/>\n"
        "        <geom fromto=\"0 0 0 .1 0 0\"/>\n"
        "        <body pos=\".11 0 0\">\n"
        "          <geom type=\"sphere\" size=\".01\"/>\n"
        "        </body>\n"
        "      </body>\n"
        "    </body>\n"
        "  </worldbody>\n"
        "  <actuator>\n"
        "    <motor joint=\"shoulder\" gear=\"200\" ctrllimited=\"true\" ctrlrange=\"-1 1\"/>\n"
        "    <motor joint=\"elbow\" gear=\"200\" ctrllimited=\"true\" ctrlrange=\"-1 1\"/>\n"
        "  </actuator>\n"
        "</mujoco>\n",
        armature, damping);
}
