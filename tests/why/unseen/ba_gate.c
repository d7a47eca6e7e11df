/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: at the limit of connections pause_accept takes the listener out of the epoll set; peer_close adds
 *     it again, but reject_peer, which ends connections with a bad password, doesn't; so when the last ones
 *     are rejected nobody accepts any more, and clients that connected wait for their greeting for ever
 *   culprit: reject_peer|pause_accept
 *   victim: visit|client|read_line|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gate in front of a chat server, on epoll: it greets, checks the password and counts. */

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT 3
#define CLIENTS 6
#define VISITS 4

struct peer {
	int socket;
	bool is_known;
};

struct gate {
	int epoll, listener, quit;
	int peers, visits, rejected;
	bool is_paused, is_closing, resumes_always;
};

struct client {
	pthread_t thread;
	unsigned short port;
	int number;
};

static void watch(struct gate *gate, int descriptor, void *data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

	if (epoll_ctl(gate->epoll, EPOLL_CTL_ADD, descriptor, &event))
		perror("epoll_ctl");
}

__attribute__((noinline)) static void pause_accept(struct gate *gate)
{
	epoll_ctl(gate->epoll, EPOLL_CTL_DEL, gate->listener, NULL);
	gate->is_paused = true;
}

__attribute__((noinline)) static void resume_accept(struct gate *gate)
{
	if (!gate->is_paused || gate->peers >= LIMIT)
		return;
	watch(gate, gate->listener, &gate->listener);
	gate->is_paused = false;
}

static void say(const struct peer *peer, const char *line)
{
	if (write(peer->socket, line, strlen(line)) < 0)
		perror("write");
}

static void peer_free(struct gate *gate, struct peer *peer)
{
	close(peer->socket);
	free(peer);
	gate->peers--;
}

/* The peer has left. */
__attribute__((noinline)) static void peer_close(struct gate *gate, struct peer *peer)
{
	peer_free(gate, peer);
	resume_accept(gate);
}

/* The peer isn't welcome. */
__attribute__((noinline)) static void reject_peer(struct gate *gate, struct peer *peer)
{
	say(peer, "ERR password\n");
	gate->rejected++;
	peer_free(gate, peer);
	if (gate->resumes_always)
		resume_accept(gate);
}

static void on_listener(struct gate *gate)
{
	struct peer *peer;
	int socket = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC);

	if (socket < 0)
		return;
	peer = calloc(1, sizeof(*peer));
	peer->socket = socket;
	watch(gate, socket, peer);
	say(peer, "HELLO\n");
	if (++gate->peers == LIMIT)
		pause_accept(gate);
}

static void on_peer(struct gate *gate, struct peer *peer)
{
	char text[64];
	ssize_t got = read(peer->socket, text, sizeof(text) - 1);

	if (got <= 0) {
		peer_close(gate, peer);
		return;
	}
	text[got] = '\0';
	if (!peer->is_known && strncmp(text, "PASS secret", 11) != 0) {
		reject_peer(gate, peer);
		return;
	}
	peer->is_known = true;
	gate->visits++;
	say(peer, "OK\n");
}

static void run_gate(struct gate *gate)
{
	struct epoll_event events[8];

	while (!gate->is_closing) {
		int count = epoll_wait(gate->epoll, events, 8, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == &gate->listener)
				on_listener(gate);
			else if (events[i].data.ptr == &gate->quit)
				gate->is_closing = true;
			else
				on_peer(gate, events[i].data.ptr);
		}
	}
}

static void *gate_thread(void *data)
{
	pthread_setname_np(pthread_self(), "gate");
	run_gate(data);
	return NULL;
}

__attribute__((noinline)) static bool read_line(int socket, char *text, size_t size)
{
	size_t length = 0;

	while (length < size - 1 && read(socket, text + length, 1) == 1)
		if (text[length++] == '\n')
			break;
	text[length] = '\0';
	return length > 0;
}

/* The password has been changed, and the clients need two visits to learn of it. */
__attribute__((noinline)) static int visit(const struct client *client, int number)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = client->port};
	const char *pass = number == 1 || number == 2 ? "PASS former\n" : "PASS secret\n";
	int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[64];
	int result = -1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(handle, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		read_line(handle, text, sizeof(text))) {
		usleep(2000);
		if (write(handle, pass, strlen(pass)) > 0 && read_line(handle, text, sizeof(text)))
			result = strcmp(text, "OK\n") != 0;
		usleep(4000);
	}
	close(handle);
	return result;
}

static void *client_thread(void *data)
{
	struct client *client = data;
	char name[16];

	snprintf(name, sizeof(name), "client-%d", client->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < VISITS; i++)
		if (visit(client, i) < 0)
			fprintf(stderr, "%s: lost\n", name);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	struct client clients[CLIENTS];
	struct gate gate = {0};
	pthread_t thread;
	uint64_t one = 1;

	if (argc != 2)
		return 2;
	gate.resumes_always = strcmp(argv[1], "healthy") == 0;
	gate.epoll = epoll_create1(EPOLL_CLOEXEC);
	gate.quit = eventfd(0, EFD_CLOEXEC);
	gate.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(gate.listener, (struct sockaddr *)&address, sizeof(address)) ||
		listen(gate.listener, 16) ||
		getsockname(gate.listener, (struct sockaddr *)&address, &size))
		return 1;
	watch(&gate, gate.listener, &gate.listener);
	watch(&gate, gate.quit, &gate.quit);
	pthread_create(&thread, NULL, gate_thread, &gate);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.port = address.sin_port, .number = i + 1};
		pthread_create(&clients[i].thread, NULL, client_thread, &clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	if (write(gate.quit, &one, sizeof(one)) != sizeof(one))
		return 1;
	pthread_join(thread, NULL);
	printf("%d visits, %d rejected\n", gate.visits, gate.rejected);
	close(gate.listener);
	close(gate.quit);
	close(gate.epoll);
	return gate.visits + gate.rejected == CLIENTS * VISITS ? 0 : 1;
}
