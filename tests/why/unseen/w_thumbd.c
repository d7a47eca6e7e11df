/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 700
 *   ask: why
 *   truth: thumb-worker-3 retires after a quiet time, but files are still hashed to its queue (shard 3), which nobody drains then; the thumbnails put there and their album never end.
 *   culprit: thumb-worker-3|shard 3
 *   victim: album|thumb IMG
 * case: healthy
 *   args: healthy
 *   run: stop 700
 *   ask: why
 *   culprit: nothing
 */
/* thumbd: makes thumbnails with a pool; each worker has a queue of its own. Waits for SIGTERM when the
 * albums are done. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	ALBUMS = 3,
	PHOTOS = 8
};

struct job {
	int photo;
	thrum_task task;
	struct album *album;
	struct job *next;
};
struct worker {
	int number;
	pthread_mutex_t lock;
	pthread_cond_t work;
	thrum_task shard;
	struct job *first, **end;
	unsigned idle;
	bool retired;
};
struct album {
	pthread_mutex_t lock;
	pthread_cond_t done;
	int left;
};

static struct worker workers[WORKERS];
static sigset_t term;
static bool revive;

/* Workers beyond the second retire when nothing comes for 60 ms. */
static void *worker_thread(void *data)
{
	struct worker *worker = data;
	char name[24];

	pthread_sigmask(SIG_BLOCK, &term, NULL); /* it's main's */
	snprintf(name, sizeof name, "thumb-worker-%d", worker->number);
	thrum_lane_name(name);
	pthread_mutex_lock(&worker->lock);
	for (;;) {
		struct job *job;
		int timed_out = 0;

		while (!worker->first && !timed_out) {
			thrum_task_wait(thrum_task_current(), worker->shard);
			worker->idle++;
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			if (worker->number == 3) {
				struct timespec until;

				clock_gettime(CLOCK_REALTIME, &until);
				until.tv_nsec += 60000000;
				until.tv_sec += until.tv_nsec / 1000000000;
				until.tv_nsec %= 1000000000;
				timed_out = pthread_cond_timedwait(&worker->work, &worker->lock,
					&until);
			} else {
				pthread_cond_wait(&worker->work, &worker->lock);
			}
			thrum_resume();
			worker->idle--;
		}
		if (!worker->first) {
			worker->retired = true;
			thrum_log("retires");
			pthread_mutex_unlock(&worker->lock);
			return NULL;
		}
		job = worker->first;
		worker->first = job->next;
		if (!worker->first)
			worker->end = &worker->first;
		thrum_task_read(thrum_task_current(), worker->shard);
		pthread_mutex_unlock(&worker->lock);
		THRUM_RUN (job->task) {
			usleep(6000);
			thrum_task_resolve(job->task);
		}
		pthread_mutex_lock(&job->album->lock);
		if (--job->album->left == 0)
			pthread_cond_signal(&job->album->done);
		pthread_mutex_unlock(&job->album->lock);
		free(job);
		pthread_mutex_lock(&worker->lock);
	}
}

static void start_worker(struct worker *worker)
{
	pthread_t thread;

	worker->retired = false;
	pthread_create(&thread, NULL, worker_thread, worker);
	pthread_detach(thread);
}

static void submit(struct job *job)
{
	struct worker *worker = &workers[job->photo % WORKERS];

	pthread_mutex_lock(&worker->lock);
	*worker->end = job;
	worker->end = &job->next;
	thrum_task_ready(job->task);
	thrum_task_signal(worker->shard, worker->idle);
	if (worker->retired && revive)
		start_worker(worker);
	pthread_cond_signal(&worker->work);
	pthread_mutex_unlock(&worker->lock);
}

static void make_album(int number)
{
	struct album album = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PHOTOS};
	thrum_task task = thrum_task_createf(THRUM_KIND_JOIN, "album %d", number);

	thrum_task_should_resolve(task);
	for (int i = 0; i < PHOTOS; i++) {
		struct job *job = calloc(1, sizeof *job);

		job->photo = number * 100 + i;
		job->album = &album;
		job->task = thrum_task_createf(THRUM_KIND_TASK, "thumb IMG_%04d", job->photo);
		thrum_task_wait(task, job->task);
		submit(job);
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_mutex_lock(&album.lock);
	while (album.left)
		pthread_cond_wait(&album.done, &album.lock);
	pthread_mutex_unlock(&album.lock);
	thrum_resume();
	thrum_task_resolve(task);
}

int main(int argc, char **argv)
{
	int number;

	revive = !(argc > 1 && !strcmp(argv[1], "broken"));
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.number = i,
			.lock = PTHREAD_MUTEX_INITIALIZER,
			.work = PTHREAD_COND_INITIALIZER};
		workers[i].end = &workers[i].first;
		workers[i].shard = thrum_task_createf(THRUM_KIND_MAILBOX, "shard %d", i);
		start_worker(&workers[i]);
	}
	for (int i = 1; i <= ALBUMS; i++) {
		make_album(i);
		usleep(i == 2 ? 110000 : 10000); /* the user looks at it */
	}
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	sigwait(&term, &number);
	thrum_resume();
	return 0;
}
