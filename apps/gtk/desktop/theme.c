/* SPDX-License-Identifier: ISC */
#include "desktop/theme.h"

#include "desktop/settings.h"
#include "desktop/style.h"
#include "draw/theme.h"

#define PORTAL "org.freedesktop.portal"
#define APPEARANCE "org.freedesktop.appearance"

static struct {
	void (*changed)(void);
	GtkCssProvider *tokens; /* the colours; the style sheet itself never changes */
	GDBusProxy *portal;
	int chosen, now;
	bool prefers_dark, prefers_contrast; /* by the desktop's portal */
} theme;

static int system_theme(void)
{
	GtkSettings *settings = gtk_settings_get_default();
	g_autofree char *name = NULL;

	g_object_get(settings, "gtk-theme-name", &name, NULL);
	if (theme.prefers_contrast || (name && g_str_has_prefix(name, "HighContrast")))
		return THRUM__THEME_CONTRAST;
	if (theme.prefers_dark || (name && g_str_has_suffix(name, "-dark")))
		return THRUM__THEME_DARK;
	return THRUM__THEME_LIGHT;
}

static void load_tokens(void)
{
	g_autoptr(GString) css = g_string_new(NULL);

	for (int i = 0; i < THRUM__COLOUR_COUNT; i++)
		g_string_append_printf(css, "@define-color %s #%06x;\n", thrum__draw_colour_name(i),
			thrum__draw_theme_colour(theme.now, i));
	gtk_css_provider_load_from_data(theme.tokens, css->str, -1);
}

static void apply_theme(void)
{
	int now = theme.chosen == THEME_SYSTEM ? system_theme() : theme.chosen;

	if (now == theme.now)
		return;
	theme.now = now;
	load_tokens();
	/* For the widgets that the style sheet doesn't cover: scroll bars, file choosers. */
	g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme",
		now != THRUM__THEME_LIGHT, NULL);
	if (theme.changed)
		theme.changed();
}

/* ---- The preferences of the desktop -------------------------------------------------------- */

static void take_preference(const char *key, GVariant *boxed)
{
	g_autoptr(GVariant) value = g_variant_ref(boxed);

	while (g_variant_is_of_type(value, G_VARIANT_TYPE_VARIANT)) {
		GVariant *inner = g_variant_get_variant(value);

		g_variant_unref(value);
		value = inner;
	}
	if (!g_variant_is_of_type(value, G_VARIANT_TYPE_UINT32))
		return;
	if (strcmp(key, "color-scheme") == 0)
		theme.prefers_dark = g_variant_get_uint32(value) == 1;
	else if (strcmp(key, "contrast") == 0)
		theme.prefers_contrast = g_variant_get_uint32(value) == 1;
	apply_theme();
}

static void on_portal_signal(GDBusProxy *portal, const char *sender, const char *name,
	GVariant *parameters, void *unused)
{
	const char *space, *key;
	g_autoptr(GVariant) value = NULL;

	if (strcmp(name, "SettingChanged") != 0 ||
		!g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ssv)")))
		return;
	g_variant_get(parameters, "(&s&s@v)", &space, &key, &value);
	if (strcmp(space, APPEARANCE) == 0)
		take_preference(key, value);
}

static void on_preference(GObject *portal, GAsyncResult *result, void *key)
{
	g_autoptr(GVariant) answer = g_dbus_proxy_call_finish(G_DBUS_PROXY(portal), result, NULL);

	g_autoptr(GVariant) value = NULL;

	if (!answer || g_variant_n_children(answer) == 0)
		return;
	value = g_variant_get_child_value(answer, 0);
	take_preference(key, value);
}

static void ask_preference(const char *key)
{
	g_dbus_proxy_call(theme.portal, "Read", g_variant_new("(ss)", APPEARANCE, key),
		G_DBUS_CALL_FLAGS_NONE, 2000, NULL, on_preference, (void *)key);
}

static void on_portal(GObject *source, GAsyncResult *result, void *unused)
{
	theme.portal = g_dbus_proxy_new_for_bus_finish(result, NULL);
	if (!theme.portal)
		return;
	g_signal_connect(theme.portal, "g-signal", G_CALLBACK(on_portal_signal), NULL);
	ask_preference("color-scheme");
	ask_preference("contrast");
}

/* ---- Public -------------------------------------------------------------------------------- */

void theme_init(void (*changed)(void))
{
	GdkDisplay *display = gdk_display_get_default();
	GtkCssProvider *sheet = gtk_css_provider_new();

	theme.changed = changed;
	theme.now = -1;
	theme.chosen = settings_get("theme", THEME_SYSTEM);
	if (theme.chosen < 0 || theme.chosen >= THRUM__THEME_COUNT)
		theme.chosen = THEME_SYSTEM;
	theme.tokens = gtk_css_provider_new();
	gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(theme.tokens),
		GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
	gtk_css_provider_load_from_data(sheet, STYLE_SHEET, -1);
	gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(sheet),
		GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
	g_object_unref(sheet);
	apply_theme();
	g_signal_connect(gtk_settings_get_default(), "notify::gtk-theme-name",
		G_CALLBACK(apply_theme), NULL);
	g_dbus_proxy_new_for_bus(G_BUS_TYPE_SESSION, G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, NULL,
		PORTAL ".Desktop", "/org/freedesktop/portal/desktop", PORTAL ".Settings", NULL,
		on_portal, NULL);
}

int theme_now(void)
{
	return theme.now;
}

int theme_chosen(void)
{
	return theme.chosen;
}

void theme_choose(int chosen)
{
	theme.chosen = chosen;
	apply_theme();
}
