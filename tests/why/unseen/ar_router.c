/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the thread "vpn-in" holds table_lock for reading in forward_packet and takes it for reading again
 *     in resolve_alias, after the thread "reload" has begun to wait for writing. The lock prefers writers,
 *     so vpn-in waits behind reload, which waits for vpn-in.
 *   culprit: vpn-in|resolve_alias|forward_packet
 *   victim: wifi-in|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Forwards packets of two interfaces by a table of routes, which is reloaded meanwhile. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NROUTES 4

struct route {
	char destination[16];
	char gateway[16]; /* may name another destination: an alias */
	bool alias;
	int cost;
};

struct interface {
	const char *name;
	const char *const *packets;
	int npackets;
	int pause_ms;
	int queue[2]; /* what is sent by this interface */
	int forwarded, dropped;
};

static pthread_rwlock_t table_lock;
static struct route table[NROUTES] = {
	{"office", "gw-1", false, 10},
	{"lab", "gw-2", false, 20},
	{"home", "office", true, 5},
	{"default", "gw-3", false, 90},
};
static unsigned generation;

static const char *const wifi_packets[] = {"office", "lab", "default", "office", "lab", "lab",
	"office", "default"};
static const char *const vpn_office[] = {"lab", "office", "lab", "default"};
static const char *const vpn_home[] = {"lab", "office", "home", "default"};

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static const struct route *find(const char *destination)
{
	int i;

	for (i = 0; i < NROUTES; i++) {
		if (!strcmp(table[i].destination, destination))
			return &table[i];
	}
	return NULL;
}

/* The gateway of the destination that an alias names. Can be called by everybody: it takes the lock itself. */
__attribute__((noinline)) bool resolve_alias(const char *alias, char gateway[16])
{
	const struct route *route;

	pthread_rwlock_rdlock(&table_lock);
	route = find(alias);
	if (route)
		memcpy(gateway, route->gateway, 16);
	pthread_rwlock_unlock(&table_lock);
	return route != NULL;
}

/* Asks the neighbour whether it is there, as ARP would. */
__attribute__((noinline)) void probe_neighbour(int cost)
{
	sleep_ms(cost < 10 ? 400 : 5);
}

__attribute__((noinline)) void forward_packet(struct interface *interface, const char *destination)
{
	char gateway[16] = "";
	const struct route *route;
	bool known = true;

	pthread_rwlock_rdlock(&table_lock);
	route = find(destination);
	if (!route)
		route = find("default");
	probe_neighbour(route->cost);
	if (route->alias)
		known = resolve_alias(route->gateway, gateway);
	else
		memcpy(gateway, route->gateway, sizeof(gateway));
	pthread_rwlock_unlock(&table_lock);

	if (known &&
		write(interface->queue[1], gateway, sizeof(gateway)) == (ssize_t)sizeof(gateway))
		interface->forwarded++;
	else
		interface->dropped++;
}

static void *run_interface(void *argument)
{
	struct interface *interface = argument;
	int i;

	pthread_setname_np(pthread_self(), interface->name);
	for (i = 0; i < interface->npackets; i++) {
		sleep_ms(interface->pause_ms);
		forward_packet(interface, interface->packets[i]);
	}
	return NULL;
}

/* The routing daemon tells new costs. */
__attribute__((noinline)) void reload_table(void)
{
	int i;

	pthread_rwlock_wrlock(&table_lock);
	for (i = 0; i < NROUTES; i++)
		table[i].cost += i;
	generation++;
	pthread_rwlock_unlock(&table_lock);
}

static void *run_reload(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "reload");
	sleep_ms(260);
	reload_table();
	return NULL;
}

int main(int argc, char **argv)
{
	struct interface wifi = {.name = "wifi-in",
		.packets = wifi_packets,
		.npackets = 8,
		.pause_ms = 60};
	struct interface vpn = {.name = "vpn-in",
		.packets = vpn_office,
		.npackets = 4,
		.pause_ms = 25};
	pthread_t wifi_thread, vpn_thread, reload_thread;
	pthread_rwlockattr_t attributes;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken"))
		vpn.packets = vpn_home;

	/* Reloads shall not starve while many packets come. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table_lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	if (pipe(wifi.queue) < 0 || pipe(vpn.queue) < 0) {
		perror("pipe");
		return 1;
	}

	pthread_create(&wifi_thread, NULL, run_interface, &wifi);
	pthread_create(&vpn_thread, NULL, run_interface, &vpn);
	pthread_create(&reload_thread, NULL, run_reload, NULL);
	pthread_join(wifi_thread, NULL);
	pthread_join(vpn_thread, NULL);
	pthread_join(reload_thread, NULL);
	printf("router: table %u; wifi %d forwarded, %d dropped; vpn %d forwarded, %d dropped\n",
		generation, wifi.forwarded, wifi.dropped, vpn.forwarded, vpn.dropped);
	return 0;
}
