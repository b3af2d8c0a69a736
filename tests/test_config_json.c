// The configuration as JSON and as a list of changes: round trips, bad texts, files, old versions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "support_config.h"

// Writes a value for a key that differs from `current`.
static void other_value(const fgsf_key *key, const char *current, char *text, size_t size) {
    switch (key->type) {
    case FGSF_KEY_INT:
        snprintf(text, size, "%s", strcmp(current, "7") ? "7" : "8");
        break;
    case FGSF_KEY_REAL:
        snprintf(text, size, "%.17g", (key->min + 2 * key->max) / 3);
        break;
    case FGSF_KEY_BOOL:
        snprintf(text, size, "%s", current[0] == 't' ? "false" : "true");
        break;
    case FGSF_KEY_CHOICE:
        snprintf(text, size, "%s", strrchr(key->choices, '|') + 1);
        if (strcmp(text, current) == 0) {
            snprintf(text, size, "%.*s", (int)strcspn(key->choices, "|"), key->choices);
        }
        break;
    case FGSF_KEY_INT_LIST:
        snprintf(text, size, "3,5,7");
        break;
    case FGSF_KEY_TEXT:
        snprintf(text, size, "some \"text\"");
        break;
    }
}

// What is told of a configuration that differs from the usual one in one key; the text gives it back.
// Another name would change what is usual.
static enum greatest_test_res tells_change(const fgsf_config *usual, const fgsf_config *cfg,
                                           const char *key) {
    fgsf_config again = *usual;
    bool counts = fgsf_config_counts(key);
    if (strcmp(key, "preset") == 0 || strcmp(key, "method") == 0 || strcmp(key, "env.name") == 0) {
        ASSERT(!counts);
        PASS();
    }
    char text[FGSF_TEXT_SIZE + 64] = "", *changes = fgsf_config_changes(cfg);
    if (counts) snprintf(text, sizeof text, "%s=%s", key, value_of(cfg, key));
    ASSERT_STR_EQm(key, text, changes);
    free(changes);
    if (counts) ASSERT_EQ(FGSF_OK, fgsf_config_set(&again, key, strchr(text, '=') + 1, "text"));
    ASSERT_EQm(key, counts, memcmp(&again, cfg, sizeof again) == 0);
    PASS();
}

// Sets the i-th key of a configuration to another value.
static enum greatest_test_res set_alone(const fgsf_config *before, size_t i) {
    fgsf_config cfg = *before, back = cfg;
    const fgsf_key *key = fgsf_config_key_at(before, i), *other;
    char text[FGSF_TEXT_SIZE];
    other_value(key, value_of(&cfg, key->name), text, sizeof text);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_set(&cfg, key->name, text, "--set"));
    ASSERT(memcmp(&cfg, before, sizeof cfg) != 0);
    bool elsewhere = strcmp(key->name, "seed") == 0 || strncmp(key->name, "device.", 7) == 0;
    ASSERT_EQm(key->name, elsewhere, fgsf_config_hash(&cfg) == fgsf_config_hash(before));
    char *json = fgsf_config_to_json(&cfg);
    ASSERT(json);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_parse(&back, json, "json"));
    free(json);
    ASSERT_EQ(0, memcmp(&cfg, &back, sizeof cfg));
    // No other key moved.
    for (size_t k = 0; (other = fgsf_config_key_at(&cfg, k)); k++) {
        if (k == i) continue;
        char mine[FGSF_TEXT_SIZE];
        snprintf(mine, sizeof mine, "%s", value_of(&cfg, other->name));
        ASSERT_STR_EQ(value_of(before, other->name), mine);
    }
    ASSERT(key->doc && strlen(key->doc) > 5);
    CHECK_CALL(tells_change(before, &cfg, key->name));
    PASS();
}

