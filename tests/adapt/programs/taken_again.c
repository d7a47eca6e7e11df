/* SPDX-License-Identifier: ISC */
/*
 * Threads that wait for a lock which they hold themselves. It knows nothing of thrum. SIGALRM ends it.
 *
 * taken_again handler	a handler takes the lock that the interrupted code holds
 * taken_again asleep	the same, and the handler interrupts a sleep
 * taken_again blocked	no handler runs; the signal that has one is blocked, as in a thread for signals
 * taken_again fine	the handler takes a lock that is free
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void add_line(void)
{
	pthread_mutex_lock(&log_lock);
	lines++;
	pthread_mutex_unlock(&log_lock);
}

static void on_signal(int number)
{
	(void)number;
	add_line();
}

static void *write_log(void *name)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	if (strcmp(name, "fine") == 0) {
		raise(SIGUSR1);
		return NULL;
	}
	pthread_mutex_lock(&log_lock);
	if (strcmp(name, "handler") == 0)
		raise(SIGUSR1);
	if (strcmp(name, "asleep") == 0)
		sleep(10);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	add_line();
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t thread;

	end_after(argc > 1 && strcmp(argv[1], "fine") == 0 ? 20 : 2);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, write_log, argc > 1 ? argv[1] : (char *)"fine");
	if (argc > 1 && strcmp(argv[1], "asleep") == 0) {
		usleep(100000);
		pthread_kill(thread, SIGUSR1);
	}
	pthread_join(thread, NULL);
	return lines != 1;
}
