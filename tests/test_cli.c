// The drivers' command line: what each flag means, and that bad input is one line that names it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <unistd.h>

// The command line belongs to the drivers, not to the library that tests link.
#include "../experiments/common/cli.c"
#include "../experiments/common/jobs.c"
#include "../experiments/common/keys.c"
#include "../experiments/common/plugins.c"
#include "../experiments/common/progress.c"
#include "../experiments/common/say.c"
#include "support_assert.h"

// In place of devices.c: no device is opened here.
void fgsf_devices_exact(void) {}

void fgsf_devices_print(FILE *out) {
    fprintf(out, "listed\n");
}

fgsf_status fgsf_devices_check(FILE *out, const char *name) {
    if (strcmp(name, "bad") == 0) return fgsf_fail(FGSF_ERR_INVALID, "device 'bad'");
    fprintf(out, "checked %s\n", name);
    return FGSF_OK;
}

static const char *layout;
static const char *const some_methods[] = {"sfrql", "fg-sfrql", NULL};
static const fgsf_cli_flag own_flags[] = {{"--layout", "NAME", "which maze", &layout}};
static const fgsf_setting own_smoke[] = {{NULL, "train.batch_size", "16"}};
static const fgsf_cli_spec spec = {.program = "four_rooms",
                                   .summary = "A test.",
                                   .env = "four_rooms",
                                   .methods = some_methods,
                                   .smoke = own_smoke,
                                   .num_smoke = 1,
                                   .flags = own_flags,
                                   .num_flags = 1};

static char printed[2][1 << 16]; // what the last call wrote to stdout and stderr
static fgsf_cli cli;

// Runs fgsf_cli_parse on a command line of words and catches what it prints; `then` runs too.
static int run_line(const char *line, int (*then)(void)) {
    char text[1024], *argv[64];
    int argc = 0, saved[2], code;
    FILE *caught[2] = {tmpfile(), tmpfile()};
    snprintf(text, sizeof text, "%s", line);
    argv[argc++] = "four_rooms";
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        argv[argc++] = strcmp(w, "''") == 0 ? "" : w;
    }
    static char kept[1024]; // argv must outlive the call, as a program's does
    memcpy(kept, text, sizeof kept);
    for (int i = 1; i < argc; i++) {
        if (*argv[i]) argv[i] = kept + (argv[i] - text);
    }
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        saved[i] = dup(i + 1);
        dup2(fileno(caught[i]), i + 1);
    }
    code = fgsf_cli_parse(&spec, argc, argv, &cli);
    if (code == FGSF_CLI_RUN && then) code = then();
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
        rewind(caught[i]);
        printed[i][fread(printed[i], 1, sizeof printed[i] - 1, caught[i])] = '\0';
        fclose(caught[i]);
    }
    return code;
}

static fgsf_config resolved;

static int resolve_first(void) {
    return fgsf_cli_config(&cli, cli.methods[0], NULL, 0, &resolved) ? 0 : FGSF_CLI_BAD;
}

static int print_first(void) {
    return fgsf_cli_print_config(&cli, cli.methods[0], NULL, 0);
}

TEST defaults(void) {
    ASSERT_EQ(FGSF_CLI_RUN, run_line("", NULL));
    ASSERT_STR_EQ("clean", cli.preset);
    ASSERT_EQ(2, cli.num_methods);
    ASSERT_STR_EQ("sfrql", cli.methods[0]);
    ASSERT_EQ(1, cli.num_seeds);
    ASSERT_EQ(0, cli.seeds[0]);
    ASSERT_STR_EQ("runs/four_rooms-clean", cli.out);
    ASSERT(cli.jobs >= 1);
    ASSERT(!cli.smoke && !cli.resume && !cli.quiet);
    ASSERT(fgsf_cli_mine(&cli, 0) && fgsf_cli_mine(&cli, 7));
    PASS();
}

