/* SPDX-License-Identifier: ISC */
/*
 * Cuts recordings into segments.
 *
 * The order at a cut decides which tasks the next segment knows:
 *
 *  1. The list of packets. Those that are finished belong to this segment, all others to the next.
 *  2. The live tasks, for the next segment. A task that is created later has its creation in a packet
 *     that is not finished at 1. A task that has ended before has its end in this segment, too.
 *  3. The packets that aren't finished, and the end of this segment.
 */
#define _GNU_SOURCE
#include "source/segment.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "format/copy.h"
#include "read/read.h"
#include "source/input.h"
#include "source/zstd.h"

/* Pauses between steps. A recorder fills 100 MiB in a fifth of a second at most. */
#define PAUSE_LEAST 5
#define PAUSE_MOST 100
/* Gaps are counted in lanes with smaller numbers only: a damaged number must not take memory. */
#define LANES_MOST 65536u

/* A file that is being written. */
struct segment {
	struct thrum__format_copying copy;
	struct thrum__output output;
	uint64_t fresh; /* finished packets in it */
	int fd;         /* -1: there is none */
	char path[4096];
};

struct thrum__source_segments {
	struct thrum__source_segments_options options;
	struct thrum__source_segments_count count;
	struct thrum__input input;
	struct thrum__header header;
	struct thrum__format_index index; /* the packets at the latest step */
	uint32_t *taken;                  /* by packet: its ticket when it was copied finished */
	uint8_t *is_open;                 /* by packet: it is the latest of its lane */
	uint64_t *lanes;                  /* by lane: the number of the packet that is due */
	uint32_t lane_room;
	struct segment now;
	struct thrum__source_packing *packing; /* compresses the segment before; NULL: nothing */
	char packed[4096], unpacked[4096];     /* its files */
	char folder[4096], name[256];          /* of the recording, without ".thrum" */
	unsigned first, number;                /* of the first segment, and of this one */
	int pause;
};

/* ---- Names ---------------------------------------------------------------------------------- */

/* Returns the number of the segment with this name; 0: it is none. */
static unsigned number_of(const struct thrum__source_segments *s, const char *name)
{
	size_t size = strlen(s->name);
	unsigned number;
	char end[16];

	if (strncmp(name, s->name, size) != 0 || name[size] != '.' ||
		!isdigit((unsigned char)name[size + 1]) ||
		sscanf(name + size + 1, "%9u%15s", &number, end) != 2)
		return 0;
	return strcmp(end, ".thrum") == 0 || strcmp(end, ".thrum.zst") == 0 ? number : 0;
}

/*
 * Looks at all segments of this name. Removes those with numbers below `below`, and counts those of
 * this recording. Returns the greatest number.
 */
static unsigned look_at_files(struct thrum__source_segments *s, unsigned below)
{
	struct thrum__source_segments_count *count = &s->count;
	unsigned greatest = 0, least = UINT32_MAX, number;
	DIR *folder = opendir(s->folder);
	struct dirent *entry;

	count->bytes = 0;
	while (folder && (entry = readdir(folder))) {
		struct stat status;

		if ((number = number_of(s, entry->d_name)) == 0 ||
			fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(status.st_mode))
			continue;
		if (number < below && unlinkat(dirfd(folder), entry->d_name, 0) == 0) {
			count->removed++;
			continue;
		}
		if (s->first > 0 && number >= s->first) {
			char *to = number < least ? count->first : NULL;

			count->bytes += (uint64_t)status.st_blocks * 512;
			least = number < least ? number : least;
			if (to)
				snprintf(to, sizeof count->first, "%s/%s", s->folder,
					entry->d_name);
			if (number > greatest)
				snprintf(count->last, sizeof count->last, "%s/%s", s->folder,
					entry->d_name);
		}
		greatest = number > greatest ? number : greatest;
	}
	if (folder)
		closedir(folder);
	return greatest;
}

/* ---- Compressing ---------------------------------------------------------------------------- */

