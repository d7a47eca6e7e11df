/* SPDX-License-Identifier: ISC */
/*
 * Entered by the PVH protocol, which QEMU and Xen speak: 32 bits, no paging, %ebx points to the start
 * info. Maps the first 4 GiB one to one, changes to 64 bits, and calls kernel_main(start info).
 */
	.section .note.Xen, "a", @note
	.balign 4
	.long 4, 4, 18			/* sizes of name and value; XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long start

	.section .text.boot, "ax", @progbits
	.code32
	.globl start
start:
	cli
	cld
	movl %ebx, %edi
	movl $first_tables + 3, top_table
	movl $page_tables + 3, %eax
	xorl %ecx, %ecx
1:	movl %eax, first_tables(, %ecx, 8)
	addl $4096, %eax
	incl %ecx
	cmpl $4, %ecx
	jne 1b
	movl $0x83, %eax		/* present, writable, 2 MiB */
	xorl %ecx, %ecx
2:	movl %eax, page_tables(, %ecx, 8)
	addl $0x200000, %eax
	incl %ecx
	cmpl $2048, %ecx
	jne 2b

	movl %cr4, %eax
	orl $0x20, %eax			/* PAE */
	movl %eax, %cr4
	movl $top_table, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx		/* EFER: long mode */
	rdmsr
	orl $0x100, %eax
	wrmsr
	movl %cr0, %eax
	orl $0x80000001, %eax
	movl %eax, %cr0
	lgdt table_of_segments
	ljmp $8, $start_64

	.code64
start_64:
	movw $16, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss
	movl $stack_end, %esp
	movl %edi, %edi			/* clears the upper half */
	call kernel_main
3:	hlt
	jmp 3b

	.text
	.globl interrupt_entry
interrupt_entry:
	.irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	pushq %\register
	.endr
	cld
	call machine_interrupt		/* the stack is aligned: the processor pushed five words */
	.irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
	popq %\register
	.endr
	iretq

	.globl fault_entry
fault_entry:
	movq %rsp, %rdi
	andq $-16, %rsp
	call machine_fault

	.section .rodata
	.balign 8
segments:
	.quad 0
	.quad 0x00af9b000000ffff	/* 8: code, 64 bits */
	.quad 0x00cf93000000ffff	/* 16: data */
table_of_segments:
	.word . - segments - 1
	.quad segments

	.bss
	.balign 4096
top_table:
	.skip 4096
first_tables:
	.skip 4096
page_tables:
	.skip 4 * 4096
	.skip 16384
stack_end:

	.section .note.GNU-stack, "", @progbits
