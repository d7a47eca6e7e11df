/* SPDX-License-Identifier: ISC */
/* The page on why a task was slow: the document, then a picture of its path and the flame graph of
 * its label. It is made when it is asked for; a trace that grows meanwhile doesn't change it. */
#include "pane/parts.h"

#define PATIENCE_MS 1000 /* until the page says that it waits */

/* ---- The picture --------------------------------------------------------------------------- */

static const struct thrum__flame *flame_of(AppPane *self)
{
	return self->answer && self->answer->has_flame ? &self->answer->flame : NULL;
}

static void draw_picture(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	AppPane *self = data;
	const struct thrum__scene *scene = pane_scene(self);

	if (!self->answer)
		return;
	(void)!thrum__report_slow_frame(&self->answer->answer, flame_of(self), (float)width,
		&self->slow_texts.metrics, &self->slow_list);
	thrum__draw_replay(cr, &self->slow_list, 1, scene ? scene->state.theme : THRUM__THEME_LIGHT,
		&self->slow_texts);
}

/* Gives the picture the height that it needs at its width. */
static gboolean fit_height(gpointer data)
{
	AppPane *self = data;
	int width = self->slow_area ? gtk_widget_get_width(self->slow_area) : 0;

	self->slow_idle = 0;
	if (self->answer && width > 0 &&
		thrum__report_slow_frame(&self->answer->answer, flame_of(self), (float)width,
			&self->slow_texts.metrics, &self->slow_list) == 0)
		gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(self->slow_area),
			(int)self->slow_list.height);
	return G_SOURCE_REMOVE;
}

/* While GTK gives widgets their sizes, none can ask for another one. */
static void resize_picture(GtkDrawingArea *area, int width, int height, gpointer data)
{
	AppPane *self = data;

	if (!self->slow_idle)
		self->slow_idle = g_idle_add(fit_height, self);
}

static void find_spot(AppPane *self, double x, double y, struct thrum__report_spot *spot)
{
	thrum__report_slow_spot(&self->answer->answer, flame_of(self),
		(float)gtk_widget_get_width(self->slow_area), &self->slow_texts.metrics, (float)x,
		(float)y, spot);
}

static gboolean tell_spot(GtkWidget *area, int x, int y, gboolean is_keyboard, GtkTooltip *tooltip,
	gpointer data)
{
	AppPane *self = data;
	struct thrum__report_spot spot;

	if (!self->answer || is_keyboard)
		return FALSE;
	find_spot(self, x, y, &spot);
	gtk_tooltip_set_text(tooltip, spot.words);
	return *spot.words != '\0';
}

static void go_to_spot(GtkGestureClick *click, int count, double x, double y, gpointer data)
{
	AppPane *self = data;
	struct thrum__report_spot spot;

	if (!self->answer)
		return;
	find_spot(self, x, y, &spot);
	if (spot.task == THRUM__NONE)
		return;
	app_pane_show_page(self, "details");
	pane_go_task_of(self, self->slow_part, spot.task);
}

static GtkWidget *make_picture(AppPane *self)
{
	GtkWidget *area = gtk_drawing_area_new();
	GtkGesture *click = gtk_gesture_click_new();

	gtk_widget_set_name(area, "slow-picture");
	gtk_widget_add_css_class(area, "slow-picture");
	gtk_widget_set_margin_top(area, 10);
	app_call(area, "Its path, and a flame graph of all tasks with its label");
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_picture, self, NULL);
	g_signal_connect(area, "resize", G_CALLBACK(resize_picture), self);
	gtk_widget_set_has_tooltip(area, TRUE);
	g_signal_connect(area, "query-tooltip", G_CALLBACK(tell_spot), self);
	g_signal_connect(click, "released", G_CALLBACK(go_to_spot), self);
	gtk_widget_add_controller(area, GTK_EVENT_CONTROLLER(click));
	return area;
}

/* ---- The page ------------------------------------------------------------------------------ */

static void drop_page(AppPane *self)
{
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(self->slow_box)))
		gtk_box_remove(GTK_BOX(self->slow_box), child);
	self->slow_area = NULL;
	g_clear_handle_id(&self->slow_idle, g_source_remove);
}

