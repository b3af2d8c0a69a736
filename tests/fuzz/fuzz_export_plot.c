// Fuzzes text on its way into gnuplot. In a script it stands in quotes that it cannot leave, and as a name in
// data it is one field, on one line, that no comment sign or quote begins.
#include "fuzz.h"

#define main export_main
#include "../../notebooks-export/main.c"
#undef main
#include "../../notebooks-export/plot.c"

static size_t printed(char *out, size_t room, void (*put)(FILE *, const char *), const char *text) {
    FILE *f = fmemopen(out, room, "w");
    require(f != NULL);
    put(f, text);
    long size = ftell(f);
    fclose(f);
    require(size >= 0 && (size_t)size < room);
    return (size_t)size;
}

static void quote(FILE *f, const char *text) {
    put_quoted(f, text, false);
}

static void quote_name(FILE *f, const char *text) {
    put_quoted(f, text, true);
}

static void check_quoted(const char *out, size_t size) {
    require(size >= 2 && out[0] == '\'' && out[size - 1] == '\'');
    for (size_t i = 1; i + 1 < size; i++) {
        require((unsigned char)out[i] >= ' ');
        if (out[i] == '\'') require(out[++i] == '\'' && i + 1 < size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *out = malloc(2 * size + 16);
    require(out != NULL);
    check_quoted(out, printed(out, 2 * size + 16, quote, text));
    check_quoted(out, printed(out, 2 * size + 16, quote_name, text));
    size_t length = printed(out, 2 * size + 16, put_name, text);
    require(length == strlen(text));
    for (size_t i = 0; i < length; i++) {
        require((unsigned char)out[i] >= ' ' && !strchr(",\"\\", out[i]));
    }
    require(length == 0 || out[0] != '#');
    free(out);
    free(text);
    return 0;
}
