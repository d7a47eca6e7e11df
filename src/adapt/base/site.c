/* SPDX-License-Identifier: ISC */
/* Callers' addresses as call sites, and addresses as text. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/auxv.h>
#include <unwind.h>

#include "adapt/base/base.h"
#include "adapt/base/cell.h"
#include "format/format.h"
#include "port/port.h"

#define SITES 8192u
#define TRIES 32
#define FRAMES 16   /* of this library, between a look at the stack and its caller */
#define CALL_SIZE 5 /* bytes of a call that names its function */
#define PAGE 4096
#define ABOVE_SHOWN 2 /* in a label */
#define JUMP_MAX 1024 /* bytes of a function that are searched for a jump */

static struct thrum_site sites[SITES];
static struct thrum_site elsewhere = {.file = "?", .function = "?"};

__thread const void *thrum__adapt_callback __attribute__((tls_model("initial-exec")));
__thread const void *thrum__adapt_spawner __attribute__((tls_model("initial-exec")));

const void *thrum__adapt_caller(const void *caller)
{
	static struct code own;

	/* A callback jumped to the function: source/symbols/dwarf.c looks for the jump. */
	return thrum__adapt_callback && !thrum__adapt_chain_at(caller) &&
			thrum__adapt_is_within(&own, (const void *)(uintptr_t)thrum__adapt_site,
				caller)
		? (const char *)thrum__adapt_callback + THRUM__JUMPED
		: caller;
}

/* ---- Callers of callers ------------------------------------------------------------------------ */

struct unwinding {
	const void *caller, *above;
	const void *begins; /* the function in which the caller lies */
	bool is_next;
	int left; /* frames that may be looked at */
};

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *data)
{
	struct unwinding *unwinding = data;
	const void *at = (const void *)_Unwind_GetIP(context);

	if (unwinding->is_next)
		unwinding->above = at;
	unwinding->is_next = at == unwinding->caller;
	if (unwinding->is_next)
		unwinding->begins = (const void *)_Unwind_GetRegionStart(context);
	return unwinding->above || --unwinding->left == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* The end of the code at an address, as far as it is to be searched. */
static const void *code_end(const char *address)
{
	const char *page = address + (PAGE - (uintptr_t)address % PAGE);

	return thrum__port_is_code(address + JUMP_MAX - 1) ? address + JUMP_MAX : page;
}

/* A function whose last call is a jump has no frame, but the call above names it. */
const void *thrum__adapt_call_of(const void *returns, const void *begins)
{
	const char *called, *jump;

	if (!begins || !thrum__port_is_code((const char *)returns - CALL_SIZE))
		return returns;
	called = thrum__port_called(returns);
	if (!called || called == begins || !thrum__port_is_code(called))
		return returns;
	jump = thrum__port_find_jump(called, code_end(called), begins);
	return jump && _Unwind_FindEnclosingFunction((void *)(uintptr_t)(jump - 1)) == called
		? jump
		: returns;
}

bool thrum__adapt_is_of_program(const void *address)
{
	static struct code program;

	return thrum__adapt_is_within(&program, (const void *)getauxval(AT_ENTRY),
		address_of_caller(address));
}

struct place thrum__adapt_place(const void *caller)
{
	const void *address = address_of_caller(caller);
	struct unwinding unwinding = {.caller = address, .left = FRAMES};

	if (address != caller)
		return (struct place){address, caller};

	if (thrum__adapt_is_of_program(caller))
		_Unwind_Backtrace(look_at_frame, &unwinding);
	if (!thrum__adapt_is_of_program(unwinding.above))
		return (struct place){caller, NULL};
	return (struct place){caller, thrum__adapt_call_of(unwinding.above, unwinding.begins)};
}

/* ---- Sites ------------------------------------------------------------------------------------- */

struct thrum_site *thrum__adapt_site(const void *caller)
{
	caller = address_of_caller(thrum__adapt_caller(caller));
	uintptr_t bits = (uintptr_t)caller;
	uint32_t at = (uint32_t)((bits ^ bits >> 13) * UINT32_C(0x9e3779b1)) >> 19;

	for (int i = 0; i < TRIES; i++) {
		struct thrum_site *site = &sites[(at + (uint32_t)i) % SITES];
		const char *known = __atomic_load_n(&site->function, __ATOMIC_ACQUIRE);

		if (known == caller)
			return site;
		if (!known &&
			(__atomic_compare_exchange_n(&site->function, &known, (const char *)caller,
				 false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE) ||
				known == caller))
			return site;
	}
	return &elsewhere;
}

struct thrum_site *thrum__adapt_event_site(const void *caller)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at(caller);

	/* The recorder notes its number there. */
	return chain ? (struct thrum_site *)(uintptr_t)&chain->site : thrum__adapt_site(caller);
}

/* Copies as much of a text as there is room for, and returns the place behind it. */
static char *put_text(char *to, const char *end, const char *text)
{
	size_t length = strnlen(text, (size_t)(end - to));

	memcpy(to, text, length);
	return to + length;
}

