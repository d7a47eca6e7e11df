/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: The ring of events has room for eight in a tick. The spell firestorm kills eight rats and then the dragon in one
 *     tick; post_event finds the ring full, and kill_monster ignores that it failed. So nobody resolves
 *     "death of dragon", and the quest that waits for it never ends. The rest of the game goes on.
 *   culprit: death of dragon|post_event|kill_monster|firestorm
 *   victim: quest of the knight
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The scripts of a game: quests wait for the deaths of monsters, and spells kill these. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define EVENTS_MAX 8
#define MONSTERS_MAX 64
#define QUESTS_MAX 16
#define TICK_MS 20
#define TICKS 70

struct monster {
	char name[24];
	thrum_task death;
	bool alive;
	bool told; /* its death was dispatched */
};

struct quest {
	thrum_task task;
	const struct monster *prey;
	bool open;
};

static struct game {
	struct monster monsters[MONSTERS_MAX];
	int monster_count;
	struct quest quests[QUESTS_MAX];
	struct monster *events[EVENTS_MAX];
	int event_count;
	int done;
} game;

static bool broken;

static void dispatch_events(void);

static struct monster *spawn(const char *kind, int number)
{
	struct monster *monster = &game.monsters[game.monster_count++ % MONSTERS_MAX];

	if (number)
		snprintf(monster->name, sizeof monster->name, "%s %d", kind, number);
	else
		snprintf(monster->name, sizeof monster->name, "%s", kind);
	monster->death = thrum_task_createf(THRUM_KIND_PROMISE, "death of %s", monster->name);
	monster->alive = true;
	monster->told = false;
	return monster;
}

static void begin_quest(const char *hero, const struct monster *prey)
{
	struct quest *quest = game.quests;

	while (quest->open)
		quest++;
	quest->task = thrum_task_createf(THRUM_KIND_FIBER, "quest of the %s", hero);
	thrum_task_should_resolve(quest->task);
	thrum_task_wait(quest->task, prey->death);
	quest->prey = prey;
	quest->open = true;
}

/* Puts an event into the ring of this tick. */
static bool post_event(struct monster *monster)
{
	if (game.event_count == EVENTS_MAX) {
		if (broken)
			return false;
		dispatch_events();
	}
	game.events[game.event_count++] = monster;
	return true;
}

static void kill_monster(struct monster *monster)
{
	if (!monster->alive)
		return;
	monster->alive = false;
	post_event(monster);
}

static void end_quest(struct quest *quest)
{
	THRUM_RUN (quest->task) {
		thrum_task_read(quest->task, quest->prey->death);
		quest->open = false;
		game.done++;
		thrum_task_resolve(quest->task);
	}
}

static void tell_quests(const struct monster *monster)
{
	for (int i = 0; i < QUESTS_MAX; i++) {
		struct quest *quest = &game.quests[i];

		if (!quest->open || quest->prey != monster)
			continue;
		thrum_task_ready(quest->task);
		end_quest(quest);
	}
}

/* Tells the scripts what has happened. */
static void dispatch_events(void)
{
	for (int i = 0; i < game.event_count; i++) {
		struct monster *monster = game.events[i];

		monster->told = true;
		thrum_task_resolve(monster->death);
		tell_quests(monster);
	}
	game.event_count = 0;
}

static void cast_spell(const char *name, int first, int count)
{
	thrum_task spell = thrum_task_createf(THRUM_KIND_TASK, "spell %s", name);

	THRUM_RUN (spell) {
		for (int i = 0; i < count; i++)
			kill_monster(&game.monsters[(first + i) % MONSTERS_MAX]);
		thrum_task_resolve(spell);
	}
}

/* Every few ticks a hunter gets a wolf to hunt, and finds it. */
static void play_hunt(int tick)
{
	static int wolves;
	static int wolf;

	if (tick % 6 == 1) {
		char hero[24];

		wolf = game.monster_count;
		snprintf(hero, sizeof hero, "hunter %d", ++wolves);
		begin_quest(hero, spawn("wolf", wolves));
	} else if (tick % 6 == 4) {
		cast_spell("arrow", wolf, 1);
	}
}

static void play_knight(int tick)
{
	static int rats;

	if (tick == 20) {
		rats = game.monster_count;
		for (int i = 1; i <= 8; i++)
			spawn("rat", i);
		begin_quest("knight", spawn("dragon", 0));
	} else if (tick == 23) {
		cast_spell("firestorm", rats, 9);
	}
}

static bool all_done(void)
{
	for (int i = 0; i < QUESTS_MAX; i++)
		if (game.quests[i].open)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	thrum_task frame;
	int tick;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("game");
	for (tick = 1; tick < TICKS || !all_done(); tick++) {
		frame = thrum_task_create(THRUM_KIND_TASK, "frame");
		THRUM_RUN (frame) {
			dispatch_events();
			play_hunt(tick);
			play_knight(tick);
			thrum_task_resolve(frame);
		}
		if (tick % 10 == 0) {
			printf("tick %d: %d quests done\n", tick, game.done);
			fflush(stdout);
		}
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(TICK_MS * 1000);
		thrum_resume();
	}
	printf("over after %d ticks: %d quests done\n", tick, game.done);
	return 0;
}
