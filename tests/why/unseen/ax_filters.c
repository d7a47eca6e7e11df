/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: start_filter makes the pipes without close-on-exec, so the second filter of the chain inherits
 *     the end through which the first is fed; the first never sees the end of its input, and main waits in
 *     collect_output for the end of its output
 *   culprit: start_filter|open_pipe
 *   victim: main|collect_output|finish_filter|run_pair
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A document converter that sends text through external filters, several of which run at the same time. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
	const char *name;
	char *const *arguments;
	pid_t pid;
	int in;  /* we write here */
	int out; /* we read here */
	char text[8192];
	size_t size;
};

struct converter {
	int pipe_flags;
	int filters_run;
};

static char *const sort_arguments[] = {"sort", "-r", NULL};
static char *const upper_arguments[] = {"tr", "a-z", "A-Z", NULL};
static char *const count_arguments[] = {"wc", "-l", NULL};

static void open_pipe(struct converter *converter, int ends[2])
{
	if (pipe2(ends, converter->pipe_flags) < 0) {
		perror("pipe2");
		exit(2);
	}
}

static void start_filter(struct converter *converter, struct filter *filter, const char *name,
	char *const *arguments)
{
	int input[2], output[2];

	memset(filter, 0, sizeof(*filter));
	filter->name = name;
	filter->arguments = arguments;
	open_pipe(converter, input);
	open_pipe(converter, output);
	filter->pid = fork();
	if (filter->pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!filter->pid) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		close(input[0]);
		close(input[1]);
		close(output[0]);
		close(output[1]);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	filter->in = input[1];
	filter->out = output[0];
	converter->filters_run++;
}

static bool feed_filter(struct filter *filter, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(filter->in, text, size);

		if (written < 0) {
			if (errno == EINTR)
				continue;
			fprintf(stderr, "%s: %s\n", filter->name, strerror(errno));
			return false;
		}
		text += written;
		size -= (size_t)written;
	}
	return true;
}

static void end_input(struct filter *filter)
{
	close(filter->in);
	filter->in = -1;
}

static bool collect_output(struct filter *filter)
{
	for (;;) {
		size_t space = sizeof(filter->text) - 1 - filter->size;
		ssize_t got = read(filter->out, filter->text + filter->size, space);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		filter->size += (size_t)got;
	}
}

static bool finish_filter(struct filter *filter)
{
	bool ok;
	int status;

	end_input(filter);
	ok = collect_output(filter);
	close(filter->out);
	filter->text[filter->size] = 0;
	while (waitpid(filter->pid, &status, 0) < 0 && errno == EINTR)
		;
	return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static size_t make_page(char *text, size_t size, int page)
{
	size_t length = 0;

	for (int i = 0; i < 30; i++)
		length += (size_t)snprintf(text + length, size - length,
			"page %d, line %02d of the draft\n", page, i);
	return length;
}

static bool count_lines(struct converter *converter, int page)
{
	struct filter count;
	char text[2048];
	size_t size = make_page(text, sizeof(text), page);

	start_filter(converter, &count, "count", count_arguments);
	return feed_filter(&count, text, size) && finish_filter(&count) && atoi(count.text) == 30;
}

/* The answer of the first filter goes to the second, which starts meanwhile: starting it takes long. */
static bool run_pair(struct converter *converter, int page)
{
	struct filter sort, upper;
	char text[2048];
	size_t size = make_page(text, sizeof(text), page);

	start_filter(converter, &sort, "sort", sort_arguments);
	start_filter(converter, &upper, "upper", upper_arguments);
	if (!feed_filter(&sort, text, size) || !finish_filter(&sort))
		return false;
	if (!feed_filter(&upper, sort.text, sort.size) || !finish_filter(&upper))
		return false;
	return upper.size == size && strstr(upper.text, "LINE 29");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	struct converter converter = {.pipe_flags = strcmp(mode, "broken") ? O_CLOEXEC : 0};
	int bad = 0;

	signal(SIGPIPE, SIG_IGN);
	for (int page = 0; page < 6; page++)
		bad += !count_lines(&converter, page);
	for (int page = 0; page < 6; page++)
		bad += !run_pair(&converter, page);
	printf("%d filters, %d bad pages\n", converter.filters_run, bad);
	return bad ? 1 : 0;
}
