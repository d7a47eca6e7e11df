/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child “counter” was forked by start_filter() while the pipe to the “sorter” was open, and has inherited
 *     its write end. So the sorter never reads the end of its input, the parent waits in collect_output() for the
 *     sorter's output, and the counter waits for input that the parent sends only later.
 *   culprit: counter|start_filter
 *   victim: sorter|collect_output
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes a list of the most frequent words: sends words through two child processes, one that sorts and one that counts. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MAX_TEXT 1024

struct filter {
	const char *name;
	int (*run)(FILE *input, FILE *output);
	pid_t pid;
	int input, output; /* the parent's ends of the pipes */
};

static const char text[] = "tea milk tea bread salt milk tea jam bread tea";

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static int compare_words(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A child: sorts lines. */
static NOINLINE int sort_lines(FILE *input, FILE *output)
{
	char *lines[64], *line = NULL;
	size_t count = 0, size = 0;

	while (count < 64 && getline(&line, &size, input) > 0) {
		lines[count++] = line;
		line = NULL;
	}
	free(line);
	pause_ms(50);
	qsort(lines, count, sizeof(*lines), compare_words);
	for (size_t i = 0; i < count; i++) {
		fputs(lines[i], output);
		free(lines[i]);
	}
	return ferror(input) || ferror(output);
}

/* A child: counts lines that are the same. */
static NOINLINE int count_lines(FILE *input, FILE *output)
{
	char *line = NULL, *last = NULL;
	size_t size = 0;
	int count = 0;

	while (getline(&line, &size, input) > 0) {
		if (last && strcmp(last, line)) {
			fprintf(output, "%d %s", count, last);
			count = 0;
		}
		count++;
		free(last);
		last = line;
		line = NULL;
	}
	if (last)
		fprintf(output, "%d %s", count, last);
	pause_ms(50);
	free(last);
	free(line);
	return ferror(input) || ferror(output);
}

static NOINLINE void run_filter(const struct filter *filter, int input, int output)
{
	FILE *in = fdopen(input, "r"), *out = fdopen(output, "w");
	int result;

	prctl(PR_SET_NAME, filter->name);
	result = !in || !out || filter->run(in, out);
	if (out && fclose(out))
		result = 1;
	_exit(result);
}

static NOINLINE int start_filter(struct filter *filter)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;
	filter->pid = fork();
	if (filter->pid < 0)
		return -1;
	if (filter->pid == 0) {
		close(to[1]);
		close(from[0]);
		run_filter(filter, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	filter->input = to[1];
	filter->output = from[0];
	return 0;
}

static NOINLINE int send_input(struct filter *filter, const char *input)
{
	size_t length = strlen(input);
	ssize_t sent = write(filter->input, input, length); /* fits into the pipe */

	close(filter->input);
	filter->input = -1;
	return sent == (ssize_t)length ? 0 : -1;
}

/* Reads until the filter closes its output. */
static NOINLINE int collect_output(struct filter *filter, char *output, size_t size)
{
	size_t used = 0;
	ssize_t got;

	while (used < size - 1) {
		got = read(filter->output, output + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	output[used] = '\0';
	close(filter->output);
	return used ? 0 : -1;
}

static NOINLINE int reap_filter(struct filter *filter)
{
	int status;

	if (waitpid(filter->pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "%s has failed\n", filter->name);
		return -1;
	}
	return 0;
}

static NOINLINE void split_words(const char *words, char *lines, size_t size)
{
	snprintf(lines, size, "%s\n", words);
	for (; *lines; lines++)
		if (*lines == ' ')
			*lines = '\n';
}

int main(int argc, char **argv)
{
	struct filter sorter = {.name = "sorter", .run = sort_lines};
	struct filter counter = {.name = "counter", .run = count_lines};
	bool start_early = argc > 1 &&
		!strcmp(argv[1], "broken"); /* forks all at the beginning, to save time */
	char buffer[MAX_TEXT], sorted[MAX_TEXT];

	split_words(text, buffer, sizeof(buffer));
	if (start_filter(&sorter) || (start_early && start_filter(&counter)))
		return EXIT_FAILURE;
	pause_ms(50);
	if (send_input(&sorter, buffer) || collect_output(&sorter, sorted, sizeof(sorted)) ||
		reap_filter(&sorter))
		return EXIT_FAILURE;
	if (!start_early && start_filter(&counter))
		return EXIT_FAILURE;
	if (send_input(&counter, sorted) || collect_output(&counter, buffer, sizeof(buffer)) ||
		reap_filter(&counter))
		return EXIT_FAILURE;
	fputs(buffer, stdout);
	return EXIT_SUCCESS;
}
