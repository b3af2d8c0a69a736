// Writes the notebook: cells that read the runs with the Python package and draw them, then every
// figure embedded as it came out, and every table with a cell that loads it.
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define TABLE_LIMIT 30000 // bytes of Markdown; a longer table is loaded but not embedded

static fgsf_status fail_memory(void) {
    return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
}

// Adds the item to the object and owns it either way.
static fgsf_status put(cJSON *object, const char *key, cJSON *item) {
    if (item && cJSON_AddItemToObject(object, key, item)) return FGSF_OK;
    cJSON_Delete(item);
    return fail_memory();
}

static fgsf_status append(cJSON *array, cJSON *item) {
    if (item && cJSON_AddItemToArray(array, item)) return FGSF_OK;
    cJSON_Delete(item);
    return fail_memory();
}

static fgsf_status put_text(cJSON *object, const char *key, const char *text) {
    return put(object, key, cJSON_CreateString(text));
}

// ---- cells --------------------------------------------------------------------------------------

// Opens a cell with the members that all cells have; ids count up, so that they are unique and the
// same for the same runs.
static fgsf_status add_cell(cJSON *cells, const char *type, const char *source, cJSON **out) {
    char id[32];
    snprintf(id, sizeof id, "cell-%d", cJSON_GetArraySize(cells));
    cJSON *cell = cJSON_CreateObject();
    TRY(append(cells, cell));
    TRY(put_text(cell, "cell_type", type));
    TRY(put_text(cell, "id", id));
    TRY(put(cell, "metadata", cJSON_CreateObject()));
    TRY(put_text(cell, "source", source));
    *out = cell;
    return FGSF_OK;
}

static fgsf_status add_markdown(cJSON *cells, const char *source) {
    cJSON *cell = NULL;
    return add_cell(cells, "markdown", source, &cell);
}

// A code cell whose one output is `data` of the given MIME type, or without output when data is
// NULL.
static fgsf_status add_code(cJSON *cells, const char *source, const char *mime, const char *data) {
    cJSON *cell = NULL;
    TRY(add_cell(cells, "code", source, &cell));
    TRY(put(cell, "execution_count", cJSON_CreateNull()));
    cJSON *outputs = cJSON_AddArrayToObject(cell, "outputs");
    if (!outputs) return fail_memory();
    if (!data) return FGSF_OK;
    cJSON *output = cJSON_CreateObject();
    TRY(append(outputs, output));
    TRY(put_text(output, "output_type", "display_data"));
    TRY(put(output, "metadata", cJSON_CreateObject()));
    cJSON *bundle = cJSON_AddObjectToObject(output, "data");
    return bundle ? put_text(bundle, mime, data) : fail_memory();
}

static fgsf_status encode_base64(const unsigned char *in, size_t n, const char **out) {
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
    *out = text;
    return FGSF_OK;
}

static fgsf_status add_figure(exporter *e, cJSON *cells, const artefact *a) {
    const char *image = NULL;
    char *bytes = NULL;
    size_t size = 0;
    const char *text = pool_printf("%s/figures/%s.png", e->stage, a->name);
    TRY(file_read(text, &bytes, &size));
    if (size == 0) return fgsf_fail(FGSF_ERR_IO, "%s: gnuplot left it empty", text);
    TRY(encode_base64((const unsigned char *)bytes, size, &image));
    text = pool_printf("### %s", a->caption);
    TRY(add_markdown(cells, text));
    text = pool_printf("figure('%s')", a->name);
    return add_code(cells, text, "image/png", image);
}

static fgsf_status add_table(exporter *e, cJSON *cells, const artefact *a) {
    char *markdown = NULL;
    size_t size = 0;
    const char *text = pool_printf("%s/tables/%s.md", e->stage, a->name);
    TRY(file_read(text, &markdown, &size));
    text = pool_printf("### %s: %s", a->group, a->caption);
    TRY(add_markdown(cells, text));
    text = pool_printf("pd.read_csv('tables/%s.csv')", a->name);
    const char *body = strstr(markdown, "\n\n");
    return add_code(cells, text, "text/markdown", size > TABLE_LIMIT || !body ? NULL : body + 2);
}

// ---- the whole ----------------------------------------------------------------------------------

