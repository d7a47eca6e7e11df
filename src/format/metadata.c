/* SPDX-License-Identifier: ISC */
/*
 * The CTF 1.8 metadata of a recording: a text in TSDL that describes struct thrum__packet and
 * records.def to other tools. The recorder writes it while it starts, so this file neither
 * allocates nor depends on the locale.
 */
#include <string.h>

#include "base/utf8.h"
#include "format/table.h"

/* The text being written. `length` also counts bytes for which there is no room. */
struct tsdl {
	char *to;
	size_t size, length;
};

static void put_bytes(struct tsdl *text, const char *bytes, size_t size)
{
	if (text->length < text->size) {
		size_t room = text->size - text->length;
		memcpy(text->to + text->length, bytes, size < room ? size : room);
	}
	text->length += size;
}

static void put_text(struct tsdl *text, const char *string)
{
	put_bytes(text, string, strlen(string));
}

static void put_number(struct tsdl *text, uint64_t number)
{
	char digits[20];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	put_bytes(text, digits + at, sizeof digits - at);
}

/* Writes the inside of a TSDL string. Bytes that are not UTF-8 become U+FFFD. */
static void put_escaped(struct tsdl *text, const char *string, size_t size)
{
	const uint8_t *at = (const uint8_t *)string, *end = at + size;
	while (at < end) {
		uint32_t character;
		size_t length = thrum__base_utf8_decode((const char *)at, (size_t)(end - at),
			&character);
		if (length == 0) {
			put_text(text, THRUM__REPLACEMENT);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			put_bytes(text, (char[]){'\\', (char)*at}, 2);
		} else if (*at < 32 || *at == 127) {
			/* Always three digits, because a digit may follow. */
			char octal[] = {'\\', (char)('0' + *at / 64), (char)('0' + *at / 8 % 8),
				(char)('0' + *at % 8)};
			put_bytes(text, octal, sizeof octal);
		} else {
			put_bytes(text, (const char *)at, length);
		}
		at += length;
	}
}

static void put_string(struct tsdl *text, const char *string)
{
	put_text(text, "\"");
	if (string)
		put_escaped(text, string, strlen(string));
	put_text(text, "\"");
}

static void put_uuid(struct tsdl *text, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			put_text(text, "-");
		put_bytes(text, &"0123456789abcdef"[uuid[i] >> 4], 1);
		put_bytes(text, &"0123456789abcdef"[uuid[i] & 15], 1);
	}
}

static void put_trace(struct tsdl *text, const struct thrum__metadata *metadata)
{
	put_text(text,
		"/* CTF 1.8 */\n"
		"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
		"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
		"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
		"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
		"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
		"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
		"\n"
		"trace {\n"
		"\tmajor = 1;\n"
		"\tminor = 8;\n"
		"\tuuid = \"");
	put_uuid(text, metadata->uuid);
	put_text(text,
		"\";\n"
		"\tbyte_order = le;\n"
		"\tpacket.header := struct {\n"
		"\t\tuint32_t magic;\n"
		"\t\tuint8_t uuid[16];\n"
		"\t\tuint32_t stream_id;\n"
		"\t\tuint64_t stream_instance_id; /* the lane */\n"
		"\t};\n"
		"};\n"
		"\n"
		"env {\n"
		"\ttracer_name = \"thrum\";\n"
		"\tprogram = ");
	put_string(text, metadata->program);
	put_text(text, ";\n\thostname = ");
	put_string(text, metadata->host);
	put_text(text, ";\n};\n\n");
}

static void put_clock(struct tsdl *text, const struct thrum__metadata *metadata)
{
	put_text(text, "clock {\n\tname = thrum;\n\tfreq = ");
	put_number(text, metadata->frequency);
	put_text(text, ";\n\toffset_s = ");
	if (metadata->offset_s < 0)
		put_text(text, "-");
	put_number(text,
		metadata->offset_s < 0 ? -(uint64_t)metadata->offset_s
				       : (uint64_t)metadata->offset_s);
	put_text(text, ";\n\toffset = ");
	put_number(text, metadata->offset);
	put_text(text,
		";\n\tabsolute = TRUE;\n};\n\n"
		"typealias integer { size = 27; align = 1; signed = false;"
		" map = clock.thrum.value; } := time27;\n"
		"typealias integer { size = 64; align = 8; signed = false;"
		" map = clock.thrum.value; } := time64;\n"
		"\n");
}

