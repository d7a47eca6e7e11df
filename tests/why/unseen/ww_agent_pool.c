/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: drop_socket closes a socket that the backend has closed, and doesn't give its place in the
 *          agent's pool back. After three of them no request is started any more, and the rest waits in the
 *          queue.
 *   culprit: drop_socket|on_socket_closed|on_response
 *   victim: on_page_timer|on_stats|start_next
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	MAX_SOCKETS = 3,
	PAGES = 90,
	KEEP_ALIVE_REQUESTS = 11
};

struct agent_socket {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	struct agent_socket *next_idle;
	char request[32], reply[64];
	int page; /* that it asks for; -1: idle */
};

static bool broken;
static uv_loop_t *loop;
static uv_timer_t page_timer, stats_timer;
static struct sockaddr_in backend_address;
static struct agent_socket *idle;
static int open_sockets, queue[PAGES * 2], queue_head, queue_tail, asked, received;

static void start_next(void);

static void on_socket_closed(uv_handle_t *handle)
{
	free(handle->data);
	if (!broken)
		open_sockets--;
	start_next();
}

static void drop_socket(struct agent_socket *socket)
{
	if (socket->page >= 0)
		queue[queue_tail++] = socket->page;
	uv_close((uv_handle_t *)&socket->tcp, on_socket_closed);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct agent_socket *socket = handle->data;

	(void)size;
	*buffer = uv_buf_init(socket->reply, sizeof socket->reply);
}

static void on_response(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	struct agent_socket *socket = stream->data;

	(void)buffer;
	if (length <= 0) {
		if (length < 0)
			drop_socket(socket);
		return;
	}
	socket->page = -1;
	socket->next_idle = idle;
	idle = socket;
	if (++received == PAGES) {
		while (idle) {
			uv_close((uv_handle_t *)&idle->tcp, NULL);
			idle = idle->next_idle;
		}
		uv_close((uv_handle_t *)&page_timer, NULL);
		uv_close((uv_handle_t *)&stats_timer, NULL);
		return;
	}
	start_next();
}

static void send_request(struct agent_socket *socket)
{
	uv_buf_t buffer;

	snprintf(socket->request, sizeof socket->request, "GET /page/%d\n", socket->page);
	buffer = uv_buf_init(socket->request, strlen(socket->request));
	uv_write(&socket->write, (uv_stream_t *)&socket->tcp, &buffer, 1, NULL);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct agent_socket *socket = connect->data;

	if (status < 0) {
		drop_socket(socket);
		return;
	}
	uv_read_start((uv_stream_t *)&socket->tcp, on_alloc, on_response);
	send_request(socket);
}

static void start_next(void)
{
	struct agent_socket *socket = idle;

	if (queue_head == queue_tail)
		return;
	if (socket) {
		idle = socket->next_idle;
		socket->page = queue[queue_head++];
		send_request(socket);
	} else if (open_sockets < MAX_SOCKETS) {
		open_sockets++;
		socket = calloc(1, sizeof *socket);
		socket->page = queue[queue_head++];
		uv_tcp_init(loop, &socket->tcp);
		socket->tcp.data = socket->connect.data = socket;
		uv_tcp_connect(&socket->connect, &socket->tcp, (void *)&backend_address,
			on_connected);
	}
}

static void on_page_timer(uv_timer_t *timer)
{
	queue[queue_tail++] = asked++;
	if (asked == PAGES)
		uv_timer_stop(timer);
	start_next();
}

static void on_stats(uv_timer_t *timer)
{
	if (getenv("AGENT_STATS"))
		printf("%" PRIu64 " ms: %d of %d\n", uv_now(timer->loop), received, asked);
}

/* The backend closes a connection instead of the answer to its eleventh request. */
static void *run_backend(void *data)
{
	struct pollfd fds[32] = {{.fd = *(int *)data, .events = POLLIN}};
	int served[32] = {0}, count = 1;
	char line[64];

	for (;;) {
		poll(fds, count, -1);
		for (int i = count - 1; i > 0; i--) {
			if (!fds[i].revents)
				continue;
			if (read(fds[i].fd, line, sizeof line) <= 0 ||
				++served[i] == KEEP_ALIVE_REQUESTS) {
				close(fds[i].fd);
				fds[i] = fds[--count];
				served[i] = served[count];
				continue;
			}
			usleep(300);
			if (write(fds[i].fd, "200 OK\n", 7) < 0)
				perror("backend");
		}
		if (fds[0].revents && count < 32) {
			fds[count] = (struct pollfd){.fd = accept(fds[0].fd, NULL, NULL),
				.events = POLLIN};
			served[count++] = 0;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int server = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof backend_address;
	pthread_t backend;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_ip4_addr("127.0.0.1", 0, &backend_address);
	bind(server, (void *)&backend_address, length);
	getsockname(server, (void *)&backend_address, &length);
	listen(server, 16);
	pthread_create(&backend, NULL, run_backend, &server);
	loop = uv_default_loop();
	uv_timer_init(loop, &page_timer);
	uv_timer_start(&page_timer, on_page_timer, 1, 2);
	uv_timer_init(loop, &stats_timer);
	uv_timer_start(&stats_timer, on_stats, 40, 40);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d of %d pages\n", received, PAGES);
	return received == PAGES ? 0 : 1;
}
