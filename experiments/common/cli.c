// The drivers' command line: one table of flags, then what depends on several of them.
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fgsf/env.h"

#include "devices.h"
#include "keys.h"
#include "say.h"

#define MAX_OUT 120 // characters of a default OUT; longer ones end with a number in their place

int fgsf_cli_fail(const fgsf_cli *cli) {
    fgsf_say("%s: %s", cli->spec->program, fgsf_last_error());
    return FGSF_CLI_BAD;
}

// Returns the value of digits only, or -1.
static int64_t whole_number(const char *text, size_t length) {
    if (length == 0 || length > 16 || strspn(text, "0123456789") < length) return -1;
    return strtoll(text, NULL, 10);
}

// ---- Values of flags -----------------------------------------------------------------------------

static bool add_method(fgsf_flags *f, const char *name, const char *all) {
    fgsf_cli *cli = f->ctx;
    fgsf_config cfg;
    if (fgsf_config_resolve(NULL, "clean", name, &cfg) != FGSF_OK) {
        return fgsf_flags_bad(f, all, fgsf_last_error());
    }
    for (int i = 0; i < cli->num_methods; i++) {
        if (strcmp(cli->methods[i], name) == 0)
            return fgsf_flags_bad(f, all, "names a method twice");
    }
    if (cli->num_methods == FGSF_CLI_MAX_METHODS) return fgsf_flags_bad(f, all, "is too long");
    cli->methods[cli->num_methods++] = name;
    return true;
}

static bool read_methods(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    char *rest = cli->method_text;
    if (strlen(value) >= sizeof cli->method_text) return fgsf_flags_bad(f, value, "is too long");
    snprintf(cli->method_text, sizeof cli->method_text, "%s", value);
    cli->num_methods = 0;
    for (char *name; (name = strsep(&rest, ","));) {
        if (*name == '\0') return fgsf_flags_bad(f, value, "has an empty name");
        if (!add_method(f, name, value)) return false;
    }
    return true;
}

// Adds the seeds first..last.
static bool add_seeds(fgsf_flags *f, int64_t first, int64_t last, const char *all) {
    fgsf_cli *cli = f->ctx;
    if (first < 0 || last < first) {
        return fgsf_flags_bad(f, all, "is not a number of seeds, a range 0-4 or a list 3,7,");
    }
    if (last > FGSF_SEED_MAX) return fgsf_flags_bad(f, all, "has a seed above 9007199254740991");
    for (int64_t seed = first; seed <= last; seed++) {
        for (int i = 0; i < cli->num_seeds; i++) {
            if (cli->seeds[i] == seed) return fgsf_flags_bad(f, all, "names a seed twice");
        }
        if (cli->num_seeds == FGSF_CLI_MAX_SEEDS) {
            return fgsf_flags_bad(f, all, "has more than 4096 seeds");
        }
        cli->seeds[cli->num_seeds++] = seed;
    }
    return true;
}

// A single number is the number of seeds. With a comma or a dash it is a list of seeds and ranges.
static bool read_seeds(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    cli->num_seeds = 0;
    int64_t count = whole_number(value, strlen(value));
    if (count == 0) return fgsf_flags_bad(f, value, "is not in 1..4096");
    if (count > 0) return add_seeds(f, 0, count - 1, value);
    for (const char *item = value; *item;) {
        size_t length = strcspn(item, ","), digits = strcspn(item, ",-");
        int64_t first = whole_number(item, digits), last = first;
        if (digits < length) last = whole_number(item + digits + 1, length - digits - 1);
        if (!add_seeds(f, first, last, value)) return false;
        item += length + (item[length] == ',');
    }
    return cli->num_seeds > 0 || add_seeds(f, -1, 0, value);
}

// Checks the form key=value of --set and --grid. The key itself is looked up later.
static bool is_setting(const fgsf_flags *f, const char *value) {
    // These decide which settings apply. Set later, they would only change the label.
    static const char *const elsewhere[][2] = {{"method=", "use --methods"},
                                               {"preset=", "use --preset"},
                                               {"seed=", "use --seeds"},
                                               {"env.name=", "the driver decides it"}};
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) return fgsf_flags_bad(f, value, "is not key=value");
    for (int i = 0; i < 4; i++) {
        if (strncmp(value, elsewhere[i][0], strlen(elsewhere[i][0])) == 0) {
            return fgsf_flags_bad(f, value, elsewhere[i][1]);
        }
    }
    return true;
}

static bool read_set(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    if (!is_setting(f, value)) return false;
    if (cli->num_sets == FGSF_CLI_MAX_SETS) return fgsf_flags_bad(f, value, "is one too many");
    cli->sets[cli->num_sets++] = value;
    return true;
}

