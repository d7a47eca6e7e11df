/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: check_replica compares versions as text, so it refuses the replica of version "10" as older than "9": "check
 *     replica" fails, all prices are asked of the primary, which is slow, and the requests take longer.
 *   culprit: (check|query) replica|check_replica
 *   victim: GET /price
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * A price server: an acceptor, three workers, and two databases behind socketpairs. Only requests, queries and the check
 * of the replica are recorded.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 3
#define CLIENTS 2
#define REQUESTS 6 /* of each client */

/* ---- Databases ------------------------------------------------------------------------------------------- */

struct database {
	const char *name, *version;
	unsigned reply_ms;
	int near, far;
	pthread_mutex_t mutex; /* one question at a time */
	pthread_t thread;
};

static struct database replica = {.name = "replica",
	.reply_ms = 3,
	.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct database primary = {.name = "primary",
	.version = "9",
	.reply_ms = 45,
	.mutex = PTHREAD_MUTEX_INITIALIZER};
static bool use_replica;

static void *database_run(void *data)
{
	struct database *database = data;
	char question[16], answer[16] = {0};

	pthread_setname_np(pthread_self(), database->name);
	while (read(database->far, question, sizeof(question)) == sizeof(question)) {
		if (!strcmp(question, "version")) {
			snprintf(answer, sizeof(answer), "%s", database->version);
		} else {
			usleep(database->reply_ms * 1000);
			snprintf(answer, sizeof(answer), "%d", atoi(question) * 3 + 1);
		}
		if (write(database->far, answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	return NULL;
}

static void database_start(struct database *database)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	database->near = ends[0];
	database->far = ends[1];
	if (pthread_create(&database->thread, NULL, database_run, database))
		abort();
}

static void database_ask(struct database *database, const char *question, char answer[16])
{
	char message[16] = {0};

	snprintf(message, sizeof(message), "%s", question);
	pthread_mutex_lock(&database->mutex);
	if (write(database->near, message, 16) != 16 || read(database->near, answer, 16) != 16)
		abort();
	pthread_mutex_unlock(&database->mutex);
}

static void database_stop(struct database *database)
{
	close(database->near);
	pthread_join(database->thread, NULL);
	close(database->far);
}

static __attribute__((noinline)) void check_replica(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "check replica");
	char ours[16], its[16];

	thrum_task_should_resolve(task);
	database_ask(&primary, "version", ours);
	database_ask(&replica, "version", its);
	if (strcmp(its, ours) < 0) {
		thrum_task_fail(task, "older than the primary");
		return;
	}
	use_replica = true;
	thrum_task_resolve(task);
}

/* ---- Workers ------------------------------------------------------------------------------------------------ */

struct request {
	struct request *next;
	int client, number;
	thrum_task task;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct request *queue, **queue_end = &queue;
static bool closing;

static __attribute__((noinline)) void serve(struct request *request)
{
	struct database *database = use_replica ? &replica : &primary;
	thrum_task query;
	char question[16], answer[16];

	query = thrum_task_createf(THRUM_KIND_REQUEST, "query %s", database->name);
	thrum_task_should_resolve(query);
	snprintf(question, sizeof(question), "%d", request->number);
	database_ask(database, question, answer);
	thrum_task_resolve(query);
	if (write(request->client, answer, sizeof(answer)) == sizeof(answer))
		thrum_task_resolve(request->task);
	else
		thrum_task_fail(request->task, "write");
}

static void *worker(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&queue_mutex);
	for (;;) {
		struct request *request;

		while (!queue && !closing)
			pthread_cond_wait(&queue_changed, &queue_mutex);
		request = queue;
		if (!request)
			break;
		queue = request->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&queue_mutex);
		serve(request);
		free(request);
		pthread_mutex_lock(&queue_mutex);
	}
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

/* Reads the requests of one client. */
static void *acceptor(void *data)
{
	int client = *(int *)data;
	char line[16];

	pthread_setname_np(pthread_self(), "acceptor");
	while (read(client, line, sizeof(line)) == sizeof(line)) {
		struct request *request = calloc(1, sizeof(*request));

		request->client = client;
		request->number = atoi(line);
		request->task = thrum_task_createf(THRUM_KIND_TASK, "GET /price/%d",
			request->number);
		thrum_task_should_resolve(request->task);
		pthread_mutex_lock(&queue_mutex);
		*queue_end = request;
		queue_end = &request->next;
		pthread_cond_signal(&queue_changed);
		pthread_mutex_unlock(&queue_mutex);
	}
	return NULL;
}

/* ---- Clients ------------------------------------------------------------------------------------------------- */

static void *client(void *data)
{
	int server = *(int *)data;
	char message[16] = {0}, reply[16];

	pthread_setname_np(pthread_self(), "client");
	for (int i = 0; i < REQUESTS; i++) {
		snprintf(message, sizeof(message), "%d", 10 + i);
		if (write(server, message, 16) != 16 || read(server, reply, 16) != 16)
			abort();
		usleep(8000);
	}
	close(server);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], acceptors[CLIENTS], clients[CLIENTS];
	int ends[CLIENTS][2];

	if (thrum_start(NULL))
		return 2;
	replica.version = argc > 1 && !strcmp(argv[1], "broken") ? "10"
								 : "9"; /* it was updated first */
	database_start(&primary);
	database_start(&replica);
	check_replica();
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			return 2;
		pthread_create(&acceptors[i], NULL, acceptor, &ends[i][1]);
		pthread_create(&clients[i], NULL, client, &ends[i][0]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i], NULL);
		pthread_join(acceptors[i], NULL);
		close(ends[i][1]);
	}
	pthread_mutex_lock(&queue_mutex);
	closing = true;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	database_stop(&replica);
	database_stop(&primary);
	return 0;
}
