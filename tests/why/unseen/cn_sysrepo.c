/* SPDX-License-Identifier: ISC */
/*
 * After sysrepo/sysrepo #2479.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: Three threads wait for each other. "get" holds system_lock for reading and waits for the provider of
 *     operational data. "edit" holds interfaces_lock for writing and waits for system_lock. The event handler has called
 *     the provider, but before it replies it ends its session, and sr_shmmod_release_locks looks into all modules:
 *     it waits for interfaces_lock. The fix looks only into the modules that the session has locked.
 *   culprit: sr_shmmod_release_locks|sr_session_stop|interfaces_lock|event handler
 *   victim: main\b|monitor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store of configuration: a client reads a module, another edits two, and a subscriber provides operational data. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 16,
	PERIOD_MS = 40,
	SLOW_ROUND = 7
};

static pthread_rwlock_t interfaces_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t system_lock = PTHREAD_RWLOCK_INITIALIZER;

struct module {
	const char *name;
	pthread_rwlock_t *lock;
	int version;
	unsigned long lock_owner; /* the session that has locked the datastore; 0: none */
};

static struct module modules[] = {
	{.name = "ietf-interfaces", .lock = &interfaces_lock},
	{.name = "ietf-system", .lock = &system_lock},
};

struct session {
	unsigned long id;
	unsigned locked; /* a bit for each module */
};

/* The events for the subscriber; one at a time. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t published, replied;
	int request, reply;
	bool stop;
} event = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.published = PTHREAD_COND_INITIALIZER,
	.replied = PTHREAD_COND_INITIALIZER};

static bool broken;
static struct timespec begin;
static int gets, edits, samples;

static void sleep_until_ms(long ms)
{
	struct timespec until = begin;

	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* ---- Sessions ------------------------------------------------------------------------------- */

/* Gives up the datastore locks that a session still has. */
static void sr_shmmod_release_locks(struct session *session)
{
	for (int i = 0; i < 2; i++) {
		struct module *module = &modules[i];

		if (!broken && !(session->locked & 1u << i))
			continue;
		pthread_rwlock_rdlock(module->lock);
		if (module->lock_owner == session->id)
			module->lock_owner = 0;
		pthread_rwlock_unlock(module->lock);
	}
}

static void sr_session_stop(struct session *session)
{
	sr_shmmod_release_locks(session);
	session->id = 0;
}

/* ---- The subscriber ------------------------------------------------------------------------- */

static int temperature_provider(struct session *session, int request)
{
	(void)session;
	usleep(request == SLOW_ROUND ? 100000
				     : 4000); /* the bus of the sensors is busy in one round */
	return 20 + request % 5;
}

static void *event_handler(void *data)
{
	int handled = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "event handler");
	pthread_mutex_lock(&event.mutex);
	for (;;) {
		struct session session = {.id = 1000};
		int request;

		while (event.request == handled && !event.stop)
			pthread_cond_wait(&event.published, &event.mutex);
		if (event.stop)
			break;
		request = event.request;
		pthread_mutex_unlock(&event.mutex);
		temperature_provider(&session, request);
		sr_session_stop(&session);
		pthread_mutex_lock(&event.mutex);
		handled = event.reply = request;
		pthread_cond_signal(&event.replied);
	}
	pthread_mutex_unlock(&event.mutex);
	return NULL;
}

/* ---- The clients ---------------------------------------------------------------------------- */

static void sr_get_items(struct module *module, int round)
{
	pthread_rwlock_rdlock(module->lock);
	pthread_mutex_lock(&event.mutex);
	event.request = round;
	pthread_cond_signal(&event.published);
	while (event.reply != round)
		pthread_cond_wait(&event.replied, &event.mutex);
	pthread_mutex_unlock(&event.mutex);
	pthread_rwlock_unlock(module->lock);
	gets++;
}

static void *get(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "get");
	for (int round = 1; round <= ROUNDS; round++) {
		sleep_until_ms(round * PERIOD_MS);
		sr_get_items(&modules[1], round);
	}
	return NULL;
}

static void sr_apply_changes(void)
{
	for (int i = 0; i < 2; i++)
		pthread_rwlock_wrlock(modules[i].lock);
	for (int i = 0; i < 2; i++)
		modules[i].version++;
	usleep(2000); /* writes the files */
	for (int i = 1; i >= 0; i--)
		pthread_rwlock_unlock(modules[i].lock);
	edits++;
}

static void *edit(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "edit");
	for (int round = 1; round <= ROUNDS; round++) {
		sleep_until_ms(round * PERIOD_MS + 20);
		sr_apply_changes();
	}
	return NULL;
}

/* Counts something that has nothing to do with the modules. */
static void *monitor(void *data)
{
	bool *stop = data;

	pthread_setname_np(pthread_self(), "monitor");
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		samples++;
		usleep(15000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t handler, clients[2], watch;
	bool stop = false;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (pthread_create(&handler, NULL, event_handler, NULL) ||
		pthread_create(&clients[0], NULL, get, NULL) ||
		pthread_create(&clients[1], NULL, edit, NULL) ||
		pthread_create(&watch, NULL, monitor, &stop))
		return 2;
	for (int i = 0; i < 2; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&event.mutex);
	event.stop = true;
	pthread_cond_signal(&event.published);
	pthread_mutex_unlock(&event.mutex);
	pthread_join(handler, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(watch, NULL);
	printf("%d gets, %d edits, %d samples\n", gets, edits, samples);
	return 0;
}
