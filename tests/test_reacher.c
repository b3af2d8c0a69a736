// Reacher: both dynamics against independent computations, the elbow limit, rewards, targets.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "support_assert.h"

#ifdef FGSF_HAVE_MUJOCO
#include "mujoco_sim.h"
#include "reacher.h"

// What the environment's own keys set, ranges unchecked.
static fgsf_reacher_params *own(fgsf_config *cfg) {
    return (fgsf_reacher_params *)&cfg->env_params;
}

static fgsf_config config(enum fgsf_reacher_dynamics dynamics) {
    fgsf_config cfg;
    memset(&cfg, 0, sizeof cfg);
    strcpy(cfg.env.name, "reacher");
    cfg.env.num_tasks = 4;
    own(&cfg)->dynamics = dynamics;
    return cfg;
}

static fgsf_env *make(const fgsf_config *cfg) {
    fgsf_env *env = NULL;
    if (fgsf_env_create(cfg, &env) != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
    return env;
}

// M00, M01, M11 of a simulation at its present state.
static void mass_of(const fgsf_sim *sim, double M[3]) {
    double e0[2] = {1, 0}, e1[2] = {0, 1}, column[2];
    mj_forward(sim->model, sim->data);
    mj_mulM(sim->model, sim->data, column, e0);
    M[0] = column[0];
    M[1] = column[1];
    mj_mulM(sim->model, sim->data, column, e1);
    M[2] = column[1];
}

TEST mass_matrix_of_gymnasium(void) {
    const double J1 = 5.261225217e-4, J2 = 1.790393653e-4, h = 2.24100276e-4;
    char xml[4096];
    fgsf_sim sim;
    fgsf_reacher_xml(1.0, 1.0, xml, sizeof xml);
    ASSERT_EQ(FGSF_OK, fgsf_sim_load("test", xml, &sim));
    for (double elbow = -2.5; elbow < 3.0; elbow += 0.5) {
        double q[2] = {0.7, elbow}, w[2] = {0, 0}, M[3], c = cos(elbow);
        fgsf_sim_set(&sim, q, w, NULL);
        mass_of(&sim, M);
        ASSERT_IN_RANGE(J1 + J2 + 2.0 * h * c + 1.0, M[0], 1e-12);
        ASSERT_IN_RANGE(J2 + h * c, M[1], 1e-12);
        ASSERT_IN_RANGE(J2 + 1.0, M[2], 1e-12);
    }
    fgsf_sim_free(&sim);
    PASS();
}

TEST energy_of_gymnasium_drifts_as_published(void) {
    char xml[4096];
    fgsf_sim sim;
    fgsf_reacher_xml(0.0, 0.0, xml, sizeof xml);
    ASSERT_EQ(FGSF_OK, fgsf_sim_load("test", xml, &sim));
    double q[2] = {0, 0}, w[2] = {2, 2}, energy[2];
    fgsf_sim_set(&sim, q, w, NULL);
    for (int i = 0; i < 2; i++) {
        double M[3];
        const double *v = sim.data->qvel;
        mass_of(&sim, M);
        energy[i] = 0.5 * (M[0] * v[0] * v[0] + M[2] * v[1] * v[1]) + M[1] * v[0] * v[1];
        if (i == 0) ASSERT_EQ(FGSF_OK, fgsf_sim_step(&sim, 1000)); // 10 s
    }
    double drift = fabs(energy[1] - energy[0]) / energy[0];
    ASSERT_IN_RANGE(8.9e-9, drift, 1e-9); // relative
    fgsf_sim_free(&sim);
    PASS();
}

// The arm of `bullet` as MJCF: the same bodies with their inertia given, Euler's integrator.
static const char BULLET_XML[] =
    "<mujoco><compiler angle=\"radian\"/>"
    "<option timestep=\"0.0165\" integrator=\"Euler\" gravity=\"0 0 0\"/>"
    "<default><joint type=\"hinge\" axis=\"0 0 1\" limited=\"false\"/></default><worldbody>"
    "<body><joint/><inertial pos=\".05 0 0\" mass=\"0.0356047155\" "
    "diaginertia=\"4.39124832e-5 4.39124832e-5 4.39124832e-5\"/>"
    "<body pos=\".1 0 0\"><joint/><inertial pos=\".05 0 0\" mass=\"0.0356047155\" "
    "diaginertia=\"4.39124832e-5 4.39124832e-5 4.39124832e-5\"/>"
    "<body pos=\".11 0 0\"><inertial pos=\"0 0 0\" mass=\"0.0041887902\" "
    "diaginertia=\"1.67551608e-7 1.67551608e-7 1.67551608e-7\"/>"
    "</body></body></body></worldbody></mujoco>";

// One step of MuJoCo with the drag as a force and a torque on each body.
static void step_with_drag(fgsf_sim *sim, const double torque[2]) {
    mjModel *m = sim->model;
    mjData *d = sim->data;
    mj_step1(m, d);
    for (int body = 1; body < (int)m->nbody; body++) {
        double v[6]; // angular, then linear, at the centre of mass
        mj_objectVelocity(m, d, mjOBJ_BODY, body, v, 0);
        double spin = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        double speed = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]);
        for (int i = 0; i < 3; i++) {
            double *force = d->xfrc_applied + 6 * body;
            force[i] = -0.04 * m->body_mass[body] * v[3 + i] * (1.0 + speed);
            force[3 + i] = -0.04 * m->body_inertia[3 * body + 2] * v[i] * (1.0 + spin);
        }
    }
    for (int i = 0; i < 2; i++) d->qfrc_applied[i] = torque[i];
    mj_step2(m, d);
}