static bool add_grid(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    if (!is_setting(f, value)) return false;
    if (cli->num_grids == FGSF_CLI_MAX_GRIDS) return fgsf_flags_bad(f, value, "is one too many");
    cli->grids[cli->num_grids++] = value;
    return true;
}

static bool read_out(fgsf_flags *f, const char *value) {
    ((fgsf_cli *)f->ctx)->out = value;
    return *value || fgsf_flags_bad(f, value, "is empty");
}

static bool read_part(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    size_t slash = strcspn(value, "/");
    int64_t k = whole_number(value, slash), n = -1;
    if (value[slash]) n = whole_number(value + slash + 1, strlen(value + slash + 1));
    if (k < 1 || n < 1 || k > n || n > 1000000) {
        return fgsf_flags_bad(f, value, "is not K/N with 1 <= K <= N");
    }
    cli->part = (int)k - 1;
    cli->parts = (int)n;
    return true;
}

static bool read_device(fgsf_flags *f, const char *value) {
    static const char *const plain[] = {"auto", "cpu", "blas"};
    fgsf_cli *cli = f->ctx;
    if (*value == '\0' || strlen(value) >= FGSF_TEXT_SIZE) {
        return fgsf_flags_bad(f, value, "is no device");
    }
    for (int i = 0; i < 3; i++) { // one name for one thing
        if (strcasecmp(value, plain[i]) == 0) value = plain[i];
    }
    snprintf(cli->device_text, sizeof cli->device_text, "device.name=%s", value);
    return read_set(f, cli->device_text); // --device is a --set
}

static bool read_threads(fgsf_flags *f, const char *value) {
    fgsf_cli *cli = f->ctx;
    snprintf(cli->threads_text, sizeof cli->threads_text, "device.threads=%.20s", value);
    return read_set(f, cli->threads_text); // so is --threads
}

// ---- Flags that print and end --------------------------------------------------------------------

static bool list_keys(fgsf_flags *f, const char *value) {
    if (*value && strcmp(value, "markdown") != 0)
        return fgsf_flags_bad(f, value, "is not markdown");
    f->stop = true;
    if (!*value) {
        fgsf_keys_print(stdout);
    } else if (!fgsf_keys_markdown(stdout)) {
        f->code = fgsf_cli_fail(f->ctx);
    }
    return true;
}

static bool list_devices(fgsf_flags *f, const char *value) {
    (void)value;
    fgsf_devices_print(stdout);
    return f->stop = true;
}

static int check_device(const fgsf_cli *cli) {
    const char *name = *cli->device_text ? strchr(cli->device_text, '=') + 1 : "auto";
    return fgsf_devices_check(stdout, name) == FGSF_OK ? 0 : fgsf_cli_fail(cli);
}

static int read_flags(fgsf_cli *cli, int argc, char **argv) {
    const fgsf_cli_spec *spec = cli->spec;
    const fgsf_flag table[] = {
        {"--methods", "A,B", "which to run: dqn, sfrql, fg-dqn, fg-sfrql, ... (docs/config.md)",
         .read = read_methods},
        {"--seeds", "N|0-4|A,B,", "the first N seeds, a range, or a list (only seed 7: 7,)",
         .read = read_seeds},
        {"--preset", "NAME", "clean (default), compat or paper", .text = &cli->preset},
        {"--scale", "NAME", "paper (default), or smoke: a quick try, too short to learn",
         .text = &cli->scale},
        {"--set", "KEY=VALUE", "set one configuration key; may be repeated", .read = read_set},
        {"--grid", "KEY=A,B,C", "run every value (lists: 64x64); several --grid: every combination",
         .read = add_grid},
        {"--cells", "A,B", "only these cells of the study; --cells list prints them",
         .text = &cli->cells},
        {"--config", "FILE",
         "take settings from a JSON file or from a run.json; --set overrides them",
         .text = &cli->config},
        {"--out", "DIR", "where runs go (default: runs/, named after driver, preset and changes)",
         .read = read_out},
        {"--resume", NULL, "finish what is missing or unfinished in DIR", .on = &cli->resume},
        {"--overwrite", "[=NAME]",
         "first delete these methods' and cells' runs in DIR; confirm with its name",
         .text = &cli->overwrite},
        {"--jobs", "N", "processes at once (default: cores / --threads)", .number = &cli->jobs,
         .min = 1, .max = 1024},
        {"--cell", "K/N", "run part K of N, for job arrays that share one DIR", .read = read_part},
        {"--threads", "N", "threads of each run (default: 1)", .read = read_threads},
        {"--device", "NAME", "auto (default), cpu, blas or a ggml device", .read = read_device},
        {"--list-devices", NULL, "print the devices and end", .read = list_devices},
        {"--check-device", NULL, "compare loss and gradient on the device with the CPU and end",
         .on = &cli->check_device},
        {"--print-config", NULL, "print the resolved configuration as JSON and end",
         .on = &cli->print_config},
        {"--list-keys", "[=markdown]", "print every configuration key and end", .read = list_keys},
        {"--quiet", NULL, "show failures only", .on = &cli->quiet},
        {"--env", "NAME", "the environment",
         .text = &cli->env}, // last: only where the driver has none
    };
    int count = (int)(sizeof table / sizeof *table) - (spec->env != NULL);
    fgsf_flags flags = {spec->program, "[FLAGS]", spec->summary, table, count, .ctx = cli};
    return fgsf_flags_read(&flags, argc, argv);
}