static const char INTRODUCTION[] =
    "# Full-gradient successor features: results\n\n"
    "The cells after this one read the run directories with the Python package `fgsf` and draw "
    "them with matplotlib; start from them for questions of your own. The figures behind them are "
    "embedded as gnuplot drew them, and the cell under a title shows the figure and its data from "
    "`figures/`. Tables are loaded from `tables/`.\n\n"
    "Seeds are the unit: intervals are 95 % percentile bootstrap over whole seeds, and fewer than "
    "5 seeds are labelled `smoke`. IQM is the mean of the middle half of all seeds and tasks. "
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
        if (r->train.cols && r->eval.cols && strcmp(r->status, "done") == 0) return true;
    }
    return false;
}

// Cells that need the package and the run directories.
static fgsf_status add_runs(exporter *e, cJSON *cells) {
    const char *path = NULL;
    const char *text = NULL;
    TRY(relative_path(e->out, e->runs, &path));
    cJSON *string = cJSON_CreateString(path);
    char *quoted = string ? cJSON_PrintUnformatted(string) : NULL; // as Python quotes it too
    if (quoted) {
        text = pool_printf("RUNS = %s\n%s", quoted, template_text("notebook_runs.py"));
    }
    cJSON_Delete(string);
    free(quoted);
    if (!text) return fail_memory();
    TRY(add_markdown(cells, "## From the runs\n\n`RUNS` is the folder of the runs, seen from here. "
                            "The package: `pip install ./python` in the repository."));
    TRY(add_code(cells, text, NULL, NULL));
    TRY(add_code(cells, CURVES, NULL, NULL));
    return add_code(cells, SCORES, NULL, NULL);
}

static fgsf_status add_group(exporter *e, cJSON *cells, const char *about) {
    const char *text = pool_printf("## %s", about);
    TRY(add_markdown(cells, text));
    for (size_t i = 0; i < e->nmade; i++) {
        const artefact *a = &e->made[i];
        if (strcmp(a->group, about) != 0) continue;
        TRY(a->is_figure ? add_figure(e, cells, a) : add_table(e, cells, a));
    }
    return FGSF_OK;
}

static fgsf_status add_metadata(cJSON *notebook) {
    cJSON *metadata = cJSON_AddObjectToObject(notebook, "metadata");
    cJSON *kernel = metadata ? cJSON_AddObjectToObject(metadata, "kernelspec") : NULL;
    cJSON *language = metadata ? cJSON_AddObjectToObject(metadata, "language_info") : NULL;
    if (!kernel || !language) return fail_memory();
    TRY(put_text(kernel, "display_name", "Python 3"));
    TRY(put_text(kernel, "language", "python"));
    TRY(put_text(kernel, "name", "python3"));
    TRY(put_text(language, "name", "python"));
    TRY(put(notebook, "nbformat", cJSON_CreateNumber(4)));
    return put(notebook, "nbformat_minor", cJSON_CreateNumber(5));
}

static fgsf_status build(exporter *e, cJSON *notebook) {
    names groups = {0};
    cJSON *cells = cJSON_AddArrayToObject(notebook, "cells");
    if (!cells) return fail_memory();
    TRY(add_markdown(cells, INTRODUCTION));
    TRY(add_code(cells, template_text("notebook.py"), NULL, NULL));
    if (has_directories(&e->corpus)) TRY(add_runs(e, cells));
    for (size_t i = 0; i < e->nmade; i++) names_add(&groups, e->made[i].group);
    for (size_t i = 0; i < groups.n; i++) TRY(add_group(e, cells, groups.v[i]));
    return add_metadata(notebook);
}

fgsf_status notebook_write(exporter *e) {
    const char *path = pool_printf("%s/notebook.ipynb", e->stage);
    FILE *out = NULL;
    cJSON *notebook = cJSON_CreateObject();
    if (!notebook) return fail_memory();
    fgsf_status status = build(e, notebook);
    char *text = status == FGSF_OK ? cJSON_Print(notebook) : NULL;
    cJSON_Delete(notebook);
    if (status == FGSF_OK && !text) status = fail_memory();
    if (status == FGSF_OK) status = file_open(path, &out);
    if (status == FGSF_OK) {
        fputs(text, out);
        fputc('\n', out);
        status = file_close(out, path);
    }
    free(text);
    return status;
}
