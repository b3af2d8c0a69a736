// A run that is saved and resumed goes on with the same bits, for every method, environment and
// representation; a file that is not the run's own state is an error and changes nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "fgsf/envs.h"
#include "support_assert.h"
#include "trainer_internal.h"

typedef struct resume_case {
    const char *env, *preset, *method, *settings;
} resume_case;

static const resume_case CASES[] = {
    {"four_rooms", "clean", "dqn", ""},
    {"four_rooms", "compat", "dqn", "target.period=7"},
    {"four_rooms", "clean", "dqn", "target.mode=polyak"},
    {"four_rooms", "clean", "fg-dqn", ""},
    {"four_rooms", "clean", "sfrql", ""},
    {"four_rooms", "compat", "sfrql", "target.period=7"},
    {"four_rooms", "clean", "fg-sfrql", "env.slip=0.2 gpi.tie=random"},
    {"four_rooms", "compat", "fg-sfrql", "train.buffer_capacity=24"},
    {"four_rooms", "paper", "fg-sfrql", ""},
    {"four_rooms", "clean", "fg-sfrql-random", "reward.model=linear_rls"},
    {"four_rooms", "compat", "fg-sfrql-random", ""},
    {"four_rooms", "clean", "fg-sfrql-random", "tasks.schedule=random_episode train.horizon=9"},
    {"four_rooms", "clean", "fg-sfrql-average", "avg.n=3 env.slip=0.2 train.buffer_capacity=24"},
    {"four_rooms", "compat", "fg-sfrql-average", "avg.n=3"},
    {"four_rooms", "paper", "fg-sfrql-average", "avg.n=2"},
    {"four_rooms", "clean", "fg-sfrql-seq-average", "avg.n=4 avg.estimator=split"},
    {"four_rooms", "compat", "fg-sfrql-seq-average", "avg.n=3"},
    {"four_rooms", "clean", "fg-sfrql", "avg.n=3 avg.source=fresh avg.min_stored=2 env.slip=0.2"},
    {"reacher", "clean", "fg-sfrql", "env.centre_features=true"},
    {"four_rooms", "clean", "fg-sfrql", "representation=xi reward.model=mlp"},
    {"four_rooms", "clean", "fg-sfrql", "representation=xi reward.model=known"},
    {"four_rooms", "clean", "fg-sfrql", "net.kind=torso"},
    {"four_rooms", "clean", "sfrql", "net.kind=torso net.norm=rms target.mode=polyak"},
    {"four_rooms", "clean", "fg-dqn", "net.kind=torso net.norm=layer"},
    {"four_rooms", "clean", "fg-sfrql", "net.norm=rms net.activation=softplus"},
    {"four_rooms", "clean", "sfrql", "net.norm=layer net.activation=silu"},
    {"four_rooms", "clean", "corrected-dqn", "gradient.h_rate=0.5 gradient.h_beta=0.1"},
    {"four_rooms", "clean", "corrected-sfrql", "explore.schedule=linear explore.over=15"},
    {"four_rooms", "clean", "fg-sfrql", "gradient.kind=gtd2"},
    {"four_rooms", "clean", "fg-sfrql",
     "gradient.kind=bidirectional target.mode=hard target.period=7"},
    {"four_rooms", "clean", "fg-dqn", "gradient.kind=convergent target.mode=polyak"},
    {"four_rooms", "clean", "corrected-sfrql", "net.kind=torso net.norm=rms"},
    {"reacher", "clean", "fg-sfrql",
     "representation=xi sf.xi_set=prototypes reward.model=mlp sf.xi_max_centers=16"},
    {"reacher", "compat", "fg-sfrql-average", "avg.n=3 avg.key=grid avg.grid_pitch=0.5"},
    {"reacher", "clean", "fg-sfrql-random", "env.reacher_dynamics=gymnasium"},
    {"point_maze", "clean", "fg-sfrql", "representation=xi sf.xi_max_centers=8"},
    {"point_maze", "compat", "fg-sfrql", ""},
};
#define NUM_CASES (int)(sizeof CASES / sizeof *CASES)