TEST bullet_agrees_with_mujoco_away_from_the_limit(void) {
    fgsf_sim sim;
    ASSERT_EQ(FGSF_OK, fgsf_sim_load("test", BULLET_XML, &sim));
    fgsf_rng rng = fgsf_rng_make(4, FGSF_STREAM_ENV);
    double q[2] = {0, 0}, w[2] = {0, 0}, M[3], expected[3], fastest = 0.0;
    int compared = 0;
    for (int t = 0; t < 20000; t++) {
        if (t % 100 == 0) { // restart both from the same, fast, state
            for (int i = 0; i < 2; i++) {
                q[i] = (i ? 1.57 : 3.14) * (2.0 * fgsf_rng_uniform(&rng) - 1.0);
                w[i] = 20.0 * (2.0 * fgsf_rng_uniform(&rng) - 1.0);
            }
            fgsf_sim_set(&sim, q, w, NULL);
        }
        int action = (int)fgsf_rng_below(&rng, 9);
        double torque[2] = {0.05 * (action / 3 - 1), 0.05 * (action % 3 - 1)};
        double from = fabs(q[1]);
        fgsf_reacher_bullet_step(q, w, torque);
        step_with_drag(&sim, torque);
        // Each step starts where the closed form is, so that a clamp or the limit is left out alone.
        double there[4] = {sim.data->qpos[0], sim.data->qpos[1], sim.data->qvel[0],
                           sim.data->qvel[1]};
        fgsf_sim_set(&sim, q, w, NULL);
        if (fabs(w[0]) >= 100.0 || fabs(w[1]) >= 100.0 || from >= 3.0) continue;
        compared++;
        fastest = fmax(fastest, fabs(w[1]));
        for (int i = 0; i < 2; i++) {
            ASSERT_IN_RANGE(there[i], q[i], 1e-12);
            ASSERT_IN_RANGE(there[2 + i], w[i], 1e-11);
        }
        fgsf_reacher_mass(cos(q[1]), expected);
        mass_of(&sim, M);
        for (int i = 0; i < 3; i++) ASSERT_IN_RANGE(expected[i], M[i], 1e-12);
    }
    ASSERT(compared > 10000 && fastest > 20.0);
    fgsf_sim_free(&sim);
    PASS();
}

TEST bullet_loses_energy_only_to_drag(void) {
    double q[2] = {0.3, 1.0}, w[2] = {2.0, -1.0}, zero[2] = {0, 0}, M[3], last = 1e9;
    for (int t = 0; t < 600; t++) {
        fgsf_reacher_mass(cos(q[1]), M);
        double energy = 0.5 * (M[0] * w[0] * w[0] + M[2] * w[1] * w[1]) + M[1] * w[0] * w[1];
        // Euler's integrator wavers by a fraction of a percent around the true energy.
        ASSERT(t % 60 != 0 || energy < last);
        if (t % 60 == 0) last = energy;
        fgsf_reacher_bullet_step(q, w, zero);
    }
    ASSERT(last > 0.0);
    PASS();
}

