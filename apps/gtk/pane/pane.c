/* SPDX-License-Identifier: ISC */
/* The side panel: a stack of pages about one of the traces, and one that compares two. */
#include "pane/parts.h"

#include "desktop/editor.h"
#include "pane/css.h"

#define REFRESH_S 1 /* how often the page of a growing trace is filled again */

G_DEFINE_TYPE(AppPane, app_pane, GTK_TYPE_WIDGET)

enum {
	SIGNAL_GO_TASK,
	SIGNAL_GO_TIME,
	SIGNAL_GO_FINDING,
	SIGNAL_GO_DIFFERENCE,
	SIGNAL_GO_GROUP,
	SIGNAL_GO_RUN,
	SIGNAL_GO_SLOW,
	SIGNAL_HOVER_TASK,
	SIGNAL_PAGE,
	SIGNAL_TOLD,
	SIGNALS,
};
static guint signals[SIGNALS];

void pane_tell(AppPane *self, const char *words)
{
	g_signal_emit(self, signals[SIGNAL_TOLD], 0, words);
}

void pane_go_task_of(AppPane *self, unsigned part, uint32_t task)
{
	g_signal_emit(self, signals[SIGNAL_GO_TASK], 0, part, task);
}

void pane_go_task(AppPane *self, uint32_t task)
{
	pane_go_task_of(self, self->part, task);
}

void pane_hover_task_of(AppPane *self, unsigned part, uint32_t task)
{
	g_signal_emit(self, signals[SIGNAL_HOVER_TASK], 0, part, task);
}

void pane_hover_task(AppPane *self, uint32_t task)
{
	pane_hover_task_of(self, self->part, task);
}

void pane_go_difference(AppPane *self, uint32_t difference)
{
	if (self->has_comparison && difference < self->comparison.count)
		g_signal_emit(self, signals[SIGNAL_GO_DIFFERENCE], 0,
			&self->comparison.differences[difference]);
}

void pane_go_finding(AppPane *self, uint32_t finding)
{
	g_signal_emit(self, signals[SIGNAL_GO_FINDING], 0, self->part, finding);
}

static bool is_page(AppPane *self, const char *word)
{
	const char *page = gtk_stack_get_visible_child_name(GTK_STACK(self->stack));

	return page && strcmp(page, word) == 0;
}

static void follow_task(void *data, unsigned side, uint32_t task)
{
	AppPane *self = data;

	/* First, so that going back leads to this page. */
	pane_go_task(self, task);
	/* A link on the page about a slow task leads to another: then the details tell of that one. */
	if (is_page(self, "slow"))
		app_pane_show_page(self, "details");
}

static void follow_time(void *data, int64_t time, int64_t until)
{
	AppPane *self = data;

	g_signal_emit(self, signals[SIGNAL_GO_TIME], 0, self->part, time, until);
}

static void follow_run(void *data, uint32_t run)
{
	AppPane *self = data;

	g_signal_emit(self, signals[SIGNAL_GO_RUN], 0, self->part, run);
}

static void follow_slow(void *data, uint32_t task)
{
	AppPane *self = data;

	g_signal_emit(self, signals[SIGNAL_GO_SLOW], 0, self->part, task);
	app_pane_show_page(self, "slow");
}

static void follow_difference(void *data, uint32_t difference)
{
	pane_go_difference(data, difference);
}

static void follow_filter(void *data, const char *search)
{
	AppPane *self = data;

	gtk_editable_set_text(GTK_EDITABLE(self->filter), search);
	app_pane_show_page(self, "tasks");
}

static void follow_group(void *data, uint32_t group)
{
	AppPane *self = data;

	g_signal_emit(self, signals[SIGNAL_GO_GROUP], 0, self->part, group);
}

/* Returns the file of a task's call site, or NULL; free it with g_free. */
static char *find_site(AppPane *self, uint32_t task, unsigned *line)
{
	const struct thrum__model *model = pane_model(self);
	const struct thrum_trace_site *site = model ? thrum__model_site(model, task) : NULL;

	*line = site ? site->line : 0;
	return site ? editor_find(site->file, app_trace_file(self->traces[self->part])) : NULL;
}

static bool has_site(void *data, uint32_t task)
{
	unsigned line;
	g_autofree char *path = find_site(data, task, &line);

	return path != NULL;
}

static void follow_site(void *data, uint32_t task)
{
	unsigned line;
	g_autofree char *path = find_site(data, task, &line);
	GtkRoot *root = gtk_widget_get_root(data);

	if (path)
		editor_open(GTK_WINDOW(root), path, line);
}

