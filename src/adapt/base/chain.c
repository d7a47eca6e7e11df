/* SPDX-License-Identifier: ISC */
/*
 * Chains: the place of a call in a small function of the program, with where that function was called, and so
 * on. Programs call the functions that adapters stand in for through small ones of their own, and only their
 * callers tell one use from another.
 *
 * From a place of the program the way to where its function returns is constant: so many bytes from the stack
 * pointer, or from the frame pointer, as .eh_frame tells. It is read there once for each place.
 */
#define _GNU_SOURCE
#include "adapt/base/base.h"

#define CHAINS 2048u /* a power of two */
#define TRIES 8u
#define SMALL 256 /* bytes of a function's code: that of a larger one tells enough */
#define FAR 65536 /* bytes: a larger frame is none of a small function */
#define WORD sizeof(uintptr_t)
#define PAGE ((uintptr_t)4096) /* no page is smaller */
#define WORDS (THRUM__ABOVE_MAX + 1)

/* libgcc has it, and unwinds by it. */
struct bases {
	const void *text, *data, *function;
};
const void *_Unwind_Find_FDE(const void *address, struct bases *);

/* ---- Frames ------------------------------------------------------------------------------------ */

enum sort {
	UNKNOWN,
	OTHER, /* a large function, a library's, or one that can't be read */
	BY_STACK,
	BY_POINTER
};

/* How a function's frame lies at a call in it. */
struct frame {
	_Atomic uintptr_t caller;    /* 0: it is free */
	_Atomic uint32_t sort;       /* stored last */
	int32_t end, returns, saved; /* see struct thrum__port_frame */
	int32_t at;                  /* end + returns */
};
static struct frame frames[1 << CHAIN_BITS];
_Atomic uintptr_t thrum__adapt_unchained[1 << CHAIN_BITS];

/* Pages of stacks behind that of the stack pointer, and whether they can be read. */
#define LOOKED 4
#define CAN_READ 1u
static __thread uintptr_t looked_at[LOOKED] __attribute__((tls_model("initial-exec")));

static uintptr_t read_word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* Whether a word of the stack lies on the page of the stack pointer, or on one that could be read before. */
static inline bool is_near(uintptr_t at, uintptr_t stack)
{
	return LIKELY((at ^ (stack - WORD)) < PAGE) ||
		looked_at[at / PAGE % LOOKED] == (at & ~(PAGE - 1)) + CAN_READ;
}

/* Whether there is such a word. A coroutine may have begun at the end of its stack, without an address to
 * which it returns: nothing need lie there. */
static bool may_read(uintptr_t at, uintptr_t stack)
{
	uintptr_t page = at & ~(PAGE - 1), *looked = &looked_at[at / PAGE % LOOKED];

	if (is_near(at, stack))
		return true;
	if (page == *looked || is_limited())
		return false;
	*looked = page + (thrum__port_can_read((const void *)page) ? CAN_READ : 0);
	return *looked != page;
}

static uint32_t read_frame(struct frame *frame, const void *caller)
{
	struct thrum__port_frame found;
	struct bases bases;
	const void *entry;

	if (!thrum__adapt_is_of_program(caller))
		return OTHER;
	entry = _Unwind_Find_FDE((const char *)caller - 1, &bases);
	if (!entry || !thrum__port_find_frame(entry, bases.function, caller, &found) ||
		found.size > SMALL || found.end > FAR || found.saved < -FAR || found.returns < -FAR)
		return OTHER;
	frame->end = found.end;
	frame->returns = found.returns;
	frame->saved = found.saved;
	frame->at = found.end + found.returns;
	return found.by_pointer ? BY_POINTER : BY_STACK;
}

/* The frame of a call. NULL: there are too many. */
static struct frame *find_frame(uintptr_t caller)
{
	uint32_t at = chain_hash(caller);

	for (uint32_t i = 0; i < TRIES; i++) {
		struct frame *frame = &frames[(at + i) % (1u << CHAIN_BITS)];
		uintptr_t known = 0;

		if (atomic_compare_exchange_strong(&frame->caller, &known, caller))
			atomic_store_explicit(&frame->sort, read_frame(frame, (const void *)caller),
				memory_order_release);
		if (!known || known == caller)
			return frame;
	}
	return NULL;
}

static uint32_t sort_of(const struct frame *frame)
{
	return frame ? atomic_load_explicit(&frame->sort, memory_order_acquire) : OTHER;
}

/* ---- Chains ------------------------------------------------------------------------------------ */

enum state {
	FREE,
	MAKING,
	MADE
};
/* How the words of a chain are found again. */
enum way {
	ANEW,      /* by the frames */
	BY_PLACES, /* each is so many bytes from the stack pointer */
	BY_LINKS /* each is behind the caller's frame pointer, to which the frame pointer points */
};

struct chain {
	struct thrum__site_chain known; /* the first member */
	/* As the stack has them; a function may have jumped to the next one. */
	uintptr_t words[WORDS];
	const void *result; /* the chain, or the caller if nothing of the program called it */
	_Atomic uint32_t state;
	uint32_t count;
	enum way way;
	uint32_t places[WORDS];
};
static struct chain chains[CHAINS];
/* Those that were seen last, by the hash of their first two words. */
static struct chain *_Atomic recent[1 << CHAIN_BITS];

const struct thrum__site_chain *thrum__adapt_chain_at(const void *caller)
{
	return (uintptr_t)caller - (uintptr_t)chains < sizeof chains ? caller : NULL;
}

/* The function in which a place lies; NULL: not known. */
static const void *function_around(uintptr_t place)
{
	struct bases bases;

	return _Unwind_Find_FDE((const char *)place - 1, &bases) ? bases.function : NULL;
}

