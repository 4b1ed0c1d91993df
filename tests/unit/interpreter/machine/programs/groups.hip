// Programs of whole waves and workgroups. Each takes (in, out, n) of u32 and runs on workgroups of 256.
using u32 = unsigned;
using u64 = unsigned long long;
using half2 = _Float16 __attribute__((ext_vector_type(2)));
using float2 = float __attribute__((ext_vector_type(2)));
using float4 = float __attribute__((ext_vector_type(4)));
using half4 = _Float16 __attribute__((ext_vector_type(4)));
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define GID __builtin_amdgcn_workgroup_id_x()
__attribute__((device)) static inline void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL reduce_lds(const u32* in, u32* out, int n) {
  SHARED static u32 s[256];
  u32 t = TID, i = GID * 256 + t;
  s[t] = i < u32(n) ? in[i] : 0;
  sync();
  for (u32 step = 128; step; step >>= 1) {
    if (t < step) s[t] += s[t + step];
    sync();
  }
  out[i] = s[0] + t;
}
KERNEL scan_lds(const u32* in, u32* out, int) {
  SHARED static u32 s[2][256];
  u32 t = TID, i = GID * 256 + t, p = 0;
  s[0][t] = in[i];
  sync();
  for (u32 d = 1; d < 256; d <<= 1, p ^= 1) {
    s[p ^ 1][t] = s[p][t] + (t >= d ? s[p][t - d] : 0);
    sync();
  }
  out[i] = s[p][t];
}
KERNEL transpose_lds(const u32* in, u32* out, int) {
  SHARED static u32 s[16][17];
  u32 t = TID, i = GID * 256 + t;
  s[t / 16][t % 16] = in[i];
  sync();
  out[i] = s[t % 16][t / 16];
}
KERNEL histogram(const u32* in, u32* out, int) {
  SHARED static u32 s[64];
  u32 t = TID, i = GID * 256 + t;
  if (t < 64) s[t] = 0;
  sync();
  __hip_atomic_fetch_add(&s[in[i] & 63], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  sync();
  out[i] = s[t & 63];
}
KERNEL atomics(const u32* in, u32* out, int n) {
  u32 x = in[GID * 256 + TID];
  __hip_atomic_fetch_add(&out[0], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(&out[1], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min(&out[2], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&out[3], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(&out[4], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add((u64*)(out + 6), u64(x) << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max((int*)(out + 8), int(x), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  u32 old = out[5], seen;   // compare and swap
  do {
    seen = old;
    __hip_atomic_compare_exchange_strong(&out[5], &old, seen * 3 + 0 * x + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  } while (old != seen);
}
KERNEL ballots(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID;
  u64 m = __builtin_amdgcn_ballot_w64(in[i] & 1);
  u32 below = __builtin_amdgcn_mbcnt_hi(u32(m >> 32), __builtin_amdgcn_mbcnt_lo(u32(m), 0));
  out[i] = below * 1000 + u32(__builtin_popcountll(m));
}
KERNEL lane_moves(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID, x = in[i];
  int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  u32 a = __builtin_amdgcn_ds_bpermute(((lane + 5) & 63) * 4, x);
  u32 b = __builtin_amdgcn_ds_permute((lane ^ 9) * 4, x);
  u32 c = __builtin_amdgcn_ds_swizzle(x, 0x041f);          // lane ^ 1
  u32 d = __builtin_amdgcn_readlane(x, 17);
  u32 e = __builtin_amdgcn_readfirstlane(x);
  out[i] = a * 3 + b * 5 + c * 7 + d * 11 + e * 13;
}
KERNEL dpp_moves(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID, x = in[i];
  u32 a = __builtin_amdgcn_update_dpp(0, x, 0x1b, 0xf, 0xf, false);     // quad_perm 3,2,1,0
  u32 b = __builtin_amdgcn_update_dpp(77, x, 0x111, 0xf, 0xf, false);   // row_shr 1
  u32 c = __builtin_amdgcn_update_dpp(5, x, 0x104, 0xf, 0xf, true);     // row_shl 4
  u32 d = __builtin_amdgcn_update_dpp(0, x, 0x124, 0xf, 0xf, false);    // row_ror 4
  u32 e = __builtin_amdgcn_update_dpp(0, x, 0x140, 0xf, 0xf, false);    // row_mirror
  u32 f = __builtin_amdgcn_update_dpp(9, x, 0x142, 0xa, 0xf, false);    // row_bcast 15
  out[i] = a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13;
}
KERNEL packed_f16(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID;
  half2 x = {_Float16(float(in[i] & 255)), _Float16(float(in[i] >> 8 & 255))}, y = {_Float16(2), _Float16(-3)};
  half2 r = x * y + y;
  out[i] = __builtin_bit_cast(u32, r);
}
KERNEL packed_f32(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID;
  float2 x = {float(in[i] & 0xffff), float(in[i] >> 16)}, y = {0.5f, -0.25f};
  float2 r = x * y + x;
  float p = r.x, q = r.y;   // clang 22 takes the bits of r.x for those of the element r.y
  out[i] = __builtin_bit_cast(u32, p) ^ __builtin_bit_cast(u32, q) >> 3;
}
KERNEL byte_tricks(const u32* in, u32* out, int) {
  u32 i = GID * 256 + TID, x = in[i], y = in[i ^ 1];
  out[i] = __builtin_amdgcn_perm(x, y, 0x07020501) ^ __builtin_amdgcn_alignbyte(x, y, 3) * 3 ^ __builtin_amdgcn_sad_u8(x, y, 100) * 5 ^
           __builtin_amdgcn_ubfe(x, 5, 9) * 7 ^ u32(__builtin_amdgcn_sbfe(int(x), 3, 7)) * 11;
}
KERNEL mfma_f32_16x16x4(const u32* in, u32* out, int) {
  u32 lane = TID & 63, base = GID * 256 + (TID & ~63u);
  float a = float(int(in[base + lane] & 15) - 7), b = float(int(in[base + lane] >> 4 & 15) - 7);
  float4 c = {1, 2, 3, 4};
  float4 d = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
  out[base + lane] = u32(int(d[0])) + 31 * u32(int(d[1])) + 961 * u32(int(d[2])) + 29791 * u32(int(d[3]));
}
KERNEL mfma_f16_16x16x16(const u32* in, u32* out, int) {
  u32 lane = TID & 63, base = GID * 256 + (TID & ~63u);
  half4 a, b;
  for (int e = 0; e < 4; ++e) {
    a[e] = _Float16(float(int(in[base + lane] >> (4 * e) & 15) - 7));
    b[e] = _Float16(float(int(in[base + lane] >> (16 + 4 * e) & 15) - 7));
  }
  float4 d = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, float4{0, 0, 0, 0}, 0, 0, 0);
  out[base + lane] = u32(int(d[0])) + 31 * u32(int(d[1])) + 961 * u32(int(d[2])) + 29791 * u32(int(d[3]));
}
KERNEL hidden_arguments(const u32*, u32* out, int n) {
  u32 i = GID * 256 + TID;
  out[i] = __builtin_amdgcn_workgroup_size_x() * 1000 + __builtin_amdgcn_grid_size_x() + u32(n);
}
KERNEL wave_loop(const u32* in, u32* out, int) {   // lanes leave a loop at different times
  u32 i = GID * 256 + TID, x = in[i], n = 0;
  while (x > 1 && n < 100) {
    x = x & 1 ? x * 3 + 1 : x >> 1;
    ++n;
    if (n > 40 && (x & 7) == 3) break;
  }
  out[i] = n * 65536 + (x & 0xffff);
}
