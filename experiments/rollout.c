// Prints what an environment does under given or random actions, as CSV.
//
// Numbers have 17 significant digits, so that anyone can check them against another implementation. No
// network, no training, no horizon.
//
//     rollout --env four_rooms --task 0 --seed 1 --random --steps 100
//     rollout --env point_maze --set env.layout=large --task 2 --seed 1 --actions a.txt --state s.txt
//
// Columns: t,action,s0..,reward,terminal,phi0.. where s is the encoded state after the step.
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/config.h"
#include "fgsf/env.h"
#include "fgsf/rng.h"
#include "flags.h"
#include "say.h"

#define USAGE_ERROR 2
#define MAX_SETTINGS 256
#define MAX_STATE 1024

typedef struct options {
    const char *env, *preset, *actions, *state;
    const char *settings[MAX_SETTINGS];
    int num_settings;
    bool random;
    long task, seed, steps; // steps -1: not given
} options;

typedef struct run {
    fgsf_env *env;
    const fgsf_env_spec *spec;
    fgsf_rng env_rng, action_rng;
    int *actions; // NULL: random
    long steps;
    double *state; // (state_size)
} run;

static bool complain(const char *format, const char *what) {
    char line[600];
    snprintf(line, sizeof line, format, what);
    fgsf_say("rollout: %s", line);
    return false;
}

static bool check(fgsf_status status) {
    return status == FGSF_OK || complain("%s", fgsf_last_error());
}

static bool parse_integer(const char *text, long min, long *out) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || value < min) return false;
    *out = value;
    return true;
}

// ---- Arguments ---------------------------------------------------------------------------------

static bool add_setting(fgsf_flags *flags, const char *value) {
    options *o = flags->ctx;
    if (o->num_settings == MAX_SETTINGS) return fgsf_flags_bad(flags, value, "is one too many");
    o->settings[o->num_settings++] = value;
    return true;
}

static int read_flags(int argc, char **argv, options *o) {
    const fgsf_flag table[] = {
        {"--env", "NAME", "the environment", .text = &o->env},
        {"--preset", "NAME", "clean (default), compat or paper", .text = &o->preset},
        {"--set", "KEY=VALUE", "set one configuration key; may be repeated", .read = add_setting},
        {"--task", "K", "tasks of training from 0 on, held-out tasks after them (default 0)",
         .number = &o->task, .max = INT32_MAX},
        {"--seed", "N", "of resets, slips and random actions (default 0)", .number = &o->seed,
         .max = LONG_MAX},
        {"--actions", "FILE", "one integer per line", .text = &o->actions},
        {"--random", NULL, "uniform actions", .on = &o->random},
        {"--steps", "T", "how many (default: as many as FILE has actions)", .number = &o->steps,
         .max = LONG_MAX},
        {"--state", "FILE",
         "start from this raw state; four_rooms: row col and one 0 or 1 per object,\n"
         "                         point_maze: x y vx vy gx gy, reacher: q1 q2 w1 w2",
         .text = &o->state},
    };
    fgsf_flags flags = {.program = "rollout",
                        .usage = "--env NAME (--actions FILE | --random --steps T) [FLAGS]",
                        .about = "Prints what an environment does, as CSV.",
                        .table = table,
                        .count = sizeof table / sizeof *table,
                        .ctx = o};
    return fgsf_flags_read(&flags, argc, argv);
}

static bool complete(const options *o) {
    if (!o->env) return complain("%s", "--env is missing (see --help)");
    if (o->random == (o->actions != NULL)) {
        return complain("%s", "give either --actions FILE or --random");
    }
    if (o->random && o->steps < 0) return complain("%s", "--random needs --steps T");
    return true;
}

// Settings with an option of their own, which decides other values as well.
static bool has_option(const char *key, const char *setting) {
    const char *const table[][2] = {
        {"env.name", "--env"}, {"preset", "--preset"}, {"seed", "--seed"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(key, table[i][0]) != 0) continue;
        fgsf_say("rollout: --set %s: use %s", setting, table[i][1]);
        return true;
    }
    return false;
}

static bool make_config(const options *o, fgsf_config *cfg) {
    if (!check(fgsf_config_resolve(o->env, o->preset, "sfrql", cfg))) return false;
    for (int i = 0; i < o->num_settings; i++) {
        const char *equals = strchr(o->settings[i], '=');
        char key[128];
        size_t length = equals ? (size_t)(equals - o->settings[i]) : 0;
        if (length == 0 || length >= sizeof key) {
            return complain("--set %s: it must be key=value", o->settings[i]);
        }
        memcpy(key, o->settings[i], length);
        key[length] = '\0';
        if (has_option(key, o->settings[i])) return false;
        if (!check(fgsf_config_set(cfg, key, equals + 1, "--set"))) return false;
    }
    return true;
}

// ---- Files -------------------------------------------------------------------------------------

static bool append_action(run *r, long action, long *capacity) {
    if (r->steps == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 1024;
        int *grown = realloc(r->actions, (size_t)*capacity * sizeof *grown);
        if (!grown) return complain("%s", "out of memory");
        r->actions = grown;
    }
    r->actions[r->steps++] = (int)action;
    return true;
}