/* Compresses some more of the segment before, or all. Returns 0 or a negative enum thrum_error. */
static int pack(struct thrum__source_segments *s, bool is_all)
{
	int result = 1;

	if (!s->packing)
		return 0;
	while ((result = thrum__source_packing_step(s->packing)) > 0 && is_all)
		continue;
	if (result > 0)
		return 0;
	thrum__source_packing_destroy(s->packing);
	s->packing = NULL;
	char part[sizeof s->packed + 8];

	snprintf(part, sizeof part, "%s.part", s->packed);
	if (result == 0 && (rename(part, s->packed) < 0 || unlink(s->unpacked) < 0))
		result = thrum__source_error_of(errno);
	if (result < 0)
		unlink(part);
	return result;
}

/* Begins to compress a segment that is finished. */
static int begin_packing(struct thrum__source_segments *s, const char *path)
{
	char part[sizeof s->packed + 8];
	int from, to, error = pack(s, true);

	if (error)
		return error;
	if (snprintf(s->packed, sizeof s->packed, "%s.zst", path) >= (int)sizeof s->packed)
		return -THRUM_E_ARGUMENT;
	snprintf(s->unpacked, sizeof s->unpacked, "%s", path);
	snprintf(part, sizeof part, "%s.part", s->packed);
	from = open(path, O_RDONLY | O_CLOEXEC);
	to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = from < 0 || to < 0 ? thrum__source_error_of(errno)
				   : thrum__source_packing_create(from, to, &s->packing);
	if (error) {
		if (from >= 0)
			close(from);
		if (to >= 0) {
			close(to);
			unlink(part);
		}
	}
	return error;
}

/* ---- One file ------------------------------------------------------------------------------- */

static void drop_segment(struct segment *segment)
{
	thrum__format_copy_finish(&segment->copy);
	if (segment->fd < 0)
		return;
	close(segment->fd);
	unlink(segment->path);
	segment->fd = -1;
}

/* Begins a file with the tasks that live now. Returns 0 or a negative enum thrum_error. */
static int begin_segment(struct thrum__source_segments *s, struct segment *segment, unsigned number)
{
	memset(&segment->copy, 0, sizeof segment->copy);
	segment->fresh = 0;
	segment->fd = -1;
	if (snprintf(segment->path, sizeof segment->path, "%s/%s.%04u.thrum.part", s->folder,
		    s->name, number) >= (int)sizeof segment->path)
		return -THRUM_E_ARGUMENT;
	segment->fd = open(segment->path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		0600);
	if (segment->fd < 0)
		return thrum__source_error_of(errno);
	segment->output = (struct thrum__output){&segment->fd, thrum__source_write_at};
	int error = thrum__format_copy_begin(&segment->copy, &s->input, &segment->output);

	if (error == 0)
		error = thrum__format_copy_live_tasks(&segment->copy);
	if (error)
		drop_segment(segment);
	return error;
}

/* Finishes the file, and gives it its name. Returns 0 or a negative enum thrum_error. */
static int end_segment(struct thrum__source_segments *s)
{
	struct segment *segment = &s->now;
	uint64_t ticks = thrum__source_is_recorded_to(&s->input, &s->header)
		? thrum__source_ticks_now(&s->input)
		: 0;
	char path[sizeof segment->path];
	int error = thrum__format_copy_end(&segment->copy, ticks), added = 0;

	/* Without ".part". */
	snprintf(path, sizeof path, "%.*s", (int)strlen(segment->path) - 5, segment->path);
	/* A reader finds the name, so nothing may be missing by then. */
	if (error == 0 && s->options.add)
		added = s->options.add(s->options.owner, segment->path);
	if (error == 0 && rename(segment->path, path) < 0)
		error = thrum__source_error_of(errno);
	if (error) {
		drop_segment(segment);
		return error;
	}
	thrum__format_copy_finish(&segment->copy);
	close(segment->fd);
	segment->fd = -1;
	s->count.files++;
	error = added;
	if (error == 0 && s->options.compress)
		error = begin_packing(s, path);
	look_at_files(s,
		s->options.keep && s->number > s->options.keep
			? s->number + 1 - (unsigned)s->options.keep
			: 0);
	s->number++;
	return error;
}

/* ---- Packets -------------------------------------------------------------------------------- */

