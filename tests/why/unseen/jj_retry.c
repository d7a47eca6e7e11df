/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The store of message 11 fails each time, as its folder is over quota. It should give up after five
 *     tries, but retry_later makes a new job whose count of tries starts again, so it never ends.
 *   culprit: store message 11|retry_later
 *   victim: sync (account|folder)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define MESSAGES 20
#define TRIES 5
#define SLICE 1000000L /* a turn of the wheel, in ns */
#define SLOTS 32

struct job {
	thrum_task task;
	int message, tries;
	struct job *next;
};

struct folder {
	const char *name;
	thrum_task task;
	int left;
};

static struct job *wheel[SLOTS];
static struct folder folders[2] = {{"INBOX", 0, 0}, {"Archive", 0, 0}};
static thrum_task account;
static int position, lost;
static bool broken;

static struct folder *folder_of(int message)
{
	return &folders[message > 8];
}

static void schedule(struct job *job, int slices)
{
	struct job **slot = &wheel[(position + slices) % SLOTS];

	job->next = *slot;
	*slot = job;
}

static struct job *job_new(int message)
{
	struct job *job = calloc(1, sizeof(*job));

	job->message = message;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "store message %d", message);
	thrum_task_wait(folder_of(message)->task, job->task);
	return job;
}

/* Asks the server to store a message. The server is busy now and then. */
static int store(const struct job *job)
{
	if (job->message == 11)
		return -EDQUOT;
	return job->message % 4 == 1 && job->tries < 2 ? -EBUSY : 0;
}

static void folder_done(struct folder *folder)
{
	if (--folder->left > 0)
		return;
	THRUM_RUN (folder->task)
		thrum_task_resolve(folder->task);
}

/* Tries again after a while, and longer after each failure. */
static void retry_later(struct job *job, const char *reason)
{
	struct job *again = job_new(job->message);

	if (!broken)
		again->tries = job->tries;
	thrum_task_fail(job->task, reason);
	schedule(again, 3 + 2 * job->tries);
	free(job);
}

static void job_run(struct job *job)
{
	int error;

	THRUM_RUN (job->task) {
		error = store(job);
		job->tries++;
		if (error == -EBUSY) {
			/* The connection is fine, so the same job asks once more. */
			schedule(job, 2);
		} else if (error && job->tries < TRIES) {
			retry_later(job, strerror(-error));
		} else {
			if (error) {
				lost++;
				thrum_task_fail(job->task, "gave up");
			} else {
				thrum_task_resolve(job->task);
			}
			folder_done(folder_of(job->message));
			free(job);
		}
	}
}

static void turn(void)
{
	struct job *due;

	position = (position + 1) % SLOTS;
	due = wheel[position];
	wheel[position] = NULL;
	while (due) {
		struct job *job = due;

		due = job->next;
		job_run(job);
	}
}

int main(int argc, char **argv)
{
	struct itimerspec slice = {{0, SLICE}, {0, SLICE}};
	uint64_t turns;
	int clock = timerfd_create(CLOCK_MONOTONIC, 0);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	account = thrum_task_create(THRUM_KIND_JOIN, "sync account");
	thrum_task_should_resolve(account);
	for (int i = 0; i < 2; i++) {
		folders[i].task = thrum_task_createf(THRUM_KIND_TASK, "sync folder %s",
			folders[i].name);
		thrum_task_wait(account, folders[i].task);
	}
	for (int i = 0; i < MESSAGES; i++) {
		folder_of(i)->left++;
		schedule(job_new(i), 1 + i % 9);
	}
	timerfd_settime(clock, 0, &slice, NULL);
	while (folders[0].left + folders[1].left > 0) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(clock, &turns, sizeof(turns)) != sizeof(turns))
			return 1;
		thrum_resume();
		while (turns-- > 0)
			turn();
	}
	THRUM_RUN (account)
		thrum_task_resolve(account);
	printf("synced, %d messages not stored\n", lost);
	thrum_stop();
	close(clock);
	return 0;
}
