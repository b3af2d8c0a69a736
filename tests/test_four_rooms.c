// Four Rooms against its facts: the map, the features, the shortest tours by search, the optimal
// values by dynamic programming, random walks, the exact model, and maps from files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "four_rooms.h"
#include "support_assert.h"

#define ACTIONS FGSF_FOUR_ROOMS_ACTIONS

// The five rewards of the pool and what is known about them.
static const struct {
    double w[4];
    int tour;                    // steps of the shortest best tour
    double value;                // discounted by 0.95, from the start
    double random200, random100; // mean return of a uniform walk
} FACTS[5] = {{{1, 0, 0, 1}, 56, 1.169369, 0.540, 0.137},
              {{0, 1, 0, 1}, 46, 1.833391, 1.005, 0.488},
              {{0, 0, 1, 1}, 46, 1.833391, 0.999, 0.487},
              {{1, -1, 0, 1}, 56, 1.169369, -0.431, -0.347},
              {{0, 1, -1, 1}, 46, 1.833391, 0.040, 0.004}};

static fgsf_config config(void) {
    fgsf_config cfg;
    memset(&cfg, 0, sizeof cfg);
    strcpy(cfg.env.name, "four_rooms");
    cfg.env.num_tasks = 6;
    return cfg;
}

static fgsf_env *make(const fgsf_config *cfg) {
    fgsf_env *env = NULL;
    if (fgsf_env_create(cfg, &env) != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
    return env;
}

static fgsf_env *make_default(void) {
    fgsf_config cfg = config();
    return make(&cfg);
}

static int cell_at(const fgsf_four_rooms *m, int row, int col) {
    return m->cell_at[row * m->cols + col];
}

TEST the_map_is_as_specified(void) {
    fgsf_env *env = make_default();
    const fgsf_four_rooms *m = fgsf_four_rooms_model(env);
    ASSERT(m);
    ASSERT_EQ_FMT(152, m->num_cells, "%d");
    ASSERT_EQ(cell_at(m, 12, 0), m->start);
    ASSERT_EQ(4, m->kind[cell_at(m, 0, 12)]);
    const int objects[12][3] = {{0, 0, 1},  {5, 0, 2},  {6, 2, 3},  {0, 5, 2},
                                {5, 5, 3},  {2, 6, 1},  {10, 6, 2}, {7, 7, 2},
                                {12, 7, 3}, {6, 10, 1}, {7, 12, 3}, {12, 12, 1}};
    ASSERT_EQ(12, m->num_objects);
    for (int i = 0; i < 12; i++) {
        int cell = cell_at(m, objects[i][0], objects[i][1]);
        ASSERT_EQ_FMT(i, m->object[cell], "%d");
        ASSERT_EQ_FMT(objects[i][2], m->kind[cell], "%d");
    }
    for (int i = 0; i < 13; i++) {
        bool door = i == 2 || i == 3 || i == 9 || i == 10;
        ASSERT(door == (cell_at(m, i, 6) >= 0) && door == (cell_at(m, 6, i) >= 0));
    }
    fgsf_env_free(env);
    PASS();
}

TEST sizes_tasks_and_feature_set(void) {
    fgsf_env *env = make_default();
    const fgsf_env_spec *spec = fgsf_env_get_spec(env);
    ASSERT(spec->num_tasks == 6 && spec->num_heldout == 10 && spec->num_actions == 4);
    ASSERT(spec->num_features == 4 && spec->state_size == 38 && spec->raw_size == 14);
    double w[4];
    for (int task = 0; task < 6; task++) {
        ASSERT(env->def->task_weights(env, task, w));
        ASSERT_MEM_EQ(FACTS[task % 5].w, w, sizeof w);
    }
    for (int task = 6; task < 16; task++) {
        ASSERT(env->def->task_weights(env, task, w));
        ASSERT_EQ(1.0, w[3]);
        for (int k = 0; k < 3; k++) ASSERT(w[k] >= -1.0 && w[k] <= 1.0 && w[k] != 0.0);
    }
    int count = 0;
    const double *set = env->def->feature_set(env, &count);
    ASSERT_EQ(5, count);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 4; k++) ASSERT_EQ(k == i - 1 ? 1.0 : 0.0, set[i * 4 + k]);
    }
    fgsf_env_free(env);
    PASS();
}

