/* SPDX-License-Identifier: ISC */
/* The page of tasks: all of them, in any order, narrowed by a text and by the chart's range. */
#include "pane/parts.h"
#include "trace/words.h"

static void say_count(AppPane *self)
{
	const struct thrum__table *table = pane_table_get(self->tasks);
	const char *text = gtk_editable_get_text(GTK_EDITABLE(self->filter));
	bool has_range = pane_chart_has_range(self);
	char words[128] = "", room[THRUM__NUMBER_ROOM], *label;
	uint32_t count = table ? table->count : 0;

	if (has_range)
		thrum__report_chart_words(&self->chart, words, sizeof words);
	gtk_button_set_label(GTK_BUTTON(self->unnarrow), words);
	gtk_widget_set_visible(self->unnarrow, has_range);
	label = table && count == 0 && *table->fault
		? g_strdup(table->fault)
		: g_strdup_printf("%s task%s", trace_words_count(count, room),
			  count == 1 ? "" : "s");
	gtk_label_set_text(GTK_LABEL(self->filtered), label);
	gtk_widget_set_visible(self->filtered, has_range || *text);
	g_free(label);
}

static const struct thrum__report_chart *chosen_range(AppPane *self)
{
	return pane_chart_has_range(self) ? &self->chart : NULL;
}

void pane_tasks_narrow(AppPane *self)
{
	pane_table_narrow(self->tasks, chosen_range(self),
		gtk_editable_get_text(GTK_EDITABLE(self->filter)));
	say_count(self);
}

static void filter_changed(GtkSearchEntry *entry, gpointer data)
{
	pane_tasks_narrow(data);
}

static void clear_range(GtkButton *button, gpointer data)
{
	pane_chart_clear(data);
	pane_tasks_narrow(data);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Returns the task of a row, or THRUM__NONE if the model has forgotten it. */
static uint32_t task_of(AppPane *self, guint row)
{
	const struct thrum__table *table = pane_table_get(self->tasks);
	uint32_t task = table && row < table->count ? thrum__table_task(table, row) : THRUM__NONE;

	return task != THRUM__NONE && thrum__model_has_row(&table->model->tasks, task)
		? task
		: THRUM__NONE;
}

static void on_activated(GtkColumnView *view, guint row, gpointer data)
{
	uint32_t task = task_of(data, row);

	if (task != THRUM__NONE)
		pane_go_task(data, task);
}

static void on_selected(GtkSingleSelection *selection, GParamSpec *property, gpointer data)
{
	AppPane *self = data;

	self->chosen = task_of(self, gtk_single_selection_get_selected(selection));
	if (gtk_widget_get_mapped(self->tasks_scroller))
		pane_hover_task(self, self->chosen);
}

/* Selects the row of the chosen task again, if there is one: in other rows, or in another order, it
 * is elsewhere. */
static void choose_again(AppPane *self)
{
	const struct thrum__table *table = pane_table_get(self->tasks);
	guint row = 0, count = table && self->chosen != THRUM__NONE ? table->count : 0;

	while (row < count && thrum__table_task(table, row) != self->chosen)
		row++;
	g_signal_handlers_block_by_func(self->tasks_selection, on_selected, self);
	gtk_single_selection_set_selected(GTK_SINGLE_SELECTION(self->tasks_selection),
		row < count ? row : GTK_INVALID_LIST_POSITION);
	g_signal_handlers_unblock_by_func(self->tasks_selection, on_selected, self);
}

/* Called before rows change: a removed row must not choose another task. */
static void rows_change(GListModel *rows, guint at, guint removed, guint added, gpointer data)
{
	AppPane *self = data;

	if (self->tasks_selection)
		g_signal_handlers_block_by_func(self->tasks_selection, on_selected, self);
}

static void rows_have_changed(GListModel *rows, guint at, guint removed, guint added, gpointer data)
{
	AppPane *self = data;

	if (!self->tasks_selection)
		return;
	choose_again(self);
	g_signal_handlers_unblock_by_func(self->tasks_selection, on_selected, self);
	say_count(self);
}

static void make_view(AppPane *self)
{
	GtkWidget *view = pane_table_view(self->tasks);

	self->tasks_selection = gtk_column_view_get_model(GTK_COLUMN_VIEW(view));
	gtk_widget_set_name(view, "tasks");
	gtk_column_view_set_single_click_activate(GTK_COLUMN_VIEW(view), TRUE);
	g_signal_connect(view, "activate", G_CALLBACK(on_activated), self);
	g_signal_connect_object(self->tasks_selection, "notify::selected", G_CALLBACK(on_selected),
		self, 0);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->tasks_scroller), view);
}

