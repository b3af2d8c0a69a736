// Expands variants and seeds into jobs, runs them, then brings the results together.
#include "study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "run_one.h"

typedef struct study_job {
    fgsf_run_id id;
    fgsf_config cfg;
} study_job;

typedef struct study {
    const fgsf_cli *cli;
    study_job *jobs;
    int num_jobs;
    char name[256];
} study;

static int run_job(void *ctx, int index, fgsf_job_progress *progress) {
    const study *s = ctx;
    const study_job *job = &s->jobs[index];
    return fgsf_run_one(&job->id, &job->cfg, s->cli->resume, progress);
}

static const char *job_name(void *ctx, int index) {
    study *s = ctx;
    const fgsf_run_id *id = &s->jobs[index].id;
    snprintf(s->name, sizeof s->name, "%s%s%s seed %lld", id->method, *id->cell ? "@" : "",
             id->cell, (long long)id->seed);
    return s->name;
}

static void job_ended(void *ctx, int index, fgsf_job_end end, const char *message) {
    const study *s = ctx;
    if (end == FGSF_JOB_CRASHED || end == FGSF_JOB_FAILED) {
        fgsf_run_mark_failed(&s->jobs[index].id, message);
    }
}

// Draws OUT/export with the export tool that is built beside the drivers.
static void draw(const fgsf_cli *cli) {
    char tool[4096], target[4096];
    ssize_t length = readlink("/proc/self/exe", tool, sizeof tool - 64);
    if (length < 0) {
        return;
    }
    tool[length] = '\0';
    char *slash = strrchr(tool, '/');
    snprintf(slash, sizeof tool - (size_t)(slash - tool), "/../notebooks-export/export");
    snprintf(target, sizeof target, "%s/export", cli->out);
    if (access(tool, X_OK) != 0) {
        fprintf(stderr, "%s: no figures: the export tool is not built\n", cli->spec->program);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (cli->quiet && !freopen("/dev/null", "w", stdout)) _exit(127);
        execl(tool, tool, cli->out, "-o", target, (char *)NULL);
        _exit(127);
    }
    int code = 0;
    if (pid < 0 || waitpid(pid, &code, 0) < 0 || code != 0) {
        fprintf(stderr, "%s: the figures of %s could not be drawn\n", cli->spec->program, cli->out);
    }
}

static bool wants_method(const fgsf_cli *cli, const char *method) {
    for (int m = 0; m < cli->num_methods; m++) {
        if (strcmp(cli->methods[m], method) == 0) {
            return true;
        }
    }
    return false;
}

// One job per variant and seed, those of this part of a job array. Seeds are the outer loop, so that
// an early look at a long study compares all variants on the seeds that are there.
static bool expand(study *s, const fgsf_variant *variants, int num_variants) {
    const fgsf_cli *cli = s->cli;
    int index = 0;
    s->jobs = calloc((size_t)(num_variants * cli->num_seeds), sizeof *s->jobs);
    for (int k = 0; k < cli->num_seeds && s->jobs; k++) {
        for (int v = 0; v < num_variants; v++) {
            const fgsf_variant *variant = &variants[v];
            if (!wants_method(cli, variant->method) || !fgsf_cli_mine(cli, index++)) {
                continue;
            }
            study_job *job = &s->jobs[s->num_jobs];
            job->id = (fgsf_run_id){cli->out, cli->spec->env, variant->method, variant->cell,
                                    cli->seeds[k]};
            if (!fgsf_cli_config(cli, variant->method, variant->settings, variant->num_settings,
                                 &job->cfg)) {
                return false;
            }
            job->cfg.seed = cli->seeds[k];
            if (fgsf_run_check(&job->id, &job->cfg) != FGSF_OK) {
                fgsf_cli_fail(cli);
                return false;
            }
            s->num_jobs++;
        }
    }
    return s->jobs != NULL;
}

int fgsf_study_run(const fgsf_cli *cli, const fgsf_variant *variants, int num_variants) {
    if (cli->print_config) {
        return fgsf_cli_print_config(cli, variants[0].settings, variants[0].num_settings);
    }
    study s = {.cli = cli};
    if (!expand(&s, variants, num_variants)) {
        free(s.jobs);
        return FGSF_CLI_BAD;
    }
    fgsf_jobs_options options = {
        .parallel = cli->jobs, .quiet = cli->quiet, .name = job_name, .ended = job_ended};
    int unfinished = fgsf_jobs_run(run_job, &s, s.num_jobs, &options);
    free(s.jobs);
    if (unfinished < 0 || fgsf_run_summarize(cli->out) != FGSF_OK) {
        return fgsf_cli_fail(cli);
    }
    if (fgsf_stop) {
        fprintf(stderr, "%s: stopped; go on with --resume\n", cli->spec->program);
        return 130;
    }
    draw(cli);
    return unfinished ? 1 : 0;
}

int fgsf_study_run_methods(const fgsf_cli *cli) {
    fgsf_variant variants[FGSF_CLI_MAX_METHODS];
    for (int m = 0; m < cli->num_methods; m++) {
        variants[m] = (fgsf_variant){.method = cli->methods[m], .cell = ""};
    }
    return fgsf_study_run(cli, variants, cli->num_methods);
}