void pane_slow_clear(AppPane *self)
{
	drop_page(self);
	g_clear_handle_id(&self->slow_patience, g_source_remove);
	g_clear_pointer(&self->answer, app_slow_free);
	self->slow_asked++;
	self->slow_waits = false;
}

static void add_words(AppPane *self, const char *name, const char *words)
{
	GtkWidget *label = gtk_label_new(words);

	gtk_widget_set_name(label, name);
	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_widget_add_css_class(label, "empty");
	gtk_box_append(GTK_BOX(self->slow_box), label);
}

static void add_answer(AppPane *self)
{
	struct thrum__document document;
	GtkWidget *words;

	thrum__document_init(&document);
	if (thrum__document_slow(&self->answer->answer, &document) == 0) {
		words = pane_document_new(&document, &self->links);
		gtk_widget_set_name(words, "slow-words");
		gtk_box_append(GTK_BOX(self->slow_box), words);
	}
	thrum__document_finish(&document);
	self->slow_area = make_picture(self);
	gtk_box_append(GTK_BOX(self->slow_box), self->slow_area);
}

/* A question that a thread answers. */
struct question {
	AppPane *pane; /* a reference */
	unsigned number;
};

static void ask(AppPane *self);

static void take_answer(GObject *trace, GAsyncResult *asked, gpointer data)
{
	g_autofree struct question *question = data;
	g_autoptr(AppPane) self = question->pane;
	struct app_slow *answer = app_trace_slow_finish(asked);

	self->slow_busy = false;
	if (question->number != self->slow_asked) {
		app_slow_free(answer);
		if (self->slow_waits)
			ask(self);
		return;
	}
	pane_slow_clear(self);
	self->answer = answer;
	if (answer)
		add_answer(self);
	else
		add_words(self, "slow-empty", THRUM__DOCUMENT_SLOW_NONE);
}

static gboolean lose_patience(gpointer data)
{
	AppPane *self = data;

	self->slow_patience = 0;
	add_words(self, "slow-waits", "Finding where its time went…");
	return G_SOURCE_REMOVE;
}

/* Asks about the page's task, if its model has it; once the thread that answers for another task is
 * done, as nothing can stop that one. */
static void ask(AppPane *self)
{
	AppTrace *trace = self->slow_part < self->count ? self->traces[self->slow_part] : NULL;
	const struct thrum__model *model = trace ? app_trace_model(trace) : NULL;
	struct question *question;

	if (!model || !thrum__model_has_row(&model->tasks, self->slow_task)) {
		pane_slow_clear(self);
		add_words(self, "slow-empty", THRUM__DOCUMENT_SLOW_NONE);
		return;
	}
	if (!self->slow_waits)
		self->slow_patience = g_timeout_add(PATIENCE_MS, lose_patience, self);
	self->slow_waits = true;
	if (self->slow_busy)
		return;
	self->slow_busy = true;
	question = g_new(struct question, 1);
	*question = (struct question){g_object_ref(self), self->slow_asked};
	app_trace_ask_slow(trace, self->slow_task, take_answer, question);
}

void pane_slow_fill(AppPane *self)
{
	GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW(self->slow);
	bool is_shown = self->slow_waits || self->answer ||
		gtk_widget_get_first_child(self->slow_box);

	if (is_shown && self->slow_shown_part == self->slow_part &&
		self->slow_shown_task == self->slow_task)
		return;
	pane_slow_clear(self);
	self->slow_shown_part = self->slow_part;
	self->slow_shown_task = self->slow_task;
	ask(self);
	gtk_adjustment_set_value(gtk_scrolled_window_get_vadjustment(scroller), 0);
}

void pane_slow_init(AppPane *self)
{
	thrum__draw_list_init(&self->slow_list);
	/* Without memory for texts the picture has none. */
	if (thrum__draw_text_cache_init(&self->slow_texts) < 0)
		self->slow_texts.metrics = thrum__draw_metrics_plain;
	self->slow = gtk_scrolled_window_new();
	self->slow_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_add_css_class(self->slow_box, "details");
	gtk_widget_set_name(self->slow, "pane-slow");
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->slow), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->slow), self->slow_box);
	gtk_stack_add_titled(GTK_STACK(self->stack), self->slow, "slow", "Why slow");
}

void pane_slow_finish(AppPane *self)
{
	thrum__draw_list_finish(&self->slow_list);
	thrum__draw_text_cache_finish(&self->slow_texts);
}
