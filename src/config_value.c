// One key's value: from text or JSON into the struct, and back. Everything is checked against the
// key table here.
#include "config_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "require.h"

#define MAX_NAME 48 // longer than any key; what is longer is cut in messages

// Where a key's value is: in the configuration, or in the environment's own parameters.
static const void *at_const(const fgsf_config *cfg, const fgsf_key *key) {
    bool common = key >= fgsf_key_table && key < fgsf_key_table + fgsf_key_count;
    const void *base = common ? (const void *)cfg : (const void *)cfg->env_params.bytes;
    return (const char *)base + key->offset;
}

static void *at(fgsf_config *cfg, const fgsf_key *key) {
    return (void *)at_const(cfg, key);
}

// An INT_LIST: how many, then the numbers.
typedef struct int_list {
    int n, v[FGSF_MAX_HIDDEN];
} int_list;

// Reports that `value` does not fit a key; `why` completes the sentence.
static fgsf_status refuse(const fgsf_key *key, const char *value, const char *why,
                          const char *source) {
    return fgsf_fail(FGSF_ERR_INVALID, "%s%s%s: '%.80s' %s", source ? source : "",
                     source ? ": " : "", key->name, value, why);
}

// ---- Keys by name --------------------------------------------------------------------------------

const fgsf_key *fgsf_key_find(const fgsf_config *cfg, const char *name) {
    const fgsf_key *key = NULL;
    for (size_t i = 0; name && (key = fgsf_config_key_at(cfg, i)); i++) {
        if (strcmp(key->name, name) == 0) break;
    }
    return key;
}

// Names that keys had in earlier versions.
static const char *const renamed[][2] = {
    {"sf.grad_mix", "gradient.kind=semi, full, or mix with gradient.eta"},
    {"sf.target_mode", "target.mode"},
    {"sf.target_period", "target.period"},
    {"dqn.target_period", "target.period"},
    {"sf.polyak", "target.polyak"},
    {"dqn.double", "target.double"},
    {"sf.loss_scale", "loss.scale"},
    {"sf.gpi_scope", "gpi.scope"},
    {"sf.representation", "representation"},
};

const char *fgsf_key_renamed(const char *name) {
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        if (strcmp(renamed[i][0], name) == 0) return renamed[i][1];
    }
    return NULL;
}

// Looks for a key's other name as it is, then without its group.
static const char *find_synonym(const char *name) {
    const char *dot = strchr(name, '.');
    for (size_t i = 0; i < fgsf_synonym_count; i++) {
        if (strcmp(fgsf_synonym_table[i][0], name) == 0) return fgsf_synonym_table[i][1];
    }
    return dot ? find_synonym(dot + 1) : NULL;
}

// Levenshtein distance of two short texts, each cut to MAX_NAME characters.
static int edit_distance(const char *a, const char *b) {
    int row[MAX_NAME + 1];
    int na = (int)strnlen(a, MAX_NAME), nb = (int)strnlen(b, MAX_NAME);
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int best = diagonal < row[j - 1] ? diagonal + 1 : row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[nb];
}

// How far a mistyped name is from a key. A key cut short ("train.batch") or without its group
// ("grad_mix") is nearer than its missing letters say.
static int name_distance(const char *name, const char *key) {
    const char *dot = strchr(key, '.');
    size_t n = strlen(name);
    if (n >= 3 && strncmp(name, key, n) == 0) return 1;
    int whole = edit_distance(name, key);
    int tail = dot ? edit_distance(name, dot + 1) + 1 : whole;
    return whole < tail ? whole : tail;
}

// Writes "'sf.lr' (of DQN 'dqn.lr')" for keys that both kinds of agent have.
static void quote_key(const fgsf_config *cfg, const char *name, char *text, size_t size) {
    char twin[MAX_NAME] = "";
    if (strncmp(name, "sf.", 3) == 0) snprintf(twin, sizeof twin, "dqn.%s", name + 3);
    bool both = *twin && fgsf_key_find(cfg, twin);
    snprintf(text, size, both ? "'%s' (of DQN '%s')" : "'%s'", name, twin);
}

