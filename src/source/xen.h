/* SPDX-License-Identifier: ISC */
/* The traces of Xen's guests. Internal to source/, apart from tests. */
#ifndef SOURCE_XEN_H
#define SOURCE_XEN_H

#include <stdint.h>

/*
 * Reads a list of grant references as guests publish it: numbers with commas between them; "8-11"
 * stands for 8,9,10,11. Returns their number, at most `max`; 0 for anything else.
 */
uint32_t thrum__source_xen_references(const char *text, uint32_t *references, uint32_t max);

#endif