// ---- What follows from all flags -----------------------------------------------------------------

static bool contradicts(const fgsf_cli *cli, const char *what) {
    fgsf_say("%s: --config '%.200s': %s", cli->spec->program, cli->config, what);
    return false;
}

// A file that names method, preset or seed (as run.json does) chooses them, unless a flag says
// something else, which is then an error.
static bool follow_config(fgsf_cli *cli) {
    fgsf_config cfg;
    if (fgsf_config_resolve(cli->env, "clean", "dqn", &cfg) != FGSF_OK) {
        return fgsf_cli_fail(cli), false;
    }
    cfg.method = (enum fgsf_method) - 1; // to be seen whether the file sets them
    cfg.preset = (enum fgsf_preset) - 1;
    cfg.seed = -1;
    if (fgsf_config_load(&cfg, cli->config) != FGSF_OK) return fgsf_cli_fail(cli), false;
    if (cfg.env.name[0] && strcmp(cfg.env.name, cli->env) != 0) {
        return contradicts(cli, "it is a run of another environment");
    }
    char name[64];
    if ((int)cfg.method >= 0) {
        fgsf_config_get(&cfg, "method", name, sizeof name);
        if (cli->num_methods && (cli->num_methods != 1 || strcmp(cli->methods[0], name) != 0)) {
            return contradicts(cli, "its method contradicts --methods");
        }
        snprintf(cli->method_text, sizeof cli->method_text, "%s", name);
        cli->methods[0] = cli->method_text;
        cli->num_methods = 1;
    }
    if ((int)cfg.preset >= 0) {
        fgsf_config_get(&cfg, "preset", name, sizeof name);
        if (cli->preset && strcmp(cli->preset, name) != 0) {
            return contradicts(cli, "its preset contradicts --preset");
        }
        snprintf(cli->preset_text, sizeof cli->preset_text, "%.31s", name);
        cli->preset = cli->preset_text;
    }
    if (cfg.seed >= 0 && cli->num_seeds == 0) {
        cli->seeds[0] = cfg.seed;
        cli->num_seeds = 1;
    }
    return true;
}

static bool find_env(const fgsf_cli *cli) {
    char list[512] = "";
    if (cli->env && fgsf_env_def_find(cli->env)) return true;
    for (int i = 0; fgsf_env_def_at(i); i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s %s", i ? "," : "", fgsf_env_def_at(i)->name);
    }
    fgsf_say("%s: --env '%.80s': there are%s; --plugin FILE.so brings others", cli->spec->program,
             cli->env ? cli->env : "", list);
    return false;
}

static bool known_choice(const fgsf_cli *cli, const char *flag, const char *value,
                         const char *choices) {
    size_t n = strlen(value);
    for (const char *at = choices; n && (at = strstr(at, value)); at += n) {
        if ((at == choices || at[-1] == '|') && (at[n] == '|' || !at[n])) return true;
    }
    fgsf_say("%s: %s '%.80s': is not one of %s", cli->spec->program, flag, value, choices);
    return false;
}

// Appends -key=value to the name of OUT. If the name gets too long, a hash stands for it.
static void name_change(fgsf_cli *cli, const char *mark, const char *text, size_t length) {
    size_t used = strlen(cli->out_text);
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    if (used + length > MAX_OUT) {
        snprintf(cli->out_text + used, sizeof cli->out_text - used, "-%08x", hash);
        return;
    }
    snprintf(cli->out_text + used, sizeof cli->out_text - used, "%s%.*s", mark, (int)length, text);
    for (char *c = cli->out_text + used + strlen(mark); *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z');
        if (!plain && !strchr("_-.,=", *c)) *c = '_';
    }
}

