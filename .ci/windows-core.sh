#!/usr/bin/env bash
# The core's tests as a Windows program, under Wine: what a file system does there shows on any machine.
# With --prefix it only makes ready what programs run in.
# Needs rustup's target x86_64-pc-windows-gnu and, on Debian, the packages gcc-mingw-w64-x86-64 and wine64. Not part of .ci/run.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-pc-windows-gnu
build="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/carrel-build/target}"
export CARGO_TARGET_DIR="$build" PATH="$PATH:/usr/lib/wine" WINEDEBUG=-all WINEPREFIX="$build/wine"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine64

# Rust's library takes its random numbers from a DLL that Wine has from version 9 on.
wine64 wineboot --init >/dev/null 2>&1 || true
if [[ ! -e "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" ]]; then
  x86_64-w64-mingw32-gcc -shared -x c -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
C
fi
[[ ${1:-} == --prefix ]] && exit
cargo test --locked --target "$target" -p carrel-core -- --test-threads=1
