// The process pool: every job runs once, crashes stay where they are, signals stop everything, and
// no worker outlives the driver.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The pool belongs to the drivers, not to the library that tests link.
#include "../experiments/common/jobs.c"
#include "../experiments/common/progress.c"
#include "support_assert.h"

#define JOBS 12

// What jobs leave for the test to see.
typedef struct board {
    _Atomic int runs[JOBS], alive, most_alive, pids[JOBS], stopped;
} board;

static board *shared;
static fgsf_job_end ends[JOBS];
static char messages[JOBS][512];

static void fresh(void *unused) {
    (void)unused;
    if (!shared) {
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    memset((void *)shared, 0, sizeof *shared);
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < JOBS; i++) ends[i] = FGSF_JOB_INTERRUPTED;
    fgsf_stop = 0;
}

static void rest(double seconds) {
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

static void note_end(void *ctx, int index, fgsf_job_end end, const char *message) {
    (void)ctx;
    ends[index] = end;
    snprintf(messages[index], sizeof messages[index], "%s", message);
}

static int count_job(void *ctx, int index, fgsf_job_progress *p) {
    (void)ctx;
    int alive = ++shared->alive, most = shared->most_alive;
    while (alive > most && !atomic_compare_exchange_weak(&shared->most_alive, &most, alive)) {
    }
    shared->runs[index]++;
    p->total = 10;
    rest(0.02);
    p->steps = 10;
    shared->alive--;
    return 0;
}

TEST every_job_runs_once_and_no_more_than_allowed_at_once(void) {
    FILE *out = tmpfile();
    fgsf_jobs_options options = {.parallel = 3, .out = out, .ended = note_end};
    ASSERT_EQ(0, fgsf_jobs_run(count_job, NULL, JOBS, &options));
    for (int i = 0; i < JOBS; i++) {
        ASSERT_EQ(1, shared->runs[i]);
        ASSERT_EQ(FGSF_JOB_DONE, ends[i]);
    }
    ASSERT(shared->most_alive <= 3);
    char text[4096];
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    ASSERT(strstr(text, "start  job 11\n"));
    ASSERT(strstr(text, "done   job 11"));
    ASSERT(!strchr(text, '\033')); // plain lines: this is no terminal
    fclose(out);
    ASSERT_EQ(0, fgsf_jobs_run(count_job, NULL, 0, &options));
    PASS();
}

static int bad_job(void *ctx, int index, fgsf_job_progress *p) {
    if (index == 2) raise(SIGKILL);
    if (index == 3) abort();
    if (index == 4) return 7;
    if (index == 6) exit(0);
    if (index == 5) {
        snprintf(p->message, sizeof p->message, "disk full");
        return 1;
    }
    return count_job(ctx, index, p);
}

TEST a_crash_harms_no_other_job(void) {
    FILE *out = tmpfile();
    fgsf_jobs_options options = {.parallel = 2, .quiet = true, .out = out, .ended = note_end};
    ASSERT_EQ(5, fgsf_jobs_run(bad_job, NULL, JOBS, &options));
    for (int i = 0; i < JOBS; i++) {
        bool bad = i >= 2 && i <= 6;
        ASSERT_EQ(bad ? (i < 4 || i == 6 ? FGSF_JOB_CRASHED : FGSF_JOB_FAILED) : FGSF_JOB_DONE,
                  ends[i]);
        ASSERT_EQ(!bad, shared->runs[i]);
    }
    ASSERT(strstr(messages[2], "signal 9"));
    ASSERT(strstr(messages[3], "signal 6"));
    ASSERT_STR_EQ("exit code 7", messages[4]);
    ASSERT_STR_EQ("disk full", messages[5]);
    ASSERT_STR_EQ("the process ended within the job, with exit code 0", messages[6]);
    char text[4096];
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    ASSERT(strstr(text, "FAILED job 5"));
    ASSERT(!strstr(text, "done")); // quiet shows failures only
    fclose(out);
    PASS();
}

static int long_job(void *ctx, int index, fgsf_job_progress *p) {
    (void)ctx, (void)p;
    shared->pids[index] = getpid();
    shared->runs[index]++;
    while (!fgsf_stop) rest(0.01);
    shared->stopped++;
    return FGSF_JOB_STOPPED;
}

static int deaf_job(void *ctx, int index, fgsf_job_progress *p) {
    (void)ctx, (void)p;
    shared->pids[index] = getpid();
    shared->runs[index]++;
    while (shared) rest(0.01);
    return 0;
}

// Starts a driver process whose pool runs `job`, and waits until two workers are at it.
static pid_t start_driver(fgsf_job job) {
    pid_t driver = fork();
    if (driver == 0) {
        FILE *out = tmpfile();
        fgsf_jobs_options options = {.parallel = 2, .out = out};
        _exit(fgsf_jobs_run(job, NULL, JOBS, &options));
    }
    for (int i = 0; i < 1000 && !(shared->runs[0] && shared->runs[1]); i++) rest(0.01);
    return driver;
}

TEST a_stop_request_lets_jobs_save_and_starts_no_other(void) {
    static const int signals[] = {SIGINT, SIGTERM};
    for (int k = 0; k < 2; k++) {
        fresh(NULL);
        pid_t driver = start_driver(long_job);
        kill(driver, signals[k]);
        int status = 0;
        ASSERT_EQ(driver, waitpid(driver, &status, 0));
        ASSERT(WIFEXITED(status));
        ASSERT_EQ(JOBS, WEXITSTATUS(status)); // none done
        ASSERT_EQ(2, shared->stopped);
        for (int i = 2; i < JOBS; i++) ASSERT_EQ(0, shared->runs[i]);
    }
    PASS();
}

TEST a_second_stop_request_kills(void) {
    pid_t driver = start_driver(deaf_job);
    kill(driver, SIGINT);
    rest(1.2);
    ASSERT_EQ(0, waitpid(driver, NULL, WNOHANG)); // still waiting for them
    kill(driver, SIGINT);
    int status = 0;
    ASSERT_EQ(driver, waitpid(driver, &status, 0));
    ASSERT(WIFEXITED(status));
    ASSERT_EQ(JOBS, WEXITSTATUS(status));
    PASS();
}

// A scheduler signals the whole group, and the terminal or a parent may do so, too.
TEST two_requests_at_once_are_one(void) {
    pid_t driver = start_driver(long_job);
    kill(driver, SIGINT);
    kill(driver, SIGTERM);
    int status = 0;
    ASSERT_EQ(driver, waitpid(driver, &status, 0));
    ASSERT(WIFEXITED(status));
    ASSERT_EQ(2, shared->stopped); // not killed before they could save
    PASS();
}

// The orphans come to this process (it is their subreaper), which sees how each one ended.
TEST workers_die_with_the_driver(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t driver = start_driver(deaf_job);
    kill(driver, SIGKILL);
    ASSERT_EQ(driver, waitpid(driver, NULL, 0));
    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t one = shared->pids[i];
        ASSERT(one > 0);
        for (int k = 0; k < 500 && waitpid(one, &status, WNOHANG) == 0; k++) rest(0.01);
        ASSERT(WIFSIGNALED(status));
        ASSERT_EQ(SIGKILL, WTERMSIG(status));
        ASSERT_EQ(-1, kill(one, 0));
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    PASS();
}

TEST a_worker_killed_from_outside_is_reported(void) {
    pid_t killer = fork();
    if (killer == 0) {
        while (!shared->pids[0]) rest(0.005);
        kill(shared->pids[0], SIGKILL);
        _exit(0);
    }
    FILE *out = tmpfile();
    fgsf_jobs_options options = {.parallel = 1, .out = out, .ended = note_end};
    ASSERT_EQ(1, fgsf_jobs_run(deaf_job, NULL, 1, &options));
    ASSERT_EQ(FGSF_JOB_CRASHED, ends[0]);
    waitpid(killer, NULL, 0);
    fclose(out);
    PASS();
}

TEST durations_read_well(void) {
    char text[32];
    fgsf_progress_duration(7.2, text, sizeof text);
    ASSERT_STR_EQ("0:07", text);
    fgsf_progress_duration(754, text, sizeof text);
    ASSERT_STR_EQ("12:34", text);
    fgsf_progress_duration(3723, text, sizeof text);
    ASSERT_STR_EQ("1:02:03", text);
    fgsf_progress_duration(-1, text, sizeof text);
    ASSERT_STR_EQ("0:00", text);
    PASS();
}

GREATEST_MAIN_DEFS();

TEST a_progress_line_fits_60_columns(void) {
    static const char *const names[] = {"dqn seed 0", "fg-sfrql-random seed 12",
                                        "fg-sfrql-average@split+avg.n=20+env.slip=0.25 seed 4095"};
    char line[256];
    for (int i = 0; i < 3; i++) {
        fgsf_progress_job job = {.name = names[i], .steps = 60000, .total = 60000};
        job.last_return = -123456.789;
        job.loss = 1.23456e-12;
        describe(&job, true, line, sizeof line);
        ASSERT(strlen(line) <= 60);
        ASSERT(strstr(line, "100% ret -1e+05 loss1.2e-12"));
        ASSERT(strncmp(line, names[i], 8) == 0); // the method's beginning
        ASSERT(strstr(line, strstr(names[i], "seed")));
    }
    describe_all(4094, 4095, 64, 1e6, line, sizeof line);
    ASSERT_STR_EQ("4094 of 4095 done, 64 running, ETA 277:46:40", line);
    PASS();
}

// What was there before the sweep counts as done, not as speed.
TEST the_time_left_follows_the_costs(void) {
    fgsf_progress_work work = {.all = 100, .ended = 60, .before = 50, .started = 1000};
    ASSERT_IN_RANGE(40.0, fgsf_progress_eta(&work, 1010), 1e-9); // 10 in 10 s, 40 are left
    work.before = 60;
    ASSERT_EQ(-1, fgsf_progress_eta(&work, 1010));
    PASS();
}

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    GREATEST_SET_SETUP_CB(fresh, NULL);
    RUN_TEST(a_progress_line_fits_60_columns);
    RUN_TEST(the_time_left_follows_the_costs);
    RUN_TEST(every_job_runs_once_and_no_more_than_allowed_at_once);
    RUN_TEST(a_crash_harms_no_other_job);
    RUN_TEST(a_stop_request_lets_jobs_save_and_starts_no_other);
    RUN_TEST(a_second_stop_request_kills);
    RUN_TEST(two_requests_at_once_are_one);
    RUN_TEST(workers_die_with_the_driver);
    RUN_TEST(a_worker_killed_from_outside_is_reported);
    RUN_TEST(durations_read_well);
    GREATEST_MAIN_END();
}
