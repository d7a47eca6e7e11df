/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: encode_film runs in libuv's pool of four threads and waits there (uv_sem_wait) for its segments, which are queued
 *     for the same pool. When four films are encoded at a time, no thread is left for any segment.
 *   culprit: encode_film|encode_segment|segments_done
 *   victim: progress_tick|film_done
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Encodes films for a media library: each film is split into segments, which are encoded in parallel. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define FILMS 6
#define SEGMENTS 5

struct film;

struct segment {
	uv_work_t work;
	struct film *film;
	unsigned number;
	unsigned long checksum;
};

struct film {
	uv_work_t work;
	uv_async_t split; /* the film has been read, its segments can be queued */
	uv_sem_t segments_done;
	char name[32];
	bool inlined; /* encode the segments in the film's own thread */
	struct segment segment[SEGMENTS];
	unsigned long checksum;
};

static uv_loop_t *loop;
static uv_timer_t progress;
static unsigned finished, started;
static bool one_thread_each;

static void encode_samples(struct segment *segment)
{
	unsigned long sum = segment->number + 1;

	for (unsigned i = 0; i < 200000; i++)
		sum = sum * 6364136223846793005ul + segment->film->name[i % 6];
	segment->checksum = sum;
	usleep(5000); /* the hardware encoder */
}

static void encode_segment(uv_work_t *work)
{
	struct segment *segment = work->data;

	encode_samples(segment);
	uv_sem_post(&segment->film->segments_done);
}

static void queue_segments(uv_async_t *split)
{
	struct film *film = split->data;

	for (unsigned i = 0; i < SEGMENTS; i++) {
		film->segment[i].work.data = &film->segment[i];
		uv_queue_work(loop, &film->segment[i].work, encode_segment, NULL);
	}
}

/* Reads the film, has it encoded, and muxes the segments into one file. */
static void encode_film(uv_work_t *work)
{
	struct film *film = work->data;

	usleep(10000); /* demux */
	for (unsigned i = 0; i < SEGMENTS; i++) {
		film->segment[i].film = film;
		film->segment[i].number = i;
	}
	if (film->inlined) {
		for (unsigned i = 0; i < SEGMENTS; i++)
			encode_samples(&film->segment[i]);
	} else {
		uv_async_send(&film->split);
		for (unsigned i = 0; i < SEGMENTS; i++)
			uv_sem_wait(&film->segments_done);
	}
	for (unsigned i = 0; i < SEGMENTS; i++)
		film->checksum ^= film->segment[i].checksum;
}

static void film_done(uv_work_t *work, int status)
{
	struct film *film = work->data;

	printf("%s: %s, %016lx\n", film->name, status ? uv_strerror(status) : "done",
		film->checksum);
	uv_close((uv_handle_t *)&film->split, NULL);
	if (++finished == FILMS)
		uv_close((uv_handle_t *)&progress, NULL);
}

static void add_film(struct film *film)
{
	snprintf(film->name, sizeof(film->name), "film-%u.mkv", ++started);
	film->inlined = one_thread_each;
	film->work.data = film;
	film->split.data = film;
	uv_sem_init(&film->segments_done, 0);
	uv_async_init(loop, &film->split, queue_segments);
	uv_queue_work(loop, &film->work, encode_film, film_done);
}

static void progress_tick(uv_timer_t *timer)
{
	(void)timer;
	printf("%u of %u films\n", finished, started);
}

int main(int argc, char **argv)
{
	static struct film film[FILMS];

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	one_thread_each = strcmp(argv[1], "broken") != 0;
	loop = uv_default_loop();
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, progress_tick, 100, 100);
	for (unsigned i = 0; i < FILMS; i++)
		add_film(&film[i]);
	uv_run(loop, UV_RUN_DEFAULT);
	for (unsigned i = 0; i < FILMS; i++)
		uv_sem_destroy(&film[i].segments_done);
	uv_loop_close(loop);
	puts("library encoded");
	return 0;
}
