/* SPDX-License-Identifier: ISC */
/* The histogram of durations. Dragging a range in it narrows the list of tasks. */
#include "base/utf8.h"
#include "pane/parts.h"

bool pane_chart_has_range(AppPane *self)
{
	return self->has_chart && self->chart.from <= self->chart.to;
}

/* ---- Content ------------------------------------------------------------------------------- */

/* Returns the tally of chart_label: newer statistics may number labels differently. O(labels) */
static uint32_t find_tally(AppPane *self)
{
	const struct thrum__base_keys *keys = &self->stats->by[THRUM__BY_LABEL].keys;
	gsize size, other_size;
	const char *label;

	if (!self->chart_label)
		return THRUM__NONE;
	label = g_bytes_get_data(self->chart_label, &size);
	for (uint32_t i = 0; i < keys->count; i++) {
		const char *other = thrum__base_keys_text(keys, i, &other_size);

		if (keys->keys[i].number == self->chart_kind && other_size == size &&
			(size == 0 || memcmp(other, label, size) == 0))
			return i;
	}
	return THRUM__NONE;
}

static void update_words(AppPane *self)
{
	bool has_range = pane_chart_has_range(self);
	char words[128] = "", text[THRUM__CELL_ROOM + 1] = THRUM__CHART_ALL;
	gsize size;
	const char *label;

	if (self->has_chart)
		thrum__report_chart_words(&self->chart, words, sizeof words);
	if (self->chart_label) {
		label = g_bytes_get_data(self->chart_label, &size);
		text[thrum__base_utf8_clean(size > 0 ? label : "(no label)", size > 0 ? size : 10,
			text, THRUM__CELL_ROOM)] = '\0';
	}
	gtk_label_set_text(GTK_LABEL(self->chart_title), text);
	gtk_label_set_text(GTK_LABEL(self->chart_words), words);
	gtk_accessible_update_property(GTK_ACCESSIBLE(self->chart_area),
		GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, words, -1);
	gtk_widget_set_visible(self->chart_show, has_range);
	gtk_widget_queue_draw(self->chart_area);
}

void pane_chart_fill(AppPane *self)
{
	guint measure = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->measure));
	unsigned from = self->chart.from, to = self->chart.to;

	if (self->has_chart && self->chart.measure != (int)measure)
		from = 1, to = 0;
	self->has_chart = self->stats && measure < THRUM__MEASURE_COUNT &&
		thrum__report_chart_init(&self->chart, self->stats, find_tally(self),
			(int)measure) == 0;
	self->chart.from = from;
	self->chart.to = to;
	update_words(self);
}

void pane_chart_choose(AppPane *self, uint32_t row)
{
	const struct thrum__table *table = pane_table_get(self->statistics);

	g_clear_pointer(&self->chart_label, g_bytes_unref);
	if (row != THRUM__NONE) {
		const struct thrum__base_keys *keys = &self->stats->by[THRUM__BY_LABEL].keys;
		size_t size;
		const char *label = thrum__base_keys_text(keys, table->rows[row], &size);

		self->chart_label = g_bytes_new(label, size);
		self->chart_kind = keys->keys[table->rows[row]].number;
	}
	pane_chart_fill(self);
	pane_tasks_narrow(self);
}

void pane_chart_clear(AppPane *self)
{
	thrum__report_chart_choose_none(&self->chart);
	update_words(self);
}

/* ---- Dragging ------------------------------------------------------------------------------ */

static void choose_range(AppPane *self, float x)
{
	float width = (float)gtk_widget_get_width(self->chart_area);

	if (self->has_chart && thrum__report_chart_choose(&self->chart, width, self->chart_from, x))
		update_words(self);
}

static void drag_begins(GtkGestureDrag *drag, double x, double y, gpointer data)
{
	AppPane *self = data;

	gtk_widget_grab_focus(self->chart_area);
	self->chart_from = (float)x;
	choose_range(self, (float)x);
}

static void drag_moves(GtkGestureDrag *drag, double dx, double dy, gpointer data)
{
	AppPane *self = data;

	choose_range(self, self->chart_from + (float)dx);
}

static void drag_ends(GtkGestureDrag *drag, double dx, double dy, gpointer data)
{
	pane_tasks_narrow(data);
}

