#pragma once
// How a tile is spread over the machine: a linear map over F2 (Linear Layouts, arXiv 2505.23819).
//
// A place in the machine is a register index r of a lane l of a wave w. An element of a tile has one coordinate per
// axis. All of them are numbers below a power of two, so each is a few bits. A layout is a map L from the bits of
// (r, l, w) to the bits of the coordinates that is linear over F2:
//     L(a ^ b) = L(a) ^ L(b).
// Such a map is known by what it does to single bits. These values are its bases; L(x) is the XOR of the bases of
// the bits set in x. An example, an 8 x 8 tile over 4 registers and 16 lanes of a (small) wave:
//     #layout<reg=[(0,1),(0,2)], lane=[(0,4),(1,0),(2,0),(4,0)], wave=[]>
//     r = 3 of lane 5 = 0b0101:  (0,1) ^ (0,2) ^ (0,4) ^ (2,0) = (2,7).
// So a lane holds 4 neighbours of a row, lanes 0 and 1 share a row, and lanes 2, 3 have the next row.
//     row 0:  l0r0 l0r1 l0r2 l0r3 l1r0 l1r1 l1r2 l1r3        row 1:  l2r0 l2r1 l2r2 l2r3 l3r0 ...
//
//   A basis of zero replicates: both values of that bit hold the same element. More generally the layout replicates
//   when its bases are dependent (it is not injective). Every element has a place when the layout is surjective; all
//   layouts of tiles are. XOR swizzles are bases with several bits, so they need nothing special:
//     offset:  #layout<dim0=[(9),(18),(32)], dim1=[(1),(2),(4)] -> [offset:64]>  puts (i, j) at 8 * i ^ i ^ j, i < 4.
//   Layouts compose as maps do. If A says where tile elements are in registers and B how another op wants them, then
//   B^-1 o A, still linear, says where each register's value must go: whether only registers move, or lanes, or waves.
//
// Dimensions have names (Dim), and a layout has input and output dimensions of a number of bits each (0 for size 1).
// The packed form of a point is a word with the bits of all dimensions, in the order of Dim from the least
// significant bit; that of a tile coordinate is its row-major index, because the last axis comes first in Dim.
// So reshaping only renames bits.
//
// Sizes are powers of two. A tile of another extent is padded: its true extent is kept by whoever owns the tile.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/layout/f2.h"
#include "dsl/support/result.h"

namespace tile::layout {

using f2::Vec;

// Names of dimensions. Tile0 is axis 0 of a tile, the slowest in row-major order.
enum class Dim : uint8_t { Register, Lane, Wave, Offset, Tile5, Tile4, Tile3, Tile2, Tile1, Tile0 };
inline constexpr unsigned num_dims = 10;
inline constexpr unsigned max_rank = 6;
constexpr Dim tile_dim(unsigned axis) { return static_cast<Dim>(num_dims - 1 - axis); }
constexpr bool is_tile_dim(Dim d) { return d >= Dim::Tile5; }
constexpr unsigned axis_of(Dim d) { return num_dims - 1 - static_cast<unsigned>(d); }
std::string_view name(Dim d);  // reg lane wave offset dim0 .. dim5
std::optional<Dim> parse_dim(std::string_view s);

using Shape = std::vector<int64_t>;

// The dimensions of one side of a layout with their sizes in bits.
class Space {
 public:
  Space() { bits_.fill(-1); }
  Space(std::initializer_list<std::pair<Dim, unsigned>> dims) : Space() {
    for (auto [d, bits] : dims) set(d, bits);
  }
  // The space of a tile's coordinates; the extents are powers of two.
  static Space of_shape(const Shape& shape);

  bool has(Dim d) const { return at(d) >= 0; }
  unsigned bits(Dim d) const { return has(d) ? static_cast<unsigned>(at(d)) : 0; }
  unsigned size(Dim d) const { return 1u << bits(d); }
  void set(Dim d, unsigned bits) { bits_[static_cast<unsigned>(d)] = static_cast<int8_t>(bits); }
  void erase(Dim d) { bits_[static_cast<unsigned>(d)] = -1; }
  // Position of the dimension's bit 0 in the packed form.
  unsigned shift(Dim d) const;
  unsigned total_bits() const;
  std::vector<Dim> dims() const;  // in packed order, least significant first
  Vec get(Vec packed, Dim d) const { return packed >> shift(d) & ((Vec{1} << bits(d)) - 1); }
  Vec put(Vec value, Dim d) const { return (value & ((Vec{1} << bits(d)) - 1)) << shift(d); }
  Vec mask(Dim d) const { return put(~Vec{0}, d); }
  // Number of tile axes: Tile0 .. Tile(rank-1) are there.
  unsigned rank() const;
  bool operator==(const Space&) const = default;

