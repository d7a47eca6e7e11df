/* SPDX-License-Identifier: ISC */
/* SVG: exact bytes, well-formed with any labels, and small. */
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

static struct bytes draw(const struct thrum__draw_list *lists, size_t count, const char *title)
{
	struct bytes bytes = {.fail_after = -1};

	assert_int_equal(thrum__draw_svg(lists, count, THRUM__THEME_LIGHT, title, bytes_add,
				 &bytes),
		0);
	return bytes;
}

static void every_item(void **state)
{
	struct thrum__draw_list list;
	struct bytes svg;

	make_list(&list, "a <b> & 'c'", 11);
	svg = draw(&list, 1, "One \"two\"");
	assert_string_equal(strstr(svg.bytes, "<rect"),
		"<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
		"<svg x=\"0\" y=\"0\" width=\"200\" height=\"100\">\n"
		"<path fill=\"#0b62b8\" d=\"M152 50h4v2h-4zm-2 2h4v1h-4z\"/>\n"
		"<path fill=\"#c4161c\" d=\"M156 50h2v1h-2z\"/>\n"
		"<path fill=\"#0b62b8\" d=\"M10 20h30v12h-30zm-5 40h3v12h-3z\"/>\n"
		"<path fill=\"none\" stroke=\"#7d8793\" stroke-dasharray=\"1 3\""
		" d=\"M10 50.5h80\"/>\n"
		"<path fill=\"#3d4753\" d=\"M120 10h20l0.2 10z\"/>\n"
		"<g fill=\"#ffffff\" stroke=\"#c4161c\" stroke-width=\"2\">"
		"<circle cx=\"100\" cy=\"80\" r=\"9\"/></g>\n"
		"<path fill=\"none\" stroke=\"#006b5e\" stroke-width=\"2\" stroke-dasharray=\"7 3\""
		" d=\"M120 10h20l0.2 10l19.8 10.5\"/>\n"
		"<g class=\"label\" fill=\"#15191f\">\n"
		"<text x=\"20\" y=\"90\">a &lt;b&gt; &amp; &#39;c&#39;</text>\n"
		"</g>\n"
		"</svg>\n"
		"</svg>\n");
	assert_non_null(strstr(svg.bytes, "<title>One &quot;two&quot;</title>"));
	assert_non_null(strstr(svg.bytes, "role=\"img\""));
	assert_non_null(strstr(svg.bytes, ".thrum .strong{font-size:12px;font-weight:600}"));
	free(svg.bytes);
	thrum__draw_list_finish(&list);
}

static void lists_are_stacked(void **state)
{
	struct thrum__draw_list lists[2];
	struct bytes svg;

	make_list(&lists[0], "above", 5);
	make_list(&lists[1], "below", 5);
	lists[1].y = 110;
	svg = draw(lists, 2, "");
	assert_non_null(strstr(svg.bytes, "width=\"200\" height=\"210\" role"));
	assert_non_null(strstr(svg.bytes, "<svg x=\"0\" y=\"110\" width=\"200\" height=\"100\">"));
	free(svg.bytes);
	thrum__draw_list_finish(&lists[0]);
	thrum__draw_list_finish(&lists[1]);
}

static void the_same_list_gives_the_same_bytes(void **state)
{
	struct thrum__draw_list list;
	struct bytes first, second;

	make_list(&list, "name", 4);
	first = draw(&list, 1, "t");
	second = draw(&list, 1, "t");
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.bytes, second.bytes, first.size);
	free(first.bytes);
	free(second.bytes);
	thrum__draw_list_finish(&list);
}

static void a_failing_sink_is_told(void **state)
{
	struct thrum__draw_list list;
	struct bytes none = {.fail_after = 0};

	make_list(&list, "name", 4);
	assert_int_equal(thrum__draw_svg(&list, 1, THRUM__THEME_LIGHT, "", bytes_add, &none),
		-THRUM_E_SPACE);
	thrum__draw_list_finish(&list);
}

