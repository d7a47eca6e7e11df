/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The manager waits for the answer of the bus daemon and the bus daemon waits for the manager's answer to its user lookup; neither serves the other's call.
 *   culprit: manager|bus.daemon|lookup_user|get_connection_user
 *   victim: logind
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about systemd: the manager makes a blocking call to the bus daemon, which at that time makes a
 * blocking call to the manager to look up a user; calls run into their timeout.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bus_calls[2], user_calls[2];
static sem_t both_busy[2];
static bool broken;
static unsigned done;

/* Sends a request and blocks until its answer comes. */
static char call(int fd, char request)
{
	char answer = 0;

	if (write(fd, &request, 1) != 1 || read(fd, &answer, 1) != 1)
		return 0;
	return answer;
}

static char lookup_user(void)
{
	if (!broken)
		return 'r'; /* from the files, without asking the manager */
	sem_post(&both_busy[0]);
	sem_wait(&both_busy[1]);
	return call(user_calls[0], 'u');
}

static char get_connection_user(void)
{
	if (broken) {
		sem_post(&both_busy[1]);
		sem_wait(&both_busy[0]);
	}
	return call(bus_calls[0], 'c');
}

static void *manager(void *unused)
{
	pthread_setname_np(pthread_self(), "manager");
	if (get_connection_user() == 'o')
		done++;
	shutdown(bus_calls[0], SHUT_WR);
	return unused;
}

static void *bus_daemon(void *unused)
{
	char request;

	pthread_setname_np(pthread_self(), "bus daemon");
	/* A client logs in: the policy needs its groups. */
	if (lookup_user() == 'r')
		done++;
	while (read(bus_calls[1], &request, 1) == 1)
		if (write(bus_calls[1], "o", 1) != 1)
			break;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&both_busy[0], 0, 0);
	sem_init(&both_busy[1], 0, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, bus_calls) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, user_calls))
		return 1;
	pthread_create(&first, NULL, manager, NULL);
	pthread_create(&second, NULL, bus_daemon, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	printf("%u calls\n", done);
	return 0;
}
