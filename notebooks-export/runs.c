// Finds and reads run directories, overhead tables and theory results below a folder. Only finished
// runs are read beyond run.json: the others may still be written to, and are counted instead.
#include <cjson/cJSON.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fgsf/config.h"
#include "fgsf/run.h"

#include "export.h"

#define MAX_DEPTH 8

static fgsf_status fail_field(const char *path, const char *key, const char *what) {
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: key '%s' %s", path, key, what);
}

static fgsf_status json_parse(const char *path, const char *text, size_t size, cJSON **out) {
    const char *end = text;
    cJSON *json = cJSON_ParseWithLengthOpts(text, size + 1, &end, 1);
    if (json && cJSON_IsObject(json)) {
        *out = json;
        return FGSF_OK;
    }
    size_t line = 1;
    for (const char *c = text; c < end && *c; c++) line += *c == '\n';
    cJSON_Delete(json);
    return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: not a JSON object", path, line);
}

// Copies the text at `key`, or "" when there is none and it is not needed.
static fgsf_status json_text(const char *path, const cJSON *json, const char *key, bool needed,
                             const char **out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    *out = "";
    if (!needed && (!item || cJSON_IsNull(item))) return FGSF_OK;
    if (!item) return fail_field(path, key, "is missing");
    if (!cJSON_IsString(item)) return fail_field(path, key, "is not a text");
    for (const char *c = item->valuestring; *c; c++) {
        if ((unsigned char)*c < ' ') return fail_field(path, key, "holds a control character");
    }
    if (*item->valuestring == '\0') return needed ? fail_field(path, key, "is empty") : FGSF_OK;
    *out = pool_printf("%s", item->valuestring);
    return FGSF_OK;
}

