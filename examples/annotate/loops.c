/* SPDX-License-Identifier: ISC */
/* Two threads with loops of promises, which call each other. With the bug, the second call needs a
 * lock that the first one holds. */
#include "annotate.h"

#include <thrum/promise.h>
#include <uv.h>

static struct thrum_inbox *shop, *bank;
static struct thrum_mutex *stock;
static uv_sem_t opened;

static struct thrum_promise *count_stock(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, 1);
}

/* Runs in the shop's loop. */
static struct thrum_promise *confirm(struct thrum_loop *loop, void *data)
{
	if (broken)
		return thrum_mutex_with(stock, count_stock, NULL, NULL);
	return count_stock(loop, NULL);
}

/* Runs in the bank's loop. */
static struct thrum_promise *pay(struct thrum_loop *loop, void *data)
{
	return thrum_inbox_call(shop, loop, "confirm", confirm, NULL, NULL);
}

/* Runs in the shop's loop. */
static struct thrum_promise *order(struct thrum_loop *loop, void *data)
{
	return thrum_inbox_call(bank, loop, "pay", pay, NULL, NULL);
}

static struct thrum_promise *close_bank(struct thrum_loop *loop, void *data)
{
	thrum_inbox_close(bank);
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_bank(void *data)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	thrum_lane_name("bank");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	bank = thrum_inbox_create(loop, "calls to the bank");
	uv_sem_post(&opened);
	uv_run(&uv, UV_RUN_DEFAULT); /* until the inbox is closed */
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return NULL;
}

int main(int argc, char **argv)
{
	struct thrum_promise *promise;
	struct thrum_loop *loop;
	pthread_t thread;
	int result;

	begin(argc);
	if (uv_sem_init(&opened, 0) || thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thread = start(run_bank, NULL);
	uv_sem_wait(&opened);
	shop = thrum_inbox_create(loop, "calls to the shop");
	stock = thrum_mutex_create(loop, "stock");
	promise = thrum_promise_label(thrum_mutex_with(stock, order, NULL, NULL), "order");
	result = thrum_promise_run(thrum_promise_should_resolve(promise));
	result |= thrum_inbox_post(bank, "close", close_bank, NULL, NULL);
	pthread_join(thread, NULL);
	thrum_inbox_unref(bank);
	thrum_inbox_close(shop);
	thrum_inbox_unref(shop);
	thrum_mutex_destroy(stock);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
