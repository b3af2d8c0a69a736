// A program that knows FGSF as an installed package: it registers an environment of its own
// (docs/examples/corridor.c), with a key of its own, trains on it, evaluates, saves, loads and acts the
// same. Linked with the component envs, it also finds the environments that come with the library.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/archive.h"
#include "fgsf/envs.h"
#include "fgsf/evaluate.h"
#include "fgsf/trainer.h"
#include "fgsf/version.h"

fgsf_status fgsf_plugin_register(void); // of corridor.c

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, fgsf_last_error());
    return 1;
}

static fgsf_status configure(fgsf_config *cfg) {
    static const char *const settings[][2] = {{"env.cells", "5"},
                                              {"net.hidden", "16"},
                                              {"train.steps_per_task", "1500"},
                                              {"eval.episodes", "10"}};
    fgsf_status status = fgsf_config_resolve("corridor", "clean", "fg-sfrql", cfg);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, settings[i][0], settings[i][1], "consumer");
    }
    return status == FGSF_OK ? fgsf_config_validate(cfg) : status;
}

// The share of evaluation episodes that end with the best return, 1.
static fgsf_status evaluate(fgsf_agent *agent, const fgsf_config *cfg, double *best) {
    fgsf_eval_rows rows = {0};
    fgsf_status status = fgsf_evaluate(agent, cfg, FGSF_EVAL_LEARNED, 0.0, &rows);
    *best = 0;
    for (int i = 0; i < rows.count; i++)
        *best += (rows.rows[i].episode_return == 1) / (double)rows.count;
    free(rows.rows);
    return status;
}

static fgsf_status train(const fgsf_config *cfg, const char *path, double *best) {
    fgsf_trainer *trainer = NULL;
    fgsf_status status = fgsf_trainer_create(cfg, &trainer);
    while (status == FGSF_OK && !fgsf_trainer_done(trainer)) status = fgsf_trainer_step(trainer);
    if (status == FGSF_OK) status = evaluate(fgsf_trainer_agent(trainer), cfg, best);
    if (status == FGSF_OK) status = fgsf_agent_save(fgsf_trainer_agent(trainer), cfg, path);
    fgsf_trainer_free(trainer);
    return status;
}

int main(int argc, char **argv) {
    char expected[32];
    fgsf_config cfg, loaded;
    fgsf_agent *agent = NULL;
    double trained = 0, reloaded = 0;
    snprintf(expected, sizeof expected, "%d.%d.%d", FGSF_VERSION_MAJOR, FGSF_VERSION_MINOR,
             FGSF_VERSION_PATCH);
    if (argc != 2 || strcmp(expected, fgsf_version()) != 0) return 1;
    if (fgsf_plugin_register() != FGSF_OK) return fail("register");
    if (configure(&cfg) != FGSF_OK) return fail("configure");
    if (fgsf_config_set(&cfg, "env.cells", "2", "consumer") == FGSF_OK) return 1; // out of range
    if (train(&cfg, argv[1], &trained) != FGSF_OK) return fail("train");
    if (fgsf_agent_load(argv[1], NULL, &loaded, &agent) != FGSF_OK) return fail("load");
    if (evaluate(agent, &loaded, &reloaded) != FGSF_OK) return fail("evaluate");
    fgsf_agent_free(agent);
    if (fgsf_envs_register() != FGSF_OK) return fail("envs");
    if (!fgsf_env_def_find("four_rooms")) return 1;
    printf("fgsf %s on ggml %s: best return in %.0f %% of the episodes, reloaded %.0f %%\n",
           fgsf_version(), fgsf_ggml_version(), 100 * trained, 100 * reloaded);
    return !(trained > 0.9 && reloaded == trained);
}
