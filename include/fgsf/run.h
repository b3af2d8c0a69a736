// Run directories: where a run's data goes, who may write it, and how it survives a crash.
//
//     fgsf_run_id id = {"runs", "four_rooms", "fg-sfrql", "", 3};
//     fgsf_run *run = NULL;
//     fgsf_run_found found;
//     fgsf_run_open(&id, &cfg, resume, &found, &run);      // locks it; NULL when finished or busy
//     fgsf_csv *csv = NULL;
//     fgsf_csv_open(run, "train.csv", "step,loss", last_step, &csv);
//     fgsf_csv_row(csv, "%lld,%.9g", step, loss);          // ... then, at each checkpoint:
//     fgsf_csv_sync(csv);                                  // rows first,
//     fgsf_run_update(run, &progress);                     // then run.json, which describes them,
//     fgsf_run_path(run, "state.gguf", path, sizeof path); // then the state
//     fgsf_run_finish(run, FGSF_RUN_DONE, &progress, "");
//     fgsf_csv_close(csv);
//     fgsf_run_close(run);
//     fgsf_run_summarize("runs");
//
// Layout: OUT/<env>/<method>[@<cell>]/seed-<k>/ with run.json, the CSV files, policy.gguf,
// state.gguf and `lock`; OUT/summary.csv over everything. Files are replaced atomically. The lock
// is held (flock) while a run is open, so several processes can share one OUT. docs/run-directory.md
// documents every file and column.
#ifndef FGSF_RUN_H
#define FGSF_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/config.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

#define FGSF_RUN_SCHEMA "fgsf.run/1"
#define FGSF_RUN_NAME 128 // bytes of an environment's, method's or cell's name

typedef struct fgsf_run fgsf_run;
typedef struct fgsf_csv fgsf_csv;

// Identifies a run. `cell` names the variant of a study; "" outside studies.
typedef struct fgsf_run_id {
    const char *out, *env, *method, *cell;
    int64_t seed;
} fgsf_run_id;

typedef enum fgsf_run_status {
    FGSF_RUN_RUNNING,  // being written, or interrupted when nobody holds the lock
    FGSF_RUN_DONE,     // finished
    FGSF_RUN_DIVERGED, // finished early; its data are kept
    FGSF_RUN_FAILED,   // ended by an error or a crash
} fgsf_run_status;

// What fgsf_run_open found.
typedef enum fgsf_run_found {
    FGSF_FOUND_NOTHING,    // a new run
    FGSF_FOUND_UNFINISHED, // running or failed: to be resumed
    FGSF_FOUND_FINISHED,   // done or diverged: left alone
    FGSF_FOUND_BUSY,       // another process is writing it
} fgsf_run_found;

// How far a run is. `seconds` is of this process; run.json sums it over resumptions.
typedef struct fgsf_run_progress {
    double seconds;
    int64_t steps, optimizer_steps;
} fgsf_run_progress;

#define FGSF_RUN_FILES 8

// A CSV file as it was at its last two syncs, the newer one first: the state that a run is resumed from
// belongs to one of them. `bytes` is 0 where there was none.
typedef struct fgsf_run_file {
    char name[32];
    struct {
        int64_t bytes;
        uint64_t checksum; // 64-bit FNV-1a of these bytes
    } marks[2];
} fgsf_run_file;

// What run.json holds.
typedef struct fgsf_run_record {
    char env[FGSF_RUN_NAME], method[FGSF_RUN_NAME], cell[FGSF_RUN_NAME];
    int64_t seed;
    fgsf_run_status status;
    fgsf_config config;
    fgsf_run_progress progress; // seconds over all resumptions
    char message[512];
    fgsf_run_file files[FGSF_RUN_FILES]; // those without a name are not used
} fgsf_run_record;

// Returns "running", "done", "diverged" or "failed".
FGSF_API const char *fgsf_run_status_name(fgsf_run_status status);

