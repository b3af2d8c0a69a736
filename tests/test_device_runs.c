// Whole training steps on a device with memory of its own: the first 100 of every method as on the CPU,
// up to rounding; saved on one device and continued on the other, both ways; and bit for bit on its own.
// On the device `resident`, or on the one that FGSF_TEST_DEVICE names.
#define _POSIX_C_SOURCE 200809L // mkstemp
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "support_assert.h"
#include "trainer_internal.h"

#define STEPS 100
#define SAVED 60 // the second of two tasks has begun

static const char *device = "resident";

typedef struct run_case {
    const char *preset, *method, *settings;
} run_case;

static const run_case CASES[] = {
    {"clean", "dqn", ""},
    {"clean", "fg-dqn", ""},
    {"clean", "sfrql", ""},
    {"clean", "fg-sfrql", ""},
    {"clean", "fg-sfrql-random", ""},
    {"clean", "fg-sfrql-average", "avg.n=3 env.slip=0.2"},
    {"clean", "fg-sfrql-seq-average", "avg.n=4 avg.estimator=split env.slip=0.2"},
    {"compat", "sfrql", "target.period=7"},
    {"compat", "fg-sfrql", ""},
    {"compat", "fg-sfrql-average", "avg.n=3"},
    {"paper", "fg-sfrql", ""},
    {"clean", "corrected-dqn", "gradient.h_beta=0.1"},
    {"clean", "corrected-sfrql", "gradient.h_rate=0.5"},
    {"clean", "fg-sfrql", "gradient.kind=gtd2"},
    {"clean", "fg-sfrql", "gradient.kind=bidirectional target.mode=hard target.period=7"},
    {"clean", "fg-dqn", "gradient.kind=convergent target.mode=polyak target.polyak=0.1"},
    {"clean", "sfrql", "target.mode=polyak target.double=false"},
    {"clean", "fg-sfrql", "representation=xi reward.model=mlp"},
    {"clean", "fg-sfrql", "net.kind=torso"},
    {"clean", "fg-sfrql", "net.norm=layer net.activation=softplus"},
    {"clean", "fg-sfrql", "opt.kind=sgd_rm sf.lr=1e-2"},
};

static fgsf_trainer *open_trainer(const run_case *c, const char *name) {
    static fgsf_config cfg;
    char text[1024], *rest = text;
    snprintf(text, sizeof text,
             "env.num_tasks=2 train.steps_per_task=50 train.batch_size=8 net.hidden=12,10 "
             "reward.mlp_hidden=5 diag.residual_batch=10 train.log_every=7 "
             "device.name=%s %s",
             name, c->settings);
    fgsf_trainer *trainer = NULL;
    fgsf_status status = fgsf_config_resolve("four_rooms", c->preset, c->method, &cfg);
    for (char *word = strtok_r(text, " ", &rest); word && status == FGSF_OK;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        status = fgsf_config_set(&cfg, word, value, "test");
    }
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &trainer);
    if (status != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
    return trainer;
}

// Takes the steps from `first` on, with a row for each.
static fgsf_status walk(fgsf_trainer *t, int first, int last, fgsf_log_row *rows) {
    fgsf_status status = FGSF_OK;
    for (int i = first; i < last && status == FGSF_OK; i++) {
        memset(&rows[i], 0, sizeof rows[i]);
        status = fgsf_trainer_step(t);
        bool due = false;
        if (status == FGSF_OK) status = fgsf_trainer_log(t, &rows[i], &due);
    }
    return status;
}

// Takes the steps on one device up to SAVED, and the rest on another, through a file.
static fgsf_status walk_over(const run_case *c, const char *from, const char *to,
                             fgsf_log_row *rows) {
    char path[] = "/tmp/fgsf-device-XXXXXX";
    int fd = mkstemp(path);
    fgsf_trainer *a = open_trainer(c, from), *b = open_trainer(c, to);
    fgsf_status status = a && b && fd >= 0 ? walk(a, 0, SAVED, rows) : FGSF_ERR_INVALID;
    if (status == FGSF_OK) status = fgsf_trainer_save(a, path);
    if (status == FGSF_OK) status = fgsf_trainer_load(b, path);
    if (status == FGSF_OK) status = walk(b, SAVED, STEPS, rows);
    fgsf_trainer_free(a);
    fgsf_trainer_free(b);
    close(fd);
    unlink(path);
    return status;
}

// The largest relative difference of the losses; infinite where rewards or episodes differ.
static double compare(const fgsf_log_row *a, const fgsf_log_row *b) {
    double worst = 0.0;
    for (int i = 0; i < STEPS; i++) {
        bool same = a[i].cum_reward == b[i].cum_reward && a[i].episodes == b[i].episodes &&
                    isnan(a[i].loss) == isnan(b[i].loss);
        if (!same) return INFINITY;
        if (isnan(a[i].loss) || a[i].loss == b[i].loss) continue;
        worst = worse(worst, fabs(a[i].loss - b[i].loss) / fabs(a[i].loss));
    }
    return worst;
}

TEST trains_as_on_the_cpu(const run_case *c) {
    static fgsf_log_row cpu[STEPS], there[STEPS], mixed[STEPS];
    fgsf_trainer *a = open_trainer(c, "cpu"), *b = open_trainer(c, device);
    ASSERT(a && b);
    ASSERT_OK(walk(a, 0, STEPS, cpu));
    ASSERT_OK(walk(b, 0, STEPS, there));
    double error[3] = {compare(cpu, there)};
    fgsf_trainer_free(a);
    fgsf_trainer_free(b);
    ASSERT_OK(walk_over(c, device, "cpu", mixed));
    error[1] = compare(cpu, mixed);
    ASSERT_OK(walk_over(c, "cpu", device, mixed));
    error[2] = compare(cpu, mixed);
    printf("%s %s %s: losses within %.1e; resumed %.1e, %.1e\n", c->preset, c->method, c->settings,
           error[0], error[1], error[2]);
    for (int i = 0; i < 3; i++) ASSERT_BELOW(c->method, error[i], 1e-4);
    ASSERT_OK(walk_over(c, device, device, mixed));
    for (int i = 0; i < STEPS; i++) {
        ASSERT(there[i].loss == mixed[i].loss || isnan(there[i].loss));
        ASSERT_EQ(there[i].cum_reward, mixed[i].cum_reward);
    }
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    if (getenv("FGSF_TEST_DEVICE")) device = getenv("FGSF_TEST_DEVICE");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        RUN_TEST1(trains_as_on_the_cpu, &CASES[i]);
    }
    GREATEST_MAIN_END();
}
