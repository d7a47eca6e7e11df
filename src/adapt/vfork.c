/* SPDX-License-Identifier: ISC */
/*
 * The child of vfork runs in its parent's memory until it executes a program or exits. It closes descriptors
 * that its parent still has, and must not change what the adapters know of them. So a thread notes that it
 * calls vfork, and asks the kernel at each such change whether it is the child, until it is the parent again.
 *
 * vfork returns twice to the frame of its caller. So its stand-in has no frame when it jumps to the real
 * function.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "adapt/base/base.h"
#include "adapt/relatives/relatives.h"

__thread bool thrum__adapt_may_be_vforked __attribute__((tls_model("initial-exec")));

bool thrum__adapt_asks_vforked(void)
{
	if (is_limited())
		return false;
	thrum__adapt_may_be_vforked = getpid() != thrum__adapt_known_pid();
	return thrum__adapt_may_be_vforked;
}

#if defined __x86_64__ || defined __aarch64__ || defined __arm__
REAL(vfork)

void *thrum__adapt_vforks(const void *caller);

/* The stand-in calls this with its caller, and jumps to what this returns. */
__attribute__((used)) void *thrum__adapt_vforks(const void *caller)
{
	thrum__adapt_may_be_vforked = true;
	thrum__adapt_children_started();
	return (void *)(uintptr_t)real_vfork(caller);
}

__asm__(".text\n"
	".globl vfork\n"
#if defined __x86_64__
	".type vfork, @function\n"
	"vfork:\n"
	"	endbr64\n"
	"	movq (%rsp), %rdi\n"
	"	subq $8, %rsp\n"
	"	call thrum__adapt_vforks\n"
	"	addq $8, %rsp\n"
	"	jmp *%rax\n"
#elif defined __aarch64__
	".type vfork, %function\n"
	"vfork:\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x0, x30\n"
	"	bl thrum__adapt_vforks\n"
	"	ldp x29, x30, [sp], #16\n"
	"	mov x16, x0\n"
	"	br x16\n"
#else
	".arm\n"
	".type vfork, %function\n"
	"vfork:\n"
	"	push {r4, lr}\n"
	"	mov r0, lr\n"
	"	bl thrum__adapt_vforks\n"
	"	pop {r4, lr}\n"
	"	bx r0\n"
#endif
	".size vfork, . - vfork\n");
#endif
