/* SPDX-License-Identifier: ISC */
/*
 * Programs with slots that are killed after a while, by the argument:
 *   lost    a proxy doesn't give back the slot of a connection that is refused
 *   busy    it does, but the store takes long for the last questions
 *   shards  a loop has fetched all items of its shards, and a thread that takes them waits for more
 *   spool   a loop has found no more files, and a thread that takes them waits for more
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

enum {
	SLOTS = 2,
	CLIENTS = 3,
	QUESTIONS = 40,
	SHARDS = 2,
	FILES = 8
};

static uv_loop_t loop;
static struct sockaddr_in stores[2]; /* the second one is down */
static const char *story;

static bool is_story(const char *name)
{
	return strcmp(story, name) == 0;
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[256];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof space);
}

/* ---- The store ----------------------------------------------------------------------------- */

static void *serve(void *data)
{
	int peer = (int)(intptr_t)data;
	char text[8];
	ssize_t size;

	while ((size = read(peer, text, sizeof text)) > 0) {
		if (text[0] == 's' && is_story("busy"))
			for (volatile int turns = 0;; turns = !turns)
				;
		usleep(1000);
		if (write(peer, text, (size_t)size) < 0)
			break;
	}
	close(peer);
	return NULL;
}

static void *run_store(void *data)
{
	int listener = (int)(intptr_t)data, peer;
	pthread_t thread;

	while ((peer = accept(listener, NULL, NULL)) >= 0)
		pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer);
	return NULL;
}

/* ---- The proxy ----------------------------------------------------------------------------- */

struct fetch {
	uv_tcp_t client, store;
	uv_connect_t connect;
	uv_write_t write;
	struct fetch *next;
	char text[8];
};

static struct fetch *queue;
static int busy;
static struct sockaddr_in proxy_address;

static void start_fetch(struct fetch *);

static void answer(struct fetch *fetch)
{
	uv_buf_t buffer = uv_buf_init(fetch->text, 4);

	uv_close((uv_handle_t *)&fetch->store, NULL);
	uv_try_write((uv_stream_t *)&fetch->client, &buffer, 1);
}

static void give_slot(void)
{
	struct fetch *next = queue;

	busy--;
	if (!next)
		return;
	queue = next->next;
	start_fetch(next);
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)size, (void)buffer;
	answer(stream->data);
	give_slot();
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct fetch *fetch = connect->data;
	uv_buf_t buffer = uv_buf_init(fetch->text, 4);

	if (status == 0) {
		uv_write(&fetch->write, connect->handle, &buffer, 1, NULL);
		uv_read_start(connect->handle, give_buffer, on_answer);
		return;
	}
	answer(fetch);
	if (!is_story("lost"))
		give_slot();
}

static void start_fetch(struct fetch *fetch)
{
	busy++;
	uv_tcp_init(&loop, &fetch->store);
	fetch->store.data = fetch->connect.data = fetch;
	uv_tcp_connect(&fetch->connect, &fetch->store,
		(struct sockaddr *)&stores[fetch->text[0] == 'o'], on_connected);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct fetch *fetch = stream->data;

	if (size < 4)
		return;
	memcpy(fetch->text, buffer->base, 4);
	if (busy < SLOTS) {
		start_fetch(fetch);
		return;
	}
	fetch->next = queue;
	queue = fetch;
}

static void on_client(uv_stream_t *server, int status)
{
	struct fetch *fetch = calloc(1, sizeof *fetch);

	(void)status;
	uv_tcp_init(&loop, &fetch->client);
	fetch->client.data = fetch;
	uv_accept(server, (uv_stream_t *)&fetch->client);
	uv_read_start((uv_stream_t *)&fetch->client, give_buffer, on_question);
}

static void *run_client(void *data)
{
	int peer = socket(AF_INET, SOCK_STREAM, 0);
	char text[8];

	if (connect(peer, (struct sockaddr *)&proxy_address, sizeof proxy_address) < 0)
		abort();
	for (int i = 0; i < QUESTIONS; i++) {
		const char *question = !data && i % 10 == 4 ? "old"
			: i < QUESTIONS - 2                 ? "new"
							    : "slow";

		if (write(peer, question, 4) != 4 || read(peer, text, sizeof text) <= 0)
			abort();
		usleep(2000);
	}
	return NULL;
}