TEST every_flag_is_read(void) {
    ASSERT_EQ(
        FGSF_CLI_RUN,
        run_line("--preset compat --scale=smoke --methods dqn,fg-sfrql-average --seeds 3 --set "
                 "sf.lr=0.5 --set=sf.lr=0.25 --out o --jobs 7 --resume --quiet --device cpu "
                 "--cell 2/3 --layout large --print-config",
                 NULL));
    ASSERT_STR_EQ("compat", cli.preset);
    ASSERT(cli.smoke && cli.resume && cli.quiet && cli.print_config);
    ASSERT_EQ(2, cli.num_methods);
    ASSERT_STR_EQ("fg-sfrql-average", cli.methods[1]);
    ASSERT_EQ(3, cli.num_seeds);
    ASSERT_EQ(2, cli.seeds[2]);
    ASSERT_STR_EQ("o", cli.out);
    ASSERT_EQ(7, cli.jobs);
    ASSERT_STR_EQ("large", layout);
    ASSERT(!fgsf_cli_mine(&cli, 0) && fgsf_cli_mine(&cli, 1) && fgsf_cli_mine(&cli, 4));
    ASSERT_EQ(3, cli.num_sets);
    PASS();
}

TEST seeds_are_a_count_or_a_list(void) {
    static const struct {
        const char *line;
        int n;
        int64_t first, last;
    } good[] = {{"--seeds 1", 1, 0, 0},         {"--seeds 5", 5, 0, 4},
                {"--seeds 7,", 1, 7, 7},        {"--seeds 3,9", 2, 3, 9},
                {"--seeds 3,1,2,", 3, 3, 2},    {"--seeds=0,", 1, 0, 0},
                {"--seeds 4096", 4096, 0, 4095}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ASSERT_EQm(good[i].line, FGSF_CLI_RUN, run_line(good[i].line, NULL));
        ASSERT_EQ(good[i].n, cli.num_seeds);
        ASSERT_EQ(good[i].first, cli.seeds[0]);
        ASSERT_EQ(good[i].last, cli.seeds[good[i].n - 1]);
    }
    PASS();
}

