/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The configuration has the timeout in seconds, thrum_timeout takes milliseconds, and fetch_near passes 3 without a conversion. So each "near mirror" is cancelled after 3 ms, and the packages come from the far mirror.
 *   culprit: near mirror|fetch_near|timeout
 *   victim: far mirror|install
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "thrum/promise.h"

/* An installer fetches packages from a near mirror, and from a far one if that doesn't answer. */

#define PACKAGES 10

struct mirror {
	struct sockaddr_in address;
	int listener;
	useconds_t delay;
};

struct package {
	struct thrum_connection *connection;
	int number;
};

static bool broken;
static struct mirror near = {.delay = 15000}, far = {.delay = 40000};
static int timeout_seconds = 3, installed;

/* Answers one package after the other, each on a connection of its own, until one sends "q". */
static void *run_mirror(void *data)
{
	struct mirror *mirror = data;
	char request = '\0';

	while (request != 'q') {
		int fd = accept(mirror->listener, NULL, NULL);

		request = '\0';
		if (recv(fd, &request, 1, 0) == 1 && request == 'p') {
			usleep(mirror->delay);
			send(fd, "package", 7, MSG_NOSIGNAL);
		}
		close(fd);
	}
	return NULL;
}

static struct thrum_value take_package(struct thrum_loop *loop, void *bytes, void *data)
{
	(void)loop, (void)data;
	if (bytes)
		installed++;
	return thrum_value_none();
}

static struct thrum_promise *read_package(struct thrum_loop *loop, void *nothing, void *data)
{
	struct package *package = data;

	(void)loop, (void)nothing;
	return thrum_promise_map(thrum_connection_read(package->connection), take_package, NULL,
		NULL);
}

static struct thrum_promise *close_connection(struct thrum_loop *loop, void *data)
{
	struct package *package = data;
	struct thrum_connection *connection = package->connection;

	package->connection = NULL;
	if (!connection)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_connection_close(connection);
}

static struct thrum_promise *send_request(struct thrum_loop *loop, void *nothing, void *data)
{
	struct package *package = data;
	struct thrum_value taken;

	(void)nothing;
	if (!thrum_loop_take(loop, &taken))
		abort();
	package->connection = taken.data;
	return thrum_promise_bind(thrum_connection_write(package->connection,
					  thrum_value_static("p"), 1),
		read_package, package, NULL);
}

static struct thrum_promise *fetch_from(struct thrum_loop *loop, struct mirror *mirror,
	struct package *package)
{
	struct thrum_promise *got = thrum_promise_bind(thrum_tcp_connect(loop,
							       (struct sockaddr *)&mirror->address),
		send_request, package, NULL);

	got = thrum_promise_finalize(got, close_connection, package, NULL);
	return thrum_promise_label(got, mirror == &near ? "near mirror" : "far mirror");
}

static struct thrum_promise *fetch_near(struct thrum_loop *loop, struct package *package)
{
	uint64_t timeout = (uint64_t)timeout_seconds * (broken ? 1 : 1000);

	return thrum_timeout(fetch_from(loop, &near, package), timeout);
}

static struct thrum_promise *fetch_far(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	return fetch_from(loop, &far, data);
}

static struct thrum_promise *install(struct thrum_loop *loop, void *nothing, void *data)
{
	struct package *package = data;
	struct thrum_promise *got;

	(void)nothing;
	if (package->number == PACKAGES)
		return thrum_promise_return(loop, thrum_value_none());
	got = thrum_promise_catch(fetch_near(loop, package), fetch_far, package, NULL);
	thrum_promise_labelf(got, "install package %d", ++package->number);
	return thrum_promise_bind(got, install, package, NULL);
}

static void start_mirror(struct mirror *mirror, pthread_t *thread)
{
	socklen_t size = sizeof(mirror->address);

	mirror->address.sin_family = AF_INET;
	mirror->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	mirror->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(mirror->listener, (struct sockaddr *)&mirror->address, size) ||
		listen(mirror->listener, 16) ||
		getsockname(mirror->listener, (struct sockaddr *)&mirror->address, &size))
		exit(1);
	pthread_create(thread, NULL, run_mirror, mirror);
}

static void stop_mirror(struct mirror *mirror, pthread_t thread)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&mirror->address, sizeof(mirror->address)) ||
		send(fd, "q", 1, MSG_NOSIGNAL) != 1)
		exit(1);
	pthread_join(thread, NULL);
	close(fd);
}

int main(int argc, char **argv)
{
	struct package package = {.number = 0};
	struct thrum_loop *loop;
	pthread_t threads[2];
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	start_mirror(&near, &threads[0]);
	start_mirror(&far, &threads[1]);
	error = thrum_promise_run(
		thrum_promise_label(install(loop, NULL, &package), "install all"));
	thrum_stop();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	stop_mirror(&near, threads[0]);
	stop_mirror(&far, threads[1]);
	printf("%d of %d packages installed\n", installed, PACKAGES);
	return error ? 1 : 0;
}
