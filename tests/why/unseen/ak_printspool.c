/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: start_previewer forks the helper “previewer” while the pipe to the filter of the running job is open, and
 *     doesn't close it in the child. So the previewer keeps a writing end of the filter's standard input; the filter
 *     never sees its end, and the spooler waits for the rest of the filter's output.
 *   culprit: start_previewer|previewer
 *   victim: filter|collect_output|finish_job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* printspool sends print jobs through a filter (a program of its own), and shows pages in a previewer on request. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct job {
	const char *title;
	int pages;
	int preview; /* this page is shown; 0: the title is shown before the job starts, -1: nothing */
};

struct filter {
	pid_t pid;
	int to, from;
	size_t printed;
};

static const struct job broken_jobs[] = {{"letter", 2, -1}, {"report", 6, 3}, {"ticket", 1, -1}};
static const struct job healthy_jobs[] = {{"letter", 2, -1}, {"report", 6, 0}, {"ticket", 1, -1}};

#define JOBS (sizeof broken_jobs / sizeof broken_jobs[0])

static int previewer_fd = -1;
static pid_t previewer_pid;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			fail("printspool: write");
		text += written;
		length -= (size_t)written;
	}
}

/* The filter: turns text into what the printer understands; it knows the number of pages only at the end. */
__attribute__((noinline)) int run_filter(void)
{
	char text[4096], trailer[64];
	ssize_t length;
	int pages = 0;

	prctl(PR_SET_NAME, "filter");
	write_all(1, "@PJL BEGIN\n", 11);
	while ((length = read(0, text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < length; i++)
			pages += text[i] == '\f';
		write_all(1, text, (size_t)length);
	}
	snprintf(trailer, sizeof trailer, "@PJL END %d\n", pages);
	write_all(1, trailer, strlen(trailer));
	return 0;
}

/* The previewer: shows each page that it gets until the spooler closes it. */
__attribute__((noinline)) int run_previewer(void)
{
	char page[1024];

	prctl(PR_SET_NAME, "previewer");
	while (read(0, page, sizeof page) > 0)
		pause_ms(3);
	return 0;
}

__attribute__((noinline)) void start_filter(struct filter *filter)
{
	int to[2], from[2];

	if (pipe(to) < 0 || pipe(from) < 0)
		fail("printspool: pipe");
	filter->pid = fork();
	if (filter->pid < 0)
		fail("printspool: fork");
	if (!filter->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		if (previewer_fd >= 0)
			close(previewer_fd);
		execl("/proc/self/exe", "filter", "--filter", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	filter->to = to[1];
	filter->from = from[0];
	filter->printed = 0;
}

__attribute__((noinline)) void start_previewer(void)
{
	int pages[2];

	if (pipe(pages) < 0)
		fail("printspool: pipe");
	previewer_pid = fork();
	if (previewer_pid < 0)
		fail("printspool: fork");
	if (!previewer_pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pages[0], 0);
		close(pages[0]);
		close(pages[1]);
		execl("/proc/self/exe", "previewer", "--previewer", (char *)NULL);
		_exit(127);
	}
	close(pages[0]);
	previewer_fd = pages[1];
}

__attribute__((noinline)) void show_page(const char *page, size_t length)
{
	if (previewer_fd < 0)
		start_previewer();
	write_all(previewer_fd, page, length);
}

static size_t lay_out_page(const struct job *job, int number, char *page, size_t size)
{
	int length = snprintf(page, size, "%s, page %d of %d\n", job->title, number, job->pages);

	for (int line = 0; line < 10; line++)
		length += snprintf(page + length, size - (size_t)length,
			"%02d lorem ipsum dolor sit amet\n", line);
	length += snprintf(page + length, size - (size_t)length, "\f");
	return (size_t)length;
}

__attribute__((noinline)) void collect_output(struct filter *filter)
{
	char data[4096];
	ssize_t length;

	for (;;) {
		length = read(filter->from, data, sizeof data);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			break;
		filter->printed += (size_t)length;
	}
	close(filter->from);
}

__attribute__((noinline)) int finish_job(struct filter *filter)
{
	int status;

	close(filter->to);
	collect_output(filter);
	while (waitpid(filter->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

__attribute__((noinline)) void print_job(const struct job *job)
{
	struct filter filter;
	char page[1024];
	int status;

	if (job->preview == 0)
		show_page(job->title, strlen(job->title));
	start_filter(&filter);
	for (int number = 1; number <= job->pages; number++) {
		size_t length = lay_out_page(job, number, page, sizeof page);

		write_all(filter.to, page, length);
		if (number == job->preview)
			show_page(page, length);
		pause_ms(10);
	}
	status = finish_job(&filter);
	printf("%s: %zu bytes printed, status %d\n", job->title, filter.printed, status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct job *jobs = healthy_jobs;

	if (argc > 1 && !strcmp(argv[1], "--filter"))
		return run_filter();
	if (argc > 1 && !strcmp(argv[1], "--previewer"))
		return run_previewer();
	if (argc > 1 && !strcmp(argv[1], "broken"))
		jobs = broken_jobs;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < JOBS; i++)
		print_job(&jobs[i]);
	if (previewer_fd >= 0) {
		close(previewer_fd);
		waitpid(previewer_pid, NULL, 0);
	}
	return 0;
}
