/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: table_insert gives "call 9" the id of "call 1", which is still under way when the counter of ids
 *     wraps; the first answer with that id ends call 9, the second one finds no call and is dropped, and
 *     call 1 waits for ever
 *   culprit: unknown id|call 9\b|table_insert
 *   victim: call 1\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A client of a key-value store that has several calls under way on one connection. */
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

#define IDS 8
#define WINDOW 4
#define CALLS 40

struct message {
	uint8_t id;
	uint8_t is_scan;
};

struct call {
	thrum_task task;
	int number;
	struct message message;
};

static struct call calls[CALLS + 1];
static struct call *table[IDS];
static unsigned next_id;
static bool skip_taken;
static int under_way;
static int ended;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The store: a get takes 2 ms, a scan 150. */
static void *store(void *data)
{
	int socket = *(int *)data;
	struct pollfd poller = {.fd = socket, .events = POLLIN};
	struct {
		struct message message;
		long due;
	} work[16];
	int count = 0;

	for (;;) {
		struct message message;

		if (poll(&poller, 1, count ? 1 : -1) > 0) {
			if (read(socket, &message, sizeof(message)) <= 0)
				break;
			work[count].message = message;
			work[count++].due = now_ms() + (message.is_scan ? 150 : 2);
		}
		for (int i = 0; i < count; i++) {
			if (work[i].due > now_ms())
				continue;
			if (write(socket, &work[i].message, sizeof(message)) < 0)
				break;
			work[i--] = work[--count];
		}
	}
	close(socket);
	return NULL;
}

/* Gives the call an id of its own among those under way. */
__attribute__((noinline)) static void table_insert(struct call *call)
{
	unsigned id = next_id++ % IDS;

	while (skip_taken && table[id])
		id = next_id++ % IDS;
	table[id] = call;
	call->message.id = (uint8_t)id;
}

static void call_begin(int socket, int number)
{
	struct call *call = &calls[number];

	call->number = number;
	call->message.is_scan = number == 1;
	call->task = thrum_task_createf(THRUM_KIND_REQUEST, "call %d", number);
	thrum_task_should_resolve(call->task);
	table_insert(call);
	under_way++;
	THRUM_RUN (call->task)
		if (write(socket, &call->message, sizeof(call->message)) < 0)
			thrum_task_fail(call->task, "write");
}

static void on_answer(const struct message *message)
{
	struct call *call = table[message->id];

	if (!call) {
		thrum_logf("answer with unknown id %d", message->id);
		return;
	}
	table[message->id] = NULL;
	THRUM_RUN (call->task)
		thrum_task_resolve(call->task);
	under_way--;
	ended++;
}

static void run_calls(int socket)
{
	int begun = 0;

	while (ended < CALLS) {
		struct message message;
		ssize_t size;

		while (under_way < WINDOW && begun < CALLS)
			call_begin(socket, ++begun);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(socket, &message, sizeof(message));
		thrum_resume();
		if (size != sizeof(message))
			break;
		on_answer(&message);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ends[2];

	skip_taken = argc < 2 || strcmp(argv[1], "broken") != 0;
	next_id = 1;
	if (thrum_start(NULL) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	pthread_create(&thread, NULL, store, &ends[1]);
	run_calls(ends[0]);
	thrum_stop();
	close(ends[0]);
	pthread_join(thread, NULL);
	printf("%d calls\n", ended);
	return ended != CALLS;
}
