/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The third clip has no known codec, so the player asks its loop to quit before the thread media-loop has entered loop_run; loop_run begins with quit = false and throws the wake-up away, so the request is lost. media-loop sleeps in epoll_wait for ever and close_player (main) waits to join it.
 *   culprit: media-loop|loop_run|play_clip
 *   victim: \bmain\b|close_player
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Plays short clips. Each player has a thread with an event loop of its own. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct loop {
	pthread_mutex_t mutex;
	int epoll, wake, clock;
	bool quit;
};

struct player {
	struct loop loop;
	pthread_t thread;
	pthread_mutex_t graph; /* held while the graph of decoders is built */
	const char *clip;
	int frames_left;
};

static bool broken;

static void loop_init(struct loop *loop)
{
	struct epoll_event event = {.events = EPOLLIN};

	pthread_mutex_init(&loop->mutex, NULL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->quit = false;
	event.data.fd = loop->wake;
	epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event);
	event.data.fd = loop->clock;
	epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->clock, &event);
}

static void loop_quit(struct loop *loop)
{
	uint64_t one = 1;

	pthread_mutex_lock(&loop->mutex);
	loop->quit = true;
	pthread_mutex_unlock(&loop->mutex);
	if (write(loop->wake, &one, sizeof one) != sizeof one)
		perror("wake");
}

static bool loop_wants_to_quit(struct loop *loop)
{
	bool quit;

	pthread_mutex_lock(&loop->mutex);
	quit = loop->quit;
	pthread_mutex_unlock(&loop->mutex);
	return quit;
}

/* Runs until somebody asks it to quit. */
static void loop_run(struct loop *loop, void (*on_tick)(struct player *), struct player *player)
{
	struct epoll_event event;
	uint64_t count;

	if (broken) {
		/* So that a loop can be run again after it has quit. */
		pthread_mutex_lock(&loop->mutex);
		loop->quit = false;
		pthread_mutex_unlock(&loop->mutex);
		while (read(loop->wake, &count, sizeof count) > 0)
			continue;
	}
	while (!loop_wants_to_quit(loop)) {
		if (epoll_wait(loop->epoll, &event, 1, -1) != 1)
			continue;
		if (read(event.data.fd, &count, sizeof count) == sizeof count &&
			event.data.fd == loop->clock)
			on_tick(player);
	}
}

static void show_frame(struct player *player)
{
	if (--player->frames_left == 0)
		loop_quit(&player->loop);
}

static void *play_clip(void *data)
{
	struct player *player = data;

	pthread_setname_np(pthread_self(), "media-loop");
	pthread_mutex_lock(&player->graph); /* waits until the graph is complete */
	pthread_mutex_unlock(&player->graph);
	loop_run(&player->loop, show_frame, player);
	return NULL;
}

static bool build_graph(struct player *player)
{
	struct itimerspec rate = {.it_interval.tv_nsec = 4000000, .it_value.tv_nsec = 4000000};

	if (!strstr(player->clip, ".mp4"))
		return false;
	player->frames_left = 12;
	timerfd_settime(player->loop.clock, 0, &rate, NULL);
	return true;
}

static void open_player(struct player *player, const char *clip)
{
	player->clip = clip;
	loop_init(&player->loop);
	pthread_mutex_init(&player->graph, NULL);
	pthread_mutex_lock(&player->graph);
	pthread_create(&player->thread, NULL, play_clip, player);
	if (!build_graph(player)) {
		printf("%s: no codec\n", clip);
		loop_quit(&player->loop);
	}
	pthread_mutex_unlock(&player->graph);
}

static void close_player(struct player *player)
{
	pthread_join(player->thread, NULL);
	close(player->loop.epoll);
	close(player->loop.wake);
	close(player->loop.clock);
}

int main(int argc, char **argv)
{
	static const char *const clips[] = {"chime.mp4", "intro.mp4", "advert.xyz", "outro.mp4"};
	struct player player;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
		open_player(&player, clips[i]);
		close_player(&player);
		printf("%s: done\n", clips[i]);
	}
	return 0;
}