fgsf_status fgsf_key_unknown(const fgsf_config *cfg, const char *name, const char *source) {
    char where[256] = "", quoted[2 * MAX_NAME + 16];
    const char *nearest = "";
    const fgsf_key *key;
    int best = 2 * MAX_NAME;
    if (source) snprintf(where, sizeof where, "%.240s: ", source);
    const char *now = fgsf_key_renamed(name);
    if (now) return fgsf_fail(FGSF_ERR_INVALID, "%skey '%s' is now %s", where, name, now);
    const char *meant = find_synonym(name);
    if (meant) {
        quote_key(cfg, meant, quoted, sizeof quoted);
        return fgsf_fail(FGSF_ERR_INVALID, "%sunknown key '%.80s'; here it is called %s", where,
                         name, quoted);
    }
    for (size_t i = 0; (key = fgsf_config_key_at(cfg, i)); i++) {
        int distance = name_distance(name, key->name);
        if (distance < best) {
            best = distance;
            nearest = key->name;
        }
    }
    int half = (int)strnlen(name, MAX_NAME) / 2;
    if (best > (half > 2 ? half : 2)) { // nothing in common but some letters
        return fgsf_fail(FGSF_ERR_INVALID, "%sunknown key '%.80s'; docs/config.md lists all", where,
                         name);
    }
    quote_key(cfg, nearest, quoted, sizeof quoted);
    return fgsf_fail(FGSF_ERR_INVALID, "%sunknown key '%.80s'; the nearest is %s", where, name,
                     quoted);
}

// ---- Setting -------------------------------------------------------------------------------------

// Checks a number against the key's type and range.
static fgsf_status check_number(const fgsf_key *key, double value, const char *source) {
    bool whole = key->type == FGSF_KEY_REAL || value == floor(value);
    if (whole && value >= key->min && value <= key->max) return FGSF_OK;
    char text[40], why[96];
    fgsf_number_print(value, text, sizeof text);
    if (!whole) return refuse(key, text, "is not an integer", source);
    fgsf_number_format(why, sizeof why, "is not in [%.16g, %.16g]", key->min, key->max);
    return refuse(key, text, why, source);
}

// Returns the position of `value` in "a|b|c", or -1.
static int find_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    for (int i = 0; n > 0; i++) {
        size_t length = strcspn(choices, "|");
        if (length == n && memcmp(choices, value, n) == 0) return i;
        if (choices[length] == '\0') break;
        choices += length + 1;
    }
    return -1;
}

static size_t print_choice(const char *choices, int64_t index, bool json, char *buffer,
                           size_t size) {
    for (; index > 0 && strchr(choices, '|'); index--) choices = strchr(choices, '|') + 1;
    const char *quote = json ? "\"" : "";
    return (size_t)snprintf(buffer, size, "%s%.*s%s", quote, (int)strcspn(choices, "|"), choices,
                            quote);
}

static fgsf_status set_choice(fgsf_config *cfg, const fgsf_key *key, const char *value,
                              const char *source) {
    int index = find_choice(key->choices, value);
    if (index < 0) {
        char why[160];
        snprintf(why, sizeof why, "is not one of %s", key->choices);
        return refuse(key, value, why, source);
    }
    *(int *)at(cfg, key) = index; // enums are ints here
    return FGSF_OK;
}

size_t fgsf_key_size(const fgsf_key *key) {
    switch (key->type) {
    case FGSF_KEY_INT:
        return sizeof(int64_t);
    case FGSF_KEY_REAL:
        return sizeof(double);
    case FGSF_KEY_BOOL:
        return sizeof(bool);
    case FGSF_KEY_CHOICE:
        return key->choices ? sizeof(int) : 0;
    case FGSF_KEY_INT_LIST:
        return sizeof(int_list);
    case FGSF_KEY_TEXT:
        return key->max >= 1 && key->max <= FGSF_TEXT_SIZE ? (size_t)key->max : 0;
    }
    return 0;
}

