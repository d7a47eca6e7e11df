/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2000
 *   ask: why
 *   truth: save_settings tells the watchers while it holds the mutex "settings lock". The watcher of the theme reads the
 *     settings by read_setting, which wants the same mutex, so the save waits for itself, and the console behind it.
 *   culprit: theme_changed|tell theme|save theme|settings lock
 *   victim: console|get language
 * case: healthy
 *   args: healthy
 *   run: self live 2000
 *   ask: why
 *   culprit: nothing
 */
/* A daemon that keeps settings in a slow store, and tells others about changes. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum key {
	VOLUME,
	THEME,
	LANGUAGE,
	KEYS
};

static const char *const key_names[KEYS] = {"volume", "theme", "language"};

struct setting {
	enum key key;
	int value;
};

static struct thrum_mutex *settings_lock;
static int settings[KEYS];
static bool tell_later;
static unsigned saved, repainted;

static struct thrum_promise *load_one(struct thrum_loop *loop, void *data)
{
	const struct setting *setting = data;

	return thrum_promise_return(loop, thrum_value_int(settings[setting->key]));
}

static struct thrum_promise *read_setting(struct setting *setting)
{
	return thrum_promise_labelf(thrum_mutex_with(settings_lock, load_one, setting, NULL),
		"get %s", key_names[setting->key]);
}

/* ---- watchers ---- */

static struct thrum_promise *repaint(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	repainted++;
	return thrum_sleep(loop, (uint64_t)(2 + thrum_int(value) % 3));
}

/* The theme depends on the language, too: some are written from right to left. */
static struct thrum_promise *theme_changed(struct thrum_loop *loop)
{
	static struct setting language = {LANGUAGE, 0};

	(void)loop;
	return thrum_promise_bind(read_setting(&language), repaint, NULL, NULL);
}

static struct thrum_promise *volume_changed(struct thrum_loop *loop)
{
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *tell_watchers(struct thrum_loop *loop, void *value, void *data)
{
	const struct setting *setting = data;

	(void)value;
	switch (setting->key) {
	case VOLUME: return thrum_promise_label(volume_changed(loop), "tell volume");
	case THEME: return thrum_promise_label(theme_changed(loop), "tell theme");
	default: return thrum_promise_return(loop, thrum_value_none());
	}
}

/* ---- saving ---- */

static struct thrum_promise *stored(struct thrum_loop *loop, void *value, void *data)
{
	const struct setting *setting = data;

	settings[setting->key] = setting->value;
	saved++;
	if (tell_later)
		return thrum_promise_return(loop, thrum_value_none());
	return tell_watchers(loop, value, data);
}

static struct thrum_promise *save_locked(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 3), stored, data, NULL);
}

static struct thrum_promise *save_settings(struct thrum_loop *loop, struct setting *setting)
{
	struct thrum_promise *save = thrum_mutex_with(settings_lock, save_locked, setting, NULL);

	(void)loop;
	if (tell_later)
		save = thrum_promise_bind(save, tell_watchers, setting, NULL);
	save = thrum_promise_labelf(save, "save %s", key_names[setting->key]);
	return thrum_promise_should_resolve(save);
}

/* ---- console: the user changes things ---- */

static struct thrum_promise *console_command(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *console_think(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 10), console_command, data, NULL);
}

static struct thrum_promise *console_command(struct thrum_loop *loop, void *value, void *data)
{
	static unsigned count;
	static struct setting setting;

	(void)value;
	(void)data;
	count++;
	setting.key = count % 12 == 0 ? THEME : count % 5 == 0 ? LANGUAGE : VOLUME;
	setting.value = (int)(count * 7 % 100);
	return thrum_promise_bind(save_settings(loop, &setting), console_think, NULL, NULL);
}

static struct thrum_promise *console(struct thrum_loop *loop, void *data)
{
	return console_command(loop, NULL, data);
}

static struct thrum_promise *heartbeat(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	printf("alive; %u saved, %u repainted\n", saved, repainted);
	fflush(stdout);
	return thrum_promise_bind(thrum_sleep(loop, 100), heartbeat, NULL, NULL);
}

static struct thrum_promise *heartbeat_begin(struct thrum_loop *loop, void *data)
{
	return heartbeat(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;

	tell_later = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return EXIT_FAILURE;
	settings_lock = thrum_mutex_create(loop, "settings lock");
	thrum_promise_async(loop, "heartbeat", heartbeat_begin, NULL, NULL);
	thrum_promise_async(loop, "console", console, NULL, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return EXIT_SUCCESS;
}
