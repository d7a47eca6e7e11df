/* SPDX-License-Identifier: ISC */
/* Prints the bytes that the events of a recording take, by type of record. */
#include "bench.h"

#include "format/format.h"
#include "format/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS (2 * THRUM__WIDE)

struct sizes {
	uint64_t records[IDS], bytes[IDS]; /* by id */
	uint64_t packets, overhead;        /* bytes of packets' headers */
	uint64_t rows;                     /* of `thrum dump` */
};

static int64_t file_read(void *owner, uint64_t offset, void *to, size_t size)
{
	if (fseek(owner, (long)offset, SEEK_SET))
		return -THRUM_E_SYSTEM;
	return (int64_t)fread(to, 1, size, owner);
}

static uint64_t file_size(void *owner)
{
	return fseek(owner, 0, SEEK_END) ? 0 : (uint64_t)ftell(owner);
}

/* Whether the record of a creation has a label, which is a text longer than its NUL. */
static bool is_labelled(const struct thrum__format_scan *scan)
{
	const struct thrum__record_info *info = &thrum__format_records[scan->id];
	size_t fixed = scan->fields - scan->offset;

	for (unsigned i = 0; info->fields[i].type != THRUM__F_TEXT; i++) {
		switch (info->fields[i].type) {
		case THRUM__F_TASK: fixed += scan->wide ? 8 : 4; break;
		case THRUM__F_SITE: fixed += 2; break;
		default: fixed += 1; break;
		}
	}
	return scan->next - scan->offset > fixed + 1;
}

/* Returns the number of rows of `thrum dump` that a record makes. */
static unsigned count_rows(const struct thrum__format_scan *scan)
{
	switch (scan->id) {
	case THRUM__R_CREATE:
	case THRUM__R_CREATE_IN: return 1 + is_labelled(scan);
	case THRUM__R_CREATE_WAITING: return 2 + is_labelled(scan);
	case THRUM__R_CONTEXT:
	case THRUM__R_NAME:
	case THRUM__R_CLOCK: return 0;
	case THRUM__R_LANE: return 2;
	default: return 1;
	}
}

static void add_packet(struct sizes *sizes, const uint8_t *packet, size_t bytes)
{
	struct thrum__format_scan scan;

	thrum__format_scan_init(&scan, packet, bytes);
	while (thrum__format_scan_next(&scan) == 1) {
		unsigned id = scan.id + (scan.wide ? THRUM__WIDE : 0);

		sizes->records[id]++;
		sizes->bytes[id] += scan.next - scan.offset;
		sizes->rows += count_rows(&scan);
	}
	sizes->packets++;
	sizes->overhead += sizeof(struct thrum__packet);
}

static void tell_line(const char *what, uint64_t count, uint64_t bytes)
{
	printf("%-22s %10" PRIu64 " %12" PRIu64 " %8.2f\n", what, count, bytes,
		count ? (double)bytes / (double)count : 0);
}

static void tell(const struct sizes *sizes)
{
	uint64_t records = 0, bytes = sizes->overhead;
	char name[64];

	printf("%-22s %10s %12s %8s\n", "record", "how many", "bytes", "each");
	for (unsigned id = 0; id < IDS; id++) {
		if (sizes->records[id] == 0)
			continue;
		snprintf(name, sizeof name, "%s%s", thrum__format_records[id % THRUM__WIDE].name,
			id >= THRUM__WIDE ? " (wide)" : "");
		tell_line(name, sizes->records[id], sizes->bytes[id]);
		records += sizes->records[id];
		bytes += sizes->bytes[id];
	}
	tell_line("packet headers", sizes->packets, sizes->overhead);
	tell_line("all: records", records, bytes);
	tell_line("all: rows of dump", sizes->rows, bytes);
}

int bench_sizes(const char *recording)
{
	struct sizes sizes = {.packets = 0};
	struct thrum__header header;
	FILE *file = fopen(recording, "rb");
	struct thrum__input input = {file, file_read, file_size};
	const char *what;
	uint64_t offset;
	uint8_t *packet;
	size_t bytes;

	if (!file || fread(&header, 1, sizeof header, file) != sizeof header ||
		thrum__format_check_header(&header, &what, &offset) ||
		!(packet = malloc(header.packet_size))) {
		fprintf(stderr, "record: %s: not a recording that can be read\n", recording);
		if (file)
			fclose(file);
		return 2;
	}
	for (uint32_t i = 0; i < header.packets; i++) {
		if (thrum__format_packet_read(&input, &header, i, packet, &bytes) == 1)
			add_packet(&sizes, packet, bytes);
	}
	free(packet);
	fclose(file);
	tell(&sizes);
	return 0;
}
