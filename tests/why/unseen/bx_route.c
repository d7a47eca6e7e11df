/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1800
 *   ask: why
 *   truth: find_route holds routes_lock for reading when it finds that a route is too old. It calls
 *     route_refresh, which takes the same lock for writing. The thread (port_main, "port 1") waits for its own
 *     reading lock. The operator's reload waits behind it.
 *   culprit: route_refresh|find_route|routes_lock
 *   victim: operator|routes_reload|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A router: a thread for each port looks up routes, which change seldom; an operator reloads all of them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROUTES = 16,
	PORTS = 3,
	PACKETS = 200,
};

struct route {
	unsigned gateway;
	unsigned age;
};

struct port {
	pthread_t thread;
	unsigned number;
	unsigned forwarded;
};

static bool broken;
static pthread_rwlock_t routes_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct route routes[ROUTES];
static struct port ports[PORTS];

/* Asks the neighbour for its gateway. */
static unsigned ask_neighbour(unsigned number)
{
	usleep(3000);
	return number * 7 + 1;
}

static void route_refresh(unsigned number)
{
	unsigned gateway = ask_neighbour(number);

	pthread_rwlock_wrlock(&routes_lock);
	routes[number].gateway = gateway;
	routes[number].age = 0;
	pthread_rwlock_unlock(&routes_lock);
}

static bool route_is_old(const struct route *route)
{
	return route->age > 100;
}

static unsigned find_route(unsigned number)
{
	unsigned gateway;

	pthread_rwlock_rdlock(&routes_lock);
	if (route_is_old(&routes[number])) {
		if (broken) {
			route_refresh(number);
		} else {
			pthread_rwlock_unlock(&routes_lock);
			route_refresh(number);
			pthread_rwlock_rdlock(&routes_lock);
		}
	}
	gateway = routes[number].gateway;
	pthread_rwlock_unlock(&routes_lock);
	return gateway;
}

static void forward(struct port *port, unsigned destination)
{
	if (find_route(destination % ROUTES) != 0)
		port->forwarded++;
}

static void *port_main(void *data)
{
	struct port *port = data;

	/* Port 1 has the destination that nobody else uses, and that is old in the end. */
	for (unsigned i = 0; i < PACKETS; i++) {
		forward(port, port->number == 1 && i % 10 == 9 ? 13 : port->number + i % 4);
		usleep(10000);
	}
	return NULL;
}

static void routes_reload(unsigned salt)
{
	pthread_rwlock_wrlock(&routes_lock);
	for (unsigned i = 0; i < ROUTES; i++)
		routes[i].gateway = i + salt + 1;
	pthread_rwlock_unlock(&routes_lock);
}

/* Time passes for the routes that no neighbour confirms. */
static void routes_grow_old(void)
{
	pthread_rwlock_wrlock(&routes_lock);
	routes[13].age += 30;
	pthread_rwlock_unlock(&routes_lock);
}

static void *operator_main(void *data)
{
	(void)data;
	for (unsigned i = 0; i < 20; i++) {
		usleep(70000);
		routes_reload(i);
		routes_grow_old();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t operator_thread;
	unsigned forwarded = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	routes_reload(0);
	for (unsigned i = 0; i < PORTS; i++) {
		char name[16];

		ports[i].number = i;
		pthread_create(&ports[i].thread, NULL, port_main, &ports[i]);
		snprintf(name, sizeof(name), "port %u", i);
		pthread_setname_np(ports[i].thread, name);
	}
	pthread_create(&operator_thread, NULL, operator_main, NULL);
	pthread_setname_np(operator_thread, "operator");
	for (unsigned i = 0; i < PORTS; i++) {
		pthread_join(ports[i].thread, NULL);
		forwarded += ports[i].forwarded;
	}
	pthread_join(operator_thread, NULL);
	printf("%u packets\n", forwarded);
	return 0;
}