static double json_number(const cJSON *json, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

void run_set_changed(run *r, const char *changed) {
    const char *end = NULL;
    r->changed = changed;
    r->changes = (names){0};
    for (const char *at = changed; at && *at; at = *end ? end + 2 : end) {
        end = strstr(at, ", ");
        if (!end) end = at + strlen(at);
        names_add(&r->changes, pool_printf("%.*s", (int)(end - at), at));
    }
}

// Lists the settings that the run changed. Stays NULL if the usual ones are not known, for an
// environment or a method that is not ours.
static fgsf_status read_changes(const char *path, const char *text, run *r) {
    fgsf_config cfg;
    if (fgsf_config_resolve(r->env, r->preset, r->method, &cfg) != FGSF_OK) return FGSF_OK;
    TRY(fgsf_config_parse(&cfg, text, path));
    char *changes = fgsf_config_changes(&cfg);
    if (!changes) return FGSF_ERR_MEMORY;
    run_set_changed(r, pool_printf("%s", changes));
    free(changes);
    return FGSF_OK;
}

// Reads what figures and tables need of a configuration, which may be that of an unknown environment.
static fgsf_status read_config(const char *path, const cJSON *config, run *r) {
    r->layout = "";
    if (strncmp(r->env, "point_maze", 10) == 0) { // for the others it says nothing
        TRY(json_text(path, config, "env.layout", false, &r->layout));
    }
    TRY(json_text(path, config, "preset", false, &r->preset));
    TRY(json_text(path, config, "eval.reward", false, &r->eval_reward));
    r->steps_per_task = json_number(config, "train.steps_per_task");
    r->eval_epsilon = json_number(config, "eval.epsilon");
    r->lr = json_number(config, strstr(r->method, "dqn") ? "dqn.lr" : "sf.lr");
    return FGSF_OK;
}

fgsf_status run_configure(run *r) {
    fgsf_config cfg;
    cJSON *config = NULL;
    if (fgsf_config_resolve(r->env, r->preset, r->method, &cfg) != FGSF_OK) return FGSF_OK;
    for (size_t i = 0; i < r->changes.n; i++) {
        const char *key = r->changes.v[i];
        int length = (int)strcspn(key, "=");
        const char *value = key + length + (key[length] == '=');
        TRY(fgsf_config_set(&cfg, pool_printf("%.*s", length, key), value, r->dir));
    }
    char *text = fgsf_config_to_json(&cfg);
    if (!text) return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    fgsf_status status = json_parse(r->dir, text, strlen(text), &config);
    if (status == FGSF_OK) status = read_config(r->dir, config, r);
    cJSON_Delete(config);
    free(text);
    return status;
}

static fgsf_status read_fields(const char *path, const cJSON *json, run *r) {
    const char *schema = NULL;
    TRY(json_text(path, json, "schema", true, &schema));
    if (strcmp(schema, "fgsf.run/1") != 0) return fail_field(path, "schema", "is not fgsf.run/1");
    TRY(json_text(path, json, "env", true, &r->env));
    TRY(json_text(path, json, "method", true, &r->method));
    TRY(json_text(path, json, "cell", false, &r->cell));
    TRY(json_text(path, json, "status", true, &r->status));
    double seed = json_number(json, "seed");
    if (!(seed >= 0 && seed <= FGSF_SEED_MAX && seed == floor(seed))) {
        return fail_field(path, "seed", "is not a whole number from 0 on");
    }
    r->seed = (long)seed;
    r->seconds = json_number(json, "seconds");
    return read_config(path, cJSON_GetObjectItemCaseSensitive(json, "config"), r);
}

// Reads dir/name when it is there.
static fgsf_status read_table(const char *dir, const char *name, csv *out) {
    struct stat info;
    const char *path = pool_printf("%s/%s", dir, name);
    if (stat(path, &info) != 0 && errno == ENOENT) return FGSF_OK;
    return csv_read(path, out);
}

fgsf_status run_parse(const char *path, const char *text, size_t size, run *out) {
    cJSON *json = NULL;
    TRY(json_parse(path, text, size, &json));
    fgsf_status status = read_fields(path, json, out);
    cJSON_Delete(json);
    return status;
}

static fgsf_status read_run(const char *dir, const char *path, corpus *out) {
    run r = {.dir = dir};
    char *text = NULL;
    size_t size = 0;
    TRY(file_read(path, &text, &size));
    TRY(run_parse(path, text, size, &r));
    bool done = strcmp(r.status, "done") == 0;
    TRY(fgsf_run_verify(dir));
    TRY(read_changes(path, text, &r));
    if (done || out->partial) TRY(read_table(dir, "train.csv", &r.train));
    if (!done && r.train.rows) r.status = "done"; // as far as the curves go
    if (done) {
        TRY(read_table(dir, "eval.csv", &r.eval));
        TRY(read_table(dir, "policy_map.csv", &r.policy_map));
        TRY(read_table(dir, "trajectory.csv", &r.trajectory));
    }
    pool_push(&out->runs, &out->nruns, &r, sizeof r);
    return FGSF_OK;
}

static const char *const TABLES[NTABLES] = {"overhead.csv", "overhead_scaling.csv", "theory.csv",
                                            "theory_*.csv"};

static fgsf_status read_file(const char *dir, const char *name, names *summaries, corpus *out) {
    const char *path = pool_printf("%s/%s", dir, name);
    if (strcmp(name, "run.json") == 0) return read_run(dir, path, out);
    if (strcmp(name, "summary.csv") == 0) names_add(summaries, path);
    for (enum table_kind k = 0; k < NTABLES; k++) {
        csv t;
        if (fnmatch(TABLES[k], name, 0) != 0) continue;
        TRY(csv_read(path, &t));
        pool_push(&out->tables[k].v, &out->tables[k].n, &t, sizeof t);
    }
    return FGSF_OK;
}

// An export, wherever it lies, holds CSV files too: figures/ and tables/ beside a notebook.
static bool is_export(const names *entries, const char *name) {
    return names_find(entries, "notebook.ipynb", NULL) &&
           (strcmp(name, "figures") == 0 || strcmp(name, "tables") == 0);
}

// Symbolic links to directories are not followed, so that a link upwards cannot lead in circles.
static fgsf_status walk(const char *dir, int depth, names *summaries, corpus *out) {
    names entries = {0};
    TRY(file_list(dir, &entries));
    for (size_t i = 0; i < entries.n; i++) {
        struct stat info;
        const char *path = pool_printf("%s/%s", dir, entries.v[i]);
        if (lstat(path, &info) != 0) continue;
        if (!S_ISDIR(info.st_mode)) {
            TRY(read_file(dir, entries.v[i], summaries, out));
        } else if (depth < MAX_DEPTH && !is_export(&entries, entries.v[i])) {
            TRY(walk(path, depth + 1, summaries, out));
        }
    }
    return FGSF_OK;
}

fgsf_status runs_read(const char *root, corpus *out) {
    names summaries = {0};
    TRY(walk(root, 0, &summaries, out));
    for (size_t i = 0; i < summaries.n; i++) TRY(summary_read(summaries.v[i], out));
    size_t found = summaries.n + out->nruns;
    for (int k = 0; k < NTABLES; k++) found += out->tables[k].n;
    if (found == 0) {
        return fgsf_fail(FGSF_ERR_IO,
                         "%s: no run.json, summary.csv, overhead.csv or theory.csv below it", root);
    }
    return FGSF_OK;
}
