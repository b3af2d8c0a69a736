// Command lines: one table of flags, from which parsing and --help are made.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "devices.h"
#include "jobs.h"
#include "keys.h"
#include "plugins.h"
#include "say.h"

// What a parse carries beside the result.
typedef struct parse {
    fgsf_cli *cli;
    const char *flag; // as typed, for messages
    bool preset_given, seeds_given, check_device, stop;
    int code; // exit code when stop is set
} parse;

typedef struct flag {
    const char *name, *argument, *doc;
    bool (*read)(parse *p, const char *value);
} flag;

static bool bad(const parse *p, const char *value, const char *why) {
    fgsf_say("%s: %s '%.200s': %s", p->cli->spec->program, p->flag, value, why);
    return false;
}

int fgsf_cli_fail(const fgsf_cli *cli) {
    fgsf_say("%s: %s", cli->spec->program, fgsf_last_error());
    return FGSF_CLI_BAD;
}

// Returns the value of digits only, or -1.
static int64_t whole_number(const char *text) {
    size_t n = strlen(text);
    if (n == 0 || n > 15 || strspn(text, "0123456789") != n) return -1;
    return strtoll(text, NULL, 10);
}

// ---- Values of flags -----------------------------------------------------------------------------

static const char *choice_of(const char *key, const char *value) {
    fgsf_config cfg;
    if (fgsf_config_resolve(NULL, "clean", "dqn", &cfg) != FGSF_OK) return fgsf_last_error();
    return fgsf_config_set(&cfg, key, value, NULL) == FGSF_OK ? NULL : fgsf_last_error();
}

static bool read_preset(parse *p, const char *value) {
    if (choice_of("preset", value)) return bad(p, value, "is not one of clean|compat|paper");
    p->cli->preset = value;
    p->preset_given = true;
    return true;
}

static bool read_scale(parse *p, const char *value) {
    p->cli->smoke = strcmp(value, "smoke") == 0;
    return p->cli->smoke || strcmp(value, "paper") == 0 ||
           bad(p, value, "is not one of paper|smoke");
}

static bool add_method(parse *p, const char *name, const char *all) {
    fgsf_cli *cli = p->cli;
    const char *why = choice_of("method", name);
    if (why) return bad(p, all, why);
    for (int i = 0; i < cli->num_methods; i++) {
        if (strcmp(cli->methods[i], name) == 0) return bad(p, all, "names a method twice");
    }
    if (cli->num_methods == FGSF_CLI_MAX_METHODS) return bad(p, all, "has too many methods");
    cli->methods[cli->num_methods++] = name;
    return true;
}

static bool read_methods(parse *p, const char *value) {
    fgsf_cli *cli = p->cli;
    char *rest = cli->method_text;
    if (strlen(value) >= sizeof cli->method_text) return bad(p, value, "is too long");
    snprintf(cli->method_text, sizeof cli->method_text, "%s", value);
    cli->num_methods = 0;
    for (char *name; (name = strsep(&rest, ","));) {
        if (*name == '\0') return bad(p, value, "has an empty name");
        if (!add_method(p, name, value)) return false;
    }
    return true;
}

static bool add_seed(parse *p, int64_t seed, const char *all) {
    fgsf_cli *cli = p->cli;
    if (seed < 0) return bad(p, all, "is neither a number of seeds nor a list such as 3,7,");
    for (int i = 0; i < cli->num_seeds; i++) {
        if (cli->seeds[i] == seed) return bad(p, all, "names a seed twice");
    }
    if (cli->num_seeds == FGSF_CLI_MAX_SEEDS) return bad(p, all, "has more than 4096 seeds");
    cli->seeds[cli->num_seeds++] = seed;
    return true;
}

