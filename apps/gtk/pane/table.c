/* SPDX-License-Identifier: ISC */
/* GTK asks for the visible rows only, and the table makes their texts when they are shown. So a
 * million rows cost as much as thirty. */
#include "pane/table.h"
#include "base/utf8.h"

#include <string.h>

#include "scene/scene.h"

/* Widths of columns of text, in pixels. Columns of numbers take the width that they need. */
#define FIRST_WIDTH 116
#define OTHER_WIDTH 70

#define ROWS_AT_ONCE 20000 /* that are looked at before the keyboard is asked again */

struct _PaneTable {
	GObject parent;
	struct thrum__table table; /* form NULL: empty */
	int kind;
	unsigned sorted; /* the column by which it is sorted; kept while there is no table */
	bool is_sorted, descending;
	guint told;        /* the number of rows that widgets know */
	GHashTable *bound; /* list item → its struct column: the visible cells */
	struct thrum__table_narrowing *narrowing; /* NULL: nothing is being looked for */
	guint narrows;                            /* the source that goes on with it */
};

static GType get_item_type(GListModel *list)
{
	return GTK_TYPE_STRING_OBJECT;
}

static guint get_n_items(GListModel *list)
{
	return PANE_TABLE(list)->told;
}

/* The items are empty: cells need only their place in the table. */
static gpointer get_item(GListModel *list, guint position)
{
	return position < get_n_items(list) ? gtk_string_object_new(NULL) : NULL;
}

static void list_init(GListModelInterface *interface)
{
	interface->get_item_type = get_item_type;
	interface->get_n_items = get_n_items;
	interface->get_item = get_item;
}

G_DEFINE_TYPE_WITH_CODE(PaneTable, pane_table, G_TYPE_OBJECT,
	G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, list_init))

/* Gives up what a newer text or table supersedes. */
static void stop_narrowing(PaneTable *self)
{
	if (self->narrowing)
		thrum__table_narrow_end(self->narrowing, false);
	self->narrowing = NULL;
	g_clear_handle_id(&self->narrows, g_source_remove);
}

static void pane_table_finalize(GObject *object)
{
	stop_narrowing(PANE_TABLE(object));
	thrum__table_finish(&PANE_TABLE(object)->table);
	g_hash_table_unref(PANE_TABLE(object)->bound);
	G_OBJECT_CLASS(pane_table_parent_class)->finalize(object);
}

static void pane_table_class_init(PaneTableClass *class)
{
	G_OBJECT_CLASS(class)->finalize = pane_table_finalize;
}

static void pane_table_init(PaneTable *self)
{
	self->bound = g_hash_table_new(NULL, NULL);
}

PaneTable *pane_table_new(void)
{
	return g_object_new(PANE_TYPE_TABLE, NULL);
}

/* The data of a column's header and cells. */
struct column {
	PaneTable *table; /* the widget of the column holds a reference */
	unsigned index;
	struct sorting *sorting;
};

struct sorting {
	PaneTable *table;
	GtkColumnView *view;
	GtkColumnViewColumn **columns; /* by index; NULL: not shown */
	int asked, primary;            /* -1: none */
	bool is_setting;
};

/* ---- Cells --------------------------------------------------------------------------------- */

static void set_up_cell(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
	const struct column *column = data;
	const struct thrum__table_column *of =
		&thrum__table_form(column->table->kind)->columns[column->index];
	GtkWidget *label = gtk_label_new(NULL);

	gtk_label_set_xalign(GTK_LABEL(label), thrum__table_column_is_right(of) ? 1 : 0);
	/* A number that is cut is misleading. */
	if (!thrum__table_column_is_right(of))
		gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	gtk_list_item_set_child(item, label);
}

static void write_cell(GtkListItem *item, const struct column *column)
{
	const PaneTable *self = column->table;
	const struct thrum__table *table = &self->table; /* may have lost the row meanwhile */
	GtkWidget *label = gtk_list_item_get_child(item);
	guint row = gtk_list_item_get_position(item);
	char text[THRUM__CELL_ROOM + 1] = "";
	struct thrum__table_cell cell = {0};
	bool has_kind = false;

	if (table->form && row < table->count) {
		has_kind = thrum__table_named(table, row, column->index, &cell);
		text[thrum__base_utf8_clean(cell.text, cell.size, text, THRUM__CELL_ROOM)] = '\0';
	}
	if (has_kind)
		gtk_widget_add_css_class(label, "unnamed");
	else
		gtk_widget_remove_css_class(label, "unnamed");
	if (strcmp(gtk_label_get_text(GTK_LABEL(label)), text) != 0)
		gtk_label_set_text(GTK_LABEL(label), text);
}

static void bind_cell(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
	const struct column *column = data;

	g_hash_table_insert(column->table->bound, item, data);
	write_cell(item, column);
}

