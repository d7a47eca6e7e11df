/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 950
 *   ask: why
 *   truth: "lookup tenant-17" found no row and returned without leaving its read section, so the grace period of "retire index v3" never ends, and "apply batch 3" waits behind it. The other lookups go on and overwrite the ring.
 *   culprit: lookup tenant-17\b
 *   victim: retire index|apply batch
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* An index that is replaced as a whole. Readers pin it; the writer frees the old one when no reader
 * that could have seen it is left. */
struct section {
	struct section *next, **link;
	unsigned epoch;
	thrum_task task;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct section *sections;
static unsigned epoch = 1;
static atomic_bool writer_done;
static bool broken;

static void section_enter(struct section *section)
{
	pthread_mutex_lock(&lock);
	section->epoch = epoch;
	section->next = sections;
	section->link = &sections;
	if (sections)
		sections->link = &section->next;
	sections = section;
	pthread_mutex_unlock(&lock);
}

static void section_leave(struct section *section)
{
	pthread_mutex_lock(&lock);
	*section->link = section->next;
	if (section->next)
		section->next->link = section->link;
	thrum_task_resolve(section->task);
	pthread_cond_signal(&left);
	pthread_mutex_unlock(&lock);
}

static bool find_row(int tenant)
{
	return tenant != 17;
}

static bool lookup(struct section *section, int tenant)
{
	section->task = thrum_task_createf(THRUM_KIND_TASK, "lookup tenant-%d", tenant);
	THRUM_RUN (section->task) {
		section_enter(section);
		if (!find_row(tenant)) {
			if (broken)
				return false;
		}
		section_leave(section);
	}
	return true;
}

static void *reader(void *data)
{
	static struct section odd;
	int number = *(int *)data;

	thrum_lane_name(number == 0 ? "reader 0" : "reader 1");
	for (int round = 0; round < 240; round++) {
		struct section section;

		if (round > 100 && writer_done)
			break;
		for (int i = 0; i < 500; i++)
			lookup(&section, 100 + i % 40);
		if (number == 0 && round == 25)
			lookup(&odd, 17);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(4000);
		thrum_resume();
	}
	return NULL;
}

static bool is_pinned(unsigned before)
{
	for (struct section *section = sections; section; section = section->next)
		if (section->epoch < before)
			return true;
	return false;
}

static void retire(int version)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_JOIN, "retire index v%d", version);
	unsigned before;

	thrum_task_should_resolve(task);
	thrum_task_wait(thrum_task_current(), task);
	pthread_mutex_lock(&lock);
	before = ++epoch;
	for (struct section *section = sections; section; section = section->next)
		thrum_task_wait(task, section->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (is_pinned(before))
		pthread_cond_wait(&left, &lock);
	thrum_resume();
	pthread_mutex_unlock(&lock);
	thrum_task_resolve(task);
	thrum_task_read(thrum_task_current(), task);
}

static void *writer(void *unused)
{
	thrum_lane_name("writer");
	for (int batch = 1; batch <= 6; batch++) {
		thrum_task task;

		/* The third batch comes after the odd lookup in any case. */
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(batch == 3 ? 250000 : 40000);
		thrum_resume();
		task = thrum_task_createf(THRUM_KIND_TASK, "apply batch %d", batch);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			retire(batch);
			thrum_task_resolve(task);
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	static int numbers[] = {0, 1};
	pthread_t readers[2], write;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&readers[i], NULL, reader, &numbers[i]);
	pthread_create(&write, NULL, writer, NULL);
	pthread_join(write, NULL);
	writer_done = true;
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	return 0;
}
