/* SPDX-License-Identifier: ISC */
/*
 * thrum/traceparent.h: links whose keys are the headers `traceparent` of W3C Trace Context
 * (https://www.w3.org/TR/trace-context/), as many programs send them with their requests. So
 * requests are followed between processes, and their spans in other tracers have the same numbers.
 *
 * The sender makes a header for each request that it sends; the receiver takes it before it does
 * the work:
 *
 *	char header[THRUM_TRACEPARENT_SIZE];
 *
 *	THRUM_RUN (task) {
 *		thrum_traceparent_send(received, header);
 *		send_request("traceparent", header);
 *	}
 *
 * All of it lies in this header. The functions are thread-safe; they make a system call for random
 * numbers. The header is not stable before version 1.0.
 */
#ifndef THRUM_TRACEPARENT_H
#define THRUM_TRACEPARENT_H

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <thrum.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a header, with its NUL: "00-", 32 digits of the trace, "-", 16 of the request, "-01". */
#define THRUM_TRACEPARENT_SIZE 56

/* Whether these characters are hex digits in small letters, and not all 0 unless they may. */
static inline bool thrum__traceparent_digits(const char *text, size_t count, bool may_be_zero)
{
	bool is_zero = true;

	for (size_t i = 0; i < count; i++) {
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
		is_zero = is_zero && text[i] == '0';
	}
	return may_be_zero || !is_zero;
}

/* Whether a text is a valid header. NULL is none. Versions after 00 may have more behind it. */
static inline bool thrum_traceparent_is_valid(const char *header)
{
	size_t size = 0;

	while (header && size < THRUM_TRACEPARENT_SIZE && header[size])
		size++;
	if (size < THRUM_TRACEPARENT_SIZE - 1 || !thrum__traceparent_digits(header, 2, true) ||
		memcmp(header, "ff", 2) == 0 || header[2] != '-' || header[35] != '-' ||
		header[52] != '-')
		return false;
	if (size >= THRUM_TRACEPARENT_SIZE && (memcmp(header, "00", 2) == 0 || header[55] != '-'))
		return false;
	return thrum__traceparent_digits(header + 3, 32, false) &&
		thrum__traceparent_digits(header + 36, 16, false) &&
		thrum__traceparent_digits(header + 53, 2, true);
}

static inline void thrum__traceparent_random(char *to, size_t count)
{
	unsigned char bytes[16] = {0};

	/* If the kernel gives no numbers, at least the result is valid. */
	if (getrandom(bytes, count / 2, GRND_NONBLOCK) != (ssize_t)(count / 2))
		bytes[0] = 1;
	for (size_t i = 0; i < count; i++)
		to[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
}

/*
 * Makes the header for a request that the running task sends, and records the link. `parent` is the
 * header of the request for which it does so, whose trace and flags go on; NULL, or if it is not
 * valid, a new trace begins. Makes a header also while nothing is recorded.
 */
static inline void thrum_traceparent_send(const char *parent, char header[THRUM_TRACEPARENT_SIZE])
{
	bool goes_on = thrum_traceparent_is_valid(parent);

	memcpy(header, "00-", 3);
	if (goes_on)
		memmove(header + 3, parent + 3, 32);
	else
		thrum__traceparent_random(header + 3, 32);
	memcpy(header + 53, goes_on ? parent + 53 : "01", 2);
	header[35] = header[52] = '-';
	thrum__traceparent_random(header + 36, 16);
	header[55] = '\0';
	/* The trace and the request. */
	thrum_link_send(header + 3, 49);
}

/* Records that the running task works for the request that came with this header. Returns false,
 * and records nothing, if it is not valid. */
static inline bool thrum_traceparent_receive(const char *header)
{
	if (!thrum_traceparent_is_valid(header))
		return false;
	thrum_link_receive(header + 3, 49);
	return true;
}

#ifdef __cplusplus
}
#endif

#endif
