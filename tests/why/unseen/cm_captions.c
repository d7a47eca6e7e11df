/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: three studios hand in a clip while the loop saves its word list. libuv makes one call of on_clips of the
 *     three wake-ups, and on_clips takes only one clip from the list. The other two stay there, and their studios
 *     wait for captions.
 *   culprit: on_clips
 *   victim: run_studio|hand_in
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A caption desk: studios hand in clips, the desk transcribes them in libuv's pool and sends captions back. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

enum {
	STUDIOS = 3,
	ROUNDS = 6
};

struct clip {
	struct clip *next;
	unsigned studio, number;
	char caption[48];
	bool is_done;
	pthread_cond_t done;
	uv_work_t work;
};

struct desk {
	uv_loop_t *loop;
	uv_async_t arrived;
	uv_timer_t save;
	uv_timer_t clock;
	pthread_mutex_t lock; /* protects what follows, and the clips */
	struct clip *first, **last;
	unsigned open_studios;
	unsigned captions;
};

static struct desk desk;
static bool broken;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* In the pool. */
static void transcribe(uv_work_t *work)
{
	struct clip *clip = work->data;

	nap(4);
	snprintf(clip->caption, sizeof(clip->caption), "[studio %u, clip %u]", clip->studio,
		clip->number);
}

static void on_transcribed(uv_work_t *work, int status)
{
	struct clip *clip = work->data;

	(void)status;
	pthread_mutex_lock(&desk.lock);
	clip->is_done = true;
	desk.captions++;
	pthread_cond_signal(&clip->done);
	pthread_mutex_unlock(&desk.lock);
}

static struct clip *take_clip(void)
{
	struct clip *clip;

	pthread_mutex_lock(&desk.lock);
	clip = desk.first;
	if (clip) {
		desk.first = clip->next;
		if (!desk.first)
			desk.last = &desk.first;
	}
	pthread_mutex_unlock(&desk.lock);
	return clip;
}

/* A studio has handed something in. */
static void on_clips(uv_async_t *arrived)
{
	struct clip *clip;

	while ((clip = take_clip())) {
		clip->work.data = clip;
		uv_queue_work(arrived->loop, &clip->work, transcribe, on_transcribed);
		if (broken)
			break;
	}
}

/* The word list goes to a slow disk. */
static void on_save(uv_timer_t *timer)
{
	(void)timer;
	nap(150);
	printf("saved the word list\n");
	fflush(stdout);
}

static void on_clock(uv_timer_t *timer)
{
	unsigned open;

	pthread_mutex_lock(&desk.lock);
	open = desk.open_studios;
	printf("%u captions, %u studios\n", desk.captions, open);
	pthread_mutex_unlock(&desk.lock);
	fflush(stdout);
	if (open == 0) {
		uv_close((uv_handle_t *)timer, NULL);
		uv_close((uv_handle_t *)&desk.save, NULL);
		uv_close((uv_handle_t *)&desk.arrived, NULL);
	}
}

/* Gives a clip to the desk and waits for its caption. */
static void hand_in(struct clip *clip)
{
	pthread_mutex_lock(&desk.lock);
	clip->next = NULL;
	clip->is_done = false;
	*desk.last = clip;
	desk.last = &clip->next;
	pthread_mutex_unlock(&desk.lock);
	uv_async_send(&desk.arrived);

	pthread_mutex_lock(&desk.lock);
	while (!clip->is_done)
		pthread_cond_wait(&clip->done, &desk.lock);
	pthread_mutex_unlock(&desk.lock);
}

static void *run_studio(void *data)
{
	struct clip *clip = data;

	nap(25 * clip->studio);
	for (clip->number = 0; clip->number < ROUNDS; clip->number++) {
		hand_in(clip);
		nap(clip->number + 2 < ROUNDS ? 95 : 195);
	}
	pthread_mutex_lock(&desk.lock);
	desk.open_studios--;
	pthread_mutex_unlock(&desk.lock);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct clip clip[STUDIOS];
	pthread_t studio[STUDIOS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	desk.loop = uv_default_loop();
	desk.last = &desk.first;
	desk.open_studios = STUDIOS;
	pthread_mutex_init(&desk.lock, NULL);
	uv_async_init(desk.loop, &desk.arrived, on_clips);
	uv_timer_init(desk.loop, &desk.save);
	uv_timer_start(&desk.save, on_save, 585, 0);
	uv_timer_init(desk.loop, &desk.clock);
	uv_timer_start(&desk.clock, on_clock, 200, 200);
	for (unsigned i = 0; i < STUDIOS; i++) {
		clip[i].studio = i;
		pthread_cond_init(&clip[i].done, NULL);
		pthread_create(&studio[i], NULL, run_studio, &clip[i]);
	}
	uv_run(desk.loop, UV_RUN_DEFAULT);
	for (unsigned i = 0; i < STUDIOS; i++)
		pthread_join(studio[i], NULL);
	printf("done: %u captions\n", desk.captions);
	return 0;
}
