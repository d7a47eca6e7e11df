#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The example that runs without a system boots in QEMU and hangs. Its recording is found in QEMU's two
# forms of copies of the machine's memory, and `thrum why` names the cause.
set -u
kernel=$BUILD/examples/bare/bare.elf
[[ -e $kernel ]] || {
	echo "skipped: the example isn't built (x86-64 only, without sanitizers)"
	exit 77
}
command -v qemu-system-x86_64 >/dev/null || {
	echo "skipped: qemu-system-x86_64 is missing (Debian: qemu-system-x86)"
	exit 77
}
here=$(mktemp -d)
trap '[[ -z ${machine:-} ]] || kill "$machine" 2>/dev/null; rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

# A clock that counts instructions (-icount): on a busy machine, too, the tasks run at the same ticks, so that
# the same two commands end together.
# The monitor reads commands from a pipe. The pipe stays open for reading here, so that writing never
# waits for QEMU.
mkfifo commands
exec 3<>commands
timeout 100 qemu-system-x86_64 -accel tcg -icount shift=4,sleep=off -kernel "$kernel" -m 32 -nodefaults \
	-display none -no-reboot -serial file:serial -monitor stdio <&3 >monitor 2>&1 &
machine=$!
for ((i = 0; i < 800; i++)); do
	grep -q hangs serial 2>/dev/null && break
	kill -0 "$machine" 2>/dev/null || break
	sleep 0.1
done
grep -q "^bare: hangs after 70 blocks" serial || {
	echo "the kernel doesn't get as far as it should: $(cat serial monitor)"
	exit 1
}
printf 'pmemsave 0 0x2000000 raw\ndump-guest-memory elf\nquit\n' >&3
wait "$machine"
machine=

for copy in raw elf; do
	"$THRUM" why --memory=$copy >answer
	status=$?
	[[ $status == 1 ]] || wrong "$copy: thrum why has status $status"
	for part in 'read block 30 of reader 0. never resolves' \
		'Waits for .disk command for block 30.; nobody resolves it'; do
		LC_ALL=C.UTF-8 grep -q "$part" answer || wrong "$copy: thrum why says: $(cat answer)"
	done
done
"$THRUM" snapshot --memory=raw -o bare.thrum 2>err || wrong "no copy: $(cat err)"
[[ $(cat err) != *"not recorded"* ]] || wrong "something is lost: $(cat err)"
[[ $("$THRUM" info --format=tsv bare.thrum) =~ damaged.0 ]] || wrong "the copy is damaged"
exit $failed
