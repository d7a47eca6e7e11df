/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=load_icon
 *   truth: libuv's pool has four threads. The scans of mounts (scan_mount) wait for a server that doesn't answer, and keep
 *     all four busy for 400 ms, twice; so jobs load_icon, which are short, wait in the pool's queue behind them.
 *   culprit: scan_mount
 *   victim: load_icon|on_icon_loaded
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* icons: the part of a file manager that shows the mounts of a machine, and loads icons as the user scrolls. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define MOUNTS 8
#define ICONS 10
#define SCROLL_MS 60

struct mount {
	uv_work_t work;
	struct manager *manager;
	char path[48];
	bool remote;
	unsigned entries;
};

struct icon {
	uv_work_t work;
	struct manager *manager;
	char name[32];
	uint64_t asked;
	unsigned bytes;
};

struct manager {
	uv_loop_t loop;
	uv_timer_t scroll;
	struct mount mounts[MOUNTS];
	struct icon icons[ICONS];
	unsigned icons_asked, icons_loaded, mounts_scanned;
	uint64_t slowest;
	bool server_answers;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "icons: %s: %s\n", what, uv_strerror(error));
	exit(1);
}

/* ---- Mounts ---- */

/* Asks how many files there are. A server that is away is asked until the time is over. */
__attribute__((noinline)) unsigned ask_server(const struct mount *mount)
{
	unsigned tries = mount->manager->server_answers ? 1 : 40;

	for (unsigned i = 0; i < tries; i++)
		pause_ms(10);
	return mount->manager->server_answers ? 120 : 0;
}

void scan_mount(uv_work_t *work)
{
	struct mount *mount = work->data;

	mount->entries = mount->remote ? ask_server(mount) : 42;
}

void on_mount_scanned(uv_work_t *work, int status)
{
	struct mount *mount = work->data;

	if (status == 0)
		mount->manager->mounts_scanned++;
	if (mount->entries == 0)
		printf("%s: offline\n", mount->path);
}

__attribute__((noinline)) void refresh_mounts(struct manager *manager)
{
	for (unsigned i = 0; i < MOUNTS; i++) {
		struct mount *mount = &manager->mounts[i];
		int error;

		mount->manager = manager;
		mount->remote = true;
		mount->work.data = mount;
		snprintf(mount->path, sizeof mount->path, "/net/archive/%u", 2010 + i);
		error = uv_queue_work(&manager->loop, &mount->work, scan_mount, on_mount_scanned);
		if (error)
			fail("scan", error);
	}
}

/* ---- Icons ---- */

void load_icon(uv_work_t *work)
{
	struct icon *icon = work->data;

	pause_ms(4); /* a small file on the local disk */
	icon->bytes = 1024 + (unsigned)strlen(icon->name);
}

void on_icon_loaded(uv_work_t *work, int status)
{
	struct icon *icon = work->data;
	struct manager *manager = icon->manager;
	uint64_t took = uv_now(&manager->loop) - icon->asked;

	if (status != 0)
		return;
	manager->icons_loaded++;
	if (took > manager->slowest)
		manager->slowest = took;
}

__attribute__((noinline)) void show_row(struct manager *manager)
{
	struct icon *icon = &manager->icons[manager->icons_asked];
	int error;

	icon->manager = manager;
	icon->work.data = icon;
	icon->asked = uv_now(&manager->loop);
	snprintf(icon->name, sizeof icon->name, "file-%u.png", manager->icons_asked);
	manager->icons_asked++;
	error = uv_queue_work(&manager->loop, &icon->work, load_icon, on_icon_loaded);
	if (error)
		fail("load", error);
}

/* The user scrolls: there is another row to show. */
void on_scroll(uv_timer_t *timer)
{
	struct manager *manager = timer->data;

	show_row(manager);
	if (manager->icons_asked == ICONS)
		uv_close((uv_handle_t *)timer, NULL);
	else if (manager->icons_asked == 2)
		refresh_mounts(manager);
}

int main(int argc, char **argv)
{
	static struct manager manager;

	if (argc != 2) {
		fprintf(stderr, "usage: icons broken|healthy\n");
		return 2;
	}
	manager.server_answers = strcmp(argv[1], "broken") != 0;
	uv_loop_init(&manager.loop);
	uv_timer_init(&manager.loop, &manager.scroll);
	manager.scroll.data = &manager;
	uv_timer_start(&manager.scroll, on_scroll, SCROLL_MS, SCROLL_MS);
	uv_run(&manager.loop, UV_RUN_DEFAULT);
	printf("%u icons, the slowest took %u ms; %u mounts\n", manager.icons_loaded,
		(unsigned)manager.slowest, manager.mounts_scanned);
	return uv_loop_close(&manager.loop) != 0;
}
