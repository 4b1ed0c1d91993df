#include "dsl/layout/construct.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "dsl/layout/tile_ops.h"

namespace tile::layout {

namespace {

unsigned log2_of(uint64_t n) { return static_cast<unsigned>(std::countr_zero(n)); }

// Collects bases axis by axis. Bits beyond an axis' extent become 0 for lanes and waves and are left out for registers.
class Builder {
 public:
  explicit Builder(const Shape& padded) : out_(Space::of_shape(padded)), used_(padded.size(), 0) {}
  // The next free bits of the axis go to the next bits of the dimension.
  void take(Dim in, unsigned axis, unsigned bits) {
    for (unsigned b = 0; b < bits; b++) {
      Dim dim = tile_dim(axis);
      if (used_[axis] < out_.bits(dim)) add(in, out_.put(Vec{1} << used_[axis]++, dim));
      else if (in != Dim::Register) add(in, 0);
    }
  }
  void take_rest(unsigned axis) { take(Dim::Register, axis, left(axis)); }
  void add(Dim in, Vec basis) { bases_[static_cast<unsigned>(in)].push_back(basis); }
  void use(unsigned axis, unsigned bits) { used_[axis] += bits; }
  unsigned left(unsigned axis) const { return out_.bits(tile_dim(axis)) - used_[axis]; }
  const Space& out() const { return out_; }

  LinearLayout build() const {
    Space in;
    std::vector<Vec> all;
    for (Dim d : {Dim::Register, Dim::Lane, Dim::Wave}) {
      const std::vector<Vec>& bases = bases_[static_cast<unsigned>(d)];
      in.set(d, static_cast<unsigned>(bases.size()));
      all.insert(all.end(), bases.begin(), bases.end());
    }
    return LinearLayout(in, out_, std::move(all));
  }

 private:
  Space out_;
  std::vector<unsigned> used_;
  std::vector<Vec> bases_[3];
};

Status check_shape(const Shape& shape, unsigned max_elements_log2 = 30) {
  if (shape.size() > max_rank) return Error{fmt::format("a tile has at most {} axes, not {}", max_rank, shape.size())};
  unsigned bits = 0;
  for (int64_t n : shape) {
    if (n < 1 || n > (int64_t{1} << max_elements_log2))
      return Error{fmt::format("extent {} of a tile is out of range", n)};
    bits += static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(n) - 1));
  }
  if (bits > max_elements_log2) return Error{"the tile is too large"};
  return Unit{};
}

Status check_powers(const std::vector<unsigned>& v, size_t rank, std::string_view what) {
  if (v.size() != rank) return Error{fmt::format("{} has {} numbers for a tile of rank {}", what, v.size(), rank)};
  uint64_t product = 1;
  for (unsigned n : v) {
    if (!std::has_single_bit(n)) return Error{fmt::format("{} holds {}, which is not a power of two", what, n)};
    product *= n;
    if (product > 4096) return Error{fmt::format("{} multiply to more than 4096", what)};
  }
  return Unit{};
}

Status check_permutation(std::vector<unsigned> v, size_t size, std::string_view what) {
  std::sort(v.begin(), v.end());
  bool ok = v.size() == size;
  for (size_t i = 0; ok && i < size; i++) ok = v[i] == i;
  if (!ok) return Error{fmt::format("{} is not a permutation of 0 .. {}", what, static_cast<int64_t>(size) - 1)};
  return Unit{};
}

}  // namespace

std::vector<unsigned> row_major_order(unsigned rank) {
  std::vector<unsigned> order(rank);
  std::iota(order.rbegin(), order.rend(), 0u);
  return order;
}

Result<LinearLayout> blocked(const Shape& shape, const std::vector<unsigned>& elems_per_lane,
                             const std::vector<unsigned>& lanes, const std::vector<unsigned>& waves,
                             const std::vector<unsigned>& order) {
  if (Status s = check_shape(shape); !s) return s.error();
  if (Status s = check_powers(elems_per_lane, shape.size(), "elements per lane"); !s) return s.error();
  if (Status s = check_powers(lanes, shape.size(), "lanes"); !s) return s.error();
  if (Status s = check_powers(waves, shape.size(), "waves"); !s) return s.error();
  if (Status s = check_permutation(order, shape.size(), "order"); !s) return s.error();
  uint64_t total = 1;
  for (unsigned n : lanes) total *= n;
  if (total != wave_size) return Error{fmt::format("the lanes multiply to {}, a wave has {}", total, wave_size)};

  Builder b(padded_shape(shape));
  for (unsigned axis : order) b.take(Dim::Register, axis, log2_of(elems_per_lane[axis]));
  for (unsigned axis : order) b.take(Dim::Lane, axis, log2_of(lanes[axis]));
  for (unsigned axis : order) b.take(Dim::Wave, axis, log2_of(waves[axis]));
  for (unsigned axis : order) b.take_rest(axis);
  return b.build();
}

