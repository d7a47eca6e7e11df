/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The thread lp1 returns from print_job early when a job has been cancelled, without giving the job's
 *     page buffer back (sem_post of page_buffers), so after four such jobs no buffer is left for anybody.
 *   culprit: lp1|print_job
 *   victim: lp0|lp2|submit|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A print spooler: each printer has a thread with a queue, and they share a few buffers for pages. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRINTERS 3
#define JOBS 60
#define BUFFERS 4

struct job {
	int number;
	int pages;
	bool cancelled;
	struct job *next;
};

struct printer {
	pthread_t thread;
	char name[16];
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct job *first, **last;
	bool closed;
	int printed, dropped;
};

static struct printer printers[PRINTERS];
static sem_t page_buffers;
static bool healthy;

static void printer_submit(struct printer *printer, struct job *job)
{
	pthread_mutex_lock(&printer->mutex);
	job->next = NULL;
	*printer->last = job;
	printer->last = &job->next;
	pthread_cond_signal(&printer->changed);
	pthread_mutex_unlock(&printer->mutex);
}

static void printer_close(struct printer *printer)
{
	pthread_mutex_lock(&printer->mutex);
	printer->closed = true;
	pthread_cond_signal(&printer->changed);
	pthread_mutex_unlock(&printer->mutex);
}

static struct job *printer_next(struct printer *printer)
{
	struct job *job;

	pthread_mutex_lock(&printer->mutex);
	while (!printer->first && !printer->closed)
		pthread_cond_wait(&printer->changed, &printer->mutex);
	job = printer->first;
	if (job) {
		printer->first = job->next;
		if (!printer->first)
			printer->last = &printer->first;
	}
	pthread_mutex_unlock(&printer->mutex);
	return job;
}

static void raster_page(char *page, int job, int number)
{
	memset(page, ' ', 2048);
	snprintf(page, 2048, "job %d page %d", job, number);
	usleep(700);
}

static void print_job(struct printer *printer, struct job *job)
{
	char page[2048];

	sem_wait(&page_buffers);
	if (job->cancelled) {
		printer->dropped++;
		if (healthy)
			sem_post(&page_buffers);
		return;
	}
	for (int i = 0; i < job->pages; i++)
		raster_page(page, job->number, i);
	printer->printed++;
	sem_post(&page_buffers);
}

static void *printer_run(void *data)
{
	struct printer *printer = data;
	struct job *job;

	pthread_setname_np(pthread_self(), printer->name);
	while ((job = printer_next(printer))) {
		print_job(printer, job);
		free(job);
	}
	return NULL;
}

static void *submit_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "submit");
	for (int i = 0; i < JOBS; i++) {
		struct job *job = calloc(1, sizeof *job);

		if (!job)
			abort();
		job->number = i;
		job->pages = 1 + i % 3;
		/* A user of the second printer takes half of the jobs back. */
		job->cancelled = i % 6 == 1;
		printer_submit(&printers[i % PRINTERS], job);
		usleep(1000);
	}
	for (int i = 0; i < PRINTERS; i++)
		printer_close(&printers[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t submit;

	if (argc < 2)
		return 2;
	healthy = !strcmp(argv[1], "healthy");
	sem_init(&page_buffers, 0, BUFFERS);
	for (int i = 0; i < PRINTERS; i++) {
		struct printer *printer = &printers[i];

		snprintf(printer->name, sizeof printer->name, "lp%d", i);
		pthread_mutex_init(&printer->mutex, NULL);
		pthread_cond_init(&printer->changed, NULL);
		printer->last = &printer->first;
		pthread_create(&printer->thread, NULL, printer_run, printer);
	}
	pthread_create(&submit, NULL, submit_run, NULL);
	pthread_join(submit, NULL);
	for (int i = 0; i < PRINTERS; i++) {
		pthread_join(printers[i].thread, NULL);
		printf("%s: %d printed, %d dropped\n", printers[i].name, printers[i].printed,
			printers[i].dropped);
	}
	sem_destroy(&page_buffers);
	return 0;
}
