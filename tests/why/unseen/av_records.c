/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: on_written looks only for a full batch; records that came during the write and don't fill one
 *     stay, and nobody starts the linger timer for them, as append_record does that only for the first of an
 *     idle log
 *   culprit: on_written|linger|write batch|write_batch
 *   victim: client [0-9]|append [0-9]|all clients|append_record
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A log that writes records in batches: when four are there, or when the first has waited for 15 ms. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CLIENTS = 5,
	BATCH = 4,
	LINGER = 15,
	WAITING_MAX = 16
};

struct record {
	struct thrum_resolver *resolver;
	int number;
};

struct log {
	struct thrum_loop *loop;
	struct record waiting[WAITING_MAX];
	struct record writing[BATCH];
	size_t waiting_count, writing_count;
	struct thrum_promise *linger;
	int records, batches;
	bool keeps_rest; /* the rest of a batch stays until the next records come */
};

struct client {
	struct log *log;
	int number, left;
	unsigned pause;
};

static void write_batch(struct log *);

static struct thrum_promise *on_linger(struct thrum_loop *loop, void *value, void *data)
{
	struct log *log = data;

	(void)value;
	thrum_promise_unref(log->linger);
	log->linger = NULL;
	if (log->waiting_count && !log->writing_count)
		write_batch(log);
	return thrum_promise_return(loop, thrum_value_none());
}

static void start_linger(struct log *log)
{
	struct thrum_promise *timer;

	if (log->linger)
		return;
	log->linger = thrum_sleep(log->loop, LINGER);
	timer = thrum_promise_label(thrum_promise_ref(log->linger), "linger");
	thrum_promise_ignore_result(thrum_promise_bind(timer, on_linger, log, NULL));
}

static struct thrum_promise *on_written(struct thrum_loop *loop, void *value, void *data)
{
	struct log *log = data;
	size_t count = log->writing_count;
	struct record done[BATCH];

	(void)value;
	memcpy(done, log->writing, sizeof(done));
	log->writing_count = 0;
	log->batches++;
	for (size_t i = 0; i < count; i++)
		thrum_resolver_resolve(done[i].resolver, thrum_value_int(done[i].number));
	if (!log->writing_count) {
		if (log->waiting_count >= BATCH)
			write_batch(log);
		else if (log->waiting_count && !log->keeps_rest)
			start_linger(log);
	}
	return thrum_promise_return(loop, thrum_value_none());
}

static void write_batch(struct log *log)
{
	size_t count = log->waiting_count < BATCH ? log->waiting_count : BATCH;
	struct thrum_promise *write;

	memcpy(log->writing, log->waiting, count * sizeof(log->waiting[0]));
	log->writing_count = count;
	log->waiting_count -= count;
	memmove(log->waiting, log->waiting + count, log->waiting_count * sizeof(log->waiting[0]));
	/* The disk takes longer for more. */
	write = thrum_promise_label(thrum_sleep(log->loop, 6 + 2 * count), "write batch");
	thrum_promise_ignore_result(thrum_promise_bind(write, on_written, log, NULL));
}

/* Returns a promise that is resolved when the record is on the disk. */
static struct thrum_promise *append_record(struct log *log)
{
	struct record *record = &log->waiting[log->waiting_count++];
	struct thrum_promise *promise;

	record->number = log->records++;
	promise = thrum_promise_task(log->loop, NULL, &record->resolver);
	thrum_promise_labelf(promise, "append %d", record->number);
	if (log->writing_count)
		return promise; /* on_written goes on with it */
	if (log->waiting_count >= BATCH)
		write_batch(log);
	else if (log->waiting_count == 1)
		start_linger(log);
	return promise;
}

static struct thrum_promise *client_go_on(struct thrum_loop *, void *value, void *data);

static struct thrum_promise *client_append(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(append_record(client->log), client_go_on, client, NULL);
}

static struct thrum_promise *client_go_on(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	if (client->left-- == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, client->pause), client_append, client, NULL);
}

/* The program also listens for a signal to rotate the log, and so never runs out of work. */
static void on_rotate(uv_signal_t *handle, int number)
{
	(void)handle;
	fprintf(stderr, "signal %d: rotate\n", number);
}

int main(int argc, char **argv)
{
	struct thrum_promise *promises[CLIENTS], *all;
	static const unsigned pauses[CLIENTS] = {3, 6, 4, 20, 7};
	struct client clients[CLIENTS];
	struct log log = {0};
	uv_signal_t rotate;
	uv_loop_t uv;
	int error;

	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &log.loop))
		return 1;
	uv_signal_init(&uv, &rotate);
	uv_signal_start(&rotate, on_rotate, SIGUSR1);
	log.keeps_rest = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){&log, i, i < 2 ? 6 : 22, pauses[i]};
		promises[i] = client_go_on(log.loop, NULL, &clients[i]);
		promises[i] = thrum_promise_labelf(promises[i], "client %d", i);
	}
	all = thrum_promise_label(thrum_promise_join(log.loop, promises, CLIENTS), "all clients");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d records in %d batches, %d\n", log.records, log.batches, error);
	return error ? 1 : 0;
}
