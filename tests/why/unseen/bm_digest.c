/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The index process is forked after the count process and inherits the write end of its input pipe,
 *     which it doesn't close. So count never reads the end of its input, and the parent, which waits for
 *     count's exit before it ends the input of index, waits for ever.
 *   culprit: filter_finish|waitpid|count\b
 *   victim: index\b|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Reads a log, gives its lines to two filter processes, one that counts and one that indexes, and collects the results. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES 400

struct filter {
	const char *name;
	pid_t pid;
	int input;  /* the parent writes lines here */
	int result; /* and reads the result from here at the end */
};

static atomic_int lines_given;
static atomic_bool finished;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* ---- filter processes ---- */

static void count_lines(FILE *input, FILE *result)
{
	char line[128];
	int levels[3] = {0};

	while (fgets(line, sizeof line, input)) {
		if (strstr(line, "error"))
			levels[2]++;
		else if (strstr(line, "warning"))
			levels[1]++;
		else
			levels[0]++;
	}
	fprintf(result, "%d info, %d warnings, %d errors\n", levels[0], levels[1], levels[2]);
}

static void index_lines(FILE *input, FILE *result)
{
	char line[128];
	int words = 0;
	unsigned hash = 5381;

	while (fgets(line, sizeof line, input)) {
		for (const char *at = line; *at; at++) {
			hash = hash * 33 + (unsigned char)*at;
			words += *at == ' ';
		}
	}
	fprintf(result, "%d words, digest %08x\n", words, hash);
}

static int filter_start(struct filter *filter, const char *name, void (*run)(FILE *, FILE *),
	int close_first)
{
	int input[2];
	int result[2];

	filter->name = name;
	if (pipe(input) || pipe(result))
		return -1;
	filter->pid = fork();
	if (filter->pid < 0)
		return -1;
	if (!filter->pid) {
		FILE *out = fdopen(result[1], "w");

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		close(input[1]);
		close(result[0]);
		if (close_first >= 0)
			close(close_first);
		run(fdopen(input[0], "r"), out);
		fclose(out);
		_exit(0);
	}
	close(input[0]);
	close(result[1]);
	filter->input = input[1];
	filter->result = result[0];
	return 0;
}

static void filter_give(const struct filter *filter, const char *line, size_t size)
{
	if (write(filter->input, line, size) != (ssize_t)size)
		exit(1);
}

static void filter_finish(struct filter *filter)
{
	char text[128];
	ssize_t size;
	int status;

	close(filter->input);
	waitpid(filter->pid, &status, 0);
	size = read(filter->result, text, sizeof text - 1);
	close(filter->result);
	if (size > 0)
		printf("%s: %.*s", filter->name, (int)size, text);
}

/* ---- the parent ---- */

static void *show_lines(void *data)
{
	(void)data;
	while (!atomic_load(&finished)) {
		printf("%d lines\n", atomic_load(&lines_given));
		fflush(stdout);
		pause_ms(50);
	}
	return NULL;
}

static int make_line(int number, char *line, size_t size)
{
	static const char *levels[] = {"info", "info", "warning", "info", "error", "info"};

	return snprintf(line, size, "%04d %s unit%d took %d ms\n", number, levels[number % 6],
		number % 11, number * 37 % 250);
}

int main(int argc, char **argv)
{
	struct filter count;
	struct filter words;
	pthread_t progress;

	if (argc < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (filter_start(&count, "count", count_lines, -1))
		return 1;
	if (filter_start(&words, "index", index_lines,
		    strcmp(argv[1], "healthy") ? -1 : count.input))
		return 1;
	pthread_create(&progress, NULL, show_lines, NULL);
	for (int i = 0; i < LINES; i++) {
		char line[128];
		int size = make_line(i, line, sizeof line);

		filter_give(&count, line, (size_t)size);
		filter_give(&words, line, (size_t)size);
		atomic_fetch_add(&lines_given, 1);
		if (i % 50 == 0)
			pause_ms(10);
	}
	filter_finish(&count);
	filter_finish(&words);
	atomic_store(&finished, true);
	pthread_join(progress, NULL);
	return 0;
}
