/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: door
 *   run: kill 3000
 *   ask: why
 *   culprit: nothing
 *
 * case: handler
 *   args: handler
 *   run: kill 3000
 *   ask: why
 *   culprit: nothing
 */

/* A loop answers its client, and has a time limit while jobs are pending. Then the client waits for news, which a
 * visitor or SIGUSR1 brings: a thread waits at the door, or the loop looks for the handler's flag. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUESTIONS 4

static int ends[2];
static volatile sig_atomic_t is_rung;

static void ring(int number)
{
	(void)number;
	is_rung = 1;
}

static void send_to(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

static void *serve(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), jobs = 12;
	char text[16];

	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	for (;;) {
		int count = epoll_wait(epoll, &event, 1, jobs > 0 ? 20 : -1);

		if (is_rung) {
			is_rung = 0;
			send_to(ends[0], "news");
		}
		if (count == 1 && read(ends[0], text, sizeof text) > 0)
			send_to(ends[0], "yes");
		else if (jobs > 0)
			jobs--;
	}
	return unused;
}

static void *ask(void *unused)
{
	char text[16];

	for (int i = 0; i < QUESTIONS; i++) {
		send_to(ends[1], "ready?");
		if (read(ends[1], text, sizeof text) <= 0)
			_exit(1);
		usleep(5000);
	}
	while (read(ends[1], text, sizeof text) > 0)
		;
	return unused;
}

static void *open_door(void *unused)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(door, (struct sockaddr *)&address, sizeof address) != 0 || listen(door, 5) != 0)
		_exit(1);
	while (accept(door, NULL, NULL) >= 0)
		send_to(ends[0], "news");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t client, thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "handler") == 0)
		signal(SIGUSR1, ring);
	pthread_create(&client, NULL, ask, NULL);
	if (argc > 1 && strcmp(argv[1], "door") == 0)
		pthread_create(&thread, NULL, open_door, NULL);
	pthread_create(&thread, NULL, serve, NULL);
	pthread_join(client, NULL);
	return 0;
}
