/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the server has closed the idle connection, drop_connection sets the descriptor to -1 and leaves it to
 *     the next call to connect again; wait_for_reply goes on and polls the descriptor -1 without a timeout, for ever.
 *   culprit: backup|wait_for_reply|walk_share
 *   victim: nfsd|serve_share|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A backup walks over a share. The share's server closes connections that were idle. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FILES 4
#define FILES_BEFORE_IDLE 2

struct mount {
	struct sockaddr_un address;
	socklen_t size;
	int fd;
	unsigned pending; /* the request that is to be sent again; 0: none */
};

static bool reconnects;
static int listener;

static int connect_share(struct mount *mount)
{
	mount->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(mount->fd, (struct sockaddr *)&mount->address, mount->size);
}

static void send_request(struct mount *mount, unsigned number)
{
	mount->pending = number;
	/* If this fails, the read that follows will tell. */
	if (send(mount->fd, &number, sizeof(number), MSG_NOSIGNAL) < 0)
		fprintf(stderr, "backup: the connection is closed\n");
}

/* The connection is gone. The request is kept, to be sent over the next one. */
static void drop_connection(struct mount *mount)
{
	close(mount->fd);
	mount->fd = -1;
	if (!reconnects)
		return;
	if (connect_share(mount) == 0)
		send_request(mount, mount->pending);
}

static bool wait_for_reply(struct mount *mount, unsigned *reply)
{
	while (mount->pending) {
		struct pollfd poller = {.fd = mount->fd, .events = POLLIN};

		if (poll(&poller, 1, -1) < 0)
			return false;
		if (recv(mount->fd, reply, sizeof(*reply), 0) != (ssize_t)sizeof(*reply)) {
			drop_connection(mount);
			continue;
		}
		mount->pending = 0;
	}
	return true;
}

static bool stat_file(struct mount *mount, unsigned number, unsigned *size)
{
	send_request(mount, number);
	return wait_for_reply(mount, size);
}

static void *walk_share(void *data)
{
	struct mount *mount = data;
	unsigned size, total = 0;

	pthread_setname_np(pthread_self(), "backup");
	if (connect_share(mount))
		return NULL;
	for (unsigned i = 1; i <= FILES; i++)
		if (stat_file(mount, i, &size))
			total += size;
	close(mount->fd);
	printf("%u bytes to copy\n", total);
	return NULL;
}

/* Answers some requests on a connection and closes it; returns how many. */
static unsigned serve_connection(int fd, unsigned most)
{
	unsigned number, size, served = 0;

	while (served < most && recv(fd, &number, sizeof(number), 0) == (ssize_t)sizeof(number)) {
		size = number * 100;
		if (send(fd, &size, sizeof(size), MSG_NOSIGNAL) < 0)
			break;
		served++;
	}
	close(fd);
	return served;
}

static void *serve_share(void *data)
{
	unsigned served = 0;
	int fd;

	(void)data;
	pthread_setname_np(pthread_self(), "nfsd");
	while (served < FILES) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			break;
		served += serve_connection(fd, served ? FILES : FILES_BEFORE_IDLE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct mount mount = {.address = {.sun_family = AF_UNIX}, .fd = -1};
	pthread_t server, backup;
	int length;

	reconnects = argc > 1 && strcmp(argv[1], "healthy") == 0;
	length = snprintf(mount.address.sun_path + 1, sizeof(mount.address.sun_path) - 1,
		"share-%d", (int)getpid());
	mount.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&mount.address, mount.size) || listen(listener, 4))
		return 1;
	pthread_create(&server, NULL, serve_share, NULL);
	pthread_create(&backup, NULL, walk_share, &mount);
	pthread_join(backup, NULL);
	pthread_join(server, NULL);
	close(listener);
	return 0;
}
