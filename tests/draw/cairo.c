/* SPDX-License-Identifier: ISC */
/* PNG and PDF: colours in their places, texts that can be found, sizes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pictures_helper.h"
#include "thrum.h"

static void skip_without_cairo(void)
{
	if (thrum__draw_has_cairo())
		return;
	print_message("skipped: built without cairo\n");
	skip();
}

/* Reads a PNG of 8-bit RGB and prints width, height, the colours at the places asked for, and how
 * many colours there are. */
#define READER \
	"python3 -c 'import struct, sys, zlib\n" \
	"data = open(sys.argv[1], \"rb\").read()\n" \
	"assert data[:8] == b\"\\x89PNG\\r\\n\\x1a\\n\"\n" \
	"at, body = 8, b\"\"\n" \
	"while at < len(data):\n" \
	"    size, kind = struct.unpack(\">I4s\", data[at:at + 8])\n" \
	"    if kind == b\"IHDR\":\n" \
	"        w, h, bits, form = struct.unpack(\">IIBB\", data[at + 8:at + 18])\n" \
	"    if kind == b\"IDAT\":\n" \
	"        body += data[at + 8:at + 8 + size]\n" \
	"    at += size + 12\n" \
	"assert (bits, form) == (8, 2)\n" \
	"body, n, rows = zlib.decompress(body), 3 * w, []\n" \
	"def paeth(a, b, c):\n" \
	"    p = a + b - c\n" \
	"    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]\n" \
	"for y in range(h):\n" \
	"    kind, row = body[y * (n + 1)], bytearray(body[y * (n + 1) + 1:(y + 1) * (n + 1)])\n" \
	"    up = rows[-1] if rows else bytes(n)\n" \
	"    for x in range(n):\n" \
	"        a, b, c = row[x - 3] if x > 2 else 0, up[x], up[x - 3] if x > 2 else 0\n" \
	"        row[x] = row[x] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind] & 255\n" \
	"    rows.append(bytes(row))\n" \
	"print(w, h, *(rows[int(y)][3 * int(x):3 * int(x) + 3].hex()\n" \
	"              for x, _, y in (p.partition(\",\") for p in sys.argv[2:])),\n" \
	"      len({row[x:x + 3] for row in rows for x in range(0, n, 3)}) > 20)' %s %s"

static void assert_png(const struct thrum__draw_list *lists, size_t count, int theme, float scale,
	const char *places, const char *expected)
{
	char name[] = "/tmp/thrum-canvas-XXXXXX", command[4096], line[256] = "";
	struct bytes png = {.fail_after = -1};
	int fd = mkstemp(name);
	FILE *file, *reader;

	assert_true(fd >= 0);
	file = fdopen(fd, "wb");
	assert_int_equal(thrum__draw_png(lists, count, theme, scale, bytes_add, &png), 0);
	fwrite(png.bytes, 1, png.size, file);
	assert_int_equal(fclose(file), 0);
	assert_true(
		(size_t)snprintf(command, sizeof command, READER, name, places) < sizeof command);
	reader = popen(command, "r");
	assert_non_null(reader);
	assert_non_null(fgets(line, sizeof line, reader));
	assert_int_equal(pclose(reader), 0);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
	remove(name);
	free(png.bytes);
}

static void pixels(void **state)
{
	struct thrum__draw_list lists[2];

	skip_without_cairo();
	make_list(&lists[0], "Label", 5);
	make_list(&lists[1], "Label", 5);
	lists[1].y = 100;
	/* The ground; both ends of a block and the place beside it; a dash and a space; a ring's
	 * middle and its edge; cells and the places beside them. */
	assert_png(lists, 1, THRUM__THEME_LIGHT, 1,
		"0,0 10,20 39,31 40,31 10,50 12,50 100,80 100,71 "
		"151,50 152,50 155,51 156,50 157,50 156,51 150,52 156,52",
		"200 100 ffffff 0b62b8 0b62b8 ffffff 7d8793 ffffff ffffff c4161c "
		"ffffff 0b62b8 0b62b8 c4161c c4161c ffffff 0b62b8 ffffff True");
	assert_png(lists, 2, THRUM__THEME_DARK, 2,
		"0,0 20,40 20,240 100,160 303,101 304,101 315,101",
		"400 400 14171b 5eb0ff 5eb0ff 14171b 14171b 5eb0ff ff7068 True");
	thrum__draw_list_finish(&lists[0]);
	thrum__draw_list_finish(&lists[1]);
}