static void show_tasks(GtkButton *button, gpointer data)
{
	app_pane_show_page(data, "tasks");
}

static gboolean key_pressed(GtkEventControllerKey *keys, guint key, guint code,
	GdkModifierType state, gpointer data)
{
	AppPane *self = data;
	bool is_arrow = key == GDK_KEY_Left || key == GDK_KEY_Right;

	if (!self->has_chart || (!is_arrow && key != GDK_KEY_Escape))
		return FALSE;
	if (!thrum__report_chart_key(&self->chart,
		    key == GDK_KEY_Left            ? "ArrowLeft"
			    : key == GDK_KEY_Right ? "ArrowRight"
						   : "Escape",
		    (state & GDK_SHIFT_MASK) != 0))
		return is_arrow;
	update_words(self);
	pane_tasks_narrow(self);
	return TRUE;
}

/* ---- The widgets --------------------------------------------------------------------------- */

static void draw_chart(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	AppPane *self = data;
	int theme = self->stage && self->stage->count > 0 ? self->stage->parts[0].scene->state.theme
							  : THRUM__THEME_LIGHT;

	if (!self->has_chart)
		return;
	thrum__report_chart_frame(&self->chart, (float)width, (float)height,
		&self->chart_texts.metrics, &self->chart_list);
	thrum__draw_replay(cr, &self->chart_list, 1, theme, &self->chart_texts);
}

static GtkWidget *make_area(AppPane *self)
{
	GtkWidget *area = g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role",
		GTK_ACCESSIBLE_ROLE_SLIDER, NULL);
	GtkEventController *keys = gtk_event_controller_key_new();
	GtkGesture *drag = gtk_gesture_drag_new();

	gtk_widget_set_name(area, "chart");
	app_call(area, "Histogram");
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), THRUM__CHART_HEIGHT);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_chart, self, NULL);
	gtk_widget_set_tooltip_text(area, THRUM__CHART_HINT);
	g_signal_connect(drag, "drag-begin", G_CALLBACK(drag_begins), self);
	g_signal_connect(drag, "drag-update", G_CALLBACK(drag_moves), self);
	g_signal_connect(drag, "drag-end", G_CALLBACK(drag_ends), self);
	gtk_widget_add_controller(area, GTK_EVENT_CONTROLLER(drag));
	gtk_widget_set_focusable(area, TRUE);
	g_signal_connect(keys, "key-pressed", G_CALLBACK(key_pressed), self);
	gtk_widget_add_controller(area, keys);
	return area;
}

static GtkWidget *make_label(const char *name, const char *class)
{
	GtkWidget *label = gtk_label_new(NULL);

	gtk_widget_set_name(label, name);
	gtk_widget_add_css_class(label, class);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	return label;
}

GtkWidget *pane_chart_new(AppPane *self)
{
	GtkWidget *foot = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);

	thrum__draw_list_init(&self->chart_list);
	/* Without memory for texts the chart has none. */
	if (thrum__draw_text_cache_init(&self->chart_texts) < 0)
		self->chart_texts.metrics = thrum__draw_metrics_plain;
	thrum__report_chart_choose_none(&self->chart);
	self->chart_title = make_label("chart-of", "key");
	self->chart_words = make_label("chart-words", "remark");
	gtk_widget_set_hexpand(self->chart_words, TRUE);
	self->chart_show = gtk_button_new_with_label(THRUM__CHART_LIST);
	gtk_widget_set_name(self->chart_show, "chart-show");
	g_signal_connect(self->chart_show, "clicked", G_CALLBACK(show_tasks), self);
	self->chart_area = make_area(self);
	self->chart_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);
	gtk_widget_add_css_class(self->chart_box, "chart");
	gtk_box_append(GTK_BOX(foot), self->chart_words);
	gtk_box_append(GTK_BOX(foot), self->chart_show);
	gtk_box_append(GTK_BOX(self->chart_box), self->chart_title);
	gtk_box_append(GTK_BOX(self->chart_box), self->chart_area);
	gtk_box_append(GTK_BOX(self->chart_box), foot);
	return self->chart_box;
}

void pane_chart_finish(AppPane *self)
{
	g_clear_pointer(&self->chart_label, g_bytes_unref);
	thrum__draw_list_finish(&self->chart_list);
	thrum__draw_text_cache_finish(&self->chart_texts);
}
