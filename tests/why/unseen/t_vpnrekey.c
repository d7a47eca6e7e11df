/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why
 *   truth: "rekey peer berlin" takes the lock "key table" and its handshake fails; the unlock is in the success path only (install_keys), so the lock is never released. The later rekeys of the peers and the packets wait for it for ever.
 *   culprit: (?i)(rekey )?(peer )?berlin.*(hold|release|lock|fail|key table)|(hold|lock|release).*berlin|handshake berlin
 *   victim: (?i)oslo|lisbon|seal|key table
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct peer {
	const char *name;
	unsigned start, handshake;
	int refuses;
	unsigned keys;
};

static struct thrum_mutex *table;
static int broken;
static struct peer peers[] = {
	{"paris", 10, 20, 0, 0},
	{"berlin", 60, 30, 1, 0},
	{"oslo", 120, 20, 0, 0},
	{"lisbon", 160, 20, 0, 0},
};

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	struct peer *peer = data;

	if (peer->refuses)
		return thrum_promise_fail(loop, -ECONNREFUSED, "%s: bad cookie", peer->name);
	return thrum_promise_return(loop, thrum_value_int(42));
}

static struct thrum_promise *handshake(struct thrum_loop *loop, struct peer *peer)
{
	struct thrum_promise *sent = thrum_sleep(loop, peer->handshake);

	return thrum_promise_labelf(thrum_promise_bind(sent, answer, peer, NULL), "handshake %s",
		peer->name);
}

static struct thrum_promise *install_keys(struct thrum_loop *loop, void *value, void *data)
{
	struct peer *peer = data;

	peer->keys++;
	thrum_mutex_unlock(table);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *locked(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(handshake(loop, data), install_keys, data, NULL);
}

static struct thrum_promise *keep_old_keys(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	fprintf(stderr, "%s\n", failure->message);
	if (!broken)
		thrum_mutex_unlock(table);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *rekey(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(thrum_mutex_lock(table), locked, data, NULL);
}

static struct thrum_promise *rekey_later(struct thrum_loop *loop, struct peer *peer)
{
	struct thrum_promise *due = thrum_sleep(loop, peer->start);
	struct thrum_promise *done = thrum_promise_bind(due, rekey, peer, NULL);

	done = thrum_promise_catch(done, keep_old_keys, peer, NULL);
	return thrum_promise_labelf(done, "rekey peer %s", peer->name);
}

static struct thrum_promise *with_keys(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, 2);
}

static struct thrum_promise *seal(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_mutex_with(table, with_keys, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[8], *main_task;
	struct thrum_loop *loop;
	uv_loop_t uv;
	size_t count = 0;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	table = thrum_mutex_create(loop, "key table");
	for (size_t i = 0; i < 4; i++)
		all[count++] = rekey_later(loop, &peers[i]);
	for (int i = 0; i < 4; i++)
		all[count++] = thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop,
									       5 + 65 * i),
							    seal, NULL, NULL),
			"seal packet %d", i);
	main_task = thrum_promise_label(thrum_promise_join(loop, all, count), "tunnel");
	result = thrum_promise_run(thrum_promise_should_resolve(main_task));
	if (result) {
		fprintf(stderr, "vpnrekey: %s\n", thrum_promise_error_message(result));
		return 1;
	}
	thrum_mutex_destroy(table);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
