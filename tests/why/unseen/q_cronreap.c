/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The thread reload_crontab holds jobs_lock while it joins the thread of a removed job; that job's thread (run_job) needs jobs_lock to note its exit status before it ends, so both hang, and the scheduler with them.
 *   culprit: reload_crontab
 *   victim: run_job|schedule|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOBS 4

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct job {
	pthread_t thread;
	int started, removed, status, ms, runs;
} jobs[JOBS] = {{.ms = 5}, {.ms = 60}, {.ms = 8}, {.ms = 12}};
static atomic_int stopping, reloaded;
static int broken;

static void *run_job(void *data)
{
	struct job *job = data;

	usleep(job->ms * 1000);
	pthread_mutex_lock(&jobs_lock);
	job->status = 0;
	job->runs++;
	pthread_mutex_unlock(&jobs_lock);
	return NULL;
}

static void *schedule(void *unused)
{
	/* starts each job once; then prints the table as a clock would */
	pthread_mutex_lock(&jobs_lock);
	for (int i = 0; i < JOBS; i++) {
		jobs[i].status = -1;
		jobs[i].started = !pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);
	}
	pthread_mutex_unlock(&jobs_lock);
	while (!stopping) {
		int running = 0;

		usleep(10000);
		pthread_mutex_lock(&jobs_lock);
		for (int i = 0; i < JOBS; i++)
			running += jobs[i].status < 0;
		pthread_mutex_unlock(&jobs_lock);
	}
	return unused;
}

static void *reload_crontab(void *unused)
{
	pthread_t gone[JOBS];
	int count = 0;

	usleep(25000);
	pthread_mutex_lock(&jobs_lock);
	for (int i = 1; i < 3; i++) { /* these two are no longer in the file */
		jobs[i].removed = 1;
		if (!jobs[i].started)
			continue;
		jobs[i].started = 0;
		if (broken)
			pthread_join(jobs[i].thread, NULL);
		else
			gone[count++] = jobs[i].thread;
	}
	pthread_mutex_unlock(&jobs_lock);
	while (count > 0)
		pthread_join(gone[--count], NULL);
	reloaded = 1;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t scheduler, reloader;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&scheduler, NULL, schedule, NULL);
	pthread_create(&reloader, NULL, reload_crontab, NULL);
	pthread_detach(reloader);
	while (!reloaded)
		usleep(20000);
	stopping = 1;
	pthread_join(scheduler, NULL);
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
	printf("reloaded, %d runs\n", jobs[0].runs + jobs[1].runs + jobs[2].runs + jobs[3].runs);
	return 0;
}
