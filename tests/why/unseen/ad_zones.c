/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: dump statistics keeps the lock of the zones while it writes to a slow share; it should copy.
 *   culprit: dump statistics|dump_statistics
 *   victim: reload zones|upstream
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A name server. Lookups read the zones, a watcher reloads them, and a clerk reports their statistics. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define RESOLVERS 2
#define LOOKUPS 180
#define ZONES 400
#define RELOADS 25

struct zone {
	unsigned serial, hits;
};

static struct zone zones[ZONES];
static pthread_rwlock_t zones_lock;
static thrum_task zones_task;
static bool copies_first;

static void nap_us(long us)
{
	struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&time, NULL);
	thrum_resume();
}

static void lock_zones(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&zones_lock)
		     : pthread_rwlock_tryrdlock(&zones_lock)) {
		thrum_task_wait(thrum_task_current(), zones_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&zones_lock);
		else
			pthread_rwlock_rdlock(&zones_lock);
		thrum_resume();
	}
	thrum_lock_acquired(zones_task);
}

static void unlock_zones(void)
{
	thrum_lock_released(zones_task);
	pthread_rwlock_unlock(&zones_lock);
}

static void wait_for_answer(const char *label, long us)
{
	thrum_task answer = thrum_task_create(THRUM_KIND_REQUEST, label);

	thrum_task_due(answer, us * 1000);
	thrum_task_wait(thrum_task_current(), answer);
	nap_us(us);
	thrum_task_read(thrum_task_current(), answer);
	thrum_task_resolve(answer);
}

static unsigned find_zone(unsigned name)
{
	unsigned found = 0;

	for (unsigned i = 0; i < ZONES; i++)
		if ((zones[i].serial ^ i) % ZONES == name % ZONES)
			found = i;
	__atomic_add_fetch(&zones[found].hits, 1, __ATOMIC_RELAXED);
	return found;
}

static void look_up(unsigned name)
{
	thrum_task lookup = thrum_task_create(THRUM_KIND_TASK, "lookup");

	thrum_task_should_resolve(lookup);
	THRUM_RUN (lookup) {
		lock_zones(false);
		find_zone(name);
		unlock_zones();
		/* A few names aren't ours. */
		if (name % 20 == 19)
			wait_for_answer("upstream", 2500);
		thrum_task_resolve(lookup);
	}
}

static void *run_resolver(void *data)
{
	unsigned name = *(unsigned *)data;

	thrum_lane_name("resolver");
	for (int i = 0; i < LOOKUPS; i++) {
		look_up(name++);
		nap_us(900);
	}
	return NULL;
}

static void *watch_zones(void *data)
{
	(void)data;
	thrum_lane_name("watcher");
	for (unsigned serial = 1; serial <= RELOADS; serial++) {
		thrum_task reload = thrum_task_create(THRUM_KIND_TASK, "reload zones");

		THRUM_RUN (reload) {
			lock_zones(true);
			for (unsigned i = serial % 9; i < ZONES; i += 9)
				zones[i].serial = serial;
			unlock_zones();
			thrum_task_resolve(reload);
		}
		nap_us(9000);
	}
	return NULL;
}

static void write_report(const struct zone *counted)
{
	char line[64];

	for (int i = 0; i < ZONES; i++)
		snprintf(line, sizeof(line), "zone %d: %u\n", i, counted[i].hits);
	wait_for_answer("write to share", 70000);
}

static void dump_statistics(void)
{
	struct zone copy[ZONES];

	lock_zones(false);
	if (copies_first)
		memcpy(copy, zones, sizeof(copy));
	else
		write_report(zones);
	unlock_zones();
	if (copies_first)
		write_report(copy);
}

static void *keep_books(void *data)
{
	(void)data;
	thrum_lane_name("clerk");
	for (int i = 0; i < 2; i++) {
		thrum_task dump = thrum_task_create(THRUM_KIND_TASK, "dump statistics");

		nap_us(60000);
		THRUM_RUN (dump) {
			dump_statistics();
			thrum_task_resolve(dump);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned names[RESOLVERS] = {7, 1013};
	pthread_t resolvers[RESOLVERS], watcher, clerk;
	pthread_rwlockattr_t fair; /* reloads must not starve */

	copies_first = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	zones_task = thrum_task_create(THRUM_KIND_LOCK, "zones");
	pthread_rwlockattr_init(&fair);
	pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&zones_lock, &fair);
	for (int i = 0; i < RESOLVERS; i++)
		pthread_create(&resolvers[i], NULL, run_resolver, &names[i]);
	pthread_create(&watcher, NULL, watch_zones, NULL);
	pthread_create(&clerk, NULL, keep_books, NULL);
	for (int i = 0; i < RESOLVERS; i++)
		pthread_join(resolvers[i], NULL);
	pthread_join(watcher, NULL);
	pthread_join(clerk, NULL);
	thrum_stop();
	printf("%d lookups\n", RESOLVERS * LOOKUPS);
	return 0;
}