// ---- The whole state space of one reward, without the objects that pay nothing -------------------

typedef struct space {
    const fgsf_four_rooms *m;
    const double *w;
    uint64_t ignored;       // objects of no value, taken as already collected
    int num_bits, bits[12]; // the others
    int size;               // cells << num_bits
    int *next;              // (size, 4), -1 when terminal
    double *reward;         // (size, 4)
} space;

static int pack(const space *s, int cell, uint64_t inventory) {
    int packed = 0;
    for (int i = 0; i < s->num_bits; i++) packed |= (int)(inventory >> s->bits[i] & 1) << i;
    return cell << s->num_bits | packed;
}

static void open_space(space *s, const fgsf_four_rooms *m, const double *w) {
    *s = (space){.m = m, .w = w};
    int type_of[12] = {0};
    for (int cell = 0; cell < m->num_cells; cell++) {
        if (m->object[cell] >= 0) type_of[m->object[cell]] = m->kind[cell];
    }
    for (int i = 0; i < 12; i++) {
        if (w[type_of[i] - 1] == 0.0) {
            s->ignored |= (uint64_t)1 << i;
        } else {
            s->bits[s->num_bits++] = i;
        }
    }
    s->size = m->num_cells << s->num_bits;
    s->next = malloc((size_t)s->size * ACTIONS * sizeof *s->next);
    s->reward = malloc((size_t)s->size * ACTIONS * sizeof *s->reward);
    for (int at = 0; at < s->size; at++) {
        uint64_t inventory = s->ignored;
        for (int i = 0; i < s->num_bits; i++) inventory |= (uint64_t)(at >> i & 1) << s->bits[i];
        for (int a = 0; a < ACTIONS; a++) {
            fgsf_four_rooms_outcome o = fgsf_four_rooms_move(m, at >> s->num_bits, inventory, a);
            s->next[at * ACTIONS + a] = o.terminal ? -1 : pack(s, o.cell, o.inventory);
            s->reward[at * ACTIONS + a] = o.kind ? w[o.kind - 1] : 0.0;
        }
    }
}

static void close_space(space *s) {
    free(s->next);
    free(s->reward);
}

// Steps of the shortest way that collects `wanted` in reward without ever losing any.
static int shortest_tour(const space *s, double wanted) {
    int *queue = malloc((size_t)s->size * sizeof *queue);
    int *depth = malloc((size_t)s->size * sizeof *depth);
    double *sum = malloc((size_t)s->size * sizeof *sum);
    for (int i = 0; i < s->size; i++) depth[i] = -1;
    int head = 0, tail = 0, found = -1;
    queue[tail++] = s->m->start << s->num_bits;
    depth[queue[0]] = 0;
    sum[queue[0]] = 0.0;
    while (head < tail && found < 0) {
        int at = queue[head++];
        for (int a = 0; a < ACTIONS; a++) {
            int to = s->next[at * ACTIONS + a];
            double r = s->reward[at * ACTIONS + a];
            if (r < 0.0) continue;
            if (to < 0 && sum[at] + r == wanted && found < 0) found = depth[at] + 1;
            if (to < 0 || depth[to] >= 0) continue;
            depth[to] = depth[at] + 1;
            sum[to] = sum[at] + r; // the same on every way: it is a matter of the inventory
            queue[tail++] = to;
        }
    }
    free(queue);
    free(depth);
    free(sum);
    return found;
}

