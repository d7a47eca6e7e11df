/* SPDX-License-Identifier: ISC */
/*
 * A server stops reading while the pool works for a client, and reads on after that. Two threads ask it over
 * TCP: a visitor again and again, a user for a few answers. With "hang" it doesn't read on after an odd
 * question, and SIGALRM ends the program. With "fine" it does. With "slow" that takes the pool long, and with
 * "later" a timer reads on. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define QUESTIONS 10
#define ODD 6
#define LONG 3000 /* ms; longer than data may be left */

struct client {
	uv_tcp_t stream;
	uv_work_t work;
	uv_write_t write;
	char question;
};

static struct sockaddr_in address;
static uv_tcp_t door;
static uv_timer_t beat, later;
static const char *way;
static char room[64], answer[] = "!";
static atomic_bool is_over;
static int left = 2; /* clients */

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void do_work(uv_work_t *work)
{
	const struct client *client = work->data;

	usleep(client->question == 'x' && strcmp(way, "slow") == 0 ? LONG * 1000 : 1000);
}

static void read_on(struct client *client)
{
	uv_read_start((uv_stream_t *)&client->stream, make_room, on_question);
}

static void on_later(uv_timer_t *timer)
{
	read_on(timer->data);
}

static void after_work(uv_work_t *work, int status)
{
	struct client *client = work->data;
	uv_buf_t buffer = uv_buf_init(answer, 1);

	(void)status;
	uv_write(&client->write, (uv_stream_t *)&client->stream, &buffer, 1, NULL);
	if (client->question == 'x' && strcmp(way, "later") == 0) {
		later.data = client;
		uv_timer_start(&later, on_later, LONG, 0);
	} else if (client->question != 'x' || strcmp(way, "hang") != 0) {
		read_on(client);
	}
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
	if (--left > 0)
		return;
	uv_close((uv_handle_t *)&door, NULL);
	uv_close((uv_handle_t *)&beat, NULL);
	uv_close((uv_handle_t *)&later, NULL);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct client *client = stream->data;

	if (size < 0) {
		uv_close((uv_handle_t *)stream, on_closed);
	} else if (size > 0) {
		client->question = *buffer->base;
		uv_read_stop(stream);
		uv_queue_work(stream->loop, &client->work, do_work, after_work);
	}
}

static void on_client(uv_stream_t *stream, int status)
{
	struct client *client = calloc(1, sizeof *client);

	(void)status;
	uv_tcp_init(stream->loop, &client->stream);
	client->stream.data = client->work.data = client;
	uv_accept(stream, (uv_stream_t *)&client->stream);
	read_on(client);
}

static void on_beat(uv_timer_t *timer)
{
	(void)timer;
}

/* ---- Clients ----------------------------------------------------------------------------------- */

static int reach(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		exit(1);
	return fd;
}

static void ask(int fd, const char *question)
{
	char byte;

	if (write(fd, question, 1) != 1 || read(fd, &byte, 1) != 1)
		exit(1);
}

static void *visit(void *unused)
{
	int fd = reach();

	while (!is_over) {
		ask(fd, "a");
		usleep(10000);
	}
	close(fd);
	return unused;
}

static void *use(void *unused)
{
	int fd = reach();

	for (int i = 0; i < QUESTIONS; i++)
		ask(fd, i == ODD ? "x" : "a");
	is_over = true;
	close(fd);
	return unused;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	pthread_t visitor, user;
	int size = sizeof address;

	way = argc > 1 ? argv[1] : "fine";
	end_after(strcmp(way, "hang") == 0 ? 8 : 60);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	uv_tcp_init(loop, &door);
	uv_tcp_bind(&door, (struct sockaddr *)&address, 0);
	uv_listen((uv_stream_t *)&door, 8, on_client);
	uv_tcp_getsockname(&door, (struct sockaddr *)&address, &size);
	uv_timer_init(loop, &later);
	uv_timer_init(loop, &beat);
	uv_timer_start(&beat, on_beat, 100, 100);
	pthread_create(&visitor, NULL, visit, NULL);
	pthread_create(&user, NULL, use, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(visitor, NULL);
	pthread_join(user, NULL);
	puts("done");
	return 0;
}