// Names the default OUT after preset, scale, environment and what --set and --grid change, so that
// runs which must not be compared do not share a folder.
static void name_out(fgsf_cli *cli) {
    bool named = !cli->spec->env;
    cli->out_is_default = !cli->out;
    if (cli->out) return;
    snprintf(cli->out_text, sizeof cli->out_text, "runs/%s%s%.60s-%s%s", cli->spec->program,
             named ? "-" : "", named ? cli->env : "", cli->preset, cli->smoke ? "-smoke" : "");
    for (int i = 0; i < cli->num_sets; i++) {
        if (!fgsf_config_counts(cli->sets[i])) continue;
        name_change(cli, "-", cli->sets[i], strlen(cli->sets[i]));
    }
    for (int i = 0; i < cli->num_grids; i++) {
        name_change(cli, "-by-", cli->grids[i], strcspn(cli->grids[i], "="));
    }
    cli->out = cli->out_text;
}

static bool settle(fgsf_cli *cli) {
    const fgsf_cli_spec *spec = cli->spec;
    if (!find_env(cli) || (cli->config && !follow_config(cli))) return false;
    if (!cli->preset) cli->preset = "clean";
    bool chosen = cli->num_methods > 0;
    for (int i = 0; !chosen && spec->methods[i]; i++) {
        cli->methods[cli->num_methods++] = spec->methods[i];
    }
    if (cli->num_seeds == 0) cli->num_seeds = 1; // seed 0
    if (!known_choice(cli, "--preset", cli->preset, "clean|compat|paper")) return false;
    if (!known_choice(cli, "--scale", cli->scale, "paper|smoke")) return false;
    if (spec->preset && strcmp(cli->preset, spec->preset) != 0) {
        fgsf_say("%s: --preset '%s': the cells of this study need the preset %s", spec->program,
                 cli->preset, spec->preset);
        return false;
    }
    cli->smoke = strcmp(cli->scale, "smoke") == 0;
    name_out(cli);
    if (cli->num_grids == 0 && spec->grid) cli->grids[cli->num_grids++] = spec->grid;
    return true;
}

int fgsf_cli_parse(const fgsf_cli_spec *spec, int argc, char **argv, fgsf_cli *cli) {
    memset(cli, 0, sizeof *cli);
    *cli = (fgsf_cli){.spec = spec, .env = spec->env, .scale = "paper", .cells = "", .parts = 1};
    fgsf_devices_exact();
    int code = read_flags(cli, argc, argv);
    if (code == FGSF_CLI_RUN && cli->check_device) return check_device(cli);
    if (code == FGSF_CLI_RUN && !settle(cli)) return FGSF_CLI_BAD;
    return code;
}

// ---- Configurations ------------------------------------------------------------------------------

// What --scale smoke means everywhere: fewer and shorter tasks, fewer episodes.
static const fgsf_setting smoke[] = {
    {NULL, "env.num_tasks", "2"},     {NULL, "train.steps_per_task", "1000"},
    {NULL, "train.log_every", "100"}, {NULL, "train.checkpoint_every", "500"},
    {NULL, "eval.episodes", "5"},
};

static fgsf_status apply(fgsf_config *cfg, const fgsf_setting *settings, int count,
                         const char *preset, const char *source) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        if (settings[i].preset && strcmp(settings[i].preset, preset) != 0) continue;
        status = fgsf_config_set(cfg, settings[i].key, settings[i].value, source);
    }
    return status;
}

static fgsf_status apply_sets(const fgsf_cli *cli, fgsf_config *cfg) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < cli->num_sets && status == FGSF_OK; i++) {
        char key[64];
        const char *equals = strchr(cli->sets[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - cli->sets[i]), cli->sets[i]);
        status = fgsf_config_set(cfg, key, equals + 1, "--set");
    }
    return status;
}

bool fgsf_cli_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                     int num_cell, fgsf_config *out) {
    const fgsf_cli_spec *spec = cli->spec;
    fgsf_config cfg;
    fgsf_status status = fgsf_config_resolve(cli->env, cli->preset, method, &cfg);
    if (status == FGSF_OK && cli->smoke) {
        status = apply(&cfg, smoke, sizeof smoke / sizeof *smoke, cli->preset, "--scale smoke");
    }
    if (status == FGSF_OK && cli->smoke) {
        status = apply(&cfg, spec->smoke, spec->num_smoke, cli->preset, "--scale smoke");
    }
    if (status == FGSF_OK) status = apply(&cfg, cell, num_cell, cli->preset, "the study's cell");
    if (status == FGSF_OK && cli->config) status = fgsf_config_load(&cfg, cli->config);
    if (status == FGSF_OK) status = apply_sets(cli, &cfg);
    if (status == FGSF_OK) status = fgsf_config_validate(&cfg);
    if (status != FGSF_OK) {
        fgsf_say("%s: %s: %s", spec->program, method, fgsf_last_error());
        return false;
    }
    cfg.seed = cli->seeds[0];
    *out = cfg;
    return true;
}

int fgsf_cli_print_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                          int num_cell) {
    fgsf_config cfg;
    if (!fgsf_cli_config(cli, method, cell, num_cell, &cfg)) return FGSF_CLI_BAD;
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
