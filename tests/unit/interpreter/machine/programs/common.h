// What host and device share. The device side has no headers.
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using half = _Float16;

struct Record { u8 a; u16 b; u64 c; float d; };

FN inline float f32(u64 x) { u32 w = u32(x); float f; __builtin_memcpy(&f, &w, 4); return f; }
FN inline double f64(u64 x) { double f; __builtin_memcpy(&f, &x, 8); return f; }
FN inline half f16(u64 x) { u16 w = u16(x); half f; __builtin_memcpy(&f, &w, 2); return f; }
// One NaN for all.
FN inline u64 bits(float f) { u32 w; __builtin_memcpy(&w, &f, 4); return f != f ? 0x7fc00000u : w; }
FN inline u64 dbits(double f) { u64 w; __builtin_memcpy(&w, &f, 8); return f != f ? 0x7ff8000000000000u : w; }
FN inline u64 hbits(half f) { u16 w; __builtin_memcpy(&w, &f, 2); return f != f ? 0x7e00u : w; }

FN NOINLINE u64 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
FN NOINLINE u64 ackermann(u32 m, u32 n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, u32(ackermann(m, n - 1))); }
FN NOINLINE u64 op_add(u64 a, u64 b) { return a + 3 * b; }
FN NOINLINE u64 op_mul(u64 a, u64 b) { return a * (b | 1); }
FN NOINLINE u64 op_mix(u64 a, u64 b) { return (a ^ b >> 7) * 0x9e3779b97f4a7c15u; }
