/* SPDX-License-Identifier: ISC */
/*
 * Hashes of numbers and texts, for tables in memory. Results differ between processors and must not
 * be written to files, except those of thrum__base_hash_byte. A table that holds texts from a trace
 * uses its own address as the seed: nobody who makes a trace knows it, so nobody can choose texts
 * that collide.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), byte by byte: for results that change a
 * picture or a file, because it is the same on all machines. Begin with THRUM__HASH_START. */
#define THRUM__HASH_START UINT32_C(2166136261)
static inline uint32_t thrum__base_hash_byte(uint32_t hash, unsigned char byte)
{
	return (hash ^ byte) * UINT32_C(16777619);
}

/* Two rounds of multiplication by odd constants and folding, as in Fibonacci hashing (Knuth, TAOCP
 * 3, 6.4): every bit of the value changes the low bits of the result. */
static inline uint64_t thrum__base_hash_number(uint64_t seed, uint64_t value)
{
	value = (value ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 32 ^ seed) * UINT64_C(0xd6e8feb86659fd93);
	return value ^ value >> 32;
}

static inline uint64_t thrum__base_hash_word(const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof word);
	return word;
}

/* Reads eight bytes at a time and lets the last eight overlap, so that no byte is read alone. */
static inline uint64_t thrum__base_hash_text(uint64_t seed, const char *text, size_t size)
{
	uint64_t hash = seed ^ (uint64_t)size << 32, last = 0;
	uint32_t front, back;

	if (size >= 8) {
		for (size_t i = 0; i + 8 < size; i += 8) {
			hash = (hash ^ thrum__base_hash_word(text + i)) *
				UINT64_C(0x9e3779b97f4a7c15);
			hash ^= hash >> 32;
		}
		last = thrum__base_hash_word(text + size - 8);
	} else if (size >= 4) {
		memcpy(&front, text, sizeof front);
		memcpy(&back, text + size - 4, sizeof back);
		last = front | (uint64_t)back << 32;
	} else if (size > 0) {
		last = (uint64_t)(uint8_t)text[0] << 16 | (uint64_t)(uint8_t)text[size / 2] << 8 |
			(uint8_t)text[size - 1];
	}
	return thrum__base_hash_number(hash, last);
}

#endif
