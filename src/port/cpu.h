/* SPDX-License-Identifier: ISC */
/* port/cpu.h: what the hot path needs of the processor, inline. */
#ifndef PORT_CPU_H
#define PORT_CPU_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <x86intrin.h>
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

/* Orders this thread's memory accesses against its own signal handlers: no instruction, only the
 * compiler. */
ALWAYS_INLINE void handler_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* The time stamp counter; 0 where there is none (and thrum__port_tsc_is_trusted says so). */
ALWAYS_INLINE uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return 0;
#endif
}

/*
 * Adds, in one instruction but without locking the bus: whole for this thread and its signal
 * handlers. Only one thread may change *value; others may read it.
 */
ALWAYS_INLINE void add_unlocked(int64_t *value, int64_t amount)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*value) : "er"(amount) : "cc");
#else
	__atomic_fetch_add(value, amount, __ATOMIC_RELAXED);
#endif
}

ALWAYS_INLINE void put32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof value);
}

ALWAYS_INLINE void put16(uint8_t *to, uint16_t value)
{
	memcpy(to, &value, sizeof value);
}

/*
 * Copies a text of less than `room` bytes (a multiple of 16) with its NUL and returns the bytes with
 * the NUL; writes up to the next multiple of 16, zeros behind the NUL. A second copy goes to `also`
 * unless NULL. Returns 0 when the text is longer, or when it lies across a page so that it can't be
 * taken at one go. Reads 16 bytes at a time, beyond the text too, but never beyond its page.
 */
ALWAYS_INLINE size_t copy_text(uint8_t *to, char *also, const char *from, size_t room)
{
#if defined(__x86_64__) && !defined(THRUM__ASAN)
	static const uint8_t keep[32] = {
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

	for (size_t n = 0; n < room; n += 16) {
		if (UNLIKELY(((uintptr_t)(from + n) & 4095) > 4096 - 16))
			return 0;
		__m128i text = _mm_loadu_si128((const __m128i *)(const void *)(from + n));
		__m128i zeros = _mm_cmpeq_epi8(text, _mm_setzero_si128());
		unsigned ends = (unsigned)_mm_movemask_epi8(zeros), length = 16;

		if (LIKELY(ends)) {
			length = (unsigned)__builtin_ctz(ends);
			text = _mm_and_si128(text,
				_mm_loadu_si128((const __m128i *)(const void *)(keep + 16 - length)));
		}
		_mm_storeu_si128((__m128i *)(void *)(to + n), text);
		if (also)
			_mm_storeu_si128((__m128i *)(void *)(also + n), text);
		if (LIKELY(ends))
			return n + length + 1;
	}
	return 0;
#else
	for (size_t n = 0; n < room; n++) {
		if ((to[n] = (uint8_t)from[n]))
			continue;
		memset(to + n, 0, (n + 16) / 16 * 16 - n);
		if (also)
			memcpy(also, to, (n + 16) / 16 * 16);
		return n + 1;
	}
	return 0;
#endif
}

#endif
