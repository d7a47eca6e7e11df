/* SPDX-License-Identifier: ISC */
#include "desktop/settings.h"

#include <glib.h>
#include <glib/gstdio.h>

#define GROUP "viewer"

static char *path(void)
{
	return g_build_filename(g_get_user_config_dir(), "thrum", "viewer.ini", NULL);
}

/* Reads the file each time: other windows may belong to other processes. */
static GKeyFile *read_all(void)
{
	GKeyFile *file = g_key_file_new();
	g_autofree char *name = path();

	g_key_file_load_from_file(file, name, G_KEY_FILE_KEEP_COMMENTS, NULL);
	return file;
}

int settings_get(const char *key, int otherwise)
{
	g_autoptr(GKeyFile) file = read_all();
	g_autoptr(GError) error = NULL;
	int value = g_key_file_get_integer(file, GROUP, key, &error);

	return error ? otherwise : value;
}

/* A setting that can't be written is lost silently: it isn't worth a message. */
void settings_set(const char *key, int value)
{
	g_autoptr(GKeyFile) file = read_all();
	g_autofree char *name = path();
	g_autofree char *folder = g_path_get_dirname(name);

	g_key_file_set_integer(file, GROUP, key, value);
	g_mkdir_with_parents(folder, 0700);
	g_key_file_save_to_file(file, name, NULL);
}
