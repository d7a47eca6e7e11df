/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: evthread_use_pthreads is not called before the base is made, so event_active, which the scalers
 *     call in job_done, does not wake the loop; on_job_done never runs, no client gets a reply
 *   culprit: job_done|event_active|evthread_use_pthreads
 *   victim: client|main|request_image
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server that scales images: libevent for the sockets, threads for the work. */
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 3
#define SCALERS 2
#define IMAGES 8

struct job {
	struct job *next;
	struct connection *connection;
	int width;
	long checksum;
	struct event *done;
};

struct connection {
	int fd;
	struct event *readable;
};

/* Jobs for the scalers. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct job *first, **last;
	bool closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first, false};

static struct event_base *base;
static int open_connections;
static unsigned scaled;

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static void queue_push(struct job *job)
{
	pthread_mutex_lock(&queue.mutex);
	job->next = NULL;
	*queue.last = job;
	queue.last = &job->next;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

static struct job *queue_pop(void)
{
	struct job *job;

	pthread_mutex_lock(&queue.mutex);
	while (!queue.first && !queue.closed)
		pthread_cond_wait(&queue.filled, &queue.mutex);
	job = queue.first;
	if (job) {
		queue.first = job->next;
		if (!queue.first)
			queue.last = &queue.first;
	}
	pthread_mutex_unlock(&queue.mutex);
	return job;
}

static void scale(struct job *job)
{
	nap_ms(3 + job->width % 5);
	for (int i = 0; i < job->width * 100; i++)
		job->checksum = job->checksum * 31 + i;
}

/* Called by a scaler: the reply is written by the loop. */
static void job_done(struct job *job)
{
	event_active(job->done, EV_READ, 1);
}

static void *scaler(void *data)
{
	struct job *job;
	char name[16];

	snprintf(name, sizeof(name), "scaler-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	while ((job = queue_pop())) {
		scale(job);
		job_done(job);
	}
	return NULL;
}

static void on_job_done(evutil_socket_t fd, short what, void *data)
{
	struct job *job = data;

	(void)fd;
	(void)what;
	scaled++;
	if (write(job->connection->fd, &job->checksum, sizeof(job->checksum)) !=
		sizeof(job->checksum))
		perror("reply");
	event_free(job->done);
	free(job);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct connection *connection = data;
	struct job *job;
	int width;

	(void)what;
	if (read(fd, &width, sizeof(width)) != sizeof(width)) {
		event_free(connection->readable);
		close(fd);
		if (!--open_connections)
			event_base_loopexit(base, NULL);
		return;
	}
	job = calloc(1, sizeof(*job));
	if (!job)
		abort();
	job->connection = connection;
	job->width = width;
	job->done = event_new(base, -1, 0, on_job_done, job);
	queue_push(job);
}

static long request_image(int fd, int width)
{
	long checksum;

	if (write(fd, &width, sizeof(width)) != sizeof(width) ||
		read(fd, &checksum, sizeof(checksum)) != sizeof(checksum))
		abort();
	return checksum;
}

static void *client(void *data)
{
	int fd = (int)(long)data;

	pthread_setname_np(pthread_self(), "client");
	for (int i = 0; i < IMAGES; i++) {
		request_image(fd, 100 + 20 * i + fd);
		nap_ms(2);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct connection connections[CLIENTS];
	pthread_t clients[CLIENTS], scalers[SCALERS];

	if (argc > 1 && !strcmp(argv[1], "healthy"))
		evthread_use_pthreads();
	base = event_base_new();
	if (!base)
		return 1;
	for (long i = 0; i < SCALERS; i++)
		pthread_create(&scalers[i], NULL, scaler, (void *)(i + 1));
	for (int i = 0; i < CLIENTS; i++) {
		struct connection *connection = &connections[i];
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			return 1;
		connection->fd = ends[0];
		connection->readable = event_new(base, ends[0], EV_READ | EV_PERSIST, on_readable,
			connection);
		event_add(connection->readable, NULL);
		open_connections++;
		pthread_create(&clients[i], NULL, client, (void *)(long)ends[1]);
	}
	event_base_dispatch(base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&queue.mutex);
	queue.closed = true;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
	for (int i = 0; i < SCALERS; i++)
		pthread_join(scalers[i], NULL);
	event_base_free(base);
	printf("%u images\n", scaled);
	return scaled != CLIENTS * IMAGES;
}
