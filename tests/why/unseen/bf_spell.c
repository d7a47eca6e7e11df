/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: send_document writes a whole document to the checker before it reads any answer. The checker
 *     answers each line at once (check_lines). Both pipes fill, and each process waits in write until the
 *     other reads.
 *   culprit: send_document|check_lines
 *   victim: read_answers
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A program checks documents by a checker in another process: lines go there by a pipe, and come back by one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define LINE 64
#define AT_ONCE 100

static int to_checker, from_checker;
static int sends_all;
static volatile int documents, lines_checked;

static void write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			exit(1);
		bytes += done;
		size -= (size_t)done;
	}
}

static int read_all(int fd, char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = read(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

/* The checker: marks words in capitals. */
static void __attribute__((noinline)) check_lines(int in, int out)
{
	char line[LINE];

	while (!read_all(in, line, LINE)) {
		for (int i = 0; i < LINE - 1; i++)
			if (line[i] >= 'A' && line[i] <= 'Z')
				line[LINE - 2] = '!';
		write_all(out, line, LINE);
	}
}

static void __attribute__((noinline)) send_document(const char *text, int lines)
{
	write_all(to_checker, text, (size_t)lines * LINE);
}

static int __attribute__((noinline)) read_answers(int lines)
{
	char line[LINE];
	int marked = 0;

	for (int i = 0; i < lines; i++) {
		if (read_all(from_checker, line, LINE))
			exit(1);
		marked += line[LINE - 2] == '!';
		lines_checked++;
	}
	return marked;
}

static int check_document(const char *text, int lines)
{
	int marked = 0;

	if (sends_all) {
		send_document(text, lines);
		return read_answers(lines);
	}
	for (int first = 0; first < lines; first += AT_ONCE) {
		int some = lines - first < AT_ONCE ? lines - first : AT_ONCE;

		send_document(text + (size_t)first * LINE, some);
		marked += read_answers(some);
	}
	return marked;
}

static char *make_document(int number, int lines)
{
	char *text = malloc((size_t)lines * LINE);

	if (!text)
		exit(1);
	for (int i = 0; i < lines; i++) {
		memset(text + i * LINE, 'a' + (i + number) % 26, LINE);
		text[i * LINE] = (char)(i % 7 == 0 ? 'A' : 'a');
		text[i * LINE + LINE - 1] = '\n';
	}
	return text;
}

static void start_checker(void)
{
	int there[2], back[2];
	pid_t child;

	if (pipe(there) || pipe(back))
		exit(1);
	child = fork();
	if (child < 0)
		exit(1);
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		check_lines(there[0], back[1]);
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	to_checker = there[1];
	from_checker = back[0];
}

int main(int argc, char **argv)
{
	struct timespec pause = {0, 10000000};

	sends_all = argc > 1 && !strcmp(argv[1], "broken");
	start_checker();
	for (;;) {
		/* Most documents are short; each tenth is a book. */
		int lines = documents % 10 == 9 ? 8000 : 200;
		char *text = make_document(documents, lines);
		int marked = check_document(text, lines);

		free(text);
		documents++;
		if (documents % 10 == 0) {
			printf("%d documents, %d lines, %d marked\n", documents, lines_checked,
				marked);
			fflush(stdout);
		}
		nanosleep(&pause, NULL);
	}
}
