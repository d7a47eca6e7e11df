/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: finish_seek in the decoder signals player_cond once, though the output waits on the same condition
 *          for chunks. The signal wakes the output, which sleeps again; it should have been a broadcast.
 *   culprit: finish_seek
 *   victim: (seek_to|answer_client)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A music daemon: a client thread sends commands, the decoder makes chunks, the output plays them. */
#define CHUNKS 60
#define PIPE 8

enum command {
	NONE,
	PLAY,
	SEEK,
	QUIT
};

static pthread_mutex_t player_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t player_cond = PTHREAD_COND_INITIALIZER; /* chunks, and the ends of commands */
static pthread_cond_t decoder_cond =
	PTHREAD_COND_INITIALIZER; /* commands and room, for the decoder */
static enum command command;
static int chunks[PIPE], first, count;
static int position, played, seeks;
static bool paused, quitting;
static bool healthy;

static void clear_pipe(void)
{
	first = count = 0;
}

/* The caller holds player_lock. */
static void finish_seek(int target)
{
	clear_pipe();
	position = target;
	paused = true; /* until the client says play */
	seeks++;
	command = NONE;
	if (healthy)
		pthread_cond_broadcast(&player_cond);
	else
		pthread_cond_signal(&player_cond);
}

static void finish_command(void)
{
	command = NONE;
	pthread_cond_broadcast(&player_cond);
}

static void *decode(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&player_lock);
	while (!quitting) {
		switch (command) {
		case SEEK:
			pthread_mutex_unlock(&player_lock);
			usleep(6000); /* find the frame in the file */
			pthread_mutex_lock(&player_lock);
			finish_seek(20 * (seeks + 1));
			continue;
		case PLAY:
			paused = false;
			finish_command();
			continue;
		case QUIT:
			quitting = true;
			finish_command();
			continue;
		default: break;
		}
		if (paused || count == PIPE || position == CHUNKS) {
			pthread_cond_wait(&decoder_cond, &player_lock);
			continue;
		}
		chunks[(first + count++) % PIPE] = position++;
		pthread_cond_broadcast(&player_cond);
	}
	pthread_mutex_unlock(&player_lock);
	return NULL;
}

static void *play_output(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&player_lock);
	for (;;) {
		while (count == 0 && !quitting)
			pthread_cond_wait(&player_cond, &player_lock);
		if (quitting)
			break;
		played += chunks[first] >= 0;
		first = (first + 1) % PIPE;
		count--;
		pthread_cond_signal(&decoder_cond);
		pthread_mutex_unlock(&player_lock);
		usleep(800); /* the sound card takes the chunk */
		pthread_mutex_lock(&player_lock);
	}
	pthread_mutex_unlock(&player_lock);
	return NULL;
}

/* Gives the decoder a command and waits until it is done. */
static void send_command(enum command wanted)
{
	pthread_mutex_lock(&player_lock);
	command = wanted;
	pthread_cond_signal(&decoder_cond);
	while (command != NONE)
		pthread_cond_wait(&player_cond, &player_lock);
	pthread_mutex_unlock(&player_lock);
}

static void seek_to(int part)
{
	/* The song has run out: the output has nothing to play. */
	usleep(60000);
	send_command(SEEK);
	printf("client: part %d\n", part);
	send_command(PLAY);
}

static void *answer_client(void *unused)
{
	(void)unused;
	send_command(PLAY);
	for (int part = 1; part <= 2; part++)
		seek_to(part);
	usleep(60000);
	send_command(QUIT);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t decoder, output, client;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	paused = true;
	pthread_create(&decoder, NULL, decode, NULL);
	pthread_create(&output, NULL, play_output, NULL);
	usleep(10000);
	pthread_create(&client, NULL, answer_client, NULL);
	pthread_join(client, NULL);
	pthread_join(decoder, NULL);
	pthread_join(output, NULL);
	printf("daemon: played %d chunks, %d seeks\n", played, seeks);
	return 0;
}
