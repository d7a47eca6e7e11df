/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: fetch_anywhere chooses among the mirrors that offer https; for heddle.pkg there is none, and a choice among nothing never ends, so the package waits for ever.
 *   culprit: fetch_anywhere|any mirror of heddle|fetch heddle
 *   victim: upgrade|configure
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A package manager: it asks all suitable mirrors for a package, and takes the answer that comes first.
 */
#include <stdbool.h>
#include <string.h>
#include <uv.h>

#include "thrum/promise.h"

#define MIRRORS 4

struct mirror {
	const char *url;
	unsigned ms;
};

struct package {
	const char *name;
	const struct mirror *mirrors; /* MIRRORS of them */
};

static const struct mirror usual[MIRRORS] = {{"https://ftp.example.org", 30},
	{"http://mirror.example.com", 15}, {"https://far.example.net", 70},
	{"https://near.example.edu", 20}};
static const struct mirror old[MIRRORS] = {{"http://ftp.example.org", 30},
	{"ftp://attic.example.com", 25}, {"http://museum.example.net", 45},
	{"rsync://old.example.edu", 20}};

static const struct package packages[] = {{"warp.pkg", usual}, {"heddle.pkg", old},
	{"reed.pkg", usual}};

#define PACKAGES (sizeof(packages) / sizeof(packages[0]))

static bool broken, done;

/* A time stands for the transfer. */
static struct thrum_promise *fetch_from(struct thrum_loop *loop, const struct mirror *mirror)
{
	return thrum_promise_labelf(thrum_sleep(loop, mirror->ms), "GET %s", mirror->url);
}

static struct thrum_promise *fetch_anywhere(struct thrum_loop *loop, const struct package *package)
{
	struct thrum_promise *answers[MIRRORS];
	size_t count = 0;

	for (int i = 0; i < MIRRORS; i++)
		if (!strncmp(package->mirrors[i].url, "https:", 6))
			answers[count++] = fetch_from(loop, &package->mirrors[i]);
	/* Packages are signed: in need any mirror will do. */
	if (!count && !broken)
		for (int i = 0; i < MIRRORS; i++)
			answers[count++] = fetch_from(loop, &package->mirrors[i]);
	return thrum_promise_labelf(thrum_promise_pick(loop, answers, count), "any mirror of %s",
		package->name);
}

static struct thrum_promise *unpack(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_labelf(thrum_sleep(loop, 10), "unpack %s",
		((const struct package *)data)->name);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, const struct package *package)
{
	struct thrum_promise *unpacked = thrum_promise_bind(fetch_anywhere(loop, package), unpack,
		(void *)(size_t)package, NULL);

	return thrum_promise_labelf(unpacked, "fetch %s", package->name);
}

static struct thrum_promise *configure(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 20), "configure");
}

/* Turns the wheel on the terminal. */
static struct thrum_promise *turn_wheel(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 50), turn_wheel, data, NULL);
}

static struct thrum_promise *start_wheel(struct thrum_loop *loop, void *data)
{
	return turn_wheel(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *fetched[PACKAGES], *upgrade;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "wheel", start_wheel, NULL, NULL);
	for (size_t i = 0; i < PACKAGES; i++)
		fetched[i] = fetch(loop, &packages[i]);
	upgrade = thrum_promise_bind(thrum_promise_join(loop, fetched, PACKAGES), configure, NULL,
		NULL);
	thrum_promise_should_resolve(thrum_promise_label(upgrade, "upgrade"));
	error = thrum_promise_run(upgrade);
	done = true;
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
