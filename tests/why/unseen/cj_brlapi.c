/* SPDX-License-Identifier: ISC */
/*
 * After brltty/brltty, pull request #259.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The server sends the large parameter by blocking writes in brlapi_serverSendParameter, while the client sends
 *     a large document by blocking writes in brlapi_writeDocument. The server's send buffer doesn't hold a whole
 *     packet, so both write, neither reads, and both buffers stay full. Each waits for the other for ever.
 *   culprit: brlapi_serverSendParameter|brlapi_writeDocument|writeAll
 *   victim: speech
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server for braille displays, and a screen reader that is its client. Each packet has a header with type and size. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAXPACKET 65536

struct header {
	uint32_t type;
	uint32_t size;
};

enum {
	PACKET_WRITE = 'w',
	PACKET_ACK = 'A',
	PACKET_KEY = 'k',
	PACKET_PARAM_REQUEST = 'r',
	PACKET_PARAM_VALUE = 'V',
	PACKET_LEAVE = 'L',
};

static char out[MAXPACKET], in[MAXPACKET];
static atomic_bool leaving;
static atomic_uint refreshes;

static void writeAll(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done <= 0)
			exit(3);
		bytes += done;
		size -= (size_t)done;
	}
}

static void readAll(int fd, char *bytes, size_t size)
{
	while (size) {
		ssize_t got = read(fd, bytes, size);

		if (got <= 0)
			exit(4);
		bytes += got;
		size -= (size_t)got;
	}
}

static void readPacket(int fd, struct header *header)
{
	readAll(fd, (char *)header, sizeof(*header));
	readAll(fd, in, header->size);
}

/* ---- The server ---- */

/* The value of a parameter may be large: here the table of all keys of the device. */
static void brlapi_serverSendParameter(int fd)
{
	struct header header = {PACKET_PARAM_VALUE, 32768};

	writeAll(fd, (char *)&header, sizeof(header));
	writeAll(fd, out, header.size);
}

static void brlapi_serverAcknowledge(int fd, uint32_t type)
{
	struct header header = {type, 0};

	writeAll(fd, (char *)&header, sizeof(header));
}

/* The driver draws on the display, whether or not there is a client. */
static void *driver_refresh(void *data)
{
	(void)data;
	while (!leaving) {
		usleep(25000);
		refreshes++;
	}
	return NULL;
}

static void brlapi_serverRun(int fd)
{
	struct pollfd client = {.fd = fd, .events = POLLIN};
	struct header header = {0, 0};

	while (header.type != PACKET_LEAVE) {
		poll(&client, 1, -1);
		readPacket(fd, &header);
		if (header.type == PACKET_WRITE) {
			usleep(2000); /* the device is slow */
			brlapi_serverAcknowledge(fd, PACKET_ACK);
		} else if (header.type == PACKET_PARAM_REQUEST) {
			brlapi_serverSendParameter(fd);
		}
	}
}

/* ---- The client ---- */

/* Shows a text; more than the display has cells can be scrolled on the device itself. */
static void brlapi_writeDocument(int fd, uint32_t size)
{
	struct header header = {PACKET_WRITE, size};

	writeAll(fd, (char *)&header, sizeof(header));
	writeAll(fd, out, size);
}

static void brlapi_waitFor(int fd, uint32_t type)
{
	struct header header;

	do
		readPacket(fd, &header);
	while (header.type != type);
}

static void *speech(void *data)
{
	(void)data;
	while (!leaving)
		usleep(30000);
	return NULL;
}

static int screenreader(int fd)
{
	pthread_t speaks;
	struct header request = {PACKET_PARAM_REQUEST, 0};

	pthread_create(&speaks, NULL, speech, NULL);
	for (int line = 0; line < 20; line++) {
		brlapi_writeDocument(fd, 80);
		brlapi_waitFor(fd, PACKET_ACK);
		usleep(5000);
	}
	/* The parameter first: the user needs it less. */
	writeAll(fd, (char *)&request, sizeof(request));
	brlapi_waitFor(fd, PACKET_PARAM_VALUE);
	/* Another device was plugged in: ask anew, and show the whole document meanwhile. */
	writeAll(fd, (char *)&request, sizeof(request));
	brlapi_writeDocument(fd, 48000);
	brlapi_waitFor(fd, PACKET_PARAM_VALUE);
	brlapi_waitFor(fd, PACKET_ACK);
	leaving = true;
	pthread_join(speaks, NULL);
	request.type = PACKET_LEAVE;
	writeAll(fd, (char *)&request, sizeof(request));
	return 0;
}

int main(int argc, char **argv)
{
	int buffer = 4096, status = 0;
	pthread_t driver;
	int pair[2];
	pid_t client;

	if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	if (!strcmp(argv[1], "healthy"))
		buffer = 2 * MAXPACKET;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	client = fork();
	if (!client) {
		close(pair[0]);
		return screenreader(pair[1]);
	}
	close(pair[1]);
	pthread_create(&driver, NULL, driver_refresh, NULL);
	brlapi_serverRun(pair[0]);
	leaving = true;
	pthread_join(driver, NULL);
	waitpid(client, &status, 0);
	printf("client left: %d, %u refreshes\n", status, refreshes);
	return 0;
}
