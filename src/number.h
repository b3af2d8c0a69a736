// Numbers as text, as in the C locale, whatever locale the program that uses the library has set.
// Every number that the library reads from a file or writes to one goes through here.
#ifndef FGSF_NUMBER_H
#define FGSF_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/export.h"

// Reads a whole text of digits, signs, a point and an exponent as a finite number.
bool fgsf_number_read(const char *text, double *out);

// Reads a whole text of at most 17 digits as an integer.
bool fgsf_number_read_int(const char *text, int64_t *out);

// Reads the number at the start of a text as strtod does; `end` is what follows.
double fgsf_number_scan(const char *text, char **end);

// Writes the shortest of 15 to 17 digits that reads back as the same number; returns its length.
size_t fgsf_number_print(double value, char *buffer, size_t size);

// snprintf in the C locale.
int fgsf_number_format(char *buffer, size_t size, const char *format, ...) FGSF_PRINTF(3, 4);

// Between the two, all that the calling thread prints and reads is in the C locale. The second gets
// what the first returned.
locale_t fgsf_number_begin(void);
void fgsf_number_end(locale_t before);

#endif
