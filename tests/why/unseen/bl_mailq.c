/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=deliver
 *   truth: "reload routes" holds the mutex "route table" while it reads the routes from a slow disk for half a
 *     second, and each mail needs the mutex to look up its route; it should lock only to put the new table in
 *     place.
 *   culprit: reload routes|read_routes|reload_locked
 *   victim: deliver|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mail queue on promises: each mail looks up its route, takes a connection and is sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MAILS 50

struct mail {
	int number;
	const char *domain;
	unsigned arrives_ms;
	unsigned size;
};

struct queue {
	struct thrum_mutex *table; /* guards the routes */
	struct thrum_semaphore *connections;
	unsigned version;
	unsigned sent, bytes;
	bool empty;
	bool healthy;
};

static struct queue queue;
static struct mail mails[MAILS];

/* ---- routes ---- */

static struct thrum_promise *look_up(struct thrum_loop *loop, void *data)
{
	const struct mail *mail = data;

	return thrum_promise_label(thrum_sleep(loop, 1 + strlen(mail->domain) % 2), "look up");
}

static struct thrum_promise *read_routes(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 500), "read routes");
}

static struct thrum_promise *put_in_place(struct thrum_loop *loop, void *data)
{
	struct queue *changed = data;

	changed->version++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *reload_put(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return put_in_place(loop, data);
}

static struct thrum_promise *reload_locked(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(read_routes(loop), reload_put, data, NULL);
}

static struct thrum_promise *reload_lock(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(queue.table, put_in_place, data, NULL);
}

static struct thrum_promise *reload_begin(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (queue.healthy)
		return thrum_promise_bind(read_routes(loop), reload_lock, data, NULL);
	return thrum_mutex_with(queue.table, reload_locked, data, NULL);
}

static struct thrum_promise *reload(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 250), reload_begin, data, NULL);
}

/* ---- mails ---- */

static struct thrum_promise *send_body(struct thrum_loop *loop, void *data)
{
	const struct mail *mail = data;

	return thrum_promise_label(thrum_sleep(loop, 4 + mail->size / 500), "send");
}

static struct thrum_promise *routed(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_semaphore_with(queue.connections, send_body, data, NULL);
}

static struct thrum_promise *sent(struct thrum_loop *loop, void *value, void *data)
{
	const struct mail *mail = data;

	(void)value;
	queue.sent++;
	queue.bytes += mail->size;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;
	struct thrum_promise *work = thrum_mutex_with(queue.table, look_up, mail, NULL);

	(void)loop;
	(void)value;
	work = thrum_promise_bind(work, routed, mail, NULL);
	work = thrum_promise_bind(work, sent, mail, NULL);
	thrum_promise_labelf(work, "deliver %d to %s", mail->number, mail->domain);
	return thrum_promise_should_resolve(work);
}

static struct thrum_promise *mail_arrive(struct thrum_loop *loop, struct mail *mail)
{
	struct thrum_promise *arrived = thrum_sleep(loop, mail->arrives_ms);

	thrum_promise_labelf(arrived, "arrival %d", mail->number);
	return thrum_promise_bind(arrived, deliver, mail, NULL);
}

/* ---- housekeeping ---- */

static struct thrum_promise *sweep_step(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (queue.empty)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 70), sweep_step, data, NULL);
}

static struct thrum_promise *sweep(struct thrum_loop *loop, void *data)
{
	return sweep_step(loop, NULL, data);
}

static struct thrum_promise *emptied(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	queue.empty = true;
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	static const char *const domains[] = {"example.org", "example.com", "test.example"};
	struct thrum_promise *all[MAILS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	queue.healthy = !strcmp(argv[1], "healthy");
	queue.table = thrum_mutex_create(loop, "route table");
	queue.connections = thrum_semaphore_create(loop, "connections", 4);
	for (int i = 0; i < MAILS; i++) {
		/* Most come in the morning, and a few stragglers while the day goes on. */
		mails[i] = (struct mail){.number = i,
			.domain = domains[i % 3],
			.arrives_ms = (unsigned)(i < 44 ? i * 5 : 260 + (i - 44) * 90),
			.size = (unsigned)(500 + i % 5 * 400)};
		all[i] = mail_arrive(loop, &mails[i]);
	}
	thrum_promise_async(loop, "reload routes", reload, &queue, NULL);
	thrum_promise_async(loop, "sweep", sweep, NULL, NULL);
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_bind(thrum_promise_join(loop, all, MAILS),
					    emptied, NULL, NULL),
			"main"));
	printf("%u mails, %u bytes, routes %u\n", queue.sent, queue.bytes, queue.version);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	thrum_semaphore_destroy(queue.connections);
	thrum_mutex_destroy(queue.table);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code ? 1 : 0;
}