static double optimal_value(const space *s, double gamma) {
    double *value = calloc((size_t)s->size, sizeof *value), change = 1.0;
    while (change > 1e-13) {
        change = 0.0;
        for (int at = 0; at < s->size; at++) {
            double best = -1e9;
            for (int a = 0; a < ACTIONS; a++) {
                int to = s->next[at * ACTIONS + a];
                best = fmax(best, s->reward[at * ACTIONS + a] + (to < 0 ? 0.0 : gamma * value[to]));
            }
            change = fmax(change, fabs(best - value[at]));
            value[at] = best;
        }
    }
    double result = value[s->m->start << s->num_bits];
    free(value);
    return result;
}

TEST shortest_tours_and_optimal_values(void) {
    fgsf_env *env = make_default();
    const fgsf_four_rooms *m = fgsf_four_rooms_model(env);
    for (int i = 0; i < 5; i++) {
        space s;
        open_space(&s, m, FACTS[i].w);
        // Four objects of the one positive type and the goal: nobody can earn more than 5.
        ASSERT_EQ_FMT(FACTS[i].tour, shortest_tour(&s, 5.0), "%d");
        ASSERT_IN_RANGE(FACTS[i].value, optimal_value(&s, 0.95), 1e-5);
        close_space(&s);
    }
    const double only_goal[4] = {0, 0, 0, 1};
    space s;
    open_space(&s, m, only_goal);
    ASSERT_EQ_FMT(24, shortest_tour(&s, 1.0), "%d");
    close_space(&s);
    fgsf_env_free(env);
    PASS();
}

// Mean return of uniform walks of at most `horizon` steps, and its standard error.
static double walk(fgsf_env *env, fgsf_rng *rng, int episodes, int horizon, double *error) {
    double sum = 0.0, squares = 0.0;
    for (int e = 0; e < episodes; e++) {
        fgsf_step_result step = {0};
        double total = 0.0;
        fgsf_env_reset(env, rng);
        for (int t = 0; t < horizon && !step.terminal; t++) {
            fgsf_env_step(env, (int)fgsf_rng_below(rng, ACTIONS), rng, &step);
            total += step.reward;
        }
        sum += total;
        squares += total * total;
    }
    double mean = sum / episodes;
    *error = sqrt((squares / episodes - mean * mean) / episodes);
    return mean;
}

TEST random_walks_earn_the_reference_returns(void) {
    fgsf_env *env = make_default();
    fgsf_rng rng = fgsf_rng_make(7, FGSF_STREAM_EVAL);
    for (int task = 0; task < 5; task++) {
        double error;
        fgsf_env_set_task(env, task);
        double mean = walk(env, &rng, 10000, 200, &error);
        ASSERT_IN_RANGE(FACTS[task].random200, mean, 4.0 * error + 5e-3);
        mean = walk(env, &rng, 10000, 100, &error);
        ASSERT_IN_RANGE(FACTS[task].random100, mean, 4.0 * error + 5e-3);
    }
    fgsf_env_free(env);
    PASS();
}

TEST the_reward_is_the_weighted_features(void) {
    fgsf_env *env = make_default();
    fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_ENV);
    int paid = 0;
    for (int task = 0; task < 16; task++) {
        double w[4], reward;
        fgsf_env_set_task(env, task);
        fgsf_env_reset(env, &rng);
        env->def->task_weights(env, task, w);
        for (int t = 0; t < 20000; t++) {
            fgsf_step_result step;
            fgsf_env_step(env, (int)fgsf_rng_below(&rng, ACTIONS), &rng, &step);
            double sum = 0.0;
            for (int k = 0; k < 4; k++) sum += w[k] * step.phi[k];
            ASSERT_EQ(sum, step.reward);
            ASSERT(env->def->task_reward(env, task, step.phi, &reward));
            ASSERT_EQ(reward, step.reward);
            ASSERT_EQ(step.terminal, step.phi[3] == 1.0);
            paid += step.reward != 0.0;
            if (step.terminal || t % 500 == 499) fgsf_env_reset(env, &rng);
        }
    }
    ASSERT(paid > 1000);
    fgsf_env_free(env);
    PASS();
}

