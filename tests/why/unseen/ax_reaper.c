/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reap_named reaps only the child that the siginfo names; four jobs of the nightly batch ended
 *     while SIGCHLD was blocked, so there was one signal for all four; three are never reaped, and main
 *     waits for the next SIGCHLD for ever in next_exit
 *   culprit: reap_named|batch_reap
 *   victim: main|next_exit|sigwaitinfo|batch_finish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small job supervisor: runs batches of jobs as processes, and keeps a journal of how they ended. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_JOBS 16

struct job {
	pid_t pid;
	const char *name;
	int milliseconds;
	int attempts;
	int status;
	bool running;
};

struct batch;

typedef void reap_fn(struct batch *batch, const siginfo_t *info);

struct batch {
	const char *name;
	struct job jobs[MAX_JOBS];
	int count;
	int running;
	int failed;
	int journal;
	sigset_t watched;
	reap_fn *reap;
};

static void pause_ms(int milliseconds)
{
	struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

static void journal_write(struct batch *batch, const char *event, const char *name)
{
	char line[120];
	int length = snprintf(line, sizeof(line), "%s %s %s\n", batch->name, event, name);

	if (write(batch->journal, line, (size_t)length) != length)
		perror("journal");
	fdatasync(batch->journal);
}

static void job_run(const struct job *job)
{
	pause_ms(job->milliseconds);
	/* the first attempt to upload always meets a lock of the day before */
	_exit(!strcmp(job->name, "upload") && job->attempts == 1 ? 75 : 0);
}

static void job_start(struct batch *batch, struct job *job)
{
	job->attempts++;
	job->pid = fork();
	if (job->pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!job->pid)
		job_run(job);
	job->running = true;
	batch->running++;
}

static void job_ended(struct batch *batch, struct job *job, int status)
{
	job->running = false;
	job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	batch->running--;
	journal_write(batch, job->status ? "failed" : "done", job->name);
	if (job->status == 75 && job->attempts < 3)
		job_start(batch, job);
	else if (job->status)
		batch->failed++;
}

static struct job *find_job(struct batch *batch, pid_t pid)
{
	for (int i = 0; i < batch->count; i++)
		if (batch->jobs[i].running && batch->jobs[i].pid == pid)
			return &batch->jobs[i];
	return NULL;
}

static void reap_named(struct batch *batch, const siginfo_t *info)
{
	struct job *job = find_job(batch, info->si_pid);
	int status;

	if (job && waitpid(info->si_pid, &status, WNOHANG) == info->si_pid)
		job_ended(batch, job, status);
}

static void reap_each(struct batch *batch, const siginfo_t *info)
{
	pid_t pid;
	int status;

	(void)info;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct job *job = find_job(batch, pid);

		if (job)
			job_ended(batch, job, status);
	}
}

static bool next_exit(struct batch *batch, siginfo_t *info)
{
	while (sigwaitinfo(&batch->watched, info) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

static void batch_reap(struct batch *batch, const siginfo_t *info)
{
	if (info->si_signo == SIGCHLD)
		batch->reap(batch, info);
}

static void batch_add(struct batch *batch, const char *name, int milliseconds)
{
	struct job *job = &batch->jobs[batch->count++];

	memset(job, 0, sizeof(*job));
	job->name = name;
	job->milliseconds = milliseconds;
}

static void batch_start(struct batch *batch)
{
	for (int i = 0; i < batch->count; i++) {
		job_start(batch, &batch->jobs[i]);
		journal_write(batch, "start", batch->jobs[i].name);
	}
}

static int batch_finish(struct batch *batch)
{
	siginfo_t info;

	while (batch->running && next_exit(batch, &info))
		batch_reap(batch, &info);
	printf("%s: %d jobs, %d failed\n", batch->name, batch->count, batch->failed);
	batch->count = 0;
	return batch->failed;
}

static void rotate_journal(struct batch *batch)
{
	/* compressing the old journal takes its time */
	pause_ms(120);
	if (ftruncate(batch->journal, 0) < 0)
		perror("ftruncate");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	struct batch batch = {.name = "hourly"};
	char path[] = "/tmp/ax_reaper.XXXXXX";
	int failed;

	batch.reap = !strcmp(mode, "broken") ? reap_named : reap_each;
	batch.journal = mkstemp(path);
	if (batch.journal < 0)
		return 2;
	unlink(path);
	sigemptyset(&batch.watched);
	sigaddset(&batch.watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &batch.watched, NULL);

	batch_add(&batch, "ping", 40);
	batch_start(&batch);
	failed = batch_finish(&batch);

	batch_add(&batch, "upload", 30);
	batch_start(&batch);
	failed += batch_finish(&batch);

	batch.name = "nightly";
	batch_add(&batch, "vacuum", 60);
	batch_add(&batch, "backup", 60);
	batch_add(&batch, "index", 60);
	batch_add(&batch, "report", 60);
	batch_start(&batch);
	rotate_journal(&batch);
	failed += batch_finish(&batch);
	return failed ? 1 : 0;
}
