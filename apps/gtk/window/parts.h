/* SPDX-License-Identifier: ISC */
/* The window's own header, shared by its files. */
#ifndef WINDOW_PARTS_H
#define WINDOW_PARTS_H

#include "app.h"
#include "pane/pane.h"
#include "picture/picture.h"
#include "window/window.h"

struct _AppWindow {
	GtkApplicationWindow parent;
	struct thrum__stage *stage;
	AppTrace *traces[THRUM__STAGE_MAX]; /* shown, in the stage's order */
	unsigned count;

	/* The traces being opened (open.c). They are shown together once all are read. */
	AppTrace *coming[THRUM__STAGE_MAX];
	double coming_part[THRUM__STAGE_MAX]; /* the last value of the signal "progress" */
	unsigned coming_count;
	bool replaces;        /* they replace the traces that are shown */
	bool compares;        /* their differences are shown then */
	char *coming_state;   /* the view to show then, or NULL */
	unsigned patience;    /* timer: progress is shown when it fires */
	unsigned rows_wait;   /* timer: tells how far rows are made, or 0 */
	char *failure;        /* the message of the last failure, or NULL */
	char *hidden_message; /* the message that was closed and isn't shown again, or NULL */
	int64_t keep;         /* how much of live traces is kept, in ns; 0: all */

	/* The task on which the context menu was opened. */
	unsigned menu_part;
	uint32_t menu_task;
	GtkWidget *menu;

	GtkWidget *mark, *title, *words, *findings, *live; /* the bar (bar.c) */
	GtkWidget *search, *search_box, *search_count, *search_key;
	guint search_wait; /* the source that searches when nothing more is typed */
	GtkWidget *zoom, *as, *rows, *bands, *fold, *pause, *counters, *counter_list;
	GtkWidget *categories, *category_list; /* a menu (categories.c) */
	size_t category_count;

	GtkWidget *progress, *loading, *loading_words; /* below it */
	GtkWidget *coarse; /* in the place of the picture until there is one: picture/loading.h */
	GtkWidget *message, *message_words;
	GtkWidget *paned, *pane, *stack, *picture;
	GtkAdjustment *tracks, *time;
	GtkWidget *track_bar, *time_bar;
	GtkWidget *pointer_words, *seen_words;
	char *told;       /* the chosen range in words, for screen readers, or NULL */
	bool is_updating; /* the scroll bars are being set from the stage, not by the user */
};

#define RECENT_GROUP "thrum traces"

/* ---- window.c ------------------------------------------------------------------------------ */
/* Updates all widgets that show the stage; `changes`: bits of enum thrum__stage_changed. */
void window_update(AppWindow *, unsigned changes);
GtkWidget *window_label(const char *text, const char *class); /* class: of CSS, or NULL */
void window_show_slow(AppWindow *); /* why the selected task was slow, in the panel */

/* ---- open.c -------------------------------------------------------------------------------- */
void window_open_files(AppWindow *, GListModel *files, bool add);
void window_reload(AppWindow *);
void window_cancel(AppWindow *);
void window_fail(AppWindow *, const char *format, ...) G_GNUC_PRINTF(2, 3);
void window_update_messages(AppWindow *);
void window_ask_for_picture(
	AppWindow *); /* makes rows or bands in a thread, where some are wanted */
void window_close_trace(AppWindow *, unsigned part); /* does nothing if it is the only one */
void window_close_all(AppWindow *);

/* ---- bar.c --------------------------------------------------------------------------------- */
GtkWidget *window_make_bar(AppWindow *);
void window_update_bar(AppWindow *, unsigned changes); /* 0: all of it */

/* ---- categories.c -------------------------------------------------------------------------- */
GtkWidget *window_make_categories(AppWindow *);
void window_update_categories(AppWindow *); /* shows the menu while a program is followed */

/* ---- actions.c ----------------------------------------------------------------------------- */
void window_add_actions(AppWindow *);
GMenuModel *window_make_menu(void);
void window_update_actions(AppWindow *);
void window_update_switches(AppWindow *); /* the check marks of the menu "View" */
void window_add_popup(AppWindow *);
/* Opens the context menu at a place of the picture, or for x < 0, when the keyboard asks for it, on
 * the selected task. */
void window_popup(AppWindow *, double x, double y);

/* ---- attach.c ------------------------------------------------------------------------------ */
/* Shows a dialog with the processes that are recording. Calls `chosen` with the selected one; doesn't
 * call it if the dialog is cancelled. */
void app_attach_choose(GtkWindow *parent, void (*chosen)(int pid, void *data), void *data);

/* ---- dialogs.c ----------------------------------------------------------------------------- */
void dialog_go_to(AppWindow *, bool duration); /* duration: selects it in the text, to change it */
void dialog_mark(AppWindow *);                 /* asks for the text of a mark */
void dialog_keys(AppWindow *);
void dialog_about(AppWindow *);
/* `how`, static: "open", in the place of the traces; "below" them; "compare", below one trace, with
 * the page of their differences. */
void dialog_open(AppWindow *, const char *how);
void dialog_export(AppWindow *);
void dialog_snapshot(AppWindow *);
void dialog_save_range(AppWindow *); /* the range of the bands as a recording */

#endif
