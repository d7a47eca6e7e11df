/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the thread "disk writer" (write_frames) counts the sources when it begins; the microphone is slow, and "audio"
 *     registers later. So the writer ends after the end mark of "video", and nobody empties the mailbox "to disk", into
 *     which "audio" goes on to put frames; main ("record") waits for "audio".
 *   culprit: disk writer|write_frames
 *   victim: \baudio\b|\brecord\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Records video and audio: two encoders put frames into a mailbox, which a writer empties; each frame is acknowledged. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

THRUM_TAG(device, NULL, "wait for the device", 1);

static void pause_ms(unsigned ms, struct thrum_tag *tag)
{
	thrum_suspend(tag);
	usleep(ms * 1000);
	thrum_resume();
}

/* ---- Mailboxes -------------------------------------------------------------------------------------------- */

struct frame {
	struct source *source;
	unsigned number;
	bool is_end;
};

#define ROOM 6

struct mailbox {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct frame frames[ROOM];
	unsigned first, count, readers;
	thrum_task task;
};

static void mailbox_init(struct mailbox *mailbox, const char *name)
{
	pthread_mutex_init(&mailbox->mutex, NULL);
	pthread_cond_init(&mailbox->changed, NULL);
	mailbox->task = thrum_task_create(THRUM_KIND_MAILBOX, name);
}

/* The caller holds the mutex, and found the mailbox full or empty. */
static void mailbox_wait(struct mailbox *mailbox)
{
	thrum_task_wait(thrum_task_current(), mailbox->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&mailbox->changed, &mailbox->mutex);
	thrum_resume();
}

static void mailbox_put(struct mailbox *mailbox, struct frame frame)
{
	pthread_mutex_lock(&mailbox->mutex);
	while (mailbox->count == ROOM)
		mailbox_wait(mailbox);
	mailbox->frames[(mailbox->first + mailbox->count++) % ROOM] = frame;
	thrum_task_signal(mailbox->task, mailbox->readers);
	pthread_cond_broadcast(&mailbox->changed);
	pthread_mutex_unlock(&mailbox->mutex);
}

static struct frame mailbox_take(struct mailbox *mailbox)
{
	struct frame frame;

	pthread_mutex_lock(&mailbox->mutex);
	mailbox->readers++;
	while (mailbox->count == 0)
		mailbox_wait(mailbox);
	mailbox->readers--;
	frame = mailbox->frames[mailbox->first++ % ROOM];
	mailbox->count--;
	thrum_task_read(thrum_task_current(), mailbox->task);
	pthread_cond_broadcast(&mailbox->changed);
	pthread_mutex_unlock(&mailbox->mutex);
	return frame;
}

/* ---- Sources ------------------------------------------------------------------------------------------------ */

struct source {
	const char *name;
	unsigned opens_ms, frames, every_ms;
	pthread_mutex_t mutex;
	pthread_cond_t acknowledged;
	unsigned in_flight, written;
	thrum_task own;    /* of its thread */
	thrum_task window; /* CONDITION: fewer frames are in flight */
	unsigned waiters;
};

#define WINDOW 8

static struct mailbox to_disk;
static unsigned registered; /* sources that write frames */
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t started;

static void await_window(struct source *source)
{
	pthread_mutex_lock(&source->mutex);
	while (source->in_flight == WINDOW) {
		source->waiters++;
		thrum_task_wait(thrum_task_current(), source->window);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&source->acknowledged, &source->mutex);
		thrum_resume();
		thrum_task_read(thrum_task_current(), source->window);
	}
	source->in_flight++;
	pthread_mutex_unlock(&source->mutex);
}

static void acknowledge(struct source *source)
{
	pthread_mutex_lock(&source->mutex);
	source->in_flight--;
	source->written++;
	thrum_task_signal(source->window, source->waiters);
	if (source->waiters > 0)
		source->waiters--;
	pthread_cond_signal(&source->acknowledged);
	pthread_mutex_unlock(&source->mutex);
}

static __attribute__((noinline)) void open_device(struct source *source)
{
	pause_ms(source->opens_ms, &device);
	pthread_mutex_lock(&names);
	registered++;
	pthread_mutex_unlock(&names);
}

static void *encode(void *data)
{
	struct source *source = data;

	thrum_lane_name(source->name);
	source->own = thrum_task_current();
	thrum_task_should_resolve(source->own);
	pthread_barrier_wait(&started);
	open_device(source);
	for (unsigned i = 1; i <= source->frames; i++) {
		pause_ms(source->every_ms, &device);
		await_window(source);
		mailbox_put(&to_disk, (struct frame){source, i, false});
	}
	mailbox_put(&to_disk, (struct frame){source, 0, true});
	return NULL;
}

/* ---- The writer --------------------------------------------------------------------------------------------- */

static unsigned count_sources(void)
{
	unsigned count;

	pthread_mutex_lock(&names);
	count = registered;
	pthread_mutex_unlock(&names);
	return count;
}

static __attribute__((noinline)) void write_frames(void)
{
	unsigned sources = count_sources();

	while (sources > 0) {
		struct frame frame = mailbox_take(&to_disk);

		if (frame.is_end) {
			sources--;
			continue;
		}
		usleep(500);
		acknowledge(frame.source);
	}
}

static void *disk_writer(void *data)
{
	(void)data;
	thrum_lane_name("disk writer");
	pause_ms(200, &device); /* the disk spins up */
	write_frames();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct source sources[2] = {
		{.name = "video", .frames = 20, .every_ms = 12},
		{.name = "audio", .frames = 25, .every_ms = 8},
	};
	pthread_t encoders[2], writer;
	thrum_task record;

	if (thrum_start(NULL))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "broken"))
		sources[1].opens_ms = 600; /* a microphone over radio */
	mailbox_init(&to_disk, "to disk");
	pthread_barrier_init(&started, NULL, 3);
	for (unsigned i = 0; i < 2; i++) {
		pthread_mutex_init(&sources[i].mutex, NULL);
		pthread_cond_init(&sources[i].acknowledged, NULL);
		sources[i].window = thrum_task_create(THRUM_KIND_CONDITION,
			i ? "audio's window" : "video's window");
		pthread_create(&encoders[i], NULL, encode, &sources[i]);
	}
	pthread_barrier_wait(&started);
	pthread_create(&writer, NULL, disk_writer, NULL);
	record = thrum_task_create(THRUM_KIND_TASK, "record");
	thrum_task_should_resolve(record);
	THRUM_RUN (record) {
		for (unsigned i = 0; i < 2; i++) {
			thrum_task_wait(record, sources[i].own);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_join(encoders[i], NULL);
			thrum_resume();
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_join(writer, NULL);
		thrum_resume();
		thrum_task_resolve(record);
	}
	thrum_stop();
	printf("video %u, audio %u\n", sources[0].written, sources[1].written);
	return sources[0].written == 20 && sources[1].written == 25 ? 0 : 1;
}
