/* SPDX-License-Identifier: ISC */
/* A document of the view as widgets. */
#ifndef PANE_DOCUMENT_H
#define PANE_DOCUMENT_H

#include <gtk/gtk.h>

#include "report/document/document.h"

/* What its links do. */
struct pane_links {
	void (*go_task)(void *data, uint32_t task);
	void (*go_time)(void *data, int64_t time);
	void (*hover_task)(void *data, uint32_t task); /* THRUM__NONE: no more */
	void *data;
};

/* Links must stay as long as the widget. */
GtkWidget *pane_document_new(const struct thrum__document *, const struct pane_links *);

#endif
