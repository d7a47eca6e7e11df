/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pool_stop sets the flag and wakes only one of the four idle workers, by pthread_cond_signal instead of pthread_cond_broadcast on work_ready. Main waits for the others' ends.
 *   culprit: pool_stop|work_ready
 *   victim: deliver_mail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mail server's pool of delivery threads, from its start to its end. */

#define WORKERS 4
#define MAILS 40

struct mail {
	struct mail *next;
	int number;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_idle = PTHREAD_COND_INITIALIZER;
static struct mail *first, **last = &first;
static pthread_t workers[WORKERS];
static int idle, delivered;
static bool stopping, broken;

static void *deliver_mail(void *unused)
{
	struct mail *mail;

	(void)unused;
	pthread_mutex_lock(&pool_lock);
	for (;;) {
		idle++;
		while (!first && !stopping) {
			if (idle == WORKERS)
				pthread_cond_signal(&all_idle);
			pthread_cond_wait(&work_ready, &pool_lock);
		}
		idle--;
		if (!first)
			break;
		mail = first;
		first = mail->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&pool_lock);
		usleep(2000 + (useconds_t)(mail->number % 3) * 1000);
		free(mail);
		pthread_mutex_lock(&pool_lock);
		delivered++;
	}
	pthread_mutex_unlock(&pool_lock);
	return NULL;
}

static void pool_start(void)
{
	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		pthread_create(&workers[i], NULL, deliver_mail, NULL);
		snprintf(name, sizeof(name), "delivery-%d", i);
		pthread_setname_np(workers[i], name);
	}
}

static void pool_add(int number)
{
	struct mail *mail = malloc(sizeof(*mail));

	if (!mail)
		abort();
	mail->number = number;
	mail->next = NULL;
	pthread_mutex_lock(&pool_lock);
	*last = mail;
	last = &mail->next;
	pthread_cond_signal(&work_ready);
	pthread_mutex_unlock(&pool_lock);
}

/* Waits until the queue is empty and no mail is under way. */
static void pool_drain(void)
{
	pthread_mutex_lock(&pool_lock);
	while (first || idle < WORKERS)
		pthread_cond_wait(&all_idle, &pool_lock);
	pthread_mutex_unlock(&pool_lock);
}

static void pool_stop(void)
{
	pthread_mutex_lock(&pool_lock);
	stopping = true;
	if (broken)
		pthread_cond_signal(&work_ready);
	else
		pthread_cond_broadcast(&work_ready);
	pthread_mutex_unlock(&pool_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	pool_start();
	for (int i = 0; i < MAILS; i++)
		pool_add(i);
	pool_drain();
	pool_stop();
	printf("%d mails delivered\n", delivered);
	return 0;
}