static fgsf_status configure(const resume_case *c, fgsf_config *cfg) {
    char text[1024], *rest = text;
    snprintf(text, sizeof text,
             "env.num_tasks=3 train.steps_per_task=15 train.batch_size=8 net.hidden=7,6 "
             "reward.mlp_hidden=5 diag.residual_batch=10 train.log_every=7 "
             "train.buffer_capacity=64 %s",
             c->settings);
    fgsf_status status = fgsf_config_resolve(c->env, c->preset, c->method, cfg);
    for (char *word = strtok_r(text, " ", &rest); word && status == FGSF_OK;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        status = fgsf_config_set(cfg, word, value, "test");
    }
    return status;
}

static bool make_path(char path[32]) {
    strcpy(path, "/tmp/fgsf-resume-XXXXXX");
    int fd = mkstemp(path);
    return fd >= 0 && close(fd) == 0;
}

// Takes a step and asks for a row, which resets what it sums up.
static fgsf_status advance(fgsf_trainer *t, fgsf_log_row *row) {
    memset(row, 0, sizeof *row);
    fgsf_status status = fgsf_trainer_step(t);
    bool due = false;
    return status == FGSF_OK ? fgsf_trainer_log(t, row, &due) : status;
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size + 1);
        if (bytes && fread(bytes, 1, *size, file) != *size) *size = 0;
    }
    if (file) fclose(file);
    return bytes;
}

static bool write_file(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && good;
}

