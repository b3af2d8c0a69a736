// What a driver says: one line on stderr that a terminal can show whatever it quotes.
#ifndef FGSF_SAY_H
#define FGSF_SAY_H

#include "fgsf/export.h"

// Prints one line to stderr; a newline is added. Control characters of what it quotes become '?'.
void fgsf_say(const char *format, ...) FGSF_PRINTF(1, 2);

#endif
