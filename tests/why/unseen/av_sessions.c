/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: export_sessions holds the lock of the session table while it writes all lines to a pipe whose
 *     reader is slow; the lookups that come meanwhile wait for the lock
 *   culprit: export
 *   victim: session table|lookup|worker
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A store of sessions: a pool of threads looks sessions up, and now and then an export goes to a
 * collector. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	SESSIONS = 64,
	LOOKUPS = 160,
	LINE = 512,
	EXPORT_EVERY = 40
};

THRUM_TAG(to_collector, NULL, "write to the collector", 0);

struct job {
	struct job *next;
	thrum_task task;
	void (*run)(struct job *);
	int session;
};

static struct {
	pthread_mutex_t mutex;
	thrum_task lock;
	int hits[SESSIONS];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t queued, idle;
	struct job *first, **end;
	int unfinished;
	bool closing;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.queued = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER};

static int collector[2];
static bool streams; /* lines are made while they are written, which needs no copy */

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

static void table_lock(void)
{
	if (pthread_mutex_trylock(&table.mutex)) {
		thrum_task_wait(thrum_task_current(), table.lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&table.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(table.lock);
}

static void table_unlock(void)
{
	thrum_lock_released(table.lock);
	pthread_mutex_unlock(&table.mutex);
}

static void write_line(int session, int hits)
{
	char line[LINE];

	memset(line, ' ', sizeof(line));
	snprintf(line, sizeof(line), "session %d: %d hits", session, hits);
	thrum_suspend(&to_collector);
	if (write(collector[1], line, sizeof(line)) != sizeof(line))
		abort();
	thrum_resume();
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void look_up(struct job *job)
{
	table_lock();
	table.hits[job->session]++;
	table_unlock();
	pause_us(1500); /* the backend of the session */
}

static void export_sessions(struct job *job)
{
	int copy[SESSIONS];

	(void)job;
	table_lock();
	if (streams) {
		for (int i = 0; i < SESSIONS; i++)
			write_line(i, table.hits[i]);
		table_unlock();
		return;
	}
	memcpy(copy, table.hits, sizeof(copy));
	table_unlock();
	for (int i = 0; i < SESSIONS; i++)
		write_line(i, copy[i]);
}

static void submit(void (*run)(struct job *), const char *label, int session)
{
	struct job *job = calloc(1, sizeof(*job));

	job->run = run;
	job->session = session;
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&pool.mutex);
	thrum_task_ready(job->task);
	*pool.end = job;
	pool.end = &job->next;
	pool.unfinished++;
	pthread_cond_signal(&pool.queued);
	pthread_mutex_unlock(&pool.mutex);
}

static void *work(void *data)
{
	struct job *job;

	thrum_lane_name(data);
	pthread_mutex_lock(&pool.mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!pool.first && !pool.closing)
			pthread_cond_wait(&pool.queued, &pool.mutex);
		thrum_resume();
		job = pool.first;
		if (!job)
			break;
		pool.first = job->next;
		if (!pool.first)
			pool.end = &pool.first;
		pthread_mutex_unlock(&pool.mutex);
		THRUM_RUN (job->task)
			job->run(job);
		thrum_task_resolve(job->task);
		free(job);
		pthread_mutex_lock(&pool.mutex);
		if (--pool.unfinished == 0)
			pthread_cond_signal(&pool.idle);
	}
	pthread_mutex_unlock(&pool.mutex);
	return NULL;
}

/* The collector takes a few lines at a time. */
static void *collect(void *data)
{
	char lines[LINE * 4];
	ssize_t size;

	thrum_lane_name("collector");
	do {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(collector[0], lines, sizeof(lines));
		thrum_resume();
		pause_us(2500);
	} while (size > 0);
	return data;
}

int main(int argc, char **argv)
{
	static char names[WORKERS][16];
	pthread_t workers[WORKERS], reader;

	streams = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	table.lock = thrum_task_create(THRUM_KIND_LOCK, "session table");
	pool.end = &pool.first;
	if (pipe(collector))
		return 1;
	fcntl(collector[1], F_SETPIPE_SZ, 4096);
	pthread_create(&reader, NULL, collect, NULL);
	for (int i = 0; i < WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker %d", i);
		pthread_create(&workers[i], NULL, work, names[i]);
	}
	for (int i = 0; i < LOOKUPS; i++) {
		submit(look_up, "lookup", i * 7 % SESSIONS);
		if (i % EXPORT_EVERY == EXPORT_EVERY / 2)
			submit(export_sessions, "export", 0);
		pause_us(3000);
	}
	pthread_mutex_lock(&pool.mutex);
	thrum_suspend(THRUM_BLOCKED);
	while (pool.unfinished)
		pthread_cond_wait(&pool.idle, &pool.mutex);
	thrum_resume();
	pool.closing = true;
	pthread_cond_broadcast(&pool.queued);
	pthread_mutex_unlock(&pool.mutex);
	thrum_stop();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	close(collector[1]);
	pthread_join(reader, NULL);
	printf("%d lookups\n", LOOKUPS);
	return 0;
}
