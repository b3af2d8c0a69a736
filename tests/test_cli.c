// The drivers' command line: what each flag means, and that bad input is one line that names it.
#include <unistd.h>

// The command line belongs to the drivers, not to the library that tests link.
#include "../experiments/common/cells.c"
#include "../experiments/common/changes.c"
#include "../experiments/common/cli.c"
#include "../experiments/common/flags.c"
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

static const char *const some_methods[] = {"sfrql", "fg-sfrql", NULL};
static const fgsf_cell own_cells[] = {
    {"A", "sfrql", "first", {FGSF_SET("gradient.kind", "semi")}},
    {"B", NULL, "both", {FGSF_SET("sf.lr_prior", "1e-4"), {"compat", "sf.lr", "0.5"}}},
};
static const fgsf_setting own_smoke[] = {{NULL, "train.batch_size", "16"}};
static const fgsf_cli_spec spec = {.program = "four_rooms",
                                   .summary = "A test.",
                                   .env = "four_rooms",
                                   .methods = some_methods,
                                   .smoke = own_smoke,
                                   .num_smoke = 1};
static fgsf_cli_spec used; // by the next command line

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
    code = fgsf_cli_parse(&used, argc, argv, &cli);
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
    ASSERT_EQ(0, cli.jobs); // as many as there is room for
    ASSERT(!cli.smoke && !cli.resume && !cli.quiet);
    ASSERT(fgsf_cli_mine(&cli, 0) && fgsf_cli_mine(&cli, 7));
    PASS();
}

TEST every_flag_is_read(void) {
    ASSERT_EQ(
        FGSF_CLI_RUN,
        run_line("--preset compat --scale=smoke --methods dqn,fg-sfrql-average --seeds 3 --set "
                 "sf.lr=0.5 --set=sf.lr=0.25 --out o --jobs 7 --resume --quiet --device cpu "
                 "--cell 2/3 --grid sf.lr=1,2 --cells X --overwrite=o --print-config",
                 NULL));
    ASSERT_STR_EQ("compat", cli.preset);
    ASSERT(cli.smoke && cli.resume && cli.quiet && cli.print_config);
    ASSERT_EQ(2, cli.num_methods);
    ASSERT_STR_EQ("fg-sfrql-average", cli.methods[1]);
    ASSERT_EQ(3, cli.num_seeds);
    ASSERT_EQ(2, cli.seeds[2]);
    ASSERT_STR_EQ("o", cli.out);
    ASSERT_EQ(7, cli.jobs);
    ASSERT_STR_EQ("sf.lr=1,2", cli.grids[0]);
    ASSERT_STR_EQ("X", cli.cells);
    ASSERT_STR_EQ("o", cli.overwrite);
    ASSERT(!fgsf_cli_mine(&cli, 0) && fgsf_cli_mine(&cli, 1) && fgsf_cli_mine(&cli, 4));
    ASSERT_EQ(3, cli.num_sets);
    PASS();
}

