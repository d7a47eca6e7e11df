/* SPDX-License-Identifier: ISC */
/* What the window's files share. */
#ifndef WINDOW_H
#define WINDOW_H

#include "app.h"

struct _AppWindow {
	GtkApplicationWindow parent;
	struct thrum__stage *stage;
	AppTrace *traces[THRUM__STAGE_MAX]; /* shown, in the stage's order */
	unsigned count;
	int64_t findings_next[THRUM__STAGE_MAX]; /* µs: when what is wrong is looked for again */

	/* What is being opened (window_open.c): shown together once all is read. */
	AppTrace *coming[THRUM__STAGE_MAX];
	double coming_part[THRUM__STAGE_MAX]; /* what "progress" told last */
	unsigned coming_count;
	bool replaces;      /* what is shown gives way to it */
	char *coming_state; /* what is then to be seen, or NULL */
	unsigned patience;  /* timer: what takes longer is told of */
	char *failure;      /* what couldn't be done last, or NULL */
	char *read_message; /* what was closed by hand and isn't shown again, or NULL */
	int64_t keep;       /* ns of live traces that are kept; 0: all */

	/* Where the menu of the picture was asked for. */
	unsigned menu_part;
	uint32_t menu_task;
	GtkWidget *menu;

	GtkWidget *mark, *title, *words, *findings, *live; /* the bar (window_bar.c) */
	GtkWidget *search, *search_box, *search_count, *search_key;
	GtkWidget *zoom, *fold, *pause, *counters, *counter_list;

	GtkWidget *progress, *loading, *loading_words; /* below it */
	GtkWidget *coarse; /* in the picture's place, until there is one: loading.h */
	GtkWidget *message, *message_words;
	GtkWidget *paned, *pane, *stack, *picture;
	GtkAdjustment *tracks, *time;
	GtkWidget *track_bar, *time_bar;
	GtkWidget *pointer_words, *seen_words;
	bool is_updating; /* the bars' values come from the stage, not from people */
};

#define RECENT_GROUP "thrum traces"

/* ---- window.c */
void window_update(AppWindow *, unsigned changes); /* all that shows what the stage has */
char *window_state(AppWindow *);                   /* to be freed with g_free, like the next */
char *window_status(AppWindow *);
GtkWidget *window_label(const char *text, const char *class);
void window_theme_changed(AppWindow *);

/* ---- window_open.c */
void window_open_files(AppWindow *, GListModel *files, bool add);
void window_reload(AppWindow *);
void window_cancel(AppWindow *);
void window_fail(AppWindow *, const char *format, ...) G_GNUC_PRINTF(2, 3);
void window_update_messages(AppWindow *);
void window_close_all(AppWindow *);

/* ---- window_bar.c */
GtkWidget *window_make_bar(AppWindow *);
void window_update_bar(AppWindow *, unsigned changes);

/* ---- window_actions.c */
void window_add_actions(AppWindow *);
GMenuModel *window_make_menu(void);
void window_update_actions(AppWindow *);
void window_add_popup(AppWindow *);
void window_popup(AppWindow *, double x, double y);
extern const struct window_key {
	const char *action, *accelerator, *help;
} window_keys[]; /* ends with NULL */

/* ---- dialogs.c */
void dialog_go_to(AppWindow *, bool duration);
void dialog_keys(AppWindow *);
void dialog_about(AppWindow *);
void dialog_open(AppWindow *, bool add);
void dialog_export(AppWindow *);
void dialog_snapshot(AppWindow *);

#endif