/* ---- The page ------------------------------------------------------------------------------ */

void pane_tasks_tell(AppPane *self)
{
	char room[THRUM__NUMBER_ROOM], *title = g_strdup("Tasks");

	/* Beside the tab of differences there is no room for the number. */
	if (self->stats && self->count == 1) {
		g_free(title);
		title = g_strdup_printf("Tasks %s",
			trace_words_count(thrum__table_items(self->stats, THRUM__TABLE_TASKS),
				room));
	}
	gtk_stack_page_set_title(self->tasks_tab, title);
	g_free(title);
}

void pane_tasks_fill(AppPane *self)
{
	pane_table_set(self->tasks, THRUM__TABLE_TASKS, self->stats, chosen_range(self),
		gtk_editable_get_text(GTK_EDITABLE(self->filter)));
	if (!pane_table_get(self->tasks))
		return;
	if (!self->tasks_selection)
		make_view(self);
	choose_again(self);
	say_count(self);
}

void pane_tasks_init(AppPane *self)
{
	GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *head = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);

	self->tasks = pane_table_new();
	/* Before and after the model of the widget handles the signal. */
	g_signal_connect(self->tasks, "items-changed", G_CALLBACK(rows_change), self);
	g_signal_connect_after(self->tasks, "items-changed", G_CALLBACK(rows_have_changed), self);
	self->filter = gtk_search_entry_new();
	g_object_set(self->filter, "placeholder-text", THRUM__TABLE_FILTER, NULL);
	gtk_widget_set_name(self->filter, "tasks-filter");
	app_call(self->filter, "Filter tasks");
	g_signal_connect(self->filter, "search-changed", G_CALLBACK(filter_changed), self);
	self->unnarrow = gtk_button_new();
	gtk_widget_set_name(self->unnarrow, "tasks-all");
	gtk_widget_set_visible(self->unnarrow, FALSE);
	gtk_widget_add_css_class(self->unnarrow, "range");
	gtk_widget_set_tooltip_text(self->unnarrow, "Show all tasks");
	gtk_widget_set_halign(self->unnarrow, GTK_ALIGN_START);
	g_signal_connect(self->unnarrow, "clicked", G_CALLBACK(clear_range), self);
	self->filtered = gtk_label_new(NULL);
	gtk_widget_set_name(self->filtered, "tasks-count");
	gtk_widget_add_css_class(self->filtered, "remark");
	gtk_label_set_xalign(GTK_LABEL(self->filtered), 0);
	gtk_widget_add_css_class(head, "head");
	gtk_box_append(GTK_BOX(head), self->filter);
	gtk_box_append(GTK_BOX(head), self->unnarrow);
	gtk_box_append(GTK_BOX(head), self->filtered);
	self->tasks_scroller = gtk_scrolled_window_new();
	gtk_widget_set_vexpand(self->tasks_scroller, TRUE);
	gtk_box_append(GTK_BOX(page), head);
	gtk_box_append(GTK_BOX(page), self->tasks_scroller);
	self->tasks_tab = gtk_stack_add_titled(GTK_STACK(self->stack), page, "tasks", "Tasks");
}
