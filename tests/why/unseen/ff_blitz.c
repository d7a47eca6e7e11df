/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: White has used exactly all of its 1000 ms. start_clock arms the timerfd with the 0 ms that are left, which
 *     disarms it; so the flag never falls, and the server and both players wait for ever.
 *   culprit: start_clock|timerfd|clock|\bmain\b|run_game
 *   victim: white|black|play
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A server for quick games of draughts. Each player has 1000 ms of thinking for the whole game. A move says how long the
 * player thought, so that the network's delay isn't counted. A player loses when the time is up.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BANK 1000

/* ---- The players ---- */

struct player {
	const char *name;
	int socket;
	const int *thinks; /* how long it thinks about each move; 0: it has no idea what to move */
	pthread_t thread;
};

static void *play(void *data)
{
	struct player *player = data;
	char line[32];
	ssize_t size;

	for (int move = 0;;) {
		size = read(player->socket, line, sizeof(line) - 1);
		if (size <= 0)
			break;
		line[size] = '\0';
		if (strncmp(line, "turn", 4))
			break; /* won or lost */
		if (player->thinks[move] == 0)
			continue; /* thinks until its time is up */
		dprintf(player->socket, "move %d %d\n", move, player->thinks[move]);
		move++;
	}
	return NULL;
}

/* ---- The server ---- */

static struct {
	int epoll, clock;
	int socket[2]; /* of white and black */
	int left[2];
	int turn;
	int loser; /* -1: nobody yet */
} game = {.left = {BANK, BANK}, .loser = -1};

static void start_clock(bool broken)
{
	int left = game.left[game.turn];
	struct itimerspec due = {.it_value = {.tv_nsec = left * 1000000L}};

	if (!broken && left <= 0)
		due.it_value.tv_nsec = 1;
	timerfd_settime(game.clock, 0, &due, NULL);
}

static void give_turn(int player, bool broken)
{
	game.turn = player;
	start_clock(broken);
	if (write(game.socket[player], "turn\n", 5) != 5)
		perror("turn");
}

static void on_move(int player, bool broken)
{
	char line[32];
	int move, thought;
	ssize_t size = read(game.socket[player], line, sizeof(line) - 1);

	if (size <= 0)
		return;
	line[size] = '\0';
	if (sscanf(line, "move %d %d", &move, &thought) != 2 || player != game.turn)
		return;
	game.left[player] -= thought;
	give_turn(!player, broken);
}

static void on_flag(void)
{
	uint64_t count;

	if (read(game.clock, &count, sizeof(count)) == sizeof(count))
		game.loser = game.turn;
}

static void watch(int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};

	epoll_ctl(game.epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void run_game(bool broken)
{
	struct epoll_event event;

	give_turn(0, broken);
	while (game.loser < 0) {
		if (epoll_wait(game.epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == game.clock)
			on_flag();
		else
			on_move(event.data.fd == game.socket[1], broken);
	}
	for (int i = 0; i < 2; i++)
		if (write(game.socket[i], i == game.loser ? "lost\n" : "won\n", 4) < 0)
			perror("end");
}

int main(int argc, char **argv)
{
	static const int white_thinks[] = {400, 350, 250, 0},
			 black_thinks[] = {200, 200, 150, 100, 0};
	struct player players[2] = {{.name = "white", .thinks = white_thinks},
		{.name = "black", .thinks = black_thinks}};
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	int ends[2];

	game.epoll = epoll_create1(EPOLL_CLOEXEC);
	game.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	watch(game.clock);
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
			return 1;
		game.socket[i] = ends[0];
		players[i].socket = ends[1];
		watch(ends[0]);
		pthread_create(&players[i].thread, NULL, play, &players[i]);
		pthread_setname_np(players[i].thread, players[i].name);
	}
	run_game(broken);
	for (int i = 0; i < 2; i++)
		pthread_join(players[i].thread, NULL);
	printf("%s has lost on time\n", players[game.loser].name);
	return 0;
}
