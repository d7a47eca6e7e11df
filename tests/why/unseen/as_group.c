/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=commit
 *   truth: the last commits wait for a group that is never full: it closes only when its timer "linger" is
 *     over, after 500 ms, though the disk is idle and nobody else comes
 *   culprit: linger
 *   victim: sync \d|write \d
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The log of a database, which commits transactions in groups: one write and one sync for each four. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define GROUP 4
#define LINGER_MS 500
#define COMMITS 24

/* Transactions that are committed together. */
struct group {
	unsigned number, count, records[GROUP];
	struct thrum_resolver *full;
	struct thrum_promise *written;
};

struct transaction {
	unsigned number, after_ms;
};

static struct transaction transactions[COMMITS];
static struct group *open_group;
static unsigned groups, positions[COMMITS + 1];
static uint64_t log_end;

/* ---- The disk ---- */

static struct thrum_promise *sync_log(struct thrum_loop *loop, void *value, void *data)
{
	struct group *group = data;

	(void)value;
	return thrum_promise_labelf(thrum_sleep(loop, 9), "sync %u", group->number);
}

static struct thrum_promise *write_log(struct thrum_loop *loop, struct group *group)
{
	for (unsigned i = 0; i < group->count; i++) {
		positions[group->records[i]] = (unsigned)log_end;
		log_end += 512;
	}
	return thrum_promise_labelf(thrum_sleep(loop, 2 + group->count), "write %u", group->number);
}

/* ---- Groups ---- */

static void group_free(void *data)
{
	struct group *group = data;

	thrum_promise_unref(group->written);
	free(group);
}

/* The group is full, or has waited long enough. */
static struct thrum_promise *group_close(struct thrum_loop *loop, void *value, void *data)
{
	struct group *group = data;

	(void)value;
	if (group->full) /* it isn't full */
		thrum_resolver_drop(group->full);
	group->full = NULL;
	if (open_group == group)
		open_group = NULL;
	return thrum_promise_bind(write_log(loop, group), sync_log, group, NULL);
}

static struct thrum_promise *group_end(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct group *group_open(struct thrum_loop *loop)
{
	struct group *group = calloc(1, sizeof(*group));
	struct thrum_promise *either[2], *written;

	if (!group)
		abort();
	group->number = ++groups;
	either[0] = thrum_promise_task(loop, "full", &group->full);
	either[1] = thrum_promise_label(thrum_sleep(loop, LINGER_MS), "linger");
	written = thrum_promise_label(thrum_promise_pick(loop, either, 2), "full or linger");
	written = thrum_promise_bind(written, group_close, group, NULL);
	written = thrum_promise_labelf(written, "group %u", group->number);
	group->written = thrum_promise_ref(written);
	thrum_promise_ignore_result(thrum_promise_finalize(written, group_end, group, group_free));
	open_group = group;
	return group;
}

/* Puts a transaction into the group that is open. The promise ends when the group is on the disk. */
static struct thrum_promise *group_join(struct thrum_loop *loop, unsigned number)
{
	struct group *group = open_group ? open_group : group_open(loop);
	struct thrum_promise *written = thrum_promise_protected(thrum_promise_ref(group->written));

	group->records[group->count++] = number;
	if (group->count == GROUP) {
		struct thrum_resolver *full = group->full;

		group->full = NULL;
		open_group = NULL;
		thrum_resolver_resolve(full, thrum_value_none());
	}
	return written;
}

/* ---- Transactions ---- */

static struct thrum_value report_commit(struct thrum_loop *loop, void *value, void *data)
{
	const struct transaction *transaction = data;

	(void)loop;
	(void)value;
	printf("commit %u at %u\n", transaction->number, positions[transaction->number]);
	return thrum_value_none();
}

static struct thrum_promise *commit(struct thrum_loop *loop, void *value, void *data)
{
	struct transaction *transaction = data;
	struct thrum_promise *committed;

	(void)value;
	committed = group_join(loop, transaction->number);
	committed = thrum_promise_map(committed, report_commit, transaction, NULL);
	return thrum_promise_labelf(committed, "commit %u", transaction->number);
}

static struct thrum_promise *run_transaction(struct thrum_loop *loop,
	struct transaction *transaction)
{
	struct thrum_promise *work;

	work = thrum_promise_labelf(thrum_sleep(loop, transaction->after_ms), "transaction %u",
		transaction->number);
	return thrum_promise_bind(work, commit, transaction, NULL);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 && !strcmp(argv[1], "broken") ? COMMITS - 2 : COMMITS;
	struct thrum_promise *all[COMMITS], *done;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (unsigned i = 0; i < count; i++) {
		struct transaction *transaction = &transactions[i];

		transaction->number = i + 1;
		transaction->after_ms = 10 + i / GROUP * 40 + i % GROUP * 3;
		all[i] = run_transaction(loop, transaction);
	}
	done = thrum_promise_label(thrum_promise_join(loop, all, count), "all transactions");
	error = thrum_promise_run(thrum_promise_should_resolve(done));
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