TEST bad_input_is_one_line_that_names_it(void) {
    static const char *const bad[][2] = {
        {"--sed 3", "--sed"},
        {"three", "three"},
        {"--seeds", "--seeds needs a value"},
        {"--seeds 0", "--seeds '0'"},
        {"--seeds 5000", "5000"},
        {"--seeds -1", "-1"},
        {"--seeds 1.5", "1.5"},
        {"--seeds ,", "','"},
        {"--seeds 1,,2", "1,,2"},
        {"--seeds 1,1", "twice"},
        {"--seeds a,b", "a,b"},
        {"--seeds ''", "--seeds ''"},
        {"--preset tidy", "tidy"},
        {"--scale huge", "huge"},
        {"--methods ppo", "ppo"},
        {"--methods dqn,", "empty name"},
        {"--methods dqn,dqn", "twice"},
        {"--jobs 0", "--jobs '0'"},
        {"--jobs x", "--jobs 'x'"},
        {"--cell 0/3", "0/3"},
        {"--cell 4/3", "4/3"},
        {"--cell 3", "--cell '3'"},
        {"--set sf.lr", "sf.lr"},
        {"--set =3", "=3"},
        {"--set sf.lrr=3", "sf.lr"},
        {"--set sf.lr=abc", "abc"},
        {"--set method=dqn", "--methods"},
        {"--set seed=1", "--seeds"},
        {"--out ''", "--out"},
        {"--device ''", "--device"},
        {"--resume=1", "takes no value"},
        {"--config /nowhere/x.json", "/nowhere/x.json"},
        {"--list-keys=html", "html"},
        {"--layout", "--layout needs a value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQm(bad[i][0], FGSF_CLI_BAD, run_line(bad[i][0], NULL));
        ASSERT_EQm(bad[i][0], 0, strncmp(printed[1], "four_rooms: ", 12));
        ASSERTm(printed[1], strstr(printed[1], bad[i][1]));
        ASSERTm(printed[1], strchr(printed[1], '\n') == printed[1] + strlen(printed[1]) - 1);
        ASSERT_STR_EQ("", printed[0]);
    }
    PASS();
}

TEST contradictions_are_named_with_the_method(void) {
    ASSERT_EQ(FGSF_CLI_BAD, run_line("--set reward.model=mlp", resolve_first));
    ASSERT(strstr(printed[1], "four_rooms: sfrql: representation=psi with reward.model=mlp"));
    PASS();
}

TEST later_steps_win(void) {
    char path[64], line[256];
    snprintf(path, sizeof path, "test_cli.%ld.json", (long)getpid());
    FILE *file = fopen(path, "w");
    fputs("{\"sf.lr\": 0.5, \"train\": {\"log_every\": 50, \"batch_size\": 8}}", file);
    fclose(file);
    snprintf(line, sizeof line, "--scale smoke --config %s --set sf.lr=0.25 --seeds 4,", path);
    ASSERT_EQm(printed[1], 0, run_line(line, resolve_first));
    unlink(path);
    ASSERT_EQ(0.25, resolved.learner.lr);
    ASSERT_EQ(50, resolved.train.log_every);
    ASSERT_EQ(8, resolved.learner.batch_size);
    ASSERT_EQ(1000, resolved.train.steps_per_task);
    ASSERT_EQ(4, resolved.seed);
    PASS();
}

TEST a_printed_configuration_reproduces_the_run(void) {
    char path[64], line[256], wrong[512];
    ASSERT_EQm(printed[1], 0,
               run_line("--preset compat --methods dqn --seeds 5, --scale smoke --set dqn.lr=0.1",
                        resolve_first));
    fgsf_config first = resolved;
    ASSERT_EQ(0, run_line("--preset compat --methods dqn --seeds 5, --scale smoke --set dqn.lr=0.1 "
                          "--print-config",
                          print_first));
    snprintf(path, sizeof path, "test_cli.%ld.json", (long)getpid());
    FILE *file = fopen(path, "w");
    fputs(printed[0], file);
    fclose(file);
    snprintf(line, sizeof line, "--config %s", path);
    ASSERT_EQm(printed[1], 0, run_line(line, resolve_first));
    ASSERT_EQ(1, cli.num_methods);
    ASSERT_STR_EQ("dqn", cli.methods[0]);
    ASSERT_EQ(0, memcmp(&first, &resolved, sizeof first));
    snprintf(wrong, sizeof wrong, "%s --methods sfrql", line);
    ASSERT_EQ(FGSF_CLI_BAD, run_line(wrong, NULL));
    ASSERT(strstr(printed[1], "contradicts --methods"));
    snprintf(wrong, sizeof wrong, "%s --preset paper", line);
    ASSERT_EQ(FGSF_CLI_BAD, run_line(wrong, NULL));
    ASSERT(strstr(printed[1], "contradicts --preset"));
    unlink(path);
    PASS();
}

// Whether the last call printed the keys of every environment.
static bool printed_env_keys(void) {
    bool all = true;
    for (int e = 0; fgsf_env_def_at(e); e++) {
        const fgsf_env_def *def = fgsf_env_def_at(e);
        for (int k = 0; k < def->num_keys; k++) all = all && strstr(printed[0], def->keys[k].name);
    }
    return all && fgsf_env_def_at(0);
}

TEST help_and_keys_cover_everything(void) {
    size_t count = 0;
    const fgsf_key *keys = fgsf_config_keys(&count);
    ASSERT_EQ(0, run_line("--help", NULL));
    for (int i = 0; i < NUM_FLAGS; i++) ASSERT(strstr(printed[0], flags[i].name));
    ASSERT(strstr(printed[0], "--layout NAME"));
    ASSERT_EQ(0, run_line("--list-keys", NULL));
    for (size_t i = 0; i < count; i++) ASSERT(strstr(printed[0], keys[i].name));
    ASSERT(printed_env_keys());
    ASSERT_EQ(0, run_line("--list-keys=markdown", NULL));
    for (size_t i = 0; i < count; i++) ASSERT(strstr(printed[0], keys[i].name));
    ASSERT(printed_env_keys());
    PASS();
}

TEST devices_are_listed_and_checked(void) {
    ASSERT_EQ(0, run_line("--list-devices", NULL));
    ASSERT_STR_EQ("listed\n", printed[0]);
    ASSERT_EQ(0, run_line("--check-device", NULL));
    ASSERT_STR_EQ("checked auto\n", printed[0]);
    ASSERT_EQ(0, run_line("--check-device --device cpu", NULL));
    ASSERT_STR_EQ("checked cpu\n", printed[0]);
    ASSERT_EQ(FGSF_CLI_BAD, run_line("--device bad --check-device", NULL));
    ASSERT_STR_EQ("four_rooms: device 'bad'\n", printed[1]);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(defaults);
    RUN_TEST(every_flag_is_read);
    RUN_TEST(seeds_are_a_count_or_a_list);
    RUN_TEST(bad_input_is_one_line_that_names_it);
    RUN_TEST(contradictions_are_named_with_the_method);
    RUN_TEST(later_steps_win);
    RUN_TEST(a_printed_configuration_reproduces_the_run);
    RUN_TEST(help_and_keys_cover_everything);
    RUN_TEST(devices_are_listed_and_checked);
    GREATEST_MAIN_END();
}
