/* SPDX-License-Identifier: ISC */
/*
 * A server of libuv on TCP, asked by a thread of the same program, which waits for each answer. "hang": the
 * server leaves one out. "later": a timer is set that could send it. "news": a timer also sends what nobody
 * asked for. "ticks": it leaves out the only question of a second thread, and a timer comes round without an
 * effect. "counts": so, but that timer answered a question of the first thread late. "fine": all is answered.
 * It knows nothing of thrum. The test kills it where it hangs.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define QUESTIONS 8
#define LEFT_OUT 6 /* the question without an answer */

static uv_tcp_t server, connection, second;
static uv_timer_t timer;
static struct sockaddr_in address;
static bool is_fine, is_later, has_news, ticks, counts;
static int questions, clients, rounds;
static char buffer[64], letter[] = "a";

static void give(uv_handle_t *handle, size_t size, uv_buf_t *to)
{
	(void)handle, (void)size;
	*to = uv_buf_init(buffer, sizeof buffer);
}

static void on_sent(uv_write_t *request, int status)
{
	(void)status;
	free(request);
}

static void send_answer(uv_stream_t *stream)
{
	uv_buf_t answer = uv_buf_init(letter, 1);

	uv_write(malloc(sizeof(uv_write_t)), stream, &answer, 1, on_sent);
}

static void on_time(uv_timer_t *handle)
{
	(void)handle;
	if (!ticks || (counts && ++rounds == 8))
		send_answer((uv_stream_t *)&connection);
}

/* The test waits for that. */
static void tell_hang(void)
{
	puts("hangs");
	fflush(stdout);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
	(void)from;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		if (!ticks)
			uv_close((uv_handle_t *)&server, NULL);
		return;
	}
	if (stream == (uv_stream_t *)&second) {
		tell_hang();
		return;
	}
	questions++;
	if (is_fine || (ticks ? !counts || questions != 2 : questions != LEFT_OUT))
		send_answer(stream);
	else
		tell_hang();
	if (questions == 2 && has_news)
		uv_timer_start(&timer, on_time, 20, 0);
}

static void on_client(uv_stream_t *stream, int status)
{
	uv_tcp_t *client = ++clients == 1 ? &connection : &second;

	(void)status;
	uv_tcp_init(uv_default_loop(), client);
	uv_accept(stream, (uv_stream_t *)client);
	uv_read_start((uv_stream_t *)client, give, on_question);
}

static void *ask(void *unused)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer;

	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		_exit(1);
	for (int i = 1; i <= QUESTIONS; i++) {
		/* The loop has time to wait for it, so that the answer has a waiter, too. */
		usleep(ticks ? 5000 : 0);
		if (send(fd, "q", 1, 0) != 1 || recv(fd, &answer, 1, 0) != 1)
			_exit(1);
		if (i == 2 && has_news && recv(fd, &answer, 1, 0) != 1)
			_exit(1);
	}
	close(fd);
	return unused;
}

/* Comes once the first thread has its connection. */
static void *ask_later(void *unused)
{
	usleep(20000);
	return ask(unused);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	int size = sizeof address;
	pthread_t thread, other;

	is_fine = strcmp(how, "fine") == 0;
	is_later = strcmp(how, "later") == 0;
	has_news = strcmp(how, "news") == 0;
	counts = strcmp(how, "counts") == 0;
	ticks = counts || strcmp(how, "ticks") == 0;
	uv_tcp_init(uv_default_loop(), &server);
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_bind(&server, (struct sockaddr *)&address, 0);
	uv_listen((uv_stream_t *)&server, 4, on_client);
	uv_tcp_getsockname(&server, (struct sockaddr *)&address, &size);
	uv_timer_init(uv_default_loop(), &timer);
	if (is_later)
		uv_timer_start(&timer, on_time, 60000, 0);
	if (ticks)
		uv_timer_start(&timer, on_time, 50, 50);
	pthread_create(&thread, NULL, ask, NULL);
	if (ticks)
		pthread_create(&other, NULL, ask_later, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	return 0;
}
