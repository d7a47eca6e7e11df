/* SPDX-License-Identifier: ISC */
/*
 * After rtrlib/rtrlib #270 (bug #269).
 *
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The thread of the preferred group comes back, and stops the less preferred group from within rtr_mgr_cb,
 *     where it holds the manager's mutex. rtr_stop joins the other thread, which waits in its own rtr_mgr_cb for the
 *     same mutex. So "rtr group 1" waits for the end of "rtr group 2", and that one for the mutex of the first.
 *   culprit: rtr group 1|rtr_stop|close_less_preferable|rtr_mgr_cb
 *   victim: vty|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A router's client for RPKI caches: it keeps sessions to groups of caches, in order of preference. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	GROUPS = 2,
	ROUNDS = 45
};

enum rtr_state {
	RTR_CLOSED,
	RTR_CONNECTING,
	RTR_ESTABLISHED,
	RTR_ERROR,
	RTR_SHUTDOWN
};

struct rtr_socket {
	int preference; /* the lower, the better */
	pthread_t thread;
	bool running;
	_Atomic int state;
	unsigned syncs;
	int fails_at; /* in this sync the cache goes away for a while; 0: never */
};

static struct rtr_mgr {
	pthread_mutex_t mutex;   /* in the broken program */
	pthread_rwlock_t rwlock; /* in the fixed one */
	struct rtr_socket socket[GROUPS];
	int status[GROUPS];
} config = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rwlock = PTHREAD_RWLOCK_INITIALIZER};

static struct pfx_table {
	pthread_mutex_t lock;
	unsigned records;
	unsigned validated;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool broken;

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

/* The lock of a socket's own thread. */
static void mgr_lock_shared(void)
{
	if (broken)
		pthread_mutex_lock(&config.mutex);
	else
		pthread_rwlock_rdlock(&config.rwlock);
}

/* The lock of calls from outside. */
static void mgr_lock(void)
{
	if (broken)
		pthread_mutex_lock(&config.mutex);
	else
		pthread_rwlock_wrlock(&config.rwlock);
}

static void mgr_unlock(void)
{
	if (broken)
		pthread_mutex_unlock(&config.mutex);
	else
		pthread_rwlock_unlock(&config.rwlock);
}

static void pfx_table_add(unsigned records)
{
	pthread_mutex_lock(&table.lock);
	table.records += records;
	pthread_mutex_unlock(&table.lock);
}

static void *rtr_fsm(void *data);

static void rtr_start(struct rtr_socket *socket)
{
	socket->state = RTR_CONNECTING;
	socket->running = true;
	if (pthread_create(&socket->thread, NULL, rtr_fsm, socket))
		exit(2);
}

static void rtr_stop(struct rtr_socket *socket)
{
	socket->state = RTR_SHUTDOWN;
	pthread_join(socket->thread, NULL);
	socket->running = false;
	socket->state = RTR_CLOSED;
}

static void rtr_mgr_close_less_preferable_groups(const struct rtr_socket *than)
{
	for (int i = 0; i < GROUPS; i++) {
		struct rtr_socket *socket = &config.socket[i];

		if (socket->preference > than->preference && socket->running) {
			rtr_stop(socket);
			config.status[i] = RTR_CLOSED;
		}
	}
}

/* Writes the change to the journal of the router. */
static void log_status(const struct rtr_socket *socket, int state)
{
	printf("group %d: %s\n", socket->preference, state == RTR_ESTABLISHED ? "up" : "down");
	pause_ms(20);
}

/* Each socket's thread tells the manager of its state here. */
static void rtr_mgr_cb(struct rtr_socket *socket, int state)
{
	int before;

	mgr_lock_shared();
	before = config.status[socket->preference - 1];
	config.status[socket->preference - 1] = state;
	if (state != before) {
		log_status(socket, state);
		if (state == RTR_ESTABLISHED)
			rtr_mgr_close_less_preferable_groups(socket);
		if (state == RTR_ERROR)
			for (int i = 0; i < GROUPS; i++)
				if (config.socket[i].preference > socket->preference &&
					!config.socket[i].running)
					rtr_start(&config.socket[i]);
	}
	mgr_unlock();
}

static void *rtr_fsm(void *data)
{
	struct rtr_socket *socket = data;
	char name[16];

	snprintf(name, sizeof(name), "rtr group %d", socket->preference);
	pthread_setname_np(pthread_self(), name);
	while (socket->state != RTR_SHUTDOWN) {
		pause_ms(6); /* the cache sends its records */
		socket->syncs++;
		if (socket->fails_at && socket->syncs == (unsigned)socket->fails_at) {
			rtr_mgr_cb(socket, RTR_ERROR);
			pause_ms(120); /* until the cache can be reached again */
			continue;
		}
		pfx_table_add(10);
		if (socket->state != RTR_SHUTDOWN)
			rtr_mgr_cb(socket, RTR_ESTABLISHED);
	}
	return NULL;
}

static _Atomic bool done;

/* An operator looks at the sessions now and then. */
static void *vty(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "vty");
	while (!done) {
		int up = 0;

		pause_ms(30);
		mgr_lock();
		for (int i = 0; i < GROUPS; i++)
			up += config.status[i] == RTR_ESTABLISHED;
		mgr_unlock();
		printf("rpki: %d groups are up\n", up);
	}
	return NULL;
}

static void validate_routes(void)
{
	pthread_mutex_lock(&table.lock);
	table.validated++;
	pthread_mutex_unlock(&table.lock);
}

int main(int argc, char **argv)
{
	pthread_t operator;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (int i = 0; i < GROUPS; i++)
		config.socket[i].preference = i + 1;
	config.socket[0].fails_at = 25;
	mgr_lock();
	rtr_start(&config.socket[0]);
	mgr_unlock();
	if (pthread_create(&operator, NULL, vty, NULL))
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		pause_ms(15);
		validate_routes();
	}
	printf("validated %u routes\n", table.validated);
	done = true;
	pthread_join(operator, NULL);
	for (int i = 0; i < GROUPS; i++)
		if (config.socket[i].running)
			rtr_stop(&config.socket[i]);
	puts("router stops");
	return 0;
}
