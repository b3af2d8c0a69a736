// PointMaze: free motion against its closed form, mazes and goals, resets, walls, and what MuJoCo
// says when something goes wrong. Agreement with MuJoCo 3.x is in check_mujoco_oracle.sh.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "support_assert.h"

#ifdef FGSF_HAVE_MUJOCO
#include "mujoco_sim.h"
#include "point_maze.h"

// What the environment's own keys set, ranges unchecked.
static fgsf_point_maze_params *own(fgsf_config *cfg) {
    return (fgsf_point_maze_params *)&cfg->env_params;
}

static fgsf_config config(const char *layout, enum fgsf_preset preset) {
    fgsf_config cfg;
    memset(&cfg, 0, sizeof cfg);
    strcpy(cfg.env.name, "point_maze");
    cfg.env.num_tasks = 8;
    strcpy(own(&cfg)->layout, layout);
    own(&cfg)->listed_goals = preset == FGSF_COMPAT;
    own(&cfg)->goal_in_state = true;
    return cfg;
}

static fgsf_status make_plan(fgsf_config *cfg, fgsf_point_maze_plan *plan) {
    return fgsf_point_maze_plan_make(own(cfg), (int)cfg->env.num_tasks, plan);
}

static fgsf_env *make(const fgsf_config *cfg) {
    fgsf_env *env = NULL;
    if (fgsf_env_create(cfg, &env) != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
    return env;
}

static fgsf_env *make_layout(const char *layout) {
    fgsf_config cfg = config(layout, FGSF_CLEAN);
    return make(&cfg);
}

// Distance from the ball's surface to the nearest wall, in metres; negative inside it.
static double gap(const fgsf_grid *grid, double x, double y) {
    double best = 1e9;
    for (int row = 0; row < grid->rows; row++) {
        for (int col = 0; col < grid->cols; col++) {
            if (fgsf_grid_at(grid, row, col) != '1') continue;
            double cx, cy;
            fgsf_point_maze_centre(grid, row, col, &cx, &cy);
            double dx = fmax(fabs(x - cx) - 0.5, 0.0), dy = fmax(fabs(y - cy) - 0.5, 0.0);
            best = fmin(best, sqrt(dx * dx + dy * dy));
        }
    }
    return best - FGSF_POINT_MAZE_RADIUS;
}

TEST free_motion_has_a_closed_form(void) {
    fgsf_env *env = make_layout("umaze");
    fgsf_config cfg = config("umaze", FGSF_CLEAN);
    fgsf_point_maze_plan plan;
    ASSERT_EQ(FGSF_OK, make_plan(&cfg, &plan));
    const double dt = 0.01, b = 1.0, m = 1000.0 * 4.0 / 3.0 * 3.14159265358979323846 * 1e-3;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    int free_steps = 0;
    for (int episode = 0; episode < 50; episode++) {
        double s[8], before[8];
        fgsf_env_reset(env, &rng);
        for (int t = 0; t < 100; t++) {
            int action = (int)fgsf_rng_below(&rng, 9);
            fgsf_step_result step;
            fgsf_env_get_state(env, before);
            fgsf_env_step(env, action, &rng, &step);
            fgsf_env_get_state(env, s);
            // A contact is looked for where the ball was when the step began.
            if (gap(&plan.grid, before[0], before[1]) <= FGSF_POINT_MAZE_MARGIN + 1e-9) continue;
            free_steps++;
            for (int i = 0; i < 2; i++) {
                double v = fmin(fmax(before[2 + i], -5.0), 5.0);
                double force = 100.0 * (i == 0 ? action / 3 - 1 : action % 3 - 1);
                v += dt * (force - b * v) / (m + dt * b);
                ASSERT_IN_RANGE(v, s[2 + i], 1e-12);
                ASSERT_IN_RANGE(before[i] + dt * v, s[i], 1e-12);
            }
        }
    }
    ASSERT(free_steps > 1000);
    fgsf_point_maze_plan_free(&plan);
    fgsf_env_free(env);
    PASS();
}

TEST it_takes_22_steps_to_full_speed(void) {
    fgsf_config cfg = config("large", FGSF_CLEAN);
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    double raw[6] = {-4.5, 1.0, 0, 0, 0, 0}, s[8]; // the long corridor of row 3
    fgsf_step_result step;
    ASSERT_EQ(FGSF_OK, fgsf_env_set_state(env, raw, 6));
    for (int t = 1; t <= 30; t++) {
        fgsf_env_step(env, 7, &rng, &step); // action 7 pushes along +x alone
        fgsf_env_get_state(env, s);
        ASSERT_EQ_FMT(t >= 22, s[2] >= 5.0, "%d");
        ASSERT(s[2] <= 5.2263 && s[3] == 0.0);
    }
    fgsf_env_free(env);
    PASS();
}

TEST cell_centres_maps_and_goals(void) {
    static const struct {
        const char *name;
        int rows, cols, free;
        double x, y; // of cell (1, 1)
    } MAZES[] = {{"umaze", 5, 5, 7, -1.0, 1.0},
                 {"medium", 8, 8, 26, -2.5, 2.5},
                 {"large", 9, 12, 46, -4.5, 3.0}};
    for (int i = 0; i < 3; i++) {
        fgsf_config cfg = config(MAZES[i].name, FGSF_CLEAN);
        fgsf_point_maze_plan p;
        ASSERT_EQ(FGSF_OK, make_plan(&cfg, &p));
        ASSERT_EQ(MAZES[i].rows, p.grid.rows);
        ASSERT_EQ(MAZES[i].cols, p.grid.cols);
        ASSERT_EQ_FMT(MAZES[i].free, fgsf_grid_count(&p.grid, '0', NULL, NULL), "%d");
        double x, y;
        fgsf_point_maze_centre(&p.grid, 1, 1, &x, &y);
        ASSERT(x == MAZES[i].x && y == MAZES[i].y);
        fgsf_point_maze_centre(&p.grid, p.start_row, p.start_col, &x, &y);
        int goals = p.num_tasks + p.num_heldout;
        ASSERT_EQ_FMT(i == 0 ? 10 : 16, goals, "%d");
        for (int a = 0; a < goals; a++) {
            ASSERT(fgsf_point_maze_is_free(&p.grid, p.goals[a][0], p.goals[a][1]));
            // UMaze has too few cells: its last goals lie between two of them.
            double apart = i == 0 ? 0.5 : 1.0;
            ASSERT(hypot(p.goals[a][0] - x, p.goals[a][1] - y) >= 1.0);
            for (int b = 0; b < a; b++) {
                double dx = p.goals[a][0] - p.goals[b][0], dy = p.goals[a][1] - p.goals[b][1];
                ASSERT(hypot(dx, dy) >= apart);
            }
        }
        fgsf_point_maze_plan_free(&p);
    }
    PASS();
}

// The preset says so by a key of the environment.
TEST only_compat_asks_for_the_authors_goals(void) {
    static const char *const presets[] = {"clean", "compat", "paper"};
    for (int p = 0; p < 3; p++) {
        fgsf_config cfg;
        ASSERT_OK(fgsf_config_resolve("point_maze", presets[p], "fg-sfrql", &cfg));
        ASSERT_EQ(p == 1, own(&cfg)->listed_goals);
    }
    PASS();
}

TEST compat_takes_the_authors_goals(void) {
    static const int CELLS[8][2] = {{1, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 2}, {3, 3}, {3, 1}, {3, 1}};
    fgsf_config cfg = config("umaze", FGSF_COMPAT);
    fgsf_point_maze_plan p;
    ASSERT_EQ(FGSF_OK, make_plan(&cfg, &p));
    for (int i = 0; i < 8; i++) {
        double x, y;
        fgsf_point_maze_centre(&p.grid, CELLS[i][0], CELLS[i][1], &x, &y);
        ASSERT(p.goals[i][0] == x && p.goals[i][1] == y);
    }
    fgsf_point_maze_plan_free(&p);
    strcpy(own(&cfg)->goals, "1,1; @0.25,1");
    ASSERT_EQ(FGSF_OK, make_plan(&cfg, &p));
    ASSERT(p.goals[6][0] == -1.0 && p.goals[7][0] == 0.25 && p.num_heldout == 0);
    fgsf_point_maze_plan_free(&p);
    PASS();
}

TEST resets_stay_in_their_ranges(void) {
    fgsf_config cfg = config("medium", FGSF_COMPAT);
    own(&cfg)->goal_noise = 0.25;
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(2, FGSF_STREAM_ENV);
    double low[6], high[6], s[8];
    fgsf_env_set_task(env, 2); // goal cell (2, 1) at (-2.5, 1.5); start cell (3, 3) at (-0.5, 0.5)
    for (int i = 0; i < 2000; i++) {
        fgsf_env_reset(env, &rng);
        fgsf_env_get_state(env, s);
        for (int k = 0; k < 6; k++) {
            low[k] = i == 0 ? s[k] : fmin(low[k], s[k]);
            high[k] = i == 0 ? s[k] : fmax(high[k], s[k]);
        }
    }
    const double centre[6] = {-0.5, 0.5, 0, 0, -2.5, 1.5}, size[6] = {0.25, 0.25, 0, 0, 0.25, 0.25};
    for (int k = 0; k < 6; k++) {
        ASSERT(low[k] >= centre[k] - size[k] && high[k] <= centre[k] + size[k]);
        ASSERT_IN_RANGE(centre[k] - size[k], low[k], 0.002);
        ASSERT_IN_RANGE(centre[k] + size[k], high[k], 0.002);
    }
    fgsf_env_free(env);
    PASS();
}

TEST rewards_features_and_the_end(void) {
    fgsf_config cfg = config("umaze", FGSF_CLEAN);
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(2, FGSF_STREAM_ENV);
    fgsf_step_result step;
    double w[8], s[8], reward;
    for (int task = 0; task < 10; task++) {
        fgsf_env_set_task(env, task);
        fgsf_env_reset(env, &rng);
        ASSERT_EQ(task < 8, env->def->task_weights(env, task, w));
        for (int t = 0; t < 200; t++) {
            fgsf_env_step(env, (int)fgsf_rng_below(&rng, 9), &rng, &step);
            fgsf_env_get_state(env, s);
            double sum = 0.0,
                   left = sqrt((s[0] - s[4]) * (s[0] - s[4]) + (s[1] - s[5]) * (s[1] - s[5]));
            for (int k = 0; k < 8; k++) sum += w[k] * step.phi[k];
            ASSERT(task >= 8 || step.reward == sum);
            ASSERT_EQ(task < 8, env->def->task_reward(env, task, step.phi, &reward));
            ASSERT_IN_RANGE(exp(-left), step.reward, 1e-15);
            ASSERT_FALSE(step.terminal);
            ASSERT_EQ(left <= 0.45, step.success);
        }
    }
    fgsf_env_free(env);
    own(&cfg)->terminate_on_goal = true;
    own(&cfg)->goal_in_state = false;
    env = make(&cfg);
    ASSERT_EQ(4, fgsf_env_get_spec(env)->state_size);
    double near[6] = {0, 1, 0, 0, 0.44, 1}, far[6] = {0, 1, 0, 0, 0.46, 1};
    fgsf_env_set_state(env, near, 6);
    fgsf_env_step(env, 4, &rng, &step);
    ASSERT(step.terminal && step.success);
    fgsf_env_set_state(env, far, 6);
    fgsf_env_step(env, 4, &rng, &step);
    ASSERT_FALSE(step.terminal);
    fgsf_env_free(env);
    PASS();
}

// A contact begins to act within the margin, but a ball at 5 m/s moves 0.05 m in the step before: it
// may dip into the wall by that much and is then pushed out. Pressed steadily it rests within the
// margin.
TEST walls_hold(void) {
    const char *layouts[] = {"umaze", "medium", "large"};
    for (int i = 0; i < 3; i++) {
        fgsf_config cfg = config(layouts[i], FGSF_CLEAN);
        fgsf_env *env = make(&cfg);
        fgsf_point_maze_plan p;
        ASSERT_EQ(FGSF_OK, make_plan(&cfg, &p));
        fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_ENV);
        fgsf_step_result step;
        double s[8];
        int action = 0;
        for (int t = 0; t < 20000; t++) { // runs of one action, to reach the walls at full speed
            if (t % 200 == 0) fgsf_env_reset(env, &rng);
            if (fgsf_rng_uniform(&rng) < 0.05) action = (int)fgsf_rng_below(&rng, 9);
            ASSERT_EQ(FGSF_OK, fgsf_env_step(env, action, &rng, &step));
            fgsf_env_get_state(env, s);
            ASSERT(gap(&p.grid, s[0], s[1]) > -0.075);
        }
        for (int a = 0; a < 9; a++) {
            if (a == 4) continue;
            fgsf_env_reset(env, &rng);
            for (int t = 0; t < 2000; t++) fgsf_env_step(env, a, &rng, &step);
            fgsf_env_get_state(env, s);
            ASSERT(fabs(gap(&p.grid, s[0], s[1])) <= FGSF_POINT_MAZE_MARGIN);
            ASSERT(fabs(s[2]) < 1e-6 && fabs(s[3]) < 1e-6);
        }
        fgsf_point_maze_plan_free(&p);
        fgsf_env_free(env);
    }
    PASS();
}