/* ---- Names for numbers ---------------------------------------------------------------------- */

/* Whether a definition belongs to the enumeration of call sites, or to that of all others. */
static bool is_named(const struct thrum__definition *definition, bool sites)
{
	uint32_t type = atomic_load_explicit(&definition->type, memory_order_acquire);
	if (sites)
		return type == THRUM__DEFINES_SITE;
	return type == THRUM__DEFINES_CATEGORY || type == THRUM__DEFINES_TAG ||
		type == THRUM__DEFINES_COUNTER;
}

/* A definition's text may lack its NUL when it comes from a damaged file. */
static size_t text_length(const char *string, size_t max)
{
	const char *end = memchr(string, '\0', max);
	return end ? (size_t)(end - string) : max;
}

static void put_definition(struct tsdl *text, const struct thrum__definition *definition)
{
	size_t size = sizeof definition->text, length = text_length(definition->text, size);
	if (definition->type != THRUM__DEFINES_SITE) {
		put_escaped(text, definition->text, length);
		return;
	}
	/* A site's text is the function's name, a NUL, and the file's name. */
	if (length + 1 < size) {
		const char *file = definition->text + length + 1;
		put_escaped(text, file, text_length(file, size - length - 1));
		put_text(text, ":");
		put_number(text, definition->number);
		put_text(text, " ");
	}
	put_text(text, "(");
	put_escaped(text, definition->text, length);
	put_text(text, ")");
}

/* Writes an enumeration of the call sites, or of all other definitions. 0 has the empty name. */
static void put_definitions(struct tsdl *text, const char *name,
	const struct thrum__metadata *metadata, bool sites)
{
	if (!metadata->definitions) {
		put_text(text, "typealias integer { size = 16; align = 8; signed = false; } := ");
		put_text(text, name);
		put_text(text, ";\n");
		return;
	}
	put_text(text, "typealias enum : uint16_t { \"\" = 0");
	for (size_t i = 1; i < metadata->count && i < THRUM__DEFINITIONS_MAX; i++) {
		const struct thrum__definition *definition = &metadata->definitions[i];
		if (!is_named(definition, sites))
			continue;
		put_text(text, ",\n\t\"");
		put_definition(text, definition);
		put_text(text, "\" = ");
		put_number(text, i);
	}
	put_text(text, " } := ");
	put_text(text, name);
	put_text(text, ";\n");
}

#define ENUMERATOR(NAME, name, value) ",\n\t\"" #name "\" = " #value
#define CAUSE(NAME, name, value, text) ENUMERATOR(NAME, name, value)
static void put_enumerations(struct tsdl *text, const struct thrum__metadata *metadata)
{
	static const char kinds[] = THRUM_KINDS(ENUMERATOR), causes[] = THRUM__LOST(CAUSE);
	put_text(text, "typealias enum : uint8_t {");
	put_text(text, &kinds[1]); /* without the first comma */
	put_text(text, " } := thrum_kind;\ntypealias enum : uint8_t {");
	put_text(text, &causes[1]);
	put_text(text, " } := thrum_cause;\n");
	put_definitions(text, "thrum_definition", metadata, false);
	put_definitions(text, "thrum_site", metadata, true);
	put_text(text, "\n");
}

/* ---- Packets and events --------------------------------------------------------------------- */

/*
 * Describes the members of struct thrum__packet behind those of the packet header, and both forms
 * of an event's header.
 */
