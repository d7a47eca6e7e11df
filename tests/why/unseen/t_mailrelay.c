/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Deadlock: deliver_worker takes spool_lock and then domain_lock; bounce_worker (expire_domain) takes domain_lock and then spool_lock. accept_worker and main are victims.
 *   culprit: (?i)(deliver_worker|bounce_worker|expire_domain|deliver_one).*(spool_lock|domain_lock)|(spool_lock|domain_lock).*(deliver_worker|bounce_worker|expire_domain|deliver_one)|deadlock.*(deliver_worker|bounce_worker)
 *   victim: accept_worker|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t spool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t domain_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mail_here = PTHREAD_COND_INITIALIZER;
static int spooled, delivered, bounced, closing, broken;
static int backoff[4];

static void *accept_worker(void *data)
{
	for (int i = 0; i < 30; i++) {
		usleep(8000);
		pthread_mutex_lock(&spool_lock);
		spooled++;
		pthread_cond_signal(&mail_here);
		pthread_mutex_unlock(&spool_lock);
	}
	pthread_mutex_lock(&spool_lock);
	closing = 1;
	pthread_cond_broadcast(&mail_here);
	pthread_mutex_unlock(&spool_lock);
	return NULL;
}

/* The caller holds spool_lock. */
static void deliver_one(int number)
{
	usleep(number == 15 ? 30000 : 1000); /* MX lookup */
	pthread_mutex_lock(&domain_lock);
	backoff[number % 4] = 0;
	delivered++;
	pthread_mutex_unlock(&domain_lock);
}

static void *deliver_worker(void *data)
{
	pthread_mutex_lock(&spool_lock);
	for (int number = 0;; number++) {
		while (!spooled && !closing)
			pthread_cond_wait(&mail_here, &spool_lock);
		if (!spooled)
			break;
		spooled--;
		deliver_one(number);
	}
	pthread_mutex_unlock(&spool_lock);
	return NULL;
}

static void expire_domain(int domain)
{
	if (broken) {
		pthread_mutex_lock(&domain_lock);
		backoff[domain]++;
		usleep(20000); /* format the report */
		pthread_mutex_lock(&spool_lock);
	} else {
		usleep(20000);
		pthread_mutex_lock(&spool_lock);
		pthread_mutex_lock(&domain_lock);
		backoff[domain]++;
	}
	bounced++;
	if (!broken)
		pthread_mutex_unlock(&domain_lock);
	pthread_mutex_unlock(&spool_lock);
	if (broken)
		pthread_mutex_unlock(&domain_lock);
}

static void *bounce_worker(void *data)
{
	for (int i = 0; i < 4; i++) {
		usleep(60000);
		expire_domain(i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&threads[0], NULL, accept_worker, NULL);
	pthread_create(&threads[1], NULL, deliver_worker, NULL);
	pthread_create(&threads[2], NULL, bounce_worker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d delivered, %d bounced\n", delivered, bounced);
	return 0;
}
