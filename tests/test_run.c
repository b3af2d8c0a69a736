// Run directories: layout, locks, refusal, resumption, crashes, summary.csv.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "support_runs.h"

TEST a_run_is_recorded(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = {out, "four_rooms", "fg-sfrql", "shared+avg.n=5", 3};
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_FOUND_NOTHING, found);
    char directory[256], expected[256];
    fgsf_run_directory(&id, directory, sizeof directory);
    snprintf(expected, sizeof expected, "%s/four_rooms/fg-sfrql@shared+avg.n=5/seed-3", out);
    ASSERT_STR_EQ(expected, directory);
    fgsf_run_record r;
    ASSERT_EQ(FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_RUNNING, r.status);
    fgsf_run_progress progress = {2.25, 1000, 998};
    ASSERT_EQ(FGSF_OK, fgsf_run_finish(run, FGSF_RUN_DIVERGED, &progress, "loss \"inf\"\n at 7"));
    fgsf_run_close(run);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_DIVERGED, r.status);
    ASSERT_STR_EQ("four_rooms", r.env);
    ASSERT_STR_EQ("fg-sfrql", r.method);
    ASSERT_STR_EQ("shared+avg.n=5", r.cell);
    ASSERT_EQ(3, r.seed);
    ASSERT_EQ(3, r.config.seed);
    ASSERT_EQ(1000, r.progress.steps);
    ASSERT_EQ(998, r.progress.optimizer_steps);
    ASSERT_EQ(2.25, r.progress.seconds);
    ASSERT_STR_EQ("loss \"inf\"? at 7", r.message);
    ASSERT_EQ(fgsf_config_hash(&cfg), fgsf_config_hash(&r.config));
    PASS();
}

TEST a_finished_run_is_left_alone(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    for (int end = FGSF_RUN_DONE; end <= FGSF_RUN_DIVERGED; end++) {
        id.seed = end;
        ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, (fgsf_run_status)end));
        char before[8192];
        snprintf(before, sizeof before, "%s", content(in_run(&id, "run.json")));
        for (int resume = 0; resume < 2; resume++) {
            ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, resume, &found, &run));
            ASSERT_EQ(FGSF_FOUND_FINISHED, found);
            ASSERT_EQ(NULL, run);
        }
        ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "x"));
        ASSERT_STR_EQ(before, content(in_run(&id, "run.json")));
    }
    PASS();
}

TEST an_unfinished_run_needs_resume(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_run_progress progress = {3, 10, 9};
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_OK, fgsf_run_update(run, &progress));
    fgsf_run_close(run);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT(says("--resume"));
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &run));
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    progress.seconds = 4;
    ASSERT_EQ(FGSF_OK, fgsf_run_update(run, &progress));
    fgsf_run_close(run);
    ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "killed by signal 9"));
    fgsf_run_record r;
    char directory[256];
    fgsf_run_directory(&id, directory, sizeof directory);
    ASSERT_EQ(FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_FAILED, r.status);
    ASSERT_EQ(7.0, r.progress.seconds); // over both processes
    ASSERT_STR_EQ("killed by signal 9", r.message);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &run)); // a failed run may be retried
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    fgsf_run_close(run);
    PASS();
}

TEST another_configuration_is_refused(void) {
    fgsf_config cfg = config(), other = cfg;
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    other.learner.lr = 0.125;
    id.seed = 1;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_open(&id, &other, true, &found, &run));
    ASSERT(says("sf.lr=0.125"));
    ASSERT(says("seed-0"));
    ASSERT_EQ(-1, access(in_run(&id, "."), F_OK));          // nothing was made
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE)); // a new seed of the same one is fine
    id.cell = "fast";
    ASSERT_EQ(FGSF_OK, make_run(&id, &other, FGSF_RUN_DONE)); // and so is another cell
    other.seed = 77;                                          // the seed is no part of it
    id.seed = 77;
    ASSERT_EQ(FGSF_OK, make_run(&id, &other, FGSF_RUN_DONE));
    PASS();
}

