/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server sends at most eight replies for each wake-up in on_completions, but has read the
 *     eventfd empty. When the storage thread reports more at once, the rest stays in the list until something
 *     else is completed, and the client waits for a reply that is ready.
 *   culprit: on_completions
 *   victim: run_client|thread client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small key-value server: an epoll loop reads requests, a storage thread answers them in batches. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define ROUNDS 150
#define MAX_REPLIES 8 /* for each wake-up, so that new requests are not kept waiting */

struct request {
	struct request *next;
	int peer, key, value;
};

struct list {
	struct request *first, **end;
};

static struct list wanted = {NULL, &wanted.first};
static struct list completed = {NULL, &completed.first};
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_wanted = PTHREAD_COND_INITIALIZER;
static bool is_stopping, careful;
static int wake_up, loop;
static int replies, connected = CLIENTS;

static void append(struct list *list, struct request *request)
{
	request->next = NULL;
	*list->end = request;
	list->end = &request->next;
}

static struct request *take_first(struct list *list)
{
	struct request *request = list->first;

	if (request && !(list->first = request->next))
		list->end = &list->first;
	return request;
}

/* Answers all that is wanted, and reports it with one wake-up. */
static void *run_storage(void *unused)
{
	struct request *request = unused;

	pthread_setname_np(pthread_self(), "storage");
	pthread_mutex_lock(&list_lock);
	for (;;) {
		while (!wanted.first && !is_stopping)
			pthread_cond_wait(&work_wanted, &list_lock);
		if (!wanted.first)
			break;
		pthread_mutex_unlock(&list_lock);
		usleep(400); /* one sync of the disk for the whole batch */
		pthread_mutex_lock(&list_lock);
		while ((request = take_first(&wanted))) {
			request->value = request->key * 7;
			append(&completed, request);
		}
		eventfd_write(wake_up, 1);
	}
	pthread_mutex_unlock(&list_lock);
	return NULL;
}

static void on_completions(void)
{
	struct request *request;
	eventfd_t count;

	eventfd_read(wake_up, &count);
	for (int sent = 0; sent < MAX_REPLIES; sent++) {
		pthread_mutex_lock(&list_lock);
		request = take_first(&completed);
		pthread_mutex_unlock(&list_lock);
		if (!request)
			return;
		replies += send(request->peer, &request->value, sizeof(request->value),
				   MSG_NOSIGNAL) > 0;
		free(request);
	}
	if (careful)
		eventfd_write(wake_up, 1);
}

static void on_requests(int peer)
{
	int keys[16];
	ssize_t size = read(peer, keys, sizeof(keys));

	if (size <= 0) {
		close(peer);
		connected--;
		return;
	}
	pthread_mutex_lock(&list_lock);
	for (size_t i = 0; i < (size_t)size / sizeof(*keys); i++) {
		struct request *request = malloc(sizeof(*request));

		request->peer = peer;
		request->key = keys[i];
		append(&wanted, request);
	}
	pthread_cond_signal(&work_wanted);
	pthread_mutex_unlock(&list_lock);
}

static void serve(void)
{
	struct epoll_event events[8];

	while (connected > 0)
		for (int i = 0, count = epoll_wait(loop, events, 8, -1); i < count; i++)
			if (events[i].data.fd == wake_up)
				on_completions();
			else
				on_requests(events[i].data.fd);
}

/* Asks for a key or two at once; in the last round it checks twelve. */
static void *run_client(void *data)
{
	int server = (int)(intptr_t)data, keys[12], value;

	pthread_setname_np(pthread_self(), "client");
	for (int round = 0; round < ROUNDS; round++) {
		int count = round == ROUNDS - 1 ? 12 : 1 + round % 2;

		for (int i = 0; i < count; i++)
			keys[i] = round * 16 + i;
		send(server, keys, (size_t)count * sizeof(*keys), MSG_NOSIGNAL);
		for (int i = 0; i < count; i++)
			if (recv(server, &value, sizeof(value), MSG_WAITALL) != sizeof(value))
				return NULL;
	}
	close(server);
	return NULL;
}

static void watch(int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
}

int main(int argc, char **argv)
{
	pthread_t storage, clients[CLIENTS];

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	loop = epoll_create1(EPOLL_CLOEXEC);
	wake_up = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch(wake_up);
	pthread_create(&storage, NULL, run_storage, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		watch(ends[0]);
		pthread_create(&clients[i], NULL, run_client, (void *)(intptr_t)ends[1]);
	}
	serve();
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&list_lock);
	is_stopping = true;
	pthread_cond_signal(&work_wanted);
	pthread_mutex_unlock(&list_lock);
	pthread_join(storage, NULL);
	printf("%d replies\n", replies);
	return 0;
}
