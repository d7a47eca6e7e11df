/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run: self
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: self
 *   ask: diff good
 *   truth: The task "warm template cache" is missing, because the setting for it was read as off. So each
 *     digest compiles its template itself and takes longer.
 *   culprit: warm template cache
 *   victim: send digest|compile template
 * case: again
 *   args: good
 *   run: self
 *   ask: diff good
 *   culprit: nothing
 */
/*
 * Sends the daily digest to subscribers. Templates are compiled in the thread pool, and kept in a cache that
 * is warmed at the start if the settings say so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define SUBSCRIBERS 9
#define LANGUAGES 3

static const char *const languages[LANGUAGES] = {"de", "en", "fr"};
static bool is_compiled[LANGUAGES];
static int compiled, sent;

/* A new release of the settings writes "yes" where older ones wrote "on". */
static bool is_on(const char *setting)
{
	return strcasecmp(setting, "on") == 0 || strcmp(setting, "1") == 0;
}

static int compile(void *data, struct thrum_value *result)
{
	(void)data;
	usleep(18000);
	*result = thrum_value_none();
	return 0;
}

static struct thrum_value count_compiled(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	compiled++;
	return thrum_value_none();
}

static struct thrum_promise *compile_template(struct thrum_loop *loop, intptr_t language)
{
	struct thrum_promise *done;

	done = thrum_work(loop, "compile template", compile, (void *)languages[language], NULL);
	return thrum_promise_map(done, count_compiled, NULL, NULL);
}

static struct thrum_value fill_cache(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	for (int i = 0; i < LANGUAGES; i++)
		is_compiled[i] = true;
	return thrum_value_none();
}

/* Only this fills the cache: later compilations may run at the same time. */
static struct thrum_promise *warm_cache(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[LANGUAGES], *warm;

	(void)value;
	(void)data;
	for (int i = 0; i < LANGUAGES; i++)
		all[i] = compile_template(loop, i);
	warm = thrum_promise_map(thrum_promise_join(loop, all, LANGUAGES), fill_cache, NULL, NULL);
	return thrum_promise_label(warm, "warm template cache");
}

static struct thrum_value count_sent(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	sent++;
	return thrum_value_none();
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *accepted = thrum_promise_label(thrum_sleep(loop, 4), "smtp DATA");

	(void)value;
	return thrum_promise_map(accepted, count_sent, data, NULL);
}

static struct thrum_promise *use_template(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t language = thrum_int(data);

	if (is_compiled[language])
		return deliver(loop, value, NULL);
	return thrum_promise_bind(compile_template(loop, language), deliver, NULL, NULL);
}

static struct thrum_promise *send_next(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);
	struct thrum_promise *articles, *digest;

	(void)value;
	if (number == SUBSCRIBERS)
		return thrum_promise_return(loop, thrum_value_none());
	articles = thrum_promise_label(thrum_sleep(loop, 3), "select articles");
	digest = thrum_promise_bind(articles, use_template, (void *)(number % LANGUAGES), NULL);
	thrum_promise_should_resolve(thrum_promise_label(digest, "send digest"));
	return thrum_promise_bind(digest, send_next, (void *)(number + 1), NULL);
}

static struct thrum_promise *begin(struct thrum_loop *loop, void *value, void *data)
{
	const char *setting = data;

	if (is_on(setting))
		return thrum_promise_bind(warm_cache(loop, value, NULL), send_next, (void *)0,
			NULL);
	return send_next(loop, value, (void *)0);
}

int main(int argc, char **argv)
{
	const char *warm_setting = argc > 1 && strcmp(argv[1], "bad") == 0 ? "yes" : "on";
	struct thrum_promise *settings, *run;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	settings = thrum_promise_label(thrum_sleep(loop, 2), "read settings");
	run = thrum_promise_bind(settings, begin, (void *)warm_setting, NULL);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(run, "daily run")));
	thrum_stop();
	printf("%d sent, %d compiled\n", sent, compiled);
	return error ? 1 : 0;
}
