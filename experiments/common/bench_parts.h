// The parts of an update on made-up data, for programs that measure: a network, its gradient, its
// values and its optimiser step; and the clocks.
//
//     fgsf_parts p;
//     fgsf_status status = fgsf_parts_open(&p, FGSF_FULL, false, 512, 256, 4);
//     if (status == FGSF_OK) status = fgsf_parts_gradient(&p);
//     fgsf_parts_close(&p);
#ifndef FGSF_BENCH_PARTS_H
#define FGSF_BENCH_PARTS_H

#include "fgsf/bellman.h"
#include "fgsf/gpe.h"
#include "fgsf/optimizer.h"

#define FGSF_PARTS_INPUT 38 // as Four Rooms
#define FGSF_PARTS_ACTIONS 4

typedef struct fgsf_parts {
    fgsf_network_shape shape;
    enum fgsf_gradient_kind kind;
    fgsf_device *device;
    fgsf_network *net, *other; // `other` is the target or error network, NULL where there is none
    fgsf_bellman *bellman;
    fgsf_gpe *gpe;
    fgsf_optimizer *opt, *error_opt;
    float *s, *s_next, *y, *discount, *rho, *q;
    int32_t *a, *a_next;
    fgsf_batch batch; // of the arrays above
} fgsf_parts;

// Opens two hidden layers of `width` and a batch as sparse as Four Rooms. `target`: semi with a target
// network. Close it whatever the status is.
fgsf_status fgsf_parts_open(fgsf_parts *p, enum fgsf_gradient_kind kind, bool target, int batch,
                            int width, int features);
void fgsf_parts_close(fgsf_parts *p);

fgsf_status fgsf_parts_gradient(fgsf_parts *p);
fgsf_status fgsf_parts_optimize(fgsf_parts *p); // clip and Adam, of the error network as well
fgsf_status fgsf_parts_update(fgsf_parts *p);   // both
fgsf_status fgsf_parts_evaluate(fgsf_parts *p); // q of the next states, as after an update

double fgsf_bench_cpu_seconds(void); // of this thread
double fgsf_bench_wall_seconds(void);
double fgsf_bench_quantile(const double *values, int n, double q); // NAN where there are none

#endif
