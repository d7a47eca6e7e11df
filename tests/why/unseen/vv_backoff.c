/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run: self
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: self
 *   ask: diff good
 *   truth: The consumer “rebalance” leaves without removing the lease of partition 2. So “take lease 2” fails
 *     again and again, and publish waits for longer and longer pauses until the lease expires.
 *   culprit: lease|rebalance
 *   victim: publish
 */
/* Publishers of a message queue take leases of partitions, which are files. The old owner returns its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define PARTITIONS 5
#define BATCHES 6
#define EXPIRY_MS 260

struct publisher {
	int partition, batch, tries;
	char lease[96];
};

static struct publisher publishers[PARTITIONS];
static char directory[] = "/tmp/queue-XXXXXX";
static bool forgets;
static int published, retries;

static void lease_remove(const struct publisher *publisher)
{
	unlink(publisher->lease);
}

static struct thrum_promise *take_lease(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *lease_taken(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct publisher *publisher = data;
	unsigned pause = 4u << publisher->tries++;

	if (failure->code != -EEXIST)
		return thrum_promise_fail_again(loop, failure);
	retries++;
	return thrum_promise_bind(thrum_sleep(loop, pause), take_lease, publisher, NULL);
}

static struct thrum_promise *take_lease(struct thrum_loop *loop, void *value, void *data)
{
	struct publisher *publisher = data;
	struct thrum_promise *file;

	(void)value;
	file = thrum_file_open(loop, publisher->lease, O_CREAT | O_EXCL | O_WRONLY, 0600);
	thrum_promise_labelf(file, "take lease %d", publisher->partition);
	return thrum_promise_catch(file, lease_taken, publisher, NULL);
}

static struct thrum_promise *send_batch(struct thrum_loop *loop, void *value, void *data)
{
	struct publisher *publisher = data;

	(void)value;
	if (publisher->batch++ == BATCHES) {
		lease_remove(publisher);
		return thrum_promise_return(loop, thrum_value_none());
	}
	published++;
	return thrum_promise_bind(thrum_sleep(loop, 5 + (unsigned)publisher->partition), send_batch,
		publisher, NULL);
}

static struct thrum_promise *publish(struct thrum_loop *loop, struct publisher *publisher)
{
	struct thrum_promise *done;

	done = thrum_promise_bind(take_lease(loop, NULL, publisher), send_batch, publisher, NULL);
	thrum_promise_labelf(done, "publish orders/%d", publisher->partition);
	return thrum_promise_should_resolve(done);
}

/* The broker takes leases back whose owner hasn't renewed them. */
static struct thrum_promise *expire(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (forgets)
		lease_remove(data);
	return thrum_promise_return(loop, thrum_value_none());
}

/* The old owner gives its partitions back, those with an even number. */
static struct thrum_promise *give_back(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	for (int i = 0; i < PARTITIONS; i += 2)
		if (i != 2 || !forgets)
			lease_remove(&publishers[i]);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *rebalance(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 3), give_back, data, NULL);
}

static struct thrum_promise *broker(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, EXPIRY_MS), expire, data, NULL);
}

/* The old owner took its leases long ago. */
static void leave_leases(void)
{
	for (int i = 0; i < PARTITIONS; i++) {
		struct publisher *publisher = &publishers[i];

		publisher->partition = i;
		snprintf(publisher->lease, sizeof(publisher->lease), "%s/orders-%d", directory, i);
		if (i % 2 == 0)
			close(open(publisher->lease, O_CREAT | O_WRONLY, 0600));
	}
}

int main(int count, char **arguments)
{
	struct thrum_promise *all[PARTITIONS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	forgets = count > 1 && !strcmp(arguments[1], "bad");
	if (!mkdtemp(directory))
		return 1;
	leave_leases();
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "broker", broker, &publishers[2], NULL);
	thrum_promise_async(loop, "rebalance", rebalance, NULL, NULL);
	for (int i = 0; i < PARTITIONS; i++)
		all[i] = publish(loop, &publishers[i]);
	code = thrum_promise_run(thrum_promise_join(loop, all, PARTITIONS));
	thrum_stop();
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	rmdir(directory);
	printf("published %d batches, %d retries\n", published, retries);
	return code || uv_loop_close(&uv);
}
