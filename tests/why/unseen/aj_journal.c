/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: Turning the scope off cancels its child “journal writer” before it calls the hook flush_journal(). The hook
 *     puts a flush mark into the stream “records” and waits for “flushed”, but the writer that would take the mark is
 *     gone. The wrong order of the shutdown is the fault: the writer is cancelled too early.
 *   culprit: journal writer|flush_journal
 *   victim: main|service
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A service that takes orders and keeps a journal of them. A writer takes the records from a stream and writes them to
 * a file, three at a time; what is left is flushed when the service ends. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define BATCH 3

struct record {
	char text[48];
	struct thrum_resolver *flushed; /* of a flush mark; NULL: an order */
};

struct journal {
	struct thrum_loop *loop;
	struct thrum_stream *records;
	struct thrum_file *file;
	char path[64];
	char batch[BATCH * 48];
	size_t size;
	unsigned count, unwritten; /* records in the batch; those that aren't in the file */
	struct thrum_resolver *flushed;
};

struct service {
	struct journal journal;
	unsigned orders, taken;
};

/* ---- The journal ----------------------------------------------------------------------------- */

static struct thrum_promise *write_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_written(struct thrum_loop *loop, void *value, void *data)
{
	struct journal *journal = data;

	(void)value;
	journal->unwritten -= journal->count;
	journal->count = 0;
	journal->size = 0;
	if (journal->flushed) {
		thrum_resolver_resolve(journal->flushed, thrum_value_none());
		journal->flushed = NULL;
	}
	return write_next(loop, NULL, journal);
}

static struct thrum_promise *on_record(struct thrum_loop *loop, void *value, void *data)
{
	struct record *record = value;
	struct journal *journal = data;

	if (!record)
		return thrum_promise_return(loop, thrum_value_none());
	if (record->flushed) {
		journal->flushed = record->flushed;
		record->flushed = NULL;
	} else {
		journal->size += (size_t)snprintf(journal->batch + journal->size,
			sizeof journal->batch - journal->size, "%s\n", record->text);
		journal->count++;
	}
	if (!journal->flushed && journal->count < BATCH)
		return write_next(loop, NULL, journal);
	return thrum_promise_bind(thrum_file_write(journal->file,
					  thrum_value_static(journal->batch), journal->size, -1),
		on_written, journal, NULL);
}

static struct thrum_promise *write_next(struct thrum_loop *loop, void *value, void *data)
{
	struct journal *journal = data;

	(void)loop, (void)value;
	return thrum_promise_bind(thrum_stream_next(journal->records), on_record, journal, NULL);
}

static void record_free(void *data)
{
	struct record *record = data;

	thrum_resolver_drop(record->flushed);
	free(record);
}

static struct thrum_promise *append_record(struct journal *journal, const char *text,
	struct thrum_resolver *flushed)
{
	struct record *record = calloc(1, sizeof *record);

	if (!record)
		return NULL;
	snprintf(record->text, sizeof record->text, "%s", text);
	record->flushed = flushed;
	if (!flushed)
		journal->unwritten++;
	return thrum_stream_push(journal->records, thrum_value_own(record, record_free));
}

/* A hook of the scope: the journal must be on the disk before the service ends. */
static struct thrum_promise *flush_journal(struct thrum_loop *loop, void *data)
{
	struct journal *journal = data;
	struct thrum_resolver *resolver;
	struct thrum_promise *flushed;

	if (journal->unwritten == 0)
		return thrum_promise_return(loop, thrum_value_none());
	flushed = thrum_promise_wait(loop, "flushed", &resolver);
	thrum_promise_ignore_result(append_record(journal, "flush", resolver));
	return flushed;
}

static struct thrum_promise *on_opened(struct thrum_loop *loop, void *value, void *data)
{
	struct journal *journal = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	journal->file = taken.data;
	return write_next(loop, NULL, journal);
}

static struct thrum_promise *journal_start(struct journal *journal)
{
	struct thrum_promise *opened;

	opened = thrum_file_open(journal->loop, journal->path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	return thrum_promise_label(thrum_promise_bind(opened, on_opened, journal, NULL),
		"journal writer");
}

/* ---- The service ----------------------------------------------------------------------------- */

static struct thrum_promise *take_order(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_appended(struct thrum_loop *loop, void *value, void *data)
{
	struct service *service = data;

	(void)value;
	if (service->taken == service->orders) /* the last customer leaves */
		return thrum_promise_label(thrum_sleep(loop, 60), "last customer");
	return thrum_promise_bind(thrum_sleep(loop, 20), take_order, service, NULL);
}

static struct thrum_promise *take_order(struct thrum_loop *loop, void *value, void *data)
{
	struct service *service = data;
	char text[32];

	(void)loop, (void)value;
	snprintf(text, sizeof text, "order %u", ++service->taken);
	return thrum_promise_bind(append_record(&service->journal, text, NULL), on_appended,
		service, NULL);
}

static struct thrum_promise *run_service(struct thrum_loop *loop, struct thrum_switch *scope,
	void *data)
{
	struct service *service = data;

	thrum_switch_add_hook(scope, flush_journal, &service->journal, NULL);
	thrum_switch_add(scope, journal_start(&service->journal));
	return thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 100), take_order, service,
					   NULL),
		"take orders");
}

int main(int argc, char **argv)
{
	struct service service = {.orders = argc > 1 && !strcmp(argv[1], "broken") ? 8 : 6};
	struct journal *journal = &service.journal;
	uv_loop_t uv;
	int result;

	thrum_start(NULL);
	snprintf(journal->path, sizeof journal->path, "/tmp/aj_journal.%d", (int)getpid());
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &journal->loop))
		return 2;
	journal->records = thrum_stream_create(journal->loop, "records", 8);
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_switch_with(journal->loop, "service", run_service,
					    &service, NULL),
			"main")));
	thrum_stop();
	printf("%u orders, %u not in the journal: %s\n", service.taken, journal->unwritten,
		thrum_promise_error_message(result));
	thrum_stream_destroy(journal->records);
	thrum_promise_unref(thrum_file_close(journal->file));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(journal->loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	unlink(journal->path);
	return result != 0;
}
