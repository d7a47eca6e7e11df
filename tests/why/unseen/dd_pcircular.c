/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: install remembers the promise of each package that is being installed; fonts needs texbook, texbook needs loom-doc, and loom-doc needs fonts, so each of the three waits for the next one in a circle.
 *   culprit: install (fonts|texbook|loom-doc)
 *   victim: install desktop|install viewer|transaction
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A package manager installs a package after all that it needs. Packages that are needed twice are installed once.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "thrum/promise.h"

#define NEEDS 4

struct package {
	const char *name, *needs[NEEDS];
	struct thrum_promise *installed;
	bool on_path; /* its needs are being looked at */
};

static struct package packages[] = {
	{.name = "desktop", .needs = {"viewer", "shell", "sounds"}},
	{.name = "viewer", .needs = {"libwarp", "fonts"}},
	{.name = "shell", .needs = {"libwarp"}},
	{.name = "sounds", .needs = {"libwarp"}},
	{.name = "fonts", .needs = {"texbook"}},
	{.name = "texbook", .needs = {"libwarp", "loom-doc"}},
	{.name = "loom-doc", .needs = {"fonts"}},
	{.name = "libwarp"},
};

#define PACKAGES (sizeof(packages) / sizeof(packages[0]))

static bool broken, done;

static struct package *find(const char *name)
{
	for (size_t i = 0; i < PACKAGES; i++)
		if (!strcmp(packages[i].name, name))
			return &packages[i];
	exit(1);
}

static struct thrum_promise *unpack(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = data;

	(void)value;
	return thrum_promise_labelf(thrum_sleep(loop, 15), "unpack %s", package->name);
}

/* Installs a package, or returns the installation that is under way. */
static struct thrum_promise *install(struct thrum_loop *loop, struct package *package)
{
	struct thrum_promise *needs[NEEDS], *end;
	struct thrum_resolver *resolver;
	size_t count = 0;

	if (package->installed)
		return thrum_promise_ref(package->installed);
	package->installed = thrum_promise_task(loop, NULL, &resolver);
	thrum_promise_labelf(package->installed, "install %s", package->name);
	package->on_path = true;
	for (int i = 0; i < NEEDS && package->needs[i]; i++) {
		struct package *needed = find(package->needs[i]);

		/* In a circle one package has to come before what it needs. */
		if (!broken && needed->on_path)
			continue;
		needs[count++] = install(loop, needed);
	}
	package->on_path = false;
	end = thrum_promise_bind(thrum_promise_join(loop, needs, count), unpack, package, NULL);
	thrum_resolver_follow(resolver, end);
	return thrum_promise_ref(package->installed);
}

/* Draws the bar. */
static struct thrum_promise *draw_bar(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), draw_bar, data, NULL);
}

static struct thrum_promise *start_bar(struct thrum_loop *loop, void *data)
{
	return draw_bar(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *transaction;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "progress bar", start_bar, NULL, NULL);
	transaction = thrum_promise_protected(install(loop, find("desktop")));
	thrum_promise_should_resolve(thrum_promise_label(transaction, "transaction"));
	error = thrum_promise_run(transaction);
	done = true;
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	for (size_t i = 0; i < PACKAGES; i++)
		thrum_promise_unref(packages[i].installed);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
