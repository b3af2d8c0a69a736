// export RUNS -o OUT: turns run directories into figures, tables and a notebook.
//
// Everything is made in a hidden folder inside OUT and moved into place file by file at the very
// end, so that a failed export leaves OUT as it was. Exit code 2 with one line says what is wrong.
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "flags.h"
#include "io.h"
#include "jobs.h"
#include "say.h"

// The paper's values lie beside this source file.
static const char *default_paper_dir(void) {
    const char *slash = strrchr(__FILE__, '/');
    int length = slash ? (int)(slash - __FILE__) : 1;
    return pool_printf("%.*s/paper", length, slash ? __FILE__ : ".");
}

// Reads the command line; returns FGSF_FLAGS_RUN or the exit code.
static int read_flags(int argc, char **argv, exporter *e) {
    const fgsf_flag table[] = {
        {"--out", "DIR", "where to: DIR/figures, DIR/tables, DIR/notebook.ipynb", .text = &e->out,
         .letter = 'o'},
        {"--paper", "DIR", "the paper's values as CSV files, to stand beside ours",
         .text = &e->paper_dir},
        {"--partial", NULL, "only the training curves, and unfinished runs as far as they are",
         .on = &e->corpus.partial},
    };
    fgsf_flags flags = {"export",
                        "RUNS -o OUT [FLAGS]",
                        "Writes figures, tables and a notebook about the runs in the folder RUNS.",
                        table,
                        sizeof table / sizeof *table,
                        .words = &e->runs,
                        .max_words = 1};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN || (e->runs && e->out && *e->out)) return code;
    fgsf_say("export: %s (see --help)",
             e->runs ? "-o OUT is needed" : "a folder of runs is needed");
    return FGSF_FLAGS_BAD;
}

// What it leaves half done is removed when the program ends, by a signal too. Only SIGKILL leaves it to
// the next export.
static exporter the_export;

static void remove_stage(void) {
    if (the_export.stage) file_remove_tree(the_export.stage);
    pool_free();
}

// Locks a stage and returns its descriptor, or -1 when it is gone or is another export's. Who removes a
// stage holds the lock, too. Where there are no locks, leftovers are the lesser evil.
static int lock_stage(const char *path, bool mine) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, mine ? LOCK_EX : LOCK_EX | LOCK_NB) == 0;
    if ((locked || mine) && fd >= 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

// Removes the stages of exports that were killed.
static void remove_leftovers(exporter *e) {
    DIR *dir = opendir(e->out);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (fnmatch(".fgsf-export-??????", entry->d_name, 0) != 0) continue;
        const char *path = pool_printf("%s/%s", e->out, entry->d_name);
        int fd = lock_stage(path, false);
        if (fd < 0) continue;
        file_remove_tree(path);
        close(fd);
    }
    if (dir) closedir(dir);
}

static fgsf_status open_stage(exporter *e) {
    TRY(fgsf_io_make_directory(e->out));
    remove_leftovers(e);
    fgsf_jobs_watch_stop(); // until here there is nothing to remove
    e->lock = -1;
    for (int tries = 0; e->lock < 0 && tries < 10; tries++) { // one may go before it is locked
        const char *path = pool_printf("%s/.fgsf-export-XXXXXX", e->out);
        if (!mkdtemp((char *)path)) {
            return fgsf_fail(FGSF_ERR_IO, "%s: %s", e->out, strerror(errno));
        }
        e->stage = path;
        e->lock = lock_stage(path, true);
    }
    TRY(fgsf_io_make_directory(pool_printf("%s/figures", e->stage)));
    return fgsf_io_make_directory(pool_printf("%s/tables", e->stage));
}

static fgsf_status publish_file(exporter *e, const char *name) {
    const char *from = pool_printf("%s/%s", e->stage, name);
    const char *to = pool_printf("%s/%s", e->out, name);
    if (rename(from, to) != 0) return fgsf_fail(FGSF_ERR_IO, "%s: %s", to, strerror(errno));
    return FGSF_OK;
}

// Moves every file of stage/folder to out/folder.
static fgsf_status publish_folder(exporter *e, const char *folder) {
    names files = {0};
    TRY(fgsf_io_make_directory(pool_printf("%s/%s", e->out, folder)));
    TRY(file_list(pool_printf("%s/%s", e->stage, folder), &files));
    for (size_t i = 0; i < files.n; i++) {
        TRY(publish_file(e, pool_printf("%s/%s", folder, files.v[i])));
    }
    return FGSF_OK;
}

static fgsf_status run_export(exporter *e) {
    TRY(runs_read(e->runs, &e->corpus));
    TRY(paper_read(e->paper_dir, &e->paper));
    TRY(groups_make(e->runs, &e->corpus, &e->groups));
    TRY(open_stage(e));
    TRY(gnuplot_check(e));
    TRY(figures_write(e));
    if (!e->corpus.partial) TRY(tables_write(e));
    if (e->nmade == 0) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: no finished run to show yet", e->runs);
    }
    if (!e->corpus.partial) TRY(notebook_write(e));
    if (fgsf_stop) return fgsf_fail(FGSF_STOPPED, "stopped");
    TRY(publish_folder(e, "figures"));
    if (e->corpus.partial) return FGSF_OK;
    TRY(publish_folder(e, "tables"));
    return publish_file(e, "notebook.ipynb");
}

static void report(const exporter *e) {
    for (size_t i = 0; i < e->groups.n; i++) {
        for (size_t k = 0; k < e->groups.v[i].narms; k++) {
            const arm *a = &e->groups.v[i].arms[k];
            if (a->unfinished == 0 || !(e->groups.v[i].has & HAS_RUNS)) continue;
            printf("note    %s %s: %zu unfinished run(s) left out, %zu of them diverged\n",
                   e->groups.v[i].name, a->label, a->unfinished, a->diverged);
        }
    }
    for (size_t i = 0; i < e->nmade; i++) {
        const artefact *a = &e->made[i];
        printf("%-7s %s/%s.%s  %s\n", a->is_figure ? "figure" : "table",
               a->is_figure ? "figures" : "tables", a->name, a->is_figure ? "png" : "md",
               a->caption);
    }
    if (!e->corpus.partial) printf("wrote   %s/notebook.ipynb\n", e->out);
}

int main(int argc, char **argv) {
    exporter *e = &the_export;
    atexit(remove_stage);
    signal(SIGPIPE, SIG_IGN);
    cJSON_InitHooks(&(cJSON_Hooks){memory_get, free}); // so that what it makes is whole
    int code = read_flags(argc, argv, e);
    if (code != FGSF_FLAGS_RUN) return code;
    if (!e->paper_dir) e->paper_dir = default_paper_dir();
    fgsf_status status = run_export(e);
    if (status == FGSF_OK) {
        report(e);
    } else {
        fgsf_say("export: %s", fgsf_last_error());
    }
    return status == FGSF_OK ? 0 : status == FGSF_STOPPED ? 130 : 2;
}