static void put(fgsf_env *env, int row, int col) {
    double raw[14] = {row, col};
    if (fgsf_env_set_state(env, raw, 14) != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
}

TEST objects_pay_once_and_bumps_pay_nothing(void) {
    fgsf_env *env = make_default();
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV), before = rng;
    fgsf_step_result step;
    double state[38], raw[14], next[14], phi[4];
    put(env, 0, 1);
    fgsf_env_step(env, 0, &rng, &step); // onto the object of type 1 at (0, 0)
    ASSERT_EQ(1.0, step.reward);
    fgsf_env_observe_f64(env, state);
    ASSERT(state[0] == 1.0 && state[13] == 1.0 && state[26] == 1.0 && state[27] == 0.0);
    fgsf_env_step(env, 0, &rng, &step); // bump
    ASSERT(step.reward == 0.0 && step.phi[0] == 0.0 && !step.terminal);
    fgsf_env_step(env, 2, &rng, &step);
    fgsf_env_step(env, 0, &rng, &step); // again
    ASSERT_EQ(0.0, step.reward);
    fgsf_env_reset(env, &rng);
    fgsf_env_get_state(env, raw);
    ASSERT(raw[0] == 12.0 && raw[1] == 0.0 && raw[2] == 0.0);
    put(env, 0, 11);
    fgsf_env_step(env, 2, &rng, &step);
    ASSERT(step.terminal && step.success && step.reward == 1.0 && step.phi[3] == 1.0);
    fgsf_env_get_state(env, raw);
    fgsf_env_step(env, 2, &rng, &step); // who steps on from the goal bumps like anywhere else
    ASSERT(!step.terminal && step.reward == 0.0 && step.phi[3] == 0.0);
    fgsf_env_get_state(env, next);
    env->def->features(env, raw, 2, next, phi); // ... but the cell of s' is still the goal's
    ASSERT_EQ(1.0, phi[3]);
    ASSERT_MEM_EQ(&before, &rng, sizeof rng); // without slip nothing is drawn
    fgsf_env_free(env);
    PASS();
}

TEST slip_replaces_the_action(void) {
    fgsf_config cfg = config();
    cfg.env.slip = 0.2;
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(5, FGSF_STREAM_ENV);
    int count[ACTIONS] = {0}, n = 100000;
    const fgsf_four_rooms *m = fgsf_four_rooms_model(env);
    int from = cell_at(m, 3, 3);
    for (int i = 0; i < n; i++) {
        fgsf_step_result step;
        double raw[14];
        put(env, 3, 3);
        fgsf_env_step(env, 1, &rng, &step);
        fgsf_env_get_state(env, raw);
        int to = cell_at(m, (int)raw[0], (int)raw[1]);
        for (int a = 0; a < ACTIONS; a++) count[a] += m->next[from * ACTIONS + a] == to;
    }
    fgsf_four_rooms_outcome out[ACTIONS];
    ASSERT_EQ(4, fgsf_four_rooms_outcomes(m, from, 0, 1, out));
    for (int a = 0; a < ACTIONS; a++) {
        double p = a == 1 ? 0.85 : 0.05;
        ASSERT_IN_RANGE(p, out[a].probability, 1e-15);
        ASSERT_IN_RANGE(p, (double)count[a] / n, 4.0 * sqrt(p * (1.0 - p) / n));
    }
    fgsf_env_free(env);
    PASS();
}

TEST step_cost_is_not_linear(void) {
    fgsf_config cfg = config();
    ASSERT_OK(fgsf_config_set(&cfg, "env.step_cost", "0.25", "test"));
    fgsf_env *env = make(&cfg);
    fgsf_rng rng = fgsf_rng_make(5, FGSF_STREAM_ENV);
    fgsf_step_result step;
    double w[4], reward;
    fgsf_env_reset(env, &rng);
    fgsf_env_step(env, 1, &rng, &step);
    ASSERT_EQ(-0.25, step.reward);
    ASSERT_FALSE(env->def->task_weights(env, 0, w));
    ASSERT(env->def->task_reward(env, 0, step.phi, &reward));
    ASSERT_EQ(-0.25, reward);
    put(env, 0, 1);
    fgsf_env_step(env, 0, &rng, &step);
    ASSERT_EQ(1.0, step.reward);
    fgsf_env_free(env);
    PASS();
}