// Whether two trainers save the same bytes: everything that the next step depends on.
static bool same_state(const fgsf_trainer *a, const fgsf_trainer *b) {
    char path[2][32], *bytes[2] = {NULL};
    size_t size[2] = {0};
    const fgsf_trainer *trainers[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (make_path(path[i]) && fgsf_trainer_save(trainers[i], path[i]) == FGSF_OK) {
            bytes[i] = read_file(path[i], &size[i]);
        }
        unlink(path[i]);
    }
    bool same = bytes[0] && bytes[1] && size[0] > 0 && size[0] == size[1] &&
                memcmp(bytes[0], bytes[1], size[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

// After these steps of every eight the state is saved: gaps of one, two and five steps.
static bool saves_after(int step) {
    return step % 8 == 0 || step % 8 == 1 || step % 8 == 3;
}

// One trainer runs through; the other is saved, thrown away and resumed again and again.
TEST resumes_with_the_same_bits(const resume_case *c) {
    fgsf_config cfg;
    fgsf_trainer *whole = NULL, *parts = NULL;
    char path[32];
    ASSERT(make_path(path));
    ASSERT_OK(configure(c, &cfg));
    ASSERT_OK(fgsf_trainer_create(&cfg, &whole));
    ASSERT_OK(fgsf_trainer_create(&cfg, &parts));
    for (int step = 1; !fgsf_trainer_done(whole); step++) {
        fgsf_log_row rows[2];
        ASSERT_OK(advance(whole, &rows[0]));
        ASSERT_OK(advance(parts, &rows[1]));
        ASSERT_MEM_EQm(c->method, &rows[0], &rows[1], sizeof rows[0]);
        if (saves_after(step)) {
            ASSERT_OK(fgsf_trainer_save(parts, path));
            fgsf_trainer_free(parts);
            parts = NULL;
            ASSERT_OK(fgsf_trainer_create(&cfg, &parts));
            ASSERT_OK(fgsf_trainer_load(parts, path));
        }
        if (step % 10 == 0) ASSERTm(c->method, same_state(whole, parts));
    }
    ASSERT(fgsf_trainer_progress(whole).optimizer_steps > 0 || whole->skipped_updates > 0);
    ASSERTm(c->method, same_state(whole, parts));
    fgsf_trainer_free(whole);
    fgsf_trainer_free(parts);
    unlink(path);
    PASS();
}

// --- files that are not the run's state -------------------------------------------------------------

typedef struct scene {
    fgsf_trainer *t, *twin; // the same state; only t is loaded into
    char good[32], bad[32]; // good: an earlier state of the same run
    char *bytes;
    size_t size;
} scene;

static fgsf_status set_scene(scene *s, const char *method) {
    const resume_case c = {"four_rooms", "clean", method, ""};
    fgsf_config cfg;
    fgsf_log_row row;
    memset(s, 0, sizeof *s);
    fgsf_status status = configure(&c, &cfg);
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &s->t);
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &s->twin);
    for (int i = 0; i < 40 && status == FGSF_OK; i++) {
        status = advance(s->t, &row);
        if (status == FGSF_OK) status = advance(s->twin, &row);
        if (status == FGSF_OK && i == 15 && make_path(s->good) && make_path(s->bad)) {
            status = fgsf_trainer_save(s->t, s->good);
            s->bytes = read_file(s->good, &s->size);
        }
    }
    return status;
}

static void clear_scene(scene *s) {
    fgsf_trainer_free(s->t);
    fgsf_trainer_free(s->twin);
    free(s->bytes);
    unlink(s->good);
    unlink(s->bad);
}

// A refused file leaves the trainer as it was, and it goes on as if nothing had happened.
static enum greatest_test_res check_refused(scene *s, const char *path, const char *what) {
    fgsf_status status = fgsf_trainer_load(s->t, path);
    ASSERTm(what, status != FGSF_OK);
    ASSERTm(what, strlen(fgsf_last_error()) > 0);
    ASSERTm(what, same_state(s->t, s->twin));
    PASS();
}

TEST damaged_files_are_refused(void) {
    scene s;
    ASSERT_OK(set_scene(&s, "fg-sfrql"));
    for (int i = 0; i < 24; i++) { // truncated anywhere
        ASSERT(write_file(s.bad, s.bytes, s.size * (size_t)i / 24));
        CHECK_CALL(check_refused(&s, s.bad, "truncated"));
    }
    for (int i = 0; i < 64; i++) { // one bit wrong, anywhere
        size_t at = (s.size - 1) * (size_t)i / 63;
        s.bytes[at] ^= (char)(1 << i % 8);
        ASSERT(write_file(s.bad, s.bytes, s.size));
        CHECK_CALL(check_refused(&s, s.bad, "corrupted"));
        s.bytes[at] ^= (char)(1 << i % 8);
    }
    CHECK_CALL(check_refused(&s, "/nonexistent/state.gguf", "missing"));
    fgsf_log_row row;
    ASSERT_OK(advance(s.t, &row));
    ASSERT_OK(advance(s.twin, &row));
    ASSERT(same_state(s.t, s.twin));
    clear_scene(&s);
    PASS();
}

TEST foreign_files_are_refused(void) {
    const resume_case other[] = {{"four_rooms", "clean", "fg-sfrql", "sf.lr=2e-3"},
                                 {"four_rooms", "clean", "fg-sfrql", "seed=1"},
                                 {"four_rooms", "clean", "fg-sfrql", "net.hidden=7,7"},
                                 {"four_rooms", "clean", "sfrql", ""},
                                 {"reacher", "clean", "fg-sfrql", ""}};
    scene s;
    ASSERT_OK(set_scene(&s, "fg-sfrql"));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        fgsf_config cfg;
        fgsf_trainer *t = NULL;
        ASSERT_OK(configure(&other[i], &cfg));
        ASSERT_OK(fgsf_trainer_create(&cfg, &t));
        ASSERT_OK(fgsf_trainer_save(t, s.bad));
        fgsf_trainer_free(t);
        CHECK_CALL(check_refused(&s, s.bad, "another configuration"));
        ASSERT(strstr(fgsf_last_error(), "another configuration"));
    }
    ASSERT_OK(fgsf_agent_save(fgsf_trainer_agent(s.t), &s.t->cfg, s.bad));
    CHECK_CALL(check_refused(&s, s.bad, "a policy"));
    ASSERT(write_file(s.bad, "GGUF of another program", 23));
    CHECK_CALL(check_refused(&s, s.bad, "another program's"));
    clear_scene(&s);
    PASS();
}

