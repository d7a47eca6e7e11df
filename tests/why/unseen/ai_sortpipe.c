/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child preview is forked after the pipe to the sorter was made, and inherits its end for writing
 *     (start_preview doesn't close it). As the parent closes its own end, the sorter sees no end of file: it reads for
 *     ever, the parent waits for its output, and preview waits for the parent.
 *   culprit: start_preview|\bpreview\b.*(keep|hold|inherit|open|writ)|(keep|hold|inherit|open|writ).*\bpreview\b
 *   victim: sorter|collect_sorted|read_lines
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* sortpipe: sends lines through a process that sorts them, while another process shows a preview of them. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES 40
#define LINE_SIZE 24

struct child {
	pid_t pid;
	int in, out; /* the parent's ends: to the child and from it */
};

struct job {
	struct child sorter, preview;
	unsigned children;
	bool preview_early; /* from the first line on, or when all lines have been sent */
	unsigned sorted;
};

static void die(const char *what)
{
	fprintf(stderr, "sortpipe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void write_text(int fd, const char *text)
{
	size_t size = strlen(text);

	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0)
			die("write");
		text += n;
		size -= (size_t)n;
	}
}

/* ---- The sorter, a process ---- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Reads lines until the end of the file. */
__attribute__((noinline)) size_t read_lines(int fd, char (*lines)[LINE_SIZE], size_t max)
{
	size_t count = 0, used = 0;
	char buffer[512];
	ssize_t n;

	while ((n = read(fd, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < n && count < max; i++) {
			bool end = buffer[i] == '\n';

			if (end || used + 1 < LINE_SIZE)
				lines[count][used] = end ? '\0' : buffer[i];
			used = end ? 0 : used + 1;
			count += end;
		}
	return count;
}

__attribute__((noinline)) void run_sorter(int in, int out)
{
	static char lines[LINES * 2][LINE_SIZE];
	size_t count = read_lines(in, lines, LINES * 2);

	qsort(lines, count, LINE_SIZE, compare_lines);
	for (size_t i = 0; i < count; i++) {
		write_text(out, lines[i]);
		write_text(out, "\n");
	}
}

/* ---- The preview, a process ---- */

/* Shows lines until it is told to stop. */
__attribute__((noinline)) void run_preview(int in, int out)
{
	unsigned shown = 0;
	char c;

	while (read(in, &c, 1) == 1 && c != 'q')
		shown += c == '\n';
	write_text(out, shown > 0 ? "shown\n" : "nothing\n");
}

/* ---- Children ---- */

__attribute__((noinline)) void start_child(struct child *child, const char *name,
	void (*run)(int in, int out))
{
	int to[2], from[2];

	if (pipe(to) != 0 || pipe(from) != 0)
		die("pipe");
	child->pid = fork();
	if (child->pid < 0)
		die("fork");
	if (child->pid == 0) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		run(to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child->in = to[1];
	child->out = from[0];
}

__attribute__((noinline)) void start_sorter(struct job *job)
{
	start_child(&job->sorter, "sorter", run_sorter);
	job->children++;
}

__attribute__((noinline)) void start_preview(struct job *job)
{
	start_child(&job->preview, "preview", run_preview);
	job->children++;
}

__attribute__((noinline)) void end_child(struct child *child)
{
	int status;

	close(child->out);
	if (waitpid(child->pid, &status, 0) < 0)
		die("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fprintf(stderr, "sortpipe: a child failed\n");
}

/* ---- The job ---- */

__attribute__((noinline)) void send_lines(struct job *job)
{
	for (unsigned i = 0; i < LINES; i++) {
		char line[LINE_SIZE];

		snprintf(line, sizeof line, "%05u line %u\n", i * 7919 % 10007, i);
		write_text(job->sorter.in, line);
		if (job->preview_early)
			write_text(job->preview.in, line);
		if (i % 10 == 9)
			pause_ms(20);
	}
}

/* Reads what the sorter writes, to its end. */
__attribute__((noinline)) void collect_sorted(struct job *job)
{
	char buffer[512];
	ssize_t n;

	close(job->sorter.in);
	while ((n = read(job->sorter.out, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < n; i++)
			job->sorted += buffer[i] == '\n';
}

__attribute__((noinline)) void stop_preview(struct job *job)
{
	char answer[16];

	write_text(job->preview.in, "q");
	if (read(job->preview.out, answer, sizeof answer) < 0)
		die("preview");
	close(job->preview.in);
}

int main(int argc, char **argv)
{
	struct job job = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: sortpipe broken|healthy\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	job.preview_early = strcmp(argv[1], "broken") != 0;
	if (job.preview_early)
		start_preview(&job);
	start_sorter(&job);
	send_lines(&job);
	if (!job.preview_early) {
		start_preview(&job);
		write_text(job.preview.in, "only the last line\n");
	}
	collect_sorted(&job);
	end_child(&job.sorter);
	stop_preview(&job);
	end_child(&job.preview);
	printf("%u lines sorted by %u children\n", job.sorted, job.children);
	return 0;
}
