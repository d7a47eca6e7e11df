/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "fetch config" is shared by a preview and a page; the preview's timeout of 40 ms cancels the shared fetch,
 *     and the page, which only listens for its success, waits for ever.
 *   culprit: fetch config|preview|timeout
 *   victim: render|settings ready
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

/* A page renderer. The configuration is fetched once, and shared by all who need it. Hardly annotated. */
static struct thrum_promise *config;
static bool shield;

static struct thrum_value parse_config(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_value_static("theme=dark");
}

static struct thrum_promise *get_config(struct thrum_loop *loop)
{
	if (!config)
		config = thrum_promise_label(thrum_promise_map(thrum_sleep(loop, 120), parse_config,
						     NULL, NULL),
			"fetch config");
	return thrum_promise_ref(config);
}

static struct thrum_promise *plain_preview(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return thrum_promise_return(loop, thrum_value_static("plain"));
}

static struct thrum_promise *preview(struct thrum_loop *loop)
{
	struct thrum_promise *wanted = get_config(loop);

	if (shield)
		wanted = thrum_promise_protected(wanted);
	wanted = thrum_promise_label(thrum_timeout(wanted, 40), "preview: 40 ms for the config");
	return thrum_promise_label(thrum_promise_catch(wanted, plain_preview, NULL, NULL),
		"preview");
}

static void settings_arrived(struct thrum_loop *loop, void *value, void *data)
{
	thrum_resolver_resolve(data, thrum_value_static(value));
}

static struct thrum_promise *render_body(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_sleep(loop, 10);
}

static struct thrum_promise *render(struct thrum_loop *loop)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *settings = thrum_promise_wait(loop, "settings ready", &resolver);

	thrum_promise_on_success(get_config(loop), settings_arrived, resolver, NULL);
	return thrum_promise_label(thrum_promise_bind(settings, render_body, NULL, NULL),
		"render page");
}

int main(int argc, char **argv)
{
	struct thrum_promise *both[2], *idle;
	struct thrum_loop *loop;
	int result;

	shield = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	idle = thrum_sleep(loop, 600000);
	both[0] = preview(loop);
	both[1] = thrum_promise_should_resolve(render(loop));
	result = thrum_promise_run(thrum_promise_join(loop, both, 2));
	thrum_stop();
	thrum_promise_unref(idle);
	printf("render: %d\n", result);
	return result != 0;
}