TEST a_run_is_locked_while_it_is_open(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL, *second = NULL;
    fgsf_run_found found;
    int ready[2], go[2];
    char byte = 0;
    ASSERT_EQ(0, pipe(ready) | pipe(go));
    pid_t child = fork();
    if (child == 0) {
        bool ok = fgsf_run_open(&id, &cfg, false, &found, &run) == FGSF_OK && run;
        close(go[1]);
        if (write(ready[1], ok ? "y" : "n", 1) != 1) _exit(1);
        if (read(go[0], &byte, 1) < 0) _exit(1);
        _exit(0); // without closing: the lock goes with the process
    }
    ASSERT_EQ(1, read(ready[0], &byte, 1));
    ASSERT_EQ('y', byte);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &second));
    ASSERT_EQ(FGSF_FOUND_BUSY, found);
    ASSERT_EQ(NULL, second);
    ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "not mine"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &second));
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    ASSERT(strstr(content(in_run(&id, "run.json")), "\"running\""));
    fgsf_run_close(second);
    for (int i = 0; i < 2; i++) close(ready[i]), close(go[i]);
    PASS();
}

TEST a_resumed_csv_equals_an_uninterrupted_one(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_OK, fgsf_csv_open(run, "whole.csv", COLUMNS, -1, &csv));
    ASSERT_EQ(FGSF_OK, rows(csv, 0, 500));
    ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
    char whole[8192];
    snprintf(whole, sizeof whole, "%s", content(in_run(&id, "whole.csv")));
    // A crash at any byte after the checkpoint at step 200.
    ASSERT_OK(fgsf_run_update(run, &(fgsf_run_progress){1, 200, 1}));
    ASSERT_EQ(FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
    ASSERT_EQ(FGSF_OK, rows(csv, 0, 200));
    ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
    size_t safe = strlen(content(in_run(&id, "train.csv")));
    for (size_t cut = safe; cut <= strlen(whole); cut++) {
        char torn[8192];
        snprintf(torn, sizeof torn, "%.*s", (int)cut, whole);
        put(in_run(&id, "train.csv"), torn);
        ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, 200, &csv));
        ASSERT_EQ(FGSF_OK, rows(csv, 200, 500));
        ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
        ASSERT_STR_EQ(whole, content(in_run(&id, "train.csv")));
    }
    fgsf_run_close(run);
    PASS();
}

TEST rows_belong_to_the_state_whenever_the_process_dies(void) {
    fgsf_config cfg = config();
    for (int known = 0; known < 2; known++) {
        fgsf_run_id id = id_of(known);
        interrupted(&id, &cfg, known);
        // The state is that of the first checkpoint, or of the second once run.json knows its rows.
        ASSERT_EQ(known ? FGSF_OK : FGSF_ERR_FORMAT, resume_at(&id, &cfg, 200));
        if (known) { // rows and run.json of a backup, with a state that is newer than both
            ASSERT_EQ(FGSF_ERR_FORMAT, resume_at(&id, &cfg, 500));
            ASSERT(says("run.json is of step 200"));
        }
        ASSERT_OK(resume_at(&id, &cfg, 100));
        ASSERT_EQ(FGSF_ERR_FORMAT, resume_at(&id, &cfg, 90)); // a state of nowhere
        ASSERT(says("train.csv: its rows up to step 90"));
    }
    PASS();
}

TEST names_stay_inside_the_directory(void) {
    static const char *const bad[] = {"", "..", "a/b", "a,b", ".x", "a b", "a\"b", "\xc3\xa4"};
    char path[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fgsf_run_id id = {out, "four_rooms", bad[i], "", 0};
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_directory(&id, path, sizeof path));
        id = (fgsf_run_id){out, bad[i], "dqn", "", 0};
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_directory(&id, path, sizeof path));
        id = (fgsf_run_id){out, "four_rooms", "dqn", bad[i], 0};
        ASSERT_EQ(*bad[i] ? FGSF_ERR_INVALID : FGSF_OK, fgsf_run_directory(&id, path, sizeof path));
    }
    PASS();
}

#define CHANGED "clean,\"env.slip=0.1, sf.lr=0.0003\""

