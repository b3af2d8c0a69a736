// A host program that has set a locale with a decimal comma gets the same files, byte for byte, as one
// that has not. The German locale is made in the build folder, so the system is left alone.
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "run_one.h"
#include "support_assert.h"

#define GERMAN "de_DE.UTF-8"

static char directory[64];

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw) {
    (void)info, (void)flag, (void)ftw;
    return remove(path);
}

// Generates the locale where it is missing, and checks that it prints a comma. A name that was not found once
// is not looked for again by the C library, so the files are asked.
static bool have_german(void) {
    const char *folder = FGSF_BUILD_DIR "/locale";
    char text[16];
    if (access(FGSF_BUILD_DIR "/locale/" GERMAN "/LC_NUMERIC", F_OK) != 0) {
        mkdir(folder, 0777);
        if (system("localedef -i de_DE -f UTF-8 '" FGSF_BUILD_DIR "/locale/" GERMAN "'") != 0)
            return false;
    }
    if (setenv("LOCPATH", folder, 1) != 0 || !setlocale(LC_ALL, GERMAN)) return false;
    snprintf(text, sizeof text, "%g", 1.25);
    setlocale(LC_ALL, "C");
    return strcmp(text, "1,25") == 0;
}

typedef struct settings {
    const char *env;
    const char *set[4][2];
} settings;

static const settings ENVS[] = {
    {"four_rooms", {{"env.map", "test_locale.map"}, {"env.num_tasks", "2"}}},
    {"reacher", {{"env.goals", "@0.15,0.05;@-0.1,0.125"}, {"env.num_tasks", "2"}}},
    {"point_maze", {{"env.goals", "1,1;@0.5,1.25"}, {"env.num_tasks", "2"}}},
};

static fgsf_status configure(const settings *s, fgsf_config *cfg) {
    static const char *const common[][2] = {
        {"train.steps_per_task", "60"}, {"train.batch_size", "8"},
        {"train.log_every", "20"},      {"net.hidden", "8"},
        {"eval.episodes", "1"},         {"sf.lr", "1.5e-3"}};
    fgsf_status status = fgsf_config_resolve(s->env, "clean", "fg-sfrql", cfg);
    for (size_t i = 0; i < sizeof common / sizeof *common && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, common[i][0], common[i][1], "test");
    }
    for (int i = 0; i < 4 && s->set[i][0] && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, s->set[i][0], s->set[i][1], "test");
    }
    return status;
}

static fgsf_status train(const settings *s, const char *out) {
    fgsf_config cfg;
    fgsf_job_progress shown = {0};
    fgsf_run_id id = {out, s->env, "fg-sfrql", "", 0};
    fgsf_status status = configure(s, &cfg);
    if (status == FGSF_OK && fgsf_run_one(&id, &cfg, false, &shown) != 0) {
        status = fgsf_fail(FGSF_ERR_INVALID, "%s: %s", s->env, shown.message);
    }
    return status == FGSF_OK ? fgsf_run_summarize(out) : status;
}

static char *content(const char *out, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", out, name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (file && text) text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    if (file) fclose(file);
    return text;
}

// Overwrites how long a run took, after the key of run.json or in the column of summary.csv, and the
// checksum, which depends on it.
static void hide_seconds(char *text) {
    static const char *const keys[] = {"\"seconds\": ", "\"checksum\": "};
    char *at;
    for (int i = 0; i < 2; i++) {
        for (at = strstr(text, keys[i]); at && *at != '\n'; at++) *at = 's';
    }
    int comma = 0;
    for (at = text; strncmp(text, "env,", 4) == 0 && *at; at++) {
        comma = *at == '\n' ? 0 : comma + (*at == ',');
        if (comma == 16 && *at != ',') *at = 's'; // to the same letter, so only its length matters
    }
}

// Two numbers of seconds may differ in length, too.
static void squeeze(char *text) {
    char *to = text;
    for (char *from = text; *from; from++) {
        if (*from != 's' || to == text || to[-1] != 's') *to++ = *from;
    }
    *to = '\0';
}

TEST files_do_not_depend_on_the_locale(const settings *s) {
    static const char *const names[] = {"train.csv", "eval.csv", "run.json"};
    char out[2][96];
    for (int german = 0; german < 2; german++) {
        snprintf(out[german], sizeof out[german], "%s/%s-%d", directory, s->env, german);
        ASSERT(setlocale(LC_ALL, german ? GERMAN : "C"));
        fgsf_status status = train(s, out[german]);
        setlocale(LC_ALL, "C");
        ASSERT_EQ_FMTm(fgsf_last_error(), FGSF_OK, status, "%d");
    }
    for (int i = 0; i < 4; i++) {
        char name[64], *text[2];
        snprintf(name, sizeof name, i < 3 ? "%s/fg-sfrql/seed-0/%s" : "summary.csv", s->env,
                 names[i % 3]);
        for (int german = 0; german < 2; german++) {
            text[german] = content(out[german], name);
            ASSERT(text[german] && strlen(text[german]) > 100);
            hide_seconds(text[german]);
            squeeze(text[german]);
        }
        ASSERT_STR_EQm(name, text[0], text[1]);
        free(text[0]);
        free(text[1]);
    }
    PASS();
}

// What the library reads and says on its own.
TEST configurations_and_messages_have_points(void) {
    fgsf_config cfg;
    ASSERT(setlocale(LC_ALL, GERMAN));
    ASSERT_OK(fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg));
    ASSERT_OK(fgsf_config_parse(&cfg, "{\"sf\": {\"lr\": 0.0625}}", "host"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "sf.lr", "0,5", "host"));
    ASSERT_OK(fgsf_config_set(&cfg, "train.gamma", "0.875", "host"));
    fgsf_config back = cfg;
    char *json = fgsf_config_to_json(&cfg);
    ASSERT_OK(fgsf_config_parse(&back, json, "host"));
    ASSERT_MEM_EQ(&cfg, &back, sizeof cfg);
    fgsf_fail(FGSF_ERR_INVALID, "%g", 1.25);
    char after[16];
    snprintf(after, sizeof after, "%g", 1.25);
    setlocale(LC_ALL, "C");
    ASSERT_STR_EQ("1.25", fgsf_last_error());
    ASSERT_STR_EQm("the host keeps its locale", "1,25", after);
    ASSERT(json && strstr(json, "\"sf.lr\": 0.0625"));
    free(json);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    bool possible = access("/usr/share/i18n/locales/de_DE", R_OK) == 0;
    if (!have_german()) { // where Debian's package locales is, this is no excuse
        puts(possible ? "localedef cannot make " GERMAN : "skipped: no package locales");
        return possible ? 1 : 77;
    }
    snprintf(directory, sizeof directory, "test_locale.%ld", (long)getpid());
    FILE *map = fopen("test_locale.map", "w");
    if (!map || fputs("_1..G\n.....\n..1..\n\nreward 0.5 1.25\nreward -0.75 1\n", map) < 0)
        return 1;
    fclose(map);
    RUN_TEST(configurations_and_messages_have_points);
    for (size_t i = 0; i < sizeof ENVS / sizeof *ENVS; i++) {
        RUN_TEST1(files_do_not_depend_on_the_locale, &ENVS[i]);
    }
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    unlink("test_locale.map");
    GREATEST_MAIN_END();
}
