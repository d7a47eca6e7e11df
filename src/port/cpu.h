/* SPDX-License-Identifier: ISC */
/*
 * port/cpu.h: inline helpers for the recorder's hot path: branch hints, the time stamp counter,
 * unlocked addition, tests of shared words, unaligned stores and short texts. Each has a fallback in
 * plain C. All are async-signal-safe.
 */
#ifndef PORT_CPU_H
#define PORT_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(__SANITIZE_ADDRESS__)
#define THRUM__ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THRUM__ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define THRUM__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THRUM__TSAN 1
#endif
#endif

/* Orders this thread's memory accesses against its own signal handlers. It restrains the compiler
 * only and emits no instruction. */
ALWAYS_INLINE void handler_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Makes the compiler compute the variable here, and forget how. */
#define COMPUTE(variable) __asm__("" : "+r"(variable))

/* Stores the stack pointer, or an address near it, in one instruction. */
ALWAYS_INLINE void store_stack_pointer(uintptr_t *to)
{
#if defined(__x86_64__) && defined(__LP64__)
	__asm__ volatile("movq %%rsp, %0" : "=m"(*to));
#elif defined(__aarch64__)
	uintptr_t here;

	__asm__ volatile("mov %0, sp" : "=r"(here));
	*to = here;
#else
	*to = (uintptr_t)__builtin_frame_address(0);
#endif
}

/*
 * Returns the processor's counter in thirty-seconds of a tick: twice the time stamp counter of x86-64,
 * and 32 times the slower virtual counter of aarch64 and time of riscv64. 0 on processors without
 * one, where thrum__port_tsc_is_trusted returns false. Nothing orders the reading with the accesses
 * to memory around it: a barrier would cost more than all else of an event.
 */
ALWAYS_INLINE uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	uint64_t low, high;

	/* The builtin would be shifted once more. */
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (high << 33) + low * 2;
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count << 5;
#elif defined(__riscv) && __riscv_xlen == 64
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count << 5;
#else
	return 0;
#endif
}

/*
 * Adds `amount` to *value in one instruction, without locking the bus. So neither this thread nor
 * its signal handlers see half an addition. Only one thread may change *value; others may read it.
 */
ALWAYS_INLINE void add_unlocked(int64_t *value, int64_t amount)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*value) : "er"(amount) : "cc");
#else
	__atomic_fetch_add(value, amount, __ATOMIC_RELAXED);
#endif
}

/* 64 and 32 bits of memory, whatever lies there. */
typedef uint64_t __attribute__((may_alias)) thrum__word;
typedef uint32_t __attribute__((may_alias)) thrum__half;

/*
 * Tests of words that other threads may store to at any time. Each is an atomic load and a comparison,
 * in one instruction; compilers make two of them.
 *
 * is_below: whether `place` is below a limit. has_bits: whether any of the bits is set. Both are relaxed.
 * holds, holds_half: whether a word is `value`, with acquire order.
 */
#if defined(__x86_64__) && defined(__LP64__) && !defined(THRUM__TSAN)

ALWAYS_INLINE bool is_below(const uint8_t *place, const _Atomic(uint8_t *) *limit)
{
	bool is_below;

	__asm__ volatile("cmpq %2, %1" : "=@ccb"(is_below) : "r"(place), "m"(*limit));
	return is_below;
}

ALWAYS_INLINE bool has_bits(const uint32_t *word, uint32_t bits)
{
	bool has_bits;

	__asm__ volatile("testl %2, %1" : "=@ccnz"(has_bits) : "m"(*word), "ri"(bits));
	return has_bits;
}

ALWAYS_INLINE bool holds(const thrum__word *word, uint64_t value)
{
	bool holds;

	__asm__ volatile("cmpq %2, %1" : "=@cce"(holds) : "m"(*word), "r"(value) : "memory");
	return holds;
}

ALWAYS_INLINE bool holds_half(const thrum__half *word, uint32_t value)
{
	bool holds;

	__asm__ volatile("cmpl %2, %1" : "=@cce"(holds) : "m"(*word), "ri"(value) : "memory");
	return holds;
}

#else

ALWAYS_INLINE bool is_below(const uint8_t *place, const _Atomic(uint8_t *) *limit)
{
	return place < atomic_load_explicit(limit, memory_order_relaxed);
}

ALWAYS_INLINE bool has_bits(const uint32_t *word, uint32_t bits)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bits;
}

ALWAYS_INLINE bool holds(const thrum__word *word, uint64_t value)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

ALWAYS_INLINE bool holds_half(const thrum__half *word, uint32_t value)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

#endif

/* Stores 4 or 2 bytes; `to` needs no alignment. */
ALWAYS_INLINE void put32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof value);
}

ALWAYS_INLINE void put16(uint8_t *to, uint16_t value)
{
	memcpy(to, &value, sizeof value);
}

