/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_theme_changed, a source of the main loop, calls drop_theme, which waits in g_thread_pool_free until all
 *     jobs of the old theme have ended. These jobs wait in publish_icon until the main loop takes their pixels, and the
 *     main loop is inside on_theme_changed.
 *   culprit: on_theme_changed|drop_theme
 *   victim: publish_icon|load_icon|take_pixels|thread pool
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* iconindex loads a theme's icons in a pool of threads, and makes surfaces of them in the main loop, as toolkits want. */

#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define LOADERS 2
#define ICON_BYTES 64

struct theme {
	const char *name;
	unsigned icons, indexed;
	GThreadPool *loaders;
};

struct icon {
	struct theme *theme;
	char name[48];
	guchar pixels[ICON_BYTES];
	gboolean published;
};

static GMainLoop *loop;
static GMutex publish_mutex;
static GCond publish_cond;
static struct theme light = {.name = "light", .icons = 14};
static struct theme dark = {.name = "dark", .icons = 5};
static struct theme *current;
static guint total, frames;

static void load_theme(struct theme *theme);

/* In the main loop: surfaces may be made only there. */
gboolean take_pixels(gpointer data)
{
	struct icon *icon = data;
	guint sum = 0;

	for (int i = 0; i < ICON_BYTES; i++)
		sum += icon->pixels[i];
	g_debug("%s: %u", icon->name, sum);
	icon->theme->indexed++;
	total++;

	g_mutex_lock(&publish_mutex);
	icon->published = TRUE;
	g_cond_broadcast(&publish_cond);
	g_mutex_unlock(&publish_mutex);

	if (current == &dark && dark.indexed == dark.icons)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

/* In the loaders */

__attribute__((noinline)) void publish_icon(struct icon *icon)
{
	g_main_context_invoke(NULL, take_pixels, icon);
	g_mutex_lock(&publish_mutex);
	while (!icon->published)
		g_cond_wait(&publish_cond, &publish_mutex);
	g_mutex_unlock(&publish_mutex);
}

__attribute__((noinline)) void rasterize(struct icon *icon)
{
	g_usleep(50 * 1000); /* SVG from a slow share */
	for (int i = 0; i < ICON_BYTES; i++)
		icon->pixels[i] = (guchar)(icon->name[i % (int)strlen(icon->name)] + i);
}

void load_icon(gpointer data, gpointer user_data)
{
	struct icon *icon = data;

	(void)user_data;
	rasterize(icon);
	publish_icon(icon);
	g_free(icon);
}

/* In the main loop */

static void load_theme(struct theme *theme)
{
	GError *error = NULL;

	theme->loaders = g_thread_pool_new(load_icon, NULL, LOADERS, TRUE, &error);
	if (!theme->loaders)
		g_error("iconindex: %s", error->message);
	current = theme;
	for (unsigned i = 0; i < theme->icons; i++) {
		struct icon *icon = g_new0(struct icon, 1);

		icon->theme = theme;
		g_snprintf(icon->name, sizeof icon->name, "%s/scalable/icon-%02u.svg", theme->name,
			i);
		if (!g_thread_pool_push(theme->loaders, icon, &error))
			g_error("iconindex: %s", error->message);
	}
}

__attribute__((noinline)) void drop_theme(struct theme *theme)
{
	/* The loaders use the theme's memory, so let them end first. */
	g_thread_pool_free(theme->loaders, FALSE, TRUE);
	theme->loaders = NULL;
	theme->indexed = 0;
}

gboolean on_theme_changed(gpointer data)
{
	struct theme *theme = data;

	printf("theme “%s” instead of “%s”\n", theme->name, current->name);
	fflush(stdout);
	drop_theme(current);
	load_theme(theme);
	return G_SOURCE_REMOVE;
}

gboolean on_frame(gpointer data)
{
	(void)data;
	frames++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	gboolean broken = argc > 1 && !strcmp(argv[1], "broken");
	guint frame;

	loop = g_main_loop_new(NULL, FALSE);
	frame = g_timeout_add(100, on_frame, NULL);
	load_theme(&light);
	/* The desktop tells that the evening has begun, soon after the start or later. */
	g_timeout_add(broken ? 120 : 650, on_theme_changed, &dark);
	g_main_loop_run(loop);

	drop_theme(&dark);
	g_source_remove(frame);
	g_main_loop_unref(loop);
	printf("%u icons\n", total);
	return 0;
}
