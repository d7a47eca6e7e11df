/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: when the connection of erin is reset, the coroutine "writer erin" ends, but erin stays a
 *     member of the room. The room goes on putting messages into "outbox erin", which nobody empties. When
 *     that is full, "room lobby" waits for it, and with it all clients.
 *   culprit: (writer|outbox) erin
 *   victim: client (anna|ben|carl)|message \d
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A chat relay of coroutines with mailboxes: for each user one that sends to the room, and one that writes out. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define USERS 4
#define PLACES 8
#define FIBERS 10
#define STACK (128 * 1024)

struct mailbox {
	thrum_task task;
	void *letters[PLACES];
	unsigned first, count, readers;
};

struct message {
	thrum_task task;
	int number;
	bool relayed;
};

struct fiber {
	ucontext_t context;
	thrum_task task, timer;
	void (*body)(int);
	int argument;
	bool ready, ended;
	int64_t wake_at;
	const void *waits_for;
};

static const char *const users[USERS] = {"anna", "ben", "carl", "erin"};
static struct fiber fibers[FIBERS], *self;
static int fiber_count, messages;
static ucontext_t scheduler;
static struct mailbox inbox, outboxes[USERS];
static bool member[USERS];
static bool stays_member;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->ready = true;
}

static void yield_to_scheduler(void)
{
	swapcontext(&self->context, &scheduler);
}

/* Waits until somebody calls wake_all for the thing. */
static void wait_for(const void *thing, thrum_task task)
{
	thrum_task_wait(self->task, task);
	self->waits_for = thing;
	yield_to_scheduler();
}

static void wake_all(const void *thing)
{
	for (int i = 0; i < fiber_count; i++)
		if (fibers[i].waits_for == thing) {
			fibers[i].waits_for = NULL;
			make_ready(&fibers[i]);
		}
}

static void sleep_ms(int ms)
{
	struct fiber *fiber = self;

	fiber->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	fiber->wake_at = now() + ms * INT64_C(1000000);
	thrum_task_due(fiber->timer, ms * INT64_C(1000000));
	thrum_task_wait(fiber->task, fiber->timer);
	yield_to_scheduler();
	thrum_task_read(fiber->task, fiber->timer);
}

static void mailbox_put(struct mailbox *mailbox, void *letter)
{
	while (mailbox->count == PLACES)
		wait_for(mailbox, mailbox->task);
	mailbox->letters[(mailbox->first + mailbox->count++) % PLACES] = letter;
	thrum_task_signal(mailbox->task, mailbox->readers);
	wake_all(mailbox);
}

static void *mailbox_take(struct mailbox *mailbox)
{
	void *letter;

	mailbox->readers++;
	while (mailbox->count == 0)
		wait_for(mailbox, mailbox->task);
	mailbox->readers--;
	letter = mailbox->letters[mailbox->first++ % PLACES];
	mailbox->count--;
	thrum_task_read(self->task, mailbox->task);
	wake_all(mailbox);
	return letter;
}

static void run_client(int user)
{
	for (int i = 0; user != 3 || i < 12; i++) {
		struct message *message = calloc(1, sizeof(*message));

		if (!message)
			abort();
		message->number = ++messages;
		message->task = thrum_task_createf(THRUM_KIND_TASK, "message %d", message->number);
		thrum_task_should_resolve(message->task);
		mailbox_put(&inbox, message);
		while (!message->relayed)
			wait_for(message, message->task);
		thrum_task_read(self->task, message->task);
		free(message);
		sleep_ms(18 + 3 * user);
	}
}

static void run_writer(int user)
{
	for (int i = 0; user != 3 || i < 40; i++) {
		mailbox_take(&outboxes[user]);
		sleep_ms(2);
	}
	/* the connection was reset */
	if (!stays_member) {
		member[user] = false;
		outboxes[user].count = 0;
		wake_all(&outboxes[user]);
	}
}

static void run_room(int unused)
{
	(void)unused;
	for (;;) {
		struct message *message = mailbox_take(&inbox);

		for (int i = 0; i < USERS; i++)
			if (member[i])
				mailbox_put(&outboxes[i], (void *)users[i]);
		message->relayed = true;
		thrum_task_resolve(message->task);
		wake_all(message);
	}
}

static void fiber_main(void)
{
	self->body(self->argument);
	thrum_task_resolve(self->task);
	self->ended = true;
	yield_to_scheduler();
}

static void spawn(void (*body)(int), int argument, const char *kind, const char *name)
{
	struct fiber *fiber = &fibers[fiber_count++];

	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "%s %s", kind, name);
	fiber->body = body;
	fiber->argument = argument;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	make_ready(fiber);
}

static void run_ready(void)
{
	bool any = true;

	while (any) {
		any = false;
		for (int i = 0; i < fiber_count; i++) {
			if (!fibers[i].ready || fibers[i].ended)
				continue;
			any = true;
			self = &fibers[i];
			self->ready = false;
			thrum_task_switch(self->task);
			swapcontext(&scheduler, &self->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
	}
}

static void run_timers(void)
{
	struct timespec pause = {0, 1000000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&pause, NULL);
	thrum_resume();
	for (int i = 0; i < fiber_count; i++)
		if (fibers[i].wake_at && fibers[i].wake_at <= now()) {
			fibers[i].wake_at = 0;
			thrum_task_resolve(fibers[i].timer);
			make_ready(&fibers[i]);
		}
}

int main(int argc, char **argv)
{
	stays_member = argc > 1 && !strcmp(argv[1], "broken");
	inbox.task = thrum_task_create(THRUM_KIND_MAILBOX, "inbox lobby");
	spawn(run_room, 0, "room", "lobby");
	for (int i = 0; i < USERS; i++) {
		outboxes[i].task = thrum_task_createf(THRUM_KIND_MAILBOX, "outbox %s", users[i]);
		member[i] = true;
		spawn(run_writer, i, "writer", users[i]);
		spawn(run_client, i, "client", users[i]);
	}
	for (int turn = 0;; turn++) {
		run_ready();
		run_timers();
		if (turn % 300 == 299) {
			printf("%d messages\n", messages);
			fflush(stdout);
		}
	}
}
