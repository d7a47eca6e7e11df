/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The cache's loop keeps questions to the upstream in eight slots by their id modulo 8; a ninth one
 *     takes a slot whose question is still open, so that one's answer finds nobody and its stub waits in recv
 *     for ever.
 *   culprit: cache\b|pending|question_add|on_question
 *   victim: stub-|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A DNS cache with a poll loop: stubs ask it, and it asks an upstream for names that it doesn't know. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STUBS 9
#define NAMES 128
#define ROUNDS 12

struct question {
	unsigned id;
	unsigned name;
};

struct answer {
	unsigned id;
	unsigned name;
	unsigned address;
};

struct pending {
	bool used;
	unsigned id;
	int stub;
};

struct stub {
	pthread_t thread;
	int number, socket, answers;
};

static struct pending pending[64];
static unsigned slots = 8;
static unsigned known[NAMES];
static unsigned next_id, hits;
static struct pollfd polled[STUBS + 1];

/* ---- the cache ---- */

static unsigned question_add(int stub)
{
	struct pending *slot = &pending[next_id % slots];

	slot->used = true;
	slot->id = next_id;
	slot->stub = stub;
	return next_id++;
}

static void on_question(int stub)
{
	struct question question;

	if (recv(polled[stub].fd, &question, sizeof question, 0) != sizeof question) {
		close(polled[stub].fd);
		polled[stub].fd = -1;
		return;
	}
	if (known[question.name]) {
		struct answer answer = {question.id, question.name, known[question.name]};

		hits++;
		send(polled[stub].fd, &answer, sizeof answer, 0);
		return;
	}
	question.id = question_add(stub);
	send(polled[STUBS].fd, &question, sizeof question, 0);
}

static void on_answer(void)
{
	struct answer answer;
	struct pending *slot;

	if (recv(polled[STUBS].fd, &answer, sizeof answer, 0) != sizeof answer)
		return;
	slot = &pending[answer.id % slots];
	if (!slot->used || slot->id != answer.id)
		return;
	slot->used = false;
	known[answer.name] = answer.address;
	send(polled[slot->stub].fd, &answer, sizeof answer, 0);
}

static bool any_stub(void)
{
	for (int i = 0; i < STUBS; i++)
		if (polled[i].fd >= 0)
			return true;
	return false;
}

static void *cache_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "cache");
	while (any_stub()) {
		if (poll(polled, STUBS + 1, -1) < 0)
			break;
		for (int i = 0; i < STUBS; i++)
			if (polled[i].fd >= 0 && polled[i].revents)
				on_question(i);
		if (polled[STUBS].revents)
			on_answer();
	}
	close(polled[STUBS].fd);
	return NULL;
}

/* ---- the upstream ---- */

/* Answers bursts: it collects what comes within some milliseconds. */
static void *upstream_run(void *data)
{
	int socket = *(int *)data;
	struct question burst[32];
	int count;

	pthread_setname_np(pthread_self(), "upstream");
	while (recv(socket, &burst[0], sizeof burst[0], 0) == sizeof burst[0]) {
		usleep(20000);
		for (count = 1; count < 32; count++)
			if (recv(socket, &burst[count], sizeof burst[0], MSG_DONTWAIT) !=
				sizeof burst[0])
				break;
		for (int i = 0; i < count; i++) {
			struct answer answer = {burst[i].id, burst[i].name,
				0x0a000000 + burst[i].name};

			send(socket, &answer, sizeof answer, 0);
		}
	}
	close(socket);
	return NULL;
}

/* ---- stubs ---- */

static pthread_barrier_t page; /* a page with names for all of them is opened */

static bool ask(struct stub *stub, unsigned name)
{
	struct question question = {(unsigned)stub->number, name};
	struct answer answer;

	if (send(stub->socket, &question, sizeof question, 0) < 0)
		return false;
	if (recv(stub->socket, &answer, sizeof answer, 0) != sizeof answer)
		return false;
	stub->answers++;
	return answer.name == name;
}

static void *stub_run(void *data)
{
	struct stub *stub = data;
	char name[16];
	unsigned first = (unsigned)stub->number * ROUNDS;

	snprintf(name, sizeof name, "stub-%d", stub->number);
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&page);
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!ask(stub, first + i) || !ask(stub, first + i / 2))
			break;
	close(stub->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct stub stubs[STUBS];
	pthread_t cache, upstream;
	int pair[2], answers = 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "healthy"))
		slots = 64;
	pthread_barrier_init(&page, NULL, STUBS);
	for (int i = 0; i <= STUBS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			return 1;
		polled[i] = (struct pollfd){.fd = pair[0], .events = POLLIN};
		if (i < STUBS)
			stubs[i] = (struct stub){.number = i, .socket = pair[1]};
	}
	pthread_create(&upstream, NULL, upstream_run, &pair[1]);
	pthread_create(&cache, NULL, cache_run, NULL);
	for (int i = 0; i < STUBS; i++)
		pthread_create(&stubs[i].thread, NULL, stub_run, &stubs[i]);
	for (int i = 0; i < STUBS; i++) {
		pthread_join(stubs[i].thread, NULL);
		answers += stubs[i].answers;
	}
	pthread_join(cache, NULL);
	pthread_join(upstream, NULL);
	printf("%d answers, %u from memory\n", answers, hits);
	return 0;
}
