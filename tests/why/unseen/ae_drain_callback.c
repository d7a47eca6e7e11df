/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: finish_response sets the callbacks of the client's bufferevent anew without client_drained, even
 *     while throttle_origin has switched reading from the origin off. So nobody switches it on again.
 *   culprit: finish_response|throttle_origin
 *   victim: run_client|read_response
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A proxy on libevent between a slow client and a fast origin. It stops to read while the client lags. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS 40
#define BODY 6000
#define HIGH (20 * 1024)
#define LOW (4 * 1024)

struct session {
	struct bufferevent *client, *origin;
	size_t left; /* bytes of the response that are still to come */
	int finished, throttles;
	bool throttled;
};

static struct event_base *base;
static bool keep_callback;
static int client_end, origin_end;

static void origin_readable(struct bufferevent *origin, void *data);

/* The client's requests go to the origin as they are. */
static void client_readable(struct bufferevent *client, void *data)
{
	struct session *session = data;

	bufferevent_write_buffer(session->origin, bufferevent_get_input(client));
}

static void peer_closed(struct bufferevent *peer, short what, void *data)
{
	struct session *session = data;

	(void)what;
	if (peer == session->client)
		event_base_loopexit(base, NULL);
}

/* The client has taken most of what the proxy had for it. */
static void client_drained(struct bufferevent *client, void *data)
{
	struct session *session = data;

	bufferevent_setcb(client, client_readable, NULL, peer_closed, session);
	session->throttled = false;
	bufferevent_enable(session->origin, EV_READ);
	origin_readable(session->origin, session);
}

static void throttle_origin(struct session *session)
{
	session->throttled = true;
	session->throttles++;
	bufferevent_disable(session->origin, EV_READ);
	bufferevent_setwatermark(session->client, EV_WRITE, LOW, 0);
	bufferevent_setcb(session->client, client_readable, client_drained, peer_closed, session);
}

/* Resets the session for the next response. */
static void finish_response(struct session *session)
{
	session->finished++;
	if (keep_callback && session->throttled)
		return;
	bufferevent_setcb(session->client, client_readable, NULL, peer_closed, session);
}

static void origin_readable(struct bufferevent *origin, void *data)
{
	struct session *session = data;
	struct evbuffer *input = bufferevent_get_input(origin);
	struct evbuffer *output = bufferevent_get_output(session->client);

	while (!session->throttled && evbuffer_get_length(input) > 0) {
		if (session->left == 0) {
			char *line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF);

			if (!line)
				return;
			session->left = strtoul(line, NULL, 10);
			evbuffer_add_printf(output, "%s\n", line);
			free(line);
		}
		session->left -= (size_t)evbuffer_remove_buffer(input, output, session->left);
		if (session->left > 0)
			return;
		if (evbuffer_get_length(output) > HIGH)
			throttle_origin(session);
		finish_response(session);
	}
}

static void *run_proxy(void *data)
{
	struct session *session = data;

	event_base_dispatch(base);
	printf("%d responses, throttled %d times\n", session->finished, session->throttles);
	return NULL;
}

static void *run_origin(void *unused)
{
	char request[64], response[BODY + 8];
	ssize_t got;

	memset(response, 'b', sizeof(response));
	memcpy(response, "6000\n", 5);
	while ((got = read(origin_end, request, sizeof(request))) > 0)
		for (ssize_t i = 0; i < got; i++)
			if (request[i] == '\n' && write(origin_end, response, BODY + 5) != BODY + 5)
				return unused;
	return unused;
}

static void read_response(void)
{
	char block[2048];
	size_t left = BODY + 5;

	while (left > 0)
		left -= (size_t)read(client_end, block,
			left < sizeof(block) ? left : sizeof(block));
}

static void *run_client(void *unused)
{
	for (int i = 0; i < REQUESTS; i++)
		if (write(client_end, "GET\n", 4) != 4)
			exit(1);
	for (int i = 0; i < REQUESTS; i++) {
		usleep(i ? 2000 : 50000); /* the client shows each response */
		read_response();
	}
	shutdown(client_end, SHUT_WR);
	return unused;
}

static struct bufferevent *connect_pair(int *other)
{
	int ends[2], room = 8192;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		exit(1);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*other = ends[1];
	return bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
}

int main(int argc, char **argv)
{
	struct session session = {0};
	pthread_t proxy, origin, client;

	keep_callback = argc > 1 && !strcmp(argv[1], "healthy");
	base = event_base_new();
	session.client = connect_pair(&client_end);
	session.origin = connect_pair(&origin_end);
	bufferevent_setcb(session.client, client_readable, NULL, peer_closed, &session);
	bufferevent_setcb(session.origin, origin_readable, NULL, peer_closed, &session);
	bufferevent_enable(session.client, EV_READ | EV_WRITE);
	bufferevent_enable(session.origin, EV_READ | EV_WRITE);
	pthread_create(&proxy, NULL, run_proxy, &session);
	pthread_create(&origin, NULL, run_origin, NULL);
	pthread_create(&client, NULL, run_client, NULL);
	pthread_join(client, NULL);
	pthread_join(proxy, NULL);
	bufferevent_free(session.client);
	bufferevent_free(session.origin);
	event_base_free(base);
	pthread_join(origin, NULL);
	return 0;
}
