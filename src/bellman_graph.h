// Internal: what the two halves of the Bellman graph share. bellman_graph.c builds the graph of a kind;
// bellman.c checks parameters and batches, loads the inputs and runs the graphs.
#ifndef FGSF_BELLMAN_GRAPH_H
#define FGSF_BELLMAN_GRAPH_H

#include "fgsf/bellman.h"
#include "update.h"

// The memory that a graph reads, as it stands in the host's; a device that is not the CPU has the same
// again, into which the first `uploaded` numbers go before each run.
typedef struct fgsf_bellman_inputs {
    float *s;           // (S + S spread, input): the states, then the next states
    float *y;           // (B, F): target without bootstrap, averaged over the samples
    float *error_coef;  // (B, n): discount / number of samples, in the error factor
    float *grad_coef;   // (B, n): the same in the gradient factor; only where they differ
    float *weight;      // (B): row weight times loss factor
    float *one;         // the gradient of the loss with respect to itself
    int32_t *pick;      // (B + B n): row of (s, a) in x seen as ((S + S spread) A, F)
    int32_t *pick_next; // (B, n): the same for the next states alone
    float *parts;       // (B + B n, A): 1 at the action, else 0   } for devices without
    int32_t *rows;      // (B + B n): the row without the action   } GET_ROWS_BACK
    float *numbers[2];  // the optimiser's, for the network and for h
    float *stopped[2];  // (B, F): what the graph itself computes and then takes for constant
    float *results[3];  // loss, and the squared norms of both gradients; one behind the other
    size_t uploaded, all;
} fgsf_bellman_inputs;

// One graph, for batches of up to `pairs` pairs in `states` states, with up to `states * spread` next
// states in all.
// Samples of a pair that are the same state share one row: the network is evaluated, and
// differentiated, once for each state, and the samples take their x from it.
typedef struct fgsf_bellman_program {
    int pairs, states, spread;
    bool own_rows; // each pair has a row of its own, and so has its one sample
    bool steps;    // the optimiser's step follows
    fgsf_bellman_inputs in;
    fgsf_program program;
    fgsf_leaves online; // differentiated
    fgsf_leaves frozen; // the detached target: same memory as online, or the target network's
    fgsf_leaves error;  // h, differentiated by its own loss
    struct ggml_tensor *loss;
    struct ggml_tensor *gradients[2][FGSF_MAX_PARAMETERS]; // of the network and of h
    struct ggml_tensor *decayed; // h, flat, where a device adds its decay to the gradient
    fgsf_step_leaves step[2];
} fgsf_bellman_program;

struct fgsf_bellman {
    fgsf_device *device;
    fgsf_bellman_params params;
    fgsf_program_size size; // of every graph
    ggml_gallocr_t scratch;
    fgsf_network *gradient[2]; // a network's flat buffer holds the gradient; the second is h's
    ggml_backend_buffer_t buffer,
        there;                      // the inputs on the host, and on a device that is not the CPU
    ggml_backend_buffer_t identity; // (rows, rows), where a device needs it
    int identity_rows;
    int32_t *row;   // (B, n): where the sample stands among the next states
    fgsf_plan plan; // of the steps in the graphs
    double flops;   // of the last run
    int num_programs, room;
    fgsf_bellman_program *programs;
};

bool fgsf_bellman_has_target(const fgsf_bellman_params *p);
bool fgsf_bellman_has_error(const fgsf_bellman_params *p);
fgsf_status fgsf_bellman_check_kind(const fgsf_bellman_params *p);

// Whether error and gradient factor may weigh the samples differently; and whether the next states go
// through detached leaves as well.
bool fgsf_bellman_two_factors(const fgsf_bellman_params *p);
bool fgsf_bellman_detaches(const fgsf_bellman_params *p);

// Builds the graph whose sizes and inputs stand in *bp.
fgsf_status fgsf_bellman_build(fgsf_bellman *bellman, fgsf_bellman_program *bp);

#endif
