/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: Scanners that are forked later inherit the write ends of the pipes to the earlier ones and never close
 *     them. So scanner 0 sees no end of its input after the parent closed its end, and stop_scanner waits for it for ever.
 *   culprit: start_scanner|inherit|write end|keeps? .*open
 *   victim: stop_scanner|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A virus scanner: a pool of processes scans files, so that a crash of one does no harm. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCANNERS 3
#define FILES 12

struct job {
	unsigned number;
	char path[60];
};

struct verdict {
	unsigned number;
	bool infected;
};

struct scanner {
	pid_t pid;
	int jobs;     /* write end */
	int verdicts; /* read end */
};

static struct scanner scanners[SCANNERS];
static bool broken;
static volatile unsigned scanned;

static void scan_files(int jobs, int verdicts)
{
	struct job job;

	while (read(jobs, &job, sizeof job) == sizeof job) {
		struct verdict verdict = {job.number, strstr(job.path, "eicar") != NULL};

		usleep(3000);
		if (write(verdicts, &verdict, sizeof verdict) != sizeof verdict)
			break;
	}
}

static void close_others(int count)
{
	for (int i = 0; i < count; i++) {
		close(scanners[i].jobs);
		close(scanners[i].verdicts);
	}
}

static int start_scanner(int index)
{
	struct scanner *scanner = &scanners[index];
	int jobs[2], verdicts[2];

	if (pipe(jobs) || pipe(verdicts))
		return -1;
	scanner->pid = fork();
	if (scanner->pid == 0) {
		close(jobs[1]);
		close(verdicts[0]);
		if (!broken)
			close_others(index);
		scan_files(jobs[0], verdicts[1]);
		_exit(0);
	}
	close(jobs[0]);
	close(verdicts[1]);
	scanner->jobs = jobs[1];
	scanner->verdicts = verdicts[0];
	return scanner->pid < 0 ? -1 : 0;
}

static void stop_scanner(int index)
{
	struct scanner *scanner = &scanners[index];
	int status;

	close(scanner->jobs);
	waitpid(scanner->pid, &status, 0);
	close(scanner->verdicts);
	printf("scanner %d has ended\n", index);
}

static void scan_all(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		struct scanner *scanner = &scanners[i % SCANNERS];
		struct job job = {.number = i};

		snprintf(job.path, sizeof job.path, "/home/download/%s%u.exe",
			i % 5 ? "tool" : "eicar", i);
		if (write(scanner->jobs, &job, sizeof job) != sizeof job)
			perror("write");
	}
	for (unsigned i = 0; i < FILES; i++) {
		struct verdict verdict;

		if (read(scanners[i % SCANNERS].verdicts, &verdict, sizeof verdict) !=
			sizeof verdict)
			break;
		scanned++;
		if (verdict.infected)
			printf("file %u is infected\n", verdict.number);
	}
}

static void *show_progress(void *data)
{
	(void)data;
	for (;;) {
		usleep(200000);
		printf("%u files scanned\n", scanned);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t progress;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	for (int i = 0; i < SCANNERS; i++)
		if (start_scanner(i))
			return 1;
	pthread_create(&progress, NULL, show_progress, NULL);
	pthread_setname_np(progress, "progress");
	scan_all();
	for (int i = 0; i < SCANNERS; i++)
		stop_scanner(i);
	return 0;
}
