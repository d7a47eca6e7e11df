/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
/*
 * Two processes mirror their files to each other over one connection. Each has a thread that sends and one
 * that receives. A receiver that has used up its allowance rests until the next one is due.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK 65536
#define PIECE 4096
#define ALLOWANCE 20 /* pieces */
#define REST 6       /* s */

static int connection;

static void *receive_files(void *data)
{
	char piece[PIECE];
	int left = ALLOWANCE;

	(void)data;
	while (read(connection, piece, sizeof(piece)) > 0)
		if (left-- == 0) {
			sleep(REST);
			left = ALLOWANCE;
		}
	return NULL;
}

static void *send_files(void *data)
{
	static char block[BLOCK];

	(void)data;
	while (write(connection, block, sizeof(block)) > 0)
		usleep(3000);
	return NULL;
}

int main(void)
{
	pthread_t receiver, sender;
	int pair[2];
	pid_t other;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 1;
	other = fork();
	connection = pair[other == 0];
	close(pair[other != 0]);
	if (pthread_create(&receiver, NULL, receive_files, NULL) != 0 ||
		pthread_create(&sender, NULL, send_files, NULL) != 0)
		return 1;
	pthread_join(sender, NULL);
	return 0;
}