static void follow_hover(void *data, unsigned side, uint32_t task)
{
	pane_hover_task(data, task);
}

const struct thrum__scene *pane_scene(AppPane *self)
{
	return self->stage && self->part < self->stage->count ? self->stage->parts[self->part].scene
							      : NULL;
}

const struct thrum__model *pane_model(AppPane *self)
{
	return self->part < self->count ? app_trace_model(self->traces[self->part]) : NULL;
}

/* ---- Filling ------------------------------------------------------------------------------- */

/* Says that the numbers are out of date, and how to update them. */
static void say_waiting(AppPane *self)
{
	AppTrace *trace = self->part < self->count ? self->traces[self->part] : NULL;
	char time[THRUM__NUMBER_ROOM] = "", *text;
	int64_t end;
	bool waits = trace && app_trace_stats_wait(trace, &end);

	gtk_widget_set_visible(self->waiting, waits);
	if (!waits)
		return;
	if (end != INT64_MIN)
		thrum__words_duration(end, 3, time, sizeof time);
	text = *time ? g_strdup_printf("Counted up to %s. Pause to count the rest.", time)
		     : g_strdup("Pause to count.");
	gtk_label_set_text(GTK_LABEL(self->waiting), text);
	g_free(text);
}

/* Gets the newest statistics. The old ones are freed by that, so tables and chart drop them. */
static void take_stats(AppPane *self)
{
	const struct thrum__stats *stats = self->part < self->count
		? app_trace_stats(self->traces[self->part])
		: NULL;

	say_waiting(self);
	if (stats == self->stats)
		return;
	self->stats = stats;
	pane_table_let_go(self->statistics);
	pane_table_let_go(self->tasks);
	pane_chart_fill(self);
	pane_tasks_tell(self);
}

/* Fills the visible page. The others are filled when the user turns to them. */
static void fill_page(AppPane *self)
{
	take_stats(self);
	if (is_page(self, "details"))
		pane_details_fill(self);
	else if (is_page(self, "tasks") && !pane_table_get(self->tasks))
		pane_tasks_fill(self);
	else if (is_page(self, "statistics") && !pane_table_get(self->statistics))
		pane_statistics_fill(self);
	else if (is_page(self, "slow"))
		pane_slow_fill(self);
	else if (is_page(self, "differences"))
		pane_diff_fill(self);
}

static gboolean fill_now(gpointer data)
{
	AppPane *self = data;

	g_clear_handle_id(&self->refresh_timer, g_source_remove);
	self->refresh_idle = 0;
	if (gtk_widget_get_mapped(GTK_WIDGET(self)))
		fill_page(self);
	return G_SOURCE_REMOVE;
}

static gboolean fill_in_time(gpointer data)
{
	AppPane *self = data;

	self->refresh_timer = 0;
	return fill_now(self);
}

/* Fills it when idle: a clicked widget must not be removed while GTK still handles the click. */
static void fill_soon(AppPane *self)
{
	if (!self->refresh_idle)
		self->refresh_idle = g_idle_add_full(G_PRIORITY_HIGH_IDLE, fill_now, self, NULL);
}

void app_pane_turn(AppPane *self)
{
	const struct thrum__scene *scene = pane_scene(self);

	if (!scene || thrum__scene_bands_subject(scene) == self->subject)
		return;
	if (is_page(self, "slow") && thrum__scene_bands_tells_range(scene))
		app_pane_show_page(self, "details");
	if (is_page(self, "details"))
		fill_soon(self);
}

static void empty_pages(AppPane *self)
{
	pane_slow_clear(self);
	pane_diff_clear(self);
	self->count = self->part = 0;
	self->task = self->chosen = self->slow_task = self->wanted = THRUM__NONE;
	self->is_new = true;
	take_stats(self);
	pane_details_fill(self);
	pane_tasks_fill(self);
	pane_statistics_fill(self);
	pane_slow_fill(self);
}

static void choose_part(AppPane *self, unsigned part)
{
	self->part = part;
	if (self->count > 1)
		gtk_drop_down_set_selected(GTK_DROP_DOWN(self->chooser), part);
}

static void was_chosen(GtkDropDown *chooser, GParamSpec *property, gpointer data)
{
	AppPane *self = data;
	guint part = gtk_drop_down_get_selected(chooser);

	if (part >= self->count || part == self->part)
		return;
	self->part = part;
	self->task = THRUM__NONE;
	self->is_new = true;
	fill_soon(self);
}

static void trace_changed(AppTrace *trace, gpointer data)
{
	AppPane *self = data;

	if (self->part < self->count && self->traces[self->part] == trace)
		fill_soon(self);
}

