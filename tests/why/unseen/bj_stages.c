/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stage_start forks each stage with copies of the write ends of the earlier stages' job pipes, which
 *     the child doesn't close; so "scale" sees no end of its jobs when the parent closes its pipe, and waitpid
 *     for it never returns.
 *   culprit: stage_start|stage_run|sharpen|encode
 *   victim: main\b|waitpid
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A picture tool: each stage is a process with a pipe of jobs; all tell the parent what they did. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STAGES 3
#define PICTURES 10

struct job {
	int picture;
	int width;
};

struct result {
	int stage;
	int picture;
	int pixels;
};

struct stage {
	const char *name;
	pid_t pid;
	int jobs;
	int factor;
};

static struct stage stages[STAGES] = {
	{.name = "scale", .factor = 2},
	{.name = "sharpen", .factor = 3},
	{.name = "encode", .factor = 5},
};
static int results[2];
static bool tidy_child;

static bool read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t got = read(fd, at, size);

		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

static void write_all(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size) {
		perror("write");
		exit(1);
	}
}

static int process_picture(const struct job *job, int factor)
{
	int pixels = 0;

	for (int i = 0; i < job->width * 50; i++)
		pixels += (i * factor) % 7;
	usleep(1000);
	return pixels;
}

static int stage_run(int number, int jobs)
{
	struct job job;
	int count = 0;

	while (read_all(jobs, &job, sizeof job)) {
		struct result result = {.stage = number, .picture = job.picture};

		result.pixels = process_picture(&job, stages[number].factor);
		write_all(results[1], &result, sizeof result);
		count++;
	}
	return count;
}

static void close_earlier(int number)
{
	for (int i = 0; i < number; i++)
		close(stages[i].jobs);
}

static void stage_start(int number)
{
	struct stage *stage = &stages[number];
	int ends[2];

	if (pipe(ends)) {
		perror("pipe");
		exit(1);
	}
	stage->pid = fork();
	if (stage->pid == 0) {
		prctl(PR_SET_NAME, stage->name);
		close(ends[1]);
		close(results[0]);
		if (tidy_child)
			close_earlier(number);
		_exit(stage_run(number, ends[0]) == PICTURES ? 0 : 1);
	}
	close(ends[0]);
	stage->jobs = ends[1];
}

static void give_jobs(void)
{
	for (int picture = 0; picture < PICTURES; picture++) {
		struct job job = {.picture = picture, .width = 100 + picture * 10};

		for (int i = 0; i < STAGES; i++)
			write_all(stages[i].jobs, &job, sizeof job);
	}
}

static void take_results(void)
{
	long pixels[STAGES] = {0};
	struct result result;

	for (int i = 0; i < PICTURES * STAGES; i++) {
		if (!read_all(results[0], &result, sizeof result))
			break;
		pixels[result.stage] += result.pixels;
	}
	for (int i = 0; i < STAGES; i++)
		printf("%s: %ld\n", stages[i].name, pixels[i]);
}

static void stage_end(struct stage *stage)
{
	int status;

	close(stage->jobs);
	if (waitpid(stage->pid, &status, 0) != stage->pid || status != 0)
		printf("%s failed\n", stage->name);
}

int main(int argc, char **argv)
{
	tidy_child = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (pipe(results)) {
		perror("pipe");
		return 1;
	}
	for (int i = 0; i < STAGES; i++)
		stage_start(i);
	close(results[1]);
	give_jobs();
	take_results();
	fflush(stdout);
	for (int i = 0; i < STAGES; i++)
		stage_end(&stages[i]);
	puts("done");
	return 0;
}
