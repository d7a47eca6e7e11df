/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=login-
 *   truth: The thread snapshot holds quota_lock for reading while it writes the table at a limited rate (it sleeps
 *     between the rows, for 900 ms). The thread updater queues for writing, and as the lock prefers writers, the logins,
 *     which only want to read, queue behind both.
 *   culprit: snapshot|write_rows
 *   victim: login-[0-9]|updater
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server of quotas: logins look them up, an updater changes them, and a snapshot of them is written at times. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define USERS 60
#define LOGINS 3

struct user {
	char name[16];
	long used;
	long limit;
};

struct snapshot {
	FILE *file;
	int rows_per_second; /* 0: as fast as it goes */
	int rows;
};

struct login {
	int number;
	int denied;
};

static struct user users[USERS];
static pthread_rwlock_t quota_lock;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_lines;

static void log_line(const char *who, const char *what)
{
	pthread_mutex_lock(&log_lock);
	log_lines++;
	fprintf(stderr, "%s: %s\n", who, what);
	pthread_mutex_unlock(&log_lock);
}

static void sleep_ms(long n)
{
	const struct timespec time = {.tv_sec = n / 1000, .tv_nsec = n % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Be kind to the disk: no more rows in a second than allowed. */
static __attribute__((noinline)) void write_rows(struct snapshot *snapshot)
{
	for (int i = 0; i < USERS; i++) {
		fprintf(snapshot->file, "%s %ld %ld\n", users[i].name, users[i].used,
			users[i].limit);
		snapshot->rows++;
		if (snapshot->rows_per_second && i % 6 == 5) {
			fflush(snapshot->file);
			sleep_ms(6000 / snapshot->rows_per_second);
		}
	}
}

static void *take_snapshot(void *argument)
{
	struct snapshot *snapshot = argument;

	pthread_setname_np(pthread_self(), "snapshot");
	pthread_rwlock_rdlock(&quota_lock);
	write_rows(snapshot);
	pthread_rwlock_unlock(&quota_lock);
	fflush(snapshot->file);
	log_line("snapshot", "written");
	return NULL;
}

static __attribute__((noinline)) void change_usage(int user, long by)
{
	pthread_rwlock_wrlock(&quota_lock);
	users[user].used += by;
	pthread_rwlock_unlock(&quota_lock);
}

static void *update_quotas(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "updater");
	sleep_ms(200);
	for (int i = 0; i < 5; i++) {
		change_usage(i * 7, 100);
		sleep_ms(10);
	}
	log_line("updater", "done");
	return NULL;
}

static __attribute__((noinline)) int look_up_quota(int user)
{
	int allowed;

	pthread_rwlock_rdlock(&quota_lock);
	allowed = users[user].used < users[user].limit;
	pthread_rwlock_unlock(&quota_lock);
	return allowed;
}

static void *log_in(void *argument)
{
	struct login *login = argument;
	char name[16];

	snprintf(name, sizeof name, "login-%d", login->number % 10);
	pthread_setname_np(pthread_self(), name);
	if (!look_up_quota(login->number * 11))
		login->denied = 1;
	log_line(name, login->denied ? "denied" : "welcome");
	return NULL;
}

int main(int argc, char **argv)
{
	struct snapshot snapshot = {0};
	struct login logins[LOGINS];
	pthread_t snapshot_thread, update_thread, login_threads[LOGINS];
	pthread_rwlockattr_t attributes;
	int denied = 0;

	if (argc != 2)
		return 2;
	snapshot.rows_per_second = !strcmp(argv[1], "broken") ? 66 : 0;
	snapshot.file = tmpfile();
	if (!snapshot.file)
		return 1;
	for (int i = 0; i < USERS; i++) {
		snprintf(users[i].name, sizeof users[i].name, "user%d", i);
		users[i].used = i * 10;
		users[i].limit = 10000;
	}
	/* updates must not starve */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&quota_lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);

	if (pthread_create(&snapshot_thread, NULL, take_snapshot, &snapshot) ||
		pthread_create(&update_thread, NULL, update_quotas, NULL))
		return 1;
	sleep_ms(400);
	for (int i = 0; i < LOGINS; i++) {
		logins[i] = (struct login){.number = i + 1};
		if (pthread_create(&login_threads[i], NULL, log_in, &logins[i]))
			return 1;
		sleep_ms(20);
	}
	for (int i = 0; i < LOGINS; i++) {
		pthread_join(login_threads[i], NULL);
		denied += logins[i].denied;
	}
	pthread_join(update_thread, NULL);
	pthread_join(snapshot_thread, NULL);
	printf("%d rows, %d denied, %d lines\n", snapshot.rows, denied, log_lines);
	fclose(snapshot.file);
	pthread_rwlock_destroy(&quota_lock);
	return snapshot.rows == USERS && !denied ? 0 : 1;
}
