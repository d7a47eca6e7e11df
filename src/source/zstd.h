/* SPDX-License-Identifier: ISC */
/* source/zstd: compressed files. Without libzstd none can be read or written. */
#ifndef SOURCE_ZSTD_H
#define SOURCE_ZSTD_H

#include <thrum/trace.h>

/* Tells whether thrum was built with libzstd. */
bool thrum__source_can_compress(void);

/* Tells whether a file begins as compressed ones do, and can be unpacked. */
bool thrum__source_is_compressed(int fd);

/*
 * Unpacks a file to an unlinked temporary one. If the file is damaged or cut off, that has the bytes
 * before the damage, and a reader tells of the rest as missing. Bytes that would all be zero take no
 * room. Stops at the size that the recording's header gives, and when a file grows more than a
 * thousandfold without being zeros: nobody's recording does. Returns the new descriptor, which the
 * caller closes, or a negative enum thrum_error.
 */
int thrum__source_unpack(int fd, struct thrum_error_info *);

/* A file that is being compressed, in steps. */
struct thrum__source_packing;

/* Begins to compress the file `from` to the new file `to`. On success it owns both descriptors.
 * Returns 0 or a negative enum thrum_error. */
int thrum__source_packing_create(int from, int to, struct thrum__source_packing **);
/* Compresses the next megabyte. Returns 1, 0 when all is done, or a negative enum thrum_error. */
int thrum__source_packing_step(struct thrum__source_packing *);
/* Closes both files. NULL is allowed. */
void thrum__source_packing_destroy(struct thrum__source_packing *);

/* Compresses a whole file to a new one beside it, `file` with ".zst", and removes the first. An older
 * compressed file is replaced. Returns 0 or a negative enum thrum_error. */
int thrum__source_pack_file(const char *file, struct thrum_error_info *);

#endif
