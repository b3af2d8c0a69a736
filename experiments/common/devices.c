// Devices on the command line: the list of them, and a check before one is trusted.
#include "devices.h"

#include "fgsf/device.h"

#define LIMIT 1e-4 // largest error of loss and gradient, relative to the largest entry

void fgsf_devices_print(FILE *out) {
    char name[128], about[256];
    for (int i = 0; fgsf_device_list(i, name, sizeof name, about, sizeof about) == FGSF_OK; i++) {
        fprintf(out, "%-12s %s\n", name, about);
    }
}

fgsf_status fgsf_devices_check(FILE *out, const char *name) {
    fgsf_device *device = NULL;
    double error = 0;
    fgsf_status status = fgsf_device_open(name, &device);
    if (status == FGSF_OK) status = fgsf_device_check(device, LIMIT, &error);
    if (status == FGSF_OK) {
        const char *fallbacks = fgsf_device_fallbacks(device);
        fprintf(out, "%s: largest error of loss and gradient %.2e (limit %.0e)\n",
                fgsf_device_description(device), error, LIMIT);
        if (*fallbacks) fprintf(out, "on the CPU instead: %s\n", fallbacks);
    }
    fgsf_device_free(device);
    return status;
}