TEST the_elbow_has_a_limit(void) {
    double torque[2] = {0.0, 0.05}, q[2] = {0, 0}, w[2] = {0, 0}, furthest = 0.0;
    for (int t = 0; t < 2000; t++) {
        fgsf_reacher_bullet_step(q, w, torque);
        furthest = fmax(furthest, q[1]);
    }
    ASSERT(furthest > 3.0 && furthest < 3.0 + 100.0 * FGSF_REACHER_DT);
    ASSERT(q[1] <= furthest);
    // The rule itself: a large overshoot stops, a small one is led back, an inward motion is free.
    double far[2] = {0, 3.05}, out[2] = {0, 1.0}, none[2] = {0, 0};
    fgsf_reacher_bullet_step(far, out, none);
    ASSERT_EQ(0.0, out[1]);
    ASSERT_EQ(3.05, far[1]);
    double near[2] = {0, -3.02}, back[2] = {0, -1.0};
    fgsf_reacher_bullet_step(near, back, none);
    ASSERT_IN_RANGE(0.2 * 0.02 / FGSF_REACHER_DT, back[1], 1e-12);
    ASSERT_IN_RANGE(-3.016, near[1], 1e-12);
    double inside[2] = {0, 3.05}, inward[2] = {0, -1.0};
    fgsf_reacher_bullet_step(inside, inward, none);
    ASSERT(inward[1] < -0.9);
    PASS();
}

// The recoil of the elbow's limit does not push the shoulder over its own limit of 100 rad/s.
TEST the_recoil_ends_at_the_speed_limit(void) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    int held = 0; // steps in which both limits act
    for (int i = 0; i < 1000; i++) {
        double side = i % 2 ? 1.0 : -1.0, torque[2] = {0.05 * side, -0.05 * side};
        double q[2] = {0, -side * (3.0 + 0.1 * fgsf_rng_uniform(&rng))};
        double w[2] = {side * 100.0, -side * 100.0 * fgsf_rng_uniform(&rng)};
        fgsf_reacher_bullet_step(q, w, torque);
        ASSERT(fabs(w[0]) <= 100.0);
        held += fabs(w[0]) == 100.0 && side * w[1] >= 0.0;
    }
    ASSERT(held > 10);
    PASS();
}

TEST gymnasium_keeps_the_elbow_in_range(void) {
    fgsf_config cfg = config(FGSF_REACHER_GYMNASIUM);
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    fgsf_step_result step;
    double raw[6] = {0, 2.0, 0, 0};
    fgsf_env_set_state(env, raw, 4);
    for (int t = 0; t < 500; t++) {
        fgsf_env_step(env, 5, &rng, &step);
        fgsf_env_get_state(env, raw);
        ASSERT(raw[1] < 3.0 + 1.0);
    }
    ASSERT_IN_RANGE(3.0, raw[1], 0.05);
    fgsf_env_free(env);
    PASS();
}

// Checks sizes, encoding, features and reward over one random walk.
static enum greatest_test_res check_walk(int dynamics, bool lag) {
    fgsf_config cfg = config(dynamics);
    own(&cfg)->lag = lag;
    fgsf_env *env = make(&cfg);
    const fgsf_env_spec *spec = fgsf_env_get_spec(env);
    ASSERT(spec->num_tasks == 4 && spec->num_heldout == 8 && spec->num_actions == 9);
    ASSERT(spec->state_size == 4 && spec->raw_size == 4 && spec->num_features == 4);
    const double targets[4][2] = {{0.14, 0}, {-0.14, 0}, {0, 0.14}, {0, -0.14}};
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    fgsf_env_set_task(env, 2);
    fgsf_env_reset(env, &rng);
    for (int t = 0; t < 2000; t++) {
        double before[6], after[6], s[4], tip[2];
        fgsf_step_result step;
        fgsf_env_get_state(env, before);
        ASSERT_EQ(FGSF_OK, fgsf_env_step(env, (int)fgsf_rng_below(&rng, 9), &rng, &step));
        fgsf_env_get_state(env, after);
        fgsf_env_observe_f64(env, s);
        ASSERT(s[0] == after[0] && s[1] == 0.1 * after[2]);
        ASSERT(s[2] == after[1] / 3.0 && s[3] == 0.1 * after[3]);
        fgsf_reacher_tip(lag ? before : after, tip);
        for (int k = 0; k < 4; k++) {
            double d = hypot(tip[0] - targets[k][0], tip[1] - targets[k][1]);
            ASSERT_IN_RANGE(1.0 - 4.0 * d, step.phi[k], 1e-14);
        }
        ASSERT(step.reward == step.phi[2] && !step.terminal);
        ASSERT(step.reward >= -0.4 - 1e-12 && step.reward <= 1.0);
        if (t % 200 == 199) fgsf_env_reset(env, &rng);
    }
    fgsf_env_free(env);
    PASS();
}

TEST rewards_and_encoding(void) {
    CHECK_CALL(check_walk(FGSF_REACHER_BULLET, false));
    CHECK_CALL(check_walk(FGSF_REACHER_BULLET, true));
    CHECK_CALL(check_walk(FGSF_REACHER_GYMNASIUM, false));
    CHECK_CALL(check_walk(FGSF_REACHER_GYMNASIUM, true));
    PASS();
}

