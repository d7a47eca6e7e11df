/* SPDX-License-Identifier: ISC */
/*
 * malloc in less code than wasi-libc's. Chunks lie one behind the other. A free one is in the list of its
 * size class. There are four classes for each power of two. Free neighbours become one chunk.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 65536u
#define STEP 256 /* pages, the least growth; else an eighth of the memory */
#define HEAD 8u
#define LEAST 16u
#define MOST 0xffff0000u
#define USED 1u
#define LOOKS 16 /* chunks of the size's own class that are looked at */

struct chunk {
	uint32_t before; /* size of the chunk before this one; 0: there is none */
	uint32_t size;   /* with the head, a multiple of 8; plus USED */
	/* While it is free: */
	struct chunk *next, *previous;
};

extern char __heap_base;
static struct chunk *lists[128];
static uint32_t filled[4]; /* by list: whether it has a chunk */
static struct chunk *last; /* a used head behind all others */

static struct chunk *behind(struct chunk *chunk, uint32_t size)
{
	return (struct chunk *)((char *)chunk + size);
}

static unsigned class_of(uint32_t size)
{
	unsigned power = 31 - (unsigned)__builtin_clz(size);

	return power << 2 | (size >> (power - 2) & 3);
}

static void take_out(struct chunk *chunk)
{
	unsigned class = class_of(chunk->size);

	if (chunk->next)
		chunk->next->previous = chunk->previous;
	if (chunk->previous)
		chunk->previous->next = chunk->next;
	else if (!(lists[class] = chunk->next))
		filled[class / 32] &= ~(1u << class % 32);
}

/* Frees a chunk of this size, whose `before` is right. */
static void release(struct chunk *chunk, uint32_t size)
{
	struct chunk *next = behind(chunk, size);
	struct chunk *before = (struct chunk *)((char *)chunk - chunk->before);
	unsigned class;

	if (!(next->size & USED)) {
		take_out(next);
		size += next->size;
	}
	if (chunk->before > 0 && !(before->size & USED)) {
		take_out(before);
		size += before->size;
		chunk = before;
	}
	class = class_of(size);
	behind(chunk, size)->before = chunk->size = size;
	chunk->previous = NULL;
	chunk->next = lists[class];
	if (chunk->next)
		chunk->next->previous = chunk;
	lists[class] = chunk;
	filled[class / 32] |= 1u << class % 32;
}

/* Uses a part of a chunk, and frees the rest of it. */
static void *use(struct chunk *chunk, uint32_t all, uint32_t size)
{
	if (all - size < LEAST)
		size = all;
	chunk->size = size | USED;
	behind(chunk, size)->before = size;
	if (size < all)
		release(behind(chunk, size), all - size);
	return (char *)chunk + HEAD;
}

/* Makes room for `size` bytes at the end. Each growth of the memory makes new views in JavaScript necessary
 * and may move all of it. */
static bool grow(uint32_t size)
{
	uint32_t have = __builtin_wasm_memory_size(0), missing = size / PAGE + 1;
	uint32_t step = have / 8 > STEP ? have / 8 : STEP;
	struct chunk *end = last;

	/* Near the limit, just as much as is needed. */
	if (__builtin_wasm_memory_grow(0, missing > step ? missing : step) == SIZE_MAX &&
		__builtin_wasm_memory_grow(0, missing) == SIZE_MAX)
		return false;
	if (!end) {
		end = (struct chunk *)(((uintptr_t)&__heap_base + 7) & ~(uintptr_t)7);
		end->before = 0;
	}
	last = (struct chunk *)(__builtin_wasm_memory_size(0) * PAGE - HEAD);
	last->size = HEAD | USED;
	release(end, (uint32_t)((char *)last - (char *)end));
	return true;
}

/* Finds a free chunk; NULL: none is so large. */
static struct chunk *find(uint32_t size)
{
	struct chunk *chunk = lists[class_of(size)];
	unsigned class = class_of(size) + 1;

	for (unsigned i = 0; chunk && i < LOOKS; i++, chunk = chunk->next)
		if (chunk->size >= size)
			return chunk;
	for (; class < 128; class = (class | 31) + 1) {
		uint32_t larger = filled[class / 32] >> class % 32;

		if (larger)
			return lists[class + (unsigned)__builtin_ctz(larger)];
	}
	return NULL;
}

static uint32_t size_for(size_t wanted)
{
	return wanted < LEAST - HEAD ? LEAST : (wanted + HEAD + 7) & ~7u;
}

void *malloc(size_t wanted)
{
	uint32_t size = size_for(wanted);
	struct chunk *chunk = NULL;

	while (wanted < MOST && !(chunk = find(size)) && grow(size))
		;
	if (!chunk) {
		errno = ENOMEM;
		return NULL;
	}
	take_out(chunk);
	return use(chunk, chunk->size, size);
}

void free(void *memory)
{
	struct chunk *chunk = (struct chunk *)((char *)memory - HEAD);

	if (memory)
		release(chunk, chunk->size & ~USED);
}

void *calloc(size_t count, size_t each)
{
	uint64_t size = (uint64_t)count * each;
	void *memory = malloc(size < MOST ? (size_t)size : MOST);

	return memory ? memset(memory, 0, (size_t)size) : NULL;
}

void *realloc(void *memory, size_t wanted)
{
	struct chunk *chunk = (struct chunk *)((char *)memory - HEAD), *next;
	uint32_t size = size_for(wanted), have;
	void *moved;

	if (!memory)
		return malloc(wanted);
	have = chunk->size & ~USED;
	next = behind(chunk, have);
	if (wanted < MOST && !(next->size & USED) && have + (uint64_t)next->size >= size) {
		take_out(next);
		have += next->size;
	}
	if (wanted < MOST && have >= size)
		return use(chunk, have, size);
	moved = malloc(wanted);
	if (moved) {
		memcpy(moved, memory, have - HEAD);
		free(memory);
	}
	return moved;
}