static fgsf_status set_text(fgsf_config *cfg, const fgsf_key *key, const char *value,
                            const char *source) {
    size_t size = (size_t)key->max;
    if (strlen(value) >= size) {
        char why[48];
        snprintf(why, sizeof why, "is longer than %zu bytes", size - 1);
        return refuse(key, value, why, source);
    }
    if (!fgsf_text_is_plain(value)) {
        return refuse(key, "...", "has control characters or is not UTF-8", source);
    }
    // Zeros to the end keep equal configurations equal as bytes.
    memset(at(cfg, key), 0, size);
    memcpy(at(cfg, key), value, strlen(value));
    return FGSF_OK;
}

static fgsf_status set_list_text(fgsf_config *cfg, const fgsf_key *key, const char *value,
                                 const char *source) {
    size_t n = strlen(value);
    const char *from = value;
    if (n >= 2 && value[0] == '[' && value[n - 1] == ']') {
        from++;
        n -= 2;
    }
    double numbers[FGSF_MAX_HIDDEN + 1];
    int count = 0;
    while (n > 0 && count <= FGSF_MAX_HIDDEN) {
        size_t length = strcspn(from, ",x"); // 256x256 too, where a comma separates lists
        if (length > n) length = n;
        char item[24];
        int64_t number = 0;
        snprintf(item, sizeof item, "%.*s", (int)(length < 23 ? length : 23), from);
        if (!fgsf_number_read_int(item, &number) ||
            length + 1 == n) { // the latter: a trailing comma
            return refuse(key, value, "is not a list of integers such as 256,256", source);
        }
        numbers[count++] = (double)number;
        if (length == n) break;
        from += length + 1;
        n -= length + 1;
    }
    return fgsf_key_set_list(cfg, key, numbers, count, source);
}

fgsf_status fgsf_key_set_list(fgsf_config *cfg, const fgsf_key *key, const double *values, int n,
                              const char *source) {
    if (n > FGSF_MAX_HIDDEN) return refuse(key, "the list", "has more than 8 numbers", source);
    int_list list;
    memset(&list, 0, sizeof list);
    list.n = n;
    for (int i = 0; i < n; i++) {
        if (check_number(key, values[i], source) != FGSF_OK) return FGSF_ERR_INVALID;
        list.v[i] = (int)values[i];
    }
    memcpy(at(cfg, key), &list, sizeof list);
    return FGSF_OK;
}

fgsf_status fgsf_key_set_number(fgsf_config *cfg, const fgsf_key *key, double value,
                                const char *source) {
    if (check_number(key, value, source) != FGSF_OK) return FGSF_ERR_INVALID;
    if (key->type == FGSF_KEY_INT) *(int64_t *)at(cfg, key) = (int64_t)value;
    if (key->type == FGSF_KEY_REAL) *(double *)at(cfg, key) = value + 0.0;
    return FGSF_OK;
}

fgsf_status fgsf_key_set_text(fgsf_config *cfg, const fgsf_key *key, const char *value,
                              const char *source) {
    double real = 0;
    int64_t integer = 0;
    switch (key->type) {
    case FGSF_KEY_INT:
        if (key->choices && strcmp(value, key->choices) == 0) value = "0";
        if (!fgsf_number_read_int(value, &integer))
            return refuse(key, value, "is not an integer", source);
        return fgsf_key_set_number(cfg, key, (double)integer, source);
    case FGSF_KEY_REAL:
        if (!fgsf_number_read(value, &real)) return refuse(key, value, "is not a number", source);
        return fgsf_key_set_number(cfg, key, real, source);
    case FGSF_KEY_BOOL:
        integer = find_choice("false|true", value);
        if (integer < 0) return refuse(key, value, "is neither true nor false", source);
        *(bool *)at(cfg, key) = integer == 1;
        return FGSF_OK;
    case FGSF_KEY_CHOICE:
        return set_choice(cfg, key, value, source);
    case FGSF_KEY_INT_LIST:
        return set_list_text(cfg, key, value, source);
    case FGSF_KEY_TEXT:
        return set_text(cfg, key, value, source);
    }
    return fgsf_fail(FGSF_ERR_INVALID, "%s: no such type of key", key->name);
}

