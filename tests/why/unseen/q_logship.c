/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Two kinds of waiters share the condition queue_changed, and a new line signals only one of them. The thread rotate_when_drained takes the wake-up that was meant for ship_lines, finds that the file isn't drained and waits again; ship_lines sleeps on with a line in the queue, and tail_file waits for the acknowledgement.
 *   culprit: rotate_when_drained
 *   victim: ship_lines|tail_file|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINES 20

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;
static int queued, acked, rotated, broken;

static void *ship_lines(void *unused)
{
	for (int i = 0; i < LINES; i++) {
		pthread_mutex_lock(&queue_lock);
		while (!queued)
			pthread_cond_wait(&queue_changed, &queue_lock);
		queued--;
		pthread_mutex_unlock(&queue_lock);
		usleep(2000); /* send it */
		pthread_mutex_lock(&queue_lock);
		acked++;
		pthread_cond_signal(&acknowledged);
		if (acked == LINES)
			pthread_cond_broadcast(&queue_changed);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

static void *rotate_when_drained(void *unused)
{
	usleep(60000);
	pthread_mutex_lock(&queue_lock);
	while (acked < LINES)
		pthread_cond_wait(&queue_changed, &queue_lock);
	rotated = 1;
	pthread_mutex_unlock(&queue_lock);
	return unused;
}

static void *tail_file(void *unused)
{
	for (int i = 0; i < LINES; i++) {
		usleep(8000); /* inotify */
		pthread_mutex_lock(&queue_lock);
		queued++;
		if (broken)
			pthread_cond_signal(&queue_changed);
		else
			pthread_cond_broadcast(&queue_changed);
		while (acked <= i) /* audit lines must not get lost */
			pthread_cond_wait(&acknowledged, &queue_lock);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t shipper, rotator, tailer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&shipper, NULL, ship_lines, NULL);
	pthread_create(&rotator, NULL, rotate_when_drained, NULL);
	pthread_create(&tailer, NULL, tail_file, NULL);
	pthread_join(tailer, NULL);
	pthread_join(shipper, NULL);
	pthread_join(rotator, NULL);
	printf("%d shipped, rotated %d\n", acked, rotated);
	return 0;
}
