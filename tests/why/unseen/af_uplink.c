/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_written returns early for UV_ECANCELED and should have queued the report again. The stall timer
 *     closed the link under a pending write, so one report is lost, and the batch never becomes complete.
 *   culprit: on_written
 *   victim: on_progress|serve_collector
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A sensor gateway uploads a batch of reports over one link, and makes a new link when the old one stalls. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define REPORTS 12
#define REPORT_BYTES (1 << 20)
#define STALL_MS 50

struct upload {
	uv_write_t request;
	int report;
};

static uv_loop_t *loop;
static uv_timer_t stall_timer, progress_timer;
static uv_tcp_t *current_link;
static struct sockaddr_in collector;
static char payload[REPORT_BYTES];
static int queue[REPORTS * 2], queue_first, queue_last;
static int acknowledged, relinks;
static bool careful;

static void open_link(void);

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%d of %d reports\n", acknowledged, REPORTS);
}

static void free_link(uv_handle_t *handle)
{
	free(handle);
}

static void finish_batch(void)
{
	uv_close((uv_handle_t *)&stall_timer, NULL);
	uv_close((uv_handle_t *)&progress_timer, NULL);
	uv_close((uv_handle_t *)current_link, free_link);
}

static void on_stall(uv_timer_t *timer)
{
	(void)timer;
	relinks++;
	uv_close((uv_handle_t *)current_link, free_link);
	open_link();
}

static void on_written(uv_write_t *request, int status)
{
	struct upload *upload = (struct upload *)request;

	if (status == UV_ECANCELED) {
		/* The link was closed. */
		if (careful)
			queue[queue_last++] = upload->report;
		free(upload);
		return;
	}
	if (status < 0)
		fprintf(stderr, "report %d: %s\n", upload->report, uv_strerror(status));
	free(upload);
}

static void send_next(void)
{
	struct upload *upload;
	uv_buf_t buffer = uv_buf_init(payload, REPORT_BYTES);

	if (queue_first == queue_last) {
		uv_timer_stop(&stall_timer);
		return;
	}
	upload = calloc(1, sizeof(*upload));
	upload->report = queue[queue_first++];
	uv_write(&upload->request, (uv_stream_t *)current_link, &buffer, 1, on_written);
	uv_timer_start(&stall_timer, on_stall, STALL_MS, 0);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[64];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(space, sizeof(space));
}

static void on_ack(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream;
	(void)buffer;
	if (size <= 0)
		return;
	acknowledged += (int)size;
	if (acknowledged == REPORTS)
		finish_batch();
	else
		send_next();
}

static void on_linked(uv_connect_t *request, int status)
{
	if (status == 0) {
		uv_read_start(request->handle, give_buffer, on_ack);
		send_next();
	}
	free(request);
}

static void open_link(void)
{
	int size = 32768;

	current_link = malloc(sizeof(*current_link));
	uv_tcp_init_ex(loop, current_link, AF_INET);
	uv_send_buffer_size((uv_handle_t *)current_link, &size);
	uv_tcp_connect(malloc(sizeof(uv_connect_t)), current_link, (struct sockaddr *)&collector,
		on_linked);
}

/* The collector takes reports. It forgets its first link after four of them, as a bad firewall would. */
static void *serve_collector(void *data)
{
	int listener = (int)(intptr_t)data;
	char *chunk = malloc(65536);

	for (int link = 0, taken = 0; taken < REPORTS; link++) {
		int peer = accept(listener, NULL, NULL);
		ssize_t got, bytes = 0;

		while ((link > 0 || taken < 4) && (got = read(peer, chunk, 65536)) > 0) {
			bytes += got;
			if (bytes < REPORT_BYTES)
				continue;
			bytes = 0;
			taken++;
			usleep(2000);
			if (write(peer, "+", 1) != 1)
				break;
		}
		if (link == 0)
			usleep((STALL_MS + 25) * 1000);
		close(peer);
	}
	free(chunk);
	return NULL;
}

int main(int argc, char **argv)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), size = 32768;
	socklen_t length = sizeof(collector);
	pthread_t thread;

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	collector.sin_family = AF_INET;
	collector.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(listener, (struct sockaddr *)&collector, sizeof(collector)) || listen(listener, 4))
		return 1;
	getsockname(listener, (struct sockaddr *)&collector, &length);
	pthread_create(&thread, NULL, serve_collector, (void *)(intptr_t)listener);
	loop = uv_default_loop();
	uv_timer_init(loop, &stall_timer);
	uv_timer_init(loop, &progress_timer);
	uv_timer_start(&progress_timer, on_progress, 100, 100);
	for (int i = 0; i < REPORTS; i++)
		queue[queue_last++] = i;
	open_link();
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	printf("%d reports, %d new links\n", acknowledged, relinks);
	return 0;
}
