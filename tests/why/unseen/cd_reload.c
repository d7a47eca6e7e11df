/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: syslog-ng pull request #1629 ("regression: reload not finalized if no workers around"): a reload lets the
 *     workers stop, then applies the configuration, then reenables them. The sixth comes when no worker runs:
 *     worker_sync_call then calls apply_config at once, but nobody calls finish_reload. So "reload 6" never ends,
 *     the workers stay disabled, messages are no longer delivered, and "reload 7" can't begin.
 *   culprit: reload 6|worker_sync_call|finish_reload
 *   victim: reload 7|deliver|source
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A log daemon on promises: sources hand messages to workers, and an operator reloads the configuration. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SOURCES 3
#define RELOADS 8

struct source {
	int number;
	int rounds;
};

static struct {
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_condition *enabled;  /* workers may start again */
	struct thrum_condition *finished; /* a reload has ended */
	struct thrum_resolver *reload;
	unsigned workers, delivered, version;
	bool quit;          /* workers must not start */
	bool apply_at_last; /* when the last worker leaves */
	bool under_way;     /* a reload */
	bool night;         /* the sources have nothing to say */
	bool fixed, stopped;
} syslogd;

/* ---- reload ---- */

static void apply_config(void)
{
	syslogd.version++;
}

static void finish_reload(void)
{
	syslogd.quit = false;
	syslogd.under_way = false;
	thrum_condition_broadcast(syslogd.enabled, thrum_value_none());
	thrum_resolver_resolve(syslogd.reload, thrum_value_none());
	thrum_condition_broadcast(syslogd.finished, thrum_value_none());
}

/* Stops the workers, and applies the configuration when none is left. */
static struct thrum_promise *worker_sync_call(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *reloaded;

	(void)value, (void)data;
	reloaded = thrum_promise_wait(loop, "configuration in use", &syslogd.reload);
	syslogd.quit = true;
	if (syslogd.workers) {
		syslogd.apply_at_last = true;
	} else {
		apply_config();
		if (syslogd.fixed)
			finish_reload();
	}
	return reloaded;
}

static struct thrum_promise *reload(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (syslogd.under_way)
		return thrum_promise_bind(thrum_condition_wait(syslogd.finished, NULL), reload,
			data, NULL);
	syslogd.under_way = true;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 4), "parse configuration"),
		worker_sync_call, data, NULL);
}

/* ---- workers ---- */

static struct thrum_promise *worker_left(struct thrum_loop *loop, void *data)
{
	(void)data;
	syslogd.delivered++;
	if (!--syslogd.workers && syslogd.apply_at_last) {
		syslogd.apply_at_last = false;
		apply_config();
		finish_reload();
	}
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *worker_start(struct thrum_loop *loop, void *value, void *data)
{
	struct source *source = data;

	(void)value;
	if (syslogd.quit)
		return thrum_promise_bind(thrum_condition_wait(syslogd.enabled, NULL), worker_start,
			data, NULL);
	syslogd.workers++;
	return thrum_promise_finalize(thrum_promise_label(thrum_sleep(loop, 8 + source->number),
					      "write"),
		worker_left, NULL, NULL);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, struct source *source)
{
	struct thrum_promise *delivered = worker_start(loop, NULL, source);

	return thrum_promise_should_resolve(thrum_promise_label(delivered, "deliver"));
}

/* ---- sources ---- */

static struct thrum_promise *source_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *source_send(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(deliver(loop, data), source_next, data, NULL);
}

static struct thrum_promise *source_next(struct thrum_loop *loop, void *value, void *data)
{
	struct source *source = data;

	(void)value;
	if (source->rounds == 0)
		return thrum_promise_return(loop, thrum_value_none());
	if (syslogd.night)
		return thrum_promise_bind(thrum_sleep(loop, 20), source_next, data, NULL);
	source->rounds--;
	return source_send(loop, NULL, source);
}

/* ---- operator and statistics ---- */

static struct thrum_promise *operator_wait(struct thrum_loop *loop, int number);

static struct thrum_promise *operator_next(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;

	(void)value;
	printf("reload %d: version %u\n", number, syslogd.version);
	syslogd.night = number == 5;
	return operator_wait(loop, number + 1);
}

static struct thrum_promise *operator_reload(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;
	struct thrum_promise *done = reload(loop, value, data);

	thrum_promise_labelf(done, "reload %d", number);
	thrum_promise_should_resolve(done);
	if (number == 6) /* doesn't look at the answer */
		return thrum_promise_bind(thrum_promise_choose(loop,
						  (struct thrum_promise *[]){done,
							  thrum_sleep(loop, 100)},
						  2),
			operator_next, data, NULL);
	return thrum_promise_bind(done, operator_next, data, NULL);
}

static struct thrum_promise *operator_wait(struct thrum_loop *loop, int number)
{
	if (number > RELOADS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, number == 6 ? 200 : 70), operator_reload,
		(void *)(intptr_t)number, NULL);
}

static struct thrum_promise *statistics(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (syslogd.stopped)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%u delivered, version %u\n", syslogd.delivered, syslogd.version);
	fflush(stdout);
	return thrum_promise_bind(thrum_sleep(loop, 100), statistics, data, NULL);
}

static struct thrum_promise *statistics_begin(struct thrum_loop *loop, void *data)
{
	return statistics(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct source sources[SOURCES];
	struct thrum_promise *all[SOURCES + 1];
	int code, i;

	if (argc < 2)
		return 2;
	syslogd.fixed = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&syslogd.uv);
	if (thrum_loop_create(&syslogd.uv, &syslogd.loop))
		return 1;
	syslogd.enabled = thrum_condition_create(syslogd.loop, "workers enabled");
	syslogd.finished = thrum_condition_create(syslogd.loop, "reload finished");
	for (i = 0; i < SOURCES; i++) {
		sources[i] = (struct source){i + 1, 80};
		all[i] = source_next(syslogd.loop, NULL, &sources[i]);
		thrum_promise_labelf(all[i], "source %d", i + 1);
	}
	all[SOURCES] = thrum_promise_label(operator_wait(syslogd.loop, 1), "operator");
	thrum_promise_async(syslogd.loop, "statistics", statistics_begin, NULL, NULL);
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(syslogd.loop, all, SOURCES + 1), "main"));
	thrum_stop();
	printf("%u delivered, version %u, %d\n", syslogd.delivered, syslogd.version, code);
	return code != 0;
}