// The probability of each kind (num_cells, 4, num_kinds) in place of the features: the target of xi.
static void find_kinds(const fgsf_four_rooms *m, uint64_t inventory, double *probabilities) {
    size_t width = (size_t)m->num_kinds;
    memset(probabilities, 0, (size_t)m->num_cells * ACTIONS * width * sizeof *probabilities);
    for (int cell = 0; cell < m->num_cells; cell++) {
        if (m->kind[cell] == m->num_types + 1) continue;
        for (int a = 0; a < ACTIONS; a++) {
            fgsf_four_rooms_outcome out[ACTIONS];
            int count = fgsf_four_rooms_outcomes(m, cell, inventory, a, out);
            double *row = probabilities + ((size_t)cell * ACTIONS + (size_t)a) * width;
            for (int i = 0; i < count; i++) row[out[i].kind] += out[i].probability;
        }
    }
}

TEST the_tabular_model_solves_the_bellman_equation(void) {
    fgsf_config cfg = config();
    cfg.env.slip = 0.1;
    fgsf_env *env = make(&cfg);
    const fgsf_four_rooms *m = fgsf_four_rooms_model(env);
    size_t n = (size_t)m->num_cells, rows = n * ACTIONS;
    double *P = malloc(rows * n * sizeof *P), *y = malloc(rows * 4 * sizeof *y);
    double *kinds = malloc(rows * 5 * sizeof *kinds), *x = malloc(rows * 5 * sizeof *x);
    double *pi = malloc(rows * sizeof *pi);
    fgsf_four_rooms_tabular(m, 0, P, y);
    find_kinds(m, 0, kinds);
    for (size_t sa = 0; sa < rows; sa++) {
        double sum = 0.0, mass = 0.0, expected = m->kind[sa / ACTIONS] == 4 ? 0.0 : 1.0;
        for (size_t t = 0; t < n; t++) sum += P[sa * n + t];
        for (int k = 0; k < 5; k++) mass += kinds[sa * 5 + (size_t)k];
        ASSERT_IN_RANGE(expected, sum, 1e-12);
        ASSERT_IN_RANGE(expected, mass, 1e-12);
        for (int k = 0; k < 4; k++) {
            ASSERT_IN_RANGE(kinds[sa * 5 + (size_t)k + 1], y[sa * 4 + (size_t)k], 1e-15);
        }
        pi[sa] = 0.25;
    }
    ASSERT_EQ(FGSF_OK, fgsf_four_rooms_evaluate((int)n, P, kinds, 5, pi, 0.95, x));
    for (size_t sa = 0; sa < rows; sa++) {
        for (size_t f = 0; f < 5; f++) {
            double right = kinds[sa * 5 + f];
            for (size_t t = 0; t < n; t++) {
                for (size_t a = 0; a < ACTIONS && P[sa * n + t] > 0.0; a++) {
                    right += 0.95 * P[sa * n + t] * 0.25 * x[(t * ACTIONS + a) * 5 + f];
                }
            }
            ASSERT_IN_RANGE(right, x[sa * 5 + f], 1e-11);
            ASSERT(x[sa * 5 + f] >= 0.0);
        }
    }
    ASSERT(fgsf_four_rooms_evaluate((int)n, P, kinds, 5, pi, 1.0, x) == FGSF_ERR_INVALID);
    free(P);
    free(y);
    free(kinds);
    free(x);
    free(pi);
    fgsf_env_free(env);
    PASS();
}

// ---- Maps from files ---------------------------------------------------------------------------

static fgsf_status load(const char *text, fgsf_four_rooms *m) {
    char path[] = "/tmp/fgsf-map-XXXXXX";
    int fd = mkstemp(path);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length) return FGSF_ERR_IO;
    close(fd);
    fgsf_status status = fgsf_four_rooms_load(path, m);
    unlink(path);
    return status;
}

