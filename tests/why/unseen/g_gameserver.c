/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The sockets are watched with EPOLLONESHOT. When a message comes in two pieces, handle_input (in a thread net-1 or net-2) returns after the first piece without arming the socket again, so the server never reads the second piece, and player-3 waits for its answer for ever.
 *   culprit: handle_input|net-\d|serve_players
 *   victim: player-3|play\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A game server: two network threads serve players over sockets with epoll; a timer moves the world. */
#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PLAYERS 5
#define ROUNDS 8
#define MESSAGE 64

struct player {
	int number, client, server;
	unsigned moves;
	size_t have; /* bytes of the next message that the server has */
	char message[MESSAGE];
	bool mobile; /* sends a message's header first */
	pthread_t thread;
};

static struct player players[PLAYERS];
static int epoll_set, tick, closing;
static bool keep_watching;
static atomic_uint world_time;
static int tick_tag, closing_tag;

static void pause_ms(long milliseconds)
{
	struct timespec time = {0, milliseconds * 1000000};

	nanosleep(&time, NULL);
}

static void watch(struct player *player, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT};

	event.data.ptr = player;
	epoll_ctl(epoll_set, operation, player->server, &event);
}

static void answer_move(struct player *player)
{
	unsigned now = world_time;

	player->moves++;
	player->have = 0;
	send(player->server, &now, sizeof(now), MSG_NOSIGNAL);
}

/* Reads what a player has sent; answers once that is a whole message. */
static void handle_input(struct player *player)
{
	ssize_t size = recv(player->server, player->message + player->have, MESSAGE - player->have,
		MSG_DONTWAIT);

	if (size == 0 || (size < 0 && errno != EAGAIN)) {
		close(player->server); /* has left the game */
		return;
	}
	if (size > 0)
		player->have += size;
	if (player->have < MESSAGE) {
		if (keep_watching)
			watch(player, EPOLL_CTL_MOD);
		return;
	}
	answer_move(player);
	watch(player, EPOLL_CTL_MOD);
}

static void move_world(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &tick_tag};
	uint64_t times;

	if (read(tick, &times, sizeof(times)) == sizeof(times))
		world_time += times;
	epoll_ctl(epoll_set, EPOLL_CTL_MOD, tick, &event);
}

static void *serve_players(void *data)
{
	struct epoll_event event;

	pthread_setname_np(pthread_self(), data);
	for (;;) {
		if (epoll_wait(epoll_set, &event, 1, -1) < 1)
			continue;
		if (event.data.ptr == &closing_tag)
			return NULL;
		if (event.data.ptr == &tick_tag)
			move_world();
		else
			handle_input(event.data.ptr);
	}
}

/* A phone sends the header, and the rest when the network has taken that. */
static void send_slowly(int socket, const char *message)
{
	int left = 1;

	send(socket, message, 8, MSG_NOSIGNAL);
	while (ioctl(socket, SIOCOUTQ, &left) == 0 && left > 0)
		pause_ms(2);
	pause_ms(5);
	send(socket, message + 8, MESSAGE - 8, MSG_NOSIGNAL);
}

static void *play(void *data)
{
	struct player *player = data;
	char name[16], message[MESSAGE];
	unsigned now;

	snprintf(name, sizeof(name), "player-%d", player->number);
	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < ROUNDS; round++) {
		if (player->number == 4 && round == 3)
			break; /* leaves */
		memset(message, 'a' + round, sizeof(message));
		if (player->mobile && round >= 4)
			send_slowly(player->client, message);
		else
			send(player->client, message, MESSAGE, MSG_NOSIGNAL);
		if (recv(player->client, &now, sizeof(now), 0) != sizeof(now))
			break;
		pause_ms(3 + 2 * player->number); /* thinks */
	}
	close(player->client);
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 20000000}, {0, 20000000}};
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &tick_tag};
	pthread_t net[2];
	uint64_t one = 1;
	int pair[2];

	keep_watching = argc < 2 || strcmp(argv[1], "broken");
	epoll_set = epoll_create1(EPOLL_CLOEXEC);
	tick = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	closing = eventfd(0, EFD_NONBLOCK);
	timerfd_settime(tick, 0, &every, NULL);
	epoll_ctl(epoll_set, EPOLL_CTL_ADD, tick, &event);
	event = (struct epoll_event){.events = EPOLLIN, .data.ptr = &closing_tag};
	epoll_ctl(epoll_set, EPOLL_CTL_ADD, closing, &event);
	pthread_create(&net[0], NULL, serve_players, "net-1");
	pthread_create(&net[1], NULL, serve_players, "net-2");
	for (int i = 0; i < PLAYERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		players[i] = (struct player){.number = i + 1,
			.client = pair[0],
			.server = pair[1],
			.mobile = i == 2};
		watch(&players[i], EPOLL_CTL_ADD);
		pthread_create(&players[i].thread, NULL, play, &players[i]);
	}
	for (int i = 0; i < PLAYERS; i++)
		pthread_join(players[i].thread, NULL);
	if (write(closing, &one, sizeof(one)) != sizeof(one))
		return 1;
	pthread_join(net[0], NULL);
	pthread_join(net[1], NULL);
	fprintf(stderr, "the world is %u ticks old\n", world_time);
	return players[2].moves == ROUNDS ? 0 : 1;
}
