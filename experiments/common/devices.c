// Checks of devices: loss and gradient against the CPU, and every operation of a run's graphs.
#include "devices.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/agent.h"
#include "fgsf/device.h"
#include "fgsf/trainer.h"
#include "say.h"

// Largest error of loss and gradient, relative to the largest entry. Devices that add in another
// order reach 1e-7 to 1e-6; products in f16 and TF32 start at 1e-4.
#define LIMIT 1e-5

void fgsf_devices_exact(void) {
    setenv("GGML_VK_DISABLE_F16", "1", 0);
    setenv("GGML_VK_DISABLE_COOPMAT", "1", 0); // matrix units multiply in f16 as well
    setenv("GGML_VK_DISABLE_COOPMAT2", "1", 0);
    setenv("NVIDIA_TF32_OVERRIDE", "0", 0);
}

void fgsf_devices_print(FILE *out) {
    char name[128], about[256];
    for (int i = 0; fgsf_device_list(i, name, sizeof name, about, sizeof about) == FGSF_OK; i++) {
        fprintf(out, "%-12s %s\n", name, about);
    }
}

static void report(FILE *out, const fgsf_device *device, double error, const char *fallbacks) {
    if (!out) return;
    fprintf(out, "%s: largest error of loss and gradient %.2e (limit %.0e)\n",
            fgsf_device_description(device), error, LIMIT);
    if (*fallbacks) fprintf(out, "on the CPU instead: %s\n", fallbacks);
}

fgsf_status fgsf_devices_check(FILE *out, const char *name) {
    fgsf_device *device = NULL;
    double error = 0;
    fgsf_status status = fgsf_device_open(name, &device);
    if (status == FGSF_OK) status = fgsf_device_check(device, LIMIT, &error);
    if (status == FGSF_OK) report(out, device, error, fgsf_device_fallbacks(device));
    fgsf_device_free(device);
    return status;
}

// ---- Before training -----------------------------------------------------------------------------

static bool is_cpu(const char *name) {
    static const char *const names[] = {"", "auto", "cpu", "blas"};
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(name, names[i]) == 0) return true;
    }
    return false;
}

// Adds to `all` the names of `more` that it does not have.
static void merge(char *all, size_t size, const char *more) {
    char copy[1024], padded[1024], *rest = copy;
    snprintf(copy, sizeof copy, "%s", more);
    for (char *name; (name = strsep(&rest, ","));) {
        char wanted[128];
        snprintf(padded, sizeof padded, ",%.1000s,", all);
        snprintf(wanted, sizeof wanted, ",%.100s,", name);
        size_t used = strlen(all);
        if (*name && !strstr(padded, wanted) && used + strlen(name) + 2 < size) {
            snprintf(all + used, size - used, "%s%s", used ? "," : "", name);
        }
    }
}

// Making a trainer builds all graphs of a run, at their largest, and so asks the device about each
// operation.
static fgsf_status vet(FILE *out, const fgsf_config *const *cfgs, int count) {
    fgsf_status status = FGSF_OK;
    fgsf_trainer *last = NULL;
    char fallbacks[1000] = "";
    double error = 0;
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        if (is_cpu(cfgs[i]->learner.agent.device)) continue;
        fgsf_trainer_free(last);
        last = NULL;
        status = fgsf_trainer_create(cfgs[i], &last);
        if (status != FGSF_OK) break;
        merge(fallbacks, sizeof fallbacks,
              fgsf_device_fallbacks(fgsf_agent_device(fgsf_trainer_agent(last))));
    }
    fgsf_device *device = last ? fgsf_agent_device(fgsf_trainer_agent(last)) : NULL;
    if (status == FGSF_OK && device) status = fgsf_device_check(device, LIMIT, &error);
    if (status == FGSF_OK && device) report(out, device, error, fallbacks);
    fgsf_trainer_free(last);
    return status;
}

bool fgsf_devices_vet(FILE *out, const char *program, const fgsf_config *const *cfgs, int count) {
    int num = 0, code = 0;
    for (int i = 0; i < count; i++) num += !is_cpu(cfgs[i]->learner.agent.device);
    if (num == 0) return true;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        fgsf_status status = vet(out, cfgs, count);
        if (status != FGSF_OK) fgsf_say("%s: %s", program, fgsf_last_error());
        fflush(NULL);
        _exit(status == FGSF_OK ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &code, 0) < 0) {
        fgsf_say("%s: the device could not be checked", program);
        return false;
    }
    if (WIFSIGNALED(code)) {
        fgsf_say("%s: device.name: checking '%s' crashed (signal %d)", program,
                 cfgs[count - 1]->learner.agent.device, WTERMSIG(code));
    }
    return code == 0;
}
