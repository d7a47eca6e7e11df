/* SPDX-License-Identifier: ISC */
/*
 * Whole frames of small traces, as text, compared with golden/NAME.list. After a wanted change:
 * UPDATE=1 SOURCE=. build/tests/scene-golden, and look at the diff.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "picture_helper.h"

/* A reply comes before anybody waits for it: a lost wake-up, with idle time to fold. */
static const char hang[] = "0 create - 1 thread\n"
			   "0 label 1 \"loop\n"
			   "0 switch 1\n"
			   "500 create 1 2 condition\n"
			   "550 label 2 \"arp-reply\n"
			   "1700 create 1 3 promise\n"
			   "1720 label 3 \"main\n"
			   "1740 should-resolve 3\n"
			   "2000 switch 3\n"
			   "2500 create 3 4 timer\n"
			   "2550 label 4 \"sleep\n"
			   "2600 wait 3 4\n"
			   "2700 counter 3 =1 \"packets-sent\n"
			   "2800 log 3 \"transmit\n"
			   "3000 switch 1\n"
			   "3600 suspend \"wait for work\n"
			   "2000000 resume \"wait for work\n"
			   "2000400 create 1 5 promise\n"
			   "2000500 label 5 \"receive\n"
			   "2001000 switch 5\n"
			   "2001500 signal 5 2 =0\n"
			   "2002000 resolve 5 5\n"
			   "2002100 switch 1\n"
			   "2002500 suspend \"wait for work\n"
			   "5000000 resume \"wait for work\n"
			   "5000300 resolve 1 4\n"
			   "5000600 switch 3\n"
			   "5000700 read 3 4\n"
			   "5001200 create 3 6 bind\n"
			   "5001300 wait 6 2\n"
			   "5001500 wait 3 6\n"
			   "5001700 switch 1\n"
			   "5002500 suspend \"wait for work\n"
			   "9009000 resume \"wait for work\n"
			   "9009500 log 1 \"tick\n";

/* Tasks that end in each way, on two lanes, with a span, a gap and a counter. */
static const char ends[] = "0 @0 create - 1 thread\n"
			   "0 @0 label 1 \"first\n"
			   "0 @1 create - 2 thread\n"
			   "0 @1 label 2 \"second\n"
			   "10 @0 switch 1\n"
			   "10 @1 switch 2\n"
			   "100 @0 create 1 3 promise\n"
			   "120 @0 create 1 4 promise\n"
			   "140 @0 create 1 5 promise\n"
			   "160 @0 create 1 6 promise\n"
			   "180 @0 create 1 7 promise\n"
			   "200 @0 switch 3\n"
			   "250 @1 span-begin \"parse\n"
			   "260 @0 create 3 8 bind\n"
			   "280 @0 become 3 8\n"
			   "300 @0 switch 1\n"
			   "400 @0 resolve 1 4\n"
			   "420 @0 fail 1 5 \"no route\n"
			   "440 @0 cancel 1 6\n"
			   "450 @1 span-end \"parse\n"
			   "460 @1 lost =127 \"overwritten\n"
			   "500 @0 switch 8\n"
			   "520 @0 read 8 4\n"
			   "600 @0 resolve 8 8\n"
			   "620 @0 switch 1\n"
			   "640 @0 counter 1 =100 \"queue\n"
			   "720 @0 counter 1 =50 \"queue\n"
			   "900 @1 create 2 9 promise\n"
			   "900 @1 label 9 \"<script>\n"
			   "1000 @0 log 1 \"end\n";

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = test_calloc(1, 1 << 18);

	if (file) {
		(void)!fread(text, 1, (1 << 18) - 1, file);
		fclose(file);
	}
	return text;
}

static void compare(const struct picture *picture, const char *name)
{
	size_t size = thrum__draw_list_print(&picture->list, NULL, 0) + 1;
	char *printed = test_malloc(size), *wanted, path[4096];
	const char *source = getenv("SOURCE");

	thrum__draw_list_print(&picture->list, printed, size);
	snprintf(path, sizeof path, "%s/tests/scene/golden/%s.list", source ? source : ".", name);
	if (getenv("UPDATE")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(printed, file);
		fclose(file);
	}
	wanted = read_file(path);
	if (strcmp(printed, wanted) != 0) {
		size_t line = 1, i = 0;

		for (; printed[i] == wanted[i]; i++)
			line += printed[i] == '\n';
		fail_msg("%s: line %zu is not as before", path, line);
	}
	test_free(wanted);
	test_free(printed);
}

static void check(const char *story, const char *state, const char *name)
{
	struct thrum_error_info error = {.message = ""};
	struct picture picture;

	picture_init(&picture, story, false);
	if (thrum__scene_state_parse(picture.scene, state, &error) != 0)
		fail_msg("%s", error.message);
	picture_paint(&picture, 1000, 400);
	compare(&picture, name);
	picture_finish(&picture);
}

static void hang_folded(void **state)
{
	check(hang, "legend=1", "hang");
}

