/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: After a 410 answer retire_connection() closes the connection, and its close callback on_retired()
 *     does not give the place in the pool back. After three such answers the pool counts three connections
 *     that no longer exist, so that the queued fetches never start.
 *   culprit: retire_connection|on_retired
 *   victim: print_progress|queue_fetch|run_fetches
 *   clue: read on_answer began none like “write .*14 other such runs began one
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Fetches packages from an upstream mirror over a small pool of kept connections. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>
#define POOL_SIZE 3
#define FETCHES 40

struct fetch {
	int number;
	struct fetch *next;
};

struct connection {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	struct fetch *fetch;
	struct connection *next_idle;
	size_t length;
	char request[32], answer[256];
};

static struct {
	struct connection *idle;
	int open;
} pool;

static struct fetch *first_queued, **last_queued = &first_queued;
static int fetched;
static bool fixed;
static uv_timer_t progress;
static struct sockaddr_in upstream;

/* The mirror: one thread, one poll loop. It says 410 and closes for packages that were withdrawn. */
static void *serve_mirror(void *argument)
{
	struct pollfd fds[16] = {{.fd = *(int *)argument, .events = POLLIN}};
	int count = 1;
	for (;;) {
		if (poll(fds, (nfds_t)count, -1) < 0)
			return NULL;
		if (fds[0].revents && count < 16) {
			int client = accept(fds[0].fd, NULL, NULL);
			fds[count++] = (struct pollfd){.fd = client, .events = POLLIN};
		}
		for (int i = count - 1; i > 0; i--) {
			if (!fds[i].revents)
				continue;
			char line[64];
			ssize_t length = read(fds[i].fd, line, sizeof line - 1);
			bool keep = length > 0;
			if (keep) {
				line[length] = 0;
				int number = atoi(line + 4);
				usleep(500);
				keep = number % 6 != 4;
				dprintf(fds[i].fd, keep ? "200 package %d\n" : "410 withdrawn %d\n",
					number);
			}
			if (keep)
				continue;
			close(fds[i].fd);
			fds[i] = fds[--count];
		}
	}
}

static void start_next(void);

static void on_retired(uv_handle_t *handle)
{
	free(handle->data);
	if (fixed) {
		pool.open--;
		start_next();
	}
}

static void retire_connection(struct connection *connection)
{
	uv_close((uv_handle_t *)&connection->tcp, on_retired);
}

static void on_answer(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	(void)buffer;
	struct connection *connection = stream->data;
	if (length > 0)
		connection->length += (size_t)length;
	if (!memchr(connection->answer, '\n', connection->length))
		return;
	bool withdrawn = strncmp(connection->answer, "410", 3) == 0;
	connection->length = 0;
	free(connection->fetch);
	if (++fetched == FETCHES)
		uv_timer_stop(&progress);
	if (withdrawn) {
		retire_connection(connection);
		return;
	}
	connection->next_idle = pool.idle;
	pool.idle = connection;
	start_next();
}

static void give_space(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)suggested;
	struct connection *connection = handle->data;
	*buffer = uv_buf_init(connection->answer + connection->length,
		(unsigned)(sizeof connection->answer - connection->length));
}

static void send_request(struct connection *connection, struct fetch *fetch)
{
	connection->fetch = fetch;
	int length = snprintf(connection->request, sizeof connection->request, "GET %d\n",
		fetch->number);
	uv_buf_t buffer = uv_buf_init(connection->request, (unsigned)length);
	uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &buffer, 1, NULL);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct connection *connection = connect->data;
	if (status < 0)
		exit(1);
	uv_read_start((uv_stream_t *)&connection->tcp, give_space, on_answer);
	send_request(connection, connection->fetch);
}

static void start_next(void)
{
	while (first_queued && (pool.idle || pool.open < POOL_SIZE)) {
		struct fetch *fetch = first_queued;
		first_queued = fetch->next;
		if (!first_queued)
			last_queued = &first_queued;
		struct connection *connection = pool.idle;
		if (connection) {
			pool.idle = connection->next_idle;
			send_request(connection, fetch);
			continue;
		}
		connection = calloc(1, sizeof *connection);
		connection->tcp.data = connection->connect.data = connection;
		connection->fetch = fetch;
		pool.open++;
		uv_tcp_init(uv_default_loop(), &connection->tcp);
		const struct sockaddr *address = (struct sockaddr *)&upstream;
		uv_tcp_connect(&connection->connect, &connection->tcp, address, on_connected);
	}
	if (fetched < FETCHES)
		return;
	for (; pool.idle; pool.idle = pool.idle->next_idle)
		retire_connection(pool.idle);
}

static void queue_fetch(int number)
{
	struct fetch *fetch = calloc(1, sizeof *fetch);
	fetch->number = number;
	*last_queued = fetch;
	last_queued = &fetch->next;
	start_next();
}

static void print_progress(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%d of %d packages fetched\n", fetched, FETCHES);
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof upstream;
	upstream.sin_family = AF_INET;
	upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&upstream, size) || listen(listener, 16))
		return 1;
	getsockname(listener, (struct sockaddr *)&upstream, &size);
	pthread_t mirror;
	pthread_create(&mirror, NULL, serve_mirror, &listener);
	uv_timer_init(uv_default_loop(), &progress);
	uv_timer_start(&progress, print_progress, 20, 20);
	for (int i = 0; i < FETCHES; i++)
		queue_fetch(i);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return fetched == FETCHES ? 0 : 1;
}
