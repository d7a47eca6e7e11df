/* SPDX-License-Identifier: ISC */
/* Addresses of recordings that a server keeps, and the headers of messages. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fleet/fleet.h"

#define SECOND INT64_C(1000000000)
#define NOW (INT64_C(1795435200) * SECOND) /* 2026-11-23T12:00Z */

static struct thrum__fleet_address parse(const char *text)
{
	struct thrum_error_info info = {0};
	struct thrum__fleet_address address;

	if (thrum__fleet_parse(text, NOW, &address, &info) != 0)
		fail_msg("%s: %s", text, info.message);
	return address;
}

static void refuse(const char *text, const char *words)
{
	struct thrum_error_info info = {0};
	struct thrum__fleet_address address;

	assert_int_equal(thrum__fleet_parse(text, NOW, &address, &info), -THRUM_E_ARGUMENT);
	if (!strstr(info.message, words))
		fail_msg("%s: %s", text, info.message);
}

static void reads_addresses(void **state)
{
	struct thrum__fleet_address a = parse("nats://me:secret@host:4333/rack1*/web*?last=10m");

	(void)state;
	assert_string_equal(a.server, "nats://me:secret@host:4333");
	assert_string_equal(a.pattern, "rack1*/web*");
	assert_int_equal(a.from, NOW - 600 * SECOND);
	assert_int_equal(a.until, INT64_MAX);
	a = parse("tls://host");
	assert_string_equal(a.server, "tls://host");
	assert_string_equal(a.pattern, "");
	assert_int_equal(a.from, INT64_MIN);
	a = parse("tls://host?ca=/a%20b&cert=c&key=k&creds=d");
	assert_string_equal(a.authority, "/a b");
	assert_string_equal(a.certificate, "c");
	assert_string_equal(a.key, "k");
	assert_string_equal(a.creds, "d");
	a = parse("nats://me:a,b@one:1,two/web");
	assert_string_equal(a.server, "nats://me:a,b@one:1,two");
	assert_string_equal(a.pattern, "web");
	parse("nats://1,2,3,4,5,6,7,8");
	refuse("nats://1,2,3,4,5,6,7,8,9", "more than 8");
	refuse("nats://one,", "no server");
	refuse("nats://me@", "no server");
	refuse("http://host/", "nats://SERVER");
	refuse("nats:host", "nats://SERVER");
	refuse("nats:///web", "nats://SERVER");
	refuse("nats://host/?when=10:00", "has no when");
	refuse("nats://host/?last", "NAME=VALUE");
	refuse("nats://host/?last=soon", "10m");
	refuse("nats://host/?last=5w", "10m");
	refuse("nats://host/?from=%00", "NAME=VALUE");
}

static void reads_times(void **state)
{
	struct thrum__fleet_address a = parse("nats://host/?from=10:00&to=10:05:30");

	(void)state;
	assert_int_equal(a.from, NOW - 7200 * SECOND);
	assert_int_equal(a.until, NOW - 6870 * SECOND);
	/* Without a day it is the latest such time. */
	assert_int_equal(parse("nats://h/?from=13:00").from, NOW - 23 * 3600 * SECOND);
	assert_int_equal(parse("nats://h/?from=2026-11-22T10:00").from, NOW - 26 * 3600 * SECOND);
	assert_int_equal(parse("nats://h/?from=2026-11-22").from, NOW - 36 * 3600 * SECOND);
	assert_int_equal(parse("nats://h/?from=2026-11-22T10:00:01Z").from,
		NOW - (26 * 3600 - 1) * SECOND);
	refuse("nats://h/?from=noon", "10:05");
	refuse("nats://h/?from=10:00+1", "10:05");
	refuse("nats://h/?from=10:05&to=10:00", "ends before");
}

static void matches_patterns(void **state)
{
	(void)state;
	assert_true(thrum__fleet_matches("", "rack1", "web"));
	assert_true(thrum__fleet_matches("we?", "rack1", "web"));
	assert_true(thrum__fleet_matches("rack*", "rack1", "web"));
	assert_true(thrum__fleet_matches("rack*/web", "rack1", "web"));
	assert_false(thrum__fleet_matches("rack*/stock", "rack1", "web"));
	assert_false(thrum__fleet_matches("web1", "rack1", "web"));
}

static void reads_headers(void **state)
{
	const struct thrum__fleet_piece piece = {UINT64_MAX, 7, 4096, 65536, NOW, INT64_MAX};
	static const char *const bad[] = {"", "1", "2 0 1 0 4096 0 0", "1 0 0 0 4096 0 0",
		"1 0 1 0 4096 0 0 ", "1 0 1 0 4096 0 -1", "1  0 1 0 4096 0 0",
		"1 0 4294967296 0 4096 0 0", "1 99999999999999999999 1 0 4096 0 0"};
	const struct thrum__fleet_count count = {1, 2, 3, 4, UINT64_MAX, 6, 7, 8, UINT64_MAX};
	struct thrum__fleet_count counted;
	const struct thrum__ping ping = {UINT64_MAX, 2, 3, 4, 5, INT64_MAX};
	struct thrum__fleet_piece again;
	struct thrum__ping got;
	char text[THRUM__FLEET_INFO];
	uint32_t part;

	(void)state;
	thrum__fleet_put_piece(&piece, text);
	assert_true(thrum__fleet_get_piece(text, &again));
	assert_int_equal(again.lane, piece.lane);
	assert_int_equal(again.ticket, piece.ticket);
	assert_int_equal(again.from, piece.from);
	assert_int_equal(again.packet_size, piece.packet_size);
	assert_int_equal(again.begin, piece.begin);
	assert_int_equal(again.end, piece.end);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (thrum__fleet_get_piece(bad[i], &again))
			fail_msg("%s", bad[i]);
	thrum__fleet_put_count(&count, text);
	assert_true(thrum__fleet_get_count(text, &counted));
	assert_memory_equal(&counted, &count, sizeof count);
	assert_false(thrum__fleet_get_count("1 2 3 4 5", &counted));
	thrum__fleet_put_ping(&ping, text);
	assert_true(thrum__fleet_get_ping(text, strlen(text), &got));
	assert_memory_equal(&got, &ping, sizeof ping);
	assert_false(thrum__fleet_get_ping(text, strlen(text) - 20, &got));
	assert_false(thrum__fleet_get_ping("1 1 2 3 4 5 -6", 14, &got));
	assert_false(thrum__fleet_get_ping("2 1 2 3 4 5 6", 13, &got));
	assert_true(thrum__fleet_get_part("thrum.def.h.p.u.12", &part));
	assert_int_equal(part, 12);
	assert_false(thrum__fleet_get_part("thrum.def.h.p.u.x", &part));
	assert_false(thrum__fleet_get_part("thrum.def.h.p.u.", &part));
	assert_false(thrum__fleet_get_part("thrum.def.h.p.u.99999", &part));
}

static void names_recordings(void **state)
{
	struct thrum__header header = {.host = "a.b c", .uuid = {0xab, 1}};
	char key[THRUM__FLEET_KEY];

	(void)state;
	thrum__fleet_key(&header, header.host, "w*e>b", key);
	assert_string_equal(key, "a_b_c.w_e_b.ab010000000000000000000000000000");
	memset(header.host, 'h', sizeof header.host);
	thrum__fleet_key(&header, header.host, "", key);
	assert_int_equal(strlen(key), 64 + 3 + 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_addresses),
		cmocka_unit_test(reads_times),
		cmocka_unit_test(matches_patterns),
		cmocka_unit_test(reads_headers),
		cmocka_unit_test(names_recordings),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