static bool read_seeds(parse *p, const char *value) {
    int64_t count = whole_number(value);
    p->cli->num_seeds = 0;
    p->seeds_given = true;
    if (count == 0 || count > FGSF_CLI_MAX_SEEDS) return bad(p, value, "is not in 1..4096");
    for (int64_t i = 0; i < count; i++) p->cli->seeds[p->cli->num_seeds++] = i;
    if (count > 0) return true;
    char *copy = strdup(value), *rest = copy;
    bool good = copy || bad(p, value, "out of memory");
    for (char *item; good && (item = strsep(&rest, ","));) {
        if (*item == '\0' && !rest && p->cli->num_seeds > 0) break; // the trailing comma
        good = add_seed(p, whole_number(item), value);
    }
    free(copy);
    return good;
}

static bool read_set(parse *p, const char *value) {
    // These decide what is resolved; set afterwards they would only change the label.
    static const char *const elsewhere[][2] = {{"method=", "use --methods"},
                                               {"preset=", "use --preset"},
                                               {"seed=", "use --seeds"},
                                               {"env.name=", "the driver decides it"}};
    fgsf_config scratch;
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) return bad(p, value, "is not key=value");
    for (int i = 0; i < 4; i++) {
        if (strncmp(value, elsewhere[i][0], strlen(elsewhere[i][0])) == 0) {
            return bad(p, value, elsewhere[i][1]);
        }
    }
    if (p->cli->num_sets == FGSF_CLI_MAX_SETS) return bad(p, value, "is one --set too many");
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)(equals - value), value);
    if (fgsf_config_resolve(p->cli->spec->env, "clean", "dqn", &scratch) != FGSF_OK ||
        fgsf_config_set(&scratch, key, equals + 1, "--set") != FGSF_OK) {
        fgsf_cli_fail(p->cli);
        return false;
    }
    p->cli->sets[p->cli->num_sets++] = value;
    return true;
}

static bool read_config(parse *p, const char *value) {
    if (p->cli->config) return bad(p, value, "is given twice");
    p->cli->config = value;
    return true;
}

static bool read_out(parse *p, const char *value) {
    if (*value == '\0') return bad(p, value, "is empty");
    p->cli->out = value;
    return true;
}

static bool read_jobs(parse *p, const char *value) {
    int64_t n = whole_number(value);
    if (n < 1 || n > 1024) return bad(p, value, "is not in 1..1024");
    p->cli->jobs = (int)n;
    return true;
}

static bool read_cell(parse *p, const char *value) {
    char first[16];
    const char *slash = strchr(value, '/');
    if (!slash || slash - value > 9) return bad(p, value, "is not K/N");
    snprintf(first, sizeof first, "%.*s", (int)(slash - value), value);
    int64_t k = whole_number(first), n = whole_number(slash + 1);
    if (k < 1 || n < 1 || k > n || n > 1000000) return bad(p, value, "is not K/N with 1 <= K <= N");
    p->cli->part = (int)k - 1;
    p->cli->parts = (int)n;
    return true;
}

static bool read_device(parse *p, const char *value) {
    static const char *const plain[] = {"auto", "cpu", "blas"};
    char *text = p->cli->device_text; // --device is a --set
    if (*value == '\0' || strlen(value) >= FGSF_TEXT_SIZE) return bad(p, value, "is no device");
    snprintf(text, sizeof p->cli->device_text, "device.name=%s", value);
    for (int i = 0; i < 3; i++) { // one name for one thing: the run directory compares it
        if (strcasecmp(value, plain[i]) == 0) {
            snprintf(text, sizeof p->cli->device_text, "device.name=%s", plain[i]);
        }
    }
    return read_set(p, text);
}

static bool read_switch(parse *p, const char *value) {
    static const struct {
        const char *name;
        size_t offset;
    } switches[] = {{"--resume", offsetof(fgsf_cli, resume)},
                    {"--quiet", offsetof(fgsf_cli, quiet)},
                    {"--print-config", offsetof(fgsf_cli, print_config)}};
    (void)value;
    for (int i = 0; i < 3; i++) {
        if (strcmp(p->flag, switches[i].name) == 0) {
            *(bool *)((char *)p->cli + switches[i].offset) = true;
        }
    }
    return true;
}

