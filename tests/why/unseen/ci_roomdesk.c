/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: publish calls the panels with observers_lock held, and a panel's update_panel takes the lock of its
 *     room. retire_room goes the other way: it has the room's lock when it calls unsubscribe, which takes
 *     observers_lock.
 *   culprit: retire_room|unsubscribe
 *   victim: receive_bookings
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Meeting rooms: the server publishes the time to the panels at the doors, takes bookings, and once in a
 * while a room is retired. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	ROOMS = 4,
	MINUTES = 20,
	RETIRED = 2,
};

struct room {
	pthread_mutex_t lock;
	bool is_open;
	unsigned bookings;
	unsigned minute; /* that the panel shows */
};

struct observer {
	void (*update)(struct room *room, unsigned minute);
	struct room *room;
};

static struct room rooms[ROOMS] = {
	{.lock = PTHREAD_MUTEX_INITIALIZER, .is_open = true},
	{.lock = PTHREAD_MUTEX_INITIALIZER, .is_open = true},
	{.lock = PTHREAD_MUTEX_INITIALIZER, .is_open = true},
	{.lock = PTHREAD_MUTEX_INITIALIZER, .is_open = true},
};
static pthread_mutex_t observers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct observer observers[ROOMS];
static unsigned observer_count;
static bool healthy;

static void subscribe(struct room *room, void (*update)(struct room *, unsigned))
{
	pthread_mutex_lock(&observers_lock);
	observers[observer_count].update = update;
	observers[observer_count].room = room;
	observer_count++;
	pthread_mutex_unlock(&observers_lock);
}

static void unsubscribe(struct room *room)
{
	pthread_mutex_lock(&observers_lock);
	for (unsigned i = 0; i < observer_count; i++)
		if (observers[i].room == room) {
			observers[i] = observers[--observer_count];
			break;
		}
	pthread_mutex_unlock(&observers_lock);
}

static void publish(unsigned minute)
{
	pthread_mutex_lock(&observers_lock);
	for (unsigned i = 0; i < observer_count; i++)
		observers[i].update(observers[i].room, minute);
	pthread_mutex_unlock(&observers_lock);
}

static void update_panel(struct room *room, unsigned minute)
{
	usleep(3000); /* the panel's display is slow */
	pthread_mutex_lock(&room->lock);
	room->minute = minute;
	pthread_mutex_unlock(&room->lock);
}

/* Moves the bookings to the room's neighbour. */
static void move_bookings(struct room *room)
{
	struct room *neighbour = &rooms[ROOMS - 1];

	for (; room->bookings; room->bookings--) {
		pthread_mutex_lock(&neighbour->lock);
		neighbour->bookings++;
		pthread_mutex_unlock(&neighbour->lock);
		usleep(50000); /* a mail to the guests */
	}
}

static void retire_room(struct room *room)
{
	if (healthy)
		unsubscribe(room);
	pthread_mutex_lock(&room->lock);
	room->is_open = false;
	move_bookings(room);
	if (!healthy)
		unsubscribe(room);
	pthread_mutex_unlock(&room->lock);
}

static void *tick_minutes(void *data)
{
	(void)data;
	for (unsigned minute = 0; minute < MINUTES; minute++) {
		publish(minute);
		usleep(20000);
	}
	return NULL;
}

static void *receive_bookings(void *data)
{
	(void)data;
	for (unsigned i = 0; i < 40; i++) {
		struct room *room = &rooms[i % ROOMS];

		pthread_mutex_lock(&room->lock);
		if (room->is_open && room->bookings < 5)
			room->bookings++;
		pthread_mutex_unlock(&room->lock);
		usleep(15000);
	}
	return NULL;
}

static void *manage_rooms(void *data)
{
	(void)data;
	usleep(200000);
	retire_room(&rooms[RETIRED]);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[3];
	unsigned bookings = 0;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	for (int i = 0; i < ROOMS; i++)
		subscribe(&rooms[i], update_panel);
	pthread_create(&threads[0], NULL, tick_minutes, NULL);
	pthread_create(&threads[1], NULL, receive_bookings, NULL);
	pthread_create(&threads[2], NULL, manage_rooms, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ROOMS; i++)
		bookings += rooms[i].bookings;
	printf("%u bookings, %u panels\n", bookings, observer_count);
	return 0;
}