/* Counts the packets of the entry's lane that were missed before it. */
static int count_missed(struct thrum__source_segments *s,
	const struct thrum__format_index_entry *entry)
{
	if (entry->lane >= LANES_MOST)
		return 0;
	uint64_t *lanes = thrum__base_grow_zeroed(s->lanes, &s->lane_room, entry->lane + 1,
		sizeof *lanes);

	if (!lanes)
		return -THRUM_E_MEMORY;
	s->lanes = lanes;
	uint64_t due = lanes[entry->lane], missed = entry->seq - due;

	if (entry->seq < due) {
		/* An earlier list has missed it, but not the one behind it. */
		if (s->count.overwritten > 0)
			s->count.overwritten--;
		if (s->now.copy.overwritten > 0)
			s->now.copy.overwritten--;
		return 0;
	}
	s->count.overwritten += missed;
	s->now.copy.overwritten += missed;
	lanes[entry->lane] = entry->seq + 1;
	return 0;
}

/* Lists the packets, and marks those that aren't finished. Returns their number, or a negative enum
 * thrum_error. */
static int64_t list_packets(struct thrum__source_segments *s, bool is_over)
{
	struct thrum__format_index *index = &s->index;
	int64_t open_ones = 0;

	struct thrum__header header;
	int error = thrum__source_header(&s->input, &header, NULL);

	/* `taken` and `is_open` have room for the packets of the first header. */
	if (error == 0 && header.packets != s->header.packets)
		error = -THRUM_E_DAMAGED;
	if (error)
		return error;
	s->header = header;
	thrum__format_index_finish(index);
	error = thrum__format_index_init(index, &s->input, &s->header);
	if (error)
		return error;
	thrum__format_index_sort_by_lane(index);
	for (size_t i = 0; i < index->count; i++) {
		bool is_last = i + 1 == index->count ||
			index->entries[i + 1].lane != index->entries[i].lane;

		s->is_open[index->entries[i].index] = is_last && !is_over;
		open_ones += is_last && !is_over;
	}
	thrum__format_index_sort_by_begin(index);
	return open_ones;
}

/* Copies the packets that are finished and weren't copied yet. Returns their number or a negative
 * enum thrum_error. */
static int64_t copy_finished(struct thrum__source_segments *s)
{
	int64_t copied = 0;

	for (size_t i = 0; i < s->index.count; i++) {
		const struct thrum__format_index_entry *entry = &s->index.entries[i];

		if (s->is_open[entry->index] || s->taken[entry->index] == entry->ticket)
			continue;
		int result = thrum__format_copy_packet(&s->now.copy, entry);

		if (result > 0)
			result = count_missed(s, entry);
		else if (result == 0)
			continue; /* the next one of its lane tells that it is missing */
		if (result < 0)
			return result;
		s->taken[entry->index] = entry->ticket;
		copied++;
	}
	s->now.fresh += (uint64_t)copied;
	return copied;
}

static int copy_open(struct thrum__source_segments *s)
{
	int result = 0;

	for (size_t i = 0; i < s->index.count && result >= 0; i++)
		if (s->is_open[s->index.entries[i].index])
			result = thrum__format_copy_packet(&s->now.copy, &s->index.entries[i]);
	return result < 0 ? result : 0;
}

static int cut(struct thrum__source_segments *s)
{
	struct segment next;
	int error = begin_segment(s, &next, s->number + 1);

	if (error)
		return error;
	error = copy_open(s);
	if (error == 0)
		error = end_segment(s);
	if (error) {
		drop_segment(&next);
		return error;
	}
	s->now = next;
	s->now.output.owner = &s->now.fd;
	s->now.copy.output = &s->now.output;
	return 0;
}

/* ---- All ------------------------------------------------------------------------------------ */

static int failed(struct thrum_error_info *info, int error)
{
	return thrum__read_error_set(info, error, 0, "segments can't be written: %s",
		thrum_error_message(error));
}

