/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: while it calibrates, the probe stashes the reads; when the calibration fails, on_calibrated goes
 *     on with the old table but forgets unstash_all, so that the stashed reads are never handled
 *   culprit: calibrat|unstash|stash
 *   victim: read [0-9]|client
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Actors: clients read values from a probe, which calibrates itself now and then. One thread runs all. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	CLIENTS = 3,
	READS = 14
};
enum message_kind {
	READ,
	VALUE,
	NEXT,
	CALIBRATE,
	CALIBRATED,
	TICK
};

struct actor;

struct message {
	struct message *next;
	enum message_kind kind;
	struct actor *to, *from;
	int number; /* of a read; of a calibration, whether it is good */
	thrum_task task;
};

struct actor {
	void (*receive)(struct actor *, struct message *);
	thrum_task task;
	int left; /* a client's reads */
};

struct delayed {
	int64_t due;
	struct message *message;
	thrum_task timer;
};

static struct message *queue, **queue_end = &queue;
static struct delayed delayed[16];
static int delayed_count, reads, clients_left = CLIENTS, ticks;
static struct actor clients[CLIENTS], probe, housekeeper;
static struct {
	bool calibrating, lenient;
	struct message *stash, **stash_end;
	thrum_task calibration;
	int rounds, offset;
} state = {.stash_end = &state.stash};

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static struct message *message_new(enum message_kind kind, struct actor *from, struct actor *to)
{
	struct message *message = calloc(1, sizeof(*message));

	message->kind = kind;
	message->from = from;
	message->to = to;
	return message;
}

static void post(struct message *message)
{
	if (message->task)
		thrum_task_ready(message->task);
	*queue_end = message;
	queue_end = &message->next;
}

static void post_later(struct message *message, const char *label, int ms)
{
	struct delayed *entry = &delayed[delayed_count++];

	entry->message = message;
	entry->due = now_ns() + ms * INT64_C(1000000);
	entry->timer = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(entry->timer, ms * INT64_C(1000000));
}

static void answer(struct message *read)
{
	struct message *value = message_new(VALUE, &probe, read->from);

	value->number = 100 + read->number + state.offset;
	value->task = read->task; /* the client ends it */
	post(value);
	free(read);
}

static void stash(struct message *message)
{
	thrum_task_wait(message->task, state.calibration);
	message->next = NULL;
	*state.stash_end = message;
	state.stash_end = &message->next;
}

static void unstash_all(void)
{
	struct message *message;

	while ((message = state.stash)) {
		state.stash = message->next;
		message->next = NULL;
		post(message);
	}
	state.stash_end = &state.stash;
}

static void on_calibrate(void)
{
	struct message *result = message_new(CALIBRATED, &probe, &probe);

	state.calibrating = true;
	state.calibration = thrum_task_create(THRUM_KIND_TASK, "calibration");
	thrum_task_should_resolve(state.calibration);
	result->number = ++state.rounds != 3; /* somebody touches the probe */
	post_later(result, "settle", 18);
}

static void on_calibrated(bool good)
{
	state.calibrating = false;
	if (good) {
		state.offset++;
		thrum_task_resolve(state.calibration);
		unstash_all();
		post_later(message_new(CALIBRATE, &probe, &probe), "recalibrate", 30);
		return;
	}
	thrum_task_fail(state.calibration, "drift");
	if (!state.lenient)
		unstash_all();
}

static void probe_receive(struct actor *self, struct message *message)
{
	(void)self;
	if (message->kind == READ) {
		state.calibrating ? stash(message) : answer(message);
		return;
	}
	if (message->kind == CALIBRATE)
		on_calibrate();
	else
		on_calibrated(message->number);
	free(message);
}

static void client_receive(struct actor *self, struct message *message)
{
	struct message *read;

	if (message->kind == VALUE) {
		thrum_task_resolve(message->task);
		if (--self->left == 0) {
			thrum_task_resolve(self->task);
			clients_left--;
		} else {
			post_later(message_new(NEXT, self, self), "pause", 7);
		}
	} else {
		read = message_new(READ, self, &probe);
		read->number = reads++;
		read->task = thrum_task_createf(THRUM_KIND_TASK, "read %d", read->number);
		thrum_task_wait(self->task, read->task);
		post(read);
	}
	free(message);
}

static void housekeeper_receive(struct actor *self, struct message *message)
{
	ticks++;
	free(message);
	post_later(message_new(TICK, self, self), "tick", 50);
}

static void run_timers(void)
{
	int64_t first = INT64_MAX, now;
	struct timespec time;

	for (int i = 0; i < delayed_count; i++)
		if (delayed[i].due < first)
			first = delayed[i].due;
	time = (struct timespec){first / 1000000000, first % 1000000000};
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	thrum_resume();
	now = now_ns();
	for (int i = delayed_count - 1; i >= 0; i--) {
		if (delayed[i].due > now)
			continue;
		thrum_task_resolve(delayed[i].timer);
		post(delayed[i].message);
		delayed[i] = delayed[--delayed_count];
	}
}

static void run_actors(void)
{
	struct message *message;

	while (clients_left) {
		while ((message = queue)) {
			queue = message->next;
			if (!queue)
				queue_end = &queue;
			THRUM_RUN (message->kind == READ ? message->task : message->to->task)
				message->to->receive(message->to, message);
		}
		if (clients_left)
			run_timers();
	}
}

int main(int argc, char **argv)
{
	static const char *names[CLIENTS] = {"client 1", "client 2", "client 3"};

	state.lenient = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	probe = (struct actor){probe_receive, thrum_task_create(THRUM_KIND_HANDLE, "probe"), 0};
	housekeeper = (struct actor){housekeeper_receive, 0, 0};
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].receive = client_receive;
		clients[i].task = thrum_task_create(THRUM_KIND_TASK, names[i]);
		clients[i].left = READS;
		thrum_task_should_resolve(clients[i].task);
		post_later(message_new(NEXT, &clients[i], &clients[i]), "begin", 2 + i * 3);
	}
	post(message_new(TICK, &housekeeper, &housekeeper));
	post(message_new(CALIBRATE, &probe, &probe));
	run_actors();
	thrum_stop();
	printf("%d reads, %d calibrations, %d ticks\n", reads, state.rounds, ticks);
	return 0;
}
