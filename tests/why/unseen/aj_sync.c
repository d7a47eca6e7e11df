/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: When the server drops the connection, on_disconnect() queues the requests again that were sent and not
 *     answered, but forgets the one that is half written (client.writing). “PUT archive” is lost: nobody sends it again,
 *     and no answer comes.
 *   culprit: PUT archive|on_disconnect
 *   victim: all files|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Synchronizes files with a server over one connection, by an epoll loop of its own. If the connection breaks, the
 * client connects again and repeats what was not answered. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thrum.h>

#define FILES 5

struct request {
	struct request *next;
	const char *name;
	size_t size; /* of the body */
	char *text;
	size_t length, written;
	thrum_task task;
};

struct list {
	struct request *first, **end;
};

struct client {
	int epoll, socket;
	unsigned connections, answered;
	struct list queue; /* to be written */
	struct list sent;  /* written, not answered */
	struct request *writing;
	thrum_task connection, all;
};

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;

static void list_append(struct list *list, struct request *request)
{
	request->next = NULL;
	*list->end = request;
	list->end = &request->next;
}

static struct request *list_take(struct list *list)
{
	struct request *request = list->first;

	if (request && !(list->first = request->next))
		list->end = &list->first;
	return request;
}

/* ---- The server: one thread, which answers a byte for each request ---------------------------- */

/* Reads a request "NAME SIZE\n" and its body. Returns false at the end of the connection. */
static bool read_request(int socket)
{
	char header[64], body[4096];
	size_t used = 0, left;

	do {
		if (read(socket, header + used, 1) != 1)
			return false;
	} while (header[used++] != '\n' && used < sizeof header);
	left = strtoul(memchr(header, ' ', used), NULL, 10);
	while (left > 0) {
		ssize_t got = read(socket, body, left < sizeof body ? left : sizeof body);

		if (got <= 0)
			return false;
		left -= (size_t)got;
	}
	return true;
}

/* The first connection is dropped after two requests: the server is told to restart. */
static void *run_server(void *data)
{
	int listener = *(int *)data;
	int socket = accept(listener, NULL, NULL);

	thrum_lane_name("server");
	for (int i = 0; i < 2; i++)
		if (read_request(socket) && write(socket, "+", 1) != 1)
			abort();
	usleep(100000);
	close(socket);
	socket = accept(listener, NULL, NULL);
	while (read_request(socket))
		if (write(socket, "+", 1) != 1)
			break;
	close(socket);
	return NULL;
}

/* ---- The client ------------------------------------------------------------------------------ */

static void watch(struct client *client, bool also_write)
{
	struct epoll_event event = {.events = EPOLLIN | (also_write ? (uint32_t)EPOLLOUT : 0)};

	if (epoll_ctl(client->epoll, EPOLL_CTL_MOD, client->socket, &event) &&
		epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->socket, &event))
		abort();
}

static void connect_again(struct client *client)
{
	int size = 16384;

	client->socket = socket(AF_UNIX, SOCK_STREAM, 0);
	setsockopt(client->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	if (connect(client->socket, (struct sockaddr *)&address, address_size))
		abort();
	fcntl(client->socket, F_SETFL, O_NONBLOCK);
	client->connection = thrum_task_createf(THRUM_KIND_HANDLE, "connection %u",
		++client->connections);
	watch(client, true);
}

static void put_file(struct client *client, const char *name, size_t size)
{
	struct request *request = calloc(1, sizeof *request);

	if (!request || !(request->text = calloc(1, size + 64)))
		abort();
	request->name = name;
	request->length = (size_t)sprintf(request->text, "%s %zu\n", name, size) + size;
	request->task = thrum_task_createf(THRUM_KIND_REQUEST, "PUT %s", name);
	thrum_task_should_resolve(request->task);
	thrum_task_wait(client->all, request->task);
	list_append(&client->queue, request);
}

static void on_writable(struct client *client)
{
	struct request *request;
	ssize_t count;

	while (client->writing || client->queue.first) {
		if (!client->writing) {
			client->writing = list_take(&client->queue);
			client->writing->written = 0;
			thrum_task_wait(client->writing->task, client->connection);
		}
		request = client->writing;
		count = send(client->socket, request->text + request->written,
			request->length - request->written, MSG_NOSIGNAL);
		if (count < 0)
			return;
		request->written += (size_t)count;
		if (request->written < request->length)
			return;
		client->writing = NULL;
		list_append(&client->sent, request);
	}
	watch(client, false);
}

/* Connects again, and queues what was not answered. */
static void on_disconnect(struct client *client)
{
	struct list again = {NULL, &again.first};
	struct request *request;

	thrum_task_fail(client->connection, "closed by the server");
	close(client->socket);
	while ((request = list_take(&client->sent)))
		list_append(&again, request);
	while ((request = list_take(&client->queue)))
		list_append(&again, request);
	while ((request = list_take(&again)))
		list_append(&client->queue, request);
	client->writing = NULL;
	connect_again(client);
}

static void on_answers(struct client *client, unsigned count)
{
	struct request *request;

	while (count-- > 0 && (request = list_take(&client->sent))) {
		THRUM_RUN (request->task) {
			thrum_task_read(request->task, client->connection);
			thrum_task_resolve(request->task);
		}
		client->answered++;
		free(request->text);
		free(request);
	}
}

static void on_event(struct client *client, uint32_t events)
{
	char answers[16];
	ssize_t count;

	if (events & (EPOLLIN | EPOLLHUP)) {
		count = read(client->socket, answers, sizeof answers);
		if (count > 0) {
			on_answers(client, (unsigned)count);
		} else if (count == 0 || errno != EAGAIN) {
			on_disconnect(client);
			return;
		}
	}
	if (events & EPOLLOUT)
		on_writable(client);
}

static void run_loop(struct client *client)
{
	struct epoll_event event;
	int count;

	while (client->answered < FILES) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(client->epoll, &event, 1, -1);
		thrum_resume();
		if (count == 1)
			on_event(client, event.events);
	}
}

int main(int argc, char **argv)
{
	size_t archive = argc > 1 && strcmp(argv[1], "broken") == 0 ? 300000 : 300;
	struct client client = {.epoll = epoll_create1(0)};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;

	thrum_start(NULL);
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
		(size_t)sprintf(address.sun_path + 1, "aj_sync.%d", (int)getpid()));
	if (bind(listener, (struct sockaddr *)&address, address_size) || listen(listener, 4) ||
		pthread_create(&thread, NULL, run_server, &listener))
		return 2;
	client.queue.end = &client.queue.first;
	client.sent.end = &client.sent.first;
	client.all = thrum_task_create(THRUM_KIND_JOIN, "all files");
	thrum_task_should_resolve(client.all);
	connect_again(&client);
	put_file(&client, "letter", 900);
	put_file(&client, "notes", 1200);
	put_file(&client, "archive", archive);
	put_file(&client, "photo", 2000);
	put_file(&client, "list", 100);
	run_loop(&client);
	thrum_task_resolve(client.all);
	thrum_task_resolve(client.connection);
	thrum_stop();
	close(client.socket);
	pthread_join(thread, NULL);
	printf("%u files\n", client.answered);
	return 0;
}