static void sizes_are_limited(void **state)
{
	struct bytes png = {.fail_after = -1};
	struct thrum__draw_list list;

	skip_without_cairo();
	make_list(&list, "Label", 5);
	assert_int_equal(thrum__draw_png(&list, 1, 0, 1e6f, bytes_add, &png), -THRUM_E_SIZE);
	assert_int_equal(thrum__draw_png(&list, 1, 0, 0, bytes_add, &png), -THRUM_E_SIZE);
	assert_int_equal(png.size, 0);
	png.fail_after = 1;
	assert_int_equal(thrum__draw_png(&list, 1, 0, 1, bytes_add, &png), -THRUM_E_SPACE);
	free(png.bytes);
	thrum__draw_list_finish(&list);
}

static void pdf(void **state)
{
	struct bytes bytes = {.fail_after = -1}, none = {.fail_after = 0};
	struct thrum__draw_list list;

	skip_without_cairo();
	make_list(&list, "Label \xff <&> \xe4\xb8\xad", 14);
	assert_int_equal(thrum__draw_pdf(&list, 1, 0, "A \x1b title", bytes_add, &bytes), 0);
	assert_true(bytes.size > 1000);
	assert_memory_equal(bytes.bytes, "%PDF-1.", 7);
	assert_int_equal(thrum__draw_pdf(&list, 1, 0, "", bytes_add, &none), -THRUM_E_SPACE);
	free(bytes.bytes);
	thrum__draw_list_finish(&list);
}

static float width(const struct thrum__draw_metrics *metrics, const char *text, size_t size)
{
	return metrics->width(metrics->context, text, size, THRUM__FONT_LABEL);
}

static void metrics(void **state)
{
	struct thrum__draw_metrics metrics;

	assert_int_equal(thrum__draw_metrics_make(&metrics), 0);
	assert_true(width(&metrics, "mmmm", 4) > width(&metrics, "mm", 2));
	assert_true(width(&metrics, "m", 1) > 4 && width(&metrics, "m", 1) < 20);
	assert_float_equal(width(&metrics, "1111", 4), width(&metrics, "8888", 4), 0.01);
	assert_float_equal(width(&metrics, "", 0), 0, 0);
	assert_true(width(&metrics, "\xff", 1) > 0);
	thrum__draw_metrics_free(&metrics);
}

/* Shaped texts are kept, but not for ever. */
static void many_texts(void **state)
{
	struct thrum__draw_metrics metrics;
	float before;
	char text[20];

	assert_int_equal(thrum__draw_metrics_make(&metrics), 0);
	before = width(&metrics, "net", 3);
	for (int i = 0; i < 10000; i++) {
		int size = snprintf(text, sizeof text, "m%d", i);

		assert_true(width(&metrics, text, (size_t)size) > 0);
		if (i % 1000 == 0)
			assert_float_equal(width(&metrics, "net", 3), before, 0);
	}
	assert_float_equal(width(&metrics, "m7", 2), width(&metrics, "m8", 2), 0.01);
	assert_float_equal(width(&metrics, "net", 3), before, 0);
	thrum__draw_metrics_free(&metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pixels),
		cmocka_unit_test(sizes_are_limited),
		cmocka_unit_test(pdf),
		cmocka_unit_test(metrics),
		cmocka_unit_test(many_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
