/* SPDX-License-Identifier: ISC */
/* The tracepoints of lttng.c. This file is included several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER thrum_http
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_tp.h"

#if !defined(LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(thrum_http, event,
	LTTNG_UST_TP_ARGS(uint8_t, what, uint64_t, task, uint64_t, other),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint8_t, what, what)
		lttng_ust_field_integer(uint64_t, task, task)
		lttng_ust_field_integer(uint64_t, other, other)))

LTTNG_UST_TRACEPOINT_EVENT(thrum_http, text,
	LTTNG_UST_TP_ARGS(uint8_t, what, uint64_t, task, uint64_t, other, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint8_t, what, what)
		lttng_ust_field_integer(uint64_t, task, task)
		lttng_ust_field_integer(uint64_t, other, other)
		lttng_ust_field_string(text, text)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
