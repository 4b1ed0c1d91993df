#include "dsl/passes/axis_info.h"

#include <random>

#include "dsl/ir/layout_rules.h"
#include "dsl/passes/access.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {
namespace {

using ir::OpId;
using ir::ValueId;

AxisInfo last(const Kernel& k) {
  const auto& ops = k.block(k.body).ops;
  return AxisAnalysis(k).of(k.op(ops[ops.size() - 2]).results[0]);
}

TEST(AxisInfo, BlockOffsets) {
  Kernel k = kernel(R"(%0 = program_id {axis = 0} : i32
    %1 = constant {value = 0x400} : i32
    %2 = mul.i %0, %1 : i32
    %3 = splat %2 : i32[1024]
    %4 = arange {start = 0} : i32[1024]
    %5 = add.i %3, %4 : i32[1024])");
  EXPECT_EQ(last(k), (AxisInfo{{{1024, 1024, 1}}, false}));
}

TEST(AxisInfo, MaskOfARow) {
  Kernel k = kernel(R"(%0 = arange {start = 0} : i32[256]
    %1 = splat %n : i32[256]
    %2 = lt.s %0, %1 : bool[256])", "%n: i32 {divisor = 8}");
  EXPECT_EQ(last(k).axes[0].constancy, 8u);
}

TEST(AxisInfo, LoopsKeepWhatStepsKeep) {
  Kernel k = kernel(R"(%0 = arange {start = 0} : i32[64]
    %1 = constant {value = 0x0} : i32
    %2 = constant {value = 0x10} : i32
    %3 = splat %2 : i32[64]
    %4 = for %1, %n, %2, %0 : i32[64] do (%i: i32, %a: i32[64]) {
      %5 = add.i %a, %3 : i32[64]
      yield %5
    }
    %6 = add.i %4, %4 : i32[64])");
  const auto& loop = k.op(all(k, OpKind::For)[0]);
  AxisAnalysis facts(k);
  EXPECT_EQ(facts.of(loop.results[0]).axes[0], (AxisFact{64, 16, 1}));
  EXPECT_EQ(facts.of(k.block(loop.blocks[0]).args[0]).axes[0].divisibility, 16u);
}

// Facts about integer tiles, checked against the values that a random kernel really has.
class Evaluator {
 public:
  explicit Evaluator(const Kernel& k, std::mt19937& random) : k_(k) {
    for (const ir::Param& p : k.params) values_[p.value.index] = {static_cast<int32_t>(static_cast<int64_t>(random() % 64) * p.divisor)};
    for (OpId o : k.block(k.body).ops) run(k.op(o));
  }
  const std::vector<int32_t>& of(ValueId v) { return values_[v.index]; }

