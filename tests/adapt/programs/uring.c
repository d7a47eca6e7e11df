/* SPDX-License-Identifier: ISC */
/* An echo server on io_uring and its client, in one thread and one ring. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	ACCEPT = 1,
	CONNECT,
	SERVER_RECV,
	SERVER_SEND,
	CLIENT_SEND,
	CLIENT_RECV,
	PAUSE,
	NO_FILE
};

static struct io_uring ring;

static int take_result(unsigned long *user_data)
{
	struct io_uring_cqe *cqe;
	int result;

	if (io_uring_wait_cqe(&ring, &cqe) < 0)
		return -1;
	*user_data = cqe->user_data;
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return result;
}

#define PREPARE(number, operation, ...) \
	do { \
		struct io_uring_sqe *entry = io_uring_get_sqe(&ring); \
\
		operation(entry, __VA_ARGS__); \
		entry->user_data = number; \
	} while (0)

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	struct __kernel_timespec pause = {0, 5000000};
	char there[6] = "", back[6] = "";
	int server = -1, left = 8, error = io_uring_queue_init(8, &ring, 0);

	if (error < 0) {
		printf("no io_uring: %s\n", strerror(-error));
		return 77;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (void *)&address, size) < 0 || listen(listener, 1) < 0 ||
		getsockname(listener, (void *)&address, &size) < 0)
		return 1;
	PREPARE(ACCEPT, io_uring_prep_accept, listener, NULL, NULL, 0);
	PREPARE(CONNECT, io_uring_prep_connect, client, (void *)&address, size);
	PREPARE(NO_FILE, io_uring_prep_openat, AT_FDCWD, "/no/such/file", O_RDONLY, 0);
	io_uring_submit(&ring);
	while (left > 0) {
		unsigned long what = 0;
		int result = take_result(&what);

		if (what == ACCEPT) {
			server = result;
			PREPARE(SERVER_RECV, io_uring_prep_recv, server, there, 5, MSG_WAITALL);
		} else if (what == CONNECT) {
			/* It is sent when the pause is over. A timeout that expires would break
			 * the link, so it counts as a success. */
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			io_uring_prep_timeout(sqe, &pause, 0, IORING_TIMEOUT_ETIME_SUCCESS);
			sqe->user_data = PAUSE;
			sqe->flags |= IOSQE_IO_LINK;
			PREPARE(CLIENT_SEND, io_uring_prep_send, client, "hello", 5, 0);
			PREPARE(CLIENT_RECV, io_uring_prep_recv, client, back, 5, MSG_WAITALL);
		} else if (what == SERVER_RECV) {
			PREPARE(SERVER_SEND, io_uring_prep_send, server, there, 5, 0);
		} else if (what == NO_FILE) {
			printf("open: %s\n", strerror(-result));
		}
		io_uring_submit(&ring);
		left--;
	}
	printf("%s\n", back);
	io_uring_queue_exit(&ring);
	close(listener);
	close(client);
	close(server);
	return 0;
}
