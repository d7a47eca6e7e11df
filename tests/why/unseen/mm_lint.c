/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The checker blocks as its diagnostics pipe is full; the parent reads only reports to their end.
 *   culprit: emit_diagnostic
 *   victim: read_reports
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Checks batches of configuration files. Each batch has a process, which sends reports and diagnostics. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BATCHES = 4,
	FILES = 300
};

struct checker {
	pid_t process;
	int reports, diagnostics;
	size_t report_bytes, diagnostic_bytes;
};

static bool read_both;

static void send_all(int end, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t sent = write(end, text, length);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			_exit(3);
		text += sent;
		length -= sent;
	}
}

static void emit_report(int reports, int batch, int file)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "batch %d file site-%03d.conf: checked\n", batch,
		file);

	send_all(reports, line, length);
}

/* The fourth batch is from the old server, and each of its files has many obsolete options. */
static void emit_diagnostic(int diagnostics, int batch, int file)
{
	int warnings = batch == 3 ? 6 : file % 9 == 0;
	char line[192];

	for (int i = 0; i < warnings; i++) {
		int length = snprintf(line, sizeof(line),
			"site-%03d.conf:%d: the option listen-backlog-%d "
			"is obsolete, use the option backlog in the section server\n",
			file, 10 + i * 7, i);

		send_all(diagnostics, line, length);
	}
}

static void check_batch(int batch, int reports, int diagnostics)
{
	for (int file = 0; file < FILES; file++) {
		if (file % 50 == 0)
			usleep(3000); /* reads the next folder */
		emit_diagnostic(diagnostics, batch, file);
		emit_report(reports, batch, file);
	}
	_exit(0);
}

static bool start_checker(struct checker *checker, int batch)
{
	int reports[2], diagnostics[2];

	if (pipe2(reports, 0) || pipe2(diagnostics, 0))
		return false;
	checker->process = fork();
	if (checker->process < 0)
		return false;
	if (checker->process == 0) {
		close(reports[0]);
		close(diagnostics[0]);
		check_batch(batch, reports[1], diagnostics[1]);
	}
	close(reports[1]);
	close(diagnostics[1]);
	checker->reports = reports[0];
	checker->diagnostics = diagnostics[0];
	checker->report_bytes = checker->diagnostic_bytes = 0;
	return true;
}

static bool read_some(int end, size_t *bytes)
{
	char buffer[4096];
	ssize_t got = read(end, buffer, sizeof(buffer));

	if (got > 0)
		*bytes += got;
	return got > 0;
}

static void read_reports(struct checker *checker)
{
	while (read_some(checker->reports, &checker->report_bytes))
		continue;
}

static void drain_diagnostics(struct checker *checker)
{
	while (read_some(checker->diagnostics, &checker->diagnostic_bytes))
		continue;
}

static void read_as_they_come(struct checker *checker)
{
	struct pollfd ends[2] = {
		{.fd = checker->reports, .events = POLLIN},
		{.fd = checker->diagnostics, .events = POLLIN},
	};

	while (ends[0].fd >= 0 || ends[1].fd >= 0) {
		if (poll(ends, 2, -1) < 0)
			continue;
		if (ends[0].revents && !read_some(ends[0].fd, &checker->report_bytes))
			ends[0].fd = -1;
		if (ends[1].revents && !read_some(ends[1].fd, &checker->diagnostic_bytes))
			ends[1].fd = -1;
	}
}

static int finish_checker(struct checker *checker)
{
	int status = -1;

	close(checker->reports);
	close(checker->diagnostics);
	while (waitpid(checker->process, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct checker checker;
	int worst = 0;

	read_both = argc > 1 && !strcmp(argv[1], "healthy");
	for (int batch = 0; batch < BATCHES; batch++) {
		int status;

		if (!start_checker(&checker, batch))
			return 1;
		if (read_both) {
			read_as_they_come(&checker);
		} else {
			read_reports(&checker);
			drain_diagnostics(&checker);
		}
		status = finish_checker(&checker);
		printf("batch %d: %zu bytes of reports, %zu of diagnostics, status %d\n", batch,
			checker.report_bytes, checker.diagnostic_bytes, status);
		fflush(stdout);
		if (status > worst)
			worst = status;
	}
	return worst;
}
