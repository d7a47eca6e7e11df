/* SPDX-License-Identifier: ISC */
/* Fuzzes all that dom0 reads of a guest in xenstore: the list of grant references, the guest's answer to a
 * question, and the comparison of the clocks, which must give the same text when it is written again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/xen/xen.h"

#define MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static void check_references(const char *text)
{
	uint32_t references[MAX];
	uint32_t count = thrum__source_xen_references(text, references, MAX);

	check(count <= MAX && (count == 0 || strtoul(text, NULL, 10) == references[0]));
}

static void check_answer(const char *text)
{
	uint64_t question = strtoull(text, NULL, 10), ns = 1;

	if (thrum__source_xen_answer(text, question, &ns))
		check(ns <= INT64_MAX && !thrum__source_xen_answer(text, question + 1, &ns));
	else
		check(ns == 1);
}

static void check_compared(const char *text)
{
	struct thrum__host_clock clock = {.boot = 1}, again;
	char written[96];

	if (!thrum__source_xen_compared(text, &clock)) {
		check(clock.boot == 1);
		return;
	}
	check(clock.monotonic <= INT64_MAX && clock.error <= INT64_MAX);
	snprintf(written, sizeof written, "%" PRIx64 " %" PRIu64 " %" PRId64 " %" PRIu64,
		clock.boot, clock.monotonic, clock.ahead, clock.error);
	check(thrum__source_xen_compared(written, &again) && again.boot == clock.boot &&
		again.monotonic == clock.monotonic && again.ahead == clock.ahead &&
		again.error == clock.error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_references(text);
	check_answer(text);
	check_compared(text);
	free(text);
	return 0;
}
