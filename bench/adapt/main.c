/* SPDX-License-Identifier: ISC */
/*
 * The price of `thrum record` in a program that knows nothing of thrum: runs itself in turn with and
 * without it, and prints ns for each operation, the best of many short rounds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 5 /* of each program */
#define ROUNDS 200
#define TURNS 10000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER; /* for whose condition a worker waits */
static pthread_cond_t jobs = PTHREAD_COND_INITIALIZER, answers = PTHREAD_COND_INITIALIZER;
static int asked, answered;
static sem_t semaphore, places, ping, pong;
static int blocking[2], other[2], file;
static char bytes[4096];

/* ---- The operations -------------------------------------------------------------------------- */

static void mutex_pair(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void read_pair(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void signal_nobody(void)
{
	pthread_cond_signal(&condition);
}

static void place_pair(void)
{
	sem_wait(&places);
	sem_post(&places);
}

static void semaphore_pair(void)
{
	sem_post(&semaphore);
	sem_wait(&semaphore);
}

/* Two threads wake each other in turn. */
static void hand_over(void)
{
	sem_post(&ping);
	sem_wait(&pong);
}

static void queue_pair(void)
{
	pthread_mutex_lock(&queue);
	pthread_mutex_unlock(&queue);
}

static void ask(void)
{
	pthread_mutex_lock(&queue);
	asked++;
	pthread_cond_signal(&jobs);
	while (answered < asked)
		pthread_cond_wait(&answers, &queue);
	pthread_mutex_unlock(&queue);
}

static void move(const int fds[2], size_t size)
{
	if (write(fds[1], bytes, size) != (ssize_t)size ||
		read(fds[0], bytes, size) != (ssize_t)size)
		abort();
}

static void move_byte(void)
{
	move(blocking, 1);
}

static void move_page(void)
{
	move(blocking, sizeof bytes);
}

static void move_without_waiting(void)
{
	move(other, 1);
}

static void read_file(void)
{
	if (read(file, bytes, 1) < 0)
		abort();
}

static const struct {
	const char *name;
	void (*run)(void);
	int turns;
} operations[] = {
	{"mutex, lock and unlock", mutex_pair, TURNS},
	{"rwlock, rdlock and unlock", read_pair, TURNS},
	{"condition, signal without a waiter", signal_nobody, TURNS},
	{"semaphore, post and wait", semaphore_pair, TURNS},
	{"semaphore with a place, wait and post", place_pair, TURNS},
	{"two threads wake each other", hand_over, TURNS / 100},
	{"the same by conditions", ask, TURNS / 100},
	{"mutex while another waits so", queue_pair, TURNS},
	{"pipe, write and read a byte", move_byte, TURNS / 10},
	{"pipe, write and read a page", move_page, TURNS / 10},
	{"pipe with O_NONBLOCK, a byte", move_without_waiting, TURNS / 10},
	{"file, read a byte", read_file, TURNS / 10},
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *answer(void *unused)
{
	for (;;) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return unused;
}

static void *work(void *unused)
{
	pthread_mutex_lock(&queue);
	for (;;) {
		while (answered == asked)
			pthread_cond_wait(&jobs, &queue);
		answered = asked;
		pthread_cond_signal(&answers);
	}
	return unused;
}

/* In a thread, since a program with one thread has no use for locks. */
static void *measure(void *unused)
{
	for (size_t i = 0; i < OPERATIONS; i++) {
		double best = 1e9;

		for (int round = 0; round < ROUNDS; round++) {
			double start = now();

			for (int turn = 0; turn < operations[i].turns; turn++)
				operations[i].run();
			double each = (now() - start) / operations[i].turns;

			best = each < best ? each : best;
		}
		printf("%f\n", best);
	}
	return unused;
}

static int run_operations(void)
{
	pthread_t thread, answerer, worker;

	sem_init(&semaphore, 0, 0);
	sem_init(&places, 0, 1);
	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	file = open("/proc/self/exe", O_RDONLY);
	if (file < 0 || pipe(blocking) != 0 || pipe2(other, O_NONBLOCK) != 0)
		return 1;
	if (pthread_create(&answerer, NULL, answer, NULL) != 0 ||
		pthread_create(&worker, NULL, work, NULL) != 0 ||
		pthread_create(&thread, NULL, measure, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

/* ---- Both kinds of runs ---------------------------------------------------------------------- */

/* Runs a command and keeps the best times. */
static int keep_best(const char *command, double best[OPERATIONS])
{
	FILE *output = popen(command, "r");
	size_t got = 0;
	double each;

	if (!output)
		return 1;
	for (; got < OPERATIONS && fscanf(output, "%lf", &each) == 1; got++)
		best[got] = each < best[got] ? each : best[got];
	return pclose(output) != 0 || got < OPERATIONS;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], plain[PATH_MAX + 16], recorded[3 * PATH_MAX];
	double without[OPERATIONS], with[OPERATIONS];
	ssize_t length;
	int status = 0;

	(void)argv;
	if (argc > 1)
		return run_operations();
	length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length <= 0)
		return 1;
	self[length] = '\0';
	snprintf(plain, sizeof plain, "%s run", self);
	snprintf(recorded, sizeof recorded,
		"%.*s/../../thrum record --size=16M -o /dev/shm/bench-adapt-%%p.thrum -- %s run "
		"2>/dev/null; rm -f /dev/shm/bench-adapt-*.thrum",
		(int)(strrchr(self, '/') - self), self, self);
	for (size_t i = 0; i < OPERATIONS; i++)
		without[i] = with[i] = 1e9;
	for (int run = 0; run < RUNS && status == 0; run++)
		status = keep_best(plain, without) || keep_best(recorded, with);
	printf("%-36s %10s %10s %10s\n", "ns", "without", "recorded", "more");
	for (size_t i = 0; i < OPERATIONS; i++)
		printf("%-36s %10.1f %10.1f %10.1f\n", operations[i].name, without[i], with[i],
			with[i] - without[i]);
	return status;
}
