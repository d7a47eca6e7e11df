/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: follow_alias takes the read lock of the table again, in a thread that holds it already since
 *     find_route; when update_routes waits for the lock between the two, the second read lock waits for the
 *     writer, the writer for the first one, and everybody else behind
 *   culprit: follow_alias
 *   victim: update_routes|withdraw_route|control
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The table of routes of a mail relay: many threads look up, one changes it now and then. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUTES 64
#define RELAYS 3
#define MAILS 60
#define UPDATES 20

struct route {
	char domain[24];
	char target[24]; /* a host, or the domain that it is an alias of */
	bool is_alias;
	unsigned used;
};

struct table {
	pthread_rwlock_t lock;
	struct route routes[ROUTES];
	unsigned version;
	bool trusts_caller;
};

struct relay {
	pthread_t thread;
	struct table *table;
	unsigned number, delivered, lost;
};

static void pause_us(long us)
{
	struct timespec time = {0, us * 1000};

	nanosleep(&time, NULL);
}

/* The caller holds the lock. */
static struct route *search(struct table *table, const char *domain)
{
	for (int i = 0; i < ROUTES; i++)
		if (strcmp(table->routes[i].domain, domain) == 0)
			return &table->routes[i];
	return NULL;
}

/* Checks a name against the policy, which asks a local resolver. */
static bool is_permitted(const char *domain)
{
	pause_us(700);
	return domain[0] != '.';
}

__attribute__((noinline)) static bool follow_alias(struct table *table, const char *domain,
	char *host, size_t size)
{
	const struct route *route;
	bool found = false;

	if (!table->trusts_caller)
		pthread_rwlock_rdlock(&table->lock);
	route = search(table, domain);
	if (route && !route->is_alias) {
		snprintf(host, size, "%s", route->target);
		found = true;
	}
	if (!table->trusts_caller)
		pthread_rwlock_unlock(&table->lock);
	return found;
}

__attribute__((noinline)) static bool find_route(struct table *table, const char *domain,
	char *host, size_t size)
{
	struct route *route;
	bool found = false;

	pthread_rwlock_rdlock(&table->lock);
	route = search(table, domain);
	if (route) {
		__atomic_add_fetch(&route->used, 1, __ATOMIC_RELAXED);
		if (!route->is_alias) {
			snprintf(host, size, "%s", route->target);
			found = true;
		} else if (is_permitted(route->target)) {
			found = follow_alias(table, route->target, host, size);
		}
	}
	pthread_rwlock_unlock(&table->lock);
	return found;
}

static void *run_relay(void *data)
{
	struct relay *relay = data;
	unsigned seed = relay->number + 7;
	char name[16], domain[24], host[24];

	snprintf(name, sizeof(name), "relay-%u", relay->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < MAILS; i++) {
		snprintf(domain, sizeof(domain), "d%d.example", rand_r(&seed) % ROUTES);
		if (find_route(relay->table, domain, host, sizeof(host)))
			relay->delivered++;
		else
			relay->lost++;
		pause_us(500);
	}
	return NULL;
}

__attribute__((noinline)) static void update_routes(struct table *table, unsigned turn)
{
	struct route *route = &table->routes[turn * 8 % ROUTES];

	pthread_rwlock_wrlock(&table->lock);
	snprintf(route->target, sizeof(route->target), "mx%u.example", turn);
	table->version++;
	pthread_rwlock_unlock(&table->lock);
}

static void *run_control(void *data)
{
	struct table *table = data;

	pthread_setname_np(pthread_self(), "control");
	for (unsigned i = 0; i < UPDATES; i++) {
		pause_us(4000);
		update_routes(table, i);
	}
	return NULL;
}

static void table_init(struct table *table)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	/* Without this, changes would never get their turn. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	for (int i = 0; i < ROUTES; i++) {
		struct route *route = &table->routes[i];

		snprintf(route->domain, sizeof(route->domain), "d%d.example", i);
		route->is_alias = i % 8 != 0;
		if (route->is_alias)
			snprintf(route->target, sizeof(route->target), "d%d.example", i / 8 * 8);
		else
			snprintf(route->target, sizeof(route->target), "mx.example");
	}
}

int main(int argc, char **argv)
{
	static struct table table;
	struct relay relays[RELAYS] = {0};
	pthread_t control;
	unsigned lost = 0;

	if (argc != 2)
		return 2;
	table.trusts_caller = strcmp(argv[1], "healthy") == 0;
	table_init(&table);
	pthread_create(&control, NULL, run_control, &table);
	for (unsigned i = 0; i < RELAYS; i++) {
		relays[i].table = &table;
		relays[i].number = i;
		pthread_create(&relays[i].thread, NULL, run_relay, &relays[i]);
	}
	for (int i = 0; i < RELAYS; i++) {
		pthread_join(relays[i].thread, NULL);
		lost += relays[i].lost;
	}
	pthread_join(control, NULL);
	printf("version %u, %u lost\n", table.version, lost);
	pthread_rwlock_destroy(&table.lock);
	return lost != 0;
}