/* ---- Labels of strangers ------------------------------------------------------------------- */

#define PARSER \
	"python3 -c 'import sys, xml.etree.ElementTree as x\n" \
	"top = x.parse(sys.stdin.buffer).getroot()\n" \
	"known = {\"svg\", \"title\", \"style\", \"rect\", \"path\", \"g\", \"circle\", \"text\"}\n" \
	"for e in top.iter():\n" \
	"    assert e.tag.partition(\"}\")[2] in known, e.tag\n" \
	"    assert not any(a.startswith(\"on\") or \"href\" in a for a in e.attrib), e.attrib\n'"

/* An XML parser finds only the elements that the canvas writes. */
static void assert_well_formed(const struct bytes *svg)
{
	FILE *parser = popen(PARSER, "w");

	assert_non_null(parser);
	assert_int_equal(fwrite(svg->bytes, 1, svg->size, parser), svg->size);
	assert_int_equal(pclose(parser), 0);
}

static void hostile_labels_are_inert(void **state)
{
	static const char *const labels[] = {
		"<script>alert(1)</script>",
		"</text></g></svg><script xlink:href='x'/>",
		"]]> <![CDATA[ <!-- --> <?xml ?> &lol; &#0; &#x1b;",
		"\" onload=\"alert(1)",
		"\xe2\x80\xae txet \xe2\x81\xa6\xe2\x80\x8f",
		"\xff\xfe\xc3(\xed\xa0\x80\xef\xbf\xbf\xef\xbf\xbe",
		"\x01\x02\x1b[2J\x7f\xc2\x80 nul:",
	};

	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		struct thrum__draw_list list;
		struct bytes svg;

		make_list(&list, labels[i], strlen(labels[i]) + 1); /* with a NUL */
		svg = draw(&list, 1, labels[i]);
		assert_well_formed(&svg);
		assert_null(strstr(svg.bytes, "<script"));
		assert_null(strstr(svg.bytes, "\xe2\x80\xae"));
		free(svg.bytes);
		thrum__draw_list_finish(&list);
	}
}

static void long_labels_are_cut(void **state)
{
	size_t size = 100000;
	char *label = malloc(size + 1);
	struct thrum__draw_list list;
	struct bytes svg;

	assert_non_null(label);
	memset(label, '<', size);
	label[size] = '\0';
	make_list(&list, label, size);
	svg = draw(&list, 1, label);
	assert_well_formed(&svg);
	assert_true(svg.size < 8000);
	free(svg.bytes);
	thrum__draw_list_finish(&list);
	free(label);
}

/* A frame with as many items as one may have stays far below 2 MB. */
static void a_full_frame_is_small(void **state)
{
	struct thrum__draw_list list;
	struct bytes svg;

	thrum__draw_list_init(&list);
	thrum__draw_list_clear(&list, 1600, 900);
	for (int i = 0; i < 20000; i++)
		thrum__draw_rect(&list, THRUM__Z_RUN, THRUM__COLOUR_RUN, (float)(i * 7919 % 1600),
			(float)(i * 104729 % 900), (float)(i % 37), 10);
	for (int i = 0; i < 3000; i++)
		thrum__draw_text(&list, THRUM__Z_LABEL, THRUM__COLOUR_INK, THRUM__FONT_LABEL,
			(float)(i * 7919 % 1600) + 0.3f, (float)(i * 104729 % 900) + 0.7f,
			"GetHeader.parse request #3", 26, false);
	svg = draw(&list, 1, "");
	assert_true(svg.size < 800000);
	assert_well_formed(&svg);
	free(svg.bytes);
	thrum__draw_list_finish(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item),
		cmocka_unit_test(lists_are_stacked),
		cmocka_unit_test(the_same_list_gives_the_same_bytes),
		cmocka_unit_test(a_failing_sink_is_told),
		cmocka_unit_test(hostile_labels_are_inert),
		cmocka_unit_test(long_labels_are_cut),
		cmocka_unit_test(a_full_frame_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
