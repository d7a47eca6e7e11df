/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: One listener, the car radio, has stopped reading. Its socket was never made non-blocking (add_listener
 *     does so for web players only), so send_chunk blocks in write for it, in the middle of the round and with
 *     the mutex of the listeners held. All other listeners get no sound any more.
 *   culprit: send_chunk|car_radio|car radio
 *   victim: web_player|web player|play
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A radio streamer: an encoder makes a chunk of sound each 4 ms, and sends it to all listeners. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 4096
#define LISTENERS 4

struct listener {
	const char *name;
	int server_end, client_end;
	unsigned long sent, dropped;
};

static bool broken;
static struct listener listeners[LISTENERS];
static int listener_count;
static pthread_mutex_t listeners_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_ulong encoded, heard;

static struct listener *add_listener(const char *name, bool web)
{
	struct listener *listener;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return NULL;
	if (web || !broken)
		fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
	pthread_mutex_lock(&listeners_mutex);
	listener = &listeners[listener_count++];
	listener->name = name;
	listener->server_end = ends[0];
	listener->client_end = ends[1];
	pthread_mutex_unlock(&listeners_mutex);
	return listener;
}

/* Those who are too slow miss a chunk. */
static void send_chunk(struct listener *listener, const char *chunk)
{
	ssize_t n = write(listener->server_end, chunk, CHUNK);

	if (n == CHUNK)
		listener->sent++;
	else if (n > 0 || errno == EAGAIN)
		listener->dropped++;
}

static void *encoder(void *data)
{
	char chunk[CHUNK];

	(void)data;
	pthread_setname_np(pthread_self(), "encoder");
	for (;;) {
		usleep(4000);
		memset(chunk, (int)atomic_fetch_add(&encoded, 1), sizeof(chunk));
		pthread_mutex_lock(&listeners_mutex);
		for (int i = 0; i < listener_count; i++)
			send_chunk(&listeners[i], chunk);
		pthread_mutex_unlock(&listeners_mutex);
	}
	return NULL;
}

static void *web_player(void *data)
{
	struct listener *listener = data;
	char sound[CHUNK];

	pthread_setname_np(pthread_self(), "web player");
	while (read(listener->client_end, sound, sizeof(sound)) > 0)
		atomic_fetch_add(&heard, 1);
	return NULL;
}

/* Plays until the car goes into a tunnel, and is paused from then on. */
static void *car_radio(void *data)
{
	struct listener *listener = data;
	char sound[CHUNK];

	pthread_setname_np(pthread_self(), "car radio");
	for (int i = 0; i < 40; i++)
		if (read(listener->client_end, sound, sizeof(sound)) <= 0)
			return NULL;
	for (;;)
		usleep(50000); /* the user interface */
	return NULL;
}

static void *song_titles(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "song titles");
	for (;;) {
		usleep(200000);
		printf("encoded %lu, heard %lu\n", atomic_load(&encoded), atomic_load(&heard));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"kitchen", "office", "garage"};
	pthread_t threads[LISTENERS], encoding, titles;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&threads[0], NULL, web_player, add_listener(names[0], true));
	pthread_create(&threads[1], NULL, car_radio, add_listener("car", false));
	pthread_create(&threads[2], NULL, web_player, add_listener(names[1], true));
	pthread_create(&threads[3], NULL, web_player, add_listener(names[2], true));
	pthread_create(&titles, NULL, song_titles, NULL);
	pthread_create(&encoding, NULL, encoder, NULL);
	pthread_join(encoding, NULL);
	return 0;
}