static void make(struct chain *chain, const struct chain *like)
{
	uint32_t above = 0;

	chain->count = like->count;
	chain->way = like->way;
	memcpy(chain->words, like->words, sizeof chain->words);
	memcpy(chain->places, like->places, sizeof chain->places);
	chain->known.site.function = (const char *)like->words[0];
	for (uint32_t i = 1; i < like->count; i++) {
		if (!thrum__adapt_is_of_program((const void *)like->words[i]))
			break;
		chain->known.above[above++] = thrum__adapt_call_of((const void *)like->words[i],
			function_around(like->words[i - 1]));
	}
	chain->known.site.line = above;
	chain->result = above > 0 ? (const void *)chain : (const void *)like->words[0];
	atomic_store_explicit(&chain->state, MADE, memory_order_release);
}

/* NULL: there are too many, or it is being made. */
static struct chain *find_chain(const struct chain *like)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < like->count; i++)
		at = at * 5 + chain_hash(like->words[i]);
	for (uint32_t i = 0; i < TRIES; i++) {
		struct chain *chain = &chains[(at + i) % CHAINS];
		uint32_t state = FREE;

		if (atomic_compare_exchange_strong(&chain->state, &state, MAKING)) {
			make(chain, like);
			return chain;
		}
		if (state == MADE && chain->count == like->count &&
			memcmp(chain->words, like->words, like->count * WORD) == 0)
			return chain;
	}
	return NULL;
}

/* ---- The stack --------------------------------------------------------------------------------- */

/* Reads the words of the stack by the frames, from that of the caller on. */
static void read_words(struct chain *found, const struct frame *frame, uintptr_t stack,
	uintptr_t pointer)
{
	uintptr_t from = stack;
	bool are_places = true, are_links = true;

	for (found->count = 1; found->count < WORDS && sort_of(frame) > OTHER;
		frame = find_frame(found->words[found->count++])) {
		bool by_stack = sort_of(frame) == BY_STACK;
		uintptr_t end = (by_stack ? stack : pointer) + (uintptr_t)frame->end;
		uintptr_t at = end + (uintptr_t)(intptr_t)frame->returns;

		/* Only if .eh_frame is wrong, as it may be for code that no compiler made. */
		if (end - stack > FAR || end % WORD != 0 || !may_read(at, from))
			break;
		are_places &= by_stack;
		are_links &= !by_stack && frame->end == 2 * (int)WORD &&
			frame->returns == -(int)WORD && frame->saved == -2 * (int)WORD;
		found->places[found->count] = (uint32_t)(at - from);
		found->words[found->count] = read_word(at);
		if (frame->saved) /* it lies below */
			pointer = read_word(end + (uintptr_t)(intptr_t)frame->saved);
		stack = end;
	}
	found->way = are_places ? BY_PLACES : are_links ? BY_LINKS : ANEW;
}

static inline struct chain *_Atomic *recent_of(uintptr_t caller, uintptr_t word)
{
	return &recent[chain_hash(caller << 1 ^ word)];
}

static NOINLINE const void *read_anew(const void *caller, uintptr_t stack, uintptr_t pointer)
{
	const struct frame *frame = find_frame((uintptr_t)caller);
	struct chain found = {.words = {(uintptr_t)caller}}, *chain;

	/* Another thread may read it just now. */
	if (sort_of(frame) == UNKNOWN)
		return caller;
	if (sort_of(frame) == OTHER) {
		atomic_store_explicit(&thrum__adapt_unchained[chain_hash((uintptr_t)caller)],
			(uintptr_t)caller, memory_order_relaxed);
		return caller;
	}
	read_words(&found, frame, stack, pointer);
	if (found.count == 1 || !(chain = find_chain(&found)))
		return caller;
	atomic_store_explicit(recent_of(found.words[0], found.words[1]), chain,
		memory_order_release);
	return chain->result;
}

/* Whether the last word of a chain is where it was. */
_Static_assert(WORDS == 3, "is_there");
static inline bool is_there(const struct chain *chain, uintptr_t stack, uintptr_t pointer)
{
	uintptr_t next;

	if (LIKELY(chain->way == BY_PLACES)) {
		next = stack + chain->places[2];
		return chain->count == 2 ||
			(is_near(next, stack) && read_word(next) == chain->words[2]);
	}
	if (chain->way != BY_LINKS || chain->count == 2)
		return chain->way == BY_LINKS;
	next = read_word(pointer);
	return next - pointer < FAR && is_near(next + WORD, stack) &&
		read_word(next + WORD) == chain->words[2];
}

const void *thrum__adapt_find_chain(const void *caller, uintptr_t stack, uintptr_t pointer)
{
	const struct frame *frame = &frames[chain_hash((uintptr_t)caller)];
	uint32_t sort = atomic_load_explicit(&frame->sort, memory_order_acquire);
	uintptr_t base = sort == BY_STACK ? stack : pointer, word;
	const struct chain *chain;

	if (UNLIKELY(atomic_load_explicit(&frame->caller, memory_order_relaxed) !=
			    (uintptr_t)caller ||
		    sort <= OTHER || base - stack >= FAR))
		return read_anew(caller, stack, pointer);
	base += (uintptr_t)(intptr_t)frame->at;
	if (UNLIKELY(!is_near(base, stack)))
		return read_anew(caller, stack, pointer);
	word = read_word(base);
	chain = atomic_load_explicit(recent_of((uintptr_t)caller, word), memory_order_acquire);
	if (LIKELY(chain && chain->words[1] == word && chain->words[0] == (uintptr_t)caller) &&
		LIKELY(is_there(chain, stack, pointer)))
		return chain->result;
	return read_anew(caller, stack, pointer);
}
