/* SPDX-License-Identifier: ISC */
/*
 * Converts recordings to Common Trace Format 1.8 (CTF): a directory with a file for each lane,
 * which holds the lane's packets in order, and a file `metadata`.
 *
 * A recording's packets are CTF packets already. But readers of CTF give up a whole trace for one
 * bad event, and they require that time never runs back in a file. So each packet is walked to its
 * end, and cut off at the first event that is bad.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/clock.h"
#include "format/index.h"
#include "format/packet.h"
#include "format/scan.h"
#include "read/read.h"
#include "source/input.h"

#define SLACK_S 10 /* seconds that an event may lie beyond the clock's readings */

struct conversion {
	struct thrum__input input;
	struct thrum__header header;
	struct thrum__format_index index;
	uint8_t *packet;
	int directory;
	uint64_t left_out; /* packets that were left out or cut short */
	struct thrum_error_info *info;
};

/* A lane's file. */
struct lane {
	uint64_t number;
	int fd;             /* -1: not made yet */
	uint64_t last;      /* ticks of its last event so far */
	uint64_t discarded; /* the last packet's count of lost events */
	uint64_t next_seq;  /* no packet that comes has a lower sequence number */
};

static void file_name(char name[32], uint64_t lane)
{
	snprintf(name, 32, "lane-%" PRIu64, lane);
}

/* ---- Packets ---------------------------------------------------------------------------- */

/* Tells whether an event can have happened at `ticks`, by the clock's readings and the lane's last
 * event. */
static bool is_plausible(const struct conversion *c, const struct lane *lane, uint64_t ticks)
{
	uint64_t slack = c->header.clock_frequency * SLACK_S;
	const struct thrum__reading *start = &c->header.start;
	const struct thrum__reading *latest = thrum__format_latest_clock(&c->header);
	if (ticks < lane->last)
		return false;
	if (atomic_load(&start->ticket) != 0 && ticks < start->ticks &&
		start->ticks - ticks > slack)
		return false;
	return !latest || ticks <= latest->ticks || ticks - latest->ticks <= slack ||
		ticks - lane->last <= slack;
}

/*
 * Walks the packet in the buffer and cuts it off behind its last good event. `bound`: ticks at
 * which the lane's next packet begins. Returns how many bytes to write: whole 8-byte words.
 */
static size_t cut_packet(struct conversion *c, struct lane *lane, size_t bytes, uint64_t bound)
{
	struct thrum__packet head;
	struct thrum__format_scan scan;
	size_t end = sizeof head;
	memcpy(&head, c->packet, sizeof head);
	lane->last = head.begin;
	thrum__format_scan_init(&scan, c->packet, bytes);
	while (thrum__format_scan_next(&scan) == 1) {
		if (scan.ticks > bound || !is_plausible(c, lane, scan.ticks))
			break;
		lane->last = scan.ticks;
		end = scan.next;
	}
	if (end < atomic_load(&head.content_size) / 8)
		c->left_out++;
	size_t size = (end + 7) / 8 * 8;
	memset(c->packet + end, 0, size - end);
	/* babeltrace2 takes a count that falls for about 2^64 lost events. */
	if (head.discarded < lane->discarded)
		head.discarded = lane->discarded;
	lane->discarded = head.discarded;
	atomic_store(&head.content_size, (uint32_t)end * 8);
	head.packet_size = (uint32_t)size * 8;
	memcpy(c->packet, &head, sizeof head);
	return size;
}

/*
 * Reads a packet to the buffer. Returns the bytes of its content; 0 when it can't be used; or a
 * negative enum thrum_error.
 */
static int64_t read_packet(struct conversion *c, const struct lane *lane,
	const struct thrum__format_index_entry *entry)
{
	struct thrum__packet head;
	size_t bytes;
	int result = thrum__format_index_read(entry, &c->input, &c->header, c->packet, &bytes);
	if (result == THRUM__REUSED || result == -THRUM_E_DAMAGED)
		return 0;
	if (result < 0 && result != -THRUM_E_TRUNCATED)
		return thrum__read_error_set(c->info, result,
			c->header.packet.offset + (uint64_t)entry->index * c->header.packet_size,
			"packet %u can't be read", (unsigned)entry->index);
	if (bytes < sizeof head)
		return 0;
	memcpy(&head, c->packet, sizeof head);
	/* The list of packets may be out of date. */
	if (head.lane != entry->lane || head.seq != entry->seq)
		return 0;
	if (head.stream_id != 0 || head.seq < lane->next_seq || !is_plausible(c, lane, head.begin))
		return 0;
	return (int64_t)bytes;
}

