/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: multi_perform reads the wake-up that add_transfer sent, so multi_poll finds nothing and the queued transfer is never begun.
 *   culprit: multi_perform|wakeup|wake-up
 *   victim: download 2
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about curl: since a release curl_multi_perform swallows wake-ups; a program whose other thread adds a
 * transfer and wakes the loop then blocks in curl_multi_poll for ever.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <thrum.h>
#include <unistd.h>

enum {
	DOWNLOADS = 4
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task queue[DOWNLOADS], wakeup;
static int queued, begun, wakeup_fd, waiting;
static bool broken;
static sem_t added, finished;

static void add_transfer(int number)
{
	uint64_t one = 1;

	pthread_mutex_lock(&queue_mutex);
	queue[queued] = thrum_task_createf(THRUM_KIND_REQUEST, "download %d", number);
	thrum_task_should_resolve(queue[queued++]);
	thrum_task_signal(wakeup, (unsigned)waiting);
	pthread_mutex_unlock(&queue_mutex);
	if (write(wakeup_fd, &one, sizeof one) < 0)
		perror("wakeup");
}

/* Moves the transfers on that the loop knows. */
static void multi_perform(void)
{
	uint64_t count;

	/* The new release also tidies up the descriptor here. */
	if (broken && read(wakeup_fd, &count, sizeof count) > 0)
		thrum_task_read(thrum_task_current(), wakeup);
}

static void multi_poll(void)
{
	struct pollfd ready = {.fd = wakeup_fd, .events = POLLIN};
	uint64_t count;

	pthread_mutex_lock(&queue_mutex);
	waiting = 1;
	thrum_task_wait(thrum_task_current(), wakeup);
	pthread_mutex_unlock(&queue_mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(&ready, 1, -1);
	thrum_resume();
	pthread_mutex_lock(&queue_mutex);
	waiting = 0;
	pthread_mutex_unlock(&queue_mutex);
	if (read(wakeup_fd, &count, sizeof count) > 0)
		thrum_task_read(thrum_task_current(), wakeup);
}

static void *transfer_loop(void *unused)
{
	thrum_task task = THRUM_TASK_NONE;
	bool found;

	thrum_lane_name("transfer loop");
	while (begun < DOWNLOADS) {
		multi_poll();
		for (;;) {
			pthread_mutex_lock(&queue_mutex);
			found = begun < queued;
			if (found)
				task = queue[begun++];
			pthread_mutex_unlock(&queue_mutex);
			if (!found)
				break;
			THRUM_RUN (task)
				usleep(2000);
			thrum_task_resolve(task);
			sem_post(&finished);
			if (begun == 1)
				break;
		}
		/* The program adds the next one in this moment. */
		if (begun == 1)
			sem_wait(&added);
		multi_perform();
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t loop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&added, 0, 0);
	sem_init(&finished, 0, 0);
	wakeup_fd = eventfd(0, EFD_NONBLOCK);
	wakeup = thrum_task_create(THRUM_KIND_MAILBOX, "wakeup");
	pthread_create(&loop, NULL, transfer_loop, NULL);
	for (int i = 1; i <= DOWNLOADS; i++) {
		add_transfer(i);
		if (i == 2)
			sem_post(&added);
		sem_wait(&finished);
	}
	pthread_join(loop, NULL);
	printf("%d downloads\n", begun);
	return 0;
}
