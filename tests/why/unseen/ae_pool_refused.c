/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the standby refuses a connection, connect_failed puts the query back into the queue but
 *     still counts the connection as open. After three refusals the pool thinks that it is full for ever.
 *   culprit: connect_failed|on_connected|ECONNREFUSED|[Cc]onnection refused
 *   victim: run_client|await_rows
 *   clue: on_connected: Fails, and begins nothing; “ECONNREFUSED”
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A pool of database connections on libuv, with a primary that lives and a standby that restarts. */
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define QUERIES 48
#define POOL_MAX 3
#define USES_MAX 4

struct connection {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	int uses;
	char row[16];
};

static struct {
	int open; /* connections, also those that are being made */
	struct connection *idle[POOL_MAX];
	int idle_count;
	int queued; /* queries without a connection */
} pool;

static struct sockaddr_in replicas[2]; /* the primary and the standby */
static bool careful;
static uv_loop_t loop;
static uv_async_t submit;
static atomic_int submitted;
static sem_t rows;
static int next_replica, answered;

static void pump(void);

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)size;
	*buffer = uv_buf_init(((struct connection *)handle->data)->row, 16);
}

static void on_row(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	(void)buffer;
	if (got <= 0)
		return;
	uv_read_stop(stream);
	if (++answered == QUERIES)
		uv_stop(&loop);
	sem_post(&rows);
	if (++connection->uses < USES_MAX) {
		pool.idle[pool.idle_count++] = connection;
	} else {
		pool.open--;
		uv_close((uv_handle_t *)&connection->tcp, on_closed);
	}
	pump();
}

static void send_query(struct connection *connection)
{
	uv_buf_t text = uv_buf_init((char *)"select\n", 7);

	uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &text, 1, NULL);
	uv_read_start((uv_stream_t *)&connection->tcp, give_buffer, on_row);
}

static void connect_failed(struct connection *connection)
{
	pool.queued++;
	uv_close((uv_handle_t *)&connection->tcp, on_closed);
	if (careful)
		pool.open--;
	pump();
}

static void on_connected(uv_connect_t *request, int status)
{
	(status < 0 ? connect_failed : send_query)(request->data);
}

static void open_connection(void)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	pool.open++;
	connection->tcp.data = connection->connect.data = connection;
	uv_tcp_init(&loop, &connection->tcp);
	uv_tcp_connect(&connection->connect, &connection->tcp,
		(struct sockaddr *)&replicas[next_replica], on_connected);
	next_replica = !next_replica;
}

static void pump(void)
{
	for (; pool.queued > 0 && (pool.idle_count > 0 || pool.open < POOL_MAX); pool.queued--)
		if (pool.idle_count > 0)
			send_query(pool.idle[--pool.idle_count]);
		else
			open_connection();
}

static void on_submit(uv_async_t *async)
{
	(void)async;
	pool.queued += atomic_exchange(&submitted, 0);
	pump();
}

/* The database: each connection is served until the pool closes it. */
static void *serve_rows(void *data)
{
	int listener = (int)(intptr_t)data, fd;
	char text[16];

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (read(fd, text, sizeof(text)) > 0)
			if (usleep(500) || write(fd, "row\n", 4) != 4)
				break;
		close(fd);
	}
	return NULL;
}

static void await_rows(int count)
{
	while (count-- > 0)
		sem_wait(&rows);
}

static void *run_client(void *unused)
{
	for (int i = 0; i < QUERIES / 6; i++) {
		atomic_fetch_add(&submitted, 6);
		uv_async_send(&submit);
		await_rows(6);
	}
	return unused;
}

static int make_listener(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)address, size) ||
		getsockname(fd, (struct sockaddr *)address, &size))
		exit(1);
	return fd;
}

int main(int argc, char **argv)
{
	pthread_t client, servers[POOL_MAX];
	int primary = make_listener(&replicas[0]);

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	make_listener(&replicas[1]); /* bound, but it doesn't listen yet: it restarts */
	listen(primary, 16);
	sem_init(&rows, 0, 0);
	uv_loop_init(&loop);
	uv_async_init(&loop, &submit, on_submit);
	for (int i = 0; i < POOL_MAX; i++)
		pthread_create(&servers[i], NULL, serve_rows, (void *)(intptr_t)primary);
	pthread_create(&client, NULL, run_client, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	printf("%d rows\n", answered);
	return 0;
}
