/* SPDX-License-Identifier: ISC */
/*
 * thrum/xen.h: record in a guest of Xen, so that another domain can read the recording, normally dom0.
 * It reads without the guest's help, while the guest runs and also after the guest has crashed.
 *
 *   thrum_xen_start(0, 0);
 *   ...                        in dom0: thrum why --xen NAME
 *   thrum_xen_stop();
 *
 * The library is libthrum-xen. A Linux guest needs the module xen-gntalloc, and rights for
 * /dev/xen/gntalloc and for xenstore. The recording is published as mirage-profile does it in
 * MirageOS: its grant references stand in xenstore at data/mprof/ring-ref below the guest's folder,
 * with commas between them. Beside them, data/mprof/format is "thrum".
 *
 * A thread of the library sleeps until dom0 asks for the guest's time. It stays until the process
 * ends, and takes no signals.
 */
#ifndef THRUM_XEN_H
#define THRUM_XEN_H

#include "thrum.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts recording to `size` bytes that the domain of this number may read and not write; 0 is dom0.
 * `size` is from 256 KiB to 1 GiB, 0 stands for 1 MiB. Linux lends 4 MiB unless the module's
 * parameter `limit` allows more. Thread-safe, not async-signal-safe.
 *
 * Returns 0 or, negated, THRUM_E_ARGUMENT (something is being recorded already), _SIZE,
 * _NOT_FOUND (there is no /dev/xen/gntalloc, or no xenstore: this is no guest of Xen, or a module is
 * missing), _ACCESS, _SPACE (the guest lends as much memory as it may), _MEMORY or _SYSTEM. After an
 * error nothing is recorded.
 */
THRUM__API THRUM__MUST_USE int thrum_xen_start(uint64_t size, unsigned domain);

/* Stops recording and withdraws the trace: new readers don't find it any more, and present ones go on.
 * The end of the program withdraws it, too, unless a signal kills it. Thread-safe, not
 * async-signal-safe. */
THRUM__API void thrum_xen_stop(void);

#ifdef __cplusplus
}
#endif

#endif
