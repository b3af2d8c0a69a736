// Writes the notebook: cells that read the runs with the Python package and draw them, then every
// figure embedded as it came out, and every table with a cell that loads it.
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define TABLE_LIMIT 30000 // bytes of Markdown; a longer table is loaded but not embedded

// ---- cells --------------------------------------------------------------------------------------

// Opens a cell with the members that all cells have; ids count up, so that they are unique and the
// same for the same runs.
static cJSON *add_cell(cJSON *cells, const char *type, const char *source) {
    char id[32];
    snprintf(id, sizeof id, "cell-%d", cJSON_GetArraySize(cells));
    cJSON *cell = cJSON_CreateObject();
    cJSON_AddItemToArray(cells, cell);
    cJSON_AddStringToObject(cell, "cell_type", type);
    cJSON_AddStringToObject(cell, "id", id);
    cJSON_AddObjectToObject(cell, "metadata");
    cJSON_AddStringToObject(cell, "source", source);
    return cell;
}

static void add_markdown(cJSON *cells, const char *source) {
    add_cell(cells, "markdown", source);
}

// A code cell whose one output is `data` of the given MIME type, or without output when data is
// NULL.
static void add_code(cJSON *cells, const char *source, const char *mime, const char *data) {
    cJSON *cell = add_cell(cells, "code", source);
    cJSON_AddNullToObject(cell, "execution_count");
    cJSON *outputs = cJSON_AddArrayToObject(cell, "outputs");
    if (!data) return;
    cJSON *output = cJSON_CreateObject();
    cJSON_AddItemToArray(outputs, output);
    cJSON_AddStringToObject(output, "output_type", "display_data");
    cJSON_AddObjectToObject(output, "metadata");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(output, "data"), mime, data);
}

static const char *encode_base64(const unsigned char *in, size_t n) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = pool_get((n + 2) / 3 * 4 + 1, 1);
    char *to = text;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t word = (uint32_t)in[i] << 16;
        if (left > 1) word |= (uint32_t)in[i + 1] << 8;
        if (left > 2) word |= in[i + 2];
        *to++ = DIGITS[word >> 18];
        *to++ = DIGITS[word >> 12 & 63];
        *to++ = left > 1 ? DIGITS[word >> 6 & 63] : '=';
        *to++ = left > 2 ? DIGITS[word & 63] : '=';
    }
    return text;
}

static fgsf_status add_figure(exporter *e, cJSON *cells, const artefact *a) {
    char *bytes = NULL;
    size_t size = 0;
    const char *path = pool_printf("%s/figures/%s.png", e->stage, a->name);
    TRY(file_read(path, &bytes, &size));
    if (size == 0) return fgsf_fail(FGSF_ERR_IO, "%s: gnuplot left it empty", path);
    add_markdown(cells, pool_printf("### %s", a->caption));
    add_code(cells, pool_printf("figure('%s')", a->name), "image/png",
             encode_base64((const unsigned char *)bytes, size));
    return FGSF_OK;
}

static fgsf_status add_table(exporter *e, cJSON *cells, const artefact *a) {
    char *markdown = NULL;
    size_t size = 0;
    TRY(file_read(pool_printf("%s/tables/%s.md", e->stage, a->name), &markdown, &size));
    const char *body = strstr(markdown, "\n\n");
    add_markdown(cells, pool_printf("### %s: %s", a->group, a->caption));
    add_code(cells, pool_printf("pd.read_csv('tables/%s.csv')", a->name), "text/markdown",
             size > TABLE_LIMIT || !body ? NULL : body + 2);
    return FGSF_OK;
}

// ---- the whole ----------------------------------------------------------------------------------

static const char INTRODUCTION[] =
    "# Full-gradient successor features: results\n\n"
    "The cells after this one read the run directories with the Python package `fgsf` and draw "
    "them with matplotlib; start from them for questions of your own. The figures behind them are "
    "embedded as gnuplot drew them, and the cell under a title shows the figure and its data from "
    "`figures/`. Tables are loaded from `tables/`.\n\n"
    "Seeds are the unit: intervals are 95 % percentile bootstrap over whole seeds, and fewer than "
    "5 seeds are labelled `few seeds`. IQM is the mean of the middle half of all seeds and tasks. "
    "p-values are not corrected for the number of comparisons: the first pairs are the question, "
    "the others are for orientation. Published values were read off the paper's figures, so they "
    "carry a reading error.";

static const char CURVES[] =
    "for env, runs in train[train['cell'] == ''].groupby('env'):\n    curves(env, runs)";

