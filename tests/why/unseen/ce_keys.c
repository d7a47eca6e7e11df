/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_command_bytes takes one command out of the connection's buffer for each read. The importer sends two
 *     commands at once; both arrive in one read, the second stays in the server's own buffer, and as no more bytes
 *     come, nobody looks at it again. The importer waits for the second reply for ever.
 *   culprit: on_command_bytes
 *   victim: run_importer|thread import
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store of keys and values behind a Unix socket. Several clients of the same program use it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define KEYS 64

struct entry {
	char key[16];
	char value[32];
};

struct client {
	uv_pipe_t pipe;
	char buffer[512];
	size_t used;
};

struct reply {
	uv_write_t write;
	char text[64];
};

static bool pipelining; /* whether several commands in one read are understood */
static struct entry entries[KEYS];
static uv_loop_t loop;
static uv_async_t finished;
static struct client clients[2];
static atomic_bool imported;
static atomic_int running = 2;

static struct entry *entry_of(const char *key, bool make)
{
	for (unsigned i = 0; i < KEYS; i++) {
		if (!strcmp(entries[i].key, key))
			return &entries[i];
		if (!entries[i].key[0]) {
			if (!make)
				return NULL;
			snprintf(entries[i].key, sizeof entries[i].key, "%s", key);
			return &entries[i];
		}
	}
	return NULL;
}

static void on_replied(uv_write_t *write, int status)
{
	(void)status;
	free(write->data);
}

static void send_reply(struct client *client, const char *text)
{
	struct reply *reply = malloc(sizeof *reply);
	uv_buf_t buf;

	if (!reply)
		abort();
	reply->write.data = reply;
	snprintf(reply->text, sizeof reply->text, "%s\n", text);
	buf = uv_buf_init(reply->text, (unsigned)strlen(reply->text));
	uv_write(&reply->write, (uv_stream_t *)&client->pipe, &buf, 1, on_replied);
}

static void execute(struct client *client, const char *line)
{
	char key[16];
	char value[32];
	struct entry *entry;

	if (sscanf(line, "SET %15s %31s", key, value) == 2) {
		entry = entry_of(key, true);
		if (entry)
			strcpy(entry->value, value);
		send_reply(client, entry ? "OK" : "FULL");
	} else if (sscanf(line, "GET %15s", key) == 1) {
		entry = entry_of(key, false);
		send_reply(client, entry ? entry->value : "NONE");
	} else {
		send_reply(client, "WHAT");
	}
}

static bool take_command(struct client *client)
{
	char *end = memchr(client->buffer, '\n', client->used);
	size_t size;

	if (!end)
		return false;
	*end = '\0';
	execute(client, client->buffer);
	size = (size_t)(end - client->buffer) + 1;
	client->used -= size;
	memmove(client->buffer, client->buffer + size, client->used);
	return true;
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
	struct client *client = handle->data;

	(void)wanted;
	*buf = uv_buf_init(client->buffer + client->used,
		(unsigned)(sizeof client->buffer - client->used));
}

static void on_command_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct client *client = stream->data;

	(void)buf;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	client->used += (size_t)size;
	if (!pipelining) {
		take_command(client);
		return;
	}
	while (take_command(client))
		continue;
}

static void on_finished(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
}

static void add_client(struct client *client, int fd)
{
	uv_pipe_init(&loop, &client->pipe, 0);
	client->pipe.data = client;
	uv_pipe_open(&client->pipe, fd);
	uv_read_start((uv_stream_t *)&client->pipe, give_room, on_command_bytes);
}

static void read_reply(int fd, char *line, size_t size)
{
	size_t used = 0;

	while (used + 1 < size && read(fd, line + used, 1) == 1) {
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = '\0';
}

static void ask(int fd, const char *commands, unsigned replies)
{
	char line[64];

	if (write(fd, commands, strlen(commands)) < 0)
		abort();
	while (replies-- > 0)
		read_reply(fd, line, sizeof line);
}

static void leave(int fd)
{
	close(fd);
	if (atomic_fetch_sub(&running, 1) == 1)
		uv_async_send(&finished);
}

static void *run_importer(void *data)
{
	int fd = *(int *)data;
	char text[96];

	pthread_setname_np(pthread_self(), "import");
	for (int i = 0; i < 12; i++) {
		snprintf(text, sizeof text, "SET price%d %d\n", i, i * 7);
		ask(fd, text, 1);
		usleep(30000);
	}
	/* The last two belong together. */
	ask(fd, "SET version 12\nGET price3\n", 2);
	atomic_store(&imported, true);
	leave(fd);
	return NULL;
}

static void *run_shop(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "shop");
	while (!atomic_load(&imported)) {
		ask(fd, "GET price1\n", 1);
		usleep(20000);
	}
	leave(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t importer;
	pthread_t shop;
	int ends[2][2];

	pipelining = argc < 2 || strcmp(argv[1], "broken");
	uv_loop_init(&loop);
	uv_async_init(&loop, &finished, on_finished);
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			return 1;
		add_client(&clients[i], ends[i][0]);
	}
	pthread_create(&importer, NULL, run_importer, &ends[0][1]);
	pthread_create(&shop, NULL, run_shop, &ends[1][1]);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(importer, NULL);
	pthread_join(shop, NULL);
	uv_loop_close(&loop);
	puts("keys: all imported");
	return 0;
}