TEST bad_settings_name_the_key_and_the_value(void) {
    static const struct {
        const char *layout, *goals;
        int tasks;
        double noise;
        const char *expected;
    } BAD[] = {{"tiny", "", 8, 0, "env.layout: 'tiny'"},
               {"umaze", "2,2", 8, 0, "env.goals: 2,2 is in a wall"},
               {"umaze", "9,9", 8, 0, "env.goals: 9,9"},
               {"umaze", "@7,0", 8, 0, "env.goals: @7,0"},
               {"umaze", "1,1;x", 8, 0, "'x'"},
               {"umaze", "1.5,1", 8, 0, "'1.5,1'"},
               {"umaze", "1,1;@1e200,0", 8, 0, "'@1e200,0' is farther"},
               {"umaze", "", 11, 0, "env.num_tasks: 11"},
               {"umaze", "", 0, 0, "env.num_tasks: 0"},
               {"umaze", "", 8, 0.7, "env.goal_noise: '0.7'"}};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fgsf_config cfg = config(BAD[i].layout, FGSF_CLEAN);
        strcpy(own(&cfg)->goals, BAD[i].goals);
        cfg.env.num_tasks = BAD[i].tasks;
        own(&cfg)->goal_noise = BAD[i].noise;
        fgsf_env *env = NULL;
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_create(&cfg, &env));
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), BAD[i].expected));
    }
    PASS();
}