Result<LinearLayout> coalesced(const Shape& shape, const std::vector<unsigned>& order, unsigned vec, unsigned waves) {
  if (Status s = check_shape(shape); !s) return s.error();
  if (Status s = check_permutation(order, shape.size(), "order"); !s) return s.error();
  if (!std::has_single_bit(vec) || !std::has_single_bit(waves) || waves > 64)
    return Error{fmt::format("vector width {} and number of waves {} must be powers of two", vec, waves)};
  unsigned lane_bits = log2_of(wave_size), wave_bits = log2_of(waves);
  Builder b(padded_shape(shape));
  if (!order.empty()) {
    unsigned total = b.out().total_bits();
    // A wide vector must not leave lanes and waves without work.
    unsigned spare = total > lane_bits + wave_bits ? total - lane_bits - wave_bits : 0;
    b.take(Dim::Register, order[0], std::min({log2_of(vec), b.left(order[0]), spare}));
  }
  for (unsigned axis : order) {
    unsigned n = std::min(lane_bits, b.left(axis));
    b.take(Dim::Lane, axis, n);
    lane_bits -= n;
  }
  // Waves take their part from the slowest axes.
  std::vector<std::pair<unsigned, unsigned>> split;
  for (auto axis = order.rbegin(); axis != order.rend() && wave_bits > 0; axis++) {
    unsigned n = std::min(wave_bits, b.left(*axis));
    split.emplace_back(*axis, n);
    wave_bits -= n;
  }
  for (unsigned i = 0; i < lane_bits; i++) b.add(Dim::Lane, 0);
  for (auto s = split.rbegin(); s != split.rend(); s++) b.take(Dim::Wave, s->first, s->second);
  for (unsigned i = 0; i < wave_bits; i++) b.add(Dim::Wave, 0);
  for (unsigned axis : order) b.take_rest(axis);
  return b.build();
}

namespace {

// A point of the instruction's operand or result in the tile's axes.
struct Axes {
  unsigned row, col, rank;
  Vec pack(const Space& out, const MfmaCoord& c) const {
    Vec v = out.put(c.row, tile_dim(row)) | out.put(c.col, tile_dim(col));
    return rank == 3 ? v | out.put(c.block, tile_dim(0)) : v;
  }
};

Status check_dot(MfmaId id, const Shape& shape, const std::vector<unsigned>& waves) {
  if (Status s = check_shape(shape, 28); !s) return s.error();
  if (Status s = check_powers(waves, shape.size(), "waves"); !s) return s.error();
  if (shape.size() != 2 && shape.size() != 3)
    return Error{fmt::format("a dot has tiles of rank 2 or 3, not {}", shape.size())};
  if (info(id).blocks > 1 && shape.size() != 3)
    return Error{fmt::format("{} does {} products at once and needs a batch axis", info(id).kind, info(id).blocks)};
  return Unit{};
}

Shape at_least(Shape shape, const Shape& instr) {
  shape = padded_shape(shape);
  for (size_t i = 0; i < shape.size(); i++) shape[i] = std::max(shape[i], instr[i + instr.size() - shape.size()]);
  return shape;
}

}  // namespace

Result<LinearLayout> mfma_result(MfmaId id, const Shape& shape, const std::vector<unsigned>& waves) {
  if (Status s = check_dot(id, shape, waves); !s) return s.error();
  const MfmaInfo& row = info(id);
  Shape instr = {row.blocks, row.m, row.n};
  Builder b(at_least(shape, instr));
  unsigned rank = static_cast<unsigned>(shape.size());
  Axes axes{rank - 2, rank - 1, rank};
  for (unsigned e = 1; e < d_elements(id); e *= 2) b.add(Dim::Register, axes.pack(b.out(), d_coord(id, 0, e)));
  for (unsigned l = 1; l < wave_size; l *= 2) b.add(Dim::Lane, axes.pack(b.out(), d_coord(id, l, 0)));
  for (unsigned axis = 0; axis < rank; axis++) b.use(axis, log2_of(static_cast<uint64_t>(instr[axis + 3 - rank])));
  for (unsigned axis = rank; axis-- > 0;) b.take(Dim::Wave, axis, log2_of(waves[axis]));
  for (unsigned axis = rank; axis-- > 0;) b.take_rest(axis);
  return b.build();
}

