// Every public header from C++: they must compile there, and the symbols must be found by their C names.
#include <cstdio>

#include "all_headers.h"

int main() {
    std::printf("fgsf %s from C++\n", fgsf_version());
    return fgsf_version()[0] == '\0';
}
