/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The filter child blocks in warn_about, as its pipe for diagnostics is full. The parent reads the
 *     child's output to its end first, and should read the diagnostics at the same time.
 *   culprit: warn_about|collect_diagnostics
 *   victim: collect_output
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct entry {
	const char *path;
	int lines;
	int bad_every; /* each so many lines have mixed line ends */
};

static const struct entry entries[] = {
	{"README", 400, 0},
	{"src/parse.c", 900, 90},
	{"src/table.c", 700, 140},
	{"data/legacy.csv", 6000, 2},
	{"doc/manual.txt", 500, 100},
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static atomic_uint entries_done;
static atomic_bool finished;
static bool broken;

static void warn_about(const char *path, int line)
{
	char text[160];
	int size = snprintf(text, sizeof(text), "warning: %s:%d: CRLF will be replaced by LF\n",
		path, line);

	if (write(STDERR_FILENO, text, (size_t)size) != size)
		_exit(3);
}

/* The child: it converts a file, line by line. */
static void smudge(const struct entry *entry)
{
	char text[64];

	for (int line = 1; line <= entry->lines; line++) {
		int size = snprintf(text, sizeof(text), "%s line %d\n", entry->path, line);

		if (entry->bad_every && line % entry->bad_every == 0)
			warn_about(entry->path, line);
		if (write(STDOUT_FILENO, text, (size_t)size) != size)
			_exit(3);
	}
	_exit(0);
}

static size_t collect_output(int fd)
{
	char buffer[4096];
	size_t total = 0;
	ssize_t count;

	while ((count = read(fd, buffer, sizeof(buffer))) > 0)
		total += (size_t)count;
	close(fd);
	return total;
}

static void *collect_diagnostics(void *argument)
{
	int fd = (int)(long)argument;
	char buffer[1024];
	size_t total = 0;
	ssize_t count;

	while ((count = read(fd, buffer, sizeof(buffer))) > 0)
		total += (size_t)count;
	close(fd);
	return (void *)total;
}

static int checkout_entry(const struct entry *entry)
{
	int output[2], errors[2], status;
	size_t written, warned;
	pthread_t collector;
	void *result;
	pid_t child;

	if (pipe(output) || pipe(errors))
		return -1;
	child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		dup2(output[1], STDOUT_FILENO);
		dup2(errors[1], STDERR_FILENO);
		close(output[0]);
		close(output[1]);
		close(errors[0]);
		close(errors[1]);
		smudge(entry);
	}
	close(output[1]);
	close(errors[1]);
	if (broken) {
		written = collect_output(output[0]);
		warned = (size_t)collect_diagnostics((void *)(long)errors[0]);
	} else {
		pthread_create(&collector, NULL, collect_diagnostics, (void *)(long)errors[0]);
		written = collect_output(output[0]);
		pthread_join(collector, &result);
		warned = (size_t)result;
	}
	if (waitpid(child, &status, 0) != child || status)
		return -1;
	printf("%-16s %6zu bytes, %6zu of warnings\n", entry->path, written, warned);
	return 0;
}

static void *show_progress(void *unused)
{
	pthread_setname_np(pthread_self(), "progress");
	while (!finished) {
		usleep(20000);
		fprintf(stderr, "\rfiltering: %u/%zu", entries_done, ENTRIES);
	}
	fputc('\n', stderr);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t progress;
	int failures = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_create(&progress, NULL, show_progress, NULL);
	for (size_t i = 0; i < ENTRIES; i++) {
		failures += checkout_entry(&entries[i]) != 0;
		usleep(10000);
		entries_done++;
	}
	finished = true;
	pthread_join(progress, NULL);
	return failures ? 1 : 0;
}
