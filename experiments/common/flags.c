// Reads flags by their table and prints the table as help.
#include "flags.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/version.h"

#include "plugins.h"
#include "say.h"

bool fgsf_flags_bad(const fgsf_flags *flags, const char *value, const char *why) {
    fgsf_say("%s: %s '%.200s': %s", flags->program, flags->flag, value, why);
    return false;
}

static bool print_version(fgsf_flags *flags, const char *value) {
    (void)value;
    printf("%s, FGSF %s (%s, ggml %s)\n", flags->program, fgsf_version(), fgsf_commit(),
           fgsf_ggml_version());
    return flags->stop = true;
}

static void print_line(const fgsf_flag *flag) {
    char left[64];
    const char *argument = flag->argument ? flag->argument : "";
    int used = snprintf(left, sizeof left, "%s%.1s%s%s", flag->letter ? "-" : "", &flag->letter,
                        flag->letter ? ", " : "", flag->name);
    snprintf(left + used, sizeof left - (size_t)used, "%s%s",
             *argument && *argument != '[' ? " " : "", argument);
    printf("  %-22s %s\n", left, flag->doc);
}

static bool print_help(fgsf_flags *flags, const char *value);

static const fgsf_flag common[] = {
    // Plugins are loaded before the flags are read, so that flags can name what they register.
    {"--plugin", "FILE", "load environments and networks from a shared object", .read = NULL},
    {"--version", NULL, "print the version and end", .read = print_version},
    {"--help", NULL, "print this and end", .read = print_help, .letter = 'h'},
};
#define NUM_COMMON ((int)(sizeof common / sizeof *common))

static const fgsf_flag *at(const fgsf_flags *flags, int i) {
    return i < flags->count ? &flags->table[i] : &common[i - flags->count];
}

static bool print_help(fgsf_flags *flags, const char *value) {
    (void)value;
    printf("usage: %s %s\n\n%s\n\n", flags->program, flags->usage, flags->about);
    for (int i = 0; i < flags->count + NUM_COMMON; i++) print_line(at(flags, i));
    return flags->stop = true;
}

// ---- Reading -------------------------------------------------------------------------------------

static bool read_number(const fgsf_flags *flags, const fgsf_flag *flag, const char *value) {
    char *end = NULL, why[96];
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno == 0 && end != value && *end == '\0' && number >= flag->min && number <= flag->max) {
        *flag->number = number;
        return true;
    }
    snprintf(why, sizeof why, "is not a whole number in %ld..%ld", flag->min, flag->max);
    return fgsf_flags_bad(flags, value, why);
}

static bool take(fgsf_flags *flags, const fgsf_flag *flag, const char *value) {
    if (flag->read) return flag->read(flags, value);
    if (flag->number) return read_number(flags, flag, value);
    if (flag->on) *flag->on = true;
    if (flag->text) *flag->text = value;
    return true;
}

// Reports an unknown flag, with the flag that begins most alike or a hint at --set.
static bool unknown(const fgsf_flags *flags, const char *argument) {
    const char *nearest = NULL, *set = "";
    size_t best = 4; // "--" and two letters
    for (int i = 0; i < flags->count + NUM_COMMON; i++) {
        const char *name = at(flags, i)->name;
        size_t same = 0;
        while (name[same] && name[same] == argument[same]) same++;
        if (same > best || (same == best && (!nearest || strlen(name) < strlen(nearest)))) {
            best = same;
            nearest = name;
        }
        if (strcmp(name, "--set") == 0) set = "--set KEY=VALUE changes a setting, ";
    }
    if (argument[0] != '-') {
        fgsf_say("%s: '%.200s' is not expected here; see --help", flags->program, argument);
    } else if (nearest) {
        fgsf_say("%s: unknown flag '%.200s'; did you mean %s? --help lists all", flags->program,
                 argument, nearest);
    } else {
        fgsf_say("%s: unknown flag '%.200s'; %s--help lists all", flags->program, argument, set);
    }
    return false;
}

static bool is_flag(const fgsf_flag *flag, const char *argument, size_t length) {
    bool letter = length == 2 && argument[0] == '-' && argument[1] == flag->letter;
    return letter || (strlen(flag->name) == length && strncmp(flag->name, argument, length) == 0);
}

// Reads the argument at *at and its value: the text after '=', or the next argument.
static bool read_one(fgsf_flags *flags, int argc, char **argv, int *at_argument) {
    const char *argument = argv[*at_argument], *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    if (argument[0] != '-' || length == 1) { // "-" alone is a word: standard input
        if (flags->num_words == flags->max_words) return unknown(flags, argument);
        flags->words[flags->num_words++] = argument;
        return true;
    }
    for (int i = 0; i < flags->count + NUM_COMMON; i++) {
        const fgsf_flag *flag = at(flags, i);
        if (!is_flag(flag, argument, length)) continue;
        flags->flag = flag->name;
        if (!flag->argument && equals) return fgsf_flags_bad(flags, equals + 1, "takes no value");
        if (!flag->argument) return take(flags, flag, "");
        if (equals) return take(flags, flag, equals + 1);
        if (*flag->argument == '[') return take(flags, flag, "");
        if (*at_argument + 1 < argc) return take(flags, flag, argv[++*at_argument]);
        fgsf_say("%s: %s needs a value (%s)", flags->program, flag->name, flag->argument);
        return false;
    }
    return unknown(flags, argument);
}

// Arguments come back in what a driver prints and writes; a terminal must not take them for commands.
static bool are_plain(const fgsf_flags *flags, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        for (const unsigned char *c = (const unsigned char *)argv[i]; *c; c++) {
            if (*c >= 0x20 && *c != 0x7f && !(*c == 0xc2 && c[1] < 0xa0)) continue;
            fgsf_say("%s: '%s' has control characters", flags->program, argv[i]);
            return false;
        }
    }
    return true;
}

int fgsf_flags_read(fgsf_flags *flags, int argc, char **argv) {
    // A plugin may set a locale with a decimal comma, for the process. This thread, which reads and
    // writes all numbers, and the workers that it forks stay in the C locale.
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (!are_plain(flags, argc, argv)) return FGSF_FLAGS_BAD;
    if (!fgsf_plugins_load(flags->program, &argc, argv)) return FGSF_FLAGS_BAD;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && flags->max_words > 0) { // only words from here on
            while (++i < argc && flags->num_words < flags->max_words) {
                flags->words[flags->num_words++] = argv[i];
            }
            return i < argc ? (unknown(flags, argv[i]), FGSF_FLAGS_BAD) : FGSF_FLAGS_RUN;
        }
        if (!read_one(flags, argc, argv, &i)) return FGSF_FLAGS_BAD;
        if (flags->stop) return flags->code;
    }
    return FGSF_FLAGS_RUN;
}
