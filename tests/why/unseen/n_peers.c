/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: treat_message returns early on a message of an unknown class and leaves the peer's lock held; its
 *     thread goes on to read the next message, and the threads that expire and send table entries wait for
 *     the lock for ever.
 *   culprit: peer_recv|peer-recv|treat_message
 *   victim: expire_table|expire|push_updates|peer-send
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about HAProxy: the watchdog finds threads that wait for the lock of a peer which no running
 * thread seems to hold; the maintainer suspects an exit path of the peers' function that leaves the lock
 * held.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MSG_UPDATE = 1,
	MSG_HEARTBEAT = 2,
	MSG_VENDOR = 9,
	MSG_END = 10
};

struct message {
	unsigned char class, key;
	unsigned short value;
};

static pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;
static int link_fds[2];
static int table[64];
static int heartbeats, pushed;
static bool healthy;

/* Returns 0 at the end of the session. */
static int treat_message(const struct message *message)
{
	int go_on = 1;

	pthread_mutex_lock(&peer_lock);
	switch (message->class) {
	case MSG_UPDATE: table[message->key % 64] = message->value; break;
	case MSG_HEARTBEAT: heartbeats++; break;
	case MSG_END: go_on = 0; break;
	default:
		/* An extension of another vendor is skipped. */
		if (!healthy)
			return 1;
		break;
	}
	pthread_mutex_unlock(&peer_lock);
	return go_on;
}

static void *peer_recv(void *data)
{
	struct message message;

	(void)data;
	pthread_setname_np(pthread_self(), "peer-recv");
	while (read(link_fds[0], &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		if (!treat_message(&message))
			break;
	}
	return NULL;
}

static void *push_updates(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "peer-send");
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&peer_lock);
		pushed += table[i] != 0;
		pthread_mutex_unlock(&peer_lock);
		usleep(5000);
	}
	return NULL;
}

static void *expire_table(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "expire");
	for (int i = 0; i < 30; i++) {
		usleep(7000);
		pthread_mutex_lock(&peer_lock);
		table[i % 64] = 0;
		pthread_mutex_unlock(&peer_lock);
	}
	return NULL;
}

static void send_class(int class, int key)
{
	struct message message = {(unsigned char)class, (unsigned char)key,
		(unsigned short)(key * 3)};

	if (write(link_fds[1], &message, sizeof(message)) != (ssize_t)sizeof(message))
		perror("write");
}

int main(int argc, char **argv)
{
	pthread_t receiver, sender, expirer;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, link_fds))
		return 1;
	pthread_create(&receiver, NULL, peer_recv, NULL);
	pthread_create(&sender, NULL, push_updates, NULL);
	pthread_create(&expirer, NULL, expire_table, NULL);
	for (int i = 0; i < 20; i++) {
		send_class(i % 5 == 4 ? MSG_HEARTBEAT : MSG_UPDATE, i);
		if (i == 12)
			send_class(MSG_VENDOR, 0);
		usleep(3000);
	}
	pthread_join(sender, NULL);
	pthread_join(expirer, NULL);
	send_class(MSG_END, 0);
	pthread_join(receiver, NULL);
	printf("%d heartbeats, %d pushed\n", heartbeats, pushed);
	return 0;
}
