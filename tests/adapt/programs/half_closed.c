/* SPDX-License-Identifier: ISC */
/*
 * A loop that answers the end of each upload with its size, but not that of an empty one, while a visitor
 * goes on. With "fine" it answers all; with "worker", a thread answers the empty one later; with "topic",
 * that one isn't empty, but asks for what the visitor sends later. SIGALRM ends the
 * program if it hangs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define UPLOADS 8
#define EMPTY 5   /* this one is empty */
#define WORKS 12  /* naps of 250 ms */
#define LATER 200 /* visits */

static bool is_fine, has_worker, is_topic;
static int set, uploads[UPLOADS][2], visits[2];
static size_t sizes[1024];
static atomic_bool is_over;

static void *upload(void *unused)
{
	char message[UPLOADS] = {0};

	for (int i = 0; i < UPLOADS; i++) {
		int fd = uploads[i][1];

		if ((i != EMPTY || is_topic) && send(fd, message, (size_t)i + 1, 0) != i + 1)
			exit(1);
		shutdown(fd, SHUT_WR);
		if (recv(fd, message, 1, 0) != 1)
			exit(1);
		close(fd);
	}
	is_over = true;
	return unused;
}

static void *visit(void *unused)
{
	char byte = 0;

	while (!is_over) {
		if (send(visits[1], &byte, 1, 0) != 1 || recv(visits[1], &byte, 1, 0) != 1)
			exit(1);
		usleep(20000);
	}
	shutdown(visits[1], SHUT_WR);
	return unused;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd >= 1024 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
		exit(1);
}

static void answer(int fd)
{
	char size = (char)sizes[fd];

	if (send(fd, &size, 1, 0) != 1)
		exit(1);
	close(fd);
}

static void *work(void *fd)
{
	for (int i = 0; i < WORKS; i++)
		usleep(250000);
	answer((int)(intptr_t)fd);
	return NULL;
}

static void take_end(int fd)
{
	pthread_t worker;

	epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
	if (is_topic ? fd != uploads[EMPTY][0] : sizes[fd] > 0 || is_fine)
		answer(fd);
	else if (has_worker)
		pthread_create(&worker, NULL, work, (void *)(intptr_t)fd);
}

/* Returns false at the end of all. */
static bool take(int fd)
{
	char part[16];
	ssize_t count = recv(fd, part, sizeof part, MSG_DONTWAIT);

	if (fd == visits[0] && is_topic && ++sizes[fd] == LATER)
		answer(uploads[EMPTY][0]);
	if (fd == visits[0])
		return count > 0 && send(fd, part, 1, 0) == 1;
	if (count > 0)
		sizes[fd] += (size_t)count;
	else if (count == 0)
		take_end(fd);
	return true;
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	pthread_t thread;

	is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	has_worker = argc > 1 && strcmp(argv[1], "worker") == 0;
	is_topic = argc > 1 && strcmp(argv[1], "topic") == 0;
	end_after(is_fine || has_worker || is_topic ? 60 : 4);
	set = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, visits) != 0)
		return 1;
	for (int i = 0; i < UPLOADS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, uploads[i]) != 0)
			return 1;
		watch(uploads[i][0]);
	}
	watch(visits[0]);
	pthread_create(&thread, NULL, upload, NULL);
	pthread_create(&thread, NULL, visit, NULL);
	while (epoll_wait(set, &event, 1, -1) == 1 && take(event.data.fd))
		continue;
	puts("done");
	return 0;
}