// A map file that was changed since, to another of the same size; the old one again is well.
TEST another_map_is_refused(const char *env, const char *map, const char *mirrored) {
    const resume_case c = {env, "clean", "fg-sfrql", "env.map=test_resume.map env.num_tasks=1"};
    const char *maps[] = {map, mirrored, map};
    char state[] = "test_resume.map.state";
    for (int i = 0; i < 3; i++) {
        fgsf_config cfg;
        fgsf_trainer *t = NULL;
        ASSERT(write_file("test_resume.map", maps[i], strlen(maps[i])));
        ASSERT_OK(configure(&c, &cfg));
        ASSERT_OK(fgsf_trainer_create(&cfg, &t));
        if (i == 0) ASSERT_OK(fgsf_trainer_step(t));
        if (i == 0) ASSERT_OK(fgsf_trainer_save(t, state));
        if (i == 1) {
            ASSERT_REFUSED(fgsf_trainer_load(t, state), state);
            ASSERT(strstr(fgsf_last_error(), "another content of the files"));
        }
        if (i == 2) ASSERT_OK(fgsf_trainer_load(t, state));
        fgsf_trainer_free(t);
    }
    remove("test_resume.map");
    remove(state);
    PASS();
}

// A file whose checksum is right and whose content is not: numbers that are used as indices.
TEST impossible_states_are_refused(void) {
    scene s;
    ASSERT_OK(set_scene(&s, "fg-sfrql"));
    fgsf_trainer *t = s.twin; // damaged, saved, and repaired
    int64_t step = t->step;
    int task = t->task, seen = t->agent->seen;
    t->step = t->total_steps + 1;
    ASSERT_OK(fgsf_trainer_save(t, s.bad));
    t->step = step;
    CHECK_CALL(check_refused(&s, s.bad, "a step after the end"));
    t->task = 17;
    ASSERT_OK(fgsf_trainer_save(t, s.bad));
    t->task = task;
    CHECK_CALL(check_refused(&s, s.bad, "a task that does not exist"));
    t->agent->seen = 1;
    ASSERT_OK(fgsf_trainer_save(t, s.bad));
    t->agent->seen = seen;
    CHECK_CALL(check_refused(&s, s.bad, "fewer policies than tasks begun"));
    fgsf_transition bad = fgsf_replay_at(t->learner->replay, 0);
    bad.action = 99;
    ASSERT_OK(fgsf_replay_add(t->learner->replay, &bad));
    ASSERT_OK(fgsf_trainer_save(t, s.bad));
    ASSERT_OK(fgsf_trainer_load(s.twin, s.good)); // the twin's replay is repaired by loading
    ASSERT(fgsf_trainer_load(s.t, s.bad) != FGSF_OK);
    ASSERT_OK(fgsf_trainer_load(s.t, s.good));
    ASSERT(same_state(s.t, s.twin));
    clear_scene(&s);
    PASS();
}

// An earlier state goes into a trainer that has come further.
TEST an_earlier_state_can_be_loaded(const char *method) {
    scene s;
    ASSERT_OK(set_scene(&s, method));
    ASSERT_OK(fgsf_trainer_load(s.t, s.good));
    ASSERT_EQ_FMT(16, (int)fgsf_trainer_progress(s.t).step, "%d");
    fgsf_log_row row;
    for (int i = 16; i < 40; i++) ASSERT_OK(advance(s.t, &row));
    ASSERT(same_state(s.t, s.twin));
    clear_scene(&s);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    for (int i = 0; i < NUM_CASES; i++) {
        RUN_TESTp(resumes_with_the_same_bits, &CASES[i]);
    }
    RUN_TEST(damaged_files_are_refused);
    RUN_TEST(foreign_files_are_refused);
    RUN_TESTp(another_map_is_refused, "four_rooms", "_1.\n..G\n", ".1_\nG..\n");
    RUN_TESTp(another_map_is_refused, "point_maze", "11111\n1S0G1\n11111\n",
              "11111\n1G0S1\n11111\n");
    RUN_TEST(impossible_states_are_refused);
    RUN_TESTp(an_earlier_state_can_be_loaded, "fg-sfrql");
    RUN_TESTp(an_earlier_state_can_be_loaded, "dqn");
    RUN_TESTp(an_earlier_state_can_be_loaded, "fg-sfrql-average");
    GREATEST_MAIN_END();
}
