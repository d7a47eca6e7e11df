/* SPDX-License-Identifier: ISC */
/* How many bytes the events of a recording take, by type of record. */
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
	uint64_t packets, overhead, left;  /* headers; unused ends */
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

static void add_packet(struct sizes *sizes, const uint8_t *packet, size_t bytes)
{
	struct thrum__scan scan;

	thrum__scan_init(&scan, packet, bytes);
	while (thrum__scan_next(&scan) == 1) {
		unsigned id = scan.id + (scan.wide ? THRUM__WIDE : 0);

		sizes->records[id]++;
		sizes->bytes[id] += scan.next - scan.offset;
	}
	sizes->packets++;
	sizes->overhead += sizeof(struct thrum__packet);
}

/* How many rows of `thrum dump` a record makes, labels aside. */
static unsigned rows(unsigned id)
{
	switch (id % THRUM__WIDE) {
	case THRUM__R_CREATE_WAITING: return 2;
	case THRUM__R_CONTEXT:
	case THRUM__R_NAME:
	case THRUM__R_CLOCK: return 0;
	default: return 1;
	}
}

static void tell(const struct sizes *sizes)
{
	uint64_t records = 0, bytes = 0;

	printf("record\trecords\tbytes\tmean\n");
	for (unsigned id = 0; id < IDS; id++) {
		if (sizes->records[id] == 0)
			continue;
		printf("%s%s\t%" PRIu64 "\t%" PRIu64 "\t%.2f\n",
			thrum__records[id % THRUM__WIDE].name, id >= THRUM__WIDE ? " (wide)" : "",
			sizes->records[id], sizes->bytes[id],
			(double)sizes->bytes[id] / (double)sizes->records[id]);
		records += rows(id) > 0 ? sizes->records[id] : 0;
		bytes += sizes->bytes[id];
	}
	printf("packet headers\t%" PRIu64 "\t%" PRIu64 "\t%zu\n", sizes->packets, sizes->overhead,
		sizeof(struct thrum__packet));
	printf("all\t%" PRIu64 "\t%" PRIu64 "\t%.2f\n", records, bytes + sizes->overhead,
		records ? (double)(bytes + sizes->overhead) / (double)records : 0);
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
		thrum__header_check(&header, &what, &offset) ||
		!(packet = malloc(header.packet_size))) {
		fprintf(stderr, "record: %s: not a recording that can be read\n", recording);
		if (file)
			fclose(file);
		return 2;
	}
	for (uint32_t i = 0; i < header.packets; i++) {
		if (thrum__packet_read(&input, &header, i, packet, &bytes) == 1)
			add_packet(&sizes, packet, bytes);
	}
	free(packet);
	fclose(file);
	tell(&sizes);
	return 0;
}
