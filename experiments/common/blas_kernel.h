// OpenBLAS's kernels for this CPU.
//
//     int main(int argc, char **argv) {
//         fgsf_driver_best_blas(argv);
//
// OpenBLAS picks its kernels by CPU model when it is loaded, and falls back to SSE3 on models that
// are newer than itself, at a fifth of the speed. OPENBLAS_CORETYPE overrules that, but only when it
// is set before the program starts.
#ifndef FGSF_BLAS_KERNEL_H
#define FGSF_BLAS_KERNEL_H

// If OpenBLAS runs kernels without AVX2 on a CPU that has AVX2 or AVX-512, starts the program
// again, once, with OPENBLAS_CORETYPE set. Does nothing if the kernels fit, if the user has made a
// choice, or if the program cannot be started again. Call it first in main.
void fgsf_driver_best_blas(char **argv);

// Returns the name of the kernels in use.
const char *fgsf_driver_blas_kernel(void);

#endif