// What version 0.1 wrote: other names, and keys of every environment.
TEST the_run_json_of_an_old_run_is_read(void) {
    static const struct {
        const char *method, *keys, *mode, *period, *kind, *eta, *is_double, *representation;
    } runs[] = {
        {"sfrql", "0, \"dqn.target_period\": 7", "hard", "500", "semi", "1", "true", "psi"},
        {"fg-sfrql", "0.25, \"dqn.target_period\": 7", "hard", "500", "mix", "0.25", "true", "psi"},
        {"dqn", "1, \"dqn.target_period\": 7", "hard", "7", "full", "1", "false", "q"},
        {"dqn", "1, \"dqn.target_period\": 0", "hard", "500", "full", "1", "false", "q"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char json[600];
        const struct {
            const char *key, *value;
        } wanted[] = {{"target.mode", runs[i].mode},
                      {"target.period", runs[i].period},
                      {"gradient.kind", runs[i].kind},
                      {"gradient.eta", runs[i].eta},
                      {"target.double", runs[i].is_double},
                      {"representation", runs[i].representation},
                      {"loss.scale", "sum"},
                      {"gpi.scope", "all"}};
        fgsf_config cfg = made("clean", runs[i].method);
        snprintf(
            json, sizeof json,
            "{\"schema\": \"fgsf.run/1\", \"fgsf_version\": \"0.1.0\", \"files\": {}, "
            "\"config\": {\"method\": \"%s\", \"env.reacher_lag\": "
            "true, \"sf.representation\": \"psi\", \"sf.target_mode\": \"hard\", "
            "\"sf.target_period\": 500, \"sf.loss_scale\": \"sum\", \"sf.gpi_scope\": \"all\", "
            "\"dqn.double\": false, \"sf.grad_mix\": %s}}",
            runs[i].method, runs[i].keys);
        ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_parse(&cfg, json, "run.json"));
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            char is[64];
            fgsf_config_get(&cfg, wanted[k].key, is, sizeof is);
            ASSERT_STR_EQm(wanted[k].key, wanted[k].value, is);
        }
        ASSERT_EQ(FGSF_ERR_INVALID,
                  fgsf_config_parse(&cfg, "{\"schema\": \"fgsf.run/1\", \"config\": {\"sf.x\": 1}}",
                                    "run.json"));
    }
    PASS();
}

TEST each_key_can_be_set_alone_and_round_trips(void) {
    size_t common = 0;
    fgsf_config_keys(&common);
    for (int e = -1; e < 0 || fgsf_env_def_at(e); e++) {
        const fgsf_env_def *def = fgsf_env_def_at(e);
        fgsf_config cfg = made_for(def ? def->name : NULL, "clean", "fg-sfrql");
        size_t count = 0;
        for (; fgsf_config_key_at(&cfg, count); count++) CHECK_CALL(set_alone(&cfg, count));
        ASSERT_EQ(common + (def ? (size_t)def->num_keys : 0), count);
    }
    PASS();
}

TEST changes_are_listed(void) {
    fgsf_config cfg = made("compat", "sfrql");
    char *changes = fgsf_config_changes(&cfg);
    ASSERT_STR_EQ("", changes);
    free(changes);
    static const char *const set[][2] = {{"sf.lr", "3e-4"},
                                         {"env.slip", "0.1"},
                                         {"train.log_every", "7"},
                                         {"diag.psi_error", "true"}};
    for (int i = 0; i < 4; i++) fgsf_config_set(&cfg, set[i][0], set[i][1], NULL);
    changes = fgsf_config_changes(&cfg);
    ASSERT_STR_EQ("env.slip=0.1, sf.lr=0.0003", changes);
    free(changes);
    ASSERT(fgsf_config_counts("sf.lr=1") && fgsf_config_counts("env.layout"));
    ASSERT(!fgsf_config_counts("diag.x=1") && !fgsf_config_counts("seed=1"));
    ASSERT(!fgsf_config_counts("") && !fgsf_config_counts(NULL) && !fgsf_config_changes(NULL));
    snprintf(cfg.env.name, sizeof cfg.env.name, "nowhere");
    ASSERT(!fgsf_config_changes(&cfg) && strstr(fgsf_last_error(), "nowhere"));
    PASS();
}

TEST reals_round_trip_bit_for_bit(void) {
    static const double values[] = {
        0.1, 1.0 / 3, 1e-300 * 1e-10, 0.1 + 0.2, 5e-324, 2e-17, 999.9999999999999, 1e3, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fgsf_config cfg = made("clean", "dqn"), back = cfg;
        cfg.learner.lr = values[i];
        char *json = fgsf_config_to_json(&cfg);
        ASSERT_EQ(FGSF_OK, fgsf_config_parse(&back, json, "json"));
        free(json);
        ASSERT_EQ(0, memcmp(&cfg, &back, sizeof cfg));
        ASSERT_EQ(FGSF_OK, fgsf_config_set(&back, "sf.lr", value_of(&cfg, "sf.lr"), NULL));
        ASSERT_EQ(0, memcmp(&cfg, &back, sizeof cfg));
    }
    PASS();
}