/*
 * A short text is handled as one vector of 16 bytes: one load, one compare, one store. The load
 * reads up to 15 bytes beyond the text, but never beyond its page: read_short_text rejects a text
 * that starts less than 16 bytes before the end of a page, and the caller copies it another way. The same
 * test rejects NULL, and with it whatever starts a page. A medium text is three such vectors.
 */
#if defined(__x86_64__) && defined(__SSE2__) && !defined(THRUM__ASAN) && !defined(THRUM__TSAN)

/* A text of at most 15 bytes. */
struct short_text {
	__m128i bytes; /* the text, its NUL, and the bytes behind it */
	size_t size;   /* with the NUL; 0: the text is longer, or too near the end of a page */
};

/* From place 48 - n on it has n bytes of ones, then zeros. */
static const uint8_t text_mask[96] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

ALWAYS_INLINE struct short_text read_short_text(const char *from)
{
	struct short_text text = {_mm_setzero_si128(), 0};

	if (UNLIKELY((((uintptr_t)from + 15) & (4096 - 16)) == 0))
		return text;
	text.bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
	__m128i zeros = _mm_cmpeq_epi8(text.bytes, _mm_setzero_si128());
	unsigned ends = (unsigned)_mm_movemask_epi8(zeros);

	if (LIKELY(ends))
		text.size = (unsigned)__builtin_ctz(ends) + 1;
	return text;
}

/* Writes 16 bytes for a text of any size. */
ALWAYS_INLINE void put_short_text(void *to, struct short_text text)
{
	_mm_storeu_si128((__m128i *)to, text.bytes);
}

/* Writes 16 bytes, with zeros behind the NUL, for memory that isn't overwritten soon. */
ALWAYS_INLINE void put_short_text_alone(void *to, struct short_text text)
{
	const uint8_t *mask = text_mask + 48;

	COMPUTE(mask);
	mask -= text.size;
	_mm_storeu_si128((__m128i *)to,
		_mm_and_si128(text.bytes, _mm_loadu_si128((const __m128i *)(const void *)mask)));
}

/* A text of at most 47 bytes, with zeros behind its NUL. */
struct medium_text {
	__m128i first, second, third; /* one after the other */
	size_t size;                  /* as above */
};

ALWAYS_INLINE __m128i load_bytes(const void *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

/* Returns a bit for each byte that is a NUL. */
ALWAYS_INLINE uint64_t ends_in(__m128i bytes)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
}

/* Without loops: in these, compilers would keep the bytes in memory. */
ALWAYS_INLINE struct medium_text read_medium_text(const char *from)
{
	struct medium_text text = {.size = 0};
	char copy[48];

	/* A text that may end before the end of its page doesn't. */
	if (UNLIKELY(((uintptr_t)from & 4095) > 4096 - sizeof copy)) {
		const char *end = (const char *)memchr(from, '\0', sizeof copy);

		if (!end)
			return text;
		memset(copy, 0, sizeof copy);
		memcpy(copy, from, (size_t)(end - from) + 1);
		from = copy;
	}
	text.first = load_bytes(from);
	text.second = load_bytes(from + 16);
	text.third = load_bytes(from + 32);
	uint64_t ends = ends_in(text.first) | ends_in(text.second) << 16 |
		ends_in(text.third) << 32;

	if (UNLIKELY(!ends))
		return text;
	text.size = (unsigned)__builtin_ctzll(ends) + 1;
	const uint8_t *mask = text_mask + 48 - text.size;

	text.first = _mm_and_si128(text.first, load_bytes(mask));
	text.second = _mm_and_si128(text.second, load_bytes(mask + 16));
	text.third = _mm_and_si128(text.third, load_bytes(mask + 32));
	return text;
}

/* Writes 48 bytes for a text of any size. */
ALWAYS_INLINE void put_medium_text(void *to, struct medium_text text)
{
	__m128i *at = (__m128i *)to;

	_mm_storeu_si128(at, text.first);
	_mm_storeu_si128(at + 1, text.second);
	_mm_storeu_si128(at + 2, text.third);
}

#else

struct short_text {
	const char *from;
	size_t size;
};

ALWAYS_INLINE struct short_text read_short_text(const char *from)
{
	const char *end = from ? (const char *)memchr(from, '\0', 16) : NULL;

	return (struct short_text){from, end ? (size_t)(end - from) + 1 : 0};
}

ALWAYS_INLINE void put_short_text_alone(void *to, struct short_text text)
{
	memset(to, 0, 16);
	memcpy(to, text.from, text.size);
}

ALWAYS_INLINE void put_short_text(void *to, struct short_text text)
{
	put_short_text_alone(to, text);
}

struct medium_text {
	const char *from;
	size_t size;
};

ALWAYS_INLINE struct medium_text read_medium_text(const char *from)
{
	const char *end = (const char *)memchr(from, '\0', 48);

	return (struct medium_text){from, end ? (size_t)(end - from) + 1 : 0};
}

ALWAYS_INLINE void put_medium_text(void *to, struct medium_text text)
{
	memcpy(to, text.from, text.size);
}

#endif

#endif
