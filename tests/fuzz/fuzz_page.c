// Fuzzes what gets into the live page: the input, cut at its first zero bytes, is the title, a run's name
// and message, its run.json, train.csv and eval.csv. The page's own text stays as it is, and between its parts
// stands JSON without a character that could begin markup.
#include "fuzz.h"

#include <cjson/cJSON.h>
#include <sys/stat.h>

#include "page.h"

extern const char fgsf_page_html[];

#define PARTS 6
static char folder[32];

static void place(char path[96], const char *name) {
    snprintf(path, 96, "%s/%s", folder, name);
}

static void forget(void) {
    static const char *const names[] = {"e/m/seed-0/run.json",
                                        "e/m/seed-0/train.csv",
                                        "e/m/seed-0/eval.csv",
                                        "e/m/seed-0",
                                        "e/m",
                                        "e",
                                        "index.html",
                                        ""};
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        place(path, names[i]);
        remove(path);
    }
}

static void prepare(void) {
    static const char *const names[] = {"e", "e/m", "e/m/seed-0"};
    char path[96];
    strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/fuzz-XXXXXX" : "/dev/shm/fuzz-XXXXXX");
    require(mkdtemp(folder) != NULL);
    atexit(forget);
    for (int i = 0; i < 3; i++) {
        place(path, names[i]);
        require(mkdir(path, 0777) == 0);
    }
}

static void write_part(const char *name, const char *text, size_t length) {
    char path[96];
    place(path, name);
    FILE *f = fopen(path, "wb");
    require(f && fwrite(text, 1, length, f) == length);
    fclose(f);
}

static void check_page(void) {
    static char page[1 << 22];
    char path[96];
    place(path, "index.html");
    FILE *f = fopen(path, "rb");
    require(f != NULL);
    size_t size = fread(page, 1, sizeof page - 1, f);
    fclose(f);
    require(size < sizeof page - 1);
    size_t before = (size_t)(strstr(fgsf_page_html, "$DATA$") - fgsf_page_html);
    size_t after = strlen(fgsf_page_html) - before - strlen("$DATA$");
    require(size > before + after && memcmp(page, fgsf_page_html, before) == 0);
    char *data = page + before;
    size_t length = size - before - after;
    require(memcmp(data + length, fgsf_page_html + before + strlen("$DATA$"), after) == 0);
    for (size_t i = 0; i < length; i++) require(data[i] && !strchr("<>&", data[i]));
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(data, length, &end, false);
    require(json && end == data + length);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!*folder) prepare();
    char *text = fuzz_text(data, size), *part[PARTS];
    size_t length[PARTS], at = 0;
    for (int i = 0; i < PARTS; i++) {
        part[i] = text + at;
        length[i] = i + 1 < PARTS ? strlen(part[i]) : size - at;
        at += length[i] + (at + length[i] < size);
    }
    write_part("e/m/seed-0/run.json", part[3], length[3]);
    write_part("e/m/seed-0/train.csv", part[4], length[4]);
    write_part("e/m/seed-0/eval.csv", part[5], length[5]);
    fgsf_page *page = fgsf_page_open(folder, part[0]);
    require(page != NULL);
    fgsf_page_plan(page, "e/m/seed-0", 100);
    fgsf_page_end_run(page, 0, part[2]);
    if (*part[1] && !strchr(part[1], '/')) {
        char name[300];
        snprintf(name, sizeof name, "e/%.200s/seed-1", part[1]);
        fgsf_page_plan(page, name, 50);
    }
    require(fgsf_page_close(page, "done"));
    check_page();
    free(text);
    return 0;
}
