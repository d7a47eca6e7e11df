/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: a mail that the relay defers goes to the list of retries. That has four places; mail 23 comes
 *     when it is full and is dropped. Only the mails are annotated.
 *   culprit: mail 23\b
 *   victim: mail (?!23\b)\d+
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	SENDERS = 2,
	LIST = 32
};

struct mail {
	struct mail *next;
	int number;
	int tries;
	thrum_task task;
};

struct mail_queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct mail *first, **end;
};

struct retry_list {
	pthread_mutex_t mutex;
	struct mail *mail[LIST];
	int count, limit;
};

static struct mail_queue outgoing = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&outgoing.first};
static struct retry_list retries = {PTHREAD_MUTEX_INITIALIZER, {NULL}, 0, 4};
static int delivered;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void queue_put(struct mail_queue *queue, struct mail *mail)
{
	pthread_mutex_lock(&queue->mutex);
	mail->next = NULL;
	*queue->end = mail;
	queue->end = &mail->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

static struct mail *queue_get(struct mail_queue *queue)
{
	struct mail *mail;

	pthread_mutex_lock(&queue->mutex);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->mutex);
	mail = queue->first;
	queue->first = mail->next;
	if (!queue->first)
		queue->end = &queue->first;
	pthread_mutex_unlock(&queue->mutex);
	return mail;
}

static bool retry_later(struct retry_list *list, struct mail *mail)
{
	bool has_room;

	pthread_mutex_lock(&list->mutex);
	has_room = list->count < list->limit;
	if (has_room)
		list->mail[list->count++] = mail;
	pthread_mutex_unlock(&list->mutex);
	return has_room;
}

/* Between mails 19 and 23 the relay asks to come again later. */
static bool relay_takes(const struct mail *mail)
{
	pause_ms(4);
	return mail->tries > 1 || mail->number < 19 || mail->number > 23;
}

static void *sender(void *data)
{
	(void)data;
	for (;;) {
		struct mail *mail = queue_get(&outgoing);
		bool is_taken;

		mail->tries++;
		THRUM_RUN (mail->task)
			is_taken = relay_takes(mail);
		if (!is_taken) {
			if (!retry_later(&retries, mail))
				fprintf(stderr, "mail %d: deferred\n", mail->number);
			continue;
		}
		thrum_task_resolve(mail->task);
		__atomic_fetch_add(&delivered, 1, __ATOMIC_RELAXED);
		free(mail);
	}
	return NULL;
}

static void *retrier(void *data)
{
	(void)data;
	for (;;) {
		pause_ms(1200);
		pthread_mutex_lock(&retries.mutex);
		for (int i = 0; i < retries.count; i++)
			queue_put(&outgoing, retries.mail[i]);
		retries.count = 0;
		pthread_mutex_unlock(&retries.mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "healthy"))
		retries.limit = LIST;
	for (int i = 0; i < SENDERS; i++)
		if (pthread_create(&thread, NULL, sender, NULL))
			return 1;
	if (pthread_create(&thread, NULL, retrier, NULL))
		return 1;
	for (int number = 1;; number++) {
		struct mail *mail = calloc(1, sizeof *mail);

		if (!mail)
			return 1;
		mail->number = number;
		mail->task = thrum_task_createf(THRUM_KIND_TASK, "mail %d", number);
		thrum_task_should_resolve(mail->task);
		queue_put(&outgoing, mail);
		/* The first ones come one by one. */
		pause_ms(number >= 19 && number <= 23 ? 50 : 12);
		if (number % 40 == 0)
			fprintf(stderr, "%d of %d delivered\n", delivered, number);
	}
}
