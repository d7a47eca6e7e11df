/* SPDX-License-Identifier: ISC */
/*
 * port/cpu.h: inline helpers for the recorder's hot path: branch hints, the time stamp counter,
 * unlocked addition, unaligned stores and short texts. Each has a fallback in plain C. All are
 * async-signal-safe.
 */
#ifndef PORT_CPU_H
#define PORT_CPU_H

#include <stdatomic.h>
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

/* Orders this thread's memory accesses against its own signal handlers. It restrains the compiler
 * only and emits no instruction. */
ALWAYS_INLINE void handler_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

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
 * Returns the processor's counter in sixteenths of a tick: the time stamp counter of x86-64, and
 * sixteen times the slower virtual counter of aarch64 and time of riscv64. 0 on processors without
 * one, where thrum__port_tsc_is_trusted returns false. Nothing orders the reading with the accesses
 * to memory around it: a barrier would cost more than all else of an event.
 */
ALWAYS_INLINE uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count << 4;
#elif defined(__riscv) && __riscv_xlen == 64
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count << 4;
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
 * that starts less than 16 bytes before the end of a page, and the caller copies it another way.
 */
#if defined(__x86_64__) && defined(__SSE2__) && !defined(THRUM__ASAN)

/* A text of at most 15 bytes. */
struct short_text {
	__m128i bytes; /* the text, its NUL, and the bytes behind it */
	size_t size;   /* with the NUL; 0: the text is longer, or too near the end of a page */
};

ALWAYS_INLINE struct short_text read_short_text(const char *from)
{
	struct short_text text = {_mm_setzero_si128(), 0};

	if (UNLIKELY(((uintptr_t)from & 4095) > 4096 - 16))
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
	static const uint8_t keep[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255, 255, 255, 255};
	const void *mask = keep + 16 - text.size;

	_mm_storeu_si128((__m128i *)to,
		_mm_and_si128(text.bytes, _mm_loadu_si128((const __m128i *)mask)));
}

#else

struct short_text {
	const char *from;
	size_t size;
};

ALWAYS_INLINE struct short_text read_short_text(const char *from)
{
	const char *end = (const char *)memchr(from, '\0', 16);

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

#endif

#endif
