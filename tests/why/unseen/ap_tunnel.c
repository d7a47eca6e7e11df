/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: hold_upstream() stopped reading from the upstream pipe (uv_read_stop) when the client was slow;
 *     then upgrade_to_tunnel() replaced the flow control, and on_client_written() no longer starts the
 *     reading again for a tunnel: the proxy never reads the upstream any more
 *   culprit: hold_upstream|upgrade_to_tunnel
 *   victim: origin-send|client-recv
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small reverse proxy on libuv with backpressure: origin -> proxy -> client,
 * and an upgrade to a tunnel. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define HIGH_WATER (256 * 1024)
#define BODY (1024 * 1024)

struct session {
	uv_pipe_t upstream, client;
	int held; /* reading from the upstream is stopped */
	int tunnel;
};

struct chunk {
	uv_write_t req;
	uv_buf_t buf;
};

static uv_loop_t *loop;
static struct session session;
static int up[2], down[2];
static int upgrade_after_ms; /* when the client asks for the upgrade */

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&t, NULL);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
	(void)h;
	*buf = uv_buf_init(malloc(size), size);
}

static void on_upstream_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf);

static __attribute__((noinline)) void hold_upstream(struct session *s)
{
	uv_read_stop((uv_stream_t *)&s->upstream);
	s->held = 1;
}

static __attribute__((noinline)) void resume_upstream(struct session *s)
{
	s->held = 0;
	uv_read_start((uv_stream_t *)&s->upstream, on_alloc, on_upstream_read);
}

static __attribute__((noinline)) void end_session(struct session *s)
{
	uv_close((uv_handle_t *)&s->upstream, NULL);
	uv_close((uv_handle_t *)&s->client, NULL);
}

static __attribute__((noinline)) void on_client_written(uv_write_t *req, int status)
{
	struct chunk *c = (struct chunk *)req;
	struct session *s = req->data;

	free(c->buf.base);
	free(c);
	if (status < 0 || s->tunnel)
		return; /* a tunnel is not throttled */
	if (s->held && uv_stream_get_write_queue_size((uv_stream_t *)&s->client) == 0)
		resume_upstream(s);
}

static __attribute__((noinline)) void forward(struct session *s, char *data, size_t n)
{
	struct chunk *c = calloc(1, sizeof *c);

	c->buf = uv_buf_init(data, n);
	c->req.data = s;
	uv_write(&c->req, (uv_stream_t *)&s->client, &c->buf, 1, on_client_written);
	if (!s->tunnel && uv_stream_get_write_queue_size((uv_stream_t *)&s->client) > HIGH_WATER)
		hold_upstream(s);
}

static void on_upstream_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct session *s = stream->data;

	if (n > 0) {
		forward(s, buf->base, n);
		return;
	}
	free(buf->base);
	if (n < 0)
		uv_read_stop(stream);
}

/* From now on bytes are passed on as they come. */
static __attribute__((noinline)) void upgrade_to_tunnel(struct session *s)
{
	s->tunnel = 1;
}

static void on_client_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct session *s = stream->data;

	if (n > 0 && buf->base[0] == 'U')
		upgrade_to_tunnel(s);
	free(buf->base);
	if (n < 0)
		end_session(s);
}

static void *origin_main(void *arg)
{
	static char block[8192];
	size_t left = BODY;

	(void)arg;
	while (left) {
		ssize_t n = send(up[1], block, left < sizeof block ? left : sizeof block,
			MSG_NOSIGNAL);

		if (n <= 0)
			abort();
		left -= n;
	}
	return NULL;
}

static void *client_main(void *arg)
{
	static char block[8192];
	size_t left = BODY;

	(void)arg;
	nap(upgrade_after_ms);
	if (send(down[1], "U", 1, MSG_NOSIGNAL) != 1)
		abort();
	nap(600 - upgrade_after_ms); /* busy with other things before it reads */
	while (left) {
		ssize_t n = recv(down[1], block, left < sizeof block ? left : sizeof block, 0);

		if (n <= 0)
			abort();
		left -= n;
	}
	close(down[1]);
	return NULL;
}

/* The origin answers when it has found the file. */
static void on_origin_ready(uv_timer_t *t)
{
	static pthread_t origin;

	if (pthread_create(&origin, NULL, origin_main, NULL))
		abort();
	pthread_setname_np(origin, "origin-send");
	pthread_detach(origin);
	uv_close((uv_handle_t *)t, NULL);
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_timer_t ready;
	pthread_t client;

	loop = uv_default_loop();
	upgrade_after_ms = broken ? 450 : 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, up) || socketpair(AF_UNIX, SOCK_STREAM, 0, down))
		return 1;
	uv_pipe_init(loop, &session.upstream, 0);
	uv_pipe_init(loop, &session.client, 0);
	uv_pipe_open(&session.upstream, up[0]);
	uv_pipe_open(&session.client, down[0]);
	session.upstream.data = session.client.data = &session;
	resume_upstream(&session);
	uv_read_start((uv_stream_t *)&session.client, on_alloc, on_client_read);
	uv_timer_init(loop, &ready);
	uv_timer_start(&ready, on_origin_ready, 150, 0);
	if (pthread_create(&client, NULL, client_main, NULL))
		return 1;
	pthread_setname_np(client, "client-recv");
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	return 0;
}
