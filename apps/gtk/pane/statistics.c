/* SPDX-License-Identifier: ISC */
/* The page of statistics: tables that group the tasks, and the histogram. */
#include "pane/parts.h"

#define NAME_OF(NAME, word) word,

/* The drop-down lists the tables from this one on: all but the tasks. */
#define FIRST THRUM__TABLE_LABELS

static int chosen_table(AppPane *self)
{
	guint chosen = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->what));

	for (int i = FIRST; i < THRUM__TABLE_COUNT; i++)
		if (thrum__table_is_in_panels(i) && chosen-- == 0)
			return i;
	return FIRST;
}

static uint32_t chosen_row(AppPane *self)
{
	const struct thrum__table *table = pane_table_get(self->statistics);
	guint row = self->statistics_selection
		? gtk_single_selection_get_selected(
			  GTK_SINGLE_SELECTION(self->statistics_selection))
		: GTK_INVALID_LIST_POSITION;

	return table && row < table->count ? row : THRUM__NONE;
}

/* ---- The table ----------------------------------------------------------------------------- */

static void row_chosen(GtkSingleSelection *selection, GParamSpec *property, gpointer data)
{
	AppPane *self = data;

	if (chosen_table(self) == THRUM__TABLE_LABELS)
		pane_chart_choose(self, chosen_row(self));
}

static void row_activated(GtkColumnView *view, guint row, gpointer data)
{
	AppPane *self = data;
	const struct thrum__table *table = pane_table_get(self->statistics);
	uint32_t task = table && row < table->count ? thrum__table_task(table, row) : THRUM__NONE;

	if (task != THRUM__NONE && thrum__model_has_row(&table->model->tasks, task))
		pane_go_task(self, task);
}

/* Makes the widget of the table. Each kind of table has its own columns. */
static void make_view(AppPane *self)
{
	GtkWidget *view = NULL;

	self->statistics_selection = NULL;
	if (pane_table_get(self->statistics)) {
		view = pane_table_view(self->statistics);
		gtk_widget_set_name(view, "statistics");
		self->statistics_selection = gtk_column_view_get_model(GTK_COLUMN_VIEW(view));
		g_signal_connect_object(self->statistics_selection, "notify::selected",
			G_CALLBACK(row_chosen), self, 0);
		g_signal_connect(view, "activate", G_CALLBACK(row_activated), self);
	}
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->statistics_scroller), view);
}

static void what_chosen(GtkDropDown *what, GParamSpec *property, gpointer data)
{
	AppPane *self = data;
	bool has_labels = chosen_table(self) == THRUM__TABLE_LABELS;

	/* Remove the old widget first: its columns don't fit the new rows. */
	self->statistics_selection = NULL;
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->statistics_scroller), NULL);
	pane_table_set(self->statistics, chosen_table(self), self->stats, NULL, "");
	make_view(self);
	gtk_widget_set_visible(self->chart_box, has_labels);
	gtk_widget_set_visible(self->measure, has_labels);
}

/* ---- The page ------------------------------------------------------------------------------ */

void pane_statistics_fill(AppPane *self)
{
	/* Rows move when the trace grows: that must not choose another. */
	if (self->statistics_selection) {
		g_signal_handlers_block_by_func(self->statistics_selection, row_chosen, self);
		gtk_single_selection_set_selected(GTK_SINGLE_SELECTION(self->statistics_selection),
			GTK_INVALID_LIST_POSITION);
		g_signal_handlers_unblock_by_func(self->statistics_selection, row_chosen, self);
	}
	pane_table_set(self->statistics, chosen_table(self), self->stats, NULL, "");
	if (!self->statistics_selection)
		make_view(self);
}

static void measure_chosen(GtkDropDown *measure, GParamSpec *property, gpointer data)
{
	pane_chart_fill(data);
	pane_tasks_narrow(data);
}

static GtkWidget *make_head(AppPane *self)
{
	static const char *const measures[] = {THRUM__MEASURES(NAME_OF) NULL};
	const char *titles[THRUM__TABLE_COUNT - FIRST + 1] = {NULL};
	unsigned count = 0;
	GtkWidget *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);

	for (int i = FIRST; i < THRUM__TABLE_COUNT; i++)
		if (thrum__table_is_in_panels(i))
			titles[count++] = thrum__table_form(i)->title;
	self->what = gtk_drop_down_new_from_strings(titles);
	gtk_widget_set_name(self->what, "statistics-of");
	app_call(self->what, "Table");
	self->measure = gtk_drop_down_new_from_strings(measures);
	gtk_widget_set_name(self->measure, "statistics-measure");
	app_call(self->measure, "Measure");
	gtk_widget_set_tooltip_text(self->measure, "The measure that the histogram shows");
	g_signal_connect(self->what, "notify::selected", G_CALLBACK(what_chosen), self);
	g_signal_connect(self->measure, "notify::selected", G_CALLBACK(measure_chosen), self);
	gtk_widget_add_css_class(head, "head");
	gtk_box_append(GTK_BOX(head), self->what);
	gtk_box_append(GTK_BOX(head), self->measure);
	return head;
}

void pane_statistics_init(AppPane *self)
{
	GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *whole = gtk_label_new(THRUM__TABLE_WHOLE);

	gtk_label_set_xalign(GTK_LABEL(whole), 0);
	gtk_widget_add_css_class(whole, "whole");
	self->statistics = pane_table_new();
	self->statistics_scroller = gtk_scrolled_window_new();
	gtk_widget_set_vexpand(self->statistics_scroller, TRUE);
	gtk_box_append(GTK_BOX(page), make_head(self));
	gtk_box_append(GTK_BOX(page), whole);
	gtk_box_append(GTK_BOX(page), self->statistics_scroller);
	gtk_box_append(GTK_BOX(page), pane_chart_new(self));
	gtk_stack_add_titled(GTK_STACK(self->stack), page, "statistics", "Statistics");
}
