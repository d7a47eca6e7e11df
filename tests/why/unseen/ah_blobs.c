/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the client sends "Expect: 100-continue" with blobs of more than 1024 bytes and waits for "100"
 *     before it sends the body. The server doesn't know that header (parse_head skips it): its task
 *     "receive disk.img" waits for the body. Each waits for the other.
 *   culprit: receive disk|parse_head|on_server_readable
 *   victim: PUT
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A store of blobs and a client of it, as two state machines on one epoll loop, that speak a small HTTP
 * over a socketpair. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define EXPECT_ABOVE 1024
#define BUFFER 8192

/* The program's loop: a function for each descriptor. */
struct watch {
	int descriptor;
	void (*on_readable)(struct watch *watch);
};

static int epoll;
static bool done;

static void watch_add(struct watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, watch->descriptor, &event))
		abort();
}

static void loop_run(void)
{
	struct epoll_event events[4];
	int count;

	while (!done) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(epoll, events, 4, -1);
		thrum_resume();
		for (int i = 0; i < count; i++) {
			struct watch *watch = events[i].data.ptr;

			watch->on_readable(watch);
		}
	}
}

static void send_all(int descriptor, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(descriptor, data, size, MSG_NOSIGNAL);

		if (sent <= 0)
			abort();
		data += sent;
		size -= (size_t)sent;
	}
}

/* ---- The store ------------------------------------------------------------------------------- */

enum server_state {
	SERVER_HEAD,
	SERVER_BODY
};

static struct server {
	struct watch watch; /* first */
	enum server_state state;
	char buffer[BUFFER];
	size_t used, wanted;
	char name[32];
	thrum_task connection, request;
} server;

/* Understands the lines of a head, up to the empty one. Returns its size, or 0 if it isn't complete. */
static __attribute__((noinline)) size_t parse_head(struct server *server)
{
	char *end = memmem(server->buffer, server->used, "\r\n\r\n", 4);
	char *line = server->buffer;

	if (!end)
		return 0;
	while (line < end) {
		sscanf(line, "PUT /%31s", server->name);
		sscanf(line, "Content-Length: %zu", &server->wanted);
		line = strstr(line, "\r\n") + 2;
	}
	return (size_t)(end - server->buffer) + 4;
}

static void drop(struct server *server, size_t size)
{
	server->used -= size;
	memmove(server->buffer, server->buffer + size, server->used);
}

static void begin_request(struct server *server, size_t head)
{
	drop(server, head);
	server->request = thrum_task_createf(THRUM_KIND_TASK, "receive %s", server->name);
	thrum_task_should_resolve(server->request);
	thrum_task_wait(server->request, server->connection);
	server->state = SERVER_BODY;
}

static void end_request(struct server *server)
{
	static const char created[] = "201 Created\r\n";

	THRUM_RUN (server->request) {
		thrum_task_read(server->request, server->connection);
		printf("stored %s, %zu bytes\n", server->name, server->wanted);
		drop(server, server->wanted);
		send_all(server->watch.descriptor, created, strlen(created));
		thrum_task_resolve(server->request);
	}
	server->state = SERVER_HEAD;
}

static void on_server_readable(struct watch *watch)
{
	struct server *server = (struct server *)watch;
	ssize_t size = read(watch->descriptor, server->buffer + server->used,
		BUFFER - 1 - server->used);
	size_t head;

	if (size <= 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, watch->descriptor, NULL);
		return;
	}
	server->used += (size_t)size;
	server->buffer[server->used] = 0;
	if (server->state == SERVER_HEAD && (head = parse_head(server)))
		begin_request(server, head);
	if (server->state == SERVER_BODY && server->used >= server->wanted)
		end_request(server);
}

/* ---- The client ------------------------------------------------------------------------------ */

enum client_state {
	CLIENT_PAUSE,
	CLIENT_EXPECT,
	CLIENT_REPLY
};

struct blob {
	const char *name;
	size_t size;
};

static struct client {
	struct watch watch; /* first */
	enum client_state state;
	struct watch timer;
	const struct blob *blobs;
	size_t count, next;
	thrum_task connection, request;
} client;

static void send_body(struct client *client)
{
	static char body[4096];

	send_all(client->watch.descriptor, body, client->blobs[client->next].size);
	client->state = CLIENT_REPLY;
}

static void put_blob(struct client *client)
{
	const struct blob *blob = &client->blobs[client->next];
	bool expect = blob->size > EXPECT_ABOVE;
	char head[160];

	client->request = thrum_task_createf(THRUM_KIND_REQUEST, "PUT %s", blob->name);
	thrum_task_should_resolve(client->request);
	snprintf(head, sizeof head, "PUT /%s HTTP/1.1\r\nContent-Length: %zu\r\n%s\r\n", blob->name,
		blob->size, expect ? "Expect: 100-continue\r\n" : "");
	send_all(client->watch.descriptor, head, strlen(head));
	thrum_task_wait(client->request, client->connection);
	client->state = CLIENT_EXPECT;
	if (!expect)
		send_body(client);
}

static void set_timer(struct client *client, long milliseconds)
{
	struct itimerspec spec = {.it_value.tv_nsec = milliseconds * 1000000};

	timerfd_settime(client->timer.descriptor, 0, &spec, NULL);
}

static void on_client_timer(struct watch *watch)
{
	uint64_t times;

	if (read(watch->descriptor, &times, sizeof times) == sizeof times)
		put_blob(&client);
}

static void on_client_readable(struct watch *watch)
{
	struct client *client = (struct client *)watch;
	char reply[64];
	ssize_t size = read(watch->descriptor, reply, sizeof reply - 1);

	if (size <= 0)
		abort();
	reply[size] = 0;
	if (client->state == CLIENT_EXPECT && strncmp(reply, "100", 3) == 0) {
		send_body(client);
		return;
	}
	THRUM_RUN (client->request) {
		thrum_task_read(client->request, client->connection);
		thrum_task_resolve(client->request);
	}
	client->state = CLIENT_PAUSE;
	if (++client->next == client->count)
		done = true;
	else
		set_timer(client, 50);
}

int main(int count, char **arguments)
{
	static const struct blob notes[] = {{"a.txt", 120}, {"b.txt", 1000}, {"c.txt", 64},
		{"d.txt", 800}};
	static const struct blob disks[] = {{"a.txt", 120}, {"b.txt", 1000}, {"disk.img", 4000},
		{"d.txt", 800}};
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	int ends[2];

	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	server.watch = (struct watch){ends[0], on_server_readable};
	server.connection = thrum_task_create(THRUM_KIND_HANDLE, "store: connection 1");
	client.watch = (struct watch){ends[1], on_client_readable};
	client.connection = thrum_task_create(THRUM_KIND_HANDLE, "client: connection to store");
	client.timer = (struct watch){timerfd_create(CLOCK_MONOTONIC, 0), on_client_timer};
	client.blobs = healthy ? notes : disks;
	client.count = 4;
	watch_add(&server.watch);
	watch_add(&client.watch);
	watch_add(&client.timer);
	set_timer(&client, 10);
	loop_run();
	thrum_stop();
	close(ends[1]);
	return client.next == 4 ? 0 : 1;
}
