/* SPDX-License-Identifier: ISC */
/* source/change: changes recordings whose processes have ended. Private to source/. */
#ifndef SOURCE_CHANGE_H
#define SOURCE_CHANGE_H

#include "source/input.h"

struct thrum__source_change {
	int fd; /* for writing */
	const struct thrum__input *input;
	uint64_t file_size;
	struct thrum__header header; /* its readings are whole */
	void *context;
};

/* Opens an ended recording and calls `apply` to change it. Returns the error of that, or another
 * negative enum thrum_error. */
int thrum__source_change(const char *file, int (*apply)(struct thrum__source_change *),
	void *context, struct thrum_error_info *);

#endif
