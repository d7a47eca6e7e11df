/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: ppp issue #318 ("chat.c deadlocks"): msgf holds log_mutex while it writes a modem's long answer to the
 *     log. Meanwhile the alarm comes, and its handler, on_alarm, runs in the same thread and calls msgf, too, which
 *     waits for log_mutex: the thread waits for itself. The thread "status" can't log any more, either.
 *   culprit: on_alarm
 *   victim: status
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Dials by a chat script: sends commands to a modem and expects its answers within a time, which an alarm ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ROUNDS 10
#define LINES 20

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_file;
static bool block_alarm;
static volatile sig_atomic_t timed_out;
static atomic_int timeouts, done;
static int line[2]; /* ours and the modem's end */

/* ---- the log ---- */

/* Logs a text, a line at a time, as the console is slow; lines that belong together stay together. */
static void msgf(const char *format, ...)
{
	char text[1024], *rest = text;
	sigset_t alarms, before;
	va_list arguments;
	size_t size;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sigemptyset(&alarms);
	if (block_alarm)
		sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, &before);
	pthread_mutex_lock(&log_mutex);
	while (*rest) {
		size = strcspn(rest, "\n") + 1;
		if (size > strlen(rest))
			size = strlen(rest);
		if (write(log_file, rest, size) < 0)
			exit(1);
		rest += size;
		usleep(8000);
	}
	pthread_mutex_unlock(&log_mutex);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the script ---- */

static void on_alarm(int number)
{
	(void)number;
	timed_out = 1;
	msgf("alarm\n");
}

static void set_alarm(int ms)
{
	struct itimerval timer = {{0, 0}, {0, ms * 1000}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Reads an answer up to OK; returns false if the time is up before. */
static bool get_string(void)
{
	char answer[1024];
	size_t size = 0;
	ssize_t n;

	timed_out = 0;
	set_alarm(100);
	while (!timed_out) {
		n = read(line[0], answer + size, sizeof(answer) - 1 - size);
		if (n <= 0)
			continue;
		answer[size += (size_t)n] = 0;
		msgf("%s", answer);
		if (strstr(answer, "OK\n"))
			break;
	}
	set_alarm(0);
	return !timed_out;
}

static void put_string(const char *command)
{
	msgf("send (%.3s)\n", command);
	if (write(line[0], command, strlen(command)) < 0)
		exit(1);
}

/* ---- the modem, and a thread that logs the state of the line ---- */

static void *modem(void *data)
{
	char command[64], text[1024];
	ssize_t n;
	int i;

	(void)data;
	while ((n = read(line[1], command, sizeof(command) - 1)) > 0) {
		command[n] = 0;
		usleep(10000);
		text[0] = 0;
		for (i = 0; !strcmp(command, "ATI9\n") && i < LINES; i++)
			sprintf(text + strlen(text), "S%02d=%03d PARAMETER OF THE LINE\n", i,
				i * 7);
		strcat(text, "OK\n");
		if (write(line[1], text, strlen(text)) < 0)
			exit(1);
	}
	return NULL;
}

static void *status(void *data)
{
	(void)data;
	while (!done) {
		usleep(70000);
		msgf("line up, %d timeouts\n", atomic_load(&timeouts));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	sigset_t alarms;
	int round;

	block_alarm = argc > 1 && !strcmp(argv[1], "healthy");
	log_file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (log_file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, line))
		return 1;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	if (pthread_create(&threads[0], NULL, modem, NULL) ||
		pthread_create(&threads[1], NULL, status, NULL))
		return 1;
	pthread_setname_np(threads[0], "modem");
	pthread_setname_np(threads[1], "status");
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	for (round = 0; round < ROUNDS; round++) {
		put_string(round == 7 ? "ATI9\n" : "ATZ\n");
		timeouts += !get_string();
		usleep(30000);
	}
	done = 1;
	shutdown(line[0], SHUT_RDWR);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d commands, %d timeouts\n", ROUNDS, timeouts);
	return 0;
}
