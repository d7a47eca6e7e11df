/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The decoder process gives slots back in groups of four, and goes to sleep in take_sample without
 *     giving back those that it has taken. The capture process sees a full ring, and both wait for each
 *     other.
 *   culprit: take_sample
 *   victim: put_sample|run_capture
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A capture process hands samples to a decoder process over a ring in shared memory. A third one reports. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 16
#define GROUP 4 /* slots that the decoder gives back at once */
#define BURSTS 60

struct sample {
	uint32_t number, size;
	unsigned char bytes[248];
};

struct ring {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	uint32_t head, tail; /* slots ever filled, and ever given back */
	uint32_t decoded;
	bool is_closed;
	struct sample slots[SLOTS];
};

static struct ring *ring;
static bool careful;

static struct ring *map_ring(void)
{
	pthread_mutexattr_t lock_type;
	pthread_condattr_t cond_type;
	struct ring *made;

	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	pthread_mutexattr_init(&lock_type);
	pthread_mutexattr_setpshared(&lock_type, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&made->lock, &lock_type);
	pthread_condattr_init(&cond_type);
	pthread_condattr_setpshared(&cond_type, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&made->filled, &cond_type);
	pthread_cond_init(&made->emptied, &cond_type);
	return made;
}

/* A burst goes into the ring as a whole, so that the decoder never sees a part of a packet. */
static void put_samples(uint32_t first, uint32_t count)
{
	pthread_mutex_lock(&ring->lock);
	while (SLOTS - (ring->head - ring->tail) < count)
		pthread_cond_wait(&ring->emptied, &ring->lock);
	for (uint32_t i = 0; i < count; i++) {
		struct sample *slot = &ring->slots[(ring->head + i) % SLOTS];

		slot->number = first + i;
		slot->size = 32 + (first + i) % 200;
		memset(slot->bytes, (int)(first & 0xff), slot->size);
	}
	ring->head += count;
	pthread_cond_signal(&ring->filled);
	pthread_mutex_unlock(&ring->lock);
}

static void give_back(uint32_t slots)
{
	pthread_mutex_lock(&ring->lock);
	ring->tail += slots;
	pthread_cond_signal(&ring->emptied);
	pthread_mutex_unlock(&ring->lock);
}

/* `*taken` counts the slots that are taken and not given back yet. Returns false at the end. */
static bool take_sample(uint32_t *taken, struct sample *sample)
{
	pthread_mutex_lock(&ring->lock);
	while (ring->head == ring->tail + *taken) {
		if (ring->is_closed) {
			pthread_mutex_unlock(&ring->lock);
			return false;
		}
		if (careful && *taken) {
			ring->tail += *taken;
			*taken = 0;
			pthread_cond_signal(&ring->emptied);
		}
		pthread_cond_wait(&ring->filled, &ring->lock);
	}
	*sample = ring->slots[(ring->tail + *taken) % SLOTS];
	pthread_mutex_unlock(&ring->lock);
	if (++*taken == GROUP) {
		give_back(*taken);
		*taken = 0;
	}
	return true;
}

static void run_capture(void)
{
	uint32_t number = 0;

	for (int burst = 0; burst < BURSTS; burst++) {
		/* Keyframes are big. */
		uint32_t count = burst % 20 == 13 ? 15 : 1 + (uint32_t)burst % 3;

		put_samples(number, count);
		number += count;
		usleep(1500);
	}
	pthread_mutex_lock(&ring->lock);
	ring->is_closed = true;
	pthread_cond_broadcast(&ring->filled);
	pthread_mutex_unlock(&ring->lock);
}

static void run_decoder(void)
{
	struct sample sample;
	uint32_t taken = 0, sum = 0;

	while (take_sample(&taken, &sample)) {
		for (uint32_t i = 0; i < sample.size; i++)
			sum += sample.bytes[i];
		__atomic_store_n(&ring->decoded, sample.number + 1, __ATOMIC_RELAXED);
	}
	fprintf(stderr, "sum %u\n", sum);
}

static void run_reporter(void)
{
	while (!__atomic_load_n(&ring->is_closed, __ATOMIC_RELAXED))
		usleep(20000);
	usleep(5000);
}

static pid_t start_process(const char *name, void (*run)(void))
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	return child;
}

int main(int argc, char **argv)
{
	int failed = 0, status;

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	ring = map_ring();
	if (!ring)
		return 1;
	start_process("decoder", run_decoder);
	start_process("capture", run_capture);
	start_process("reporter", run_reporter);
	while (wait(&status) > 0)
		failed += status != 0;
	printf("decoded %u samples\n", ring->decoded);
	return failed;
}
