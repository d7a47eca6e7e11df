/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: hiredis pull request #367 ("Fix libuv adapter to handle polling errors"): after the server's end
 *     the next command connects anew, which is refused. libuv reports that as a status below 0, and
 *     redis_libuv_poll returns at such a status without doing anything. So the connection isn't known to
 *     have failed, nobody calls the callbacks of the commands that stand in its line, and the renderers
 *     wait for their replies for ever.
 *   culprit: redis_libuv_poll
 *   victim: renderer
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */

/* Renderers of pages keep pieces in a key-value server. The main thread's loop talks with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define RENDERERS 2
#define PAGES 20

struct command {
	struct command *next;
	unsigned key;
	bool sent, ended, found;
	pthread_mutex_t mutex;
	pthread_cond_t replied;
};

static struct {
	uv_loop_t loop;
	uv_async_t wakeup, end;
	uv_timer_t statistics;
	uv_poll_t *poll;
	int fd;
	struct command *first, **last; /* sent, or to be sent */
	unsigned unsent;
} redis = {.fd = -1, .last = &redis.first};

static pthread_mutex_t inbox_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct command *inbox;
static struct sockaddr_in address;
static int listener;
static bool handles_errors;
static unsigned hits, misses, finished;

/* ---- the server ---- */

/* Answers 24 commands, and ends. */
static void *server(void *data)
{
	unsigned count = 0;
	unsigned key;
	int fd;

	(void)data;
	fd = accept(listener, NULL, NULL);
	while (count++ < 24 && read(fd, &key, sizeof key) == (ssize_t)sizeof key) {
		usleep(2000);
		if (write(fd, &key, sizeof key) < 0)
			break;
	}
	close(listener);
	shutdown(fd, SHUT_WR);
	while (read(fd, &key, sizeof key) > 0)
		continue;
	close(fd);
	return NULL;
}

/* ---- the client's loop ---- */

static void command_end(struct command *command, bool found)
{
	pthread_mutex_lock(&command->mutex);
	command->ended = true;
	command->found = found;
	pthread_cond_signal(&command->replied);
	pthread_mutex_unlock(&command->mutex);
}

static struct command *pop(void)
{
	struct command *command = redis.first;

	redis.first = command->next;
	if (!redis.first)
		redis.last = &redis.first;
	return command;
}

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

static void redis_disconnect(void)
{
	uv_poll_stop(redis.poll);
	uv_close((uv_handle_t *)redis.poll, free_handle);
	close(redis.fd);
	redis.fd = -1;
	redis.unsent = 0;
	while (redis.first)
		command_end(pop(), false);
}

static void redis_handle_write(void)
{
	struct command *command;
	socklen_t size = sizeof(int);
	int error = 0;

	getsockopt(redis.fd, SOL_SOCKET, SO_ERROR, &error, &size);
	for (command = redis.first; command && !error; command = command->next) {
		if (command->sent)
			continue;
		if (write(redis.fd, &command->key, sizeof command->key) < 0)
			error = errno;
		command->sent = true;
		redis.unsent--;
	}
	if (error)
		redis_disconnect();
}

static void redis_handle_read(void)
{
	unsigned key;
	ssize_t size = read(redis.fd, &key, sizeof key);

	if (size == (ssize_t)sizeof key && redis.first)
		command_end(pop(), true);
	else if (size == 0 || (size < 0 && errno != EAGAIN))
		redis_disconnect();
}

static void redis_libuv_poll(uv_poll_t *poll, int status, int events);

static void redis_update(void)
{
	if (redis.fd >= 0)
		uv_poll_start(redis.poll, UV_READABLE | (redis.unsent ? UV_WRITABLE : 0),
			redis_libuv_poll);
}

static void redis_libuv_poll(uv_poll_t *poll, int status, int events)
{
	(void)poll;
	if (status < 0) {
		if (!handles_errors)
			return;
		events = UV_WRITABLE;
	}
	if (events & UV_WRITABLE)
		redis_handle_write();
	if (redis.fd >= 0 && (events & UV_READABLE))
		redis_handle_read();
	redis_update();
}

static void redis_connect(void)
{
	redis.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	connect(redis.fd, (struct sockaddr *)&address, sizeof address);
	redis.poll = malloc(sizeof *redis.poll);
	uv_poll_init(&redis.loop, redis.poll, redis.fd);
}

static void take_inbox(uv_async_t *async)
{
	struct command *command;

	(void)async;
	pthread_mutex_lock(&inbox_mutex);
	while ((command = inbox)) {
		inbox = command->next;
		command->next = NULL;
		*redis.last = command;
		redis.last = &command->next;
		redis.unsent++;
	}
	pthread_mutex_unlock(&inbox_mutex);
	if (redis.fd < 0 && redis.first)
		redis_connect();
	redis_update();
}

static void stop(uv_async_t *async)
{
	uv_stop(async->loop);
}

static void print_statistics(uv_timer_t *timer)
{
	(void)timer;
	printf("%u hits, %u misses\n", hits, misses);
	fflush(stdout);
}

/* ---- the renderers ---- */

static bool redis_get(unsigned key)
{
	struct command command = {.key = key};

	pthread_mutex_init(&command.mutex, NULL);
	pthread_cond_init(&command.replied, NULL);
	pthread_mutex_lock(&inbox_mutex);
	command.next = inbox;
	inbox = &command;
	pthread_mutex_unlock(&inbox_mutex);
	uv_async_send(&redis.wakeup);
	pthread_mutex_lock(&command.mutex);
	while (!command.ended)
		pthread_cond_wait(&command.replied, &command.mutex);
	pthread_mutex_unlock(&command.mutex);
	return command.found;
}

static void *renderer(void *data)
{
	unsigned number = *(unsigned *)data, page;
	char name[16];

	snprintf(name, sizeof name, "renderer %u", number);
	pthread_setname_np(pthread_self(), name);
	for (page = 0; page < PAGES; page++) {
		if (redis_get(number * 1000 + page))
			__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&misses, 1, __ATOMIC_RELAXED);
		usleep(8000 + number * 1500);
	}
	if (__atomic_add_fetch(&finished, 1, __ATOMIC_RELAXED) == RENDERERS)
		uv_async_send(&redis.end);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned numbers[RENDERERS], i;
	socklen_t size = sizeof address;

	if (argc < 2)
		return 2;
	handles_errors = !strcmp(argv[1], "healthy");
	signal(SIGPIPE, SIG_IGN);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8))
		return 1;
	getsockname(listener, (struct sockaddr *)&address, &size);
	pthread_create(&thread, NULL, server, NULL);
	uv_loop_init(&redis.loop);
	uv_async_init(&redis.loop, &redis.wakeup, take_inbox);
	uv_async_init(&redis.loop, &redis.end, stop);
	uv_timer_init(&redis.loop, &redis.statistics);
	uv_timer_start(&redis.statistics, print_statistics, 100, 100);
	for (i = 0; i < RENDERERS; i++) {
		numbers[i] = i + 1;
		pthread_create(&thread, NULL, renderer, &numbers[i]);
	}
	uv_run(&redis.loop, UV_RUN_DEFAULT);
	printf("done: %u hits, %u misses\n", hits, misses);
	return 0;
}