// Writes the run's directory.
FGSF_API fgsf_status fgsf_run_directory(const fgsf_run_id *id, char *path, size_t size);

// Reads the run.json of a run directory.
FGSF_API fgsf_status fgsf_run_read(const char *directory, fgsf_run_record *out);

// Compares the CSV files of a finished run with what its run.json says of them; a file that is missing,
// shorter, longer or changed is named with FGSF_ERR_FORMAT. Unfinished runs pass, and so do runs of
// versions that recorded no checksums. The configuration is not read: the run may be of an environment
// that is not registered here.
FGSF_API fgsf_status fgsf_run_verify(const char *directory);

// Refuses, naming the key, when OUT already holds a run of the same environment, method and cell
// (any seed) with another configuration. Writes nothing.
FGSF_API fgsf_status fgsf_run_check(const fgsf_run_id *id, const fgsf_config *cfg);

// Stores what fgsf_run_open would find. Writes nothing.
FGSF_API fgsf_status fgsf_run_look(const fgsf_run_id *id, fgsf_run_found *found);

// Makes, locks and opens a run directory. An unfinished run is an error unless `resume` is true. A
// finished run, or one that another process writes, is left alone: *out stays NULL and `found` says
// which. Temporary files of a process that was killed are removed. run.json of an unfinished run is
// first written by the next fgsf_run_update.
FGSF_API fgsf_status fgsf_run_open(const fgsf_run_id *id, const fgsf_config *cfg, bool resume,
                                   fgsf_run_found *found, fgsf_run **out);

// Writes the path of a file of the run.
FGSF_API fgsf_status fgsf_run_path(const fgsf_run *run, const char *name, char *path, size_t size);

// Writes run.json with the status unchanged.
FGSF_API fgsf_status fgsf_run_update(fgsf_run *run, const fgsf_run_progress *progress);

// Writes run.json with a final status; `message` may be "".
FGSF_API fgsf_status fgsf_run_finish(fgsf_run *run, fgsf_run_status status,
                                     const fgsf_run_progress *progress, const char *message);

// Unlocks and frees; NULL does nothing. A run that was not finished stays resumable.
FGSF_API void fgsf_run_close(fgsf_run *run);

// Marks a run that its process left unfinished as failed. Does nothing when it is finished, has no
// run.json, or when another process holds it.
FGSF_API fgsf_status fgsf_run_mark_failed(const fgsf_run_id *id, const char *message);

// Opens a CSV file of the run for appending; its name is [a-z0-9_-]+.csv, of less than 32 bytes. With `last_step` < 0 it starts with `header` only.
// Otherwise rows whose first column is at most `last_step` stay and the rest is dropped, so that a resumed
// run ends with the same file as an uninterrupted one. The rows that stay must be, byte for byte, those of
// one of the last two syncs in run.json, which must have come to that step. Before a checkpoint is
// written, sync the rows and update run.json.
FGSF_API fgsf_status fgsf_csv_open(fgsf_run *run, const char *name, const char *header,
                                   int64_t last_step, fgsf_csv **out);

// Appends one row of less than 4096 bytes; a newline is added.
FGSF_API fgsf_status fgsf_csv_row(fgsf_csv *csv, const char *format, ...) FGSF_PRINTF(2, 3);

// Brings all rows to the disk. Notices when the file was removed, replaced or changed in length by
// someone else.
FGSF_API fgsf_status fgsf_csv_sync(fgsf_csv *csv);

// Syncs, closes and frees; NULL does nothing.
FGSF_API fgsf_status fgsf_csv_close(fgsf_csv *csv);

// Rebuilds OUT/summary.csv from every run found: one row per run, task and evaluation protocol.
// A run whose files cannot be read keeps a row that says so. When fgsf_run_verify objects to a
// finished run, its row has the status "damaged" and no numbers, and the call returns that objection
// after writing everything.
FGSF_API fgsf_status fgsf_run_summarize(const char *out);

FGSF_END_DECLS
#endif
