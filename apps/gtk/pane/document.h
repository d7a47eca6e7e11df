/* SPDX-License-Identifier: ISC */
/* A document (report/document) as widgets. */
#ifndef PANE_DOCUMENT_H
#define PANE_DOCUMENT_H

#include <gtk/gtk.h>

#include "report/document/document.h"

/* The callbacks of its links. `side` is the piece's: 0, but in a document about two traces. */
struct pane_links {
	void (*go_task)(void *data, unsigned side, uint32_t task);
	void (*go_time)(void *data, int64_t time, int64_t until); /* until > time: all between */
	void (*go_run)(void *data, uint32_t run);
	void (*go_slow)(void *data, uint32_t task);
	void (*go_difference)(void *data, uint32_t difference);
	void (*go_filter)(void *data, const char *search);
	void (*go_group)(void *data, uint32_t group);
	bool (*has_site)(void *data,
		uint32_t task); /* whether the file of its call site is there */
	void (*go_site)(void *data, uint32_t task);
	/* THRUM__NONE: the pointer left the link. */
	void (*hover_task)(void *data, unsigned side, uint32_t task);
	void *data;
};

/* Makes the widget. The links must stay valid as long as the widget lives. */
GtkWidget *pane_document_new(const struct thrum__document *, const struct pane_links *);

#endif
