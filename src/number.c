// Numbers as text, in the C locale.
#include "number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static locale_t c_locale;

static void make_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

// Made once and kept: every thread uses the same one.
static locale_t get_locale(void) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, make_locale);
    return c_locale;
}

locale_t fgsf_number_begin(void) {
    return uselocale(get_locale());
}

void fgsf_number_end(locale_t before) {
    uselocale(before);
}

double fgsf_number_scan(const char *text, char **end) {
    return strtod_l(text, end, get_locale());
}

bool fgsf_number_read(const char *text, double *out) {
    size_t n = strlen(text);
    if (n == 0 || n > 64 || strspn(text, "0123456789+-.eE") != n) return false;
    char *end = NULL;
    double value = fgsf_number_scan(text, &end);
    if (end != text + n || !isfinite(value)) return false;
    *out = value + 0.0; // no negative zero: it would print and hash differently
    return true;
}

bool fgsf_number_read_int(const char *text, int64_t *out) {
    size_t n = strlen(text), digits = n - (text[0] == '-');
    if (digits == 0 || digits > 17 || strspn(text + (n - digits), "0123456789") != digits) {
        return false;
    }
    *out = strtoll(text, NULL, 10);
    return true;
}

int fgsf_number_format(char *buffer, size_t size, const char *format, ...) {
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    int n = vsnprintf(buffer, size, format, args);
    va_end(args);
    fgsf_number_end(before);
    return n;
}

size_t fgsf_number_print(double value, char *buffer, size_t size) {
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        char text[40];
        n = fgsf_number_format(text, sizeof text, "%.*g", digits, value);
        snprintf(buffer, size, "%s", text);
        if (fgsf_number_scan(text, NULL) == value) break;
    }
    return (size_t)n;
}
