/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run:
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run:
 *   ask: diff good
 *   truth: the mask of the kinds of events that are applied has (1 << KINDS - 1), so it contains only one kind less: DELETEs are dropped silently. No "apply delete" task exists in the bad run, and "verify replica" compares again and again, and fails.
 *   culprit: apply delete
 *   victim: verify|compare
 * case: jitter
 *   args: jitter
 *   run:
 *   ask: diff good
 *   culprit: nothing
 */
/* cdcapply: applies the changes of two source shards, which come through pipes, to a replica. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum kind {
	INSERT,
	UPDATE,
	DELETE,
	KINDS
};
struct change {
	uint8_t kind, shard;
	uint16_t row;
};

static const char *const kind_name[] = {"insert", "update", "delete"};
static const enum kind script[] = {INSERT, INSERT, UPDATE, INSERT, DELETE, UPDATE, INSERT, UPDATE,
	DELETE, INSERT};
enum {
	CHANGES = sizeof script / sizeof *script
};

static int pipes[2][2];
static unsigned pause_us[2] = {7000, 9000};
static unsigned wanted;
static int rows_source, rows_replica;

static void *shard_thread(void *data)
{
	int shard = (int)(long)data;

	thrum_lane_name(shard ? "shard b" : "shard a");
	for (int i = 0; i < CHANGES; i++) {
		struct change change = {(uint8_t)script[i], (uint8_t)shard, (uint16_t)i};

		usleep(pause_us[shard]);
		__atomic_add_fetch(&rows_source,
			script[i] == INSERT           ? 1
				: script[i] == DELETE ? -1
						      : 0,
			__ATOMIC_SEQ_CST);
		if (write(pipes[shard][1], &change, sizeof change) != sizeof change)
			return NULL;
	}
	close(pipes[shard][1]);
	return NULL;
}

static void apply(const struct change *change)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "apply %s", kind_name[change->kind]);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		usleep(1500);
		rows_replica += change->kind == INSERT ? 1 : change->kind == DELETE ? -1 : 0;
		thrum_task_resolve(task);
	}
}

static void verify(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "verify replica");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int try = 0; try < 4; try++) {
			thrum_task timer;

			usleep(3000);
			if (rows_replica == __atomic_load_n(&rows_source, __ATOMIC_SEQ_CST)) {
				thrum_task_resolve(task);
				return;
			}
			timer = thrum_task_create(THRUM_KIND_TIMER, "compare again");
			thrum_task_due(timer, 60000000);
			thrum_task_wait(task, timer);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(60000);
			thrum_resume();
			thrum_task_resolve(timer);
			thrum_task_read(task, timer);
		}
		thrum_task_fail(task, "row counts differ");
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[2];
	struct pollfd pollfds[2];
	int open = 2;

	wanted = (1u << KINDS) - 1;
	if (argc > 1 && !strcmp(argv[1], "bad"))
		wanted = 1u << (KINDS - 1), wanted -= 1;
	if (argc > 1 && !strcmp(argv[1], "jitter"))
		pause_us[0] = 9500, pause_us[1] = 6000;
	thrum_lane_name("applier");
	for (long i = 0; i < 2; i++) {
		if (pipe(pipes[i]))
			return 1;
		pollfds[i] = (struct pollfd){pipes[i][0], POLLIN, 0};
		pthread_create(&thread[i], NULL, shard_thread, (void *)i);
	}
	while (open) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(pollfds, 2, -1);
		thrum_resume();
		for (int i = 0; i < 2; i++) {
			struct change change;

			if (!pollfds[i].revents)
				continue;
			if (read(pipes[i][0], &change, sizeof change) != sizeof change) {
				pollfds[i].fd = -1;
				open--;
			} else if (wanted >> change.kind & 1) {
				apply(&change);
			}
		}
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	verify();
	return 0;
}
