/* SPDX-License-Identifier: ISC */
/* The main menu. */
#include "window/parts.h"

#define RECENT_MOST 10

static bool is_ours(GtkRecentInfo *info)
{
	return gtk_recent_info_has_group(info, RECENT_GROUP) && gtk_recent_info_is_local(info) &&
		gtk_recent_info_exists(info);
}

static int later_first(const void *a, const void *b)
{
	return g_date_time_compare(gtk_recent_info_get_modified((GtkRecentInfo *)b),
		gtk_recent_info_get_modified((GtkRecentInfo *)a));
}

static void fill_recent(GtkRecentManager *manager, GMenu *menu)
{
	GList *all = g_list_sort(gtk_recent_manager_get_items(manager), later_first);
	unsigned count = 0;

	g_menu_remove_all(menu);
	for (GList *item = all; item && count < RECENT_MOST; item = item->next) {
		GtkRecentInfo *info = item->data;
		GMenuItem *entry;

		if (!is_ours(info))
			continue;
		entry = g_menu_item_new(gtk_recent_info_get_display_name(info), NULL);
		g_menu_item_set_action_and_target(entry, "win.recent", "s",
			gtk_recent_info_get_uri(info));
		g_menu_append_item(menu, entry);
		g_object_unref(entry);
		count++;
	}
	g_list_free_full(all, (GDestroyNotify)gtk_recent_info_unref);
}

static void add_section(GMenu *menu, const char *const *entries)
{
	GMenu *section = g_menu_new();

	for (; *entries; entries += 2)
		g_menu_append(section, entries[0], entries[1]);
	g_menu_append_section(menu, NULL, G_MENU_MODEL(section));
	g_object_unref(section);
}

static void add_submenu(GMenu *menu, const char *label, GMenu *submenu)
{
	GMenu *section = g_menu_new();

	g_menu_append_submenu(section, label, G_MENU_MODEL(submenu));
	g_menu_append_section(menu, NULL, G_MENU_MODEL(section));
	g_object_unref(section);
	g_object_unref(submenu);
}

GMenuModel *window_make_menu(void)
{
	static const char *const files[] = {"Open…", "win.open", "Open Below…", "win.open-stacked",
		"Compare With…", "win.compare", "Attach…", "win.attach", "Reload", "win.reload",
		"Close Trace", "win.close-trace", "Export…", "win.export", NULL};
	static const char *const live[] = {"Keep Last 10 s", "win.keep", "Save a Snapshot…",
		"win.snapshot", "Save the Range…", "win.save-range", NULL};
	static const char *const shown[] = {"Idle Time Folded", "win.fold", "Quiet Tracks Folded",
		"win.squeeze", "Fish-Eye", "win.fisheye", "Unrelated Faded", "win.related", "Alone",
		"win.alone", "Key Line", "win.legend", NULL};
	static const char *const bands[] = {"Open or Close the Band", "win.command::open",
		"Close All", "win.command::close-all", "Next Exception", "win.command::exception",
		"Previous Exception", "win.command::previous-exception", "Story",
		"win.command::pin", "Zoom to Range or Task", "win.command::zoom-to", "Pairs",
		"win.command::pair", NULL};
	static const char *const scene[] = {"Go to a Time…", "win.go-to", "Visible Duration…",
		"win.duration", "Measure", "win.measure", "Mark a Time…", "win.mark",
		"Share One Time Axis", "win.link", "Side Panel", "win.pane", "Animations",
		"win.animations", "Copy View", "win.copy-view", "Paste View", "win.paste-view",
		NULL};
	static const char *const help[] = {"Keyboard Shortcuts", "win.keys", "About thrum",
		"win.about", NULL};
	static const char *const themes[] = {"System", "win.theme::system", "Light",
		"win.theme::light", "Dark", "win.theme::dark", "High Contrast",
		"win.theme::contrast", NULL};
	GMenu *menu = g_menu_new(), *recent = g_menu_new(), *theme = g_menu_new();
	GMenu *view = g_menu_new(), *band = g_menu_new();
	GtkRecentManager *manager = gtk_recent_manager_get_default();

	fill_recent(manager, recent);
	g_signal_connect_object(manager, "changed", G_CALLBACK(fill_recent), recent, 0);
	add_section(theme, themes);
	add_section(menu, files);
	add_submenu(menu, "Recent", recent);
	add_section(menu, live);
	add_section(view, shown);
	add_submenu(menu, "View", view);
	add_section(band, bands);
	add_submenu(menu, "Bands", band);
	add_section(menu, scene);
	add_submenu(menu, "Theme", theme);
	add_section(menu, help);
	return G_MENU_MODEL(menu);
}
