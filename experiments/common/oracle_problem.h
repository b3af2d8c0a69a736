// Reads the gradient oracle's problems: strict JSON in, checked structs out, or one line that names
// the field. The schema is described in the oracle's --help.
//
//     oracle_problem *problem = NULL;
//     if (oracle_problem_parse(text, length, &problem) != FGSF_OK) {
//         fprintf(stderr, "%s: %s\n", path, fgsf_last_error());
//     }
#ifndef FGSF_ORACLE_PROBLEM_H
#define FGSF_ORACLE_PROBLEM_H

#include "fgsf/bellman.h"
#include "fgsf/optimizer.h"

// The groups that a network's parameters stand in, one array per layer: the group's name in JSON, and
// how the parameters of it are called.
typedef struct oracle_group {
    const char *name, *parameter;
} oracle_group;

#define ORACLE_GROUPS 4
extern const oracle_group oracle_groups[ORACLE_GROUPS];

// Lists the parameters of a group, by their index; returns how many there are.
int oracle_group_list(const oracle_group *group, const fgsf_parameters *all,
                      int out[FGSF_MAX_PARAMETERS]);

typedef struct oracle_problem {
    fgsf_bellman_params bellman; // shape included; max_pairs is the largest batch
    float *parameters;           // in the layout of the network's flat buffer
    float *other;                // the same of the target or error network, or NULL
    bool has_optimizer;
    fgsf_optimizer_params optimizer;
    double lr;
    double denominator; // 0: the number of pairs
    int num_batches;
    fgsf_batch *batches; // with memory of their own
} oracle_problem;

// Parses and checks a problem. The message of a failure is one line that begins with the field.
fgsf_status oracle_problem_parse(const char *text, size_t length, oracle_problem **out);
void oracle_problem_free(oracle_problem *problem);

#endif
