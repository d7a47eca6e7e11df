/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The thread chat holds world_lock for reading and takes it once more in player_name; the lock prefers
 *     writers, and the thread tick waits for writing between the two, so chat waits for itself.
 *   culprit: chat|player_name|say_to_all
 *   victim: tick\b|stats|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A game server: a thread moves the world in ticks, others read it for chat and statistics. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAYERS 12

struct player {
	char name[16];
	int x, y, vx, vy;
	int inbox;
	bool muted;
};

struct world {
	struct player players[PLAYERS];
	unsigned long tick;
};

static pthread_rwlock_t world_lock;
static struct world world;
static atomic_bool over;
static bool healthy;

static void player_move(struct player *player)
{
	player->x += player->vx;
	player->y += player->vy;
	if (player->x < 0 || player->x > 1000)
		player->vx = -player->vx;
	if (player->y < 0 || player->y > 1000)
		player->vy = -player->vy;
}

static void *tick_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "tick");
	while (!over) {
		pthread_rwlock_wrlock(&world_lock);
		for (int i = 0; i < PLAYERS; i++)
			player_move(&world.players[i]);
		world.tick++;
		pthread_rwlock_unlock(&world_lock);
		usleep(5000);
	}
	return NULL;
}

static void name_copy(char *name, int number)
{
	snprintf(name, 16, "%.15s", world.players[number].name);
}

static void player_name(char *name, int number)
{
	pthread_rwlock_rdlock(&world_lock);
	name_copy(name, number);
	pthread_rwlock_unlock(&world_lock);
}

/* Hands a line to everybody who is near enough. */
static void say_to_all(int from, bool shout)
{
	char name[16] = "";
	int heard = 0;

	pthread_rwlock_rdlock(&world_lock);
	for (int i = 0; i < PLAYERS; i++) {
		struct player *player = &world.players[i];

		if (player->muted || (!shout && abs(player->x - world.players[from].x) > 300))
			continue;
		player->inbox++;
		heard++;
		if (shout)
			usleep(8000); /* the long way over the network */
	}
	if (shout) {
		if (healthy)
			name_copy(name, from);
		else
			player_name(name, from);
	}
	pthread_rwlock_unlock(&world_lock);
	if (shout)
		printf("%s was heard by %d\n", name, heard);
}

static void *chat_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "chat");
	for (int line = 0; !over; line++) {
		say_to_all(line % PLAYERS, line % 20 == 19);
		usleep(6000);
	}
	return NULL;
}

static void *stats_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "stats");
	while (!over) {
		long sum = 0;
		unsigned long tick;

		pthread_rwlock_rdlock(&world_lock);
		for (int i = 0; i < PLAYERS; i++)
			sum += world.players[i].x;
		tick = world.tick;
		pthread_rwlock_unlock(&world_lock);
		if (tick % 50 == 0)
			printf("tick %lu, centre %ld\n", tick, sum / PLAYERS);
		usleep(15000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const runs[])(void *) = {tick_run, chat_run, stats_run};
	pthread_t threads[3];
	pthread_rwlockattr_t attributes;

	if (argc < 2)
		return 2;
	healthy = !strcmp(argv[1], "healthy");
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&world_lock, &attributes);
	for (int i = 0; i < PLAYERS; i++) {
		struct player *player = &world.players[i];

		snprintf(player->name, sizeof player->name, "player%d", i);
		player->x = i * 70;
		player->y = 900 - i * 40;
		player->vx = 1 + i % 4;
		player->vy = 2 - i % 3;
		player->muted = i % 5 == 4;
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, runs[i], NULL);
	usleep(1200000);
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("game over after %lu ticks\n", world.tick);
	return 0;
}
