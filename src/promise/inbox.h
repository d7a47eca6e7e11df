/* SPDX-License-Identifier: ISC */
/* Inboxes and the loops that they belong to. */
#ifndef PROMISE_INBOX_H
#define PROMISE_INBOX_H

#include "promise/promise.h"

/* Returns the place where a loop keeps its own inbox, to which other loops send answers. */
struct thrum_inbox **thrum__promise_loop_answers(struct thrum_loop *loop);

#endif
