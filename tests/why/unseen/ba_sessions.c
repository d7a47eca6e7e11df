/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: session_key names a session by the connection's own port, which differs each time, so
 *     find_session never finds one, and every connection makes a full handshake instead of "resume session"
 *   culprit: full handshake|resume session
 *   victim: fetch \d+|fetch #|send
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Fetches feeds over encrypted connections, with a cache of sessions that shortens the handshake. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define HOSTS 4
#define FETCHES 48
#define WORKERS 2
#define SESSIONS 16

enum step {
	HELLO,
	RESUME,
	SEND
};

struct message {
	enum step step;
	unsigned number;
};

struct session {
	char key[48];
	unsigned secret;
};

struct cache {
	pthread_mutex_t mutex;
	struct session sessions[SESSIONS];
	unsigned count, next;
	bool per_host;
};

struct connection {
	char host[24];
	unsigned port; /* our own */
	int socket, peer;
	pthread_t server;
};

struct fetcher {
	pthread_mutex_t mutex;
	struct cache cache;
	unsigned next, ports;
};

/* The server at the other end of one connection. */
static void *serve(void *data)
{
	static const unsigned costs_us[] = {[HELLO] = 3000, [RESUME] = 500, [SEND] = 1500};
	struct connection *connection = data;
	struct message message;

	while (read(connection->peer, &message, sizeof(message)) == sizeof(message)) {
		usleep(costs_us[message.step]);
		message.number++;
		if (write(connection->peer, &message, sizeof(message)) != sizeof(message))
			break;
	}
	close(connection->peer);
	return NULL;
}

static int dial(struct connection *connection, const char *host, unsigned port)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	snprintf(connection->host, sizeof(connection->host), "%s", host);
	connection->port = port;
	connection->socket = ends[0];
	connection->peer = ends[1];
	return pthread_create(&connection->server, NULL, serve, connection) ? -1 : 0;
}

static void hang_up(struct connection *connection)
{
	close(connection->socket);
	pthread_join(connection->server, NULL);
}

/* Sends a message and waits for the answer. */
static bool exchange(struct connection *connection, const char *label, enum step step,
	unsigned number)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, label);
	struct message message = {.step = step, .number = number};
	bool is_good;

	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	is_good = write(connection->socket, &message, sizeof(message)) == sizeof(message) &&
		read(connection->socket, &message, sizeof(message)) == sizeof(message) &&
		message.number == number + 1;
	thrum_resume();
	if (is_good)
		thrum_task_resolve(request);
	else
		thrum_task_fail(request, "connection lost");
	thrum_task_read(thrum_task_current(), request);
	return is_good;
}

static void session_key(const struct cache *cache, const struct connection *connection, char *key,
	size_t size)
{
	if (cache->per_host)
		snprintf(key, size, "%s", connection->host);
	else
		snprintf(key, size, "%s:%u", connection->host, connection->port);
}

static bool find_session(struct cache *cache, const char *key, unsigned *secret)
{
	bool found = false;

	pthread_mutex_lock(&cache->mutex);
	for (unsigned i = 0; i < cache->count && !found; i++)
		if (strcmp(cache->sessions[i].key, key) == 0) {
			*secret = cache->sessions[i].secret;
			found = true;
		}
	pthread_mutex_unlock(&cache->mutex);
	return found;
}

static void keep_session(struct cache *cache, const char *key, unsigned secret)
{
	struct session *session;

	pthread_mutex_lock(&cache->mutex);
	session = &cache->sessions[cache->next++ % SESSIONS];
	snprintf(session->key, sizeof(session->key), "%s", key);
	session->secret = secret;
	if (cache->count < SESSIONS)
		cache->count++;
	pthread_mutex_unlock(&cache->mutex);
}

static bool handshake(struct cache *cache, struct connection *connection)
{
	char key[48];
	unsigned secret;

	session_key(cache, connection, key, sizeof(key));
	if (find_session(cache, key, &secret))
		return exchange(connection, "resume session", RESUME, secret);
	if (!exchange(connection, "full handshake", HELLO, connection->port))
		return false;
	keep_session(cache, key, connection->port * 2654435761u);
	return true;
}

static bool fetch_feed(struct fetcher *fetcher, unsigned number, unsigned port)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "fetch %u", number);
	struct connection connection;
	char host[24];
	bool is_good = false;

	snprintf(host, sizeof(host), "feeds%u.example", number % HOSTS);
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (dial(&connection, host, port)) {
			thrum_task_fail(task, "dial");
			break;
		}
		is_good = handshake(&fetcher->cache, &connection) &&
			exchange(&connection, "send", SEND, number);
		hang_up(&connection);
		if (is_good)
			thrum_task_resolve(task);
		else
			thrum_task_fail(task, "fetch");
	}
	return is_good;
}

static void *run_worker(void *data)
{
	struct fetcher *fetcher = data;
	unsigned number, port;

	thrum_lane_name("worker");
	for (;;) {
		pthread_mutex_lock(&fetcher->mutex);
		number = fetcher->next++;
		port = fetcher->ports++;
		pthread_mutex_unlock(&fetcher->mutex);
		if (number >= FETCHES)
			return NULL;
		if (!fetch_feed(fetcher, number, port))
			fprintf(stderr, "fetch %u failed\n", number);
	}
}

int main(int argc, char **argv)
{
	static struct fetcher fetcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ports = 40000};
	pthread_t workers[WORKERS];

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	pthread_mutex_init(&fetcher.cache.mutex, NULL);
	fetcher.cache.per_host = strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_worker, &fetcher);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	thrum_stop();
	printf("%u sessions\n", fetcher.cache.count);
	return 0;
}
