/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: schedule_reconnect sets `reconnecting`, which on_connected doesn't clear. So when the broker hangs
 *     up for the second time, no timer is started, and the messages in the outbox are never sent.
 *   culprit: schedule_reconnect|on_connected|on_retry|retry_timer|reconnecting|on_client_read
 *   victim: on_heartbeat|publish|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* A client publishes messages to a broker, which hangs up after every few of them. */
enum {
	MESSAGES = 24,
	PER_CONNECTION = 5
};

struct peer {
	uv_pipe_t pipe;
	int served;
};

static uv_loop_t *loop;
static uv_pipe_t broker;
static uv_timer_t retry_timer, publish_timer, heartbeat;
static struct peer *client;
static char path[64];
static int published, acknowledged, in_flight, beats;
static bool connected, reconnecting, tidy;

static void connect_to_broker(void);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	*buffer = uv_buf_init(malloc(suggested), (unsigned)suggested);
}

static void on_peer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_written(uv_write_t *request, int status)
{
	(void)status;
	free(request);
}

static void send_byte(struct peer *peer)
{
	static char text[] = "m";
	uv_buf_t buffer = uv_buf_init(text, 1);

	uv_write(malloc(sizeof(uv_write_t)), (uv_stream_t *)&peer->pipe, &buffer, 1, on_written);
}

static struct peer *peer_new(void)
{
	struct peer *peer = calloc(1, sizeof *peer);

	uv_pipe_init(loop, &peer->pipe, 0);
	peer->pipe.data = peer;
	return peer;
}

static void finish(void)
{
	uv_close((uv_handle_t *)&client->pipe, on_peer_closed);
	uv_close((uv_handle_t *)&broker, NULL);
	uv_close((uv_handle_t *)&retry_timer, NULL);
	uv_close((uv_handle_t *)&publish_timer, NULL);
	uv_close((uv_handle_t *)&heartbeat, NULL);
}

/* One message is under way at a time; the others lie in the outbox. */
static void send_next(void)
{
	if (!connected || in_flight > 0 || published == acknowledged)
		return;
	in_flight++;
	send_byte(client);
}

static void on_retry(uv_timer_t *timer)
{
	(void)timer;
	connect_to_broker();
}

static void schedule_reconnect(void)
{
	connected = false;
	in_flight = 0;
	if (reconnecting)
		return;
	reconnecting = true;
	uv_timer_start(&retry_timer, on_retry, 10, 0);
}

static void on_client_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	free(buffer->base);
	if (size < 0) {
		uv_close((uv_handle_t *)stream, on_peer_closed);
		schedule_reconnect();
		return;
	}
	if (size == 0)
		return;
	acknowledged++;
	in_flight--;
	if (acknowledged == MESSAGES)
		finish();
	else
		send_next();
}

static void on_connected(uv_connect_t *request, int status)
{
	free(request);
	if (tidy || status < 0)
		reconnecting = false;
	if (status < 0) {
		schedule_reconnect();
		return;
	}
	connected = true;
	uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_client_read);
	send_next();
}

static void connect_to_broker(void)
{
	client = peer_new();
	uv_pipe_connect(malloc(sizeof(uv_connect_t)), &client->pipe, path, on_connected);
}

static void on_broker_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct peer *peer = stream->data;

	free(buffer->base);
	if (size < 0) {
		if (!uv_is_closing((uv_handle_t *)stream))
			uv_close((uv_handle_t *)stream, on_peer_closed);
		return;
	}
	if (size == 0)
		return;
	if (++peer->served > PER_CONNECTION) {
		uv_close((uv_handle_t *)stream, on_peer_closed);
		return;
	}
	send_byte(peer);
}

static void on_connection(uv_stream_t *server, int status)
{
	struct peer *peer;

	if (status < 0)
		return;
	peer = peer_new();
	if (uv_accept(server, (uv_stream_t *)&peer->pipe) == 0)
		uv_read_start((uv_stream_t *)&peer->pipe, on_alloc, on_broker_read);
}

static void on_publish(uv_timer_t *timer)
{
	if (++published == MESSAGES)
		uv_timer_stop(timer);
	send_next();
}

static void on_heartbeat(uv_timer_t *timer)
{
	(void)timer;
	beats++;
}

int main(int argc, char **argv)
{
	tidy = argc < 2 || strcmp(argv[1], "broken") != 0;
	loop = uv_default_loop();
	snprintf(path, sizeof path, "/tmp/outbox.%d", (int)getpid());
	unlink(path);
	uv_pipe_init(loop, &broker, 0);
	if (uv_pipe_bind(&broker, path) || uv_listen((uv_stream_t *)&broker, 8, on_connection))
		return 1;
	uv_timer_init(loop, &retry_timer);
	uv_timer_init(loop, &publish_timer);
	uv_timer_init(loop, &heartbeat);
	uv_timer_start(&publish_timer, on_publish, 5, 5);
	uv_timer_start(&heartbeat, on_heartbeat, 100, 100);
	connect_to_broker();
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d messages acknowledged, %d beats\n", acknowledged, beats);
	return 0;
}
