/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The helper closes the spool file of a long record in quarantine() and once more in store_record().
 *     By then the number is that of another client's batch timer, which is gone and never fires.
 *   culprit: store_record|quarantine
 *   victim: put_record|run_client|arm_batch|timerfd
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This server stores records of its clients. It acknowledges those of 60 ms at once; a helper writes them. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	CLIENTS = 2,
	ROUNDS = 3,
	BATCH_MS = 60,
	LONGEST = 48
};

struct connection {
	int number, fd, batch_timer, unacknowledged;
	bool open;
};

struct record {
	struct record *next;
	char text[128];
};

static struct connection connections[CLIENTS];
static int epoll_fd, ends[CLIENTS];
static bool close_twice, stopping;
static long stored, quarantined;
static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t records_ready = PTHREAD_COND_INITIALIZER;
static struct record *records, **records_end = &records;

/* The administrator gets a note of each record that can't be stored. */
static void quarantine(int spool, const struct record *record)
{
	if (write(spool, record->text, 16) == 16)
		quarantined++;
	close(spool);
	usleep(45000);
}

static void store_record(const struct record *record)
{
	int spool = memfd_create("spool", MFD_CLOEXEC);
	size_t size = strlen(record->text);

	if (size > LONGEST) {
		quarantine(spool, record);
		if (close_twice)
			goto out;
		return;
	}
	if (write(spool, record->text, size) == (ssize_t)size)
		stored++;
out:
	close(spool);
}

static void *run_helper(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&records_lock);
		while (!records && !stopping)
			pthread_cond_wait(&records_ready, &records_lock);
		struct record *record = records;
		if (record && !(records = record->next))
			records_end = &records;
		pthread_mutex_unlock(&records_lock);
		if (!record)
			return NULL;
		store_record(record);
		free(record);
	}
}

static void watch(int fd, unsigned tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		abort();
}

static void arm_batch(struct connection *connection)
{
	struct itimerspec due = {.it_value.tv_nsec = BATCH_MS * 1000000L};

	connection->batch_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(connection->batch_timer, 0, &due, NULL);
	watch(connection->batch_timer, (unsigned)connection->number + CLIENTS);
}

static void acknowledge_batch(struct connection *connection)
{
	char answer[32];
	int size = snprintf(answer, sizeof(answer), "OK %d\n", connection->unacknowledged);

	close(connection->batch_timer);
	connection->batch_timer = -1;
	connection->unacknowledged = 0;
	if (write(connection->fd, answer, (size_t)size) != size)
		abort();
}

static void take_record(struct connection *connection)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record || read(connection->fd, record->text, sizeof(record->text) - 1) <= 0) {
		connection->open = false;
		close(connection->fd);
		free(record);
		return;
	}
	if (!connection->unacknowledged++)
		arm_batch(connection);
	pthread_mutex_lock(&records_lock);
	*records_end = record;
	records_end = &record->next;
	pthread_cond_signal(&records_ready);
	pthread_mutex_unlock(&records_lock);
}

static void put_record(int fd, const char *text)
{
	char answer[32];

	if (write(fd, text, strlen(text)) < 0 || read(fd, answer, sizeof(answer)) <= 0)
		abort();
}

static void *run_client(void *argument)
{
	int number = (int)(long)argument;
	char text[100] = "temperature 21.5";

	usleep(number ? 15000 : 0);
	for (int i = 0; i < ROUNDS; i++) {
		/* The first client begins with a record that is too long. */
		memset(text + 16, !number && !i ? '0' : 0, 70);
		put_record(ends[number], text);
	}
	close(ends[number]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t helper, clients[CLIENTS];

	close_twice = argc > 1 && !strcmp(argv[1], "broken");
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		connections[i] = (struct connection){i, pair[0], -1, 0, true};
		ends[i] = pair[1];
		watch(pair[0], (unsigned)i);
	}
	pthread_create(&helper, NULL, run_helper, NULL);
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, run_client, (void *)i);
	while (connections[0].open || connections[1].open) {
		struct epoll_event event;
		if (epoll_wait(epoll_fd, &event, 1, -1) < 1)
			continue;
		if (event.data.u32 < CLIENTS)
			take_record(&connections[event.data.u32]);
		else
			acknowledge_batch(&connections[event.data.u32 - CLIENTS]);
	}
	pthread_mutex_lock(&records_lock);
	stopping = true;
	pthread_cond_signal(&records_ready);
	pthread_mutex_unlock(&records_lock);
	pthread_join(helper, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	printf("%ld records are stored, %ld quarantined\n", stored, quarantined);
	return 0;
}
