/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: connection_alive says of a live SSH connection that it is dead, so each transfer connects and
 *     authenticates anew, where the healthy program does so once.
 *   culprit: ssh connect|ssh handshake|ssh login|connect_ssh
 *   victim: read file|get file
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about curl: with libssh a connection isn't reused for the next transfer; curl looks at it,
 * says that it is dead and makes a new one.
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define FILES 6

struct connection {
	bool open;
	int uses;
};

static struct connection connection;
static int connects, files;
static bool healthy;

/* A socket without data to read counts as alive. The broken check takes "would block" for an error. */
static bool connection_alive(const struct connection *it)
{
	int result = it->uses > 0 ? -UV_EAGAIN : 0;

	if (!it->open)
		return false;
	return healthy ? result == 0 || result == -UV_EAGAIN : result == 0;
}

static struct thrum_promise *login(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	connection.open = true;
	connection.uses = 0;
	connects++;
	return thrum_promise_label(thrum_sleep(loop, 15), "ssh login");
}

static struct thrum_promise *handshake(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 25), "ssh handshake"),
		login, data, NULL);
}

static struct thrum_promise *connect_ssh(struct thrum_loop *loop)
{
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 10), "ssh connect"),
		handshake, NULL, NULL);
}

static struct thrum_promise *read_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	connection.uses++;
	files++;
	return thrum_promise_label(thrum_sleep(loop, 12), "read file");
}

static struct thrum_promise *get_file(struct thrum_loop *loop, int number)
{
	struct thrum_promise *ready;

	if (connection_alive(&connection))
		ready = thrum_promise_pause(loop);
	else
		ready = connect_ssh(loop);
	return thrum_promise_labelf(thrum_promise_bind(ready, read_file, NULL, NULL), "get file %d",
		number);
}

static struct thrum_promise *next_file(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;

	(void)value;
	if (number > FILES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(get_file(loop, number), next_file, (void *)(intptr_t)(number + 1),
		NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	all = thrum_promise_label(next_file(loop, NULL, (void *)1), "fetch all");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d files, %d connects, %d\n", files, connects, error);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
