// The devices that tests go over: `blas` is there where OpenBLAS was found.
#ifndef FGSF_SUPPORT_DEVICES_H
#define FGSF_SUPPORT_DEVICES_H

#ifdef FGSF_HAVE_CBLAS
#define NUM_DEVICES 4
#else
#define NUM_DEVICES 3
#endif

static const char *const device_names[NUM_DEVICES] = {
    "auto",
    "cpu",
    "resident",
#ifdef FGSF_HAVE_CBLAS
    "blas",
#endif
};

#endif
