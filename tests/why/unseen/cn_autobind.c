/* SPDX-License-Identifier: ISC */
/*
 * After 389ds/389-ds-base #5883.
 *
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=search
 *   truth: bind_autobind holds "c_mutex of ldapi" during the whole look-up that maps the user to an entry, 30 ms. The
 *     listener goes over all connections in each "poll round" and locks the mutex of each. So the round stands still at
 *     ldapi, and the searches of all other clients aren't given to a worker until the "autobind" is over. The fix looks
 *     up the entry first, and locks only to set the credentials.
 *   culprit: autobind|c_mutex of ldapi
 *   victim: search|poll round|listener
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A directory server: a listener hands operations of all connections to workers; one client binds again and again. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONNECTIONS = 4,
	LDAPI = 3,
	WORKERS = 4,
	SEARCHES = 60,
	BINDS = 14,
	QUEUE = 8
};

struct connection;

struct operation {
	struct connection *connection;
	void (*run)(struct connection *connection);
	thrum_task task;
	bool done;
};

struct connection {
	const char *name;
	pthread_mutex_t c_mutex;
	thrum_task lock;
	struct operation *arrived; /* guarded by the table's mutex */
	char credentials[32];
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t arrived, queued, done;
	struct operation *queue[QUEUE];
	unsigned first, count;
	bool is_round; /* whether the listener is in a round */
	thrum_task round;
	bool stop;
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.arrived = PTHREAD_COND_INITIALIZER,
	.queued = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER};

static struct connection connections[CONNECTIONS] = {
	{.name = "ldclt 1"},
	{.name = "ldclt 2"},
	{.name = "ldclt 3"},
	{.name = "ldapi"},
};

static bool broken;
static int searches, binds; /* guarded by the table's mutex */

static void connection_lock(struct connection *connection)
{
	if (pthread_mutex_trylock(&connection->c_mutex)) {
		thrum_task_wait(thrum_task_current(), connection->lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&connection->c_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(connection->lock);
}

static void connection_unlock(struct connection *connection)
{
	thrum_lock_released(connection->lock);
	pthread_mutex_unlock(&connection->c_mutex);
}

/* ---- Operations ----------------------------------------------------------------------------- */

static void internal_search(useconds_t us)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(us); /* reads the database */
	thrum_resume();
}

static void do_search(struct connection *connection)
{
	char credentials[sizeof(connection->credentials)];

	connection_lock(connection);
	memcpy(credentials, connection->credentials, sizeof(credentials));
	connection_unlock(connection);
	internal_search(1000);
}

static void bind_autobind(struct connection *connection)
{
	if (!broken)
		internal_search(30000);
	connection_lock(connection);
	if (broken)
		internal_search(30000);
	strcpy(connection->credentials, "cn=demo,dc=example,dc=com");
	connection_unlock(connection);
}

/* ---- The listener and the workers ----------------------------------------------------------- */

static bool has_arrived(void)
{
	bool any = false;

	for (int i = 0; i < CONNECTIONS; i++)
		any = any || connections[i].arrived;
	return any;
}

/* Locks each connection, and hands what has arrived there to the workers. */
static void poll_connections(void)
{
	for (int i = CONNECTIONS - 1; i >= 0; i--) {
		struct connection *connection = &connections[i];

		connection_lock(connection);
		pthread_mutex_lock(&table.mutex);
		if (connection->arrived) {
			table.queue[(table.first + table.count++) % QUEUE] = connection->arrived;
			thrum_task_ready(connection->arrived->task);
			connection->arrived = NULL;
			pthread_cond_signal(&table.queued);
		}
		pthread_mutex_unlock(&table.mutex);
		connection_unlock(connection);
	}
}

static void *listener_run(void *data)
{
	(void)data;
	thrum_lane_name("listener");
	pthread_mutex_lock(&table.mutex);
	for (int number = 1;; number++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!has_arrived() && !table.stop)
			pthread_cond_wait(&table.arrived, &table.mutex);
		thrum_resume();
		if (table.stop)
			break;
		table.round = thrum_task_createf(THRUM_KIND_TASK, "poll round %d", number);
		table.is_round = true;
		for (int i = 0; i < CONNECTIONS; i++)
			if (connections[i].arrived)
				thrum_task_wait(connections[i].arrived->task, table.round);
		pthread_mutex_unlock(&table.mutex);
		THRUM_RUN (table.round) {
			poll_connections();
			pthread_mutex_lock(&table.mutex);
			table.is_round = false;
			thrum_task_resolve(table.round);
		}
	}
	pthread_mutex_unlock(&table.mutex);
	return NULL;
}

static void *worker_run(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "worker %d", *(int *)data);
	thrum_lane_name(name);
	pthread_mutex_lock(&table.mutex);
	for (;;) {
		struct operation *operation;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!table.count && !table.stop)
			pthread_cond_wait(&table.queued, &table.mutex);
		thrum_resume();
		if (!table.count)
			break;
		operation = table.queue[table.first];
		table.first = (table.first + 1) % QUEUE;
		table.count--;
		pthread_mutex_unlock(&table.mutex);
		THRUM_RUN (operation->task) {
			operation->run(operation->connection);
			thrum_task_resolve(operation->task);
		}
		pthread_mutex_lock(&table.mutex);
		operation->done = true;
		pthread_cond_broadcast(&table.done);
	}
	pthread_mutex_unlock(&table.mutex);
	return NULL;
}

/* ---- The clients ---------------------------------------------------------------------------- */

static void ask(struct connection *connection, const char *what, int *counter,
	void (*run)(struct connection *connection))
{
	struct operation operation = {.connection = connection, .run = run};

	pthread_mutex_lock(&table.mutex);
	operation.task = thrum_task_createf(THRUM_KIND_REQUEST, "%s %d", what, ++*counter);
	thrum_task_should_resolve(operation.task);
	if (table.is_round)
		thrum_task_wait(operation.task, table.round);
	connection->arrived = &operation;
	pthread_cond_signal(&table.arrived);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!operation.done)
		pthread_cond_wait(&table.done, &table.mutex);
	thrum_resume();
	pthread_mutex_unlock(&table.mutex);
}

static void *client_run(void *data)
{
	struct connection *connection = data;
	bool is_ldapi = connection == &connections[LDAPI];

	thrum_lane_name(connection->name);
	for (int i = 0; i < (is_ldapi ? BINDS : SEARCHES); i++) {
		if (is_ldapi)
			ask(connection, "autobind", &binds, bind_autobind);
		else
			ask(connection, "search", &searches, do_search);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(is_ldapi ? 40000 : 7000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t listener, workers[WORKERS], clients[CONNECTIONS];
	int numbers[WORKERS];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	for (int i = 0; i < CONNECTIONS; i++) {
		pthread_mutex_init(&connections[i].c_mutex, NULL);
		connections[i].lock = thrum_task_createf(THRUM_KIND_LOCK, "c_mutex of %s",
			connections[i].name);
	}
	if (pthread_create(&listener, NULL, listener_run, NULL))
		return 2;
	for (int i = 0; i < WORKERS; i++) {
		numbers[i] = i + 1;
		if (pthread_create(&workers[i], NULL, worker_run, &numbers[i]))
			return 2;
	}
	for (int i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&clients[i], NULL, client_run, &connections[i]))
			return 2;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&table.mutex);
	table.stop = true;
	pthread_cond_broadcast(&table.arrived);
	pthread_cond_broadcast(&table.queued);
	pthread_mutex_unlock(&table.mutex);
	pthread_join(listener, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	thrum_resume();
	thrum_stop();
	printf("%d searches, %d binds\n", searches, binds);
	return 0;
}
