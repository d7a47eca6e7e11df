/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: allocate_large asks for a collection, stops for it, and only then reads the number of collections and waits for the next one; the condition "world started" was signalled by the collection that it wanted before it waits. No other collection comes, so "decode image" waits for ever.
 *   culprit: decode image|allocate_large|world started
 *   victim: render album|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A virtual machine that stops its threads for each collection. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t requested, world_started;
	thrum_task started; /* the condition's task */
	unsigned waiters;   /* for the start of the world */
	int running, collections;
	bool wanted, stopping, exit;
} vm = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.requested = PTHREAD_COND_INITIALIZER,
	.world_started = PTHREAD_COND_INITIALIZER};

static bool broken;

/* The caller holds the mutex. */
static void wait_for_world(void)
{
	vm.waiters++;
	thrum_task_wait(thrum_task_current(), vm.started);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&vm.world_started, &vm.mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), vm.started);
}

static void *collect(void *unused)
{
	(void)unused;
	thrum_lane_name("collector");
	pthread_mutex_lock(&vm.mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!vm.exit && !(vm.wanted && vm.running == 0))
			pthread_cond_wait(&vm.requested, &vm.mutex);
		thrum_resume();
		if (vm.exit)
			break;
		usleep(2000);
		vm.collections++;
		vm.wanted = vm.stopping = false;
		thrum_task_signal(vm.started, vm.waiters);
		vm.waiters = 0;
		pthread_cond_broadcast(&vm.world_started);
	}
	pthread_mutex_unlock(&vm.mutex);
	return NULL;
}

/* Stops while a collection is wanted. The caller holds the mutex. */
static void stop_here(void)
{
	vm.running--;
	pthread_cond_signal(&vm.requested);
	while (vm.stopping)
		wait_for_world();
	vm.running++;
}

static void safepoint(void)
{
	pthread_mutex_lock(&vm.mutex);
	if (vm.stopping)
		stop_here();
	pthread_mutex_unlock(&vm.mutex);
}

/* The caller holds the mutex. */
static void request_collection(void)
{
	vm.wanted = vm.stopping = true;
	pthread_cond_signal(&vm.requested);
}

/* The common way: asks, and waits until one more collection has been made. */
static void allocate_small(void)
{
	int before;

	pthread_mutex_lock(&vm.mutex);
	before = vm.collections;
	request_collection();
	while (vm.collections == before)
		stop_here();
	pthread_mutex_unlock(&vm.mutex);
}

/* For objects that have pages of their own. */
static void allocate_large(void)
{
	int before;

	pthread_mutex_lock(&vm.mutex);
	before = vm.collections;
	request_collection();
	pthread_mutex_unlock(&vm.mutex);
	safepoint();
	pthread_mutex_lock(&vm.mutex);
	if (broken)
		before = vm.collections;
	vm.running--; /* the stack is known here; a collection needn't wait for this thread */
	while (vm.collections == before)
		wait_for_world();
	vm.running++;
	pthread_mutex_unlock(&vm.mutex);
}

static void change_running(int change)
{
	pthread_mutex_lock(&vm.mutex);
	/* A thread doesn't begin while the world is stopped. */
	while (change > 0 && vm.stopping)
		wait_for_world();
	vm.running += change;
	pthread_cond_signal(&vm.requested);
	pthread_mutex_unlock(&vm.mutex);
}

static void *lay_out(void *name)
{
	thrum_lane_name(name);
	change_running(1);
	for (int i = 0; i < 12; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "lay out page %d", i);

		THRUM_RUN (task) {
			usleep(1500);
			safepoint();
			if (i % 4 == 3)
				allocate_small();
			thrum_task_resolve(task);
		}
	}
	change_running(-1);
	return NULL;
}

static void *decode_image(void *task)
{
	thrum_lane_name("image decoder");
	change_running(1);
	THRUM_RUN (*(thrum_task *)task) {
		usleep(3000);
		allocate_large();
		usleep(3000);
		thrum_task_resolve(*(thrum_task *)task);
	}
	change_running(-1);
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[2][16] = {"layout left", "layout right"};
	pthread_t collector, layout[2], decoder;
	thrum_task album, image;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	vm.started = thrum_task_create(THRUM_KIND_CONDITION, "world started");
	album = thrum_task_create(THRUM_KIND_TASK, "render album");
	thrum_task_should_resolve(album);
	pthread_create(&collector, NULL, collect, NULL);
	THRUM_RUN (album) {
		for (int i = 0; i < 2; i++)
			pthread_create(&layout[i], NULL, lay_out, names[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(layout[i], NULL);
		image = thrum_task_create(THRUM_KIND_TASK, "decode image");
		thrum_task_should_resolve(image);
		pthread_create(&decoder, NULL, decode_image, &image);
		thrum_task_wait(album, image);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_join(decoder, NULL);
		thrum_resume();
		thrum_task_read(album, image);
		thrum_task_resolve(album);
	}
	pthread_mutex_lock(&vm.mutex);
	vm.exit = true;
	pthread_cond_signal(&vm.requested);
	pthread_mutex_unlock(&vm.mutex);
	pthread_join(collector, NULL);
	printf("%d collections\n", vm.collections);
	thrum_stop();
	return 0;
}
