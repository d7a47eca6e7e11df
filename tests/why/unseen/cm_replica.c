/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: the replica gives credits back in lumps of half a window. When the primary shrinks the window from 16 to
 *     6, the replica (change_window in run_replica) keeps its lump of 8: it has applied 6 records, gives no credit
 *     back and waits for more records, while the primary has no credit left to send any.
 *   culprit: run_replica|give_credits|change_window
 *   victim: ship_records|wait_for_credit|append_record
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small store with a replica: the primary sends records to another process, as far as that one gives it credit. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WRITERS = 2,
	APPENDS = 24,
	WINDOW = 16,
	SMALL_WINDOW = 6
};
enum {
	RECORD = 1,
	NEW_WINDOW = 2,
	LAST = 3
};

struct message {
	unsigned type;
	unsigned value;
};

static bool broken;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The replica's process ---- */

struct replica {
	int socket;
	unsigned lump;    /* credits that are given back at a time */
	unsigned applied; /* records since the last credits */
	unsigned long sum;
};

static void give_credits(struct replica *replica)
{
	if (replica->applied < replica->lump)
		return;
	if (write(replica->socket, &replica->applied, sizeof(replica->applied)) < 0)
		_exit(1);
	replica->applied = 0;
}

static void change_window(struct replica *replica, unsigned window)
{
	if (!broken)
		replica->lump = window / 2;
	printf("replica: window of %u\n", window);
	fflush(stdout);
}

static __attribute__((noinline)) void run_replica(int socket)
{
	struct replica replica = {socket, WINDOW / 2, 0, 0};
	struct message message;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(socket, &message, sizeof(message)) == sizeof(message)) {
		if (message.type == LAST)
			break;
		if (message.type == NEW_WINDOW) {
			change_window(&replica, message.value);
			give_credits(&replica);
			continue;
		}
		nap(2);
		replica.sum += message.value;
		replica.applied++;
		give_credits(&replica);
	}
}

/* ---- The primary ---- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_grew = PTHREAD_COND_INITIALIZER;
static pthread_cond_t log_shipped = PTHREAD_COND_INITIALIZER;
static unsigned record[WRITERS * APPENDS];
static unsigned appended, shipped;
static bool closing;

/* Adds a record to the log, and waits until it is on its way to the replica. */
static void append_record(unsigned value)
{
	unsigned position;

	pthread_mutex_lock(&log_lock);
	position = appended++;
	record[position] = value;
	pthread_cond_signal(&log_grew);
	while (shipped <= position)
		pthread_cond_wait(&log_shipped, &log_lock);
	pthread_mutex_unlock(&log_lock);
}

static void *run_writer(void *data)
{
	unsigned number = *(unsigned *)data;

	for (unsigned i = 0; i < APPENDS; i++) {
		append_record(number * 1000 + i);
		nap(12);
	}
	return NULL;
}

static bool send_message(int socket, unsigned type, unsigned value)
{
	struct message message = {type, value};

	return write(socket, &message, sizeof(message)) == sizeof(message);
}

static bool wait_for_credit(int socket, int *credit)
{
	while (*credit <= 0) {
		unsigned more;

		if (read(socket, &more, sizeof(more)) != sizeof(more))
			return false;
		*credit += (int)more;
	}
	return true;
}

static void *ship_records(void *data)
{
	int socket = *(int *)data;
	int credit = WINDOW;

	for (;;) {
		unsigned value, position;

		pthread_mutex_lock(&log_lock);
		while (shipped == appended && !closing)
			pthread_cond_wait(&log_grew, &log_lock);
		if (shipped == appended) {
			pthread_mutex_unlock(&log_lock);
			break;
		}
		position = shipped;
		value = record[position];
		pthread_mutex_unlock(&log_lock);

		/* The replica's machine runs short of memory. */
		if (position == WRITERS * APPENDS / 3) {
			send_message(socket, NEW_WINDOW, SMALL_WINDOW);
			credit -= WINDOW - SMALL_WINDOW;
		}
		if (!wait_for_credit(socket, &credit) || !send_message(socket, RECORD, value))
			break;
		credit--;
		pthread_mutex_lock(&log_lock);
		shipped++;
		pthread_cond_broadcast(&log_shipped);
		pthread_mutex_unlock(&log_lock);
	}
	send_message(socket, LAST, 0);
	return NULL;
}

/* Checks the log's memory now and then. */
static void *check_log(void *data)
{
	bool is_closing;

	do {
		nap(100);
		pthread_mutex_lock(&log_lock);
		printf("log: %u appended, %u shipped\n", appended, shipped);
		is_closing = closing;
		pthread_mutex_unlock(&log_lock);
		fflush(stdout);
	} while (!is_closing);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t writer[WRITERS], shipper, checker;
	unsigned number[WRITERS];
	int ends[2];
	pid_t child;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	child = fork();
	if (child == 0) {
		close(ends[0]);
		run_replica(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	pthread_create(&shipper, NULL, ship_records, &ends[0]);
	pthread_create(&checker, NULL, check_log, NULL);
	for (unsigned i = 0; i < WRITERS; i++) {
		number[i] = i + 1;
		pthread_create(&writer[i], NULL, run_writer, &number[i]);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	pthread_mutex_lock(&log_lock);
	closing = true;
	pthread_cond_signal(&log_grew);
	pthread_mutex_unlock(&log_lock);
	pthread_join(shipper, NULL);
	pthread_join(checker, NULL);
	waitpid(child, NULL, 0);
	printf("done: %u records\n", shipped);
	return 0;
}
