/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_reconnected forgets the questions in flight. It should have sent them again.
 *   culprit: on_reconnected|lose_link
 *   victim: on_reading|run_station|answer_link|uv_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define N_GAUGES 14
#define WINDOW 2

enum state {
	UNSENT,
	SENT,
	ANSWERED
};

static enum state gauges[N_GAUGES];
static uv_write_t writes[N_GAUGES];
static unsigned char numbers[N_GAUGES];
static uv_tcp_t link_tcp;
static uv_connect_t connecting;
static uv_timer_t retry;
static struct sockaddr_in station;
static int listener, in_flight, answered;
static bool faithful;

static void answer_link(int fd, int lives)
{
	unsigned char number;
	/* The watchdog restarts the station when its lives are used up. */
	while (read(fd, &number, 1) == 1 && --lives > 0) {
		usleep(4000);
		if (write(fd, &number, 1) != 1)
			break;
	}
	close(fd);
}

static void *run_station(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++)
		answer_link(accept(listener, NULL, NULL), i == 0 ? 5 : 1000);
	return NULL;
}

static void send_questions(void)
{
	for (int i = 0; i < N_GAUGES && in_flight < WINDOW; i++) {
		if (gauges[i] != UNSENT)
			continue;
		numbers[i] = (unsigned char)i;
		uv_buf_t buffer = uv_buf_init((char *)&numbers[i], 1);
		gauges[i] = SENT;
		in_flight++;
		uv_write(&writes[i], (uv_stream_t *)&link_tcp, &buffer, 1, NULL);
	}
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char bytes[64];
	(void)handle, (void)size;
	*buffer = uv_buf_init(bytes, sizeof(bytes));
}

static void lose_link(uv_handle_t *handle);

static void on_reading(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	if (n < 0) {
		fprintf(stderr, "station is gone: %s\n", uv_strerror((int)n));
		uv_close((uv_handle_t *)stream, lose_link);
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		gauges[(unsigned char)buffer->base[i]] = ANSWERED;
		in_flight--;
		answered++;
	}
	if (answered == N_GAUGES)
		uv_close((uv_handle_t *)stream, NULL);
	else
		send_questions();
}

static void on_connected(uv_connect_t *connect, int status)
{
	if (status == 0)
		uv_read_start(connect->handle, give_buffer, on_reading);
	send_questions();
}

static void on_reconnected(uv_connect_t *connect, int status)
{
	for (int i = 0; faithful && i < N_GAUGES; i++)
		if (gauges[i] == SENT) {
			gauges[i] = UNSENT;
			in_flight--;
		}
	on_connected(connect, status);
}

static void open_link(uv_timer_t *timer)
{
	uv_tcp_init(timer->loop, &link_tcp);
	uv_tcp_connect(&connecting, &link_tcp, (struct sockaddr *)&station, on_reconnected);
}

static void lose_link(uv_handle_t *handle)
{
	(void)handle;
	uv_timer_start(&retry, open_link, 30, 0);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	socklen_t size = sizeof(station);
	pthread_t thread;

	faithful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	signal(SIGPIPE, SIG_IGN);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	station.sin_family = AF_INET;
	station.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&station, size) || listen(listener, 4))
		return 1;
	getsockname(listener, (struct sockaddr *)&station, &size);
	pthread_create(&thread, NULL, run_station, NULL);
	uv_timer_init(loop, &retry);
	uv_tcp_init(loop, &link_tcp);
	uv_tcp_connect(&connecting, &link_tcp, (struct sockaddr *)&station, on_connected);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	return answered == N_GAUGES ? 0 : 1;
}
