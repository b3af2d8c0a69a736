// Separate trainers in threads of one process, and threads that share a trainer's products: each must end with
// the numbers of a trainer that ran alone. tests/optional/tsan.sh runs it under ThreadSanitizer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/envs.h"
#include "fgsf/evaluate.h"
#include "fgsf/trainer.h"

#define THREADS 4

typedef struct job {
    const char *env, *method, *threads;
    double sum; // over all parameters, and over the returns of the evaluation
    fgsf_status status;
    char message[200];
} job;

static fgsf_status configure(const job *j, fgsf_config *cfg) {
    const char *const set[][2] = {
        {"train.steps_per_task", "100"}, {"train.batch_size", "64"},    {"net.hidden", "32"},
        {"env.num_tasks", "2"},          {"eval.episodes", "1"},        {"eval.horizon", "10"},
        {"train.log_every", "20"},       {"device.threads", j->threads}};
    fgsf_status status = fgsf_config_resolve(j->env, "clean", j->method, cfg);
    for (size_t i = 0; i < sizeof set / sizeof *set && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, set[i][0], set[i][1], "tsan");
    }
    return status;
}

static void add_parameters(job *j, const fgsf_agent *agent) {
    for (int k = 0; k < fgsf_agent_num_policies(agent); k++) {
        const fgsf_network *net = fgsf_agent_network(agent, k);
        for (size_t i = 0; i < fgsf_network_size(net); i++)
            j->sum += fgsf_network_parameters(net)[i];
    }
}

static void *run(void *arg) {
    job *j = arg;
    fgsf_config cfg, wrong;
    fgsf_trainer *t = NULL;
    fgsf_eval_rows rows = {0};
    j->status = configure(j, &cfg);
    if (j->status == FGSF_OK) j->status = fgsf_trainer_create(&cfg, &t);
    while (j->status == FGSF_OK && !fgsf_trainer_done(t)) {
        fgsf_log_row row;
        bool due;
        j->status = fgsf_trainer_step(t);
        if (j->status == FGSF_OK) j->status = fgsf_trainer_log(t, &row, &due);
        // Messages are a thread's own.
        if (fgsf_config_resolve(j->env, "clean", j->method, &wrong) != FGSF_OK ||
            fgsf_config_set(&wrong, "sf.lr", j->method, "tsan") == FGSF_OK ||
            !strstr(fgsf_last_error(), j->method)) {
            j->status = FGSF_ERR_INVALID;
        }
    }
    if (j->status == FGSF_OK) {
        add_parameters(j, fgsf_trainer_agent(t));
        j->status = fgsf_evaluate(fgsf_trainer_agent(t), &cfg, FGSF_EVAL_LEARNED, 0.1, &rows);
    }
    for (int i = 0; i < rows.count; i++) j->sum += rows.rows[i].episode_return;
    if (j->status != FGSF_OK) snprintf(j->message, sizeof j->message, "%.199s", fgsf_last_error());
    free(rows.rows);
    fgsf_trainer_free(t);
    return NULL;
}

int main(void) {
    static const job jobs[THREADS] = {
        {.env = "four_rooms", .method = "fg-sfrql", .threads = "1"},
        {.env = "four_rooms", .method = "dqn", .threads = "2"},
        {.env = "reacher", .method = "sfrql", .threads = "1"},
        {.env = "point_maze", .method = "fg-sfrql-random", .threads = "2"}};
    job alone[THREADS], together[THREADS];
    pthread_t threads[THREADS];
    if (fgsf_envs_register() != FGSF_OK) return 1;
    memcpy(alone, jobs, sizeof jobs);
    memcpy(together, jobs, sizeof jobs);
    for (int i = 0; i < THREADS; i++) run(&alone[i]);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run, &together[i]) != 0) return 1;
    }
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (alone[i].status != FGSF_OK || together[i].status != FGSF_OK ||
            alone[i].sum != together[i].sum) {
            printf("%s %s: %.17g alone (%s), %.17g beside the others (%s)\n", jobs[i].env,
                   jobs[i].method, alone[i].sum, alone[i].message, together[i].sum,
                   together[i].message);
            wrong++;
        }
    }
    return wrong;
}
