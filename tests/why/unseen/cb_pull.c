/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: mpv #7787 (WASAPI broken: the pull API got a lock, and a command that waits for the audio thread is sent
 *     while it is held). The player (ao_command, called by ao_resume) holds buffer_lock and waits until the
 *     audio thread has run the command. The command thread_resume feeds the device at once, and ao_read_data
 *     needs buffer_lock. So each waits for the other, one for a lock and one for an answer.
 *   culprit: buffer_lock|ao_command|ao_resume|dispatch_run
 *   victim: demuxer
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A player's audio output: the device's thread pulls samples from a buffer, and runs commands of the player. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct command {
	void (*run)(int argument);
	int argument;
	bool done;
	struct command *next;
};

static bool fixed;
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned buffered; /* samples, under buffer_lock */
static unsigned played;   /* under buffer_lock */

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t command_done = PTHREAD_COND_INITIALIZER;
static struct command *queue; /* under queue_lock */
static bool quits;            /* under queue_lock */

/* Belong to the audio thread. */
static bool playing;
static int volume;
static bool muted;

static unsigned ao_read_data(unsigned count)
{
	pthread_mutex_lock(&buffer_lock);
	if (count > buffered)
		count = buffered;
	buffered -= count;
	played += count;
	pthread_mutex_unlock(&buffer_lock);
	return count;
}

static void thread_feed(void)
{
	unsigned wanted = 480;

	while (wanted) {
		unsigned got = ao_read_data(wanted);

		if (!got)
			break; /* an underrun: the device plays silence */
		wanted -= got;
	}
}

static void thread_set_volume(int argument)
{
	volume = argument;
}

static void thread_mute(int argument)
{
	muted = argument;
}

static void thread_resume(int argument)
{
	(void)argument;
	playing = true;
	thread_feed();
}

static void thread_pause(int argument)
{
	(void)argument;
	playing = false;
}

static void *audio_thread(void *data)
{
	struct timespec until;
	struct command *command;

	(void)data;
	pthread_mutex_lock(&queue_lock);
	while (!quits) {
		while ((command = queue)) {
			queue = command->next;
			pthread_mutex_unlock(&queue_lock);
			command->run(command->argument);
			pthread_mutex_lock(&queue_lock);
			command->done = true;
			pthread_cond_broadcast(&command_done);
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 10000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&queue_changed, &queue_lock, &until);
		if (playing) {
			pthread_mutex_unlock(&queue_lock);
			thread_feed();
			pthread_mutex_lock(&queue_lock);
		}
	}
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

/* Runs a function in the audio thread, and waits for it. */
static void dispatch_run(void (*run)(int), int argument)
{
	struct command command = {.run = run, .argument = argument};
	struct command **end;

	pthread_mutex_lock(&queue_lock);
	for (end = &queue; *end; end = &(*end)->next)
		continue;
	*end = &command;
	pthread_cond_signal(&queue_changed);
	while (!command.done)
		pthread_cond_wait(&command_done, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

/* The buffer must not change while the device is told. */
static void ao_command(void (*run)(int), int argument)
{
	if (!fixed)
		pthread_mutex_lock(&buffer_lock);
	dispatch_run(run, argument);
	if (!fixed)
		pthread_mutex_unlock(&buffer_lock);
}

static void ao_resume(void)
{
	ao_command(thread_resume, 0);
}

static void ao_pause(void)
{
	ao_command(thread_pause, 0);
}

static void *demuxer_thread(void *data)
{
	(void)data;
	for (;;) {
		usleep(10000);
		pthread_mutex_lock(&buffer_lock);
		if (buffered < 48000)
			buffered += 480;
		pthread_mutex_unlock(&buffer_lock);
	}
	return NULL;
}

static void *video_thread(void *data)
{
	volatile unsigned *frames = data;

	for (;;) {
		usleep(40000);
		++*frames;
	}
	return NULL;
}

static pthread_t start(const char *name, void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data))
		exit(1);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	static unsigned frames;
	pthread_t audio;
	int i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	audio = start("audio", audio_thread, NULL);
	start("demuxer", demuxer_thread, NULL);
	start("video", video_thread, &frames);
	/* The user moves the sliders before the film begins. */
	for (i = 0; i < 10; i++) {
		ao_command(i % 3 ? thread_set_volume : thread_mute, i % 3 ? 10 * i : 0);
		usleep(30000);
	}
	printf("volume %d\n", volume);
	fflush(stdout);
	ao_resume();
	usleep(700000);
	ao_pause();
	pthread_mutex_lock(&queue_lock);
	quits = true;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
	pthread_join(audio, NULL);
	printf("played %u samples, %u frames\n", played, frames);
	return 0;
}
