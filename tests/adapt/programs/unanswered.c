/* SPDX-License-Identifier: ISC */
/* A single thread without a loop hangs in connect(): the server never accepts. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hang.h"

#define QUEUE 8   /* connections that fill the server's queue */
#define LOOKS 100 /* that pass before it counts as hanging */

static volatile bool has_begun;

static bool is_blocked(void)
{
	static int looks;

	return has_begun && ++looks > LOOKS;
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int server = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 0) < 0 ||
		getsockname(server, (struct sockaddr *)&address, &size) < 0) {
		perror("server");
		return 1;
	}
	for (int i = 0; i < QUEUE; i++)
		connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
			(struct sockaddr *)&address, size);
	end_when(is_blocked);
	has_begun = true;
	connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, size);
	puts("connected");
	return 0;
}
