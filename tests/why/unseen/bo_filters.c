/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The filters are forked one after the other, and filter_start leaves the parent's ends of the earlier pipes
 *     open in the later children. So `upper` never sees the end of its input, and the parent waits for it for ever.
 *   culprit: filter_start|run_filter
 *   victim: main\b|filter_finish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Sends a text through several filters at a time, each a process of its own, and collects their results. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
	const char *name;
	void (*work)(int in, int out);
	pid_t pid;
	int to, from;
};

static bool tidy;
static bool finished;

static void put(int out, const char *text)
{
	if (write(out, text, strlen(text)) < 0)
		_exit(3);
}

static void upper(int in, int out)
{
	char buffer[512], result[64];
	ssize_t size;
	unsigned letters = 0;

	while ((size = read(in, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < size; i++)
			letters += isupper((unsigned char)buffer[i]) != 0;
	snprintf(result, sizeof result, "%u capitals", letters);
	put(out, result);
}

static void words(int in, int out)
{
	char buffer[512], result[64];
	ssize_t size;
	unsigned count = 0;
	bool inside = false;

	while ((size = read(in, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < size; i++) {
			bool space = isspace((unsigned char)buffer[i]);

			count += !space && !inside;
			inside = !space;
		}
	snprintf(result, sizeof result, "%u words", count);
	put(out, result);
}

static void checksum(int in, int out)
{
	char buffer[512], result[64];
	ssize_t size;
	unsigned sum = 1;

	while ((size = read(in, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < size; i++)
			sum = sum * 33 + (unsigned char)buffer[i];
	snprintf(result, sizeof result, "checksum %08x", sum);
	put(out, result);
}

static struct filter filters[] = {
	{.name = "upper", .work = upper},
	{.name = "words", .work = words},
	{.name = "checksum", .work = checksum},
};
#define FILTERS (sizeof filters / sizeof *filters)

static void run_filter(const struct filter *filter, int in, int out)
{
	if (tidy)
		for (const struct filter *other = filters; other < filter; other++) {
			close(other->to);
			close(other->from);
		}
	filter->work(in, out);
	_exit(0);
}

static void filter_start(struct filter *filter)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from)) {
		perror("pipe");
		exit(1);
	}
	filter->pid = fork();
	if (filter->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!filter->pid) {
		close(to[1]);
		close(from[0]);
		run_filter(filter, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	filter->to = to[1];
	filter->from = from[0];
}

static void filter_finish(struct filter *filter)
{
	char result[128];
	ssize_t size, length = 0;
	int status;

	close(filter->to);
	while ((size = read(filter->from, result + length, sizeof result - 1 - (size_t)length)) > 0)
		length += size;
	result[length] = 0;
	close(filter->from);
	waitpid(filter->pid, &status, 0);
	printf("%-9s %s\n", filter->name, result);
	fflush(stdout);
}

static void *spinner(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		usleep(80000);
		if (isatty(2))
			fputc('.', stderr);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char text[] = "The quick brown Fox jumps over the lazy Dog.\n";
	pthread_t thread;

	tidy = argc > 1 && !strcmp(argv[1], "healthy");
	for (size_t i = 0; i < FILTERS; i++)
		filter_start(&filters[i]);
	pthread_create(&thread, NULL, spinner, NULL);
	for (int line = 0; line < 100; line++)
		for (size_t i = 0; i < FILTERS; i++)
			if (write(filters[i].to, text, sizeof text - 1) < 0)
				perror(filters[i].name);
	for (size_t i = 0; i < FILTERS; i++)
		filter_finish(&filters[i]);
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return 0;
}