Result<LinearLayout> mfma_operand(MfmaId id, MfmaOperand which, const Shape& shape, const std::vector<unsigned>& k_bits,
                                  const std::vector<unsigned>& waves, MfmaFormat format) {
  if (Status s = check_dot(id, shape, waves); !s) return s.error();
  const MfmaInfo& row = info(id);
  bool is_a = which == MfmaOperand::A;
  Shape instr = is_a ? Shape{row.blocks, row.m, row.k} : Shape{row.blocks, row.k, row.n};
  Builder b(at_least(shape, instr));
  unsigned rank = static_cast<unsigned>(shape.size());
  Axes axes{rank - 2, rank - 1, rank};
  unsigned k_axis = is_a ? rank - 1 : rank - 2, other = is_a ? rank - 2 : rank - 1;
  unsigned total_k = b.out().bits(tile_dim(k_axis)), instr_k = log2_of(row.k);
  if (!k_bits.empty())
    if (Status s = check_permutation(k_bits, total_k, "the permutation of K"); !s) return s.error();

  // Stream numbers to tile K, on the K part of a packed coordinate.
  auto stream = [&](unsigned n) {
    Vec k = 0;
    for (unsigned i = 0; i < total_k; i++) k |= Vec{n >> i & 1} << (k_bits.empty() ? i : k_bits[i]);
    return b.out().put(k, tile_dim(k_axis));
  };
  auto place = [&](unsigned lane, unsigned element) {
    MfmaCoord c = is_a ? a_coord(id, lane, element, format) : b_coord(id, lane, element, format);
    unsigned k = is_a ? c.col : c.row;
    (is_a ? c.col : c.row) = 0;
    return axes.pack(b.out(), c) | stream(k);
  };
  unsigned elements = is_a ? a_elements(id) : b_elements(id);
  for (unsigned e = 1; e < elements; e *= 2) b.add(Dim::Register, place(0, e));
  for (unsigned l = 1; l < wave_size; l *= 2) b.add(Dim::Lane, place(l, 0));
  for (unsigned bit = instr_k; bit < total_k; bit++) b.add(Dim::Register, stream(1u << bit));
  b.use(other, log2_of(is_a ? row.m : row.n));
  b.use(k_axis, total_k);
  if (rank == 3) b.use(0, log2_of(row.blocks));
  for (unsigned axis = rank; axis-- > 0;) {
    if (axis != k_axis) b.take(Dim::Wave, axis, log2_of(waves[axis]));
    else
      for (unsigned i = 0; i < log2_of(waves[axis]); i++) b.add(Dim::Wave, 0);
  }
  for (unsigned axis = rank; axis-- > 0;) b.take_rest(axis);
  return b.build();
}

std::vector<unsigned> kpack_bits(MfmaId id, MfmaOperand which, int64_t k, unsigned run, MfmaFormat format) {
  const MfmaInfo& row = info(id);
  bool is_a = which == MfmaOperand::A;
  unsigned instr_k = log2_of(row.k), elements = is_a ? a_elements(id) : b_elements(id);
  unsigned total_k = std::max(log2_of(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(k, 1)))), instr_k);
  // Stream bits that a lane's registers carry come first, then those of lanes, each in its own order.
  std::vector<unsigned> in_lane, across;
  for (unsigned bit = 0; bit < instr_k; bit++) {
    bool reg = false;
    for (unsigned e = 1; e < elements; e *= 2) {
      MfmaCoord c = is_a ? a_coord(id, 0, e, format) : b_coord(id, 0, e, format);
      reg |= (is_a ? c.col : c.row) == 1u << bit;
    }
    (reg ? in_lane : across).push_back(bit);
  }
  unsigned step = instr_k;
  while (step < total_k && 1u << in_lane.size() < run) in_lane.push_back(step++);
  std::vector<unsigned> k_bits(total_k);
  unsigned next = 0;
  for (unsigned bit : in_lane) k_bits[bit] = next++;
  for (unsigned bit : across) k_bits[bit] = next++;
  for (; step < total_k; step++) k_bits[step] = next++;
  return k_bits;
}

}  // namespace tile::layout
