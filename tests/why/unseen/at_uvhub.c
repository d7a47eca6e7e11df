/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_peer returns without uv_accept when the hub has its two sessions; libuv then no longer watches
 *     the listening socket, so that nobody is accepted any more; the other peers wait for their greeting
 *   culprit: on_peer|uv_accept|uv_listen
 *   victim: peer-|run_peer|read_line|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A hub that takes readings of peers, with libuv. It serves a few; others are sent away and try again. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define PEERS 5
#define SESSIONS 2
#define READINGS 4

struct session {
	uv_tcp_t socket;
	uv_timer_t delay; /* readings are answered after a while */
	uv_write_t write;
	char line[64];
	int size;
	int open_handles;
};

static uv_loop_t loop;
static uv_tcp_t listener;
static uv_async_t stop;
static int port;
static int sessions, sent_away;
static bool close_surplus;

static void on_session_closed(uv_handle_t *handle)
{
	struct session *session = handle->data;

	if (--session->open_handles)
		return;
	free(session);
	sessions--;
}

static void session_close(struct session *session)
{
	if (uv_is_closing((uv_handle_t *)&session->socket))
		return;
	uv_close((uv_handle_t *)&session->socket, on_session_closed);
	uv_close((uv_handle_t *)&session->delay, on_session_closed);
}

static void on_written(uv_write_t *write, int status)
{
	if (status < 0)
		session_close(write->data);
}

static void session_say(struct session *session, const char *text)
{
	uv_buf_t buffer = uv_buf_init((char *)text, strlen(text));

	session->write.data = session;
	uv_write(&session->write, (uv_stream_t *)&session->socket, &buffer, 1, on_written);
}

static void on_delay(uv_timer_t *timer)
{
	session_say(timer->data, "stored\n");
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct session *session = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(session->line, sizeof(session->line));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct session *session = stream->data;

	(void)buffer;
	if (size < 0)
		session_close(session);
	else if (size > 0)
		uv_timer_start(&session->delay, on_delay, 10, 0);
}

static void on_turned_away(uv_handle_t *handle)
{
	free(handle);
}

static void on_peer(uv_stream_t *server, int status)
{
	struct session *session;

	if (status < 0)
		return;
	if (sessions == SESSIONS) {
		uv_tcp_t *surplus;

		sent_away++;
		if (!close_surplus)
			return;
		surplus = malloc(sizeof(*surplus));
		uv_tcp_init(&loop, surplus);
		uv_accept(server, (uv_stream_t *)surplus);
		uv_close((uv_handle_t *)surplus, on_turned_away);
		return;
	}
	session = calloc(1, sizeof(*session));
	uv_tcp_init(&loop, &session->socket);
	uv_timer_init(&loop, &session->delay);
	session->socket.data = session->delay.data = session;
	session->open_handles = 2;
	sessions++;
	uv_accept(server, (uv_stream_t *)&session->socket);
	session_say(session, "hello\n");
	uv_read_start((uv_stream_t *)&session->socket, on_alloc, on_read);
}

static void on_stop(uv_async_t *async)
{
	uv_close((uv_handle_t *)&listener, NULL);
	uv_close((uv_handle_t *)async, NULL);
}

static void run_hub(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "hub");
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static bool read_line(int fd)
{
	char text[32];

	return read(fd, text, sizeof(text)) > 0;
}

/* Returns whether the hub took all readings. */
static bool try_hub(int number)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = true;
	char line[32];

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	good = read_line(fd);
	for (int i = 0; good && i < READINGS; i++) {
		int size = snprintf(line, sizeof(line), "%d: %d degrees\n", number, 18 + i);

		good = send(fd, line, size, MSG_NOSIGNAL) == size && read_line(fd);
	}
	close(fd);
	return good;
}

static void *run_peer(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "peer-%d", number);
	pthread_setname_np(pthread_self(), name);
	while (!try_hub(number))
		nap_ms(15 + number);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address;
	int size = sizeof(address);
	pthread_t peers[PEERS];
	uv_thread_t hub;

	close_surplus = argc > 1 && !strcmp(argv[1], "healthy");
	uv_loop_init(&loop);
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(&loop, &listener);
	uv_async_init(&loop, &stop, on_stop);
	if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) ||
		uv_listen((uv_stream_t *)&listener, 16, on_peer) ||
		uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size))
		return 1;
	port = ntohs(address.sin_port);
	uv_thread_create(&hub, run_hub, NULL);
	for (long i = 0; i < PEERS; i++)
		pthread_create(&peers[i], NULL, run_peer, (void *)(i + 1));
	for (int i = 0; i < PEERS; i++)
		pthread_join(peers[i], NULL);
	uv_async_send(&stop);
	uv_thread_join(&hub);
	printf("%d peers, %d sent away\n", PEERS, sent_away);
	return uv_loop_close(&loop) != 0;
}