/* Sets folder and name. False: they are too long. */
static bool set_name(struct thrum__source_segments *s, const char *recording)
{
	const char *slash = strrchr(recording, '/'), *name = slash ? slash + 1 : recording;
	size_t size = strlen(name);

	if (size > 6 && strcmp(name + size - 6, ".thrum") == 0)
		size -= 6;
	if (snprintf(s->folder, sizeof s->folder, "%.*s",
		    slash ? slash == recording ? 1 : (int)(slash - recording) : 1,
		    slash ? recording : ".") >= (int)sizeof s->folder)
		return false;
	return snprintf(s->name, sizeof s->name, "%.*s", (int)size, name) < (int)sizeof s->name;
}

static int begin(struct thrum__source_segments *s, const char *recording,
	struct thrum_error_info *info)
{
	int error = thrum__source_open(recording, &s->input, info);

	if (error)
		return error;
	error = thrum__source_header(&s->input, &s->header, info);
	if (error)
		return error;
	if (s->header.state == THRUM__SNAPSHOT)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"a copy isn't cut into segments");
	s->taken = calloc((size_t)s->header.packets + 1, sizeof *s->taken);
	s->is_open = calloc((size_t)s->header.packets + 1, 1);
	if (!s->taken || !s->is_open)
		return failed(info, -THRUM_E_MEMORY);
	if (!set_name(s, recording))
		return failed(info, -THRUM_E_ARGUMENT);
	s->number = s->first = look_at_files(s, 0) + 1;
	error = begin_segment(s, &s->now, s->number);
	return error ? failed(info, error) : 0;
}

int thrum__source_segments_create(const char *recording,
	const struct thrum__source_segments_options *options,
	struct thrum__source_segments **segments, struct thrum_error_info *info)
{
	struct thrum__source_segments *s = calloc(1, sizeof *s);

	if (!s)
		return failed(info, -THRUM_E_MEMORY);
	s->options = *options;
	s->now.fd = -1;
	s->pause = PAUSE_LEAST;
	int error = begin(s, recording, info);

	if (error) {
		thrum__source_segments_destroy(s);
		return error;
	}
	*segments = s;
	return 0;
}

int thrum__source_segments_step(struct thrum__source_segments *s, int *pause_ms,
	struct thrum_error_info *info)
{
	int64_t open_ones = list_packets(s, false), copied = 0;
	int error = open_ones < 0 ? (int)open_ones : 0;

	if (error == 0) {
		copied = copy_finished(s);
		error = copied < 0 ? (int)copied : pack(s, false);
	}
	if (error)
		return failed(info, error);
	const struct thrum__header *to = &s->now.copy.to;
	uint64_t size = (to->packets + (uint64_t)open_ones) * (uint64_t)to->packet_size;

	if (size >= s->options.size && s->now.fresh > 0)
		error = cut(s);
	if (error)
		return failed(info, error);
	if ((uint64_t)copied > s->header.packets / 8 && s->pause > PAUSE_LEAST)
		s->pause /= 2;
	else if ((uint64_t)copied < s->header.packets / 32 && s->pause < PAUSE_MOST)
		s->pause *= 2;
	*pause_ms = s->packing ? PAUSE_LEAST : s->pause;
	return 0;
}

int thrum__source_segments_end(struct thrum__source_segments *s, struct thrum_error_info *info)
{
	int64_t result = list_packets(s, true);

	if (result >= 0)
		result = copy_finished(s);
	if (result >= 0)
		result = end_segment(s);
	if (result >= 0)
		result = pack(s, true);
	look_at_files(s, 0);
	return result < 0 ? failed(info, (int)result) : 0;
}

const struct thrum__source_segments_count *thrum__source_segments_count(
	const struct thrum__source_segments *s)
{
	return &s->count;
}

void thrum__source_segments_destroy(struct thrum__source_segments *s)
{
	if (!s)
		return;
	drop_segment(&s->now);
	if (s->packing) {
		char part[sizeof s->packed + 8];

		thrum__source_packing_destroy(s->packing);
		snprintf(part, sizeof part, "%s.part", s->packed);
		unlink(part);
	}
	thrum__format_index_finish(&s->index);
	if (s->input.owner)
		thrum__source_close(s->input.owner);
	free(s->taken);
	free(s->is_open);
	free(s->lanes);
	free(s);
}