void app_pane_set_traces(AppPane *self, AppTrace **traces, struct thrum__stage *stage,
	unsigned count)
{
	GtkStringList *names = gtk_string_list_new(NULL);
	AppTrace *old[THRUM__STAGE_MAX];
	unsigned old_count = self->count;

	memcpy(old, self->traces, sizeof old);
	/* Tables must drop the statistics before the traces free them. */
	empty_pages(self);
	self->stage = stage;
	for (unsigned i = 0; i < count && i < THRUM__STAGE_MAX; i++) {
		self->traces[i] = g_object_ref(traces[i]);
		g_signal_connect(traces[i], "changed", G_CALLBACK(trace_changed), self);
		gtk_string_list_append(names, app_trace_name(traces[i]));
	}
	for (unsigned i = 0; i < old_count; i++) {
		g_signal_handlers_disconnect_by_func(old[i], trace_changed, self);
		g_object_unref(old[i]);
	}
	/* While self->count is 0, so that was_chosen ignores the first selection. */
	gtk_drop_down_set_model(GTK_DROP_DOWN(self->chooser), G_LIST_MODEL(names));
	gtk_widget_set_visible(self->chooser, count > 1 && !is_page(self, "differences"));
	g_object_unref(names);
	self->count = MIN(count, THRUM__STAGE_MAX);
	pane_diff_tell(self);
	fill_soon(self);
}

void app_pane_show(AppPane *self, unsigned part, uint32_t task)
{
	if (part >= self->count)
		return;
	if (self->part == part && self->task == task)
		return;
	self->task = task;
	self->is_new = true;
	self->slow_part = part;
	self->slow_task = task;
	choose_part(self, part);
	fill_soon(self);
}

void app_pane_trace_grew(AppPane *self, unsigned part)
{
	if (part == self->part && !self->refresh_timer)
		self->refresh_timer = g_timeout_add_seconds(REFRESH_S, fill_in_time, self);
}

void app_pane_ask_slow(AppPane *self)
{
	self->slow_part = self->part;
	self->slow_task = self->task;
	app_pane_show_page(self, "slow");
	fill_soon(self);
}

void app_pane_show_finding(AppPane *self, uint32_t finding)
{
	self->wanted = finding;
	app_pane_show_page(self, "details");
	fill_soon(self);
}

void app_pane_show_page(AppPane *self, const char *word)
{
	if (gtk_stack_get_child_by_name(GTK_STACK(self->stack), word))
		gtk_stack_set_visible_child_name(GTK_STACK(self->stack), word);
}

static void page_changed(GtkStack *stack, GParamSpec *property, gpointer data)
{
	const char *word = gtk_stack_get_visible_child_name(stack);

	fill_soon(data);
	/* The page of differences is about two traces. */
	gtk_widget_set_visible(APP_PANE(data)->chooser,
		APP_PANE(data)->count > 1 && !is_page(data, "differences"));
	if (word)
		g_signal_emit(data, signals[SIGNAL_PAGE], 0, word);
}

/* ---- The widget ---------------------------------------------------------------------------- */

static void app_pane_map(GtkWidget *widget)
{
	GTK_WIDGET_CLASS(app_pane_parent_class)->map(widget);
	fill_soon(APP_PANE(widget));
}

static void app_pane_dispose(GObject *object)
{
	AppPane *self = APP_PANE(object);

	if (self->box)
		app_pane_set_traces(self, NULL, NULL, 0);
	g_clear_handle_id(&self->refresh_timer, g_source_remove);
	g_clear_handle_id(&self->refresh_idle, g_source_remove);
	g_clear_handle_id(&self->where_idle, g_source_remove);
	g_clear_pointer(&self->box, gtk_widget_unparent);
	g_clear_object(&self->tasks);
	g_clear_object(&self->statistics);
	G_OBJECT_CLASS(app_pane_parent_class)->dispose(object);
}

static void app_pane_finalize(GObject *object)
{
	pane_chart_finish(APP_PANE(object));
	pane_slow_finish(APP_PANE(object));
	G_OBJECT_CLASS(app_pane_parent_class)->finalize(object);
}