 private:
  void run(const ir::Op& o) {
    if (o.results.empty()) return;
    const ir::Shape& s = k_.type(o.results[0]).shape;
    std::vector<int32_t>& out = values_[o.results[0].index];
    out.resize(static_cast<size_t>(s.elements()));
    for (size_t i = 0; i < out.size(); ++i) {
      auto x = [&](size_t n) { const auto& v = values_[o.operands[n].index]; return static_cast<uint32_t>(v.size() == 1 ? v[0] : v[i]); };
      auto row_col = [&] { return s.rank() == 2 ? std::pair(i / static_cast<size_t>(s[1]), i % static_cast<size_t>(s[1])) : std::pair(size_t{0}, i); };
      switch (o.kind) {
        case OpKind::Constant: out[i] = static_cast<int32_t>(o.get_bits(AttrKey::Value)); break;
        case OpKind::Arange: out[i] = static_cast<int32_t>(o.get_int(AttrKey::Start) + static_cast<int64_t>(i)); break;
        case OpKind::Splat: out[i] = static_cast<int32_t>(x(0)); break;
        case OpKind::AddI: out[i] = static_cast<int32_t>(x(0) + x(1)); break;
        case OpKind::SubI: out[i] = static_cast<int32_t>(x(0) - x(1)); break;
        case OpKind::MulI: out[i] = static_cast<int32_t>(x(0) * x(1)); break;
        case OpKind::And: out[i] = static_cast<int32_t>(x(0) & x(1)); break;
        case OpKind::ShrS: out[i] = static_cast<int32_t>(x(0)) >> x(1); break;
        case OpKind::RemU: out[i] = static_cast<int32_t>(x(1) ? x(0) % x(1) : x(0)); break;
        case OpKind::LtS: out[i] = static_cast<int32_t>(x(0)) < static_cast<int32_t>(x(1)); break;
        case OpKind::Bitcast: out[i] = static_cast<int32_t>(x(0)); break;
        case OpKind::ExpandDims: case OpKind::Reshape: out[i] = values_[o.operands[0].index][i]; break;
        case OpKind::Broadcast: {
          const ir::Shape& from = k_.type(o.operands[0]).shape;
          auto [r, c] = row_col();
          out[i] = values_[o.operands[0].index][(from[0] == 1 ? 0 : r) * static_cast<size_t>(from[1]) + (from[1] == 1 ? 0 : c)];
          break;
        }
        case OpKind::Trans: {
          auto [r, c] = row_col();
          out[i] = values_[o.operands[0].index][c * static_cast<size_t>(s[0]) + r];
          break;
        }
        default: ADD_FAILURE() << mnemonic(o.kind);
      }
    }
  }
  const Kernel& k_;
  std::map<uint32_t, std::vector<int32_t>> values_;
};

void expect_true(const AxisFact& f, const std::vector<int32_t>& line, bool integer) {
  for (size_t i = 0; i < line.size(); ++i) {
    uint64_t value = static_cast<uint32_t>(line[i]);
    if (integer && i % f.contiguity != 0) {
      EXPECT_EQ(value, static_cast<uint32_t>(line[i - 1] + 1));
    } else if (integer) {
      EXPECT_EQ(value % std::min<uint64_t>(f.divisibility, 1u << 31), 0u);
    }
    if (i % f.constancy != 0) { EXPECT_EQ(line[i], line[i - 1]); }
  }
}

TEST(AxisInfo, HoldsOnRandomKernels) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    std::string text = "%0 = arange {start = " + std::to_string(random() % 3 * 8) + "} : i32[24]\n";
    int next = 1;
    auto add = [&](const std::string& t) { text += "%" + std::to_string(next) + " = " + t + "\n"; return next++; };
    auto splat = [&] {
      if (random() % 2) return add(std::string("splat %") + (random() % 2 ? "n" : "m") + " : i32[24]");
      char bits[16];
      snprintf(bits, sizeof bits, "0x%x", static_cast<unsigned>(random() % 40));
      return add(std::string("constant {value = ") + bits + "} : i32[24]");
    };
    int at = 0;
    for (unsigned step = random() % 4; step > 0; --step) {
      int other = random() % 4 == 0 ? at : splat();
      const char* names[] = {"add.i", "sub.i", "mul.i", "and", "add.i"};
      if (random() % 5 == 0) {
        int shift = add("constant {value = 0x2} : i32[24]");
        at = add("shr.s %" + std::to_string(at) + ", %" + std::to_string(shift) + " : i32[24]");
        continue;
      }
      bool flip = random() % 2;
      std::string x = "%" + std::to_string(flip ? at : other), y = "%" + std::to_string(flip ? other : at);
      at = add(std::string(names[random() % 5]) + " " + x + ", " + y + " : i32[24]");
    }
    if (random() % 3 == 0) {
      int u = add("bitcast %" + std::to_string(at) + " : u32[24]"), m = add("constant {value = 0x10} : u32[24]");
      at = add("rem.u %" + std::to_string(u) + ", %" + std::to_string(m) + " : u32[24]");
      at = add("bitcast %" + std::to_string(at) + " : i32[24]");
    }
    if (random() % 3 == 0) {
      unsigned axis = random() % 2;
      int e = add("expand_dims %" + std::to_string(at) + " {axis = " + std::to_string(axis) + "} : i32" + (axis ? "[24, 1]" : "[1, 24]"));
      int b = add("broadcast %" + std::to_string(e) + " : i32" + (axis ? "[24, 8]" : "[8, 24]"));
      add("trans %" + std::to_string(b) + " {perm = [1, 0]} : i32" + (axis ? "[8, 24]" : "[24, 8]"));
    } else {
      int s = splat();
      add("lt.s %" + std::to_string(at) + ", %" + std::to_string(s) + " : bool[24]");
    }
    Kernel k = kernel(text, "%n: i32 {divisor = 16}, %m: i32");
    AxisAnalysis facts(k);
    Evaluator values(k, random);
    for (OpId o : k.block(k.body).ops) {
      if (k.op(o).results.empty()) continue;
      ValueId v = k.op(o).results[0];
      const ir::Type& t = k.type(v);
      bool integer = is_int(t.dtype);
      const std::vector<int32_t>& all = values.of(v);
      if (t.shape.rank() == 1) {
        expect_true(facts.of(v).axes[0], all, integer);
      } else if (t.shape.rank() == 2) {
        size_t rows = static_cast<size_t>(t.shape[0]), cols = static_cast<size_t>(t.shape[1]);
        for (size_t r = 0; r < rows; ++r)
          expect_true(facts.of(v).axes[1], {all.begin() + static_cast<ptrdiff_t>(r * cols), all.begin() + static_cast<ptrdiff_t>((r + 1) * cols)}, integer);
        for (size_t c = 0; c < cols; ++c) {
          std::vector<int32_t> line;
          for (size_t r = 0; r < rows; ++r) line.push_back(all[r * cols + c]);
          expect_true(facts.of(v).axes[0], line, integer);
        }
      }
    }
    if (HasFailure()) {
      ADD_FAILURE() << print(k);
      return;
    }
  }
}

