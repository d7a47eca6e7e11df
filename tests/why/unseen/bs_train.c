/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: Four trains stand in the four blocks of the ring, and each keeps its block until the next one is free. So
 *     no train can ever move. One train less must be let onto the ring (admit_to_ring).
 *   culprit: enter_block|block (north|east|south|west)|drive_round|run_train
 *   victim: signal_box|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A ring line with four blocks. A train holds its block until it has the next one. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 4
#define TRAINS 4
#define LAPS 6

struct block {
	const char *name;
	pthread_mutex_t token;
};

struct train {
	const char *name;
	int start;
	pthread_t thread;
};

static struct block ring[BLOCKS] = {
	{"north", PTHREAD_MUTEX_INITIALIZER},
	{"east", PTHREAD_MUTEX_INITIALIZER},
	{"south", PTHREAD_MUTEX_INITIALIZER},
	{"west", PTHREAD_MUTEX_INITIALIZER},
};
static struct train trains[TRAINS] = {
	{.name = "S1", .start = 0},
	{.name = "S2", .start = 1},
	{.name = "RE7", .start = 2},
	{.name = "IC90", .start = 3},
};
static sem_t ring_places;
static atomic_long kilometres;
static atomic_bool closing_time;

static void enter_block(struct block *block)
{
	pthread_mutex_lock(&block->token);
}

static void leave_block(struct block *block)
{
	pthread_mutex_unlock(&block->token);
}

/* A train comes out of the depot only while the ring has room. */
static void admit_to_ring(void)
{
	sem_wait(&ring_places);
}

static void drive_round(struct train *train)
{
	int here = train->start;

	enter_block(&ring[here]);
	for (int i = 0; i < BLOCKS; i++) {
		int next = (here + 1) % BLOCKS;

		usleep(25000);
		enter_block(&ring[next]);
		leave_block(&ring[here]);
		here = next;
		atomic_fetch_add(&kilometres, 3);
	}
	leave_block(&ring[here]);
}

static void *run_train(void *data)
{
	struct train *train = data;

	pthread_setname_np(pthread_self(), train->name);
	for (int lap = 0; lap < LAPS; lap++) {
		admit_to_ring();
		drive_round(train);
		sem_post(&ring_places);
	}
	return NULL;
}

/* Reports to the control centre. */
static void *telemetry(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "telemetry");
	while (!atomic_load(&closing_time)) {
		usleep(100000);
		printf("%ld km\n", atomic_load(&kilometres));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t reporter;

	sem_init(&ring_places, 0, broken ? BLOCKS : BLOCKS - 1);
	pthread_create(&reporter, NULL, telemetry, NULL);
	for (int i = 0; i < TRAINS; i++)
		pthread_create(&trains[i].thread, NULL, run_train, &trains[i]);
	for (int i = 0; i < TRAINS; i++)
		pthread_join(trains[i].thread, NULL);
	atomic_store(&closing_time, true);
	pthread_join(reporter, NULL);
	puts("service closed");
	return 0;
}
