/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why --slow='commit #'
 *   truth: a large record fills the segment of the log, and the leader of that group archives the full
 *     segment ("archive segment", in rotate) before it says that the group is on the disk; all commits of
 *     the group wait for that.
 *   culprit: archive segment
 *   victim: commit
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A store whose clients commit in groups: the first that comes writes the log for all who came meanwhile. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define CLIENTS 4
#define COMMITS 5
#define SEGMENT 4096

/* Commits that reach the disk together. */
struct group {
	bool is_led, is_durable;
	size_t bytes;
	thrum_task task;
};

struct client {
	int number;
	pthread_t thread;
};

THRUM_TAG(sync_log, NULL, "sync the log", 0);
THRUM_TAG(archive_segment, NULL, "archive segment", 0);
THRUM_TAG(think, NULL, "think", 0);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[CLIENTS * COMMITS + 1];
static struct group *open_group = groups;
static bool is_writing; /* a leader writes the group before */
static size_t segment_used;
static size_t blob_size; /* of the third record of client 2 */

/* Stands for a system call that takes so long. */
static void device(struct thrum_tag *what, int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	thrum_suspend(what);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* Begins a new segment; the full one goes to the archive. */
static __attribute__((noinline)) void rotate(void)
{
	device(&archive_segment, 420);
	segment_used = 0;
}

static __attribute__((noinline)) void write_group(struct group *group)
{
	segment_used += group->bytes;
	device(&sync_log, 6);
	if (segment_used > SEGMENT)
		rotate();
}

/* The caller holds the mutex. */
static __attribute__((noinline)) void wait_durable(struct group *group)
{
	thrum_task self = thrum_task_current();

	while (!group->is_durable) {
		thrum_task_wait(self, group->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, group->task);
}

/* Writes the group that is open, once the one before is written. The caller holds the mutex. */
static __attribute__((noinline)) void lead(struct group *group)
{
	if (is_writing)
		wait_durable(group - 1);
	is_writing = true;
	open_group = group + 1;
	pthread_mutex_unlock(&mutex);
	write_group(group);
	pthread_mutex_lock(&mutex);
	is_writing = false;
	group->is_durable = true;
	thrum_task_resolve(group->task);
	pthread_cond_broadcast(&changed);
}

static __attribute__((noinline)) void commit(size_t size)
{
	struct group *group;
	bool leads;

	pthread_mutex_lock(&mutex);
	group = open_group;
	leads = !group->is_led;
	if (leads) {
		group->is_led = true;
		group->task = thrum_task_create(THRUM_KIND_PROMISE, "group");
	}
	group->bytes += size;
	if (leads)
		lead(group);
	else
		wait_durable(group);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void *client_main(void *data)
{
	struct client *self = data;
	thrum_task task;
	char name[16];

	snprintf(name, sizeof(name), "client %d", self->number);
	thrum_lane_name(name);
	for (int i = 1; i <= COMMITS; i++) {
		task = thrum_task_createf(THRUM_KIND_TASK, "commit %d", self->number * 10 + i);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			commit(self->number == 2 && i == 3 ? blob_size : 80);
			thrum_task_resolve(task);
		}
		device(&think, 2 + self->number);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS];

	blob_size = argc > 1 && !strcmp(argv[1], "broken") ? 6000 : 600;
	thrum_start(NULL);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].number = i + 1;
		pthread_create(&clients[i].thread, NULL, client_main, &clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	thrum_stop();
	printf("%zu bytes in the segment, %d groups\n", segment_used, (int)(open_group - groups));
	return 0;
}
