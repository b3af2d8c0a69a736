// What sweeps under MPI stand on, without MPI: the server that runs jobs, what jobs cost, and how a
// program knows that mpirun started it. tests/check_mpi.sh has the ranks.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "fgsf/envs.h"
#include "job_server.h"
#include "mpi_jobs.h"
#include "support_assert.h"

enum { GOOD, BAD, CRASH, LONG };

static int job(void *ctx, int index, fgsf_job_progress *p) {
    const int *base = ctx;
    int kind = index - *base;
    p->total = 7;
    p->steps = 7;
    if (kind == CRASH) raise(SIGKILL);
    if (kind == BAD) snprintf(p->message, sizeof p->message, "bad luck");
    while (kind == LONG && !fgsf_stop) usleep(1000);
    return kind == LONG ? FGSF_JOB_STOPPED : kind == BAD;
}

// Waits for a result; what poll returned.
static int outcome(fgsf_job_server *server, fgsf_job_result *result) {
    int found = 0;
    for (int i = 0; i < 3000 && found == 0; i++) found = fgsf_job_server_poll(server, 10, result);
    return found;
}

TEST serves_jobs_one_after_the_other(void) {
    static const struct {
        int kind, end;
        const char *message;
    } expected[] = {{GOOD, FGSF_JOB_DONE, ""},
                    {CRASH, FGSF_JOB_CRASHED, "killed by signal 9"},
                    {BAD, FGSF_JOB_FAILED, "bad luck"},
                    {GOOD, FGSF_JOB_DONE, ""}};
    int base = 100;
    fgsf_job_server server;
    fgsf_job_result result;
    ASSERT(fgsf_job_server_start(&server, job, &base));
    ASSERT_EQ(0, fgsf_job_server_poll(&server, 1, &result));
    for (int i = 0; i < 4; i++) {
        ASSERT(fgsf_job_server_give(&server, base + expected[i].kind));
        ASSERT_EQ(1, outcome(&server, &result));
        ASSERT_EQ(base + expected[i].kind, result.index);
        ASSERT_EQ(expected[i].end, result.end);
        ASSERT(strstr(result.message, expected[i].message));
        ASSERT_EQ(7, server.progress->steps);
        ASSERT_EQ(-1, server.running);
    }
    fgsf_job_server_close(&server);
    ASSERT_EQ(-1, waitpid(-1, NULL, WNOHANG)); // nobody is left
    PASS();
}

TEST stops_a_job(void) {
    int base = 0;
    fgsf_job_server server;
    fgsf_job_result result;
    ASSERT(fgsf_job_server_start(&server, job, &base));
    ASSERT(fgsf_job_server_give(&server, LONG));
    while (server.progress->steps < 7) usleep(1000);
    fgsf_job_server_stop(&server);
    ASSERT_EQ(1, outcome(&server, &result));
    ASSERT_EQ(FGSF_JOB_INTERRUPTED, result.end);
    ASSERT(fgsf_job_server_give(&server, GOOD)); // not started any more
    ASSERT_EQ(1, outcome(&server, &result));
    ASSERT_EQ(FGSF_JOB_INTERRUPTED, result.end);
    fgsf_job_server_close(&server);
    PASS();
}

TEST notices_a_dead_server(void) {
    int base = 0;
    fgsf_job_server server;
    fgsf_job_result result;
    ASSERT(fgsf_job_server_start(&server, job, &base));
    ASSERT(fgsf_job_server_give(&server, LONG));
    while (server.progress->steps < 7) usleep(1000);
    kill(server.pid, SIGKILL);
    ASSERT_EQ(-1, outcome(&server, &result));
    ASSERT_EQ(LONG, result.index);
    ASSERT_EQ(FGSF_JOB_CRASHED, result.end);
    fgsf_job_server_close(&server);
    PASS();
}

TEST costs_grow_with_the_work(void) {
    static const char *const more[][2] = {
        {"train.steps_per_task", "20000"}, {"env.num_tasks", "12"},  {"train.batch_size", "512"},
        {"net.hidden", "[512,512]"},       {"sf.update_set", "all"}, {"avg.n", "10"}};
    fgsf_config cfg, dqn, other;
    ASSERT_OK(fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg));
    ASSERT_OK(fgsf_config_resolve("four_rooms", "clean", "dqn", &dqn));
    ASSERT(fgsf_cost_of_run(&dqn) < fgsf_cost_of_run(&cfg));
    for (int i = 0; i < 6; i++) {
        other = cfg;
        ASSERT_OK(fgsf_config_set(&other, more[i][0], more[i][1], NULL));
        ASSERT(fgsf_cost_of_run(&other) > fgsf_cost_of_run(&cfg));
    }
    PASS();
}

TEST knows_who_started_it(void) {
    static const struct {
        const char *size, *rank, *namespace;
    } launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL},
                     {"PMI_SIZE", "PMI_RANK", NULL},
                     {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "PMIX_NAMESPACE"}};
    for (int i = 0; i < 3; i++) {
        unsetenv(launchers[i].size);
        unsetenv(launchers[i].rank);
    }
    unsetenv("PMIX_NAMESPACE");
    ASSERT_EQ(1, fgsf_mpi_ranks());
    ASSERT_EQ(0, fgsf_mpi_rank());
    setenv("SLURM_STEP_NUM_TASKS", "8", 1); // an array's step, not an MPI program
    ASSERT_EQ(1, fgsf_mpi_ranks());
    unsetenv("SLURM_STEP_NUM_TASKS");
    for (int i = 0; i < 3; i++) {
        setenv(launchers[i].size, "4", 1);
        setenv(launchers[i].rank, "3", 1);
        if (launchers[i].namespace) setenv(launchers[i].namespace, "job", 1);
        ASSERT_EQ(4, fgsf_mpi_ranks());
        ASSERT_EQ(3, fgsf_mpi_rank());
        setenv(launchers[i].size, "1", 1);
        ASSERT_EQ(1, fgsf_mpi_ranks());
        unsetenv(launchers[i].size);
        unsetenv(launchers[i].rank);
    }
    PASS();
}

#ifndef FGSF_HAVE_MPI
TEST refuses_ranks_without_mpi(void) {
    fgsf_jobs_options options = {0};
    ASSERT_EQ(-1, fgsf_mpi_jobs_run(job, NULL, 0, &options));
    ASSERT(strstr(fgsf_last_error(), "built without MPI"));
    PASS();
}
#endif

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(serves_jobs_one_after_the_other);
    RUN_TEST(stops_a_job);
    RUN_TEST(notices_a_dead_server);
    RUN_TEST(costs_grow_with_the_work);
    RUN_TEST(knows_who_started_it);
#ifndef FGSF_HAVE_MPI
    RUN_TEST(refuses_ranks_without_mpi);
#endif
    GREATEST_MAIN_END();
}
