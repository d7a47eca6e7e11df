/* SPDX-License-Identifier: ISC */
/*
 * A thread asks a libuv loop of the same program for files, over a connection. It knows nothing of thrum.
 *
 * uv_answers fine	a file that is missing is answered, too
 * uv_answers missing	it isn't, and the thread waits; SIGKILL ends the program
 * uv_answers news	the thread waits for news, which nobody has; SIGKILL ends the program
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define QUESTIONS 40
#define SECOND UINT64_C(1000000000) /* ns */
#define REST_MIN UINT64_C(1700000000)

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "answers.socket"};
static const char *mode;
static uint64_t begun; /* ns */
static uv_loop_t loop;
static uv_pipe_t server, client;
static uv_fs_t file;
static uv_write_t request;
static char text[64];

static void answer(void)
{
	static char word[] = "answer\n";
	uv_buf_t buffer = uv_buf_init(word, sizeof word - 1);

	uv_write(&request, (uv_stream_t *)&client, &buffer, 1, NULL);
}

static void on_read(uv_fs_t *done)
{
	close((int)(intptr_t)done->data);
	uv_fs_req_cleanup(done);
	answer();
}

static void on_open(uv_fs_t *done)
{
	static char contents[64];
	uv_buf_t buffer = uv_buf_init(contents, sizeof contents);
	long fd = done->result;

	uv_fs_req_cleanup(done);
	if (fd < 0) {
		if (strcmp(mode, "missing") != 0)
			answer();
		return;
	}
	done->data = (void *)(intptr_t)fd;
	uv_fs_read(&loop, done, (uv_file)fd, &buffer, 1, 0, on_read);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&server, NULL);
		return;
	}
	if (strncmp(buffer->base, "news", 4) != 0)
		uv_fs_open(&loop, &file, strtok(buffer->base, "\n"), O_RDONLY, 0, on_open);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle, (void)suggested;
	*buffer = uv_buf_init(text, sizeof text);
}

static void on_client(uv_stream_t *stream, int status)
{
	if (status || uv_pipe_init(&loop, &client, 0) || uv_accept(stream, (uv_stream_t *)&client))
		abort();
	uv_read_start((uv_stream_t *)&client, give_room, on_question);
}

/* Ends it after 1.7 s, or after five times as long as it took so far: it is at rest then. Nothing in the
 * program runs for that. */
static void end_late(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	uint64_t taken = uv_hrtime() - begun, rest = taken > REST_MIN / 5 ? 5 * taken : REST_MIN;
	struct itimerspec time = {.it_value = {(time_t)(rest / SECOND), (long)(rest % SECOND)}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &time, NULL))
		abort();
}

static void *ask(void *unused)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char word[64];

	if (connect(fd, (struct sockaddr *)&address, sizeof address))
		abort();
	for (int i = 0; i < QUESTIONS; i++) {
		const char *question = i != QUESTIONS / 2 ? "/dev/null\n"
			: mode[0] == 'n'                  ? "news\n"
							  : "/missing\n";

		if (i == QUESTIONS / 2 && strcmp(mode, "fine") != 0)
			end_late();
		if (write(fd, question, strlen(question)) < 0 || read(fd, word, sizeof word) < 1)
			abort();
		usleep(300);
	}
	close(fd);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t asker;

	begun = uv_hrtime();
	mode = argc > 1 ? argv[1] : "fine";
	unlink(address.sun_path);
	if (uv_loop_init(&loop) || uv_pipe_init(&loop, &server, 0) ||
		uv_pipe_bind(&server, address.sun_path) ||
		uv_listen((uv_stream_t *)&server, 4, on_client))
		return 1;
	pthread_create(&asker, NULL, ask, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(asker, NULL);
	return 0;
}