TEST bad_json_is_refused_whole(void) {
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "my.json"},
        {"[]", "expected an object"},
        {"1", "expected an object"},
        {"{\"seed\": 1", "line 1"},
        {"{\n\"seed\": 1,\n}", "line 3"},
        {"{\"seed\": 1} x", "not valid JSON"},
        {"{\"seed\": 1, \"sf.lr\": \"1\"}", "sf.lr: expected a number"},
        {"{\"seed\": 1, \"sf.lr\": null}", "sf.lr: expected a number"},
        {"{\"seed\": 1, \"sf.lr\": {\"x\": 1}}", "sf.lr: expected a number"},
        {"{\"seed\": 1, \"sf.lr\": -1}", "sf.lr"},
        {"{\"seed\": 1, \"sf.lr\": 1e999}", "sf.lr"},
        {"{\"seed\": 1.5}", "seed"},
        {"{\"seed\": 1, \"net.bias\": 1}", "net.bias: expected true or false"},
        {"{\"seed\": 1, \"net.bias\": \"true\"}", "net.bias: expected true or false"},
        {"{\"seed\": 1, \"gpi.tie\": 0}", "gpi.tie: expected a text"},
        {"{\"seed\": 1, \"net.hidden\": 256}", "net.hidden: expected a list"},
        {"{\"seed\": 1, \"net.hidden\": [1,\"2\"]}", "net.hidden: expected a list"},
        {"{\"seed\": 1, \"net.hidden\": [1,2,3,4,5,6,7,8,9]}", "more than 8"},
        {"{\"seed\": 1, \"net.hidden\": [1.5]}", "integer"},
        {"{\"seed\": 1, \"sf\": 2}", "unknown key 'sf'"},
        {"{\"seed\": 1, \"sf\": {}}", "unknown key 'sf'"},
        {"{\"seed\": 1, \"sf\": {\"l\": 2}}", "unknown key 'sf.l'"},
        {"{\"seed\": 1, \"seed\": 2}", "seed is given twice"},
        {"{\"sf.lr\": 1, \"sf\": {\"lr\": 1}}", "sf.lr is given twice"},
        {"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}", "nested too deep"},
        {"{\"seed\\u0000x\": 1}", "not valid JSON"},
        {"{\"env.map\": \"a\\nb\"}", "env.map"},
        {"{\"env.map\": \"\\ud800\"}", "my.json"},
    };
    fgsf_config cfg = made_for("four_rooms", "clean", "fg-sfrql"), before = cfg;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERTm(bad[i].text, fgsf_config_parse(&cfg, bad[i].text, "my.json") != FGSF_OK);
        ASSERT(says("my.json"));
        ASSERT(says(bad[i].message));
        ASSERT_EQ(0, memcmp(&cfg, &before, sizeof cfg));
    }
    PASS();
}

TEST extreme_json_is_refused(void) {
    fgsf_config cfg = made("clean", "fg-sfrql");
    size_t n = 3 << 20;
    char *text = malloc(n + 1);
    memset(text, ' ', n);
    text[n] = '\0';
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_config_parse(&cfg, text, "huge"));
    ASSERT(says("too large"));
    memset(text, '[', 100000);
    text[100000] = '\0';
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_config_parse(&cfg, text, "deep"));
    free(text);
    PASS();
}

TEST files_that_cannot_be_read_are_named(void) {
    fgsf_config cfg = made("clean", "fg-sfrql");
    char path[64];
    snprintf(path, sizeof path, "test_config.%ld.json", (long)getpid());
    ASSERT_EQ(FGSF_ERR_IO, fgsf_config_load(&cfg, path));
    ASSERT(says(path));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_config_load(&cfg, "/"));
    ASSERT(says("regular file"));
    FILE *file = fopen(path, "wb");
    fwrite("{\"seed\":3}\0", 1, 11, file);
    fclose(file);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_config_load(&cfg, path));
    ASSERT(says("zero byte"));
    file = fopen(path, "wb");
    fputs("{\"seed\":3}", file);
    fclose(file);
    ASSERT_EQ(FGSF_OK, fgsf_config_load(&cfg, path));
    ASSERT_EQ(3, cfg.seed);
    file = fopen(path, "wb");
    for (int i = 0; i < 300000; i++) fputs("     ", file);
    fclose(file);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_config_load(&cfg, path));
    unlink(path);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(the_run_json_of_an_old_run_is_read);
    RUN_TEST(each_key_can_be_set_alone_and_round_trips);
    RUN_TEST(changes_are_listed);
    RUN_TEST(reals_round_trip_bit_for_bit);
    RUN_TEST(bad_json_is_refused_whole);
    RUN_TEST(extreme_json_is_refused);
    RUN_TEST(files_that_cannot_be_read_are_named);
    GREATEST_MAIN_END();
}