static void unbind_cell(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
	const struct column *column = data;

	g_hash_table_remove(column->table->bound, item);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Tells widgets that all rows have changed. */
static void replace_rows(PaneTable *self)
{
	guint old = self->told;

	self->told = self->table.count;
	g_list_model_items_changed(G_LIST_MODEL(self), 0, old, self->told);
}

/* Writes new texts into the visible cells and tells widgets only of added or removed rows: to make
 * 200 rows of widgets takes GTK a third of a second, to set their texts hardly any time. */
static void update_rows(PaneTable *self)
{
	guint old = self->told, same = MIN(old, self->table.count);
	GHashTableIter iter;
	gpointer item, column;

	self->told = self->table.count;
	if (self->told != old)
		g_list_model_items_changed(G_LIST_MODEL(self), same, old - same, self->told - same);
	g_hash_table_iter_init(&iter, self->bound);
	while (g_hash_table_iter_next(&iter, &item, &column))
		write_cell(item, column);
}

/* Removes the rows and remembers their order. */
static void finish_table(PaneTable *self)
{
	stop_narrowing(self);
	if (self->table.form) {
		self->sorted = self->table.sorted;
		self->descending = self->table.descending;
		self->is_sorted = self->sorted < self->table.form->count;
	}
	thrum__table_finish(&self->table);
}

/* Sorts and narrows a new table. Out of memory, it keeps its form's order, or all rows. */
static void sort_and_narrow(PaneTable *self, const struct thrum__report_chart *chart,
	const char *text)
{
	struct thrum__table *table = &self->table;

	if (self->is_sorted &&
		(self->sorted != table->sorted || self->descending != table->descending) &&
		thrum__table_sort(table, self->sorted, self->descending) < 0)
		g_debug("no memory to sort");
	if ((chart || *text) && thrum__table_narrow(table, chart, text) < 0)
		g_debug("no memory to narrow");
}

void pane_table_set(PaneTable *self, int kind, const struct thrum__stats *stats,
	const struct thrum__report_chart *chart, const char *text)
{
	finish_table(self);
	self->is_sorted = self->is_sorted && self->kind == kind;
	self->kind = kind;
	if (stats && thrum__table_init(&self->table, kind, stats) == 0)
		sort_and_narrow(self, chart, text);
	update_rows(self);
}

void pane_table_let_go(PaneTable *self)
{
	finish_table(self);
}

/* Looks at some more rows; the keyboard comes first. */
static gboolean go_on_narrowing(gpointer data)
{
	PaneTable *self = data;
	struct thrum__table_narrowing *narrowing = self->narrowing;

	if (thrum__table_narrow_go_on(narrowing, ROWS_AT_ONCE))
		return G_SOURCE_CONTINUE;
	self->narrowing = NULL;
	self->narrows = 0;
	if (thrum__table_narrow_end(narrowing, true) == 0)
		replace_rows(self);
	return G_SOURCE_REMOVE;
}

/* The table must be whole before it is sorted. */
static void finish_narrowing(PaneTable *self)
{
	g_clear_handle_id(&self->narrows, g_source_remove);
	while (self->narrowing && go_on_narrowing(self))
		;
}

void pane_table_narrow(PaneTable *self, const struct thrum__report_chart *chart, const char *text)
{
	stop_narrowing(self);
	if (!self->table.form)
		return;
	self->narrowing = thrum__table_narrow_begin(&self->table, chart, text);
	/* A small table is ready at once. */
	if (self->narrowing && go_on_narrowing(self))
		self->narrows = g_idle_add_full(G_PRIORITY_LOW, go_on_narrowing, self, NULL);
}

const struct thrum__table *pane_table_get(PaneTable *self)
{
	return self->table.form ? &self->table : NULL;
}

/* ---- Sorting ------------------------------------------------------------------------------- */

/*
 * The sorter of each column. GTK 4.8 doesn't tell by which column its widget is sorted, but the
 * widget's sorter asks the sorter of that column first. So this notes which column is asked first;
 * whether the widget's sorter returns its answer or the opposite tells the direction.
 */
static int note_asked(gconstpointer a, gconstpointer b, gpointer data)
{
	struct column *column = data;

	if (column->sorting->asked < 0)
		column->sorting->asked = (int)column->index;
	return -1;
}

static void sort_rows(struct sorting *sorting, unsigned column, bool descending)
{
	PaneTable *self = sorting->table;
	struct thrum__table *table = &self->table;

	finish_narrowing(self);
	if (!table->form || (table->sorted == column && table->descending == descending) ||
		thrum__table_sort(table, column, descending) < 0)
		return;
	replace_rows(self);
}

static void was_sorted(GtkSorter *sorter, GtkSorterChange change, gpointer data)
{
	struct sorting *sorting = data;
	const struct thrum__table_form *form = sorting->table->table.form;
	GtkStringObject *probes[2];
	GtkOrdering order;
	bool is_new;

	/* The widget removes its columns one by one when it is destroyed. */
	if (sorting->is_setting || !form || !gtk_widget_get_root(GTK_WIDGET(sorting->view)))
		return;
	sorting->asked = -1;
	probes[0] = gtk_string_object_new(NULL);
	probes[1] = gtk_string_object_new(NULL);
	order = gtk_sorter_compare(sorter, probes[0], probes[1]);
	g_object_unref(probes[0]);
	g_object_unref(probes[1]);
	if (sorting->asked < 0)
		return;
	is_new = sorting->asked != sorting->primary;
	sorting->primary = sorting->asked;
	/* Durations and counts begin with the greatest. */
	if (is_new && order == GTK_ORDERING_SMALLER &&
		thrum__table_column_descends(&form->columns[sorting->asked])) {
		gtk_column_view_sort_by_column(sorting->view, sorting->columns[sorting->asked],
			GTK_SORT_DESCENDING);
		return;
	}
	sort_rows(sorting, (unsigned)sorting->asked, order == GTK_ORDERING_LARGER);
}

/* ---- Columns ------------------------------------------------------------------------------- */

static GtkListItemFactory *make_factory(const struct column *column)
{
	GtkListItemFactory *factory = gtk_signal_list_item_factory_new();

	g_signal_connect(factory, "setup", G_CALLBACK(set_up_cell), (gpointer)column);
	g_signal_connect(factory, "bind", G_CALLBACK(bind_cell), (gpointer)column);
	g_signal_connect(factory, "unbind", G_CALLBACK(unbind_cell), (gpointer)column);
	return factory;
}

static void add_column(struct sorting *sorting, unsigned index)
{
	const struct thrum__table_column *of = &sorting->table->table.form->columns[index];
	struct column *column = g_new(struct column, 1);
	GtkColumnViewColumn *made;
	GtkSorter *sorter;
	char *title = g_strdelimit(g_strdup(of->name), "-", ' ');
	bool is_first = g_list_model_get_n_items(gtk_column_view_get_columns(sorting->view)) == 0;

	*column = (struct column){sorting->table, index, sorting};
	made = gtk_column_view_column_new(title, make_factory(column));
	sorter = GTK_SORTER(gtk_custom_sorter_new(note_asked, column, NULL));
	gtk_column_view_column_set_sorter(made, sorter);
	gtk_column_view_column_set_resizable(made, TRUE);
	g_object_set_data_full(G_OBJECT(made), "column", column, g_free);
	if (of->type == THRUM__CELL_TEXT)
		gtk_column_view_column_set_fixed_width(made, is_first ? FIRST_WIDTH : OTHER_WIDTH);
	gtk_column_view_append_column(sorting->view, made);
	sorting->columns[index] = made;
	g_object_unref(sorter);
	g_object_unref(made);
	g_free(title);
}

static void add_columns(struct sorting *sorting)
{
	unsigned columns[THRUM__COLUMNS_MAX];
	unsigned count = thrum__table_columns(sorting->table->table.form, columns);

	for (unsigned i = 0; i < count; i++)
		add_column(sorting, columns[i]);
}

static void free_sorting(gpointer data)
{
	struct sorting *sorting = data;

	g_free(sorting->columns);
	g_object_unref(sorting->table);
	g_free(sorting);
}

static void show_order(struct sorting *sorting)
{
	const struct thrum__table *table = &sorting->table->table;

	sorting->primary = table->sorted < table->form->count ? (int)table->sorted : -1;
	if (sorting->primary < 0 || !sorting->columns[sorting->primary])
		return;
	sorting->is_setting = true;
	gtk_column_view_sort_by_column(sorting->view, sorting->columns[sorting->primary],
		table->descending ? GTK_SORT_DESCENDING : GTK_SORT_ASCENDING);
	sorting->is_setting = false;
}

GtkWidget *pane_table_view(PaneTable *self)
{
	GtkSelectionModel *selection = GTK_SELECTION_MODEL(
		gtk_single_selection_new(G_LIST_MODEL(g_object_ref(self))));
	struct sorting *sorting = g_new0(struct sorting, 1);
	GtkWidget *view;

	gtk_single_selection_set_autoselect(GTK_SINGLE_SELECTION(selection), FALSE);
	gtk_single_selection_set_can_unselect(GTK_SINGLE_SELECTION(selection), TRUE);
	gtk_single_selection_set_selected(GTK_SINGLE_SELECTION(selection),
		GTK_INVALID_LIST_POSITION);
	view = gtk_column_view_new(selection);
	gtk_column_view_set_reorderable(GTK_COLUMN_VIEW(view), TRUE);
	sorting->table = g_object_ref(self);
	sorting->view = GTK_COLUMN_VIEW(view);
	sorting->columns = g_new0(GtkColumnViewColumn *, self->table.form->count);
	g_object_set_data_full(G_OBJECT(view), "sorting", sorting, free_sorting);
	add_columns(sorting);
	show_order(sorting);
	g_signal_connect(gtk_column_view_get_sorter(sorting->view), "changed",
		G_CALLBACK(was_sorted), sorting);
	return view;
}
