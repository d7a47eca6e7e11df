/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: move_shard gives the lease of shard 2 back only when the copy was resolved. "move shard 2" runs into
 *     its timeout, so its copy is cancelled, the lease stays taken, and "compact shard 2" waits for it for
 *     ever.
 *   culprit: move_shard|move shard 2|give_back|lease of shard 2
 *   victim: compact shard 2|rebalance|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* Shards are moved between nodes and compacted. Either needs the lease of the shard. */
enum {
	SHARDS = 4,
	PATIENCE = 200
};

struct shard {
	int number, megabytes;
	struct thrum_mutex *lease;
};

static struct shard shards[SHARDS];
static bool always;
static int moved, compacted, timeouts;

static struct thrum_promise *copy_shard(struct thrum_loop *loop, struct shard *shard)
{
	struct thrum_promise *copy = thrum_sleep(loop, (uint64_t)shard->megabytes);

	return thrum_promise_labelf(copy, "copy %d MB", shard->megabytes);
}

static struct thrum_promise *give_back(struct thrum_loop *loop, void *data)
{
	struct shard *shard = data;

	thrum_mutex_unlock(shard->lease);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *give_back_then(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return give_back(loop, data);
}

static struct thrum_promise *with_lease(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *shard = data;
	struct thrum_promise *copy = copy_shard(loop, shard);

	(void)value;
	if (always)
		return thrum_promise_finalize(copy, give_back, shard, NULL);
	return thrum_promise_bind(copy, give_back_then, shard, NULL);
}

static struct thrum_promise *on_moved(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	moved++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_timeout(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct shard *shard = data;

	printf("shard %d stays: %s\n", shard->number, failure->message);
	timeouts++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *move_shard(struct shard *shard)
{
	struct thrum_promise *move = thrum_mutex_lock(shard->lease);

	move = thrum_promise_bind(move, with_lease, shard, NULL);
	move = thrum_timeout(move, PATIENCE);
	move = thrum_promise_try_bind(move, on_moved, on_timeout, shard, NULL);
	return thrum_promise_labelf(move, "move shard %d", shard->number);
}

static struct thrum_promise *compact(struct thrum_loop *loop, void *data)
{
	struct shard *shard = data;

	compacted++;
	return thrum_promise_labelf(thrum_sleep(loop, 5), "merge files of shard %d", shard->number);
}

static struct thrum_promise *compact_shard(struct shard *shard)
{
	struct thrum_promise *work = thrum_mutex_with(shard->lease, compact, shard, NULL);

	return thrum_promise_labelf(work, "compact shard %d", shard->number);
}

static struct thrum_promise *compact_all(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[SHARDS];

	(void)value;
	(void)data;
	for (int i = 0; i < SHARDS; i++)
		all[i] = compact_shard(&shards[i]);
	return thrum_promise_label(thrum_promise_join(loop, all, SHARDS), "compact all");
}

static struct thrum_promise *rebalance(struct thrum_loop *loop)
{
	struct thrum_promise *all[SHARDS];

	for (int i = 0; i < SHARDS; i++)
		all[i] = move_shard(&shards[i]);
	return thrum_promise_bind(thrum_promise_join(loop, all, SHARDS), compact_all, NULL, NULL);
}

static void on_second(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	static const int sizes[SHARDS] = {10, 20, 5000, 15};
	struct thrum_promise *done;
	struct thrum_loop *loop;
	uv_timer_t status;
	char name[32];
	int result;

	always = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &status);
	uv_timer_start(&status, on_second, 200, 200);
	for (int i = 0; i < SHARDS; i++) {
		shards[i].number = i;
		shards[i].megabytes = sizes[i];
		snprintf(name, sizeof name, "lease of shard %d", i);
		shards[i].lease = thrum_mutex_create(loop, name);
	}
	done = thrum_promise_label(rebalance(loop), "rebalance");
	result = thrum_promise_run(thrum_promise_should_resolve(done));
	printf("%d moved, %d timeouts, %d compacted: %d\n", moved, timeouts, compacted, result);
	thrum_stop();
	return result ? 1 : 0;
}
