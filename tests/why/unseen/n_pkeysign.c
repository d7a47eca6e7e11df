/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="start window"
 *   truth: the start waits for the activation of the service org.bluez, which isn't there; the call is given
 *     up after 800 ms, and only then does the window open.
 *   culprit: org\.bluez|bluetooth
 *   victim: load keyring|read theme
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about gnome-keysign: on a machine without Bluetooth the start takes very long, because the
 * call to the message bus waits 25 seconds for the activation of org.bluez.
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static bool healthy, has_bluetooth;

/* The bus answers a call; it answers one to org.bluez never, since nobody provides that. */
static struct thrum_promise *bus_call(struct thrum_loop *loop, const char *service,
	struct thrum_resolver **resolver)
{
	struct thrum_promise *call = thrum_promise_task(loop, NULL, resolver);

	thrum_promise_labelf(call, "call %s", service);
	return call;
}

static struct thrum_promise *no_bluetooth(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	printf("no bluetooth: %s\n", failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *yes_bluetooth(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	has_bluetooth = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_resolver *bluez;

static struct thrum_promise *find_bluetooth(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *call = thrum_timeout(bus_call(loop, "org.bluez", &bluez), 800);
	struct thrum_promise *found = thrum_promise_try_bind(call, yes_bluetooth, no_bluetooth,
		data, NULL);

	return thrum_promise_label(found, "find bluetooth");
}

static struct thrum_promise *open_window(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	puts("window open");
	return thrum_promise_label(thrum_sleep(loop, 10), "first frame");
}

static struct thrum_promise *start(struct thrum_loop *loop)
{
	struct thrum_promise *parts[3];
	size_t count = 0;

	parts[count++] = thrum_promise_label(thrum_sleep(loop, 40), "load keyring");
	parts[count++] = thrum_promise_label(thrum_sleep(loop, 25), "read theme");
	if (!healthy)
		parts[count++] = find_bluetooth(loop, NULL);
	return thrum_promise_label(thrum_promise_bind(thrum_promise_join(loop, parts, count),
					   open_window, NULL, NULL),
		"start window");
}

static struct thrum_promise *use_window(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	/* The healthy program looks for Bluetooth when the window is there. */
	if (healthy)
		return find_bluetooth(loop, NULL);
	return thrum_promise_label(thrum_sleep(loop, 50), "idle");
}

int main(int argc, char **argv)
{
	struct thrum_promise *application;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	application = thrum_promise_bind(start(loop), use_window, NULL, NULL);
	thrum_promise_label(application, "application");
	error = thrum_promise_run(thrum_promise_should_resolve(application));
	thrum_stop();
	thrum_resolver_drop(bluez);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