static bool end_with(parse *p, int code) {
    p->stop = true;
    p->code = code;
    return true;
}

// ---- Flags that print and end --------------------------------------------------------------------

static bool list_keys(parse *p, const char *value) {
    if (*value && strcmp(value, "markdown") != 0) return bad(p, value, "is not markdown");
    if (!*value) {
        fgsf_keys_print(stdout);
    } else if (!fgsf_keys_markdown(stdout)) {
        return end_with(p, fgsf_cli_fail(p->cli));
    }
    return end_with(p, 0);
}

static bool list_devices(parse *p, const char *value) {
    (void)value;
    fgsf_devices_print(stdout);
    return end_with(p, 0);
}

static bool want_device_check(parse *p, const char *value) {
    (void)value;
    p->check_device = true; // after the whole line is read: --device may still come
    return true;
}

static int check_device(const parse *p) {
    const char *text = p->cli->device_text, *name = *text ? strchr(text, '=') + 1 : "auto";
    return fgsf_devices_check(stdout, name) == FGSF_OK ? 0 : fgsf_cli_fail(p->cli);
}

static bool help(parse *p, const char *value);

static const flag flags[] = {
    {"--preset", "NAME", "clean (default), compat or paper", read_preset},
    {"--scale", "NAME", "paper (default) or smoke, a quick look at everything", read_scale},
    {"--methods", "A,B", "methods to run", read_methods},
    {"--seeds", "N|A,B,", "seeds 0..N-1, or a list; a trailing comma makes one seed a list",
     read_seeds},
    {"--set", "KEY=VALUE", "set one configuration key; may be repeated", read_set},
    {"--config", "FILE", "set the keys of a JSON file, before --set", read_config},
    {"--out", "DIR", "where run directories go (default runs/DRIVER-PRESET)", read_out},
    {"--jobs", "N", "processes at once (default: one per core)", read_jobs},
    {"--resume", NULL, "finish what is missing or unfinished in DIR", read_switch},
    {"--cell", "K/N", "run the K-th of N parts, for job arrays sharing one DIR", read_cell},
    {"--device", "NAME", "auto (default), cpu, blas or a ggml device", read_device},
    {"--list-devices", NULL, "print the devices and end", list_devices},
    {"--check-device", NULL, "compare loss and gradient on the device with the CPU and end",
     want_device_check},
    {"--print-config", NULL, "print the resolved configuration as JSON and end", read_switch},
    {"--list-keys", "", "print every configuration key and end (=markdown: as docs/config.md)",
     list_keys},
    {"--quiet", NULL, "show failures only", read_switch},
    {"--help", NULL, "print this and end", help},
};
#define NUM_FLAGS (int)(sizeof flags / sizeof *flags)

static void help_line(const char *name, const char *argument, const char *doc) {
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", name, argument && *argument ? " " : "",
             argument ? argument : "");
    printf("  %-22s %s\n", left, doc);
}

static bool help(parse *p, const char *value) {
    const fgsf_cli_spec *spec = p->cli->spec;
    (void)value;
    printf("usage: %s [FLAGS]\n\n%s\n\n", spec->program, spec->summary);
    for (int i = 0; i < spec->num_flags; i++) {
        help_line(spec->flags[i].name, spec->flags[i].argument, spec->flags[i].doc);
    }
    for (int i = 0; i < NUM_FLAGS; i++) help_line(flags[i].name, flags[i].argument, flags[i].doc);
    if (spec->methods) printf("\nmethods:");
    for (int i = 0; spec->methods && spec->methods[i]; i++) printf(" %s", spec->methods[i]);
    printf("\n");
    return end_with(p, 0);
}

// ---- Parsing -------------------------------------------------------------------------------------

// Splits "--flag=value"; `name` gets the flag, the result is the value or NULL.
static const char *split_flag(const char *text, char *name, size_t size) {
    const char *equals = strchr(text, '=');
    snprintf(name, size, "%.*s", equals ? (int)(equals - text) : (int)strlen(text), text);
    return equals ? equals + 1 : NULL;
}

