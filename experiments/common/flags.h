// The flags of a program: one table, from which reading, messages and --help are made.
//
//     long steps = 100;
//     bool plain = false;
//     const char *file[1] = {NULL};
//     const fgsf_flag table[] = {
//         {"--steps", "N", "how many steps (100)", .number = &steps, .max = 1000000},
//         {"--plain", NULL, "no colours", .on = &plain},
//     };
//     fgsf_flags flags = {"watch", "POLICY.gguf [FLAGS]", "Shows a policy.", table, 2, file, 1};
//     int code = fgsf_flags_read(&flags, argc, argv);
//     if (code != FGSF_FLAGS_RUN) return code;
//
// Every program also has --plugin FILE, --version, --help and -h. The last three end with code 0. Bad
// input is one line on stderr that names the flag and the value, and code 2.
#ifndef FGSF_FLAGS_H
#define FGSF_FLAGS_H

#include <stdbool.h>

#define FGSF_FLAGS_RUN (-1) // go on
#define FGSF_FLAGS_BAD 2    // exit code of bad input

typedef struct fgsf_flags fgsf_flags;

// One flag. Exactly one of text, on, number and read says where its value goes.
typedef struct fgsf_flag {
    const char *name;     // "--seeds"
    const char *argument; // what --help calls the value; NULL: a switch; in [ ]: only after '='
    const char *doc;
    const char **text;
    bool *on;
    long *number;
    long min, max;
    bool (*read)(fgsf_flags *flags, const char *value); // says what is wrong with fgsf_flags_bad
    char letter;                                        // 'o' for -o, or 0
} fgsf_flag;

struct fgsf_flags {
    const char *program;
    const char *usage; // what stands behind the program's name
    const char *about; // a sentence or a page
    const fgsf_flag *table;
    int count;
    const char **words; // arguments that are not flags
    int max_words;
    void *ctx;        // for `read`
    int num_words;    // set by fgsf_flags_read
    const char *flag; // the flag being read, as it was typed
    bool stop;        // a `read` that printed what was asked for sets it; the program then ends
    int code;         // with this exit code
};

// Reads the command line. Returns FGSF_FLAGS_RUN, or the exit code of a program that is to end now. From
// then on the calling thread is in the C locale, whatever a plugin sets.
int fgsf_flags_read(fgsf_flags *flags, int argc, char **argv);

// Says "program: --flag 'value': why" and returns false.
bool fgsf_flags_bad(const fgsf_flags *flags, const char *value, const char *why);

#endif
