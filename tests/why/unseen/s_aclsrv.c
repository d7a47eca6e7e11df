/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: audit_session takes the read lock rules_lock a second time (in has_right) while it holds it. As soon as
 *     reload_rules waits to write between the two, the second read lock queues behind the writer, and the writer behind the
 *     first: audit_session deadlocks with itself. serve_client and reload_rules are victims.
 *   culprit: audit_session|has_right
 *   victim: reload_rules|serve_client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t rules_lock;
static atomic_bool stopping;
static atomic_int served, audited, reloads;
static bool broken;
static int rules[16];

static __attribute__((noinline)) int has_right(int user)
{
	int right;

	if (!broken)
		return rules[user % 16]; /* the caller holds the lock */
	pthread_rwlock_rdlock(&rules_lock);
	right = rules[user % 16];
	pthread_rwlock_unlock(&rules_lock);
	return right;
}

static void *audit_session(void *data)
{
	(void)data;
	while (!stopping) {
		pthread_rwlock_rdlock(&rules_lock);
		for (int user = 0; user < 4; user++) {
			usleep(4000); /* writes the journal */
			has_right(user);
		}
		audited++;
		pthread_rwlock_unlock(&rules_lock);
		usleep(10000);
	}
	return NULL;
}

static void *serve_client(void *data)
{
	(void)data;
	while (!stopping) {
		pthread_rwlock_rdlock(&rules_lock);
		usleep(1000);
		served += rules[3] >= 0;
		pthread_rwlock_unlock(&rules_lock);
		usleep(5000);
	}
	return NULL;
}

static void *reload_rules(void *data)
{
	(void)data;
	while (!stopping) {
		usleep(45000);
		pthread_rwlock_wrlock(&rules_lock);
		usleep(1000);
		rules[reloads++ % 16] = 1;
		pthread_rwlock_unlock(&rules_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t attributes;
	pthread_t threads[4];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&rules_lock, &attributes);
	pthread_create(&threads[0], NULL, serve_client, NULL);
	pthread_create(&threads[1], NULL, serve_client, NULL);
	pthread_create(&threads[2], NULL, audit_session, NULL);
	pthread_create(&threads[3], NULL, reload_rules, NULL);
	usleep(400 * 1000);
	stopping = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d served, %d audits, %d reloads\n", served, audited, reloads);
	return 0;
}
