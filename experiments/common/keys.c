// Prints the key table. What presets and methods set is found by resolving all of them and looking
// at what differs from the default, so this file knows no key by name.
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#include "fgsf/env.h"

#define METHODS 9
#define PRESETS 3
#define EXAMPLE "`--set sf.lr=3e-4`"

static const char *const method_names[METHODS] = {"dqn",
                                                  "fg-dqn",
                                                  "sfrql",
                                                  "fg-sfrql",
                                                  "fg-sfrql-random",
                                                  "fg-sfrql-average",
                                                  "fg-sfrql-seq-average",
                                                  "corrected-dqn",
                                                  "corrected-sfrql"};
static const char *const preset_names[PRESETS] = {"clean", "compat", "paper"};

// Writes what a key may hold, with choices separated by `bar`.
static void allowed(const fgsf_key *key, const char *bar, char *text, size_t size) {
    size_t used = 0;
    switch (key->type) {
    case FGSF_KEY_INT:
        snprintf(text, size, "integer %.16g to %.16g%s%s", key->min, key->max,
                 key->choices ? ", or " : "", key->choices ? key->choices : "");
        break;
    case FGSF_KEY_REAL:
        snprintf(text, size, "number %.9g to %.9g", key->min, key->max);
        break;
    case FGSF_KEY_BOOL:
        snprintf(text, size, "true%sfalse", bar);
        break;
    case FGSF_KEY_INT_LIST:
        snprintf(text, size, "up to %d integers %g to %g", FGSF_MAX_HIDDEN, key->min, key->max);
        break;
    case FGSF_KEY_TEXT:
        snprintf(text, size, "text");
        break;
    case FGSF_KEY_CHOICE:
        text[0] = '\0';
        for (const char *c = key->choices; *c && used < size; c++) {
            const char one[2] = {*c, '\0'};
            used += (size_t)snprintf(text + used, size - used, "%s", *c == '|' ? bar : one);
        }
    }
}

static void print_keys(FILE *out, const fgsf_key *keys, size_t count, const char *of) {
    for (size_t i = 0; i < count; i++) {
        char what[256];
        allowed(&keys[i], "|", what, sizeof what);
        fprintf(out, "%s = %s\n    %s%s%s\n    %s\n", keys[i].name,
                *keys[i].fallback ? keys[i].fallback : "(empty)", of, *of ? ": " : "", keys[i].doc,
                what);
    }
}

void fgsf_keys_print(FILE *out) {
    size_t count = 0;
    const fgsf_key *keys = fgsf_config_keys(&count);
    print_keys(out, keys, count, "");
    for (int e = 0; fgsf_env_def_at(e); e++) {
        const fgsf_env_def *def = fgsf_env_def_at(e);
        print_keys(out, def->keys, (size_t)def->num_keys, def->name);
    }
}

static bool same_group(const char *a, const char *b) {
    size_t n = strcspn(a, "."), m = strcspn(b, ".");
    bool top_a = a[n] == '\0', top_b = b[m] == '\0';
    return top_a || top_b ? top_a == top_b : n == m && strncmp(a, b, n) == 0;
}

static void write_rows(FILE *out, const fgsf_key *keys, size_t count) {
    fprintf(out, "\n| key | default | values | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        char what[256];
        allowed(&keys[i], " \\| ", what, sizeof what);
        fprintf(out, "| `%s` | %s | %s | %s |\n", keys[i].name, keys[i].fallback, what,
                keys[i].doc);
    }
}

static void write_keys(FILE *out, const fgsf_key *keys, size_t count) {
    for (size_t i = 0, end; i < count; i = end) {
        size_t n = strcspn(keys[i].name, ".");
        bool top = keys[i].name[n] == '\0';
        for (end = i + 1; end < count && same_group(keys[i].name, keys[end].name);) end++;
        fprintf(out, "\n### %.*s\n", top ? 3 : (int)n, top ? "run" : keys[i].name);
        write_rows(out, keys + i, end - i);
    }
}

// Prints one key's values per method; rows of presets with equal values are one row.
static void write_values(FILE *out, const char *key, char value[PRESETS][METHODS][64]) {
    bool printed[PRESETS] = {false};
    for (int p = 0; p < PRESETS; p++) {
        if (printed[p]) continue;
        fprintf(out, "| `%s` | %s", key, preset_names[p]);
        for (int q = p + 1; q < PRESETS; q++) {
            if (memcmp(value[p], value[q], sizeof value[p]) != 0) continue;
            printed[q] = true;
            fprintf(out, ", %s", preset_names[q]);
        }
        for (int m = 0; m < METHODS; m++) fprintf(out, " | %s", value[p][m]);
        fprintf(out, " |\n");
    }
}

// Prints the keys whose value depends on preset or method.
static bool write_presets(FILE *out, const fgsf_key *keys, size_t count) {
    static fgsf_config cfg[PRESETS][METHODS];
    for (int p = 0; p < PRESETS; p++) {
        for (int m = 0; m < METHODS; m++) {
            if (fgsf_config_resolve(NULL, preset_names[p], method_names[m], &cfg[p][m]) !=
                FGSF_OK) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        char value[PRESETS][METHODS][64];
        bool differs = false;
        memset(value, 0, sizeof value);
        for (int p = 0; p < PRESETS; p++) {
            for (int m = 0; m < METHODS; m++) {
                fgsf_config_get(&cfg[p][m], keys[i].name, value[p][m], sizeof value[p][m]);
                differs = differs || strcmp(value[p][m], value[0][0]) != 0;
            }
        }
        bool label = strcmp(keys[i].name, "method") == 0 || strcmp(keys[i].name, "preset") == 0;
        if (differs && !label) write_values(out, keys[i].name, value);
    }
    return true;
}

static void write_environments(FILE *out) {
    for (int e = 0; fgsf_env_def_at(e); e++) {
        const fgsf_env_def *def = fgsf_env_def_at(e);
        fprintf(out, "\n### %s\n\n%s\n", def->name, def->summary);
        write_rows(out, def->keys, (size_t)def->num_keys);
        fprintf(out, "\n| key | value | preset |\n|---|---|---|\n");
        for (int i = 0; i < def->num_settings; i++) {
            const fgsf_setting *s = &def->settings[i];
            fprintf(out, "| `%s` | %s | %s |\n", s->key, s->value, s->preset ? s->preset : "all");
        }
    }
}

bool fgsf_keys_markdown(FILE *out) {
    size_t count = 0;
    const fgsf_key *keys = fgsf_config_keys(&count);
    fprintf(out,
            "# Configuration keys\n\n"
            "This file is printed by any driver with `--list-keys=markdown`; a test compares the "
            "two.\n\n"
            "Later steps win: defaults < environment < preset < method < `--config` < `--set`. A "
            "key is set on its own with " EXAMPLE ", or in a JSON file, flat "
            "(`\"sf.lr\": 0.001`) or nested (`{\"sf\": {\"lr\": 0.001}}`). `--print-config` prints "
            "the result as JSON that `--config` reads back. Unknown keys, wrong types, values out "
            "of range and combinations that contradict each other are errors.\n\n"
            "## Keys\n");
    write_keys(out, keys, count);
    fprintf(out, "\n## What presets and methods set\n\nKeys whose value depends on either; all "
                 "others keep the default or the environment's value.\n\n| key | preset");
    for (int m = 0; m < METHODS; m++) fprintf(out, " | %s", method_names[m]);
    fprintf(out, " |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    if (!write_presets(out, keys, count)) return false;
    fprintf(out, "\n## Environments: their own keys, and what they set\n");
    write_environments(out);
    return true;
}
