/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: printer_thread takes no page before the whole job is rendered (job_rendered), but the third job has more pages than the queue has slots, so render_thread waits for slot_free and never finishes it. The consumer waits for the producer, and the queue is full.
 *   culprit: printer_thread|job_rendered
 *   victim: render_thread|slot_free|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* spooler: renders jobs to pages, and prints each job when it can be collated. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SLOTS = 8,
	JOBS = 4
};

static const int pages_of[JOBS] = {5, 7, 12, 3};

static struct {
	pthread_mutex_t lock;
	int page[SLOTS], head, count;
	int rendered; /* jobs of which all pages are in the queue or printed */
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t slot_free = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_rendered = PTHREAD_COND_INITIALIZER;
static pthread_cond_t toner_low = PTHREAD_COND_INITIALIZER;
static bool collate_always, closed;

static void *render_thread(void *unused)
{
	(void)unused;
	for (int job = 0; job < JOBS; job++) {
		for (int page = 0; page < pages_of[job]; page++) {
			usleep(2500);
			pthread_mutex_lock(&spool.lock);
			while (spool.count == SLOTS) {
				if (!collate_always) /* long jobs print while they render */
					pthread_cond_signal(&job_rendered);
				pthread_cond_wait(&slot_free, &spool.lock);
			}
			spool.page[(spool.head + spool.count++) % SLOTS] = page;
			pthread_mutex_unlock(&spool.lock);
		}
		pthread_mutex_lock(&spool.lock);
		spool.rendered = job + 1;
		pthread_cond_signal(&job_rendered);
		pthread_mutex_unlock(&spool.lock);
	}
	return NULL;
}

static void *printer_thread(void *unused)
{
	(void)unused;
	for (int job = 0; job < JOBS; job++) {
		for (int page = 0; page < pages_of[job]; page++) {
			pthread_mutex_lock(&spool.lock);
			while (spool.rendered <= job && (collate_always || spool.count < SLOTS))
				pthread_cond_wait(&job_rendered, &spool.lock);
			spool.head = (spool.head + 1) % SLOTS;
			spool.count--;
			pthread_cond_signal(&slot_free);
			pthread_mutex_unlock(&spool.lock);
			usleep(3000);
		}
	}
	return NULL;
}

/* Only waits, as long as there is toner. */
static void *toner_monitor(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&spool.lock);
	while (!closed)
		pthread_cond_wait(&toner_low, &spool.lock);
	pthread_mutex_unlock(&spool.lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t renderer, printer, monitor;

	collate_always = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&monitor, NULL, toner_monitor, NULL);
	pthread_create(&renderer, NULL, render_thread, NULL);
	pthread_create(&printer, NULL, printer_thread, NULL);
	pthread_join(renderer, NULL);
	pthread_join(printer, NULL);
	pthread_mutex_lock(&spool.lock);
	closed = true;
	pthread_cond_signal(&toner_low);
	pthread_mutex_unlock(&spool.lock);
	pthread_join(monitor, NULL);
	puts("spool is empty");
	return 0;
}