Access access(const Kernel& k, OpKind kind) {
  AxisAnalysis facts(k);
  return analyse_access(k, facts, k.op(all(k, kind).at(0)));
}

std::string rows(const std::string& stride, const std::string& inner) {
  return "%0 = constant {value = 0x1} : i32\n%1 = make_view %p, %m, %n, " + stride + ", " + inner + R"( {align = 16} : view<f16, 2>
    %2 = program_id {axis = 0} : i32
    %3 = constant {value = 0x40} : i32
    %4 = mul.i %2, %3 : i32
    %5 = splat %4 : i32[64]
    %6 = arange {start = 0} : i32[64]
    %7 = add.i %5, %6 : i32[64]
    %8 = expand_dims %7 {axis = 1} : i32[64, 1]
    %9 = expand_dims %6 {axis = 0} : i32[1, 64]
    %10 = load_view %1, %8, %9 : f16[64, 64])";
}

TEST(Access, RowsOfAMatrix) {
  const char* params = "%p: ptr<f16> {view, align = 16}, %m: i32, %n: i32, %lda: i32 {divisor = 8}, %odd: i32, %even: i32 {divisor = 2}, %s: i32 {divisor = 4}";
  Access a = access(kernel(rows("%lda", "%0"), params), OpKind::LoadView);
  EXPECT_EQ(a.axis, 1u);
  EXPECT_EQ(a.vector, 8u);
  EXPECT_EQ(a.granule, 1u);
  EXPECT_EQ(a.order, (std::vector<unsigned>{1, 0}));
  // Dwords are enough for the alignment of a wide access.
  EXPECT_EQ(access(kernel(rows("%even", "%0"), params), OpKind::LoadView).vector, 8u);
  EXPECT_EQ(access(kernel(rows("%odd", "%0"), params), OpKind::LoadView).vector, 1u);
  // The transposed view is contiguous along rows; nothing is known of a view with two strides.
  Access t = access(kernel(rows("%0", "%lda"), params), OpKind::LoadView);
  EXPECT_EQ(t.axis, 0u);
  EXPECT_EQ(t.vector, 8u);
  EXPECT_EQ(t.order, (std::vector<unsigned>{0, 1}));
  EXPECT_FALSE(access(kernel(rows("%lda", "%s"), params), OpKind::LoadView).axis.has_value());
}

TEST(Access, GranuleFollowsTheExtent) {
  const char* params = "%p: ptr<f16> {view, align = 16}, %m: i32, %n: i32 {divisor = 4}, %lda: i32 {divisor = 8}";
  EXPECT_EQ(access(kernel(rows("%lda", "%0"), params), OpKind::LoadView).granule, 4u);
}

TEST(Access, PointersAndMasks) {
  std::string text = R"(%0 = arange {start = 0} : i32[256]
    %1 = splat %p : ptr<f32>[256]
    %2 = addptr %1, %0 : ptr<f32>[256]
    %3 = splat %n : i32[256]
    %4 = lt.s %0, %3 : bool[256]
    %5 = load %2, %4 {has_mask = 1} : f32[256])";
  Access a = access(kernel(text, "%p: ptr<f32> {align = 16}, %n: i32 {divisor = 2}"), OpKind::Load);
  EXPECT_EQ(a.vector, 4u);
  EXPECT_EQ(a.granule, 2u);
}

}  // namespace
}  // namespace tile::passes::testing