/* The frame is the same if the finding is looked for later. */
static void hang_found_later(void **state)
{
	const struct thrum__scene_options options = {.by_lane = true, .no_findings = true};
	struct picture picture;

	picture_init(&picture, hang, false);
	thrum__scene_destroy(picture.scene);
	assert_int_equal(thrum__scene_create(picture.model, &options, NULL, NULL, &picture.scene),
		0);
	assert_int_equal(thrum__scene_state_parse(picture.scene, "legend=1", NULL), 0);
	picture_paint(&picture, 1000, 400);
	assert_int_equal(picture.scene->findings.count, 0);
	assert_int_equal(thrum__scene_update_findings(picture.scene), 0);
	assert_int_equal(picture.scene->findings.count, 1);
	picture_paint(&picture, 1000, 400);
	compare(&picture, "hang");
	picture_finish(&picture);
}

static void hang_linear_with_all(void **state)
{
	check(hang, "fold=2&strip=1&counters=1&theme=1", "hang-linear");
}

static void hang_related(void **state)
{
	check(hang, "sel=3&related=1", "hang-related");
}

static void ends_of_each_kind(void **state)
{
	check(ends, "fold=2&counters=1", "ends");
}

static void ends_through_the_fisheye(void **state)
{
	check(ends, "fold=2&fisheye=1&track=3&find=script", "ends-fisheye");
}

/* ---- Bands --------------------------------------------------------------------------------- */

#define REQUESTS 20
#define MS 1000000L

/* Requests that each wait for a lookup: every 10 ms one of 1 ms; number 4 never ends, number 8 takes
 * 36 ms, number 12 fails. */
static const char *make_requests(void)
{
	static char text[REQUESTS * 600];
	size_t used = (size_t)snprintf(text, sizeof text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");

#define ADD(...) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__)
	for (int i = 0; i < REQUESTS; i++) {
		long start = 10 * MS * (i + 1), end = start + 900000;
		int request = 100 + i, lookup = 200 + i;

		ADD("%ld create 1 %d promise\n", start, request);
		ADD("%ld label %d \"GET /user/%d\n", start, request, i);
		ADD("%ld should-resolve %d\n", start, request);
		ADD("%ld switch %d\n", start + 1000, request);
		ADD("%ld create %d %d promise\n", start + 2000, request, lookup);
		ADD("%ld label %d \"lookup %d\n", start + 2000, lookup, i);
		ADD("%ld wait %d %d\n", start + 3000, request, lookup);
		ADD("%ld switch 1\n", start + 101000);
		if (i == 11) { /* now the slow one ends */
			request -= 3;
			lookup -= 3;
			end = start + 6 * MS;
			ADD("%ld resolve 1 211\n%ld resolve 1 111\n", start + 800000,
				start + 900000);
		}
		if (i == 4 || i == 8)
			continue;
		ADD("%ld resolve 1 %d\n", end, lookup);
		ADD("%ld switch %d\n", end + 10000, request);
		ADD("%ld read %d %d\n", end + 15000, request, lookup);
		ADD(i == 12 ? "%ld fail %d %d \"reset\n" : "%ld resolve %d %d\n", end + 100000,
			request, request);
		ADD("%ld switch 1\n", end + 101000);
	}
	ADD("%ld log 1 \"end\n", 250 * MS);
#undef ADD
	return text;
}

static void check_bands_at(float width, const char *state, const char *name)
{
	struct thrum_error_info error = {.message = ""};
	struct picture picture;

	picture_init(&picture, make_requests(), false);
	if (thrum__scene_state_parse(picture.scene, state, &error) != 0)
		fail_msg("%s", error.message);
	picture_paint(&picture, width, 500);
	assert_true(thrum__scene_bands_look(picture.scene) >= 0);
	picture_paint(&picture, width, 500);
	compare(&picture, name);
	picture_finish(&picture);
}

static void check_bands(const char *state, const char *name)
{
	check_bands_at(1000, state, name);
}

static void bands_of_the_whole_trace(void **state)
{
	check_bands("as=bands&fold=2&legend=1", "bands");
}

static void bands_of_a_part(void **state)
{
	check_bands("as=bands&fold=2&t=100000000..140000000&theme=1", "bands-zoomed");
}

static void an_opened_band_and_thread(void **state)
{
	check_bands("as=bands&fold=2&open=GET%20/user/%23,loop&t=80000000..160000000",
		"bands-opened");
}

static void a_story(void **state)
{
	check_bands("as=bands&fold=2&story=108&sel=108&t=85000000..130000000", "bands-story");
}

static void a_range_and_a_mark(void **state)
{
	check_bands("as=bands&fold=2&strip=1&range=90000000..130000000&mark=50000000:stuck",
		"bands-range");
}

static void a_box(void **state)
{
	check_bands("as=bands&fold=2&range=90000000..130000000&took=10000000..100000000&"
		    "band=GET%20/user/%23",
		"bands-box");
}

static void bands_without_a_gutter(void **state)
{
	check_bands_at(500, "as=bands&fold=2&sort=p99", "bands-narrow");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hang_folded),
		cmocka_unit_test(hang_found_later),
		cmocka_unit_test(hang_linear_with_all),
		cmocka_unit_test(hang_related),
		cmocka_unit_test(ends_of_each_kind),
		cmocka_unit_test(ends_through_the_fisheye),
		cmocka_unit_test(bands_of_the_whole_trace),
		cmocka_unit_test(bands_of_a_part),
		cmocka_unit_test(an_opened_band_and_thread),
		cmocka_unit_test(a_story),
		cmocka_unit_test(a_range_and_a_mark),
		cmocka_unit_test(a_box),
		cmocka_unit_test(bands_without_a_gutter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
