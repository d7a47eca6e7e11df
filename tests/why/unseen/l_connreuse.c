/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: Each GET connects and shakes hands anew (connect, TLS handshake) because the connection is not reused; the healthy one does so once.
 *   culprit: TLS handshake|connect
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After reports about curl: since an update each request makes a new connection with a new TLS handshake, because the
 * connection isn't found in the cache any more; everything works, but slower.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	REQUESTS = 20
};

struct connection {
	const char *host;
	bool open, has_proxy;
};

static struct connection cached;
static bool broken;
static unsigned connects;

/* A step that waits for the server's answer. */
static void await_answer(const char *label, unsigned milliseconds)
{
	thrum_task answer = thrum_task_create(THRUM_KIND_REQUEST, label);

	thrum_task_wait(thrum_task_current(), answer);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(milliseconds * 1000);
	thrum_resume();
	thrum_task_resolve(answer);
	thrum_task_read(thrum_task_current(), answer);
}

static bool connection_matches(const struct connection *connection, const char *host)
{
	if (!connection->open || strcmp(connection->host, host))
		return false;
	/* The update compares one flag too many. */
	return !broken || connection->has_proxy;
}

static void get_connection(const char *host)
{
	if (connection_matches(&cached, host))
		return;
	await_answer("connect", 4);
	await_answer("TLS handshake", 12);
	connects++;
	cached.host = host;
	cached.open = true;
}

static void get(int number)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_TASK, "GET /part/%d", number);

	thrum_task_should_resolve(request);
	THRUM_RUN (request) {
		get_connection("files.example.org");
		await_answer("response", 3);
		thrum_task_resolve(request);
	}
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < REQUESTS; i++)
		get(i);
	printf("%u connections\n", connects);
	return 0;
}
