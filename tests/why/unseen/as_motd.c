/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: close_listener closes the listening socket on the old path without shutdown(), and that doesn't
 *     wake the thread "acceptor", which stays in accept() on a descriptor that is gone; main joins it for
 *     ever
 *   culprit: acceptor|accept_clients|close_listener
 *   victim: join_acceptor|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server that tells the message of the day on a local socket, and moves to another socket on demand. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct listener {
	char path[64];
	int descriptor;
	pthread_t acceptor;
	atomic_bool closing;
	unsigned served;
};

static char message[128] = "no news is good news";
static pthread_mutex_t message_lock = PTHREAD_MUTEX_INITIALIZER;

static socklen_t make_address(struct sockaddr_un *address, const char *path)
{
	size_t size = strlen(path);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* An abstract name: nothing is left in the file system. */
	memcpy(address->sun_path + 1, path, size);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

__attribute__((noinline)) void tell_message(int client)
{
	char text[sizeof(message) + 1];
	int size;

	pthread_mutex_lock(&message_lock);
	size = snprintf(text, sizeof(text), "%s\n", message);
	pthread_mutex_unlock(&message_lock);
	if (send(client, text, (size_t)size, MSG_NOSIGNAL) != size)
		perror("send");
	close(client);
}

/* The thread of a listener. */
__attribute__((noinline)) void *accept_clients(void *data)
{
	struct listener *listener = data;

	pthread_setname_np(pthread_self(), "acceptor");
	while (!atomic_load(&listener->closing)) {
		int client = accept4(listener->descriptor, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			break; /* closed */
		}
		listener->served++;
		tell_message(client);
	}
	return NULL;
}

static void open_listener(struct listener *listener, const char *path)
{
	struct sockaddr_un address;
	socklen_t size = make_address(&address, path);

	snprintf(listener->path, sizeof(listener->path), "%s", path);
	listener->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener->descriptor < 0 ||
		bind(listener->descriptor, (struct sockaddr *)&address, size) ||
		listen(listener->descriptor, 8)) {
		perror(path);
		exit(1);
	}
	listener->served = 0;
	atomic_store(&listener->closing, false);
	if (pthread_create(&listener->acceptor, NULL, accept_clients, listener))
		exit(1);
}

static int dial(const char *path)
{
	struct sockaddr_un address;
	socklen_t size = make_address(&address, path);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (client >= 0 && connect(client, (struct sockaddr *)&address, size)) {
		close(client);
		client = -1;
	}
	return client;
}

/* After this accept() fails, and the acceptor ends. */
__attribute__((noinline)) void close_listener(struct listener *listener)
{
	atomic_store(&listener->closing, true);
	close(listener->descriptor);
	listener->descriptor = -1;
}

__attribute__((noinline)) void join_acceptor(struct listener *listener)
{
	pthread_join(listener->acceptor, NULL);
	printf("%s: served %u\n", listener->path, listener->served);
}

/* The end of the service: tells those who stand in line, then closes. */
__attribute__((noinline)) void drain_listener(struct listener *listener)
{
	atomic_store(&listener->closing, true);
	shutdown(listener->descriptor, SHUT_RDWR);
	join_acceptor(listener);
	close(listener->descriptor);
	listener->descriptor = -1;
}

__attribute__((noinline)) void move_listener(struct listener *listener, const char *path)
{
	close_listener(listener);
	join_acceptor(listener);
	open_listener(listener, path);
}

static void ask_message(const char *path)
{
	char text[sizeof(message) + 1];
	ssize_t size;
	int client = dial(path);

	if (client < 0) {
		perror(path);
		return;
	}
	size = recv(client, text, sizeof(text) - 1, 0);
	if (size > 0)
		printf("client: %.*s", (int)size, text);
	close(client);
}

/* The commands of an administrator, one a line. */
static const char *const daily[] = {"ask", "set the lift is out of order", "ask", "ask", NULL};
static const char *const moving[] = {"ask", "set the lift works", "ask", "move motd.new", "ask",
	NULL};

__attribute__((noinline)) void run_commands(struct listener *listener, const char *const *commands)
{
	for (; *commands; commands++) {
		usleep(50000);
		if (!strcmp(*commands, "ask")) {
			ask_message(listener->path);
		} else if (!strncmp(*commands, "set ", 4)) {
			pthread_mutex_lock(&message_lock);
			snprintf(message, sizeof(message), "%s", *commands + 4);
			pthread_mutex_unlock(&message_lock);
		} else if (!strncmp(*commands, "move ", 5)) {
			char path[64];

			snprintf(path, sizeof(path), "as-%s-%d", *commands + 5, (int)getpid());
			move_listener(listener, path);
		}
	}
}

int main(int argc, char **argv)
{
	struct listener listener = {.descriptor = -1};
	char path[64];

	snprintf(path, sizeof(path), "as-motd-%d", (int)getpid());
	open_listener(&listener, path);
	run_commands(&listener, argc > 1 && !strcmp(argv[1], "broken") ? moving : daily);
	usleep(150000);
	drain_listener(&listener);
	return 0;
}
