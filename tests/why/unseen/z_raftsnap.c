/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The leader's "timed snapshot" waits until all peers are healthy before it is taken; node-2, which was away for long, can only become healthy by a fresh snapshot. Its "catch up node-2" waits for the snapshot: a cycle that begins with the check in take_snapshot.
 *   culprit: timed snapshot|take_snapshot|snapshot timer
 *   victim: write batch|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The leader of a replicated search index. Followers that are far behind need a snapshot. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	NODES = 3,
	ENTRIES = 400,
	LOG_KEPT = 100 /* so many entries are still in the log */
};

struct event {
	pthread_cond_t happened;
	thrum_task task;
	unsigned waiters;
};

static pthread_mutex_t leader = PTHREAD_MUTEX_INITIALIZER;
static struct event peers_healthy = {.happened = PTHREAD_COND_INITIALIZER};
static struct event snapshot_taken = {.happened = PTHREAD_COND_INITIALIZER};
static int applied[NODES] = {ENTRIES, ENTRIES - 30, 120}, snapshot_at, batches;
static bool broken;

/* The caller holds the leader's mutex. */
static void wait_for(struct event *event)
{
	thrum_task self = thrum_task_current();

	event->waiters++;
	thrum_task_wait(self, event->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&event->happened, &leader);
	thrum_resume();
	thrum_task_read(self, event->task);
}

/* The caller holds the leader's mutex. */
static void tell(struct event *event)
{
	thrum_task_signal(event->task, event->waiters);
	event->waiters = 0;
	pthread_cond_broadcast(&event->happened);
}

static bool all_healthy(void)
{
	for (int i = 0; i < NODES; i++)
		if (applied[i] < ENTRIES - 50)
			return false;
	return true;
}

static void *take_snapshot(void *unused)
{
	thrum_task task;

	(void)unused;
	pthread_setname_np(pthread_self(), "snapshot timer");
	thrum_lane_name("snapshot timer");
	usleep(30000);
	task = thrum_task_create(THRUM_KIND_TASK, "timed snapshot");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&leader);
		/* A snapshot loads this node, so it isn't taken while a peer is in trouble. */
		while (broken && !all_healthy())
			wait_for(&peers_healthy);
		pthread_mutex_unlock(&leader);
		usleep(20000);
		pthread_mutex_lock(&leader);
		snapshot_at = applied[0];
		tell(&snapshot_taken);
		pthread_mutex_unlock(&leader);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *replicate(void *number)
{
	int node = *(int *)number;
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "catch up node-%d", node);

	thrum_lane_name(node == 1 ? "replicate node-1" : "replicate node-2");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&leader);
		while (applied[node] < ENTRIES) {
			if (applied[node] < ENTRIES - LOG_KEPT) {
				/* The log no longer has what it needs. */
				while (snapshot_at <= applied[node])
					wait_for(&snapshot_taken);
				applied[node] = snapshot_at;
			} else {
				applied[node] += 10;
			}
			if (all_healthy())
				tell(&peers_healthy);
			pthread_mutex_unlock(&leader);
			usleep(4000);
			pthread_mutex_lock(&leader);
		}
		pthread_mutex_unlock(&leader);
		thrum_task_resolve(task);
	}
	return NULL;
}

/* The client's writes are slowed down while a peer is behind, and at last they wait for it. */
static void *write_batches(void *unused)
{
	(void)unused;
	thrum_lane_name("client");
	for (int i = 0; i < 6; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "write batch %d", i);

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			usleep(5000);
			pthread_mutex_lock(&leader);
			while (i >= 4 && !all_healthy())
				wait_for(&peers_healthy);
			pthread_mutex_unlock(&leader);
			thrum_task_resolve(task);
		}
		batches++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int numbers[NODES] = {0, 1, 2};
	pthread_t timer, client, peers[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	peers_healthy.task = thrum_task_create(THRUM_KIND_CONDITION, "peers healthy");
	snapshot_taken.task = thrum_task_create(THRUM_KIND_CONDITION, "snapshot taken");
	pthread_create(&timer, NULL, take_snapshot, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&peers[i], NULL, replicate, &numbers[i + 1]);
	pthread_create(&client, NULL, write_batches, NULL);
	pthread_join(timer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(peers[i], NULL);
	pthread_join(client, NULL);
	printf("snapshot at %d, %d batches\n", snapshot_at, batches);
	thrum_stop();
	return 0;
}
