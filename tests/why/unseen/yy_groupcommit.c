/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_flush_timer returns early when a checkpoint is on and doesn't arm the timer again. As the batch
 *   	isn't empty, queue_commit doesn't arm it either, and the sessions wait for a flush that nobody
 *   	starts.
 *   culprit: on_flush_timer|arm_flush_timer|flush_timer
 *   victim: session-|wait_for_flush|commit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SESSIONS 4
#define COMMITS 100
#define FLUSH_DELAY_US 2000
#define CHECKPOINT_EVERY_US 60000

enum {
	EV_COMMIT,
	EV_FLUSH,
	EV_CHECKPOINT,
	EV_QUIT
};

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_flushed = PTHREAD_COND_INITIALIZER;
static unsigned long log_end, flushed_to;
static int epfd, commit_fd, flush_timer, checkpoint_timer, quit_fd;
static int batch, flushes, checkpoints;
static bool checkpointing;
static FILE *log_file;
static bool broken;

static uint64_t take(int fd)
{
	uint64_t n = 0;
	return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

static void notify(int fd)
{
	uint64_t one = 1;
	if (write(fd, &one, sizeof one) < 0)
		perror("eventfd");
}

static void arm_flush_timer(void)
{
	struct itimerspec once = {{0, 0}, {0, FLUSH_DELAY_US * 1000}};
	timerfd_settime(flush_timer, 0, &once, NULL);
}

/* The first commit of a batch starts the clock, later ones join it. */
static void queue_commit(void)
{
	int n = (int)take(commit_fd);
	if (n == 0)
		return;
	if (batch == 0)
		arm_flush_timer();
	batch += n;
}

static void flush_log(void)
{
	pthread_mutex_lock(&log_mutex);
	unsigned long end = log_end;
	pthread_mutex_unlock(&log_mutex);
	fprintf(log_file, "batch of %d up to %lu\n", batch, end);
	fflush(log_file);
	batch = 0;
	flushes++;
	pthread_mutex_lock(&log_mutex);
	flushed_to = end;
	pthread_cond_broadcast(&log_flushed);
	pthread_mutex_unlock(&log_mutex);
}

static void on_flush_timer(void)
{
	if (take(flush_timer) == 0)
		return;
	if (checkpointing) {
		/* The checkpoint has the log file; try again later. */
		if (!broken)
			arm_flush_timer();
		return;
	}
	flush_log();
}

static void on_checkpoint_timer(void)
{
	take(checkpoint_timer);
	checkpointing = !checkpointing;
	if (checkpointing)
		checkpoints++;
	/* A checkpoint takes a while. */
	long us = checkpointing ? 12000 : CHECKPOINT_EVERY_US;
	struct itimerspec once = {{0, 0}, {0, us * 1000}};
	timerfd_settime(checkpoint_timer, 0, &once, NULL);
}

static void *log_writer(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "log-writer");
	for (;;) {
		struct epoll_event evs[4];
		int n = epoll_wait(epfd, evs, 4, -1);
		for (int i = 0; i < n; i++) {
			switch (evs[i].data.u32) {
			case EV_COMMIT: queue_commit(); break;
			case EV_FLUSH: on_flush_timer(); break;
			case EV_CHECKPOINT: on_checkpoint_timer(); break;
			default: return NULL;
			}
		}
	}
}

static void wait_for_flush(unsigned long lsn)
{
	pthread_mutex_lock(&log_mutex);
	while (flushed_to < lsn)
		pthread_cond_wait(&log_flushed, &log_mutex);
	pthread_mutex_unlock(&log_mutex);
}

static void *session(void *arg)
{
	char name[16];
	snprintf(name, sizeof name, "session-%ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < COMMITS; i++) {
		usleep(400 * (1 + (unsigned)(i + (long)arg) % 4));
		pthread_mutex_lock(&log_mutex);
		unsigned long lsn = log_end += 120;
		pthread_mutex_unlock(&log_mutex);
		notify(commit_fd);
		wait_for_flush(lsn);
	}
	return NULL;
}

static int add(int fd, uint32_t what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};
	epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev);
	return fd;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	log_file = fopen("/dev/null", "w");
	epfd = epoll_create1(EPOLL_CLOEXEC);
	commit_fd = add(eventfd(0, EFD_NONBLOCK), EV_COMMIT);
	flush_timer = add(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), EV_FLUSH);
	checkpoint_timer = add(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), EV_CHECKPOINT);
	quit_fd = add(eventfd(0, EFD_NONBLOCK), EV_QUIT);
	struct itimerspec first = {{0, 0}, {0, CHECKPOINT_EVERY_US * 1000}};
	timerfd_settime(checkpoint_timer, 0, &first, NULL);
	pthread_t writer, sessions[SESSIONS];
	pthread_create(&writer, NULL, log_writer, NULL);
	for (long i = 0; i < SESSIONS; i++)
		pthread_create(&sessions[i], NULL, session, (void *)i);
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i], NULL);
	notify(quit_fd);
	pthread_join(writer, NULL);
	printf("%d commits in %d flushes, %d checkpoints\n", SESSIONS * COMMITS, flushes,
		checkpoints);
	return 0;
}
