#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that take their lock by a small function of their own: its callers are named.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# A function without a name: a build without libdw, or a processor whose frames aren't known.
other='wrappers\+0x'
[[ $(uname -m) == x86_64 ]] || other='wrappers\+0x|take_[a-z]*\]'

# names NAME WRAPPER KEEPER VISITOR: the one that keeps the lock and the one that waits for it.
names() {
	has "$1" why "Ends, but still holds .mutex lock.*($2 in $3\]|$other)"
	has "$1" why "Waits for .mutex lock.*($2 in $4\]|$other)"
}

for case in plain linked grown inner mixed jump once jumping inlined; do
	told[$case]='Ends, but still holds .mutex lock'
	begin "$case" "$programs/wrappers" "$case"
	soon "fine-$case" "$programs/wrappers" "$case" fine
done
all_same
wait 2>/dev/null
names plain take_plain keep visit
names linked take_linked keep visit
# The way to the caller depends on what the function took of its stack.
names grown take_grown keep visit
names inner 'take_plain in take_inner' keep visit
names mixed 'take_plain in take_mixed' keep visit
names jump take_plain keep_by_jump visit
names jumping take_jumping keep_own visit_own
names inlined take_inlined keep_own visit_own
# Nobody else calls that function, so it says enough.
has once why "Ends, but still holds .mutex lock.*( take_once\]|$other)"
for case in plain linked grown inner mixed jump once jumping inlined; do
	has "fine-$case" why '^no findings'
done
exit "$failed"
