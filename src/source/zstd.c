/* SPDX-License-Identifier: ISC */
/* Reads and writes files that are compressed with zstd (RFC 8878). */
#define _GNU_SOURCE
#include "source/zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

#define PIECE ((size_t)1 << 20)    /* bytes of a step */
#define BLOCK ((size_t)4096)       /* bytes: blocks of zeros become holes */
#define GROWTH UINT64_C(1000)      /* of the compressed size */
#define SMALL (UINT64_C(16) << 20) /* bytes that are never too much */
/* A trace of mirage-profile has no header that tells its size. */
#define UNKNOWN_SIZE (UINT64_C(1) << 32)

bool thrum__source_can_compress(void)
{
	return true;
}

bool thrum__source_is_compressed(int fd)
{
	static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
	uint8_t head[4];

	return pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, magic, 4) == 0;
}

/* ---- Unpacking ------------------------------------------------------------------------------ */

struct unpacking {
	int from, to;
	ZSTD_DStream *stream;
	uint8_t *in, *out;   /* PIECE bytes each */
	uint64_t read, size; /* bytes of both files */
	uint64_t written;    /* bytes that aren't in holes */
	uint64_t most;       /* the size cannot be larger */
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Writes a piece; leaves out blocks of zeros. Returns 0 or a negative enum thrum_error. */
static int put_piece(struct unpacking *u, size_t size)
{
	if (u->size == 0 && size >= sizeof(struct thrum__header)) {
		struct thrum__header header;
		const char *culprit;
		uint64_t offset;

		memcpy(&header, u->out, sizeof header);
		if (thrum__format_check_header(&header, &culprit, &offset) == 0)
			u->most = header.size;
	}
	if (size > u->most - u->size)
		size = (size_t)(u->most - u->size);
	for (size_t at = 0; at < size; at += BLOCK) {
		size_t bytes = size - at < BLOCK ? size - at : BLOCK;

		if (is_zero(u->out + at, bytes))
			continue;
		int error = thrum__source_write_at(&u->to, u->size + at, u->out + at, bytes);

		if (error)
			return error;
		u->written += bytes;
	}
	u->size += size;
	return 0;
}

/* Unpacks the bytes that were read. Returns 1, 0 if nothing after them counts, or a negative enum
 * thrum_error. */
static int unpack_piece(struct unpacking *u, size_t bytes)
{
	ZSTD_inBuffer in = {u->in, bytes, 0};

	for (;;) {
		ZSTD_outBuffer out = {u->out, PIECE, 0};
		size_t result = ZSTD_decompressStream(u->stream, &out, &in);

		if (out.pos > 0) {
			int error = put_piece(u, out.pos);

			if (error)
				return error;
		}
		if (ZSTD_isError(result) || u->size == u->most)
			return 0;
		if (u->written > SMALL && u->written / GROWTH > u->read)
			return -THRUM_E_DAMAGED;
		if (in.pos == in.size && out.pos < PIECE)
			return 1;
	}
}

static int unpack(struct unpacking *u)
{
	for (;;) {
		ssize_t got = pread(u->from, u->in, PIECE, (off_t)u->read);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? thrum__source_error_of(errno) : 0;
		u->read += (uint64_t)got;
		int result = unpack_piece(u, (size_t)got);

		if (result <= 0)
			return result;
	}
}

int thrum__source_unpack(int fd, struct thrum_error_info *info)
{
	struct unpacking u = {
		.from = fd,
		.to = thrum__source_temporary_file(),
		.stream = ZSTD_createDStream(),
		.in = malloc(2 * PIECE),
		.most = UNKNOWN_SIZE,
	};
	int error = u.to < 0 ? u.to : !u.in || !u.stream ? -THRUM_E_MEMORY : 0;

	if (error == 0) {
		u.out = u.in + PIECE;
		error = unpack(&u);
	}
	if (error == 0 && ftruncate(u.to, (off_t)u.size) < 0)
		error = thrum__source_error_of(errno);
	ZSTD_freeDStream(u.stream);
	free(u.in);
	if (error == 0)
		return u.to;
	if (u.to >= 0)
		close(u.to);
	return thrum__read_error_set(info, error, 0, "can't be unpacked to a temporary file: %s",
		error == -THRUM_E_DAMAGED
			? "it grows more than a thousandfold, as no recording does"
			: thrum_error_message(error));
}

/* ---- Packing -------------------------------------------------------------------------------- */

struct thrum__source_packing {
	int from, to;
	ZSTD_CStream *stream;
	uint64_t read;
	uint8_t *in, *out; /* PIECE bytes each */
};

int thrum__source_packing_create(int from, int to, struct thrum__source_packing **packing)
{
	struct thrum__source_packing *p = calloc(1, sizeof *p);
	struct stat status;

	if (!p)
		return -THRUM_E_MEMORY;
	*p = (struct thrum__source_packing){from, to, ZSTD_createCStream(), 0, malloc(2 * PIECE),
		NULL};
	if (!p->in || !p->stream) {
		ZSTD_freeCStream(p->stream);
		free(p->in);
		free(p);
		return -THRUM_E_MEMORY;
	}
	p->out = p->in + PIECE;
	ZSTD_CCtx_setParameter(p->stream, ZSTD_c_checksumFlag, 1);
	if (fstat(from, &status) == 0)
		ZSTD_CCtx_setPledgedSrcSize(p->stream, (unsigned long long)status.st_size);
	*packing = p;
	return 0;
}

int thrum__source_packing_step(struct thrum__source_packing *p)
{
	ssize_t got;

	do
		got = pread(p->from, p->in, PIECE, (off_t)p->read);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return thrum__source_error_of(errno);
	ZSTD_inBuffer in = {p->in, (size_t)got, 0};
	size_t rest;

	p->read += (uint64_t)got;
	do {
		ZSTD_outBuffer out = {p->out, PIECE, 0};

		rest = ZSTD_compressStream2(p->stream, &out, &in,
			got ? ZSTD_e_continue : ZSTD_e_end);
		if (ZSTD_isError(rest))
			return -THRUM_E_SYSTEM;
		int error = thrum__source_write_all(p->to, p->out, out.pos);

		if (error)
			return error;
	} while (got ? in.pos < in.size : rest > 0);
	return got > 0;
}

void thrum__source_packing_destroy(struct thrum__source_packing *p)
{
	if (!p)
		return;
	close(p->from);
	close(p->to);
	ZSTD_freeCStream(p->stream);
	free(p->in);
	free(p);
}

#else

bool thrum__source_can_compress(void)
{
	return false;
}

bool thrum__source_is_compressed(int fd)
{
	(void)fd;
	return false;
}

int thrum__source_unpack(int fd, struct thrum_error_info *info)
{
	(void)fd;
	(void)info;
	return -THRUM_E_FORMAT;
}

int thrum__source_packing_create(int from, int to, struct thrum__source_packing **packing)
{
	(void)from;
	(void)to;
	(void)packing;
	return -THRUM_E_SYSTEM;
}

int thrum__source_packing_step(struct thrum__source_packing *p)
{
	(void)p;
	return -THRUM_E_SYSTEM;
}

void thrum__source_packing_destroy(struct thrum__source_packing *p)
{
	(void)p;
}

#endif

int thrum__source_pack_file(const char *file, struct thrum_error_info *info)
{
	struct thrum__source_packing *packing = NULL;
	char name[4096], part[4096];
	int from = open(file, O_RDONLY | O_CLOEXEC), to = -1, error = -THRUM_E_ARGUMENT;

	if (snprintf(name, sizeof name, "%s.zst", file) < (int)sizeof name &&
		snprintf(part, sizeof part, "%s.zst.XXXXXX", file) < (int)sizeof part) {
		to = mkostemp(part, O_CLOEXEC);
		error = from < 0 || to < 0 ? thrum__source_error_of(errno)
					   : thrum__source_packing_create(from, to, &packing);
	}
	if (error) {
		close(from);
		close(to);
	}
	while (!error && (error = thrum__source_packing_step(packing)) > 0)
		error = 0;
	thrum__source_packing_destroy(packing);
	if (!error && (rename(part, name) < 0 || unlink(file) < 0))
		error = thrum__source_error_of(errno);
	if (!error)
		return 0;
	if (to >= 0)
		unlink(part);
	return thrum__read_error_set(info, error, 0, "can't be compressed: %s",
		thrum_error_message(error));
}