TEST a_random_policy_earns_the_published_return(void) {
    fgsf_config cfg = config(FGSF_REACHER_BULLET);
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(11, FGSF_STREAM_EVAL);
    const int episodes = 2000;
    double sum = 0.0, squares = 0.0;
    for (int e = 0; e < episodes; e++) {
        double total = 0.0;
        fgsf_env_reset(env, &rng);
        for (int t = 0; t < 200; t++) {
            fgsf_step_result step;
            fgsf_env_step(env, (int)fgsf_rng_below(&rng, 9), &rng, &step);
            total += step.reward;
        }
        sum += total;
        squares += total * total;
    }
    double mean = sum / episodes, spread = sqrt(squares / episodes - mean * mean);
    // 52.8 +- 17.9 was measured over 200 episodes: a standard error of 1.27.
    ASSERT_IN_RANGE(52.8, mean, 4.0 * 17.9 / sqrt(200.0));
    ASSERT_IN_RANGE(17.9, spread, 4.0);
    fgsf_env_free(env);
    PASS();
}

TEST targets(void) {
    fgsf_config cfg = config(FGSF_REACHER_BULLET);
    own(&cfg)->target_in_state = true;
    fgsf_env *env = make(&cfg);
    const double heldout[8][2] = {{0.22, 0},  {-0.22, 0},  {0, 0.22},   {0, -0.22},
                                  {0.1, 0.1}, {0.1, -0.1}, {-0.1, 0.1}, {-0.1, -0.1}};
    double s[6], w[4];
    for (int i = 0; i < 8; i++) {
        ASSERT_EQ(FGSF_OK, fgsf_env_set_task(env, 4 + i));
        fgsf_env_observe_f64(env, s);
        ASSERT(s[4] == heldout[i][0] && s[5] == heldout[i][1]);
        ASSERT_FALSE(env->def->task_weights(env, 4 + i, w));
    }
    ASSERT(env->def->task_weights(env, 1, w) && w[1] == 1.0 && w[0] == 0.0);
    fgsf_env_free(env);
    strcpy(own(&cfg)->goals, "@0.1,0;@0,0.1;@0,-0.2;@-0.1,0;@0.05,0.05");
    env = make(&cfg);
    ASSERT_EQ(1, fgsf_env_get_spec(env)->num_heldout);
    fgsf_env_set_task(env, 4);
    fgsf_env_observe_f64(env, s);
    ASSERT(s[4] == 0.05 && s[5] == 0.05);
    fgsf_env_free(env);
    env = NULL;
    strcpy(own(&cfg)->goals, "1,2");
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_create(&cfg, &env));
    ASSERT(strstr(fgsf_last_error(), "env.goals: 1,2"));
    PASS();
}

TEST a_state_that_is_not_a_number_is_reported(void) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    for (int dynamics = 0; dynamics < 2; dynamics++) {
        fgsf_config cfg = config(dynamics);
        fgsf_env *env = make(&cfg);
        double wild[4] = {0, 1, 1e200, 1e200}, s[6];
        fgsf_step_result step;
        ASSERT_EQ(FGSF_OK, fgsf_env_set_state(env, wild, 4));
        ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_env_step(env, 0, &rng, &step));
        fgsf_env_get_state(env, s);
        ASSERT_MEM_EQ(wild, s, sizeof wild);
        ASSERT_EQ(FGSF_OK, fgsf_env_reset(env, &rng));
        ASSERT_EQ(FGSF_OK, fgsf_env_step(env, 0, &rng, &step));
        fgsf_env_free(env);
    }
    PASS();
}
#endif

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
#ifdef FGSF_HAVE_MUJOCO
    RUN_TEST(mass_matrix_of_gymnasium);
    RUN_TEST(energy_of_gymnasium_drifts_as_published);
    RUN_TEST(bullet_agrees_with_mujoco_away_from_the_limit);
    RUN_TEST(bullet_loses_energy_only_to_drag);
    RUN_TEST(the_elbow_has_a_limit);
    RUN_TEST(the_recoil_ends_at_the_speed_limit);
    RUN_TEST(gymnasium_keeps_the_elbow_in_range);
    RUN_TEST(rewards_and_encoding);
    RUN_TEST(a_random_policy_earns_the_published_return);
    RUN_TEST(targets);
    RUN_TEST(a_state_that_is_not_a_number_is_reported);
#else
    printf("SKIP: built without MuJoCo\n");
    return 77;
#endif
    GREATEST_MAIN_END();
}