// ---- Printing ------------------------------------------------------------------------------------

static size_t print_list(const int_list *list, bool json, char *buffer, size_t size) {
    char text[24 * FGSF_MAX_HIDDEN + 3];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", json ? "[" : "");
    for (int i = 0; i < list->n && i < FGSF_MAX_HIDDEN; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? "," : "", list->v[i]);
    }
    return (size_t)snprintf(buffer, size, "%s%s", text, json ? "]" : "");
}

static size_t print_quoted(const char *value, char *buffer, size_t size) {
    char text[2 * FGSF_TEXT_SIZE + 3];
    size_t used = 0;
    text[used++] = '"';
    for (size_t n = strnlen(value, FGSF_TEXT_SIZE - 1); n > 0; n--, value++) {
        if (*value == '"' || *value == '\\') text[used++] = '\\';
        text[used++] = *value;
    }
    text[used++] = '"';
    text[used] = '\0';
    return (size_t)snprintf(buffer, size, "%s", text);
}

size_t fgsf_key_print(const fgsf_config *cfg, const fgsf_key *key, bool json, char *buffer,
                      size_t size) {
    const void *value = at_const(cfg, key);
    switch (key->type) {
    case FGSF_KEY_INT:
        if (key->choices && *(const int64_t *)value == 0) {
            return print_choice(key->choices, 0, json, buffer, size);
        }
        return (size_t)snprintf(buffer, size, "%lld", (long long)*(const int64_t *)value);
    case FGSF_KEY_REAL:
        return fgsf_number_print(*(const double *)value, buffer, size);
    case FGSF_KEY_BOOL:
        return (size_t)snprintf(buffer, size, "%s", *(const bool *)value ? "true" : "false");
    case FGSF_KEY_CHOICE:
        return print_choice(key->choices, *(const int *)value, json, buffer, size);
    case FGSF_KEY_INT_LIST:
        return print_list(value, json, buffer, size);
    case FGSF_KEY_TEXT:
        if (json) return print_quoted(value, buffer, size);
        return (size_t)snprintf(buffer, size, "%.*s", (int)key->max - 1, (const char *)value);
    }
    return 0;
}

fgsf_status fgsf_key_check(const fgsf_config *cfg, const fgsf_key *key) {
    const void *value = at_const(cfg, key);
    fgsf_config copy = *cfg;
    if (key->type == FGSF_KEY_TEXT && !memchr(value, '\0', (size_t)key->max)) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: the text is not terminated", key->name);
    }
    if (key->type == FGSF_KEY_TEXT) return set_text(&copy, key, value, NULL);
    if (key->type == FGSF_KEY_INT) {
        return fgsf_key_set_number(&copy, key, (double)*(const int64_t *)value, NULL);
    }
    if (key->type == FGSF_KEY_REAL) {
        return fgsf_key_set_number(&copy, key, *(const double *)value, NULL);
    }
    if (key->type == FGSF_KEY_CHOICE) {
        int64_t count = 1, index = *(const int *)value;
        for (const char *c = key->choices; *c; c++) count += *c == '|';
        if (index >= 0 && index < count) return FGSF_OK;
        return fgsf_fail(FGSF_ERR_INVALID, "%s: %lld is not one of the choices %s", key->name,
                         (long long)index, key->choices);
    }
    if (key->type == FGSF_KEY_INT_LIST) {
        const int_list *list = value;
        if (list->n < 0 || list->n > FGSF_MAX_HIDDEN) {
            return fgsf_fail(FGSF_ERR_INVALID, "%s: %d numbers is not in [0, %d]", key->name,
                             list->n, FGSF_MAX_HIDDEN);
        }
        double numbers[FGSF_MAX_HIDDEN];
        for (int i = 0; i < list->n; i++) numbers[i] = (double)list->v[i];
        return fgsf_key_set_list(&copy, key, numbers, list->n, NULL);
    }
    return FGSF_OK;
}
