/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: outbox_retry takes the due time of a retry from CLOCK_REALTIME, but the condition counts
 *     CLOCK_MONOTONIC: the thread "deliver" sleeps in outbox_pop for some fifty years, and main waits in
 *     outbox_wait_empty for the letter
 *   culprit: outbox_retry|outbox_pop|deliver
 *   victim: main|outbox_wait_empty|outbox.*empty
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * The outbox of a mail relay: letters are delivered when they are due, and tried again later if the
 * peer is busy.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct letter {
	struct letter *next;
	int number;
	int attempts;
	struct timespec due;
};

struct outbox {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_cond_t empty;
	struct letter *letters; /* by the time they are due */
	int pending;
	int delivered;
	bool closing;
	clockid_t clock;
};

struct policy {
	clockid_t retry_clock;
	int backoff_ms;
};

static struct outbox outbox;
static struct policy policy = {CLOCK_MONOTONIC, 60};

static struct timespec time_in(clockid_t clock, int milliseconds)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += milliseconds / 1000;
	time.tv_nsec += milliseconds % 1000 * 1000000L;
	if (time.tv_nsec >= 1000000000L) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000L;
	}
	return time;
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static void outbox_init(struct outbox *box)
{
	pthread_condattr_t attributes;

	box->clock = CLOCK_MONOTONIC;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, box->clock);
	pthread_mutex_init(&box->lock, NULL);
	pthread_cond_init(&box->changed, &attributes);
	pthread_cond_init(&box->empty, NULL);
	pthread_condattr_destroy(&attributes);
}

static void outbox_insert(struct outbox *box, struct letter *letter)
{
	struct letter **place = &box->letters;

	while (*place && !earlier(&letter->due, &(*place)->due))
		place = &(*place)->next;
	letter->next = *place;
	*place = letter;
	pthread_cond_signal(&box->changed);
}

static void outbox_post(struct outbox *box, int number)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	if (!letter)
		abort();
	letter->number = number;
	letter->due = time_in(box->clock, 5);
	pthread_mutex_lock(&box->lock);
	box->pending++;
	outbox_insert(box, letter);
	pthread_mutex_unlock(&box->lock);
}

static void outbox_retry(struct outbox *box, struct letter *letter)
{
	letter->due = time_in(policy.retry_clock, policy.backoff_ms * letter->attempts);
	pthread_mutex_lock(&box->lock);
	outbox_insert(box, letter);
	pthread_mutex_unlock(&box->lock);
}

static struct letter *outbox_pop(struct outbox *box)
{
	struct letter *letter = NULL;

	pthread_mutex_lock(&box->lock);
	for (;;) {
		struct timespec now, due;

		if (!box->letters) {
			if (box->closing)
				break;
			pthread_cond_wait(&box->changed, &box->lock);
			continue;
		}
		clock_gettime(box->clock, &now);
		due = box->letters->due;
		if (!earlier(&now, &due)) {
			letter = box->letters;
			box->letters = letter->next;
			break;
		}
		pthread_cond_timedwait(&box->changed, &box->lock, &due);
	}
	pthread_mutex_unlock(&box->lock);
	return letter;
}

static void outbox_done(struct outbox *box, struct letter *letter)
{
	pthread_mutex_lock(&box->lock);
	box->delivered++;
	if (!--box->pending)
		pthread_cond_broadcast(&box->empty);
	pthread_mutex_unlock(&box->lock);
	free(letter);
}

static void outbox_wait_empty(struct outbox *box)
{
	pthread_mutex_lock(&box->lock);
	while (box->pending)
		pthread_cond_wait(&box->empty, &box->lock);
	pthread_mutex_unlock(&box->lock);
}

static void outbox_close(struct outbox *box)
{
	pthread_mutex_lock(&box->lock);
	box->closing = true;
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->lock);
}

/* The peer answers 451 to every seventh letter when it sees it first: greylisting. */
static int smtp_send(struct letter *letter)
{
	struct timespec time = {0, 4000000L};

	nanosleep(&time, NULL);
	return letter->number % 7 == 6 && letter->attempts == 1 ? 451 : 250;
}

static void *deliver(void *data)
{
	struct outbox *box = data;
	struct letter *letter;

	while ((letter = outbox_pop(box))) {
		letter->attempts++;
		if (smtp_send(letter) == 250)
			outbox_done(box, letter);
		else
			outbox_retry(box, letter);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	pthread_t thread;

	if (!strcmp(mode, "broken"))
		policy.retry_clock = CLOCK_REALTIME;
	outbox_init(&outbox);
	if (pthread_create(&thread, NULL, deliver, &outbox))
		return 2;
	pthread_setname_np(thread, "deliver");
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 5; i++)
			outbox_post(&outbox, round * 5 + i);
		outbox_wait_empty(&outbox);
	}
	outbox_close(&outbox);
	pthread_join(thread, NULL);
	printf("%d letters delivered\n", outbox.delivered);
	return outbox.delivered == 20 ? 0 : 1;
}
