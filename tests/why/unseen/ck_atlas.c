/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: render_tile holds style_lock for reading. For a tile with foreign letters it calls fallback_font, which takes
 *     style_lock for reading once more. Meanwhile reload_style waits to write, and the lock prefers writers: so the second
 *     reading lock of render-2 waits for the writer, and the writer for the first one of render-2.
 *   culprit: fallback_font|render_tile|render-2
 *   victim: reload_style|styler|render-1|render-3|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A map server: threads render tiles in the current style, and another one loads the style again when it was edited. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RENDERERS = 3,
	TILES = 30,
	FOREIGN_TILE = 45
};

struct style {
	unsigned version;
	unsigned colours[8];
	const char *fonts[2];
};

static pthread_rwlock_t style_lock;
static struct style style = {1, {0}, {"Plain", "Wide"}};
static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long tiles_on_disk;
static atomic_uint next_tile;
static atomic_bool stopping;
static bool hold_once;

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

/* Rasterizes the letters that the style's own font lacks. */
static unsigned load_letters(unsigned tile)
{
	pause_ms(80);
	return tile * 31;
}

static const char *fallback_font_of(const struct style *current)
{
	return current->fonts[1];
}

static const char *fallback_font(void)
{
	const char *font;

	pthread_rwlock_rdlock(&style_lock);
	font = fallback_font_of(&style);
	pthread_rwlock_unlock(&style_lock);
	return font;
}

static bool has_foreign_letters(unsigned tile)
{
	return tile == FOREIGN_TILE;
}

static unsigned render_tile(unsigned tile)
{
	unsigned picture;
	const char *font;

	pthread_rwlock_rdlock(&style_lock);
	picture = style.colours[tile % 8] + style.version;
	pause_ms(3);
	font = style.fonts[0];
	if (has_foreign_letters(tile)) {
		picture += load_letters(tile);
		font = hold_once ? fallback_font_of(&style) : fallback_font();
	}
	picture += (unsigned)strlen(font);
	pthread_rwlock_unlock(&style_lock);
	return picture;
}

static void store_tile(unsigned picture)
{
	pthread_mutex_lock(&disk_mutex);
	tiles_on_disk += picture != 0;
	pthread_mutex_unlock(&disk_mutex);
	pause_ms(1);
}

static void *render(void *data)
{
	unsigned number = (unsigned)(size_t)data;
	char name[16];

	snprintf(name, sizeof name, "render-%u", number);
	pthread_setname_np(pthread_self(), name);
	for (unsigned i = 0; i < TILES; i++) {
		/* each thread has its own rows of the map */
		store_tile(render_tile((number - 1) * TILES + i));
		atomic_fetch_add(&next_tile, 1);
	}
	return NULL;
}

static void read_style(struct style *read)
{
	*read = style;
	read->version++;
	for (int i = 0; i < 8; i++)
		read->colours[i] = read->version * 16 + (unsigned)i;
}

static void reload_style(void)
{
	struct style edited;

	read_style(&edited);
	pthread_rwlock_wrlock(&style_lock);
	style = edited;
	pthread_rwlock_unlock(&style_lock);
}

static void *watch_style(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "styler");
	while (!atomic_load(&stopping)) {
		pause_ms(15);
		reload_style();
	}
	return NULL;
}

static void *report(void *data)
{
	unsigned long tiles;

	(void)data;
	pthread_setname_np(pthread_self(), "report");
	while (!atomic_load(&stopping)) {
		pause_ms(100);
		pthread_mutex_lock(&disk_mutex);
		tiles = tiles_on_disk;
		pthread_mutex_unlock(&disk_mutex);
		printf("%lu tiles\n", tiles);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t prefer_writers;
	pthread_t renderers[RENDERERS];
	pthread_t styler;
	pthread_t reporter;

	hold_once = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_rwlockattr_init(&prefer_writers);
	pthread_rwlockattr_setkind_np(&prefer_writers,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&style_lock, &prefer_writers);
	pthread_create(&styler, NULL, watch_style, NULL);
	pthread_create(&reporter, NULL, report, NULL);
	for (size_t i = 0; i < RENDERERS; i++)
		pthread_create(&renderers[i], NULL, render, (void *)(i + 1));
	for (size_t i = 0; i < RENDERERS; i++)
		pthread_join(renderers[i], NULL);
	atomic_store(&stopping, true);
	pthread_join(styler, NULL);
	pthread_join(reporter, NULL);
	printf("%u of %d tiles\n", atomic_load(&next_tile), RENDERERS * TILES);
	return 0;
}