// Finds the value of a flag: after '=' or as the next argument; an `argument` of "" may be absent.
static const char *find_value(const parse *p, const char *argument, const char *given, int argc,
                              char **argv, int *at) {
    if (!argument) return given ? (bad(p, given, "takes no value"), (const char *)NULL) : "1";
    if (given) return given;
    if (*argument == '\0') return "";
    if (*at + 1 < argc) return argv[++*at];
    fgsf_say("%s: %s needs a value (%s)", p->cli->spec->program, p->flag, argument);
    return NULL;
}

static bool read_argument(parse *p, int argc, char **argv, int *at) {
    char name[64];
    const fgsf_cli_spec *spec = p->cli->spec;
    const char *given = split_flag(argv[*at], name, sizeof name);
    p->flag = name;
    for (int i = 0; i < NUM_FLAGS; i++) {
        if (strcmp(flags[i].name, name) != 0) continue;
        const char *value = find_value(p, flags[i].argument, given, argc, argv, at);
        return value && flags[i].read(p, value);
    }
    for (int i = 0; i < spec->num_flags; i++) {
        if (strcmp(spec->flags[i].name, name) != 0) continue;
        const char *value = find_value(p, spec->flags[i].argument, given, argc, argv, at);
        if (value) *spec->flags[i].value = value;
        return value != NULL;
    }
    fgsf_say("%s: unknown flag '%.200s'; --help lists them", spec->program, argv[*at]);
    return false;
}

// A file that names method, preset or seed (as --print-config's does) chooses them, unless a flag
// says something else, which is then an error.
static bool follow_config(parse *p, bool methods_given) {
    fgsf_cli *cli = p->cli;
    fgsf_config cfg;
    if (fgsf_config_resolve(cli->spec->env, "clean", "dqn", &cfg) != FGSF_OK)
        return fgsf_cli_fail(cli), false;
    cfg.method = (enum fgsf_method) - 1; // to be seen whether the file sets them
    cfg.preset = (enum fgsf_preset) - 1;
    cfg.seed = -1;
    p->flag = "--config";
    if (fgsf_config_load(&cfg, cli->config) != FGSF_OK) return fgsf_cli_fail(cli), false;
    if (cfg.env.name[0] && cli->spec->env && strcmp(cfg.env.name, cli->spec->env) != 0) {
        return bad(p, cli->config, "its env.name is of another driver");
    }
    if ((int)cfg.method >= 0) {
        char name[64];
        fgsf_config_get(&cfg, "method", name, sizeof name);
        if (methods_given && (cli->num_methods != 1 || strcmp(cli->methods[0], name) != 0)) {
            return bad(p, cli->config, "its method contradicts --methods");
        }
        snprintf(cli->method_text, sizeof cli->method_text, "%s", name);
        cli->methods[0] = cli->method_text;
        cli->num_methods = 1;
    }
    if ((int)cfg.preset >= 0) {
        char name[32];
        fgsf_config_get(&cfg, "preset", name, sizeof name);
        if (p->preset_given && strcmp(cli->preset, name) != 0) {
            return bad(p, cli->config, "its preset contradicts --preset");
        }
        snprintf(cli->preset_text, sizeof cli->preset_text, "%s", name);
        cli->preset = cli->preset_text;
    }
    if (cfg.seed >= 0 && !p->seeds_given) {
        cli->seeds[0] = cfg.seed;
        cli->num_seeds = 1;
    }
    return true;
}

