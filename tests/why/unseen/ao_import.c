/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: diff healthy
 *   truth: the file comes from a system that fills names with blanks. customer_find looks into its cache
 *     with the name as it is, but keeps answers under the name as the server writes it; so each row asks the
 *     server again: one "look up customer" a row.
 *   culprit: look up customer
 *   victim: write
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A tool that imports orders: rows name customers, whose numbers it asks of a server (a thread) and keeps in a cache. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define NAME 16
#define CACHE 16
#define BATCH 4

struct row {
	char customer[NAME];
	int amount;
	int customer_number;
};

struct answer {
	char name[NAME];
	int number;
};

static const char *const exported[] = {"ada 10", "ben 5", "ada 7", "cleo 12", "ben 3", "ada 1",
	"cleo 4", "cleo 9", "ben 8", "ada 2", "ada 6", "ben 11", "cleo 13", "ada 14", "ben 15",
	"cleo 16", NULL};
static const char *const padded[] = {"ada      10", "ben      5", "ada      7", "cleo     12",
	"ben      3", "ada      1", "cleo     4", "cleo     9", "ben      8", "ada      2",
	"ada      6", "ben      11", "cleo     13", "ada      14", "ben      15", "cleo     16",
	NULL};

static struct answer cache[CACHE];
static int cached;
static int ends[2];
static int total[8];

THRUM_TAG(write_batch, NULL, "write", 0);

/* The server of customers: trims names, as people type them. */
static void *customers(void *data)
{
	static const char *const names[] = {"ada", "ben", "cleo"};
	static const struct timespec work = {0, 12000000};
	struct answer answer;

	while (read(ends[1], &answer, sizeof(answer)) == sizeof(answer)) {
		answer.name[strcspn(answer.name, " ")] = '\0';
		answer.number = 0;
		for (int i = 0; i < 3; i++)
			if (!strcmp(names[i], answer.name))
				answer.number = i + 1;
		nanosleep(&work, NULL);
		if (write(ends[1], &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	return data;
}

/* Asks the server, and waits for the answer. */
static __attribute__((noinline)) struct answer customer_look_up(const char *name)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "look up customer");
	struct answer answer = {.number = 0};

	thrum_task_should_resolve(request);
	snprintf(answer.name, sizeof(answer.name), "%s", name);
	thrum_task_wait(thrum_task_current(), request);
	if (write(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		exit(1);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		exit(1);
	thrum_resume();
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
	return answer;
}

static __attribute__((noinline)) int customer_find(const char *name)
{
	for (int i = 0; i < cached; i++)
		if (!strcmp(cache[i].name, name))
			return cache[i].number;

	struct answer answer = customer_look_up(name);

	if (cached < CACHE)
		cache[cached++] = answer;
	return answer.number;
}

/* A row is a name and an amount, with a blank or more between them; a fixed field for the name if there are more. */
static __attribute__((noinline)) struct row row_parse(const char *line)
{
	const char *amount = strrchr(line, ' ') + 1;
	struct row row = {.amount = atoi(amount)};

	snprintf(row.customer, sizeof(row.customer), "%.*s", (int)(amount - line - 1), line);
	return row;
}

static __attribute__((noinline)) void batch_write(const struct row *rows, int count, int number)
{
	static const struct timespec work = {0, 4000000};
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "write %d", number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		thrum_suspend(&write_batch);
		nanosleep(&work, NULL);
		thrum_resume();
		for (int i = 0; i < count; i++)
			total[rows[i].customer_number] += rows[i].amount;
		thrum_task_resolve(task);
	}
}

static __attribute__((noinline)) void import(const char *const *lines)
{
	struct row batch[BATCH];
	int count = 0, batches = 0;

	for (int i = 0; lines[i]; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "row %d", i + 1);

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			batch[count] = row_parse(lines[i]);
			batch[count].customer_number = customer_find(batch[count].customer);
			count++;
			thrum_task_resolve(task);
		}
		if (count == BATCH) {
			batch_write(batch, count, ++batches);
			count = 0;
		}
	}
	if (count)
		batch_write(batch, count, ++batches);
}

int main(int argc, char **argv)
{
	bool is_padded = argc > 1 && !strcmp(argv[1], "broken");
	thrum_task whole;
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) ||
		pthread_create(&thread, NULL, customers, NULL))
		return 1;
	thrum_start(NULL);
	whole = thrum_task_create(THRUM_KIND_TASK, "import");
	thrum_task_should_resolve(whole);
	THRUM_RUN (whole) {
		import(is_padded ? padded : exported);
		thrum_task_resolve(whole);
	}
	thrum_stop();
	shutdown(ends[0], SHUT_WR);
	pthread_join(thread, NULL);
	for (int i = 1; i <= 3; i++)
		printf("customer %d: %d\n", i, total[i]);
	return 0;
}