static fgsf_status plan_of(const char *text, fgsf_point_maze_plan *plan) {
    fgsf_config cfg = config("umaze", FGSF_CLEAN);
    strcpy(own(&cfg)->map, "/tmp/fgsf-map-XXXXXX");
    cfg.env.num_tasks = 2;
    int fd = mkstemp(own(&cfg)->map);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length) return FGSF_ERR_IO;
    close(fd);
    fgsf_status status = make_plan(&cfg, plan);
    unlink(own(&cfg)->map);
    return status;
}

TEST maps_from_text(void) {
    fgsf_point_maze_plan p;
    ASSERT_EQ(FGSF_OK, plan_of("#####\n#S.G#\n#1G0#\n#####\n", &p));
    ASSERT(p.goals[0][0] == 1.0 && p.goals[0][1] == 0.5);
    ASSERT(p.goals[1][0] == 0.0 && p.goals[1][1] == -0.5);
    fgsf_point_maze_plan_free(&p);
    ASSERT_EQ(FGSF_OK, plan_of("#####\r\n#S.G#\r\n#####\r\n\r\n", &p));
    fgsf_point_maze_plan_free(&p);
    static const char *const BAD[][2] = {{"#####\n#S.G#\n#####\n\n#G..#\n", "text after the map"},
                                         {"####\n#..#\n####\n", "0 starts"},
                                         {"####\n#S..\n####\n", "leave the maze"},
                                         {"#####\n#S#G#\n#####\n", "cannot be reached"},
                                         {"###\n#S#\n###\n", "only 0"},
                                         {"###\n#Sx\n###\n", "'x'"}};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ASSERT(plan_of(BAD[i][0], &p) != FGSF_OK);
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), BAD[i][1]));
    }
    PASS();
}

