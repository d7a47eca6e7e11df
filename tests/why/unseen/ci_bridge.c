/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: forward_frame reads the table of stations with the read-write lock table_lock. When a station has moved
 *     to another port, it calls move_station, which locks the same lock to write, while the thread still has
 *     it to read. So the port's thread waits for itself, and age_table behind it.
 *   culprit: move_station|forward_frame
 *   victim: age_table|ager
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A bridge between networks: a thread for each port looks up where a frame goes. A station that is seen at
 * another port than before has moved. Stations that were silent for long are forgotten. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PORTS = 3,
	STATIONS = 12,
	FRAMES = 60,
	MOVE_AT = 25,
	MOVED = 7,
};

struct station {
	unsigned port;
	unsigned last_seen;
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct station table[STATIONS];
static unsigned now; /* with the lock */
static atomic_uint forwarded;
static atomic_bool is_over;
static bool healthy;

static void move_station(unsigned number, unsigned port)
{
	pthread_rwlock_wrlock(&table_lock);
	table[number].port = port;
	table[number].last_seen = now;
	pthread_rwlock_unlock(&table_lock);
}

/* Sends a frame on that came from a station at a port. */
static void forward_frame(unsigned from, unsigned port, unsigned to)
{
	unsigned out;

	pthread_rwlock_rdlock(&table_lock);
	if (table[from].port != port) {
		if (healthy)
			pthread_rwlock_unlock(&table_lock);
		move_station(from, port);
		if (healthy)
			pthread_rwlock_rdlock(&table_lock);
	}
	out = table[to].port;
	pthread_rwlock_unlock(&table_lock);
	if (out != port)
		atomic_fetch_add(&forwarded, 1);
	usleep(8000); /* the wire */
}

static void *serve_port(void *data)
{
	unsigned port = *(unsigned *)data;

	for (unsigned i = 0; i < FRAMES; i++) {
		unsigned from = port + PORTS * (i % (STATIONS / PORTS));

		if (port == 2 && i == MOVE_AT)
			from = MOVED; /* until now at port 1 */
		else if (port == 1 && from == MOVED)
			from = 1;
		forward_frame(from, port, i % STATIONS);
	}
	return NULL;
}

static void *age_table(void *data)
{
	(void)data;
	while (!atomic_load(&is_over)) {
		usleep(30000);
		pthread_rwlock_wrlock(&table_lock);
		now++;
		for (unsigned i = 0; i < STATIONS; i++)
			if (now - table[i].last_seen > 100)
				table[i].port = i % PORTS;
		pthread_rwlock_unlock(&table_lock);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	static const char *const names[PORTS] = {"port0", "port1", "port2"};
	pthread_t threads[PORTS], ager;
	unsigned ports[PORTS];

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	for (unsigned i = 0; i < STATIONS; i++)
		table[i].port = i % PORTS;
	pthread_create(&ager, NULL, age_table, NULL);
	pthread_setname_np(ager, "ager");
	for (unsigned i = 0; i < PORTS; i++) {
		ports[i] = i;
		pthread_create(&threads[i], NULL, serve_port, &ports[i]);
		pthread_setname_np(threads[i], names[i]);
	}
	for (unsigned i = 0; i < PORTS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(ager, NULL);
	printf("%u frames forwarded\n", forwarded);
	return 0;
}