TEST the_summary_covers_everything(void) {
    fgsf_config cfg = config();
    ASSERT_OK(fgsf_config_set(&cfg, "sf.lr", "3e-4", NULL));
    ASSERT_OK(fgsf_config_set(&cfg, "env.slip", "0.1", NULL));
    fgsf_run_id id = id_of(10);
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    put(in_run(&id, "train.csv"), "step,task,task_step,cum_reward,loss,psi_error\n"
                                  "200,0,200,1.5,0,0.75\n400,0,400,2.5,0,nan\n"
                                  "600,1,200,-3,0,nan\n800,1,40");
    put(in_run(&id, "eval.csv"), "task,episode,reward_model,epsilon,return,steps,success,"
                                 "discounted_return,overestimation\n"
                                 "0,0,learned,0,2,10,1,1,0.5\n0,1,learned,0,4,20,0,2.5,1\n"
                                 "0,0,true,0.03,5,30,1,3,-1\nh0,0,learned,0,1,100,0,0.5,nan\n");
    id.seed = 9;
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_FAILED));
    id = (fgsf_run_id){out, "reacher", "dqn", "c1", 0};
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    put(in_run(&id, "train.csv"), "step,task,task_step,cum_reward,loss\nnonsense\n");
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT(says("train.csv: line 2"));
    char path[128], expected[4096], hash[32];
    snprintf(path, sizeof path, "%s/summary.csv", out);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fgsf_config_hash(&cfg));
    snprintf(
        expected, sizeof expected,
        "env,method,cell,seed,status,task,heldout,cum_reward,area,reward_model,epsilon,"
        "episodes,eval_return,eval_success,eval_steps,steps,seconds,config_hash,message,"
        "eval_discounted,eval_overestimation,eval_action_gap,preset,changed,psi_error\n"
        "four_rooms,fg-sfrql,,9,failed,,,,,,,0,,,,400,1.500,%s,,,,," CHANGED ",\n"
        "four_rooms,fg-sfrql,,10,done,0,0,2.5,1.375,learned,0,2,3,0.5,15,400,1.500,%s,,1.75,0.75,"
        "," CHANGED ",0.75\n"
        "four_rooms,fg-sfrql,,10,done,0,0,2.5,1.375,true,0.03,1,5,1,30,400,1.500,%s,,3,-1,," CHANGED
        ",0.75\n"
        "four_rooms,fg-sfrql,,10,done,h0,1,,,learned,0,1,1,0,100,400,1.500,%s,,0.5,,," CHANGED ",\n"
        "four_rooms,fg-sfrql,,10,done,1,0,-3,-1.5,,,0,,,,400,1.500,%s,,,,," CHANGED ",\n"
        "reacher,dqn,c1,0,done,,,,,,,0,,,,400,1.500,%s,"
        "\"%s/reacher/dqn@c1/seed-0/train.csv: line 2: not a row of this table\",,,," CHANGED ",\n",
        hash, hash, hash, hash, hash, hash, out);
    ASSERT_STR_EQ(expected, content(path));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT_STR_EQ(expected, content(path));
    remove(in_run(&id, "train.csv"));
    // An evaluation that is older than the discounted return is read without it.
    id = id_of(10);
    put(in_run(&id, "eval.csv"), "task,episode,reward_model,epsilon,return,steps,success\n"
                                 "0,0,learned,0,2,10,1\n");
    ASSERT_EQ(FGSF_OK, fgsf_run_summarize(out));
    ASSERT(strstr(content(path), "learned,0,1,2,1,10,400,1.500"));
    ASSERT(strstr(content(path), ",,,,," CHANGED ",0.75\nfour_rooms,fg-sfrql,,10,done,1,0"));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    GREATEST_SET_SETUP_CB(fresh, NULL);
    GREATEST_SET_TEARDOWN_CB(fresh, NULL);
    RUN_TEST(a_run_is_recorded);
    RUN_TEST(a_finished_run_is_left_alone);
    RUN_TEST(an_unfinished_run_needs_resume);
    RUN_TEST(another_configuration_is_refused);
    RUN_TEST(a_run_is_locked_while_it_is_open);
    RUN_TEST(a_resumed_csv_equals_an_uninterrupted_one);
    RUN_TEST(rows_belong_to_the_state_whenever_the_process_dies);
    RUN_TEST(names_stay_inside_the_directory);
    RUN_TEST(the_summary_covers_everything);
    GREATEST_MAIN_END();
}