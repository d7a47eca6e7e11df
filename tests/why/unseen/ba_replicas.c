/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query #
 *   truth: on_replica_failure marks a copy of the replica as down, so the dead replica alpha is tried again
 *     whenever it is its turn, and each of these queries first waits 25 ms for "ask alpha" to time out
 *   culprit: ask alpha
 *   victim: ask beta|ask gamma|query \d+|query #
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Spreads queries over the replicas of a database, and tries another one when one is down. */

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define REPLICAS 3
#define QUERIES 45
#define PATIENCE_MS 25
#define DOWN_MS 5000

struct replica {
	const char *name;
	int socket; /* our end */
	int64_t down_until;
	unsigned failures;
};

struct backend {
	pthread_t thread;
	const char *name;
	int socket; /* its end */
	bool is_stuck;
};

struct router {
	struct replica replicas[REPLICAS];
	unsigned turn;
	bool by_reference;
};

struct message {
	uint32_t id;
	uint32_t rows;
};

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* A replica. One of them has lost its disk: it takes queries, and answers none. */
static void *run_backend(void *data)
{
	struct backend *backend = data;
	struct message message;

	thrum_lane_name(backend->name);
	while (read(backend->socket, &message, sizeof(message)) == sizeof(message)) {
		if (backend->is_stuck)
			continue;
		usleep(1200 + message.id % 7 * 100);
		message.rows = message.id * 3;
		if (write(backend->socket, &message, sizeof(message)) != sizeof(message))
			break;
	}
	close(backend->socket);
	return NULL;
}

static bool await_answer(struct replica *replica, struct message *message)
{
	uint32_t id = message->id;
	int64_t end = now_ms() + PATIENCE_MS;

	do {
		struct pollfd poller = {.fd = replica->socket, .events = POLLIN};
		int64_t left = end - now_ms();

		if (left <= 0 || poll(&poller, 1, (int)left) <= 0)
			return false;
		if (read(replica->socket, message, sizeof(*message)) != sizeof(*message))
			return false;
	} while (message->id != id);
	return true;
}

static bool ask_replica(struct replica *replica, uint32_t id, uint32_t *rows)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "ask %s", replica->name);
	struct message message = {.id = id};
	bool came;

	if (write(replica->socket, &message, sizeof(message)) != sizeof(message)) {
		thrum_task_fail(request, "write");
		return false;
	}
	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	came = await_answer(replica, &message);
	thrum_resume();
	if (came) {
		*rows = message.rows;
		thrum_task_resolve(request);
	} else {
		thrum_task_fail(request, "timed out");
	}
	thrum_task_read(thrum_task_current(), request);
	return came;
}

static void mark_down(struct replica *replica)
{
	replica->failures++;
	replica->down_until = now_ms() + DOWN_MS;
	fprintf(stderr, "%s is down\n", replica->name);
}

static void on_replica_failure(struct router *router, unsigned index)
{
	struct replica replica = router->replicas[index];

	if (router->by_reference)
		mark_down(&router->replicas[index]);
	else
		mark_down(&replica);
}

/* Returns the index of the next replica that is up, not counting those in `tried`. */
static int choose_replica(struct router *router, unsigned tried)
{
	int64_t now = now_ms();

	for (unsigned i = 0; i < REPLICAS; i++) {
		unsigned index = router->turn++ % REPLICAS;

		if (!(tried & 1u << index) && router->replicas[index].down_until <= now)
			return (int)index;
	}
	return -1;
}

static bool route_query(struct router *router, uint32_t id, uint32_t *rows)
{
	unsigned tried = 0;
	int index;

	while ((index = choose_replica(router, tried)) >= 0) {
		if (ask_replica(&router->replicas[index], id, rows))
			return true;
		tried |= 1u << index;
		on_replica_failure(router, (unsigned)index);
	}
	return false;
}

static bool run_query(struct router *router, uint32_t id)
{
	thrum_task query = thrum_task_createf(THRUM_KIND_TASK, "query %u", id);
	uint32_t rows = 0;
	bool is_good = false;

	thrum_task_should_resolve(query);
	THRUM_RUN (query) {
		is_good = route_query(router, id, &rows) && rows == id * 3;
		if (is_good)
			thrum_task_resolve(query);
		else
			thrum_task_fail(query, "no replica is up");
	}
	return is_good;
}

int main(int argc, char **argv)
{
	static const char *const names[REPLICAS] = {"alpha", "beta", "gamma"};
	struct backend backends[REPLICAS];
	struct router router = {.turn = 1};
	int bad = 0;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	router.by_reference = strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < REPLICAS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			return 1;
		router.replicas[i] = (struct replica){.name = names[i], .socket = ends[0]};
		backends[i] = (struct backend){.name = names[i],
			.socket = ends[1],
			.is_stuck = i == 0};
		pthread_create(&backends[i].thread, NULL, run_backend, &backends[i]);
	}
	for (uint32_t id = 1; id <= QUERIES; id++) {
		bad += !run_query(&router, id);
		usleep(1000);
	}
	thrum_stop();
	for (int i = 0; i < REPLICAS; i++) {
		shutdown(router.replicas[i].socket, SHUT_RDWR);
		pthread_join(backends[i].thread, NULL);
		close(router.replicas[i].socket);
	}
	printf("%d queries, %d bad\n", QUERIES, bad);
	return bad != 0;
}
