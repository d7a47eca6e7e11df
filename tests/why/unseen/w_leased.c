/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: the lease of shard-2 was renewed while "compact shard-2" held it, which raised its generation; compact releases it with the old generation, which is refused. It ends, the lease stays taken, and "migrate shard-2" waits for ever.
 *   culprit: compact shard-2
 *   victim: migrate shard-2
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
/* leased: leases on shards; jobs are state machines which a scheduler steps. Heartbeats make the most
 * of the noise. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SHARDS = 4,
	JOBS = 10,
	NODES = 6
};

struct job;
struct lease {
	thrum_task task;
	unsigned generation;
	struct job *holder;
	struct job *waiting[4];
	int waiters;
};
struct job {
	char label[32];
	thrum_task task;
	int shard, start, work; /* in turns of the scheduler */
	unsigned token;
	enum {
		UNBORN,
		WANTS,
		HOLDS,
		OVER
	} state;
	bool ready;
};

static struct lease leases[SHARDS];
static struct job jobs[JOBS];
static bool fixed;

static void grant(struct lease *lease, struct job *job)
{
	lease->holder = job;
	job->token = ++lease->generation;
	job->state = HOLDS;
	thrum_lock_acquired(lease->task);
}

static void release(struct lease *lease, struct job *job)
{
	struct job *next;

	if (job->token != lease->generation)
		return; /* somebody else has it now */
	thrum_lock_released(lease->task);
	lease->holder = NULL;
	if (lease->waiters == 0)
		return;
	next = lease->waiting[0];
	memmove(lease->waiting, lease->waiting + 1,
		sizeof lease->waiting - sizeof lease->waiting[0]);
	lease->waiters--;
	next->ready = true;
	thrum_task_ready(next->task);
}

/* Leases that are held for long get a new generation, and so stay. */
static void renew(struct lease *lease)
{
	if (!lease->holder)
		return;
	lease->generation++;
	if (fixed)
		lease->holder->token = lease->generation;
}

static void step(struct job *job)
{
	struct lease *lease = &leases[job->shard];

	switch (job->state) {
	case UNBORN:
		job->state = WANTS;
		/* fall through */
	case WANTS:
		job->ready = false;
		if (lease->holder) {
			thrum_task_wait(job->task, lease->task);
			lease->waiting[lease->waiters++] = job;
			break;
		}
		grant(lease, job);
		job->ready = true;
		thrum_task_ready(job->task);
		break;
	case HOLDS:
		if (--job->work > 0) {
			thrum_task_ready(job->task);
			break;
		}
		release(lease, job);
		job->state = OVER;
		job->ready = false;
		thrum_task_resolve(job->task);
		break;
	case OVER: break;
	}
}

static void job_init(int i, const char *verb, int shard, int start, int work)
{
	snprintf(jobs[i].label, sizeof jobs[i].label, "%s shard-%d", verb, shard);
	jobs[i].shard = shard;
	jobs[i].start = start;
	jobs[i].work = work;
}

static void heartbeat(thrum_task node)
{
	THRUM_RUN (node) {
		thrum_task beat = thrum_task_create(THRUM_KIND_TASK, "heartbeat");

		THRUM_RUN (beat)
			thrum_task_resolve(beat);
		thrum_task_read(node, beat);
	}
}

int main(int argc, char **argv)
{
	thrum_task nodes[NODES];
	int over = 0;

	fixed = !(argc > 1 && !strcmp(argv[1], "broken"));
	for (int i = 0; i < NODES; i++)
		nodes[i] = thrum_task_createf(THRUM_KIND_FIBER, "node %d", i);
	for (int i = 0; i < SHARDS; i++)
		leases[i].task = thrum_task_createf(THRUM_KIND_LOCK, "lease of shard-%d", i);
	job_init(0, "compact", 0, 2, 6);
	job_init(1, "migrate", 0, 4, 4);
	job_init(2, "compact", 1, 6, 8);
	job_init(3, "verify", 1, 8, 3);
	job_init(4, "compact", 2, 10, 28); /* long enough to be renewed */
	job_init(5, "migrate", 2, 14, 4);
	job_init(6, "verify", 3, 20, 5);
	job_init(7, "compact", 3, 22, 7);
	job_init(8, "verify", 0, 40, 5);
	job_init(9, "migrate", 1, 45, 5);
	for (int turn = 0; turn < 100 || over < JOBS; turn++) {
		for (int i = 0; i < JOBS; i++) {
			struct job *job = &jobs[i];

			if (job->state == UNBORN && job->start <= turn && !job->ready) {
				job->task = thrum_task_create(THRUM_KIND_FIBER, job->label);
				thrum_task_should_resolve(job->task);
				thrum_task_ready(job->task);
				job->ready = true;
			}
			if (job->ready) {
				THRUM_RUN (job->task)
					step(job);
				over += job->state == OVER;
			}
		}
		if (turn % 16 == 15)
			for (int i = 0; i < SHARDS; i++)
				renew(&leases[i]);
		for (int i = 0; i < 500; i++)
			heartbeat(nodes[i % NODES]);
		if (turn % 4)
			continue;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(8000);
		thrum_resume();
	}
	puts("all jobs done");
	return 0;
}
