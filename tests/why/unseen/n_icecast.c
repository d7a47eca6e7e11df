/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread connect_listener
 *   truth: authenticate_url asks the advertising server, which answers after 500 ms, while it holds
 *     clients_lock; all listeners that connect meanwhile wait for the lock.
 *   culprit: authenticate_url|answer_ads|ads-server|auth-url|auth
 *   victim: send_burst|source
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about Icecast-KH: "client/worker_wait worker has been stuck for 17973 ms"; the maintainer
 * has seen it only with an advertising service whose calls stall while the worker's other clients wait.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENERS 6

static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ads_lock = PTHREAD_MUTEX_INITIALIZER;
static int ads[2];
static int clients, kicked;
static atomic_bool asking;
static bool healthy;

static void *answer_ads(void *data)
{
	char user;

	(void)data;
	pthread_setname_np(pthread_self(), "ads-server");
	while (read(ads[1], &user, 1) == 1) {
		usleep(500000);
		if (write(ads[1], "1", 1) != 1)
			break;
	}
	return NULL;
}

static bool ask_ads(void)
{
	char answer = '0';

	atomic_store(&asking, true);
	pthread_mutex_lock(&ads_lock);
	if (write(ads[0], "u", 1) != 1 || read(ads[0], &answer, 1) != 1)
		perror("ads");
	pthread_mutex_unlock(&ads_lock);
	return answer == '1';
}

/* Asks once for the mount whether its listeners hear advertisements. */
static void *authenticate_url(void *data)
{
	bool allowed;

	(void)data;
	pthread_setname_np(pthread_self(), "auth-url");
	if (healthy) {
		allowed = ask_ads();
		pthread_mutex_lock(&clients_lock);
	} else {
		pthread_mutex_lock(&clients_lock);
		allowed = ask_ads();
	}
	if (!allowed)
		kicked++;
	pthread_mutex_unlock(&clients_lock);
	return NULL;
}

static void send_burst(void)
{
	usleep(8000);
}

static void *connect_listener(void *data)
{
	(void)data;
	pthread_mutex_lock(&clients_lock);
	clients++;
	pthread_mutex_unlock(&clients_lock);
	send_burst();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, auth, listeners[LISTENERS];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ads))
		return 1;
	pthread_create(&server, NULL, answer_ads, NULL);
	pthread_create(&auth, NULL, authenticate_url, NULL);
	while (!atomic_load(&asking))
		usleep(1000);
	for (int i = 0; i < LISTENERS; i++) {
		usleep(10000);
		pthread_create(&listeners[i], NULL, connect_listener, NULL);
	}
	for (int i = 0; i < LISTENERS; i++)
		pthread_join(listeners[i], NULL);
	pthread_join(auth, NULL);
	shutdown(ads[0], SHUT_RDWR);
	pthread_join(server, NULL);
	printf("%d clients\n", clients);
	return 0;
}
