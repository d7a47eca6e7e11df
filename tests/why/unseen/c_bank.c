/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K live 700
 *   ask: why
 *   truth: livelock: the transfers "alice to bob" and "bob to alice" each take one account, find the other taken,
 *     give back and try again in lockstep, for ever.
 *   culprit: alice to bob|bob to alice
 *   victim: closing|main
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* A bank with coroutines (ucontext) and a round-robin scheduler. Locks are tried; who can't get both gives back. */
struct fiber {
	ucontext_t context;
	thrum_task task;
	void (*run)(void);
	bool done;
	char stack[64 * 1024];
};
static struct fiber fibers[4], *current;
static ucontext_t scheduler;
static struct account {
	const char *name;
	thrum_task lock;
	bool taken;
	int money;
} alice = {.name = "alice", .money = 100}, bob = {.name = "bob", .money = 100};
static bool jitter, closed;
static int ticks, retries;

static void yield(void)
{
	thrum_task_ready(current->task);
	swapcontext(&current->context, &scheduler);
}

static bool take(struct account *account)
{
	if (account->taken)
		return false;
	account->taken = true;
	thrum_lock_acquired(account->lock);
	return true;
}

static void give_back(struct account *account)
{
	thrum_lock_released(account->lock);
	account->taken = false;
}

static void transfer(struct account *from, struct account *to, int amount, int patience)
{
	for (;;) {
		while (!take(from))
			yield();
		yield(); /* look up the limits */
		if (take(to))
			break;
		yield(); /* let the other one finish */
		give_back(from);
		retries++;
		for (int i = 0; i < (jitter ? patience : 1); i++)
			yield();
	}
	from->money -= amount;
	to->money += amount;
	give_back(to);
	give_back(from);
}

static void alice_to_bob(void)
{
	transfer(&alice, &bob, 30, 1);
}

static void bob_to_alice(void)
{
	transfer(&bob, &alice, 10, 4);
}

static void ticker(void)
{
	while (!closed) {
		for (int i = 0; i < 100; i++) {
			thrum_task rate = thrum_task_create(THRUM_KIND_TASK, "rate");

			thrum_task_resolve(rate);
			ticks++;
		}
		yield();
	}
}

static void closing(void)
{
	while (!fibers[0].done || !fibers[1].done)
		yield();
	while (ticks < 40000)
		yield();
	closed = true;
}

static void entry(void)
{
	current->run();
	current->done = true;
	thrum_task_resolve(current->task);
	swapcontext(&current->context, &scheduler);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"transfer alice to bob", "transfer bob to alice",
		"rates ticker", "closing of the day"};
	void (*const runs[])(void) = {alice_to_bob, bob_to_alice, ticker, closing};
	int left = 4;

	jitter = argc > 1 && !strcmp(argv[1], "healthy");
	alarm(8);
	alice.lock = thrum_task_create(THRUM_KIND_LOCK, alice.name);
	bob.lock = thrum_task_create(THRUM_KIND_LOCK, bob.name);
	for (int i = 0; i < 4; i++) {
		struct fiber *fiber = &fibers[i];

		fiber->run = runs[i];
		fiber->task = thrum_task_create(THRUM_KIND_FIBER, names[i]);
		if (i != 2)
			thrum_task_should_resolve(fiber->task);
		getcontext(&fiber->context);
		fiber->context.uc_stack.ss_sp = fiber->stack;
		fiber->context.uc_stack.ss_size = sizeof fiber->stack;
		makecontext(&fiber->context, entry, 0);
		thrum_task_ready(fiber->task);
	}
	/* closing waits for both transfers */
	thrum_task_wait(fibers[3].task, fibers[0].task);
	thrum_task_wait(fibers[3].task, fibers[1].task);
	while (left) {
		for (int i = 0; i < 4; i++) {
			if (fibers[i].done)
				continue;
			current = &fibers[i];
			THRUM_RUN (current->task)
				swapcontext(&scheduler, &current->context);
			if (fibers[i].done)
				left--;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(1000);
		thrum_resume();
	}
	thrum_stop();
	printf("bank: %d %d\n", alice.money, bob.money);
	return 0;
}
