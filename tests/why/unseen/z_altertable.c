/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=SELECT profile
 *   truth: The slowest SELECT only reads, but it queues behind "ALTER TABLE profiles", which waits for the lock itself, since the backup "COPY profiles" holds it for reading for 250 ms.
 *   culprit: ALTER TABLE|COPY profiles|run_backup|run_migration
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A database's table lock is fair: who comes after a writer that waits queues behind it. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	SESSIONS = 2,
	SELECTS = 25
};

static struct {
	pthread_rwlock_t lock;
	thrum_task task;
	int columns;
} profiles;

static sem_t backup_runs;
static bool broken;
static int attempts;

static void read_lock(void)
{
	if (pthread_rwlock_tryrdlock(&profiles.lock)) {
		thrum_task_wait(thrum_task_current(), profiles.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_rwlock_rdlock(&profiles.lock);
		thrum_resume();
	}
	thrum_lock_acquired(profiles.task);
}

static void write_lock(void)
{
	if (pthread_rwlock_trywrlock(&profiles.lock)) {
		thrum_task_wait(thrum_task_current(), profiles.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_rwlock_wrlock(&profiles.lock);
		thrum_resume();
	}
	thrum_lock_acquired(profiles.task);
}

static void unlock(void)
{
	thrum_lock_released(profiles.task);
	pthread_rwlock_unlock(&profiles.lock);
}

/* Doesn't queue: tries now and then whether the table is free. */
static void write_lock_politely(void)
{
	while (pthread_rwlock_trywrlock(&profiles.lock)) {
		attempts++;
		usleep(500 + 300 * (attempts % 5));
	}
	thrum_lock_acquired(profiles.task);
}

static void *run_backup(void *unused)
{
	(void)unused;
	thrum_lane_name("backup");
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "COPY profiles")) {
		thrum_task_should_resolve(thrum_task_current());
		read_lock();
		sem_post(&backup_runs);
		usleep(250000);
		unlock();
		thrum_task_resolve(thrum_task_current());
	}
	return NULL;
}

static void *run_migration(void *unused)
{
	(void)unused;
	thrum_lane_name("migration");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	sem_wait(&backup_runs);
	thrum_resume();
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "ALTER TABLE profiles")) {
		thrum_task_should_resolve(thrum_task_current());
		if (broken)
			write_lock();
		else
			write_lock_politely();
		profiles.columns++;
		usleep(1000);
		unlock();
		thrum_task_resolve(thrum_task_current());
	}
	return NULL;
}

static void *run_session(void *number)
{
	thrum_lane_name(*(int *)number ? "session 2" : "session 1");
	for (int i = 0; i < SELECTS; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "SELECT profile");

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			read_lock();
			usleep(1500);
			unlock();
			thrum_task_resolve(task);
		}
		usleep(2500);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int numbers[SESSIONS] = {0, 1};
	pthread_t backup, migration, sessions[SESSIONS];
	pthread_rwlockattr_t fair;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&fair);
	pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&profiles.lock, &fair);
	profiles.task = thrum_task_create(THRUM_KIND_LOCK, "table profiles");
	sem_init(&backup_runs, 0, 0);
	for (int i = 0; i < SESSIONS; i++)
		pthread_create(&sessions[i], NULL, run_session, &numbers[i]);
	usleep(25000);
	pthread_create(&backup, NULL, run_backup, NULL);
	pthread_create(&migration, NULL, run_migration, NULL);
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i], NULL);
	pthread_join(backup, NULL);
	pthread_join(migration, NULL);
	printf("%d columns, %d attempts\n", profiles.columns, attempts);
	thrum_stop();
	return 0;
}