TEST any_map_with_the_same_alphabet(void) {
    fgsf_four_rooms m = {0};
    ASSERT_EQ(FGSF_OK, load("_.2\r\nX G\r\n1.2\r\n\r\nreward 1 -0.5 2\nreward 0 1 1\n", &m));
    ASSERT(m.rows == 3 && m.num_cells == 8 && m.num_features == 3);
    ASSERT(m.num_rewards == 2 && m.rewards[1] == -0.5);
    ASSERT(m.object[cell_at(&m, 2, 0)] == 0 && m.object[cell_at(&m, 0, 2)] == 1); // by columns
    fgsf_four_rooms_unload(&m);
    ASSERT_EQ(FGSF_OK, load("_G", &m)); // no objects: the goal is the only feature
    ASSERT(m.num_features == 1 && m.num_rewards == 1);
    fgsf_four_rooms_unload(&m);
    PASS();
}

TEST bad_maps_are_refused(void) {
    static const char *const BAD[][2] = {
        {"..\n.G\n", "start"},
        {"_.\n..\n", "goal"},
        {"_G\n_.\n", "2 starts"},
        {"_G\n...\n", "row 1"},
        {"_G\n?.\n", "'?'"},
        {"", "empty"},
        {"_G1\n\nreward 1\n", "needs"},
        {"_G1\n\nreward 1 2 3\n", "more than"},
        {"_G\n\nhello\n", "hello"},
        {"_G1\n\nreward 1 nan\n", "needs"},
        {"_.X.\n..XG\n", "row 1, column 3 cannot be reached"},
        {"_GG\nXXX\n", "row 0, column 2 cannot be reached"}, // only by way of the other one
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fgsf_four_rooms m = {0};
        ASSERT_EQ_FMT(FGSF_ERR_FORMAT, load(BAD[i][0], &m), "%d");
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), BAD[i][1]));
        ASSERT(strstr(fgsf_last_error(), "env.map"));
    }
    PASS();
}

TEST bad_settings_are_refused(void) {
    fgsf_env *env = NULL;
    fgsf_config cfg = config();
    cfg.env.slip = 1.5;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_create(&cfg, &env));
    ASSERT_STR_EQ("env.slip: 1.5 is not in [0, 1]", fgsf_last_error());
    cfg = config();
    cfg.env.num_tasks = 0;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_create(&cfg, &env));
    cfg = config();
    ASSERT_REFUSED(fgsf_config_set(&cfg, "env.goals", "1,1", "test"),
                   "test: unknown key 'env.goals'");
    ASSERT_OK(fgsf_config_set(&cfg, "env.map", "/nowhere/map.txt", "test"));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_env_create(&cfg, &env));
    ASSERT(strstr(fgsf_last_error(), "env.map") && strstr(fgsf_last_error(), "/nowhere/map.txt"));
    ASSERT_EQ(NULL, env);
    env = make_default();
    double wall[14] = {0, 6}, half[14] = {0.5, 1}, bit[14] = {0, 0, 2};
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, wall, 14));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, half, 14));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, bit, 14));
    fgsf_env_free(env);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(the_map_is_as_specified);
    RUN_TEST(sizes_tasks_and_feature_set);
    RUN_TEST(shortest_tours_and_optimal_values);
    RUN_TEST(random_walks_earn_the_reference_returns);
    RUN_TEST(the_reward_is_the_weighted_features);
    RUN_TEST(objects_pay_once_and_bumps_pay_nothing);
    RUN_TEST(slip_replaces_the_action);
    RUN_TEST(step_cost_is_not_linear);
    RUN_TEST(the_tabular_model_solves_the_bellman_equation);
    RUN_TEST(any_map_with_the_same_alphabet);
    RUN_TEST(bad_maps_are_refused);
    RUN_TEST(bad_settings_are_refused);
    GREATEST_MAIN_END();
}
