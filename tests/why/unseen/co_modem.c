/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Frames have numbers of four bits. The thread base (take_frame) takes each number that isn't greater than the last
 *     for a repeated frame, and drops it without an acknowledgement. After number 15 comes 0, so it is silent from
 *     there on, and reads the next frame; the thread telemetry waits in send_frame for the acknowledgement.
 *   culprit: take_frame|run_base|thread base
 *   victim: telemetry|send_frame|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A weather balloon: its telemetry sends positions to the base, frame by frame, over a reliable radio line. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NUMBERS 16
#define FRAMES 40
#define FIXES_MAX 8

struct frame {
	uint8_t number;
	uint8_t length;
	int32_t latitude;
	int32_t longitude;
	int32_t height;
};

struct fix {
	int32_t latitude, longitude, height;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t fresh;
	struct fix ring[FIXES_MAX];
	unsigned put, taken;
	bool landed;
} fixes = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0, 0, 0}}, 0, 0, false};

static int line[2]; /* the balloon's end and the base's */
static bool broken;
static int highest;

/* Measures; the oldest fix is lost if nobody takes it. */
static void *run_gps(void *data)
{
	struct fix now = {47100, 8500, 400};
	bool landed = false;

	(void)data;
	while (!landed) {
		usleep(12000);
		now.latitude += 3;
		now.longitude -= 2;
		now.height += 25;
		pthread_mutex_lock(&fixes.lock);
		fixes.ring[fixes.put++ % FIXES_MAX] = now;
		if (fixes.put - fixes.taken > FIXES_MAX)
			fixes.taken = fixes.put - FIXES_MAX;
		pthread_cond_signal(&fixes.fresh);
		landed = fixes.landed;
		pthread_mutex_unlock(&fixes.lock);
	}
	return NULL;
}

static struct fix next_fix(void)
{
	struct fix fix;

	pthread_mutex_lock(&fixes.lock);
	while (fixes.put == fixes.taken)
		pthread_cond_wait(&fixes.fresh, &fixes.lock);
	fix = fixes.ring[fixes.taken++ % FIXES_MAX];
	pthread_mutex_unlock(&fixes.lock);
	return fix;
}

/* Sends a frame, and waits until the base has it. */
static bool send_frame(const struct frame *frame)
{
	uint8_t answer;

	if (write(line[0], frame, sizeof *frame) != (ssize_t)sizeof *frame)
		return false;
	return read(line[0], &answer, 1) == 1 && answer == frame->number;
}

static void *run_telemetry(void *data)
{
	(void)data;
	for (int i = 0; i < FRAMES; i++) {
		struct fix fix = next_fix();
		struct frame frame = {(uint8_t)(i % NUMBERS), sizeof frame, fix.latitude,
			fix.longitude, fix.height};

		if (!send_frame(&frame))
			break;
	}
	shutdown(line[0], SHUT_WR);
	return NULL;
}

/* Whether a frame is newer than the last one. */
static bool is_new(int number, int last)
{
	int ahead = (number - last + NUMBERS) % NUMBERS;

	if (broken)
		return number > last;
	return ahead > 0 && ahead < NUMBERS / 2;
}

static void take_frame(const struct frame *frame, int *last)
{
	if (!is_new(frame->number, *last))
		return;
	*last = frame->number;
	if (frame->height > highest)
		highest = frame->height;
	if (write(line[1], &frame->number, 1) != 1)
		perror("base");
}

static void *run_base(void *data)
{
	struct frame frame;
	int last = -1;

	(void)data;
	while (read(line[1], &frame, sizeof frame) == (ssize_t)sizeof frame)
		take_frame(&frame, &last);
	return NULL;
}

static pthread_t start(void *(*run)(void *), const char *name)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t gps, telemetry, base;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, line))
		return 1;
	base = start(run_base, "base");
	gps = start(run_gps, "gps");
	telemetry = start(run_telemetry, "telemetry");
	pthread_join(telemetry, NULL);
	pthread_mutex_lock(&fixes.lock);
	fixes.landed = true;
	pthread_mutex_unlock(&fixes.lock);
	pthread_join(gps, NULL);
	pthread_join(base, NULL);
	printf("landed; highest %d m\n", highest);
	return 0;
}
