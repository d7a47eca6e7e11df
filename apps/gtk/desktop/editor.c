/* SPDX-License-Identifier: ISC */
#include "desktop/editor.h"

#include <string.h>

/* How an editor is told the line. */
enum {
	PLUS,       /* +LINE FILE */
	COLON,      /* FILE:LINE */
	GOTO_COLON, /* -g FILE:LINE */
	LINE,       /* --line LINE FILE */
};

/* Editors with a window of their own; those of a terminal can't be started from here. */
static const struct {
	const char *name;
	int way;
} EDITORS[] = {
	{"code", GOTO_COLON},
	{"code-insiders", GOTO_COLON},
	{"codium", GOTO_COLON},
	{"cursor", GOTO_COLON},
	{"subl", COLON},
	{"sublime_text", COLON},
	{"zed", COLON},
	{"lapce", COLON},
	{"gedit", PLUS},
	{"gnome-text-editor", PLUS},
	{"gvim", PLUS},
	{"mousepad", LINE},
	{"pluma", PLUS},
	{"xed", PLUS},
	{"kate", LINE},
	{"kwrite", LINE},
	{"geany", PLUS},
	{"emacs", PLUS},
	{"clion", LINE},
	{"idea", LINE},
	{"qtcreator", COLON},
};

char *editor_find(const char *file, const char *trace)
{
	g_autofree char *folder = trace ? g_path_get_dirname(trace) : NULL;
	g_autofree char *path = NULL;

	if (!*file)
		return NULL;
	path = g_canonicalize_filename(file, NULL);
	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) && folder) {
		g_free(path);
		path = g_canonicalize_filename(file, folder);
	}
	return g_file_test(path, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&path) : NULL;
}

/* Returns the way of a program, or -1. */
static int way_of(const char *program)
{
	g_autofree char *name = g_path_get_basename(program);

	for (size_t i = 0; i < G_N_ELEMENTS(EDITORS); i++)
		if (strcmp(EDITORS[i].name, name) == 0)
			return EDITORS[i].way;
	return -1;
}

/* Starts a known editor; `command` may have options. Returns false if that can't be done. */
static bool start(const char *command, const char *path, unsigned line)
{
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();
	g_auto(GStrv) given = NULL, all = NULL;
	g_autofree char *number = g_strdup_printf("%u", line);
	g_autofree char *plus = g_strdup_printf("+%u", line);
	g_autofree char *colon = g_strdup_printf("%s:%u", path, line);
	int way;

	if (!command || !g_shell_parse_argv(command, NULL, &given, NULL) ||
		g_strv_contains((const char *const *)given, "-nw")) /* emacs, without a window */
		return false;
	way = way_of(given[0]);
	if (way < 0)
		return false;
	g_strv_builder_addv(words, (const char **)given);
	switch (line == 0 ? -1 : way) {
	case PLUS: g_strv_builder_add_many(words, plus, path, NULL); break;
	case COLON: g_strv_builder_add(words, colon); break;
	case GOTO_COLON: g_strv_builder_add_many(words, "-g", colon, NULL); break;
	case LINE: g_strv_builder_add_many(words, "--line", number, path, NULL); break;
	default: g_strv_builder_add(words, path); break;
	}
	all = g_strv_builder_end(words);
	return g_spawn_async(NULL, all, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL);
}

void editor_open(GtkWindow *parent, const char *path, unsigned line)
{
	g_autofree char *type = g_content_type_guess(path, NULL, 0, NULL);
	g_autoptr(GAppInfo) usual = g_app_info_get_default_for_type(type, FALSE);
	g_autofree char *uri = g_filename_to_uri(path, NULL, NULL);

	if (!start(g_getenv("VISUAL"), path, line) && !start(g_getenv("EDITOR"), path, line) &&
		!(usual && start(g_app_info_get_executable(usual), path, line)))
		gtk_show_uri(parent, uri, GDK_CURRENT_TIME);
}
