/* SPDX-License-Identifier: ISC */
/* The picture: asks the stage for frames, only while something changes, and paints them. */
#include "picture/parts.h"

#include "draw/canvas.h"
#include "picture/frames.h"

G_DEFINE_TYPE(AppPicture, app_picture, GTK_TYPE_WIDGET)

enum {
	SIGNAL_CHANGED,
	SIGNAL_COMMAND,
	SIGNAL_MENU,
	SIGNAL_NOTE,
	SIGNALS,
};
static unsigned signals[SIGNALS];

/* ---- Frames -------------------------------------------------------------------------------- */

static bool make_frame(AppPicture *picture)
{
	GtkWidget *widget = GTK_WIDGET(picture);
	int result = thrum__stage_frame(picture->stage, (float)gtk_widget_get_width(widget),
		(float)gtk_widget_get_height(widget), &picture->texts.metrics,
		(double)g_get_monotonic_time() / 1000);

	gtk_widget_queue_draw(widget);
	return result == 1;
}

static gboolean on_tick(GtkWidget *widget, GdkFrameClock *clock, void *unused)
{
	AppPicture *picture = APP_PICTURE(widget);
	bool coasts = picture_coast(picture, gdk_frame_clock_get_frame_time(clock));
	bool moves = make_frame(picture);
	unsigned changes = picture->changes;

	picture->changes = 0;
	g_signal_emit(picture, signals[SIGNAL_CHANGED], 0, changes);
	picture_outline(picture);
	if (coasts || moves || picture->changes != 0)
		return G_SOURCE_CONTINUE;
	picture->tick = 0;
	return G_SOURCE_REMOVE;
}

void app_picture_did(AppPicture *picture, int changed)
{
	if (changed <= 0)
		return;
	picture->changes |= (unsigned)changed;
	if (picture->tick == 0)
		picture->tick = gtk_widget_add_tick_callback(GTK_WIDGET(picture), on_tick, NULL,
			NULL);
}

void app_picture_command(AppPicture *picture, int command)
{
	int changed = thrum__stage_command(picture->stage, command);

	if (command == THRUM__COMMAND_CLEAR)
		app_picture_measure(picture, false);
	app_picture_did(picture, changed);
	if (changed > 0 && changed & THRUM__STAGE_YOURS)
		g_signal_emit(picture, signals[SIGNAL_COMMAND], 0, command);
}

static void size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
	AppPicture *picture = APP_PICTURE(widget);

	if (picture->stage->count == 0)
		return;
	/* At once, so that no picture of the old size is shown. The next tick emits "changed". */
	make_frame(picture);
	app_picture_did(picture, THRUM__CHANGED_PICTURE);
}

static void snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	AppPicture *picture = APP_PICTURE(widget);
	const struct thrum__stage *stage = picture->stage;
	cairo_t *cairo;

	if (stage->count == 0)
		return;
	cairo = gtk_snapshot_append_cairo(snapshot,
		&GRAPHENE_RECT_INIT(0, 0, (float)gtk_widget_get_width(widget),
			(float)gtk_widget_get_height(widget)));
	thrum__draw_replay(cairo, stage->lists, stage->list_count,
		stage->parts[0].scene->state.theme, &picture->texts);
	cairo_destroy(cairo);
}

/* ---- Export -------------------------------------------------------------------------------- */

static int take_bytes(void *context, const void *bytes, size_t size)
{
	g_byte_array_append(context, bytes, (unsigned)size);
	return 0;
}

/* Returns 0 or a negative enum thrum_error. */
static int write_picture(const struct thrum__stage *stage, const char *file, GByteArray *bytes)
{
	g_autofree char *title = g_path_get_basename(stage->parts[0].name);
	int theme = stage->parts[0].scene->state.theme;

	if (g_str_has_suffix(file, ".png"))
		return thrum__draw_png(stage->lists, stage->list_count, theme, 2, take_bytes,
			bytes);
	return (g_str_has_suffix(file, ".pdf") ? thrum__draw_pdf : thrum__draw_svg)(stage->lists,
		stage->list_count, theme, title, take_bytes, bytes);
}

bool app_picture_export(AppPicture *picture, const char *file, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autofree char *lower = g_ascii_strdown(file, -1);
	int result;

	if (picture->stage->count == 0) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "there is nothing to export");
		return false;
	}
	if (!g_str_has_suffix(lower, ".svg") && !g_str_has_suffix(lower, ".png") &&
		!g_str_has_suffix(lower, ".pdf")) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_FILENAME,
			"the name must end in .svg, .png or .pdf");
		return false;
	}
	/* Without the crosshair. */
	app_picture_did(picture, thrum__stage_leave(picture->stage));
	make_frame(picture);
	result = write_picture(picture->stage, lower, bytes);
	if (result < 0) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s",
			thrum_error_message(result));
		return false;
	}
	return g_file_set_contents(file, (const char *)bytes->data, (gssize)bytes->len, error);
}

/* ---- The widget ---------------------------------------------------------------------------- */

static void dispose(GObject *object)
{
	picture_outline_end(APP_PICTURE(object));
	G_OBJECT_CLASS(app_picture_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_ptr_array_unref(APP_PICTURE(object)->outline);
	thrum__draw_text_cache_finish(&APP_PICTURE(object)->texts);
	G_OBJECT_CLASS(app_picture_parent_class)->finalize(object);
}

static void app_picture_class_init(AppPictureClass *class)
{
	GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);
	GType type = G_TYPE_FROM_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	widget->size_allocate = size_allocate;
	widget->snapshot = snapshot;
	gtk_widget_class_set_css_name(widget, "stage");
	gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_TREE);
	signals[SIGNAL_CHANGED] = g_signal_new("changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
		NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
	signals[SIGNAL_COMMAND] = g_signal_new("command", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
		NULL, G_TYPE_NONE, 1, G_TYPE_INT);
	signals[SIGNAL_MENU] = g_signal_new("menu", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
		G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
	signals[SIGNAL_NOTE] = g_signal_new("note", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
		G_TYPE_NONE, 0);
}

static void app_picture_init(AppPicture *picture)
{
	picture->outline = g_ptr_array_new();
	gtk_widget_set_focusable(GTK_WIDGET(picture), TRUE);
	gtk_widget_set_hexpand(GTK_WIDGET(picture), TRUE);
	gtk_widget_set_vexpand(GTK_WIDGET(picture), TRUE);
	gtk_widget_set_overflow(GTK_WIDGET(picture), GTK_OVERFLOW_HIDDEN);
	/* GTK aborts when out of memory, too. */
	if (thrum__draw_text_cache_init(&picture->texts) < 0)
		g_error("out of memory");
	picture_listen(picture);
	frames_measure(GTK_WIDGET(picture));
}

GtkWidget *app_picture_new(struct thrum__stage *stage)
{
	AppPicture *picture = g_object_new(APP_TYPE_PICTURE, NULL);

	picture->stage = stage;
	return GTK_WIDGET(picture);
}