static void run_proxy(void)
{
	static uv_tcp_t proxy;
	int size = sizeof proxy_address;
	pthread_t thread;

	uv_ip4_addr("127.0.0.1", 0, &proxy_address);
	uv_tcp_init(&loop, &proxy);
	uv_tcp_bind(&proxy, (struct sockaddr *)&proxy_address, 0);
	uv_tcp_getsockname(&proxy, (struct sockaddr *)&proxy_address, &size);
	uv_listen((uv_stream_t *)&proxy, 16, on_client);
	for (intptr_t i = 0; i < CLIENTS; i++)
		pthread_create(&thread, NULL, run_client, (void *)i);
}

/* ---- Items for a thread -------------------------------------------------------------------- */

static struct shard {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	int left;
} shards[SHARDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int ready;
static uv_async_t room;
static uv_fs_t look;
static bool is_looking;
static int file;
static char folder[] = "slots.XXXXXX";

static void add_item(void)
{
	pthread_mutex_lock(&lock);
	ready++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

/* Takes items, and tells the loop that there is room. */
static void *take_items(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (ready == 0)
			pthread_cond_wait(&more, &lock);
		ready--;
		pthread_mutex_unlock(&lock);
		uv_async_send(&room);
	}
	return unused;
}

static void ask(struct shard *shard)
{
	uv_buf_t buffer = uv_buf_init((char *)"item", 4);

	uv_write(&shard->write, (uv_stream_t *)&shard->tcp, &buffer, 1, NULL);
}

static void on_item(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct shard *shard = stream->data;

	(void)size, (void)buffer;
	add_item();
	if (--shard->left > 0)
		ask(shard);
}

static void on_shard(uv_connect_t *connect, int status)
{
	if (status < 0)
		abort();
	uv_read_start(connect->handle, give_buffer, on_item);
	ask(connect->data);
}

static void on_look(uv_fs_t *unused);

static void look_for_file(void)
{
	char path[64];

	if (is_looking)
		return;
	is_looking = true;
	snprintf(path, sizeof path, "%s/%d", folder, file);
	uv_fs_stat(&loop, &look, path, on_look);
}

static void on_look(uv_fs_t *request)
{
	bool is_there = request->result == 0;

	uv_fs_req_cleanup(request);
	is_looking = false;
	if (!is_there)
		return;
	file++;
	add_item();
}

static void on_change(uv_fs_event_t *event, const char *name, int events, int status)
{
	(void)event, (void)name, (void)events, (void)status;
	look_for_file();
}

static void on_room(uv_async_t *unused)
{
	(void)unused;
	if (is_story("spool"))
		look_for_file();
}

static void start_shards(void)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &shards[i];

		shard->left = 6 * (i + 1);
		uv_tcp_init(&loop, &shard->tcp);
		shard->tcp.data = shard->connect.data = shard;
		uv_tcp_connect(&shard->connect, &shard->tcp, (struct sockaddr *)&stores[0],
			on_shard);
	}
}

static void start_spool(void)
{
	static uv_fs_event_t event;
	char path[64];

	if (!mkdtemp(folder))
		abort();
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s/%d", folder, i);
		fclose(fopen(path, "w"));
	}
	uv_fs_event_init(&loop, &event);
	uv_fs_event_start(&event, on_change, folder, 0);
	look_for_file();
}

/* ---- The program --------------------------------------------------------------------------- */

static void kill_later(void)
{
	struct sigevent killed = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec after = {.it_value = {.tv_sec = patience(2)}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &killed, &timer) == 0)
		timer_settime(timer, 0, &after, NULL);
}

int main(int argc, char **argv)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof stores[0];
	pthread_t thread;

	story = argc > 1 ? argv[1] : "busy";
	kill_later();
	listen(listener, 8);
	getsockname(listener, (struct sockaddr *)&stores[0], &size);
	uv_ip4_addr("127.0.0.1", 1, &stores[1]);
	uv_loop_init(&loop);
	uv_async_init(&loop, &room, on_room);
	pthread_create(&thread, NULL, run_store, (void *)(intptr_t)listener);
	if (is_story("lost") || is_story("busy")) {
		run_proxy();
	} else {
		(is_story("shards") ? start_shards : start_spool)();
		pthread_create(&thread, NULL, take_items, NULL);
	}
	return uv_run(&loop, UV_RUN_DEFAULT);
}
