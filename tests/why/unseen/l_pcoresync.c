/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=open stream
 *   truth: One "open stream" waits for core_sync of a dead node, which times out three times after 80 ms before it is opened without; the others need 5 ms.
 *   culprit: core_sync|core sync
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about quickshell with PipeWire: the shell freezes at its start and prints "pw_core_sync timed out"
 * again and again; each try waits for its whole timeout.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	STREAMS = 8,
	DEAD = 5,
	TRIES = 3
};

static struct thrum_loop *loop;
static bool broken;
static unsigned opened, timeouts;
static int tries;

static struct thrum_promise *core_sync(int stream);

static struct thrum_promise *sync_failed(struct thrum_loop *in, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	timeouts++;
	if (++tries < TRIES)
		return core_sync((int)(intptr_t)data);
	return thrum_promise_return(in, thrum_value_none());
}

/* Asks the server whether it has handled all messages so far. A dead node never answers. */
static struct thrum_promise *core_sync(int stream)
{
	bool dead = broken && stream == DEAD;
	struct thrum_promise *done;

	done = thrum_promise_label(thrum_sleep(loop, dead ? 60000 : 5), "core sync");
	return thrum_promise_catch(thrum_timeout(done, 80), sync_failed, (void *)(intptr_t)stream,
		NULL);
}

static struct thrum_promise *connect_stream(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	opened++;
	return thrum_promise_return(in, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *stream;
	int error = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < STREAMS && !error; i++) {
		stream = thrum_promise_bind(core_sync(i), connect_stream, NULL, NULL);
		error = thrum_promise_run(thrum_promise_label(stream, "open stream"));
	}
	printf("%u streams, %u timeouts\n", opened, timeouts);
	return error != 0;
}
