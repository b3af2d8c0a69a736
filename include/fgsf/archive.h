// Named numbers and arrays in one GGUF file: checkpoints and trained policies.
//
//     fgsf_archive_create(&archive);
//     fgsf_archive_put_int(archive, "step", 1000);
//     fgsf_archive_put(archive, "policy.0.parameters", FGSF_F32, data, size);   // not copied
//     fgsf_archive_save(archive, "state.gguf");            // write, sync, rename
//     fgsf_archive_free(archive);
//
//     fgsf_archive_open("state.gguf", &archive);           // whole file checked first
//     fgsf_archive_get(archive, "policy.0.parameters", FGSF_F32, data, size);
//
// A file carries the schema and version it was written with and ends in a checksum over everything
// before it. A file that is truncated, altered or not ours is an error that names the file; nothing in it
// reaches ggml's reader before the checksum has been verified.
#ifndef FGSF_ARCHIVE_H
#define FGSF_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "fgsf/config.h"
#include "fgsf/learner.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_archive fgsf_archive;

// Writing. Arrays are referenced, not copied, until fgsf_archive_save; errors are kept and reported
// by it, so that the put calls need no checks. Names are unique, 1 to 63 characters.
FGSF_API fgsf_status fgsf_archive_create(fgsf_archive **out);
FGSF_API void fgsf_archive_put_int(fgsf_archive *archive, const char *name, int64_t value);
FGSF_API void fgsf_archive_put_real(fgsf_archive *archive, const char *name, double value);
FGSF_API void fgsf_archive_put_text(fgsf_archive *archive, const char *name, const char *value);
FGSF_API void fgsf_archive_put(fgsf_archive *archive, const char *name, fgsf_number type,
                               const void *data, size_t count);
FGSF_API fgsf_status fgsf_archive_save(fgsf_archive *archive, const char *path);

// Reading. A missing name, another type or another count is an error that names file and entry.
FGSF_API fgsf_status fgsf_archive_open(const char *path, fgsf_archive **out);
FGSF_API fgsf_status fgsf_archive_get_int(const fgsf_archive *archive, const char *name,
                                          int64_t *value);
FGSF_API fgsf_status fgsf_archive_get_real(const fgsf_archive *archive, const char *name,
                                           double *value);
FGSF_API fgsf_status fgsf_archive_get_text(const fgsf_archive *archive, const char *name,
                                           const char **value);
FGSF_API fgsf_status fgsf_archive_get(const fgsf_archive *archive, const char *name,
                                      fgsf_number type, void *data, size_t count);
// Returns the number of elements of an array, or -1 when there is none of that name.
FGSF_API int64_t fgsf_archive_count(const fgsf_archive *archive, const char *name);

FGSF_API void fgsf_archive_free(fgsf_archive *archive);

// ---- What the library keeps in archives -----------------------------------------------------------

// Saves or loads an agent. A loaded agent acts without its environment. The file holds a configuration:
// `cfg`, or with NULL one that is made from the agent's parameters. Loading stores it in `cfg` unless
// that is NULL, and skips keys of environments that are not registered. With `device` NULL the device
// is the one that the file names.
FGSF_API fgsf_status fgsf_agent_save(const fgsf_agent *agent, const fgsf_config *cfg,
                                     const char *path);
FGSF_API fgsf_status fgsf_agent_load(const char *path, const char *device, fgsf_config *cfg,
                                     fgsf_agent **out);

// Saves a whole learner, or loads it to go on bit for bit. Loading needs a new learner that was created
// with the same parameters. After an error do not use that learner.
FGSF_API fgsf_status fgsf_learner_save(const fgsf_learner *learner, const char *path);
FGSF_API fgsf_status fgsf_learner_load(fgsf_learner *learner, const char *path);

// Saves a replay's whole content, in slot order and with the order inside the index, or restores it bit
// for bit, so that later draws are the same. Entries are called "PREFIX.s" and so
// on. Saving refers to the replay's memory until the archive is written. Loading needs a replay of
// the same parameters; it is empty when that fails.
FGSF_API void fgsf_replay_save(const fgsf_replay *replay, fgsf_archive *archive,
                               const char *prefix);
FGSF_API fgsf_status fgsf_replay_load(fgsf_replay *replay, const fgsf_archive *archive,
                                      const char *prefix);

FGSF_END_DECLS
#endif