TEST more_goals_than_fit_are_refused(void) {
    char map[20 * 21 + 1];
    for (int i = 0; i < 20 * 21; i++) {
        int row = i / 21, col = i % 21;
        bool wall = row == 0 || row == 19 || col == 0 || col == 19;
        map[i] = col == 20 ? '\n' : wall ? '#' : 'G';
    }
    map[21 + 1] = 'S';
    map[20 * 21] = '\0';
    fgsf_point_maze_plan p;
    ASSERT_EQ(FGSF_ERR_FORMAT, plan_of(map, &p));
    ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), "323 goals"));
    PASS();
}

// ---- MuJoCo's failures -------------------------------------------------------------------------

static void raise_error(void *arg) {
    mju_error(arg);
}

static void raise_warning(void *arg) {
    mju_warning(arg);
}

TEST failures_of_the_simulator_are_statuses(void) {
    fgsf_config cfg = config("umaze", FGSF_CLEAN);
    fgsf_env *env = make(&cfg); // installs the callbacks
    fgsf_point_maze_plan plan;
    fgsf_sim sim;
    ASSERT_EQ(FGSF_OK, make_plan(&cfg, &plan));
    char *xml = fgsf_point_maze_xml(&plan);
    ASSERT_EQ(FGSF_OK, fgsf_sim_load("test", xml, &sim));
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_guard("test", raise_error, "it broke"));
    ASSERT(strstr(fgsf_last_error(), "it broke"));
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_guard("test", raise_warning, "it creaks"));
    ASSERT(strstr(fgsf_last_error(), "it creaks"));
    double good[2] = {1, -1}, far[2] = {1e12, 0}, nan[2] = {NAN, 0}, rest[2] = {0, 0};
    ASSERT_EQ(FGSF_OK, fgsf_sim_set(&sim, far, rest, NULL));
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_step(&sim, 1));
    ASSERT_EQ(1e12, sim.data->qpos[0]); // reported, not silently reset
    ASSERT_EQ(FGSF_OK, fgsf_sim_set(&sim, nan, rest, NULL));
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_step(&sim, 1));
    ASSERT_EQ(FGSF_OK, fgsf_sim_set(&sim, good, rest, NULL));
    ASSERT_EQ(FGSF_OK, fgsf_sim_step(&sim, 1));
    sim.broken = true; // as after an error inside a step
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_step(&sim, 1));
    ASSERT_EQ(FGSF_OK, fgsf_sim_set(&sim, good, rest, NULL));
    ASSERT_EQ(FGSF_OK, fgsf_sim_step(&sim, 1));
    fgsf_sim_free(&sim);
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_sim_load("test", "<mujoco><nonsense/></mujoco>", &sim));
    ASSERT(strstr(fgsf_last_error(), "nonsense"));
    ASSERT(access("MUJOCO_LOG.TXT", F_OK) != 0);
    free(xml);
    fgsf_point_maze_plan_free(&plan);
    fgsf_env_free(env);
    PASS();
}
#endif

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
#ifdef FGSF_HAVE_MUJOCO
    RUN_TEST(free_motion_has_a_closed_form);
    RUN_TEST(it_takes_22_steps_to_full_speed);
    RUN_TEST(cell_centres_maps_and_goals);
    RUN_TEST(only_compat_asks_for_the_authors_goals);
    RUN_TEST(compat_takes_the_authors_goals);
    RUN_TEST(resets_stay_in_their_ranges);
    RUN_TEST(rewards_features_and_the_end);
    RUN_TEST(walls_hold);
    RUN_TEST(bad_settings_name_the_key_and_the_value);
    RUN_TEST(maps_from_text);
    RUN_TEST(more_goals_than_fit_are_refused);
    RUN_TEST(failures_of_the_simulator_are_statuses);
#else
    printf("SKIP: built without MuJoCo\n");
    return 77;
#endif
    GREATEST_MAIN_END();
}
