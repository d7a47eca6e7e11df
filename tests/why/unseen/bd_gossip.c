/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: in exchange, the peer with the higher or equal version speaks first (speaks_first). Peers 2 and 5
 *     meet with equal versions, so both send their digest and wait until the other one takes it, which
 *     neither does. Peers that are to meet these two later hang behind them.
 *   culprit: peer 2\b.*peer 5|peer 5\b.*peer 2|digest (2 to 5|5 to 2)
 *   victim: peer [1346]\b|digest|all peers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Replicas that run as fibers, and compare their contents in pairs, round by round. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PEERS 6
#define ROUNDS 12
#define STACK (64 * 1024)

struct fiber {
	ucontext_t context;
	int number;
	thrum_task task;
	thrum_task timer;
	int64_t wake_at; /* 0: doesn't sleep */
	bool is_ready;
	struct letter *inbox; /* letters of those who wait until it takes them */
	bool listens;
	thrum_task mailbox;
	unsigned version; /* of its own log */
	unsigned rounds;
};

struct letter {
	struct fiber *from;
	unsigned version;
	bool taken;
	thrum_task task;
	struct letter *next;
};

static struct fiber fibers[PEERS];
static struct fiber *running;
static ucontext_t scheduler;
static thrum_task all_peers;
static int running_peers = PEERS;
static bool by_number;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* ---- fibers ---- */

static void peer_body(struct fiber *self);

static void fiber_yield(void)
{
	struct fiber *self = running;

	swapcontext(&self->context, &scheduler);
}

static void fiber_wake(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->is_ready = true;
}

static void fiber_sleep(int64_t ms)
{
	struct fiber *self = running;

	self->timer = thrum_task_create(THRUM_KIND_TIMER, "pause");
	thrum_task_due(self->timer, ms * 1000000);
	thrum_task_wait(self->task, self->timer);
	self->wake_at = now() + ms * 1000000;
	fiber_yield();
	thrum_task_read(self->task, self->timer);
}

static void fiber_main(void)
{
	peer_body(running);
	running_peers--;
	thrum_task_resolve(running->task);
	fiber_yield();
}

static void fiber_start(struct fiber *fiber)
{
	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "peer %d", fiber->number);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	fiber_wake(fiber);
}

static void wake_sleepers(void)
{
	int64_t time = now();

	for (int i = 0; i < PEERS; i++) {
		if (!fibers[i].wake_at || fibers[i].wake_at > time)
			continue;
		fibers[i].wake_at = 0;
		thrum_task_resolve(fibers[i].timer);
		fiber_wake(&fibers[i]);
	}
}

static void run_fibers(void)
{
	while (running_peers > 0) {
		wake_sleepers();
		for (int i = 0; i < PEERS; i++) {
			if (!fibers[i].is_ready)
				continue;
			fibers[i].is_ready = false;
			running = &fibers[i];
			thrum_task_switch(running->task);
			swapcontext(&scheduler, &running->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(1000);
		thrum_resume();
	}
}

/* ---- letters: who sends one waits until it has been taken ---- */

static void letter_send(struct fiber *to)
{
	struct fiber *self = running;
	struct letter letter = {.from = self, .version = self->version, .next = to->inbox};

	letter.task = thrum_task_createf(THRUM_KIND_PROMISE, "digest %d to %d", self->number,
		to->number);
	thrum_task_wait(letter.task, to->task); /* which takes it */
	to->inbox = &letter;
	thrum_task_signal(to->mailbox, to->listens);
	if (to->listens)
		fiber_wake(to);
	thrum_task_wait(self->task, letter.task);
	while (!letter.taken)
		fiber_yield();
	thrum_task_read(self->task, letter.task);
}

static unsigned letter_take(const struct fiber *from)
{
	struct fiber *self = running;
	struct letter **at = &self->inbox;
	struct letter *letter;

	while (!(letter = *at) || letter->from != from) {
		if (letter) {
			at = &letter->next;
			continue;
		}
		self->listens = true;
		thrum_task_wait(self->task, self->mailbox);
		fiber_yield();
		self->listens = false;
		at = &self->inbox;
	}
	*at = letter->next;
	thrum_task_read(self->task, self->mailbox);
	letter->taken = true;
	thrum_task_resolve(letter->task);
	fiber_wake(letter->from);
	return letter->version; /* its sender hasn't run yet */
}

/* ---- gossip ---- */

static bool speaks_first(const struct fiber *self, const struct fiber *other)
{
	return by_number ? self->number < other->number : self->version >= other->version;
}

static void exchange(struct fiber *self, struct fiber *other)
{
	bool is_first = speaks_first(self, other);
	unsigned version;

	if (is_first)
		letter_send(other);
	version = letter_take(other);
	if (!is_first)
		letter_send(other);
	if (version > self->version)
		fiber_sleep(3); /* copies what it lacks */
	self->rounds++;
}

/* Each round is a matching of the peers: the last one stays, the others go round. */
static int partner_of(int index, int round)
{
	int others = PEERS - 1;
	int partner;

	if (index == others)
		return (round * 3) % others;
	partner = ((round * 6 - index) % others + others) % others;
	return partner == index ? others : partner;
}

static void peer_body(struct fiber *self)
{
	for (int round = 0; round < ROUNDS; round++) {
		fiber_sleep(10 + self->number);
		exchange(self, &fibers[partner_of(self->number - 1, round + 2)]);
	}
}

int main(int argc, char **argv)
{
	static const unsigned versions[PEERS] = {41, 37, 44, 39, 37, 48};

	if (argc < 2)
		return 2;
	by_number = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	all_peers = thrum_task_create(THRUM_KIND_JOIN, "all peers");
	thrum_task_should_resolve(all_peers);
	for (int i = 0; i < PEERS; i++) {
		fibers[i].number = i + 1;
		fibers[i].version = versions[i];
		fibers[i].mailbox = thrum_task_createf(THRUM_KIND_MAILBOX, "mailbox %d", i + 1);
		fiber_start(&fibers[i]);
		thrum_task_wait(all_peers, fibers[i].task);
	}
	run_fibers();
	thrum_task_resolve(all_peers);
	thrum_stop();
	for (int i = 0; i < PEERS; i++)
		free(fibers[i].context.uc_stack.ss_sp);
	printf("%u rounds\n", fibers[1].rounds);
	return fibers[1].rounds == ROUNDS ? 0 : 1;
}
