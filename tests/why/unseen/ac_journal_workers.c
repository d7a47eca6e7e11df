/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The process compactor takes the shared semaphore journal_free in compact_segment, meets a damaged
 *     record and exits without posting the semaphore. The appenders wait for it for ever, and the parent
 *     waits for them.
 *   culprit: compact_segment|compactor
 *   victim: append_record|reap_workers|appender
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define APPENDERS 3
#define RECORDS 60
#define JOURNAL_MAX 256

struct record {
	unsigned worker, number;
};

struct journal {
	sem_t journal_free; /* 1 while nobody changes the journal */
	unsigned count, compactions;
	struct record records[JOURNAL_MAX];
};

static struct journal *journal;
static bool tidy; /* posts the semaphore before it gives up */

static void append_record(unsigned worker, unsigned number)
{
	sem_wait(&journal->journal_free);
	if (journal->count < JOURNAL_MAX)
		journal->records[journal->count++] = (struct record){worker, number};
	usleep(100);
	sem_post(&journal->journal_free);
}

static int run_appender(unsigned worker)
{
	char name[16];

	snprintf(name, sizeof(name), "appender-%u", worker);
	prctl(PR_SET_NAME, name);
	for (unsigned number = 0; number < RECORDS; number++) {
		append_record(worker, number);
		usleep(2000);
	}
	return 0;
}

/* A record of a worker that doesn't exist is damage. The second worker writes one, the 20th. */
static bool is_damaged(const struct record *record)
{
	return record->worker >= APPENDERS || (record->worker == 1 && record->number == 20);
}

/* Drops the records with odd numbers. Returns false if it meets damage. */
static bool compact_segment(void)
{
	unsigned kept = 0;

	sem_wait(&journal->journal_free);
	for (unsigned i = 0; i < journal->count; i++) {
		const struct record record = journal->records[i];

		if (is_damaged(&record)) {
			fprintf(stderr, "record %u is damaged\n", i);
			if (tidy)
				sem_post(&journal->journal_free);
			return false;
		}
		if (record.number % 2 == 0)
			journal->records[kept++] = record;
	}
	journal->count = kept;
	journal->compactions++;
	sem_post(&journal->journal_free);
	return true;
}

static int run_compactor(void)
{
	prctl(PR_SET_NAME, "compactor");
	while (compact_segment())
		usleep(10000);
	return 3;
}

static int reap_workers(void)
{
	int status, failed = 0;

	for (unsigned i = 0; i < APPENDERS + 1; i++) {
		pid_t pid = wait(&status);

		if (pid < 0)
			return -1;
		if (WEXITSTATUS(status)) {
			fprintf(stderr, "worker %d gave up\n", (int)pid);
			failed++;
		}
	}
	return failed;
}

int main(int argc, char **argv)
{
	int failed;

	tidy = argc > 1 && !strcmp(argv[1], "healthy");
	journal = mmap(NULL, sizeof(*journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (journal == MAP_FAILED)
		return 1;
	sem_init(&journal->journal_free, 1, 1);
	for (unsigned worker = 0; worker < APPENDERS + 1; worker++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(worker < APPENDERS ? run_appender(worker) : run_compactor());
	}
	failed = reap_workers();
	printf("%u records, %u compactions\n", journal->count, journal->compactions);
	return failed == 1 ? 0 : 1;
}
