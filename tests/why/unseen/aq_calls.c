/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: after a "busy" answer, reissue takes a new generation for the slot but sends the saved message
 *     with the old one; so the answer looks stale, on_answer drops it, and the promise "resend 9" is never
 *     resolved
 *   culprit: \bresend 9\b|\breissue\b
 *   victim: \buser \d\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client that makes calls to a store over a socket, with promises: a table of slots says which answer belongs
 * to which call, and a generation in each slot tells late answers from new ones. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	SLOTS = 4,
	USERS = 3,
	CALLS = 5
};
enum {
	ASK,
	ANSWER,
	BUSY
};

struct message {
	uint16_t slot, generation, kind, number;
	int32_t value;
};

struct slot {
	bool is_used;
	uint16_t generation;
	struct message sent;
	struct thrum_resolver *resolver;
};

struct user {
	int number, calls;
	long sum;
};

static struct slot slots[SLOTS];
static int ends[2], numbers, dropped;
static bool broken;

/* The store: a thread that answers one message after the other. */
static void *store(void *data)
{
	struct message message;

	(void)data;
	thrum_lane_name("store");
	for (;;) {
		bool is_open;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		is_open = read(ends[1], &message, sizeof(message)) == sizeof(message);
		thrum_resume();
		if (!is_open)
			return NULL;
		usleep(5000);
		message.kind = ANSWER;
		if (broken && message.number == 9) {
			message.kind = BUSY;
			broken = false;
		}
		message.value = message.number * 100;
		if (write(ends[1], &message, sizeof(message)) != sizeof(message))
			return NULL;
	}
}

static void send_message(const struct message *message)
{
	if (write(ends[0], message, sizeof(*message)) != sizeof(*message))
		abort();
}

static __attribute__((noinline)) struct thrum_promise *call(struct thrum_loop *loop)
{
	struct thrum_promise *promise;
	struct slot *slot = slots;

	while (slot->is_used)
		slot++; /* there are as many slots as users, and one more */
	slot->is_used = true;
	slot->generation++;
	slot->sent.slot = (uint16_t)(slot - slots);
	slot->sent.generation = slot->generation;
	slot->sent.kind = ASK;
	slot->sent.number = (uint16_t)++numbers;
	promise = thrum_promise_task(loop, NULL, &slot->resolver);
	thrum_promise_labelf(promise, "call %d", slot->sent.number);
	send_message(&slot->sent);
	return promise;
}

/* The store was busy: the same question once more. */
static __attribute__((noinline)) void reissue(struct thrum_loop *loop, struct slot *slot)
{
	struct thrum_resolver *first = slot->resolver;
	struct thrum_promise *again;

	again = thrum_promise_task(loop, NULL, &slot->resolver);
	thrum_promise_labelf(again, "resend %d", slot->sent.number);
	slot->generation++;
	send_message(&slot->sent);
	thrum_resolver_follow(first, again);
}

static __attribute__((noinline)) void on_answer(struct thrum_loop *loop,
	const struct message *message)
{
	struct slot *slot = &slots[message->slot];
	struct thrum_resolver *resolver;

	if (!slot->is_used || message->generation != slot->generation) {
		dropped++;
		return;
	}
	if (message->kind == BUSY) {
		reissue(loop, slot);
		return;
	}
	resolver = slot->resolver;
	slot->is_used = false;
	thrum_resolver_resolve(resolver, thrum_value_int(message->value));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct message message;

	(void)events;
	if (status == 0 && read(ends[0], &message, sizeof(message)) == sizeof(message))
		on_answer(poll->data, &message);
}

static struct thrum_promise *user_next(struct thrum_loop *loop, void *value, void *data);

static __attribute__((noinline)) struct thrum_promise *user_run(struct thrum_loop *loop,
	struct user *user)
{
	return thrum_promise_bind(call(loop), user_next, user, NULL);
}

static struct thrum_promise *user_next(struct thrum_loop *loop, void *value, void *data)
{
	struct user *user = data;

	user->sum += thrum_int(value);
	if (++user->calls == CALLS)
		return thrum_promise_return(loop, thrum_value_none());
	return user_run(loop, user);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[USERS];
	struct user users[USERS] = {{0, 0, 0}};
	struct thrum_loop *loop;
	pthread_t thread;
	uv_poll_t poll;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("client");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) ||
		thrum_loop_create(uv_default_loop(), &loop) ||
		pthread_create(&thread, NULL, store, NULL))
		return 1;
	poll.data = loop;
	if (uv_poll_init(uv_default_loop(), &poll, ends[0]) ||
		uv_poll_start(&poll, UV_READABLE, on_readable))
		return 1;
	for (int i = 0; i < USERS; i++) {
		users[i].number = i + 1;
		all[i] = thrum_promise_labelf(user_run(loop, &users[i]), "user %d", i + 1);
		thrum_promise_should_resolve(all[i]);
	}
	result = thrum_promise_run(thrum_promise_join(loop, all, USERS));
	thrum_stop();
	printf("%ld %ld %ld, %d dropped\n", users[0].sum, users[1].sum, users[2].sum, dropped);
	uv_close((uv_handle_t *)&poll, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	close(ends[0]);
	pthread_join(thread, NULL);
	return result == 0 ? 0 : 1;
}
