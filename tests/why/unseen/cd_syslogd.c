/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: rsyslog pull request #5105 ("using $uuid msg prop can deadlock rsyslog on shutdown"): as the queue isn't
 *     empty in time, cancel_workers cancels the workers. One is in msg_set_uuid, where it holds uuid_mutex and waits
 *     for the uuid daemon's answer: it ends there and never unlocks uuid_mutex. The other workers wait for
 *     uuid_mutex, and as that is no point of cancellation they never end; main waits in a join for them.
 *   culprit: uuid_mutex|msg_set_uuid
 *   victim: main\b|join_workers
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A log daemon: an input puts messages into a queue, and three workers write them, each with a number that is unique
 * in the world, for which they ask another daemon. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define QUEUE 64

struct message {
	int number;
	char uuid[37];
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty, worker_left;
	struct message messages[QUEUE];
	int head, tail;
	int workers;
	bool stopping;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.worker_left = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t uuid_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t workers[WORKERS];
static int uuidd[2]; /* our end and the daemon's */
static int log_file;
static bool fixed;
static atomic_int written;

/* ---- the uuid daemon ---- */

static void *uuid_daemon(void *data)
{
	char request, uuid[37];
	int count = 0;

	(void)data;
	while (read(uuidd[1], &request, 1) == 1) {
		usleep(++count <= 60 ? 2000 : 600000); /* then its clock is being set */
		snprintf(uuid, sizeof(uuid), "%08x-0000-4000-8000-%012x", count, count * 7919);
		if (write(uuidd[1], uuid, 36) != 36)
			break;
	}
	return NULL;
}

/* ---- workers ---- */

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void uuid_generate(char *uuid)
{
	if (write(uuidd[0], "?", 1) != 1 || read(uuidd[0], uuid, 36) != 36)
		exit(1);
}

static void msg_set_uuid(struct message *message)
{
	pthread_mutex_lock(&uuid_mutex);
	if (fixed) {
		pthread_cleanup_push(unlock, &uuid_mutex);
		uuid_generate(message->uuid);
		pthread_cleanup_pop(0);
	} else {
		uuid_generate(message->uuid);
	}
	pthread_mutex_unlock(&uuid_mutex);
}

static void write_message(struct message *message)
{
	char line[80];
	int size;

	msg_set_uuid(message);
	size = snprintf(line, sizeof(line), "%d %.36s\n", message->number, message->uuid);
	if (write(log_file, line, (size_t)size) == size)
		written++;
}

static void worker_left(void *data)
{
	(void)data;
	pthread_mutex_lock(&queue.mutex);
	queue.workers--;
	pthread_cond_signal(&queue.worker_left);
	pthread_mutex_unlock(&queue.mutex);
}

static bool next_message(struct message *message)
{
	bool any;

	pthread_mutex_lock(&queue.mutex);
	pthread_cleanup_push(unlock, &queue.mutex);
	while (queue.head == queue.tail && !queue.stopping)
		pthread_cond_wait(&queue.not_empty, &queue.mutex);
	any = queue.head != queue.tail;
	if (any)
		*message = queue.messages[queue.head++ % QUEUE];
	pthread_cleanup_pop(1);
	return any;
}

static void *worker(void *data)
{
	struct message message;

	(void)data;
	pthread_cleanup_push(worker_left, NULL);
	while (next_message(&message))
		write_message(&message);
	pthread_cleanup_pop(1);
	return NULL;
}

/* ---- start, input, shutdown ---- */

static void start_workers(void)
{
	char name[16];
	int i;

	queue.workers = WORKERS;
	for (i = 0; i < WORKERS; i++) {
		if (pthread_create(&workers[i], NULL, worker, NULL))
			exit(1);
		snprintf(name, sizeof(name), "main Q:Reg/w%d", i);
		pthread_setname_np(workers[i], name);
	}
}

static void enqueue(int number)
{
	pthread_mutex_lock(&queue.mutex);
	if (queue.tail - queue.head < QUEUE) {
		memset(&queue.messages[queue.tail % QUEUE], 0, sizeof(struct message));
		queue.messages[queue.tail++ % QUEUE].number = number;
		pthread_cond_signal(&queue.not_empty);
	}
	pthread_mutex_unlock(&queue.mutex);
}

/* Lets the workers empty the queue, for at most 300 ms. */
static bool wait_workers(void)
{
	struct timespec until;
	int left;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 300000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&queue.mutex);
	queue.stopping = true;
	pthread_cond_broadcast(&queue.not_empty);
	while (queue.workers && !pthread_cond_timedwait(&queue.worker_left, &queue.mutex, &until))
		continue;
	left = queue.workers;
	pthread_mutex_unlock(&queue.mutex);
	return !left;
}

static void cancel_workers(void)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		pthread_cancel(workers[i]);
}

static void join_workers(void)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i;

	signal(SIGPIPE, SIG_IGN);
	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	log_file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (log_file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, uuidd))
		return 1;
	if (pthread_create(&thread, NULL, uuid_daemon, NULL))
		return 1;
	pthread_setname_np(thread, "uuidd");
	start_workers();
	for (i = 0; i < 90; i++) {
		enqueue(i);
		usleep(8000);
	}
	if (!wait_workers())
		cancel_workers();
	join_workers();
	shutdown(uuidd[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("%d messages written\n", written);
	return 0;
}
