#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# bench/instructions/count.sh [PROCESSOR]: counts the instructions of recording calls on aarch64
# or riscv64, with Debian's compiler and QEMU, which logs each instruction. It counts twice, and the
# difference is that of the additional calls. Needs neither a machine of that kind nor a quiet one.
set -euo pipefail
cd "$(dirname "$0")/../.."
processor=${1:-aarch64}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
"$processor-linux-gnu-gcc" -O2 -std=c11 -static -w -D_GNU_SOURCE -DTHRUM_DEBUG=0 -Isrc -Iinclude \
	-o "$here/program" bench/instructions/instructions.c src/{base,port,format,record}/*.c -lm -latomic

count() {
	"qemu-$processor" -singlestep -d exec,nochain -D /dev/stdout "$here/program" "$@" | grep -c '^Trace'
}
for call in off wait resolve switch counter create; do
	few=$(count $call 1000) many=$(count $call 3000)
	echo "$call $(((many - few + 1000) / 2000))"
done
