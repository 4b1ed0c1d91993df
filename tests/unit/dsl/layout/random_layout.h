#pragma once
// Seeded random layouts for the tests of this folder.
#include <algorithm>
#include <random>
#include <vector>

#include "dsl/layout/linear_layout.h"

namespace tile::layout {

using Rng = std::mt19937;
inline unsigned below(Rng& rng, unsigned n) { return static_cast<unsigned>(rng() % n); }

inline LinearLayout random_map(Rng& rng, const Space& in, const Space& out) {
  std::vector<Vec> bases;
  for (unsigned i = 0; i < in.total_bits(); i++) bases.push_back(rng() & ((Vec{1} << out.total_bits()) - 1));
  return LinearLayout(in, out, std::move(bases));
}

inline LinearLayout random_invertible(Rng& rng, const Space& in, const Space& out) {
  for (;;) {
    LinearLayout l = random_map(rng, in, out);
    if (l.is_invertible()) return l;
  }
}

// How a random layout of a tile looks like: every basis a single bit, as of the layouts in real programs, or anything.
enum class Bases { Unit, Any };

// A surjective layout of a tile of `shape` (powers of two) on 2^lane_bits lanes and 2^wave_bits waves; sometimes with
// replicated lanes, waves and registers.
inline LinearLayout random_tile_layout(Rng& rng, const Shape& shape, unsigned lane_bits, unsigned wave_bits,
                                       Bases kind) {
  Space out = Space::of_shape(shape);
  unsigned total = out.total_bits(), threads = lane_bits + wave_bits;
  // Zero bases to mix in; at least as many as there are bits too many.
  unsigned zeros = below(rng, 3) == 0 ? below(rng, 4) : 0;
  if (threads > total) zeros = std::max(zeros, threads - total);
  unsigned in_bits = std::max(threads, total + zeros);
  std::vector<Vec> bases = f2::identity(total);
  bases.resize(in_bits, 0);
  std::shuffle(bases.begin(), bases.end(), rng);
  if (kind == Bases::Any)
    for (unsigned i = 0; i < 3 * in_bits; i++) {
      unsigned a = below(rng, in_bits), b = below(rng, in_bits);
      if (a != b) bases[a] ^= bases[b];
    }
  Space in = {{Dim::Register, in_bits - threads}, {Dim::Lane, lane_bits}, {Dim::Wave, wave_bits}};
  return LinearLayout(in, out, std::move(bases));
}

inline Shape random_shape(Rng& rng, unsigned min_bits, unsigned max_bits) {
  unsigned bits = min_bits + below(rng, max_bits - min_bits + 1), rank = 1 + below(rng, 3);
  Shape shape(rank, 1);
  for (unsigned b = 0; b < bits; b++) shape[below(rng, rank)] *= 2;
  return shape;
}

}  // namespace tile::layout
