// Devices on the command line: their list, a check of one, and the check before training on one.
#ifndef FGSF_DEVICES_H
#define FGSF_DEVICES_H

#include <stdio.h>

#include "fgsf/config.h"

// Asks ggml's GPU backends for products in f32, through the environment, unless it already says
// something about them. Before ggml is first used: some of them default to f16 or TF32, whose error
// in gradients is a thousand times larger.
void fgsf_devices_exact(void);

// Prints the devices that --device accepts.
void fgsf_devices_print(FILE *out);

// Compares loss and gradient on a device with ggml's plain CPU backend and prints the error. Fails
// when it is too large to train with.
fgsf_status fgsf_devices_check(FILE *out, const char *name);

// Before training: for each of `count` configurations whose device is not auto, cpu or blas, tries
// every operation of its graphs on the device and checks the device. Prints the error and the
// operations that run on the CPU instead to `out` (NULL: does not), or on stderr why training is
// refused. All of that happens in a process of its own, since GPU drivers do not survive a fork.
// Returns whether to train.
bool fgsf_devices_vet(FILE *out, const char *program, const fgsf_config *const *cfgs, int count);

#endif
