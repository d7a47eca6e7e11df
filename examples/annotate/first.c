/* SPDX-License-Identifier: ISC */
/* The first three calls, in a server that knows nothing else of thrum. With the bug, one path forgets the
 * answer. */
#include "annotate.h"

struct order {
	int number;
	thrum_task task;
};

static void order_begin(struct order *order)
{
	order->task = thrum_task_createf(THRUM_KIND_TASK, "order %d", order->number);
	thrum_task_should_resolve(order->task);
}

static void order_answer(struct order *order)
{
	thrum_task_resolve(order->task);
}

static void *serve(void *data)
{
	struct order *order = data;

	pause_ms(2);
	if (!broken || order->number != 3)
		order_answer(order);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct order orders[5];

	begin(argc);
	for (int i = 0; i < 5; i++) {
		orders[i].number = i + 1;
		order_begin(&orders[i]);
		pthread_join(start(serve, &orders[i]), NULL);
	}
	while (broken)
		pause();
	return 0;
}