static void add_style(void)
{
	GtkCssProvider *provider = gtk_css_provider_new();

	gtk_css_provider_load_from_data(provider, PANE_CSS, -1);
	gtk_style_context_add_provider_for_display(gdk_display_get_default(),
		GTK_STYLE_PROVIDER(provider), GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
	g_object_unref(provider);
}

static guint add_signal(const char *name, guint count, GType first, GType second)
{
	return g_signal_new(name, APP_TYPE_PANE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
		G_TYPE_NONE, count, first, second);
}

static void app_pane_class_init(AppPaneClass *class)
{
	G_OBJECT_CLASS(class)->dispose = app_pane_dispose;
	G_OBJECT_CLASS(class)->finalize = app_pane_finalize;
	GTK_WIDGET_CLASS(class)->map = app_pane_map;
	gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
	signals[SIGNAL_GO_TASK] = add_signal("go-task", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_GO_TIME] = g_signal_new("go-time", APP_TYPE_PANE, G_SIGNAL_RUN_LAST, 0, NULL,
		NULL, NULL, G_TYPE_NONE, 3, G_TYPE_UINT, G_TYPE_INT64, G_TYPE_INT64);
	signals[SIGNAL_GO_FINDING] = add_signal("go-finding", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_GO_DIFFERENCE] = add_signal("go-difference", 1, G_TYPE_POINTER, G_TYPE_NONE);
	signals[SIGNAL_GO_RUN] = add_signal("go-run", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_GO_SLOW] = add_signal("go-slow", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_GO_GROUP] = add_signal("go-group", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_HOVER_TASK] = add_signal("hover-task", 2, G_TYPE_UINT, G_TYPE_UINT);
	signals[SIGNAL_PAGE] = add_signal("page", 1, G_TYPE_STRING, G_TYPE_NONE);
	signals[SIGNAL_TOLD] = add_signal("told", 1, G_TYPE_STRING, G_TYPE_NONE);
	add_style();
}

static void add_head(AppPane *self)
{
	GtkWidget *tabs = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
	GtkWidget *switcher = gtk_stack_switcher_new(), *scroller = gtk_scrolled_window_new();

	gtk_stack_switcher_set_stack(GTK_STACK_SWITCHER(switcher), GTK_STACK(self->stack));
	gtk_widget_set_name(switcher, "pane-pages");
	self->chooser = gtk_drop_down_new(NULL, NULL);
	gtk_widget_set_name(self->chooser, "pane-trace");
	app_call(self->chooser, "Trace");
	gtk_widget_set_visible(self->chooser, FALSE);
	g_signal_connect(self->chooser, "notify::selected", G_CALLBACK(was_chosen), self);
	gtk_widget_add_css_class(tabs, "tabs");
	self->waiting = gtk_label_new(NULL);
	gtk_widget_set_name(self->waiting, "pane-waiting");
	gtk_widget_add_css_class(self->waiting, "waiting");
	gtk_label_set_wrap(GTK_LABEL(self->waiting), TRUE);
	gtk_label_set_xalign(GTK_LABEL(self->waiting), 0);
	gtk_widget_set_tooltip_text(self->waiting,
		"Counting now would take so long that the program could overwrite events "
		"before they are read");
	gtk_widget_set_visible(self->waiting, FALSE);
	/* A narrow panel hides the last tabs until they are scrolled to; it doesn't grow. */
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_EXTERNAL,
		GTK_POLICY_NEVER);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), switcher);
	gtk_widget_set_hexpand(scroller, TRUE);
	gtk_widget_set_halign(switcher, GTK_ALIGN_START);
	gtk_box_append(GTK_BOX(tabs), scroller);
	gtk_box_append(GTK_BOX(self->box), tabs);
	gtk_box_append(GTK_BOX(self->box), self->chooser);
	gtk_box_append(GTK_BOX(self->box), self->waiting);
}

static void app_pane_init(AppPane *self)
{
	self->links = (struct pane_links){follow_task, follow_time, follow_run, follow_slow,
		follow_difference, follow_filter, follow_group, has_site, follow_site, follow_hover,
		self};
	self->task = self->chosen = self->slow_task = self->wanted = THRUM__NONE;
	self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_set_parent(self->box, GTK_WIDGET(self));
	gtk_widget_add_css_class(GTK_WIDGET(self), "pane");
	self->stack = gtk_stack_new();
	gtk_widget_set_vexpand(self->stack, TRUE);
	gtk_stack_set_hhomogeneous(GTK_STACK(self->stack), FALSE);
	add_head(self);
	gtk_box_append(GTK_BOX(self->box), self->stack);
	pane_details_init(self);
	pane_tasks_init(self);
	pane_statistics_init(self);
	pane_slow_init(self);
	pane_diff_init(self);
	g_signal_connect(self->stack, "notify::visible-child", G_CALLBACK(page_changed), self);
}

GtkWidget *app_pane_new(void)
{
	return g_object_new(APP_TYPE_PANE, NULL);
}