 private:
  int8_t at(Dim d) const { return bits_[static_cast<unsigned>(d)]; }
  std::array<int8_t, num_dims> bits_;  // -1: the dimension is not there
};

// The same point in another space: bits beyond its dimensions' sizes are dropped, missing dimensions are 0.
Vec repack(Vec packed, const Space& from, const Space& to);

class LinearLayout {
 public:
  LinearLayout() = default;  // no dimensions
  // `bases[i]` is the image (packed in `out`) of bit i of the packed input.
  LinearLayout(Space in, Space out, std::vector<Vec> bases);
  // Value i of `in` to value i of `out`, on `bits` bits.
  static LinearLayout identity1d(unsigned bits, Dim in, Dim out);
  // All values of `in` to 0 of `out` (which has size 1).
  static LinearLayout zeros1d(unsigned bits, Dim in, Dim out);
  static LinearLayout identity(const Space& space);

  const Space& in() const { return in_; }
  const Space& out() const { return out_; }
  Vec basis(Dim d, unsigned bit) const { return bases_[in_.shift(d) + bit]; }
  unsigned basis(Dim d, unsigned bit, Dim out) const { return static_cast<unsigned>(out_.get(basis(d, bit), out)); }
  const std::vector<Vec>& bases() const { return bases_; }
  // Images of the bits of one input dimension.
  std::vector<Vec> bases(Dim d) const;

  // The image of a packed point.
  Vec apply(Vec packed) const { return f2::combine(bases_, packed); }
  // Packed coordinates of a place.
  Vec at(unsigned reg, unsigned lane, unsigned wave) const {
    return apply(in_.put(reg, Dim::Register) | in_.put(lane, Dim::Lane) | in_.put(wave, Dim::Wave));
  }
  // Coordinates of a place, one an axis.
  std::vector<unsigned> coords(unsigned reg, unsigned lane, unsigned wave) const;

  // For layouts of tiles.
  unsigned rank() const { return out_.rank(); }
  Shape shape() const;  // padded extents
  unsigned num_registers() const { return in_.size(Dim::Register); }
  unsigned num_lanes() const { return in_.size(Dim::Lane); }
  unsigned num_waves() const { return in_.size(Dim::Wave); }

  bool is_surjective() const;
  bool is_injective() const;
  bool is_invertible() const { return is_surjective() && is_injective(); }
  // The layout maps each of `dims` (there on both sides, of the same size) to itself by the identity, and no other
  // input reaches them.
  bool is_trivial_over(const std::vector<Dim>& dims) const;
  // For each input dimension the bits that replicate: bits whose basis is a sum of bases of earlier bits (in packed
  // order: registers, lanes, waves). The places where all free bits are 0 hold every element once.
  Vec free_bits() const;  // packed in in()
  unsigned free_mask(Dim d) const { return static_cast<unsigned>(in_.get(free_bits(), d)); }

  // `this` on the low bits, `high` on the high bits of each dimension: inputs and outputs of the same name are
  // concatenated, sizes multiply.
  LinearLayout operator*(const LinearLayout& high) const;
  // x -> next(this(x)). Each output dimension of `this` must be an input of `next` and not larger than it.
  LinearLayout then(const LinearLayout& next) const;
  // The inverse of an invertible layout.
  LinearLayout invert() const;
  // For a surjective layout: R with this(R(y)) = y. Free bits of the result are 0.
  LinearLayout right_inverse() const;
  // For an injective layout: R with R(this(x)) = x; outputs that `this` does not reach go to some x.
  LinearLayout left_inverse() const;
  // q with this = low * q, if there is one.
  std::optional<LinearLayout> divide_left(const LinearLayout& low) const;
  // The part from `ins` to `outs`; other inputs are held at 0, other outputs dropped.
  LinearLayout sublayout(const std::vector<Dim>& ins, const std::vector<Dim>& outs) const;

  // #layout<reg=[(0,1),(0,2)], lane=[(0,4)], wave=[]>: per input dimension its bases, lowest bit first, each with
  // one number an output dimension. Outputs are dim0, dim1, ... with just enough bits for the bases unless
  // ` -> [offset:64, ...]` says otherwise.
  std::string str() const;
  // Reads what str() prints; spaces are free, a one-dimensional basis may stand without parentheses.
  static Result<LinearLayout> parse(std::string_view text);

  bool operator==(const LinearLayout&) const = default;
  size_t hash() const;

 private:
  Space in_, out_;
  std::vector<Vec> bases_;
};

}  // namespace tile::layout

template <>
struct std::hash<tile::layout::LinearLayout> {
  size_t operator()(const tile::layout::LinearLayout& l) const noexcept { return l.hash(); }
};
