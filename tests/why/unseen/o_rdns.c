/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread show_host
 *   truth: All reverse lookups go through the one thread reverse-dns, one after the other. The lookup of an address whose name server doesn't answer takes 280 ms there until its time-out, and all hosts queued behind it wait as long.
 *   culprit: reverse-dns|resolve_names|reverse_lookup|ask_name_server
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Shows the hosts with which this machine talks, by name. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HOSTS = 14,
	SILENT = 3 /* the host whose name server doesn't answer */
};

struct host {
	int number;
	char name[48];
	bool named;
	struct host *next;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t queued, named;
	struct host *first, **end;
	bool closed;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.queued = PTHREAD_COND_INITIALIZER,
	.named = PTHREAD_COND_INITIALIZER,
	.end = &names.first};

static int server[2];
static int patience; /* ms */

/* Returns whether an answer came in time. */
static bool ask_name_server(int host)
{
	struct pollfd answer = {.fd = server[0], .events = POLLIN};
	char byte = (char)host;

	if (send(server[0], &byte, 1, 0) != 1 || poll(&answer, 1, patience) != 1)
		return false;
	return recv(server[0], &byte, 1, 0) == 1;
}

static void reverse_lookup(struct host *host)
{
	if (ask_name_server(host->number))
		snprintf(host->name, sizeof host->name, "host-%d.example.net", host->number);
	else
		snprintf(host->name, sizeof host->name, "192.0.2.%d", host->number);
}

static void *resolve_names(void *unused)
{
	struct host *host;

	(void)unused;
	pthread_setname_np(pthread_self(), "reverse-dns");
	pthread_mutex_lock(&names.mutex);
	for (;;) {
		while (!names.first && !names.closed)
			pthread_cond_wait(&names.queued, &names.mutex);
		host = names.first;
		if (!host)
			break;
		names.first = host->next;
		if (!names.first)
			names.end = &names.first;
		pthread_mutex_unlock(&names.mutex);
		reverse_lookup(host);
		pthread_mutex_lock(&names.mutex);
		host->named = true;
		pthread_cond_broadcast(&names.named);
	}
	pthread_mutex_unlock(&names.mutex);
	return NULL;
}

/* The name server, a process of its own: silent about one zone. */
static void answer_questions(void)
{
	char host;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(server[1], &host, 1, 0) == 1 && host >= 0) {
		usleep(2000);
		if (host != SILENT && send(server[1], &host, 1, 0) != 1)
			break;
	}
	_exit(0);
}

static void *show_host(void *data)
{
	struct host *host = data;

	pthread_mutex_lock(&names.mutex);
	host->next = NULL;
	*names.end = host;
	names.end = &host->next;
	pthread_cond_signal(&names.queued);
	while (!host->named)
		pthread_cond_wait(&names.named, &names.mutex);
	pthread_mutex_unlock(&names.mutex);
	printf("%s\n", host->name);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct host hosts[HOSTS];
	pthread_t threads[HOSTS], resolver;
	pid_t name_server;
	char end = -1;

	/* The healthy one doesn't wait long for a name, and shows the address then. */
	patience = argc > 1 && !strcmp(argv[1], "broken") ? 280 : 25;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, server))
		return 1;
	name_server = fork();
	if (!name_server)
		answer_questions();
	pthread_create(&resolver, NULL, resolve_names, NULL);
	for (int i = 0; i < HOSTS; i++) {
		hosts[i].number = i;
		pthread_create(&threads[i], NULL, show_host, &hosts[i]);
		if (i < 2)
			usleep(20000);
	}
	for (int i = 0; i < HOSTS; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&names.mutex);
	names.closed = true;
	pthread_cond_signal(&names.queued);
	pthread_mutex_unlock(&names.mutex);
	pthread_join(resolver, NULL);
	if (send(server[0], &end, 1, 0) != 1)
		return 1;
	waitpid(name_server, NULL, 0);
	return 0;
}
