/* SPDX-License-Identifier: ISC */
/*
 * A thread asks, and another one of the program answers: over a connection ("tcp", or "unix"), or by two
 * queues without a name ("queue"). To the last question it has no answer, so both wait for each other, and
 * SIGALRM ends the program. The second argument changes that:
 *
 * fine		it answers all questions
 * child	the program has a child, which may answer, as far as is known
 * early	it has one since before there was a queue
 * doubled	the asker has its end twice, and answers itself by the other one, seen by nobody, but for the
 *		last time
 * full		both write, and neither reads
 * drained	one writes as much, and the other one reads it all
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"

#define QUESTIONS 4
#define BLOCK 100000
#define BLOCKS 200 /* more than the kernel holds */

static const char *sort, *chosen;
static int listener, asks[2], answers[2]; /* descriptors to write to, and to read from */

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static bool is_queue(void)
{
	return strcmp(sort, "queue") == 0;
}

static bool put(int fd)
{
	return is_queue() ? mq_send(fd, "?", 1, 0) == 0 : write(fd, "?", 1) == 1;
}

static bool get(int fd)
{
	char byte;

	return is_queue() ? mq_receive(fd, &byte, 1, NULL) == 1 : read(fd, &byte, 1) == 1;
}

/* Returns once the other side doesn't read any more. */
static void fill(int fd, int blocks)
{
	static const char block[BLOCK];

	for (int i = 0; i < blocks; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			break;
}

static void drain(int fd)
{
	static char block[BLOCK];

	while (read(fd, block, BLOCK) > 0)
		usleep(1000);
}

static void *answer(void *unused)
{
	if (!is_queue())
		answers[0] = answers[1] = accept(listener, NULL, NULL);
	if (is("full"))
		fill(answers[0], BLOCKS);
	if (is("drained"))
		drain(answers[1]);
	for (int i = 1; get(answers[1]); i++) {
		usleep(1000);
		if (i % QUESTIONS || is("fine"))
			put(answers[0]);
	}
	return unused;
}

static void start_child(void)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep(60);
	_exit(0);
}

static void *ask(void *address)
{
	int twice = -1;

	if (!is_queue()) {
		asks[0] = asks[1] = socket(*(sa_family_t *)address, SOCK_STREAM, 0);
		if (is("doubled"))
			twice = dup(asks[0]);
		if (connect(asks[0], address,
			    *(sa_family_t *)address == AF_UNIX ? sizeof(struct sockaddr_un)
							       : sizeof(struct sockaddr_in)))
			return NULL;
	}
	if (is("full") || is("drained"))
		fill(asks[0], BLOCKS);
	for (int i = 0; i < QUESTIONS && !is("drained"); i++) {
		if (is("child") && i == QUESTIONS - 1)
			start_child();
		if (!put(twice >= 0 ? twice : asks[0]) || !get(asks[1]))
			break;
	}
	if (is_queue())
		mq_send(asks[0], "", 0, 0);
	else
		shutdown(asks[0], SHUT_WR);
	return NULL;
}

static void make_queues(void)
{
	struct mq_attr about = {.mq_maxmsg = 4, .mq_msgsize = 1};
	char name[40];

	for (int i = 0; i < 2; i++) {
		int *to = i ? answers : asks, *from = i ? asks : answers;

		snprintf(name, sizeof name, "/thrum-itself-%d-%d", (int)getpid(), i);
		to[0] = from[1] = mq_open(name, O_RDWR | O_CREAT, 0600, &about);
		mq_unlink(name);
		if (to[0] < 0)
			printf("skipped: no queues\n");
	}
}

static void listen_at(struct sockaddr *address, socklen_t size)
{
	listener = socket(address->sa_family, SOCK_STREAM, 0);
	if (bind(listener, address, size) == 0 && listen(listener, 1) == 0)
		getsockname(listener, address, &size);
}

int main(int argc, char **argv)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
	} address = {.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
	pthread_t asker, answerer;

	sort = argc > 1 ? argv[1] : "tcp";
	chosen = argc > 2 ? argv[2] : "";
	end_after(is("fine") || is("drained") ? 20 : 2);
	if (is("early"))
		start_child();
	if (is_queue()) {
		make_queues();
	} else if (strcmp(sort, "unix") == 0) {
		address.un = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "socket"};
		listen_at(&address.any, sizeof address.un);
	} else {
		listen_at(&address.any, sizeof address.in);
	}
	pthread_create(&answerer, NULL, answer, NULL);
	pthread_create(&asker, NULL, ask, &address);
	pthread_join(asker, NULL);
	pthread_join(answerer, NULL);
	return 0;
}