char *thrum__adapt_put_number(char *to, uint64_t number)
{
	char digits[20];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	memcpy(to, digits + at, sizeof digits - at);
	return to + sizeof digits - at;
}

/* Returns the end of what it wrote. */
static char *put_place(char *to, const char *noun, const void *address)
{
	struct thrum__port_module module;
	const char *end = to + PLACE_MAX - 22; /* less "+0x", 16 digits and a NUL */
	uintptr_t number = (uintptr_t)address;

	to = put_text(to, end, noun);
	to = put_text(to, end, " ");
	if (thrum__port_find_module(address, &module)) {
		const char *slash = strrchr(module.path, '/');

		to = put_text(to, end, slash ? slash + 1 : module.path);
		to = put_text(to, end + 1, "+");
		number -= module.address;
	}
	*to++ = '0';
	*to++ = 'x';
	thrum__port_put_hex(to, number);
	return to + strlen(to);
}

/* Writes where the function was called in which a caller lies, and so on, as far as there is room. */
static void put_above(char *to, const char *end, const struct thrum__site_chain *chain)
{
	for (uint32_t i = 0; chain && i < chain->site.line && i < ABOVE_SHOWN; i++) {
		char place[PLACE_MAX];

		put_place(place, ", called in", chain->above[i]);
		if (strlen(place) >= (size_t)(end - to))
			return;
		to = stpcpy(to, place);
	}
}

void thrum__adapt_label(char to[PLACE_MAX], const char *noun, const void *address)
{
	put_above(put_place(to, noun, address_of_caller(address)), to + PLACE_MAX,
		thrum__adapt_chain_at(address));
}

void thrum__adapt_label_place(char *to, const char *noun, struct place place)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at(place.above);
	char *next = put_place(to, noun, address_of_caller(place.at));

	if (chain)
		put_above(next, to + 2 * PLACE_MAX, chain);
	else if (place.above)
		put_place(next, ", called in", place.above);
}

/* ---- Reasons ----------------------------------------------------------------------------------- */

#define REASON_MAX 56 /* of the words, without the place */
#define REASONS 512u

static struct reason {
	_Atomic uintptr_t key; /* the caller and the sort; 0: it is free */
	_Atomic bool is_made;
	struct thrum_tag tag;
	char text[REASON_MAX + 1 + PLACE_MAX];
} reasons[REASONS];

/* A call with _FORTIFY_SOURCE, such as __poll_chk, has the name of the one for which it stands. */
static void make_reason(struct reason *reason, const char *call, const void *caller,
	const char *sort)
{
	const char *end = reason->text + REASON_MAX;
	size_t size;
	char *to = put_text(reason->text, end, sort);

	to = put_text(to, end, ": ");
	call += call[0] == '_' ? 2 : 0;
	size = strcspn(call, "_");
	to = put_text(to, size < (size_t)(end - to) ? to + size : end, call);
	*to++ = ' ';
	thrum__adapt_label(to, "in", caller);
	reason->tag = (struct thrum_tag)THRUM__TAG(reason->text);
	atomic_store_explicit(&reason->is_made, true, memory_order_release);
}

/* The reason of that sort for a caller. */
static NOINLINE struct thrum_tag *reason_of(const char *call, const void *caller, unsigned sort,
	struct thrum_tag *usual)
{
	uintptr_t bits = (uintptr_t)caller << 2 | sort;
	uint32_t at = (uint32_t)((bits ^ bits >> 13) * UINT32_C(0x9e3779b1)) >> 23;

	for (int i = 0; i < TRIES; i++) {
		struct reason *reason = &reasons[(at + (uint32_t)i) % REASONS];
		uintptr_t known = atomic_load_explicit(&reason->key, memory_order_relaxed);

		if (!known && atomic_compare_exchange_strong(&reason->key, &known, bits)) {
			make_reason(reason, call, caller, usual->name);
			return &reason->tag;
		}
		/* Until another thread has made it: the usual one. */
		if (known == bits)
			return atomic_load_explicit(&reason->is_made, memory_order_acquire)
				? &reason->tag
				: usual;
	}
	return usual;
}

struct thrum_tag *thrum__adapt_work_reason(const char *call, const void *caller, bool is_outside,
	bool is_timed)
{
	static struct thrum_tag usuals[] = {THRUM__TAG(THRUM__REASON_WORK),
		THRUM__TAG(THRUM__REASON_WORK_OUTSIDE), THRUM__TAG(THRUM__REASON_WORK_FOR_A_TIME),
		THRUM__TAG(THRUM__REASON_OUTSIDE_FOR_A_TIME)};
	unsigned sort = (unsigned)is_outside | (unsigned)is_timed << 1;
	struct thrum_tag *usual = sort == 0 ? THRUM_WAIT_FOR_WORK : &usuals[sort];

	return caller ? reason_of(call, caller, sort, usual) : usual;
}
