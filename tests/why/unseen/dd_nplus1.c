/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: For each mail in the list read_senders asks the database for its sender, "select sender", one after the other, 40 times; the healthy program asks once for all of them.
 *   culprit: select sender\b|read_senders
 *   victim: show folder
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A web mailer: it shows a folder with the names of the senders, which are in another table of the database. A
 * thread stands for the database.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define MAILS 40
#define FOLDERS 3

struct query {
	int first, count; /* rows */
	int ms;
};

static bool broken;
static int database[2];

static void *run_database(void *unused)
{
	struct query query;
	struct timespec time = {.tv_nsec = 0};

	thrum_lane_name("database");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(database[1], &query, sizeof(query)) != sizeof(query))
			break;
		thrum_resume();
		time.tv_nsec = query.ms * 1000000L;
		nanosleep(&time, NULL);
		if (write(database[1], &query.count, sizeof(query.count)) != sizeof(query.count))
			break;
	}
	thrum_resume();
	return unused;
}

/* Asks, and waits for the answer. */
static int ask(const char *text, int first, int count, int ms)
{
	struct query query = {first, count, ms};
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, text);
	int rows;

	thrum_task_should_resolve(request);
	if (write(database[0], &query, sizeof(query)) != sizeof(query))
		exit(1);
	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (read(database[0], &rows, sizeof(rows)) != sizeof(rows))
		exit(1);
	thrum_resume();
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
	return rows;
}

static int read_mails(int folder)
{
	return ask("select mails", folder * MAILS, MAILS, 4);
}

static int read_senders(int folder)
{
	int rows = 0;

	if (!broken)
		return ask("select senders of folder", folder * MAILS, MAILS, 6);
	for (int i = 0; i < MAILS; i++)
		rows += ask("select sender", folder * MAILS + i, 1, 2);
	return rows;
}

static int read_flags(int folder)
{
	return ask("select flags", folder * MAILS, MAILS, 3);
}

static int show_folder(int folder)
{
	thrum_task page = thrum_task_createf(THRUM_KIND_TASK, "show folder %d", folder);
	int rows = 0;

	thrum_task_should_resolve(page);
	THRUM_RUN (page) {
		rows += read_mails(folder);
		rows += read_senders(folder);
		rows += read_flags(folder);
		thrum_task_resolve(page);
	}
	return rows;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, database) ||
		pthread_create(&thread, NULL, run_database, NULL))
		return 1;
	for (int folder = 1; folder <= FOLDERS; folder++)
		printf("folder %d: %d rows\n", folder, show_folder(folder));
	close(database[0]);
	pthread_join(thread, NULL);
	return 0;
}
