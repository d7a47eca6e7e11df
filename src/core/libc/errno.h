/* SPDX-License-Identifier: ISC */
/* Nothing here fails by errno. */
#ifndef CORE_LIBC_ERRNO_H
#define CORE_LIBC_ERRNO_H

extern int thrum__core_errno;
#define errno thrum__core_errno

#endif