static const char SCORES[] =
    "columns = ['return', 'success', 'steps', 'discounted_return']\n"
    "seeds = evaluation.groupby(['env', 'arm', 'seed', 'task'])[columns].mean()\n"
    "seeds.groupby(['env', 'arm', 'seed']).mean().groupby(['env', 'arm']).agg(['mean', 'sem'])";

// Stores the way from the folder `from` to the folder `to`, so that both can be moved together.
static fgsf_status relative_path(const char *from, const char *to, const char **out) {
    char *here = realpath(from, NULL), *there = realpath(to, NULL);
    fgsf_status status =
        here && there ? FGSF_OK : fgsf_fail(FGSF_ERR_IO, "%s: cannot be found", to);
    if (status == FGSF_OK) {
        size_t same = 0; // characters of the folders that both have
        for (size_t i = 0;; i++) {
            if ((!here[i] || here[i] == '/') && (!there[i] || there[i] == '/')) same = i;
            if (here[i] != there[i] || !here[i]) break;
        }
        *out = pool_printf("%s", there[same] ? there + same + 1 : "");
        for (const char *up = strchr(here + same, '/'); up; up = strchr(up + 1, '/')) {
            *out = pool_printf("../%s", *out);
        }
    }
    free(here);
    free(there);
    return status;
}

static bool has_directories(const corpus *c) {
    for (size_t i = 0; i < c->nruns; i++) {
        const run *r = &c->runs[i];
        if (r->train.columns.n && r->eval.columns.n && strcmp(r->status, "done") == 0) return true;
    }
    return false;
}

// Cells that need the package and the run directories.
static fgsf_status add_runs(exporter *e, cJSON *cells) {
    const char *path = NULL;
    TRY(relative_path(e->out, e->runs, &path));
    cJSON *string = cJSON_CreateString(path);
    char *quoted = cJSON_PrintUnformatted(string); // as Python quotes it too
    const char *text = pool_printf("RUNS = %s\n%s", quoted, template_text("notebook_runs.py"));
    cJSON_Delete(string);
    cJSON_free(quoted);
    add_markdown(cells, "## From the runs\n\n`RUNS` is the folder of the runs, seen from here. "
                        "The package: `pip install ./python` in the repository.");
    add_code(cells, text, NULL, NULL);
    add_code(cells, CURVES, NULL, NULL);
    add_code(cells, SCORES, NULL, NULL);
    return FGSF_OK;
}

static void add_metadata(cJSON *notebook) {
    cJSON *metadata = cJSON_AddObjectToObject(notebook, "metadata");
    cJSON *kernel = cJSON_AddObjectToObject(metadata, "kernelspec");
    cJSON *language = cJSON_AddObjectToObject(metadata, "language_info");
    cJSON_AddStringToObject(kernel, "display_name", "Python 3");
    cJSON_AddStringToObject(kernel, "language", "python");
    cJSON_AddStringToObject(kernel, "name", "python3");
    cJSON_AddStringToObject(language, "name", "python");
    cJSON_AddNumberToObject(notebook, "nbformat", 4);
    cJSON_AddNumberToObject(notebook, "nbformat_minor", 5);
}

static fgsf_status build(exporter *e, cJSON *notebook) {
    names groups = {0};
    cJSON *cells = cJSON_AddArrayToObject(notebook, "cells");
    add_markdown(cells, INTRODUCTION);
    add_code(cells, template_text("notebook.py"), NULL, NULL);
    if (has_directories(&e->corpus)) TRY(add_runs(e, cells));
    for (size_t i = 0; i < e->nmade; i++) names_add(&groups, e->made[i].group);
    for (size_t i = 0; i < groups.n; i++) {
        add_markdown(cells, pool_printf("## %s", groups.v[i]));
        for (size_t k = 0; k < e->nmade; k++) {
            const artefact *a = &e->made[k];
            if (strcmp(a->group, groups.v[i]) != 0) continue;
            TRY(a->is_figure ? add_figure(e, cells, a) : add_table(e, cells, a));
        }
    }
    add_metadata(notebook);
    return FGSF_OK;
}

fgsf_status notebook_write(exporter *e) {
    const char *path = pool_printf("%s/notebook.ipynb", e->stage);
    FILE *out = NULL;
    cJSON *notebook = cJSON_CreateObject();
    fgsf_status status = build(e, notebook);
    if (status == FGSF_OK) status = file_open(path, &out);
    if (status == FGSF_OK) {
        char *text = cJSON_Print(notebook);
        fputs(text, out);
        fputc('\n', out);
        status = file_close(out, path);
        cJSON_free(text);
    }
    cJSON_Delete(notebook);
    return status;
}
