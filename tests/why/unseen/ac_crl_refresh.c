/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The watchdog cancels the thread crl-refresh while it reads from the authority and holds
 *     crl_lock in refresh_list. The thread has no clean-up handler, so it dies with the lock.
 *   culprit: refresh_list|crl-refresh
 *   victim: check_certificate|handshake
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTORS 3
#define HANDSHAKES 120
#define REVOKED_MAX 64

static pthread_mutex_t crl_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned revoked[REVOKED_MAX], revoked_count;
static int authority[2]; /* our end, and that of the authority */
static bool careful;     /* the refresh has a clean-up handler */

struct acceptor {
	pthread_t thread;
	unsigned accepted, refused;
};

static void unlock_list(void *data)
{
	if (careful)
		pthread_mutex_unlock(data);
}

/* Replaces the list of revoked certificates by that of the authority: serial numbers, then a 0. */
static void refresh_list(void)
{
	unsigned serial;

	pthread_mutex_lock(&crl_lock);
	pthread_cleanup_push(unlock_list, &crl_lock);
	revoked_count = 0;
	while (recv(authority[0], &serial, sizeof(serial), MSG_WAITALL) == sizeof(serial)) {
		if (!serial)
			break;
		if (revoked_count < REVOKED_MAX)
			revoked[revoked_count++] = serial;
	}
	pthread_cleanup_pop(0);
	pthread_mutex_unlock(&crl_lock);
}

static void *run_refresh(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "crl-refresh");
	for (;;) {
		refresh_list();
		usleep(20000);
	}
}

static bool check_certificate(unsigned serial)
{
	bool good = true;

	pthread_mutex_lock(&crl_lock);
	for (unsigned i = 0; i < revoked_count; i++)
		if (revoked[i] == serial)
			good = false;
	pthread_mutex_unlock(&crl_lock);
	return good;
}

static void *handshake(void *data)
{
	struct acceptor *acceptor = data;

	for (unsigned i = 0; i < HANDSHAKES; i++) {
		usleep(1000);
		if (check_certificate(1000 + i % 40))
			acceptor->accepted++;
		else
			acceptor->refused++;
	}
	return NULL;
}

/* The authority sends two whole lists. Then its line is dead in the middle of the third. */
static void send_lists(void)
{
	static const unsigned list[] = {1003, 1017, 1031, 0, 1003, 1017, 1031, 1039, 0, 1003, 1017};

	if (send(authority[1], list, sizeof(list), 0) != sizeof(list))
		perror("send");
}

int main(int argc, char **argv)
{
	struct acceptor acceptors[ACCEPTORS] = {{0}};
	unsigned accepted = 0, refused = 0;
	pthread_t refresh;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, authority))
		return 1;
	send_lists();
	if (pthread_create(&refresh, NULL, run_refresh, NULL))
		return 1;
	for (unsigned i = 0; i < ACCEPTORS; i++)
		if (pthread_create(&acceptors[i].thread, NULL, handshake, &acceptors[i]))
			return 1;
	/* The watchdog: a refresh must not take longer than this. */
	usleep(100000);
	fprintf(stderr, "giving up the refresh\n");
	pthread_cancel(refresh);
	pthread_join(refresh, NULL);
	for (unsigned i = 0; i < ACCEPTORS; i++) {
		pthread_join(acceptors[i].thread, NULL);
		accepted += acceptors[i].accepted;
		refused += acceptors[i].refused;
	}
	printf("%u accepted, %u refused\n", accepted, refused);
	return 0;
}
