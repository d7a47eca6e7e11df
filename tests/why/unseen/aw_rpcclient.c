/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The request ids have 4 bits. connection_next_id doesn't look whether an id is still in use: the
 *     16th call after "watch jobs" gets the id of the watch, takes its place in the table of calls, and
 *     clears it. When the answer to the watch comes, the reader finds no call for it and drops it, so the
 *     watch waits for ever.
 *   culprit: no call for|drops? the reply|connection_next_id|get 16\b
 *   victim: watch|keeper|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of a job server: calls with ids over one connection, answers in any order. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define IDS 16
#define WORKERS 2
#define GETS 20

enum operation {
	GET = 1,
	WATCH,
	BYE
};

struct message {
	uint8_t operation;
	uint8_t id;
	uint16_t key;
};

struct call {
	thrum_task task; /* the request */
	pthread_cond_t answered;
	int done;
	uint16_t result;
};

struct connection {
	pthread_mutex_t mutex;
	int socket;
	thrum_task handle;
	struct call *calls[IDS];
	unsigned last_id, sent, dropped;
	int check_ids;
};

struct worker {
	pthread_t thread;
	struct connection *connection;
	int number;
	unsigned long sum;
};

static void pause_us(long us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&(struct timespec){0, us * 1000}, NULL);
	thrum_resume();
}

/* The caller holds the mutex. Never are all ids in use. */
static unsigned connection_next_id(struct connection *connection)
{
	do {
		connection->last_id = (connection->last_id + 1) % IDS;
	} while (connection->check_ids && connection->calls[connection->last_id]);
	return connection->last_id;
}

/* Sends a request and blocks until its answer is there. */
static uint16_t connection_call(struct connection *connection, enum operation operation,
	uint16_t key)
{
	struct call call = {.answered = PTHREAD_COND_INITIALIZER};
	struct message message = {.operation = operation, .key = key};

	pthread_mutex_lock(&connection->mutex);
	message.id = connection_next_id(connection);
	if (operation == WATCH)
		call.task = thrum_task_create(THRUM_KIND_REQUEST, "watch jobs");
	else
		call.task = thrum_task_createf(THRUM_KIND_REQUEST, "get %u", connection->sent);
	connection->sent++;
	thrum_task_should_resolve(call.task);
	thrum_task_wait(call.task, connection->handle);
	connection->calls[message.id] = &call;
	if (write(connection->socket, &message, sizeof(message)) != sizeof(message))
		call.done = 1;
	while (!call.done) {
		thrum_task_wait(thrum_task_current(), call.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&call.answered, &connection->mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), call.task);
	pthread_mutex_unlock(&connection->mutex);
	pthread_cond_destroy(&call.answered);
	return call.result;
}

static void on_reply(struct connection *connection, const struct message *message)
{
	struct call *call;

	pthread_mutex_lock(&connection->mutex);
	call = connection->calls[message->id % IDS];
	if (!call) {
		thrum_logf("no call for id %u, drops the reply", message->id);
		connection->dropped++;
		pthread_mutex_unlock(&connection->mutex);
		return;
	}
	connection->calls[message->id % IDS] = NULL;
	THRUM_RUN (call->task) {
		thrum_task_read(call->task, connection->handle);
		call->result = message->key;
		call->done = 1;
		thrum_task_resolve(call->task);
	}
	pthread_cond_signal(&call->answered);
	pthread_mutex_unlock(&connection->mutex);
}

static void *reader_run(void *data)
{
	struct connection *connection = data;
	struct message message;
	ssize_t size;

	thrum_lane_name("reader");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(connection->socket, &message, sizeof(message));
		thrum_resume();
		if (size != sizeof(message) || message.operation == BYE)
			return NULL;
		on_reply(connection, &message);
	}
}

static void *worker_run(void *data)
{
	struct worker *worker = data;
	char name[16];

	snprintf(name, sizeof(name), "worker %d", worker->number);
	thrum_lane_name(name);
	for (int i = 0; i < GETS; i++) {
		worker->sum += connection_call(worker->connection, GET, worker->number * 100 + i);
		pause_us(1000 + worker->number * 300);
	}
	return NULL;
}

/* Is told when there is a new job. */
static void *keeper_run(void *data)
{
	struct worker *keeper = data;

	thrum_lane_name("keeper");
	keeper->sum = connection_call(keeper->connection, WATCH, 7);
	return NULL;
}

/* The server. A new job comes after 24 gets; then the watch is answered. Knows nothing of thrum. */
static void *server_run(void *data)
{
	int socket = *(int *)data;
	struct message message, watch = {0};
	int gets = 0;

	while (read(socket, &message, sizeof(message)) == sizeof(message)) {
		if (message.operation == WATCH) {
			watch = message;
			continue;
		}
		if (message.operation == GET)
			nanosleep(&(struct timespec){0, 500000}, NULL);
		if (write(socket, &message, sizeof(message)) < 0 || message.operation == BYE)
			break;
		if (++gets == 24 && write(socket, &watch, sizeof(watch)) < 0)
			break;
	}
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct connection connection = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct worker workers[WORKERS], keeper = {.connection = &connection};
	struct message bye = {.operation = BYE};
	pthread_t reader, server;
	int ends[2];

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	thrum_start(NULL);
	connection.socket = ends[0];
	connection.check_ids = strcmp(argv[1], "broken") != 0;
	connection.handle = thrum_task_create(THRUM_KIND_HANDLE, "job server");
	pthread_create(&server, NULL, server_run, &ends[1]);
	pthread_create(&reader, NULL, reader_run, &connection);
	pthread_create(&keeper.thread, NULL, keeper_run, &keeper);
	pause_us(5000);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.connection = &connection, .number = i + 1};
		pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(keeper.thread, NULL);
	if (write(connection.socket, &bye, sizeof(bye)) != sizeof(bye))
		return 1;
	pthread_join(reader, NULL);
	pthread_join(server, NULL);
	thrum_resume();
	thrum_task_resolve(connection.handle);
	thrum_stop();
	close(connection.socket);
	printf("%u calls, %u replies dropped, job %lu\n", connection.sent, connection.dropped,
		keeper.sum);
	return connection.dropped != 0;
}
