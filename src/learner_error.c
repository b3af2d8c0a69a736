// The error network h of corrected and gtd2. Its output starts at zero, so that corrected starts as the
// semi-gradient. Nothing is known of its definition: its last parameters, as few as it takes, are zero.
#include <math.h>
#include <stdlib.h>

#include "learning.h"
#include "program.h"

#define PROBES 4    // states at which the output is looked at
#define MOVED 0.01f // what the last parameters are set to, to see whether the output follows

static void set_last(fgsf_network *h, int first, float value) {
    const fgsf_parameters *list = fgsf_network_get_parameters(h);
    float *data = fgsf_network_edit(h);
    for (int i = first; i < list->count; i++) {
        const fgsf_parameter *p = &list->list[i];
        for (size_t n = 0; n < (size_t)p->rows * (size_t)p->columns; n++) {
            data[p->offset + n] = value;
        }
    }
}

// The largest |x + y|; infinite where that is no number.
static double largest_sum(const float *x, const float *y, size_t count) {
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        double sum = fabs((double)x[i] + y[i]);
        most = sum <= most ? most : isnan(sum) ? INFINITY : sum;
    }
    return most;
}

// Sets the last parameters to zero, one more at a time, until the output is zero. They must be able
// to move the output again, by the same amount in both directions. Behind a square or a ReLU they
// cannot: its derivative at zero is zero.
static fgsf_status start_at_zero(fgsf_learner *l, fgsf_network *h, float *s, float *x, int rows) {
    const fgsf_network_shape *shape = &l->agent->shape;
    size_t size = (size_t)(rows * fgsf_shape_actions(shape) * shape->features);
    float *up = x + size, *down = up + size;
    fgsf_status status = FGSF_OK;
    for (int i = fgsf_network_get_parameters(h)->count - 1; i >= 0 && status == FGSF_OK; i--) {
        set_last(h, i, 0.0f);
        status = fgsf_gpe_representation(l->agent->gpe, h, s, rows, x);
        if (status != FGSF_OK || largest_sum(x, x, size) != 0.0) continue;
        set_last(h, i, MOVED);
        status = fgsf_gpe_representation(l->agent->gpe, h, s, rows, up);
        set_last(h, i, -MOVED);
        if (status == FGSF_OK) status = fgsf_gpe_representation(l->agent->gpe, h, s, rows, down);
        set_last(h, i, 0.0f);
        if (status != FGSF_OK || largest_sum(up, down, size) < 0.05 * largest_sum(up, up, size)) {
            return status;
        }
        break;
    }
    if (status != FGSF_OK) return status;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "gradient.kind corrected or gtd2: the error network starts at zero and must "
                     "be able to learn, which the last parameters of '%s' do not give",
                     fgsf_shape_def(shape)->name);
}

fgsf_status fgsf_learner_add_error(fgsf_learner *l, fgsf_training *training) {
    const fgsf_network_shape *shape = &l->agent->shape;
    int rows = l->max_pairs < PROBES ? l->max_pairs : PROBES;
    size_t input = (size_t)(rows * shape->input);
    size_t output = (size_t)(rows * fgsf_shape_actions(shape) * shape->features);
    fgsf_status status = fgsf_network_create(shape, &training->error);
    float *s = status == FGSF_OK ? malloc((input + 3 * output) * sizeof *s) : NULL;
    if (status == FGSF_OK && !s) status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for an error");
    if (status == FGSF_OK) {
        fgsf_rng rng = fgsf_rng_make(0, 0);
        for (size_t i = 0; i < input; i++) s[i] = (float)fgsf_rng_normal(&rng);
        fgsf_network_init(training->error, l->params.agent.init, &l->init_rng);
        status = start_at_zero(l, training->error, s, s + input, rows);
    }
    free(s);
    if (status != FGSF_OK) return status;
    return fgsf_optimizer_create(&l->params.opt, training->error, &training->error_opt);
}

fgsf_status fgsf_learner_check_error(fgsf_learner *l) {
    fgsf_rng before = l->init_rng;
    fgsf_training probe = {0};
    fgsf_status status = fgsf_learner_add_error(l, &probe);
    fgsf_network_free(probe.error);
    fgsf_optimizer_free(probe.error_opt);
    l->init_rng = before;
    return status;
}
