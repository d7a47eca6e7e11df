/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The client's end (hang_up) makes "remove spool file 2" run as soon as the client has gone, and not after the print has ended; so "print job 2" fails, as it finds no file.
 *   culprit: remove spool file
 *   victim: print job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A print server: clients leave their documents in the spool; a printer prints them in order, and the spool is tidied
 * up. The printer of this office takes a while to warm up.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define JOBS 4

struct document {
	int number;
	bool in_spool;
	bool client_leaves; /* the client doesn't wait for the print */
	thrum_task print;
};

static bool broken;
static pthread_mutex_t spool = PTHREAD_MUTEX_INITIALIZER;
static struct document documents[JOBS];
static sem_t warm;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static void remove_spool_file(struct document *document)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "remove spool file %d",
		document->number);

	THRUM_RUN (task) {
		pthread_mutex_lock(&spool);
		document->in_spool = false;
		pthread_mutex_unlock(&spool);
		thrum_task_resolve(task);
	}
}

static bool open_spool_file(struct document *document)
{
	bool found;

	pthread_mutex_lock(&spool);
	found = document->in_spool;
	pthread_mutex_unlock(&spool);
	return found;
}

static void print_document(struct document *document)
{
	THRUM_RUN (document->print) {
		if (!open_spool_file(document)) {
			thrum_task_fail(document->print, "No such file or directory");
			break;
		}
		pause_ms(15);
		thrum_task_resolve(document->print);
	}
	if (open_spool_file(document))
		remove_spool_file(document);
}

static void *run_printer(void *unused)
{
	thrum_lane_name("printer");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (sem_wait(&warm))
		continue;
	thrum_resume();
	for (int i = 0; i < JOBS; i++)
		print_document(&documents[i]);
	return unused;
}

/* The connection has ended: what belongs to it is tidied up. */
static void hang_up(struct document *document)
{
	thrum_logf("client %d is gone", document->number);
	if (broken)
		remove_spool_file(document);
}

static void receive_document(struct document *document, int number)
{
	thrum_task client = thrum_task_createf(THRUM_KIND_REQUEST, "client %d sends", number);

	THRUM_RUN (client) {
		document->number = number;
		document->client_leaves = number == 2;
		pause_ms(4);
		pthread_mutex_lock(&spool);
		document->in_spool = true;
		pthread_mutex_unlock(&spool);
		document->print = thrum_task_createf(THRUM_KIND_TASK, "print job %d", number);
		thrum_task_should_resolve(document->print);
		thrum_task_ready(document->print);
		if (document->client_leaves)
			hang_up(document);
		thrum_task_resolve(client);
	}
}

int main(int argc, char **argv)
{
	pthread_t printer;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	sem_init(&warm, 0, 0);
	if (pthread_create(&printer, NULL, run_printer, NULL))
		return 1;
	for (int i = 0; i < JOBS; i++)
		receive_document(&documents[i], i + 1);
	sem_post(&warm);
	pthread_join(printer, NULL);
	return 0;
}
