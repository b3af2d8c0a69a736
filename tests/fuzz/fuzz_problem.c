// Fuzzes the reader of the gradient oracle's problems: whatever is accepted must be a problem that
// the library computes, and whatever is refused must leave a message of one line.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../experiments/common/json_reader.c"
#include "../../experiments/common/oracle_problem.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

// Runs the first batch of what was accepted.
static void compute(const oracle_problem *p) {
    fgsf_device *device = NULL;
    fgsf_network *net = NULL, *target = NULL;
    fgsf_bellman *bellman = NULL;
    size_t bytes = fgsf_network_flat_size(&p->bellman.shape) * sizeof(float);
    require(fgsf_device_open("cpu", &device) == FGSF_OK);
    require(fgsf_network_create(&p->bellman.shape, &net) == FGSF_OK);
    memcpy(fgsf_network_edit(net), p->parameters, bytes);
    if (p->other) {
        require(fgsf_network_create(&p->bellman.shape, &target) == FGSF_OK);
        memcpy(fgsf_network_edit(target), p->other, bytes);
    }
    require(fgsf_bellman_create(device, &p->bellman, &bellman) == FGSF_OK);
    require(fgsf_bellman_run(bellman, &p->batches[0], net, target, NULL) == FGSF_OK);
    fgsf_bellman_free(bellman);
    fgsf_network_free(target);
    fgsf_network_free(net);
    fgsf_device_free(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    oracle_problem *problem = NULL;
    if (oracle_problem_parse((const char *)data, size, &problem) != FGSF_OK) {
        require(!problem && *fgsf_last_error() && !strpbrk(fgsf_last_error(), "\r\n"));
        return 0;
    }
    require(problem->num_batches > 0);
    compute(problem);
    oracle_problem_free(problem);
    return 0;
}
