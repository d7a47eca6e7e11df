/* SPDX-License-Identifier: ISC */
/*
 * format/request: the place in a process where another program asks its recorder to start or stop.
 *
 * The recorder's library has one of these in its initialized data. Another program of the same user
 * finds it by its first members in the process's memory, and writes to it (process_vm_writev): first
 * the request, then the state, then all bits of the mask. So the next call of any thread leaves
 * the fast path, where the recorder looks at the state. While nobody asks, that costs a call
 * nothing.
 */
#ifndef FORMAT_REQUEST_H
#define FORMAT_REQUEST_H

#include <stdint.h>

#define THRUM__REQUEST_MAGIC "thrum's request"
#define THRUM__REQUEST_VERSION 1u
#define THRUM__REQUEST_ALIGNMENT 64u

/* States. Only the recorder leaves ASKED and TAKEN. */
enum {
	THRUM__REQUEST_NONE,
	THRUM__REQUEST_ASKED,
	THRUM__REQUEST_TAKEN,
	THRUM__REQUEST_DONE,
};

enum {
	THRUM__REQUEST_START = 1,
	THRUM__REQUEST_STOP,
};

struct thrum__request {
	char magic[16];
	/* Its own address, which tells it from a copy of the library's file. */
	struct thrum__request *self;
	uint32_t version, size;
	void *mask; /* 64 bits */
	_Atomic uint32_t state;
	/* The request. */
	uint32_t
		pid; /* the process's own; a child that is made by a system call has a copy of all this */
	uint32_t verb;
	uint32_t full;
	uint32_t counters_only;
	int32_t error; /* the answer: 0 or a negative enum thrum_error */
	uint64_t file_size;
	/* In a request to start: the file, as in struct thrum_config; "": the library's own choice. In
	 * each answer: the file of the recording, or "". */
	char file[4096];
} __attribute__((aligned(THRUM__REQUEST_ALIGNMENT)));

#endif
