/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 600
 *   ask: why
 *   truth: reload_thread publishes version 3 as a new object (live_flags = &next_flags) and broadcasts the new object's condition; both rollout threads still wait on the old object's.
 *   culprit: reload
 *   victim: rollout|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* flagsd: feature flags with versions; rollouts wait until a version is live. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct flags {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int version;
};

static struct flags boot_flags = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1};
static struct flags next_flags = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct flags *live_flags = &boot_flags;
static bool forget_old_waiters;
static volatile bool done;

static void flags_wait_version(int version)
{
	struct flags *flags;

	for (;;) {
		flags = __atomic_load_n(&live_flags, __ATOMIC_ACQUIRE);
		pthread_mutex_lock(&flags->lock);
		while (flags->version < version &&
			flags == __atomic_load_n(&live_flags, __ATOMIC_ACQUIRE))
			pthread_cond_wait(&flags->changed, &flags->lock);
		if (flags->version >= version) {
			pthread_mutex_unlock(&flags->lock);
			return;
		}
		pthread_mutex_unlock(&flags->lock);
	}
}

static void flags_bump(struct flags *flags, int version)
{
	pthread_mutex_lock(&flags->lock);
	flags->version = version;
	pthread_cond_broadcast(&flags->changed);
	pthread_mutex_unlock(&flags->lock);
}

static void *rollout_search(void *unused)
{
	(void)unused;
	for (int version = 2; version <= 4; version++) {
		flags_wait_version(version);
		usleep(5000);
	}
	return NULL;
}

static void *rollout_checkout(void *unused)
{
	(void)unused;
	flags_wait_version(2);
	usleep(20000);
	flags_wait_version(4);
	return NULL;
}

static void *reload_thread(void *unused)
{
	struct flags *old = &boot_flags;

	(void)unused;
	usleep(40000);
	flags_bump(&boot_flags, 2);
	usleep(60000);
	/* Version 3 has a new layout: swap the object. */
	__atomic_store_n(&live_flags, &next_flags, __ATOMIC_RELEASE);
	flags_bump(&next_flags, 3);
	if (!forget_old_waiters) {
		pthread_mutex_lock(&old->lock);
		pthread_cond_broadcast(&old->changed);
		pthread_mutex_unlock(&old->lock);
	}
	for (int version = 4; version < 8; version++) {
		usleep(30000);
		flags_bump(&next_flags, version);
	}
	return NULL;
}

static void *metrics_thread(void *unused)
{
	(void)unused;
	while (!done)
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reload, search, checkout, metrics;

	forget_old_waiters = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&metrics, NULL, metrics_thread, NULL);
	pthread_create(&reload, NULL, reload_thread, NULL);
	pthread_create(&search, NULL, rollout_search, NULL);
	pthread_create(&checkout, NULL, rollout_checkout, NULL);
	pthread_join(search, NULL);
	pthread_join(checkout, NULL);
	pthread_join(reload, NULL);
	done = true;
	pthread_join(metrics, NULL);
	puts("rollouts done");
	return 0;
}
