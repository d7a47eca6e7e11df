/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=GET
 *   truth: log_request looks up the peer's name (resolve_peer, a reverse lookup of 50 to 70 ms for each new
 *     peer) while it holds the lock of the access log: requests of all other threads queue for the lock
 *     meanwhile
 *   culprit: reverse lookup|resolve_peer|ask_name
 *   victim: access log|GET
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A web server with a few threads. Each request is logged with the name of its peer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	THREADS = 4,
	REQUESTS = 25,
	PEERS = 16,
	FIRST_PEERS = 3
};

THRUM_TAG(from_disk, NULL, "read the file", 0);

struct access_log {
	pthread_mutex_t mutex;
	thrum_task task;
	long lines, bytes;
};

struct peers {
	pthread_mutex_t mutex;
	char names[PEERS][24];
};

static struct access_log access_log = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct peers peers = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static bool names_first;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void log_lock(struct access_log *log)
{
	if (pthread_mutex_trylock(&log->mutex)) {
		thrum_task_wait(thrum_task_current(), log->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&log->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(log->task);
}

static void log_unlock(struct access_log *log)
{
	thrum_lock_released(log->task);
	pthread_mutex_unlock(&log->mutex);
}

/* Asks the name server for the name of an address. */
static void ask_name(int peer, char *name, size_t size)
{
	thrum_task question = thrum_task_createf(THRUM_KIND_REQUEST, "reverse lookup of peer %d",
		peer);

	thrum_task_wait(thrum_task_current(), question);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	pause_ms(50 + peer % 3 * 10);
	thrum_resume();
	snprintf(name, size, "host%d.example.org", peer);
	thrum_task_resolve(question);
	thrum_task_read(thrum_task_current(), question);
}

/* Copies the peer's name, from the cache if it is there. */
static void resolve_peer(int peer, char *name, size_t size)
{
	bool known;

	pthread_mutex_lock(&peers.mutex);
	known = peers.names[peer][0] != '\0';
	snprintf(name, size, "%s", peers.names[peer]);
	pthread_mutex_unlock(&peers.mutex);
	if (known)
		return;
	ask_name(peer, name, size);
	pthread_mutex_lock(&peers.mutex);
	snprintf(peers.names[peer], sizeof(peers.names[peer]), "%s", name);
	pthread_mutex_unlock(&peers.mutex);
}

static void log_request(int number, int peer, long bytes)
{
	char name[24], line[80];

	if (names_first)
		resolve_peer(peer, name, sizeof(name));
	log_lock(&access_log);
	if (!names_first)
		resolve_peer(peer, name, sizeof(name));
	access_log.bytes += snprintf(line, sizeof(line), "%s GET /%d %ld\n", name, number, bytes);
	access_log.lines++;
	log_unlock(&access_log);
}

static long send_file(int number)
{
	thrum_suspend(&from_disk);
	pause_ms(1 + number % 3);
	thrum_resume();
	return 1000 + number;
}

/* Most requests come from peers that are known, and some from new ones. */
static int peer_of(int thread, int i)
{
	if (i % 7 == 4)
		return FIRST_PEERS + (thread + i / 7 * THREADS) % (PEERS - FIRST_PEERS);
	return i % FIRST_PEERS;
}

static void *serve(void *data)
{
	int thread = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "server %d", thread);
	thrum_lane_name(name);
	for (int i = 0; i < REQUESTS; i++) {
		int number = i * THREADS + thread;
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "GET %d", number);

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			long bytes = send_file(number);

			log_request(number, peer_of(thread, i), bytes);
			thrum_task_resolve(task);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_ms(4);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	names_first = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	access_log.task = thrum_task_create(THRUM_KIND_LOCK, "access log");
	for (int i = 0; i < FIRST_PEERS; i++)
		snprintf(peers.names[i], sizeof(peers.names[i]), "proxy%d.example.org", i);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)i);
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	thrum_stop();
	printf("%ld lines, %ld bytes\n", access_log.lines, access_log.bytes);
	return access_log.lines == THREADS * REQUESTS ? 0 : 1;
}
