// Reacher's closed form beside the physics engine Bullet itself; see bullet.sh. The same bodies as a
// btMultiBody, the same torques, step by step: prints the largest difference of angles and of speeds.
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <btBulletDynamicsCommon.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

extern "C" void fgsf_reacher_bullet_step(double q[2], double w[2], const double torque[2]);

static const double MASS = 0.0356047155, INERTIA = 4.39124832e-5; // of a link
static const double TIP_MASS = 0.0041887902, TIP_INERTIA = 1.67551608e-7;
static const double DT = 0.0165;

// Sets up two links with a tip that is fixed to the second one.
static void make_arm(btMultiBody &arm) {
    const btQuaternion straight(0, 0, 0, 1);
    const btVector3 axis(0, 0, 1), half(0.05, 0, 0), none(0, 0, 0);
    const btVector3 inertia(INERTIA, INERTIA, INERTIA), tip(TIP_INERTIA, TIP_INERTIA, TIP_INERTIA);
    arm.setupRevolute(0, MASS, inertia, -1, straight, axis, none, half, true);
    arm.setupRevolute(1, MASS, inertia, 0, straight, axis, half, half, true);
    arm.setupFixed(2, TIP_MASS, tip, 1, straight, half, btVector3(0.01, 0, 0));
    arm.finalizeMultiDof();
    arm.setLinearDamping(0.04);
    arm.setAngularDamping(0.04);
    arm.setCanSleep(false);
}

// The torque's sign for both joints. 0: random; 1: both limits at once; 2: the elbow back and forth.
static void act(int how, int t, double torque[2]) {
    torque[0] = 0.05 * (how == 0 ? rand() % 3 - 1 : 1);
    torque[1] = 0.05 * (how == 0 ? rand() % 3 - 1 : how == 1 || t / 7 % 2 == 0 ? -1 : 1);
}

int main(int argc, char **argv) {
    int how = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 200;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher(&configuration);
    btDbvtBroadphase broadphase;
    btMultiBodyConstraintSolver solver;
    btMultiBodyDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
    world.setGravity(btVector3(0, 0, 0));
    btMultiBody arm(3, 0, btVector3(0, 0, 0), true, false);
    make_arm(arm);
    btSphereShape shape(0.01); // without colliders, which touch nothing here, no limit is solved
    for (int k = -1; k < 3; k++) {
        btMultiBodyLinkCollider *collider = new btMultiBodyLinkCollider(&arm, k);
        collider->setCollisionShape(&shape);
        collider->setActivationState(DISABLE_DEACTIVATION);
        world.addCollisionObject(collider, 0, 0);
        if (k < 0) {
            arm.setBaseCollider(collider);
        } else {
            arm.getLink(k).m_collider = collider;
        }
    }
    world.addMultiBody(&arm);
    btMultiBodyJointLimitConstraint limit(&arm, 1, -3, 3);
    limit.finalizeMultiDof();
    world.addMultiBodyConstraint(&limit);

    double q[2] = {0.3, 1.0}, w[2] = {0, 0}, angle = 0, speed = 0, fastest = 0;
    srand(3);
    for (int joint = 0; joint < 2; joint++) arm.setJointPos(joint, q[joint]);
    for (int t = 0; t < steps; t++) {
        double torque[2];
        act(how, t, torque);
        for (int joint = 0; joint < 2; joint++) arm.addJointTorque(joint, torque[joint]);
        world.stepSimulation(DT, 0);
        fgsf_reacher_bullet_step(q, w, torque);
        for (int joint = 0; joint < 2; joint++) {
            angle = fmax(angle, fabs(arm.getJointPos(joint) - q[joint]));
            speed = fmax(speed, fabs(arm.getJointVel(joint) - w[joint]));
            fastest = fmax(fastest, fabs(w[joint]));
        }
    }
    printf("%.3g rad, %.3g rad/s apart after %d steps; fastest %.9g rad/s\n", angle, speed, steps,
           fastest);
    return !(angle < 1e-6 && speed < 1e-6);
}
