/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The first name server is silent in both runs. In the healthy one it is avoided after its first timeout. In
 *     the broken one the penalty “3s” is read as 3 ms, so each query asks the silent server first again, and goes on
 *     to the second one only in on_query_timeout, 180 ms later: 5 timeouts instead of 1.
 *   culprit: on_query_timeout|penalize_server
 *   victim: on_answer|start_query|ns-two
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A resolver: asks the first of its name servers that isn't penalised, and the next one after a timeout. */
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SERVERS 2
#define TIMEOUT_MS 180
#define PAUSE_MS 30

struct server {
	const char *name;
	int fd;          /* ours */
	int far_fd;      /* the server's */
	long down_until; /* in ms of the monotonic clock */
	int timeouts;
};

struct resolver {
	struct event_base *base;
	struct event *timeout;
	struct event *pause;
	struct event *answers[SERVERS];
	struct server servers[SERVERS];
	long penalty_ms;
	const char *const *names;
	int current; /* the name that is asked for */
	int asked;   /* the server */
	int answered;
};

static const char *const names[] = {"www", "mail", "ntp", "git", "irc", NULL};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timeval ms(long n)
{
	return (struct timeval){.tv_sec = n / 1000, .tv_usec = n % 1000 * 1000};
}

static __attribute__((noinline)) void penalize_server(struct resolver *resolver,
	struct server *server)
{
	server->timeouts++;
	server->down_until = now_ms() + resolver->penalty_ms;
}

static __attribute__((noinline)) int choose_server(struct resolver *resolver, int first)
{
	const long now = now_ms();

	for (int i = first; i < SERVERS; i++)
		if (resolver->servers[i].down_until <= now)
			return i;
	return SERVERS - 1;
}

static __attribute__((noinline)) void ask_server(struct resolver *resolver, int number)
{
	const char *name = resolver->names[resolver->current];
	const struct timeval patience = ms(TIMEOUT_MS);

	resolver->asked = number;
	if (send(resolver->servers[number].fd, name, strlen(name), 0) < 0)
		perror("send");
	evtimer_add(resolver->timeout, &patience);
}

static void on_query_timeout(evutil_socket_t fd, short what, void *data)
{
	struct resolver *resolver = data;

	(void)fd;
	(void)what;
	penalize_server(resolver, &resolver->servers[resolver->asked]);
	ask_server(resolver, choose_server(resolver, (resolver->asked + 1) % SERVERS));
}

static void start_query(evutil_socket_t fd, short what, void *data)
{
	struct resolver *resolver = data;

	(void)fd;
	(void)what;
	ask_server(resolver, choose_server(resolver, 0));
}

static void on_answer(evutil_socket_t fd, short what, void *data)
{
	struct resolver *resolver = data;
	const struct timeval pause = ms(PAUSE_MS);
	char answer[64];
	ssize_t n;

	(void)what;
	n = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
	if (n <= 0)
		return;
	answer[n] = '\0';
	evtimer_del(resolver->timeout);
	printf("%s: %s\n", resolver->names[resolver->current], answer);
	resolver->answered++;
	if (!resolver->names[++resolver->current])
		event_base_loopexit(resolver->base, NULL);
	else
		evtimer_add(resolver->pause, &pause);
}

/* The second server answers; behind the first one's socket is nobody. */
static void *serve_names(void *argument)
{
	struct server *server = argument;
	char name[32], answer[64];
	ssize_t n;

	pthread_setname_np(pthread_self(), server->name);
	while ((n = recv(server->far_fd, name, sizeof name - 1, 0)) > 0) {
		name[n] = '\0';
		if (!strcmp(name, "."))
			break;
		snprintf(answer, sizeof answer, "10.0.0.%d", (int)strlen(name));
		if (send(server->far_fd, answer, strlen(answer), 0) < 0)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct resolver resolver = {.names = names};
	const struct timeval at_once = {0};
	pthread_t thread;

	if (argc != 2)
		return 2;
	/* from the file of configuration; it is in ms */
	resolver.penalty_ms = atol(!strcmp(argv[1], "broken") ? "3s" : "3000");
	resolver.base = event_base_new();
	resolver.timeout = evtimer_new(resolver.base, on_query_timeout, &resolver);
	resolver.pause = evtimer_new(resolver.base, start_query, &resolver);
	for (int i = 0; i < SERVERS; i++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) < 0)
			return 1;
		resolver.servers[i].name = i ? "ns-two" : "ns-one";
		resolver.servers[i].fd = fds[0];
		resolver.servers[i].far_fd = fds[1];
		resolver.answers[i] = event_new(resolver.base, fds[0], EV_READ | EV_PERSIST,
			on_answer, &resolver);
		event_add(resolver.answers[i], NULL);
	}
	if (pthread_create(&thread, NULL, serve_names, &resolver.servers[1]))
		return 1;
	evtimer_add(resolver.pause, &at_once);
	event_base_dispatch(resolver.base);

	if (send(resolver.servers[1].fd, ".", 1, 0) < 0)
		return 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < SERVERS; i++) {
		event_free(resolver.answers[i]);
		close(resolver.servers[i].fd);
		close(resolver.servers[i].far_fd);
	}
	event_free(resolver.timeout);
	event_free(resolver.pause);
	event_base_free(resolver.base);
	fprintf(stderr, "%d answers, %d timeouts\n", resolver.answered,
		resolver.servers[0].timeouts);
	return resolver.answered == 5 ? 0 : 1;
}
