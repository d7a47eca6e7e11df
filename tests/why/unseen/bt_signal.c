/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: broadcast_offer holds the members lock of the room for reading and calls count_members, which locks it for reading
 *     again. If a guest waits to join in between, the writer goes first: the second read lock waits for the guest, and the guest
 *     for the first one.
 *   culprit: broadcast_offer|count_members
 *   victim: thread (guest|heartbeat)
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* Signalling for video calls: a presenter offers new streams to all of the room, while guests come and go. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEATS 16

struct member {
	bool present;
	unsigned offers;
};

struct room {
	const char *name;
	pthread_rwlock_t members_lock;
	struct member members[SEATS];
	unsigned long offers, joins;
};

static struct room rooms[2] = {{.name = "standup"}, {.name = "all-hands"}};
static bool count_before;

static int count_members(struct room *room)
{
	int count = 0;

	pthread_rwlock_rdlock(&room->members_lock);
	for (int i = 0; i < SEATS; i++)
		count += room->members[i].present;
	pthread_rwlock_unlock(&room->members_lock);
	return count;
}

static void send_offer(struct member *member, int layers)
{
	usleep(1500); /* to the socket */
	member->offers += (unsigned)layers;
}

/* Offers the stream with fewer layers if there are many members. */
static void broadcast_offer(struct room *room)
{
	int layers = count_before && count_members(room) > 8 ? 1 : 3;

	pthread_rwlock_rdlock(&room->members_lock);
	for (int i = 0; i < SEATS; i++) {
		if (!room->members[i].present)
			continue;
		if (!count_before)
			layers = count_members(room) > 8 ? 1 : 3;
		send_offer(&room->members[i], layers);
	}
	room->offers++;
	pthread_rwlock_unlock(&room->members_lock);
}

static void set_present(struct room *room, int seat, bool present)
{
	pthread_rwlock_wrlock(&room->members_lock);
	room->members[seat].present = present;
	room->joins += present;
	pthread_rwlock_unlock(&room->members_lock);
}

static void *presenter(void *data)
{
	struct room *room = data;

	pthread_setname_np(pthread_self(), "presenter");
	for (;;) {
		broadcast_offer(room);
		usleep(20000);
	}
	return NULL;
}

static void *guest(void *data)
{
	int seat = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "guest %d", seat);
	pthread_setname_np(pthread_self(), name);
	usleep(200000);
	for (;;) {
		set_present(&rooms[1], seat, true);
		usleep((useconds_t)(9000 + 700 * seat));
		set_present(&rooms[1], seat, false);
		usleep(5000);
	}
	return NULL;
}

/* The small meeting next door. */
static void *standup(void *data)
{
	pthread_setname_np(pthread_self(), "standup");
	set_present(data, 0, true);
	set_present(data, 1, true);
	for (;;) {
		broadcast_offer(data);
		usleep(30000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t attributes;
	pthread_t thread;

	count_before = argc > 1 && !strcmp(argv[1], "healthy");
	/* Guests must not wait for ever while offers go out. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (int i = 0; i < 2; i++)
		pthread_rwlock_init(&rooms[i].members_lock, &attributes);
	for (int seat = 0; seat < 6; seat++)
		set_present(&rooms[1], seat, true);
	pthread_create(&thread, NULL, presenter, &rooms[1]);
	pthread_create(&thread, NULL, standup, &rooms[0]);
	for (long seat = 10; seat < 13; seat++)
		pthread_create(&thread, NULL, guest, (void *)seat);
	for (;;) {
		usleep(250000);
		printf("offers %lu and %lu, joins %lu\n", rooms[0].offers, rooms[1].offers,
			rooms[1].joins);
		fflush(stdout);
	}
}
