/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: helper_start forks the smudge helper while the clean helper's input pipe is open without
 *     close-on-exec; the smudge helper keeps a copy of that write end, so the clean helper never sees the
 *     end of its input, and main waits in waitpid for it for ever
 *   culprit: smudge
 *   victim: clean|helper_finish|helper_start|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A checkout tool that sends files through two long running filter helpers. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_HELPERS 4

struct helper {
	const char *name;
	pid_t pid;
	int to;
	int from;
	unsigned lines;
};

static struct helper *started[MAX_HELPERS];
static int started_count;
static bool keep_others;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Copies lines from its input to its output, with the case of each letter swapped, until its input ends. */
static void helper_main(const char *name, int in, int out)
{
	char buffer[256];
	ssize_t size;

	prctl(PR_SET_NAME, name);
	while ((size = read(in, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < size; i++)
			if ((buffer[i] | 32) >= 'a' && (buffer[i] | 32) <= 'z')
				buffer[i] ^= 32;
		if (write(out, buffer, (size_t)size) != size)
			_exit(1);
	}
	_exit(size < 0);
}

static void close_inherited(void)
{
	for (int i = 0; i < started_count; i++) {
		close(started[i]->to);
		close(started[i]->from);
	}
}

static void helper_start(struct helper *helper, const char *name)
{
	int in[2];
	int out[2];

	if (pipe(in) || pipe(out))
		die("pipe");
	helper->name = name;
	helper->lines = 0;
	helper->pid = fork();
	if (helper->pid < 0)
		die("fork");
	if (!helper->pid) {
		close(in[1]);
		close(out[0]);
		if (!keep_others)
			close_inherited();
		helper_main(name, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	helper->to = in[1];
	helper->from = out[0];
	started[started_count++] = helper;
}

static void helper_filter(struct helper *helper, const char *line)
{
	char answer[256];
	size_t length = strlen(line);
	size_t got = 0;

	if (write(helper->to, line, length) != (ssize_t)length)
		die("write to helper");
	while (got < length) {
		ssize_t size = read(helper->from, answer + got, sizeof(answer) - got);

		if (size <= 0)
			die("read from helper");
		got += (size_t)size;
	}
	helper->lines++;
}

static void helper_finish(struct helper *helper)
{
	int status;

	close(helper->to);
	while (waitpid(helper->pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	close(helper->from);
	printf("%s: %u lines, status %d\n", helper->name, helper->lines, status);
}

static void checkout_files(struct helper *clean, struct helper *smudge)
{
	char line[64];

	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "path/to/file-%d.txt\n", i);
		helper_filter(clean, line);
		if (i % 2)
			helper_filter(smudge, line);
		usleep(2000);
	}
}

int main(int argc, char **argv)
{
	struct helper clean;
	struct helper smudge;

	keep_others = argc > 1 && !strcmp(argv[1], "broken");
	helper_start(&clean, "clean");
	helper_start(&smudge, "smudge");
	checkout_files(&clean, &smudge);
	helper_finish(&clean);
	helper_finish(&smudge);
	return 0;
}
