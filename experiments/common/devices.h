// What --list-devices and --check-device print.
#ifndef FGSF_DEVICES_H
#define FGSF_DEVICES_H

#include <stdio.h>

#include "fgsf/status.h"

// Prints the devices that --device accepts.
void fgsf_devices_print(FILE *out);

// Compares loss and gradient on a device with ggml's plain CPU backend and prints the error. Fails
// when it is too large to train with.
fgsf_status fgsf_devices_check(FILE *out, const char *name);

#endif
