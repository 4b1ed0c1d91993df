// The device side of elementwise.def: a kernel for each program.
#define FN __attribute__((device)) static
#define NOINLINE __attribute__((noinline))
#include "common.h"
#define PROGRAM(NAME, ...) FN u64 NAME([[maybe_unused]] u64 a, [[maybe_unused]] u64 b) __VA_ARGS__
#include "elementwise.def"
#undef PROGRAM
#define PROGRAM(NAME, ...)                                                                             \
  extern "C" __attribute__((global)) void k_##NAME(const u64* a, const u64* b, u64* out, int n) {      \
    int i = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x();                \
    if (i < n) out[i] = NAME(a[i], b[i]);                                                              \
  }
#include "elementwise.def"
