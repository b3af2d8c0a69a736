// Which environments and networks a driver knows: ours, and those of shared objects.
//
//     int main(int argc, char **argv) {
//         if (!fgsf_plugins_load("watch", &argc, argv)) return 2;
//
// `--plugin FILE.so`, which may be given more than once, is taken out of the arguments. The shared
// object has a function `fgsf_status fgsf_plugin_register(void)` that calls fgsf_env_register and
// fgsf_network_register; it is linked without the library, which the driver brings.
#ifndef FGSF_PLUGINS_H
#define FGSF_PLUGINS_H

#include <stdbool.h>

// Registers them all. Says what is wrong on stderr and returns false when one cannot be loaded.
bool fgsf_plugins_load(const char *program, int *argc, char **argv);

// Returns the command, without a policy, that watches what a driver with these plugins has trained.
const char *fgsf_plugins_watch(void);

#endif
