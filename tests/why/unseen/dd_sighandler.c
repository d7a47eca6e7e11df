/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The handler of SIGCHLD (on_child) interrupts log_line of the main thread, which holds log_lock, and calls log_line itself; so the thread waits for a lock that it holds.
 *   culprit: on_child|log_lock|log_line
 *   victim: syslogd|run_syslogd
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A login server: it forks a process for each session, and logs to a daemon that confirms each line.
 * The handler of SIGCHLD counts the sessions.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS 8

static bool broken;
static int daemon_socket[2];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t sessions, child_ended;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The daemon writes each line to the disk, and confirms it. */
static void *run_syslogd(void *unused)
{
	char line[256];
	ssize_t size;

	while ((size = recv(daemon_socket[1], line, sizeof(line), 0)) > 0) {
		pause_ms(2);
		if (send(daemon_socket[1], "k", 1, 0) != 1)
			break;
	}
	return unused;
}

/* One line at a time goes to the daemon. */
static void log_line(const char *text, int number)
{
	char line[256], answer;
	int size;

	pthread_mutex_lock(&log_lock);
	size = snprintf(line, sizeof(line), "sshd[%d]: %s %d", (int)getpid(), text, number);
	if (send(daemon_socket[0], line, (size_t)size, 0) == size &&
		recv(daemon_socket[0], &answer, 1, 0) != 1)
		fputs("sshd: no log\n", stderr);
	pthread_mutex_unlock(&log_lock);
}

static void reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		sessions--;
		log_line("session ended, process", (int)pid);
	}
}

static void on_child(int number)
{
	(void)number;
	if (broken)
		reap();
	else
		child_ended = 1;
}

static void start_session(int number)
{
	pid_t parent = getpid();

	switch (fork()) {
	case -1: exit(1);
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		pause_ms(40 + number * 17);
		_exit(0);
	}
	sessions++;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	pthread_t thread;
	sigset_t child;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, daemon_socket))
		return 1;
	/* The handler runs in the main thread only. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < SESSIONS; i++)
		start_session(i);
	if (pthread_create(&thread, NULL, run_syslogd, NULL))
		return 1;
	pthread_setname_np(thread, "syslogd");
	pthread_sigmask(SIG_UNBLOCK, &child, NULL);

	for (int i = 0; sessions > 0; i++) {
		log_line("alive, round", i);
		if (child_ended) {
			child_ended = 0;
			reap();
		}
	}
	shutdown(daemon_socket[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	return 0;
}
