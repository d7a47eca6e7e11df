/* SPDX-License-Identifier: ISC */
/*
 * Guesses of how long the next text of an op is: as long as its last short one. So the processor finds the
 * next event at once, and tests meanwhile whether the guess was right, which it mostly was. A search for
 * the text's end would keep it waiting, or depend on whether there is a text, which it can't foresee.
 */
#ifndef READ_MIRAGE_GUESS_H
#define READ_MIRAGE_GUESS_H

#include "read/mirage/packets.h"

enum {
	THRUM__MIRAGE_GUESS_MAX = 15, /* bytes of a text that is guessed, without its NUL */
};

struct thrum__mirage_guesses {
	/* Bytes of each op's next event, with the text. In an array of their own, they take the least steps
	 * to find. */
	uint32_t sizes[THRUM__MIRAGE_OPS];
	struct thrum__mirage_guess {
		/* Bytes of the text's first 16, each as the highest bit of its place: all up to its NUL,
		 * and its NUL alone. Both are 0 if the op has no text. */
		uint64_t until[2], nul[2];
		uint32_t text_size;
	} of[THRUM__MIRAGE_OPS];
};

/* Guesses that the op's next text has so many bytes. A long one changes nothing. */
static inline void thrum__mirage_guess_set(struct thrum__mirage_guesses *guesses, unsigned op,
	size_t text_size)
{
	struct thrum__mirage_guess *guess = &guesses->of[op];
	const uint64_t tops = UINT64_C(0x8080808080808080);
	unsigned top = 8 * (text_size % 8) + 7;

	if (text_size > THRUM__MIRAGE_GUESS_MAX)
		return;
	*guess = (struct thrum__mirage_guess){.text_size = (uint32_t)text_size};
	guesses->sizes[op] = thrum__mirage_ops[op].size;
	if (!thrum__mirage_ops[op].text)
		return;
	guesses->sizes[op] += guess->text_size + 1;
	if (text_size >= 8)
		guess->until[0] = tops;
	guess->until[text_size / 8] = tops >> (63 - top);
	guess->nul[text_size / 8] = UINT64_C(1) << top;
}

/* Sets the highest bits of bytes that are 0. Only the lowest of them is sure, other bits say nothing. */
static inline uint64_t thrum__mirage_zeros(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word;
}

/* Tells whether the text at p is as long as the guess, or its op has none. Reads 16 bytes. */
static inline bool thrum__mirage_guess_is_right(const struct thrum__mirage_guess *guess,
	const uint8_t *p)
{
	uint64_t low = thrum__mirage_zeros(thrum__mirage_load64(p)) & guess->until[0];
	uint64_t high = thrum__mirage_zeros(thrum__mirage_load64(p + 8)) & guess->until[1];

	return ((low ^ guess->nul[0]) | (high ^ guess->nul[1])) == 0;
}

#endif