/* ---- Lanes ------------------------------------------------------------------------------ */

static int file_error(struct conversion *c, const char *name, int error)
{
	return thrum__read_error_set(c->info, error, 0, "%s can't be written: %s", name,
		thrum_error_message(error));
}

static int make_file(struct conversion *c, const char *name)
{
	int fd = openat(c->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0600);
	return fd >= 0 ? fd : file_error(c, name, thrum__source_error_of(errno));
}

/* Writes `size` bytes of the buffer to the lane's file, which it makes if need be. */
static int write_packet(struct conversion *c, struct lane *lane, size_t size)
{
	char name[32];
	file_name(name, lane->number);
	if (lane->fd < 0) {
		int fd = make_file(c, name);
		if (fd < 0)
			return fd;
		lane->fd = fd;
	}
	int error = thrum__source_write_all(lane->fd, c->packet, size);
	return error ? file_error(c, name, error) : 0;
}

/*
 * Returns the ticks at which the packet after this one begins; UINT64_MAX when that is of another
 * lane, or its time can't be right.
 */
static uint64_t next_begin(const struct conversion *c, size_t i)
{
	const struct thrum__format_index_entry *this = &c->index.entries[i], *next = this + 1;
	bool has_next = i + 1 < c->index.count && next->lane == this->lane;
	return has_next && next->begin >= this->begin ? next->begin : UINT64_MAX;
}

/* Converts one lane: the packets of the list from number `first` up to *end, which it sets. */
static int convert_lane(struct conversion *c, size_t first, size_t *end)
{
	struct lane lane = {.number = c->index.entries[first].lane, .fd = -1};
	int error = 0;
	size_t i = first;
	for (; error == 0 && i < c->index.count && c->index.entries[i].lane == lane.number; i++) {
		int64_t bytes = read_packet(c, &lane, &c->index.entries[i]);
		if (bytes == 0)
			c->left_out++;
		if (bytes <= 0) {
			error = (int)bytes;
			continue;
		}
		lane.next_seq = c->index.entries[i].seq + 1;
		error = write_packet(c, &lane,
			cut_packet(c, &lane, (size_t)bytes, next_begin(c, i)));
	}
	if (lane.fd >= 0 && close(lane.fd) != 0 && error == 0)
		error = thrum__read_error_set(c->info, thrum__source_error_of(errno), 0,
			"writing failed: %s", strerror(errno));
	*end = i;
	return error;
}

static int convert_lanes(struct conversion *c)
{
	int error = thrum__format_index_init(&c->index, &c->input, &c->header);
	if (error != 0)
		return thrum__read_error_set(c->info, error, c->header.packet.offset,
			"its packets can't be read");
	thrum__format_index_sort_by_lane(&c->index);
	for (size_t i = 0; error == 0 && i < c->index.count;)
		error = convert_lane(c, i, &i);
	return error;
}

/* ---- Metadata --------------------------------------------------------------------------- */

/* Reads all definitions. The caller frees *cells. */
static int read_definitions(struct conversion *c, struct thrum__definition **cells)
{
	struct thrum__section section = c->header.definitions;
	struct thrum__definition *read = calloc(1, section.size + sizeof *read);
	int64_t got = -THRUM_E_MEMORY;
	if (read)
		got = thrum__format_input_read(&c->input, section.offset, read, section.size);
	if (got >= 0) {
		*cells = read;
		return 0;
	}
	free(read);
	return thrum__read_error_set(c->info, (int)got, section.offset,
		"its definitions can't be read");
}

/* Writes the file `metadata`. */
static int write_metadata_text(struct conversion *c, const struct thrum__metadata *metadata)
{
	size_t length = thrum__format_write_metadata(NULL, 0, metadata);
	char *text = malloc(length + 1);
	if (!text)
		return thrum__read_error_set(c->info, -THRUM_E_MEMORY, 0, "out of memory");
	thrum__format_write_metadata(text, length + 1, metadata);
	int fd = make_file(c, "metadata");
	int error = fd < 0 ? fd : thrum__source_write_all(fd, text, length);
	if (fd >= 0 && close(fd) != 0 && error == 0)
		error = thrum__source_error_of(errno);
	free(text);
	return error && fd >= 0 ? file_error(c, "metadata", error) : error;
}

