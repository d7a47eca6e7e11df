/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: tier_shutdown sets the stop flag and signals work_cv only; the uploader sleeps on victim_cv, which nobody signals, and main joins it for ever.
 *   culprit: victim_cv|uploader|upload_loop
 *   victim: main|tier_shutdown
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about colibri: shutdown sets the stop flag and signals one condition, but the uploader may sleep on
 * another one; the join never returns.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t tier_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_cv = PTHREAD_COND_INITIALIZER;
static pthread_cond_t victim_cv = PTHREAD_COND_INITIALIZER;
static pthread_cond_t parked_cv = PTHREAD_COND_INITIALIZER;
static bool stopping, group_open, parked, broken;
static int queued, uploaded;

/* Copies blocks to the device. A block in use by an open group can't be replaced. */
static void *upload_loop(void *unused)
{
	pthread_setname_np(pthread_self(), "uploader");
	pthread_mutex_lock(&tier_mutex);
	while (!stopping) {
		if (!queued) {
			pthread_cond_wait(&work_cv, &tier_mutex);
			continue;
		}
		while (group_open && !stopping) {
			parked = true;
			pthread_cond_signal(&parked_cv);
			pthread_cond_wait(&victim_cv, &tier_mutex);
		}
		if (stopping)
			break;
		queued--;
		uploaded++;
	}
	pthread_mutex_unlock(&tier_mutex);
	return unused;
}

static void queue_block(void)
{
	pthread_mutex_lock(&tier_mutex);
	queued++;
	pthread_cond_signal(&work_cv);
	pthread_mutex_unlock(&tier_mutex);
}

static void set_group(bool open)
{
	pthread_mutex_lock(&tier_mutex);
	group_open = open;
	if (!open)
		pthread_cond_broadcast(&victim_cv);
	pthread_mutex_unlock(&tier_mutex);
}

static void tier_shutdown(pthread_t uploader)
{
	pthread_mutex_lock(&tier_mutex);
	stopping = true;
	pthread_cond_signal(&work_cv);
	if (!broken)
		pthread_cond_broadcast(&victim_cv);
	pthread_mutex_unlock(&tier_mutex);
	pthread_join(uploader, NULL);
}

int main(int argc, char **argv)
{
	pthread_t uploader;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&uploader, NULL, upload_loop, NULL);
	for (int i = 0; i < 10; i++) {
		set_group(true);
		queue_block();
		usleep(5000);
		set_group(false);
	}
	/* An error ends the program while a group is open and a block waits. */
	pthread_mutex_lock(&tier_mutex);
	group_open = true;
	parked = false;
	queued++;
	pthread_cond_signal(&work_cv);
	while (!parked)
		pthread_cond_wait(&parked_cv, &tier_mutex);
	pthread_mutex_unlock(&tier_mutex);
	tier_shutdown(uploader);
	printf("%d blocks\n", uploaded);
	return 0;
}