static void put_stream(struct tsdl *text)
{
	put_text(text,
		"stream {\n"
		"\tid = 0;\n"
		"\tpacket.context := struct {\n"
		"\t\ttime64 timestamp_begin;\n"
		"\t\tuint32_t content_size;\n"
		"\t\tuint32_t packet_size;\n"
		"\t\tuint64_t packet_seq_num;\n"
		"\t\tuint64_t events_discarded;\n"
		"\t\tuint32_t ticket;\n"
		"\t\tuint32_t tid;\n"
		"\t\tuint64_t id_base;\n"
		"\t\tuint64_t own;\n"
		"\t\tuint64_t running;\n"
		"\t\tuint16_t suspended;\n"
		"\t\tuint16_t open;\n"
		"\t\tuint16_t spans[6];\n"
		"\t};\n"
		"\tevent.header := struct {\n"
		"\t\tenum : integer { size = 5; align = 1; signed = false; }"
		" { compact = 0 ... 30, extended = 31 } id;\n"
		"\t\tvariant <id> {\n"
		"\t\t\tstruct { time27 timestamp; } compact;\n"
		"\t\t\tstruct { uint32_t id; time64 timestamp; } extended;\n"
		"\t\t} v;\n"
		"\t} align(8);\n"
		"};\n"
		"\n"
		"/* A task's number in 32 bits is relative to the packet's id_base; in 64 bits it"
		" is the number itself. */\n"
		"\n");
}
_Static_assert(THRUM__SPANS_MAX == 6 && THRUM__EXTENDED == 31 && THRUM__TIME_BITS == 27,
	"put_stream has the same numbers");

static const char *field_type(enum thrum__field_type type, bool wide)
{
	switch (type) {
	case THRUM__F_TASK: return wide ? "uint64_t " : "uint32_t ";
	case THRUM__F_VALUE: return wide ? "int64_t " : "int32_t ";
	case THRUM__F_DEF: return "thrum_definition ";
	case THRUM__F_SITE: return "thrum_site ";
	case THRUM__F_KIND: return "thrum_kind ";
	case THRUM__F_CAUSE: return "thrum_cause ";
	case THRUM__F_U32: return "uint32_t ";
	case THRUM__F_U64: return "uint64_t ";
	case THRUM__F_TEXT: return "string ";
	case THRUM__F_KEY: return "uint8_t ";
	case THRUM__F_END: break;
	}
	return "";
}

static void put_field(struct tsdl *text, enum thrum__field_type type, const char *name, bool wide)
{
	bool is_key = type == THRUM__F_KEY;
	if (is_key) {
		put_text(text, " uint8_t ");
		put_text(text, name);
		put_text(text, "_size;");
	}
	put_text(text, " ");
	put_text(text, field_type(type, wide));
	put_text(text, name);
	if (is_key) {
		put_text(text, "[");
		put_text(text, name);
		put_text(text, "_size]");
	}
	put_text(text, ";");
}

static void put_event(struct tsdl *text, unsigned id, const struct thrum__record_info *record,
	bool wide)
{
	put_text(text, "event { id = ");
	put_number(text, id);
	put_text(text, "; stream_id = 0; name = \"");
	put_text(text, record->name);
	put_text(text, "\"; fields := struct {");
	for (int i = 0; record->fields[i].type != THRUM__F_END; i++)
		put_field(text, record->fields[i].type, record->fields[i].name, wide);
	put_text(text, " }; };\n");
}

size_t thrum__format_write_metadata(char *to, size_t size, const struct thrum__metadata *metadata)
{
	struct tsdl text = {to, size, 0};
	put_trace(&text, metadata);
	put_clock(&text, metadata);
	put_enumerations(&text, metadata);
	put_stream(&text);
	for (unsigned id = 0; id < THRUM__WIDE; id++) {
		const struct thrum__record_info *record = &thrum__format_records[id];
		if (!record->name)
			continue;
		put_event(&text, id, record, false);
		if (thrum__format_record_has_wide(record))
			put_event(&text, id + THRUM__WIDE, record, true);
	}
	if (size > 0)
		to[text.length < size ? text.length : size - 1] = '\0';
	return text.length;
}