static int write_metadata(struct conversion *c)
{
	struct thrum__header *header = &c->header;
	struct thrum__definition *definitions = NULL;
	int error = read_definitions(c, &definitions);
	if (error != 0)
		return error;
	/* These texts may lack their NULs. */
	header->program[sizeof header->program - 1] = '\0';
	header->host[sizeof header->host - 1] = '\0';
	struct thrum__metadata metadata = {.uuid = header->uuid,
		.definitions = definitions,
		.count = header->definitions.size / sizeof *definitions,
		.program = header->program,
		.host = header->host};
	thrum__format_set_clock(&metadata, header);
	error = write_metadata_text(c, &metadata);
	free(definitions);
	return error;
}

/* ---- The directory ---------------------------------------------------------------------- */

static bool is_empty(int directory)
{
	DIR *list = fdopendir(fcntl(directory, F_DUPFD_CLOEXEC, 0));
	if (!list)
		return false;
	int entries = 0;
	while (readdir(list))
		entries++;
	closedir(list);
	return entries <= 2; /* itself and the one above */
}

/* Makes the directory, or opens one that is there if it is empty. *made: it was made. */
static int open_directory(struct conversion *c, const char *path, bool *made)
{
	*made = mkdir(path, 0700) == 0;
	if (!*made && errno != EEXIST)
		return thrum__read_error_set(c->info, thrum__source_error_of(errno), 0,
			"the folder %s can't be made: %s", path, strerror(errno));
	c->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->directory < 0)
		return thrum__read_error_set(c->info,
			errno == ENOTDIR ? -THRUM_E_EXISTS : thrum__source_error_of(errno), 0,
			"the folder %s can't be opened: %s", path, strerror(errno));
	if (!*made && !is_empty(c->directory)) {
		close(c->directory);
		return thrum__read_error_set(c->info, -THRUM_E_EXISTS, 0,
			"the folder %s isn't empty: give a new or an empty one", path);
	}
	return 0;
}

/* Removes the files after a failure: half a trace is of no use. */
static void remove_files(const struct conversion *c)
{
	for (size_t i = 0; i < c->index.count; i++) {
		char name[32];
		file_name(name, c->index.entries[i].lane);
		if (i == 0 || c->index.entries[i].lane != c->index.entries[i - 1].lane)
			unlinkat(c->directory, name, 0);
	}
	unlinkat(c->directory, "metadata", 0);
}

/* Converts to a directory; after a failure removes all that it has made. */
static int convert_to(struct conversion *c, const char *path)
{
	bool made;
	int error = open_directory(c, path, &made);
	if (error != 0)
		return error;
	error = convert_lanes(c);
	if (error == 0)
		error = write_metadata(c);
	if (error != 0)
		remove_files(c);
	close(c->directory);
	if (error != 0 && made)
		rmdir(path);
	return error;
}

/* ---- The recording ---------------------------------------------------------------------- */

/*
 * Replaces the input by a copy of it. A recording that is still written is copied first, because
 * converting takes longer, and the recorder would overwrite more of it meanwhile.
 */
static int take_copy(struct conversion *c)
{
	struct thrum__input copy;
	int fd = thrum__source_temporary_file();
	int error = fd < 0 ? fd : thrum__source_copy(&c->input, fd, &c->left_out);
	if (error != 0 && fd >= 0)
		close(fd);
	if (error == 0)
		error = thrum__source_input_of(fd, &copy);
	if (error != 0)
		return thrum__read_error_set(c->info, error, 0,
			"can't be copied to a temporary file: %s", thrum_error_message(error));
	thrum__source_close(c->input.owner);
	c->input = copy;
	return thrum__source_header(&c->input, &c->header, c->info);
}

/* Reads the header of the input, or of a copy of it that it then takes. */
static int read_header(struct conversion *c)
{
	uint8_t head[64];
	int64_t got = c->input.read(c->input.owner, 0, head, sizeof head);
	if (got > 0 && thrum__mirage_format.probe(head, (size_t)got))
		return thrum__read_error_set(c->info, -THRUM_E_FORMAT, 0,
			"a trace of mirage-profile: only recordings of thrum can be converted");
	int error = thrum__source_header(&c->input, &c->header, c->info);
	if (error == 0 && thrum__source_is_recorded_to(&c->input, &c->header))
		error = take_copy(c);
	return error;
}

int thrum_trace_convert(const char *file, const char *directory, uint64_t *left_out,
	struct thrum_error_info *info)
{
	struct conversion c = {.info = info};
	int error = thrum__source_open(file, &c.input, info);
	if (error != 0)
		return error;
	error = read_header(&c);
	if (error == 0) {
		c.packet = malloc(c.header.packet_size);
		error = c.packet ? convert_to(&c, directory)
				 : thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	if (error == 0 && left_out)
		*left_out = c.left_out;
	thrum__format_index_finish(&c.index);
	free(c.packet);
	thrum__source_close(c.input.owner);
	return error;
}
