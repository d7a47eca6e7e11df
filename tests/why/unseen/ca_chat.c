/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: bury_dead runs 100 ms after a connection was closed, and removes the watch and the entry of that
 *     descriptor's number. A new guest has come meanwhile and got the same number, so bury_dead takes the watch from
 *     the new connection; the guest's second question is never read.
 *   culprit: bury_dead
 *   victim: run_guest|say\b|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A chat server on epoll, with the guests that try it, and a monitor that asks how many are there. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FDS 64
#define GRAVE_MS 100 /* so long a name stays taken after its guest has gone */

struct guest {
	bool present;
	char name[16];
};

struct grave {
	int fd;
	long since;
};

static bool by_number;
static int poller, listener;
static struct guest guests[FDS];
static struct grave graves[FDS];
static unsigned grave_count;
static struct sockaddr_un address;
static socklen_t address_size;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

static void welcome(void)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || fd >= FDS)
		return;
	guests[fd].present = true;
	watch(fd);
}

static void hang_up(int fd)
{
	close(fd);
	guests[fd].present = false;
	graves[grave_count].fd = fd;
	graves[grave_count].since = now_ms();
	grave_count++;
}

static void answer(int fd)
{
	struct guest *guest = &guests[fd];
	char line[64], reply[96];
	ssize_t size = read(fd, line, sizeof(line) - 1);

	if (size <= 0) {
		hang_up(fd);
		return;
	}
	line[size] = 0;
	if (!strncmp(line, "I am ", 5))
		snprintf(guest->name, sizeof(guest->name), "%.15s", line + 5);
	snprintf(reply, sizeof(reply), "<%s> %s", guest->name, line);
	if (write(fd, reply, strlen(reply)) < 0)
		hang_up(fd);
}

/* Forgets those whose time is up. */
static void bury_dead(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < grave_count; i++) {
		int fd = graves[i].fd;

		if (now_ms() - graves[i].since < GRAVE_MS) {
			graves[kept++] = graves[i];
			continue;
		}
		if (guests[fd].present && !by_number)
			continue; /* somebody else has the number */
		epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
		memset(&guests[fd], 0, sizeof(guests[fd]));
	}
	grave_count = kept;
}

static void *run_server(void *data)
{
	struct epoll_event events[8];

	(void)data;
	watch(listener);
	for (;;) {
		int count = epoll_wait(poller, events, 8, 25);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				welcome();
			else
				answer(events[i].data.fd);
		}
		bury_dead();
	}
	return NULL;
}

static int enter_chat(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char line[32], reply[128];

	connect(fd, (struct sockaddr *)&address, address_size);
	snprintf(line, sizeof(line), "I am %s", name);
	if (write(fd, line, strlen(line)) < 0 || read(fd, reply, sizeof(reply)) <= 0)
		abort();
	return fd;
}

static void say(int fd, const char *line)
{
	char reply[128];

	if (write(fd, line, strlen(line)) < 0 || read(fd, reply, sizeof(reply)) <= 0)
		abort();
}

/* Comes and goes. After four visits it is in a hurry, and comes back at once. */
static void *run_guest(void *data)
{
	(void)data;
	for (int visit = 0; visit < 8; visit++) {
		int fd = enter_chat("anna");

		usleep(160 * 1000 / (visit < 4 ? 4 : 1));
		say(fd, "hello");
		close(fd);
		usleep((visit < 4 ? 200 : 20) * 1000);
	}
	return NULL;
}

static void *run_monitor(void *data)
{
	int fd = enter_chat("monitor");

	(void)data;
	for (;;) {
		say(fd, "who is there?");
		usleep(45 * 1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, monitor, guest;

	by_number = argc > 1 && !strcmp(argv[1], "broken");
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "chat-%d", getpid());
	address_size = sizeof(sa_family_t) + 1 + strlen(address.sun_path + 1);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, address_size) || listen(listener, 8))
		return 1;
	poller = epoll_create1(0);
	pthread_create(&server, NULL, run_server, NULL);
	pthread_create(&monitor, NULL, run_monitor, NULL);
	usleep(50 * 1000);
	pthread_create(&guest, NULL, run_guest, NULL);
	pthread_join(guest, NULL);
	printf("the guest has left\n");
	return 0;
}