int fgsf_cli_parse(const fgsf_cli_spec *spec, int argc, char **argv, fgsf_cli *cli) {
    parse p = {.cli = cli};
    memset(cli, 0, sizeof *cli);
    *cli = (fgsf_cli){.spec = spec, .preset = "clean", .num_seeds = 1, .parts = 1};
    cli->jobs = fgsf_jobs_cores();
    fgsf_devices_exact();
    if (!fgsf_plugins_load(spec->program, &argc, argv)) return FGSF_CLI_BAD;
    for (int i = 1; i < argc; i++) {
        if (!read_argument(&p, argc, argv, &i)) return FGSF_CLI_BAD;
        if (p.stop) return p.code;
    }
    if (p.check_device) return check_device(&p);
    bool methods_given = cli->num_methods > 0;
    for (int i = 0; !methods_given && spec->methods && spec->methods[i]; i++) {
        cli->methods[cli->num_methods++] = spec->methods[i];
    }
    if (cli->config && !follow_config(&p, methods_given)) return FGSF_CLI_BAD;
    if (!cli->out) { // each preset and scale has an OUT of its own
        snprintf(cli->out_text, sizeof cli->out_text, "runs/%s-%s%s", spec->program, cli->preset,
                 cli->smoke ? "-smoke" : "");
        cli->out = cli->out_text;
    }
    return FGSF_CLI_RUN;
}

// ---- Configurations ------------------------------------------------------------------------------

// What --scale smoke means everywhere: fewer and shorter tasks, fewer episodes.
static const fgsf_setting smoke[] = {
    {NULL, "env.num_tasks", "2"},     {NULL, "train.steps_per_task", "1000"},
    {NULL, "train.log_every", "100"}, {NULL, "train.checkpoint_every", "500"},
    {NULL, "eval.episodes", "5"},
};

static fgsf_status apply(fgsf_config *cfg, const fgsf_setting *settings, int count,
                         const char *source) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, settings[i].key, settings[i].value, source);
    }
    return status;
}

static fgsf_status apply_sets(const fgsf_cli *cli, fgsf_config *cfg) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < cli->num_sets && status == FGSF_OK; i++) {
        char key[64];
        const char *value = split_flag(cli->sets[i], key, sizeof key);
        status = fgsf_config_set(cfg, key, value, "--set");
    }
    return status;
}

bool fgsf_cli_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                     int num_cell, fgsf_config *out) {
    const fgsf_cli_spec *spec = cli->spec;
    fgsf_config cfg;
    fgsf_status status = fgsf_config_resolve(spec->env, cli->preset, method, &cfg);
    if (status == FGSF_OK && cli->smoke) {
        status = apply(&cfg, smoke, sizeof smoke / sizeof *smoke, "--scale smoke");
    }
    if (status == FGSF_OK && cli->smoke) {
        status = apply(&cfg, spec->smoke, spec->num_smoke, "--scale smoke");
    }
    if (status == FGSF_OK) status = apply(&cfg, cell, num_cell, "the study's cell");
    if (status == FGSF_OK && cli->config) status = fgsf_config_load(&cfg, cli->config);
    if (status == FGSF_OK) status = apply_sets(cli, &cfg);
    if (status == FGSF_OK) status = fgsf_config_validate(&cfg);
    if (status != FGSF_OK) {
        fgsf_say("%s: %s: %s", spec->program, method, fgsf_last_error());
        return false;
    }
    if (cli->num_seeds > 0) cfg.seed = cli->seeds[0];
    *out = cfg;
    return true;
}

int fgsf_cli_print_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                          int num_cell) {
    fgsf_config cfg;
    if (!fgsf_cli_config(cli, method, cell, num_cell, &cfg)) {
        return FGSF_CLI_BAD;
    }
    char *json = fgsf_config_to_json(&cfg);
    if (!json) return FGSF_CLI_BAD;
    bool written = fputs(json, stdout) >= 0 && fflush(stdout) == 0;
    free(json);
    if (cli->num_methods > 1 && !cli->quiet) {
        fgsf_say("%s: this is %s; choose another method with --methods", cli->spec->program,
                 method);
    }
    return written ? 0 : FGSF_CLI_BAD;
}

bool fgsf_cli_mine(const fgsf_cli *cli, int index) {
    return index % cli->parts == cli->part;
}
