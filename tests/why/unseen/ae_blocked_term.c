/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The supervisor holds SIGTERM back for its signalfd, and start_tailer executes the tailers with
 *     that mask. So SIGTERM stays pending in each tailer, and stop_tailers waits for their end for ever.
 *   culprit: SIGTERM
 *   victim: stop_tailers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A supervisor of programs that follow log files. It counts their lines, restarts them and stops them. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAILERS 3
#define LINES 30

struct tailer {
	pid_t pid;
	int lines_fd;
	int lines, starts;
};

static struct tailer tailers[TAILERS];
static bool clean_mask;
static int signals;

/* The program "tailer": writes a line for each that it finds. Then it waits for more, as tail -f does. */
static int tail(int lines)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < lines; i++) {
		usleep(500);
		if (write(1, "line\n", 5) != 5)
			return 1;
	}
	if (lines < LINES)
		return 0; /* the log was rotated */
	for (;;)
		pause();
}

static void start_tailer(struct tailer *tailer)
{
	int ends[2];
	sigset_t none;

	if (pipe2(ends, O_CLOEXEC))
		exit(1);
	tailer->starts++;
	tailer->pid = fork();
	if (tailer->pid == 0) {
		dup2(ends[1], 1);
		sigemptyset(&none);
		if (clean_mask)
			sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/proc/self/exe", "tailer", "tailer", tailer->starts == 1 ? "12" : "30",
			(char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	tailer->lines_fd = ends[0];
}

static bool count_lines(struct tailer *tailer)
{
	char text[256];
	ssize_t got = read(tailer->lines_fd, text, sizeof(text));

	for (ssize_t i = 0; i < got; i++)
		tailer->lines += text[i] == '\n';
	return got > 0;
}

/* A tailer ended by itself: start it anew. */
static void reap_tailers(void)
{
	struct signalfd_siginfo info;
	pid_t pid;

	if (read(signals, &info, sizeof(info)) != sizeof(info) || info.ssi_signo != SIGCHLD)
		return;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < TAILERS; i++)
			if (tailers[i].pid == pid) {
				while (count_lines(&tailers[i]))
					continue;
				close(tailers[i].lines_fd);
				start_tailer(&tailers[i]);
			}
}

static bool all_counted(void)
{
	for (int i = 0; i < TAILERS; i++)
		if (tailers[i].lines < 12 + LINES)
			return false;
	return true;
}

/* Follows the logs until all lines are counted, or a signal asks to stop. */
static void follow_logs(void)
{
	while (!all_counted()) {
		struct pollfd fds[TAILERS + 1] = {{.fd = signals, .events = POLLIN}};

		for (int i = 0; i < TAILERS; i++) {
			fds[i + 1].fd = tailers[i].lines_fd;
			fds[i + 1].events = POLLIN;
		}
		if (poll(fds, TAILERS + 1, -1) < 0)
			continue;
		for (int i = 0; i < TAILERS; i++)
			if (fds[i + 1].revents & POLLIN)
				count_lines(&tailers[i]);
		if (fds[0].revents)
			reap_tailers();
	}
}

static void stop_tailers(void)
{
	for (int i = 0; i < TAILERS; i++)
		kill(tailers[i].pid, SIGTERM);
	for (int i = 0; i < TAILERS; i++) {
		int status = 0;

		waitpid(tailers[i].pid, &status, 0);
		close(tailers[i].lines_fd);
		if (!WIFSIGNALED(status))
			fprintf(stderr, "tailer %d ended strangely\n", i);
	}
}

int main(int argc, char **argv)
{
	sigset_t handled;
	int lines = 0;

	if (argc > 2 && !strcmp(argv[1], "tailer"))
		return tail(atoi(argv[2]));
	clean_mask = argc > 1 && !strcmp(argv[1], "healthy");
	sigemptyset(&handled);
	sigaddset(&handled, SIGCHLD);
	sigaddset(&handled, SIGTERM);
	sigprocmask(SIG_BLOCK, &handled, NULL);
	signals = signalfd(-1, &handled, SFD_CLOEXEC);
	for (int i = 0; i < TAILERS; i++)
		start_tailer(&tailers[i]);
	follow_logs();
	stop_tailers();
	for (int i = 0; i < TAILERS; i++)
		lines += tailers[i].lines;
	printf("%d lines\n", lines);
	return 0;
}
