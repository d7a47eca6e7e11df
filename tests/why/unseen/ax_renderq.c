/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: publish_result calls event_active from the threads "render", but evthread_use_pthreads was never
 *     called: libevent doesn't wake the loop, which sleeps in epoll_wait without a timeout since the warm-up
 *     timer ended; on_results never runs
 *   culprit: publish_result|event_active
 *   victim: main|on_results|event_base_dispatch|on_client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A tile server: the loop takes requests from a socket, threads render the tiles, the loop sends
 * the results.
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 2
#define TILES 24

struct tile {
	struct tile *next;
	int number;
	unsigned colour;
};

struct server {
	struct event_base *base;
	struct event *results_ready;
	struct event *client_event;
	struct event *warm_up;
	int client; /* the server's end of the socket */
	int warm_ups;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct tile *waiting;
	struct tile *results;
	bool stop;
	int sent;
};

static void pause_ms(int milliseconds)
{
	struct timespec time = {0, milliseconds * 1000000L};

	nanosleep(&time, NULL);
}

static struct tile *take_tile(struct server *server)
{
	struct tile *tile;

	pthread_mutex_lock(&server->lock);
	while (!server->waiting && !server->stop)
		pthread_cond_wait(&server->work, &server->lock);
	tile = server->waiting;
	if (tile)
		server->waiting = tile->next;
	pthread_mutex_unlock(&server->lock);
	return tile;
}

static void publish_result(struct server *server, struct tile *tile)
{
	pthread_mutex_lock(&server->lock);
	tile->next = server->results;
	server->results = tile;
	event_active(server->results_ready, EV_READ, 1);
	pthread_mutex_unlock(&server->lock);
}

static void *render_main(void *data)
{
	struct server *server = data;
	struct tile *tile;

	while ((tile = take_tile(server))) {
		pause_ms(6);
		tile->colour = (unsigned)tile->number * 2654435761u;
		publish_result(server, tile);
	}
	return NULL;
}

static void on_results(evutil_socket_t file, short what, void *data)
{
	struct server *server = data;
	struct tile *results;

	(void)file;
	(void)what;
	pthread_mutex_lock(&server->lock);
	results = server->results;
	server->results = NULL;
	pthread_mutex_unlock(&server->lock);
	while (results) {
		struct tile *tile = results;
		int answer[2] = {tile->number, (int)tile->colour};

		results = tile->next;
		if (write(server->client, answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			perror("write");
		server->sent++;
		free(tile);
	}
}

static void on_client(evutil_socket_t file, short what, void *data)
{
	struct server *server = data;
	struct tile *tile;
	int number;

	(void)what;
	if (read(file, &number, sizeof(number)) != (ssize_t)sizeof(number)) {
		event_base_loopexit(server->base, NULL);
		return;
	}
	tile = calloc(1, sizeof(*tile));
	if (!tile)
		abort();
	tile->number = number;
	pthread_mutex_lock(&server->lock);
	tile->next = server->waiting;
	server->waiting = tile;
	pthread_cond_signal(&server->work);
	pthread_mutex_unlock(&server->lock);
}

/* While the fonts are loaded piece by piece, the loop has a timer. */
static void on_warm_up(evutil_socket_t file, short what, void *data)
{
	struct server *server = data;

	(void)file;
	(void)what;
	if (++server->warm_ups == 8)
		event_del(server->warm_up);
}

static void *client_main(void *data)
{
	int file = *(int *)data;

	for (int i = 0; i < TILES; i++) {
		int answer[2];

		if (write(file, &i, sizeof(i)) != (ssize_t)sizeof(i))
			break;
		if (read(file, answer, sizeof(answer)) != (ssize_t)sizeof(answer) || answer[0] != i)
			break;
		pause_ms(i == 4 ? 120 : 2);
	}
	close(file);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct server server = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
	};
	const struct timeval often = {0, 15000};
	pthread_t workers[WORKERS], client;
	int sockets[2];

	if (strcmp(mode, "broken"))
		evthread_use_pthreads();
	server.base = event_base_new();
	if (!server.base || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return 2;
	server.client = sockets[0];
	server.results_ready = event_new(server.base, -1, EV_PERSIST, on_results, &server);
	server.client_event = event_new(server.base, sockets[0], EV_READ | EV_PERSIST, on_client,
		&server);
	server.warm_up = event_new(server.base, -1, EV_PERSIST, on_warm_up, &server);
	event_add(server.client_event, NULL);
	event_add(server.warm_up, &often);
	for (int i = 0; i < WORKERS; i++) {
		pthread_create(&workers[i], NULL, render_main, &server);
		pthread_setname_np(workers[i], "render");
	}
	pthread_create(&client, NULL, client_main, &sockets[1]);
	pthread_setname_np(client, "client");

	event_base_dispatch(server.base);
	pthread_join(client, NULL);
	pthread_mutex_lock(&server.lock);
	server.stop = true;
	pthread_cond_broadcast(&server.work);
	pthread_mutex_unlock(&server.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	event_free(server.results_ready);
	event_free(server.client_event);
	event_free(server.warm_up);
	event_base_free(server.base);
	close(sockets[0]);
	printf("%d tiles sent\n", server.sent);
	return server.sent == TILES ? 0 : 1;
}