// Takes the end of a line off. Returns false for a line that does not fit, or with a zero byte.
static bool trim_line(char *line, FILE *file) {
    size_t length = strlen(line);
    bool ended = length > 0 && line[length - 1] == '\n';
    if (ended) line[--length] = '\0';
    if (length > 0 && line[length - 1] == '\r') line[length - 1] = '\0';
    return ended || feof(file);
}

// Reads every action before the first step, so that a bad file prints no half of a table.
static bool read_actions(const char *path, run *r) {
    FILE *file = fopen(path, "r");
    if (!file) {
        fgsf_say("rollout: --actions: cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    char line[64];
    long capacity = 0, number = 0;
    bool good = true;
    while (good && fgets(line, sizeof line, file)) {
        number++;
        bool whole = trim_line(line, file);
        if (whole && line[0] == '\0') continue;
        long action;
        if (!whole || !parse_integer(line, 0, &action) || action >= r->spec->num_actions) {
            fgsf_say("rollout: %s:%ld: action '%s' is not in [0, %d)", path, number, line,
                     r->spec->num_actions);
            good = false;
        }
        good = good && append_action(r, action, &capacity);
    }
    if (good && ferror(file)) good = complain("--actions: cannot read '%s'", path);
    fclose(file);
    return good;
}

// Numbers separated by white space or commas.
static bool read_state(const char *path, run *r) {
    FILE *file = fopen(path, "r");
    if (!file) {
        fgsf_say("rollout: --state: cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    double values[MAX_STATE];
    char number[64];
    int count = 0;
    bool good = true;
    while (good && fscanf(file, " %63[^, \t\r\n]", number) == 1) {
        char *end;
        good = count < MAX_STATE && strlen(number) < sizeof number - 1;
        if (good) values[count++] = strtod(number, &end);
        good = good && *end == '\0';
        if (fscanf(file, " %*1[,]") == EOF) break;
    }
    good = good && feof(file);
    fclose(file);
    if (!good) return complain("--state: '%s' is not a list of numbers", path);
    return check(fgsf_env_set_state(r->env, values, count));
}

// ---- The table ---------------------------------------------------------------------------------

static void print_header(const fgsf_env_spec *spec) {
    printf("t,action");
    for (int i = 0; i < spec->state_size; i++) printf(",s%d", i);
    printf(",reward,terminal");
    for (int i = 0; i < spec->num_features; i++) printf(",phi%d", i);
    printf("\n");
}

static void print_row(const run *r, long t, int action, const fgsf_step_result *step) {
    printf("%ld,%d", t, action);
    for (int i = 0; i < r->spec->state_size; i++) printf(",%.17g", r->state[i]);
    printf(",%.17g,%d", step->reward, step->terminal);
    for (int i = 0; i < r->spec->num_features; i++) printf(",%.17g", step->phi[i]);
    printf("\n");
}

static bool print_table(run *r) {
    print_header(r->spec);
    for (long t = 0; t < r->steps; t++) {
        int action = r->actions
                         ? r->actions[t]
                         : (int)fgsf_rng_below(&r->action_rng, (uint64_t)r->spec->num_actions);
        fgsf_step_result step;
        if (!check(fgsf_env_step(r->env, action, &r->env_rng, &step))) return false;
        fgsf_env_observe_f64(r->env, r->state);
        print_row(r, t, action, &step);
        if (step.terminal && !check(fgsf_env_reset(r->env, &r->env_rng))) return false;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) return complain("%s", "cannot write the table");
    return true;
}

static bool prepare(const options *o, run *r) {
    static fgsf_config cfg; // several kilobytes
    if (!make_config(o, &cfg) || !check(fgsf_env_create(&cfg, &r->env))) return false;
    r->spec = fgsf_env_get_spec(r->env);
    r->env_rng = fgsf_rng_make((uint64_t)o->seed, FGSF_STREAM_ENV);
    r->action_rng = fgsf_rng_make((uint64_t)o->seed, FGSF_STREAM_EXPLORE);
    r->state = calloc((size_t)r->spec->state_size, sizeof *r->state);
    if (!r->state) return complain("%s", "out of memory");
    if (!check(fgsf_env_set_task(r->env, (int)o->task))) return false;
    if (!check(fgsf_env_reset(r->env, &r->env_rng))) return false;
    if (o->actions && !read_actions(o->actions, r)) return false;
    if (o->actions && o->steps > r->steps) {
        return complain("--steps: more steps than '%s' has actions", o->actions);
    }
    if (o->steps >= 0) r->steps = o->steps;
    return !o->state || read_state(o->state, r);
}

int main(int argc, char **argv) {
    options o = {.preset = "clean", .steps = -1};
    int code = read_flags(argc, argv, &o);
    if (code != FGSF_FLAGS_RUN) return code;
    if (!complete(&o)) return USAGE_ERROR;
    run r = {0};
    bool good = prepare(&o, &r) && print_table(&r);
    fgsf_env_free(r.env);
    free(r.actions);
    free(r.state);
    return good ? 0 : USAGE_ERROR;
}