TEST seeds_are_a_count_or_a_list(void) {
    static const struct {
        const char *line;
        int n;
        int64_t first, last;
    } good[] = {{"--seeds 1", 1, 0, 0},
                {"--seeds 5", 5, 0, 4},
                {"--seeds 7,", 1, 7, 7},
                {"--seeds 3,9", 2, 3, 9},
                {"--seeds 3,1,2,", 3, 3, 2},
                {"--seeds=0,", 1, 0, 0},
                {"--seeds 4096", 4096, 0, 4095},
                {"--seeds 0-4", 5, 0, 4},
                {"--seeds 9007199254740991,", 1, FGSF_SEED_MAX, FGSF_SEED_MAX},
                {"--seeds 7-7", 1, 7, 7},
                {"--seeds 3-5,9,11-12", 6, 3, 12}};
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
        {"--method dqn", "did you mean --methods"},
        {"--seed 3", "did you mean --seeds"},
        {"--lr 3e-4", "--set KEY=VALUE"},
        {"--seeds 4-1", "4-1"},
        {"--seeds 1-2,2", "twice"},
        {"--seeds 9007199254740992,", "above"},
        {"--seeds 0-9999", "4096"},
        {"--grid sf.lr", "sf.lr"},
        {"--grid method=dqn,sfrql", "--methods"},
        {"--overwrite --env x", "--env"},
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
        {"--scale ''", "--scale ''"},
        {"--preset ''", "--preset ''"},
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
        {"--set method=dqn", "--methods"},
        {"--set seed=1", "--seeds"},
        {"--out ''", "--out"},
        {"--device ''", "--device"},
        {"--resume=1", "takes no value"},
        {"--config /nowhere/x.json", "/nowhere/x.json"},
        {"--list-keys=html", "html"},
        {"--cells", "--cells needs a value"},
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

// Settings are looked up once it is known of which environment they are.
TEST wrong_settings_are_named_with_the_method(void) {
    static const char *const bad[][2] = {{"--set sf.lrr=3", "sf.lr"},
                                         {"--set sf.lr=abc", "abc"},
                                         {"--set sf.learning_rate=1", "'sf.lr' (of DQN 'dqn.lr')"},
                                         {"--set policy.net_arch=1", "'net.hidden'"},
                                         {"--set huber=1", "docs/config.md"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQm(bad[i][0], FGSF_CLI_BAD, run_line(bad[i][0], resolve_first));
        ASSERTm(printed[1], strstr(printed[1], bad[i][1]));
    }
    PASS();
}

// Expands the last command line and lists what came of it: "method@cell method@cell ".
static char expanded[4096];
static fgsf_setting first_settings[FGSF_VARIANT_SETTINGS];

static int expand_all(void) {
    fgsf_variant *variants = NULL;
    int count = fgsf_cells_expand(&cli, &variants);
    expanded[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t n = strlen(expanded);
        snprintf(expanded + n, sizeof expanded - n, "%s@%s ", variants[i].method, variants[i].cell);
    }
    if (count > 0) memcpy(first_settings, variants[0].settings, sizeof first_settings);
    fgsf_cells_free(variants);
    return count < 0 ? FGSF_CLI_BAD : 0;
}

TEST grids_are_crossed_and_named(void) {
    ASSERT_EQ(0, run_line("--grid sf.lr=1e-4,3e-4 --grid env.slip=0,0.1", expand_all));
    ASSERT_STR_EQ("sfrql@sf.lr=1e-4+env.slip=0 sfrql@sf.lr=1e-4+env.slip=0.1 "
                  "sfrql@sf.lr=3e-4+env.slip=0 sfrql@sf.lr=3e-4+env.slip=0.1 "
                  "fg-sfrql@sf.lr=1e-4+env.slip=0 fg-sfrql@sf.lr=1e-4+env.slip=0.1 "
                  "fg-sfrql@sf.lr=3e-4+env.slip=0 fg-sfrql@sf.lr=3e-4+env.slip=0.1 ",
                  expanded);
    // A key of the other kind of agent is not varied; keys that go together have one name.
    ASSERT_EQ(0, run_line("--methods sfrql,dqn --grid sf.lr/sf.lr_prior=1/2,3/4", expand_all));
    ASSERT_STR_EQ("sfrql@sf.lr=1 sfrql@sf.lr=3 dqn@ ", expanded);
    ASSERT_EQ(0, run_line("--methods dqn,sfrql --grid sf.lr/dqn.lr=1/2,3/4", expand_all));
    ASSERT_STR_EQ("dqn@dqn.lr=2 dqn@dqn.lr=4 sfrql@sf.lr=1 sfrql@sf.lr=3 ", expanded);
    ASSERT_EQ(0, run_line("--methods dqn --grid net.hidden=8x8,16", expand_all));
    ASSERT_STR_EQ("dqn@net.hidden=8x8 dqn@net.hidden=16 ", expanded);
    PASS();
}

TEST cells_are_chosen_and_crossed(void) {
    used.cells = own_cells;
    used.num_cells = 2;
    ASSERT_EQ(0, run_line("", expand_all));
    ASSERT_STR_EQ("sfrql@A sfrql@B fg-sfrql@B ", expanded);
    ASSERT_EQ(0, run_line("--cells B --preset compat", expand_all));
    ASSERT_STR_EQ("sfrql@B fg-sfrql@B ", expanded);
    ASSERT_STR_EQ("sf.lr", first_settings[1].key);
    ASSERT_EQ(0, run_line("--cells B", expand_all));
    ASSERT_EQ(NULL, first_settings[1].key); // of compat alone
    ASSERT_EQ(0, run_line("--cells A,B+env.slip=0.1 --grid env.slip=0,0.1", expand_all));
    ASSERT_STR_EQ("sfrql@A+env.slip=0 sfrql@A+env.slip=0.1 sfrql@B+env.slip=0.1 "
                  "fg-sfrql@B+env.slip=0.1 ",
                  expanded);
    ASSERT_EQ(
        0, run_line("--cells A+env.slip=0.1 --grid env.slip=0,0.1 --grid sf.lr=1,2", expand_all));
    ASSERT_STR_EQ("sfrql@A+env.slip=0.1+sf.lr=1 sfrql@A+env.slip=0.1+sf.lr=2 ", expanded);
    ASSERT_EQ(FGSF_CLI_BAD, run_line("--cells A,C", expand_all));
    ASSERT(strstr(printed[1], "--cells 'C': there is no such cell"));
    used.grid = "env.slip=0,0.1";
    ASSERT_EQ(0, run_line("--cells A", expand_all));
    ASSERT_STR_EQ("sfrql@A+env.slip=0 sfrql@A+env.slip=0.1 ", expanded);
    ASSERT_EQ(0, run_line("--cells A --grid sf.lr=1", expand_all));
    ASSERT_STR_EQ("sfrql@A+sf.lr=1 ", expanded);
    used = spec;
    PASS();
}

TEST bad_grids_are_named(void) {
    static const char *const bad[][2] = {{"--grid sf.lr=", "1 to 64 values"},
                                         {"--grid sf.lr=1,,2", "1 to 64 values"},
                                         {"--grid sf.lr=1,1", "twice"},
                                         {"--grid sf.lr=1,fast", "fast"},
                                         {"--grid sf.nope=1,2", "sf.nope"},
                                         {"--grid sf.lr/sf.lr_prior=1/2,3", "of keys"},
                                         {"--grid env.layout=umaze", "env.layout"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQm(bad[i][0], FGSF_CLI_BAD, run_line(bad[i][0], expand_all));
        ASSERTm(printed[1], strstr(printed[1], bad[i][1]));
    }
    PASS();
}

TEST the_default_out_names_what_was_changed(void) {
    static const char *const lines[][2] = {
        {"--set sf.lr=3e-4", "runs/four_rooms-clean-sf.lr=3e-4"},
        {"--preset compat --scale smoke --set env.slip=0.1 --set train.log_every=5 --device cpu",
         "runs/four_rooms-compat-smoke-env.slip=0.1"},
        {"--set env.map=a/b.txt", "runs/four_rooms-clean-env.map=a_b.txt"},
        {"--grid sf.lr=1,2 --grid env.slip=0,1", "runs/four_rooms-clean-by-sf.lr-by-env.slip"},
        {"--set sf.lr=1 --out mine", "mine"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ASSERT_EQ(FGSF_CLI_RUN, run_line(lines[i][0], NULL));
        ASSERT_STR_EQ(lines[i][1], cli.out);
    }
    char line[512] = "--set env.map=", other[512];
    memset(line + strlen(line), 'x', 300);
    ASSERT_EQ(FGSF_CLI_RUN, run_line(line, NULL));
    ASSERT(strlen(cli.out) < 140);
    snprintf(other, sizeof other, "%s", cli.out);
    line[300] = 'y';
    ASSERT_EQ(FGSF_CLI_RUN, run_line(line, NULL));
    ASSERT(strcmp(other, cli.out) != 0);
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
    static char printed_config[sizeof printed[0]];
    memcpy(printed_config, printed[0], sizeof printed_config);
    fputs(printed_config, file);
    fclose(file);
    snprintf(line, sizeof line, "--config %s", path);
    ASSERT_EQm(printed[1], 0, run_line(line, resolve_first));
    ASSERT_EQ(1, cli.num_methods);
    ASSERT_STR_EQ("dqn", cli.methods[0]);
    ASSERT_EQ(0, memcmp(&first, &resolved, sizeof first));
    // The run.json of a run holds its configuration.
    file = fopen(path, "w");
    fprintf(file, "{\"schema\": \"fgsf.run/1\", \"seed\": 5, \"config\": %s}", printed_config);
    fclose(file);
    ASSERT_EQm(printed[1], 0, run_line(line, resolve_first));
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
    ASSERT(strstr(printed[0], "usage: four_rooms [FLAGS]\n\nA test.\n"));
    ASSERT(strstr(printed[0], "--grid KEY=A,B,C") && strstr(printed[0], "-h, --help"));
    char all[sizeof printed[0]];
    memcpy(all, printed[0], sizeof all);
    ASSERT_EQ(0, run_line("-h", NULL));
    ASSERT_STR_EQ(all, printed[0]);
    ASSERT_EQ(0, run_line("--version", NULL));
    ASSERT(strstr(printed[0], fgsf_version()) && strstr(printed[0], fgsf_ggml_version()));
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
    used = spec;
    RUN_TEST(defaults);
    RUN_TEST(every_flag_is_read);
    RUN_TEST(seeds_are_a_count_or_a_list);
    RUN_TEST(bad_input_is_one_line_that_names_it);
    RUN_TEST(wrong_settings_are_named_with_the_method);
    RUN_TEST(grids_are_crossed_and_named);
    RUN_TEST(cells_are_chosen_and_crossed);
    RUN_TEST(bad_grids_are_named);
    RUN_TEST(the_default_out_names_what_was_changed);
    RUN_TEST(contradictions_are_named_with_the_method);
    RUN_TEST(later_steps_win);
    RUN_TEST(a_printed_configuration_reproduces_the_run);
    RUN_TEST(help_and_keys_cover_everything);
    RUN_TEST(devices_are_listed_and_checked);
    GREATEST_MAIN_END();
}
