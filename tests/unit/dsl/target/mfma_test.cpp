// The MFMA table against tests/data/mfma_layouts.json, which holds the register maps as expressions of lane and element
// (gathered from AMD's matrix calculator, independently of this code).
#include "dsl/target/mfma.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace tile {
namespace {

using nlohmann::json;

// Evaluates integer expressions of + * % // and parentheses over named variables.
class Expr {
 public:
  Expr(std::string_view text, std::map<std::string, unsigned> vars) : s_(text), vars_(std::move(vars)) {}
  unsigned eval() {
    unsigned v = sum();
    EXPECT_TRUE(s_.empty()) << s_;
    return v;
  }

 private:
  bool eat(std::string_view t) {
    if (!s_.starts_with(t)) return false;
    s_.remove_prefix(t.size());
    return true;
  }
  unsigned sum() {
    unsigned v = product();
    while (eat("+")) v += product();
    return v;
  }
  unsigned product() {
    unsigned v = atom();
    for (;;) {
      if (eat("*")) v *= atom();
      else if (eat("//")) v /= atom();
      else if (eat("%")) v %= atom();
      else return v;
    }
  }
  unsigned atom() {
    if (eat("(")) {
      unsigned v = sum();
      EXPECT_TRUE(eat(")"));
      return v;
    }
    size_t n = 0;
    while (n < s_.size() && isalnum(static_cast<unsigned char>(s_[n]))) n++;
    std::string word(s_.substr(0, n));
    s_.remove_prefix(n);
    if (vars_.count(word)) return vars_[word];
    return static_cast<unsigned>(std::stoul(word));
  }
  std::string_view s_;
  std::map<std::string, unsigned> vars_;
};

const json& layouts() {
  static const json data = json::parse(std::ifstream(TILE_TEST_DATA "/mfma_layouts.json"));
  return data;
}

std::string map_of(const json& row, const char* operand, const char* coord, MfmaFormat format) {
  const json& m = row["maps"][operand][coord];
  if (m.is_string()) return m;
  return m[bit_width(dtype_of(format)) == 8 ? "fp8/bf8" : "fp6/bf6/fp4"];
}

TEST(Mfma, TableHasEveryInstruction) {
  ASSERT_EQ(layouts().size(), num_mfmas);
  const std::map<std::string, MfmaType> types = {{"f32", MfmaType::F32}, {"f64", MfmaType::F64}, {"f16", MfmaType::F16},
      {"bf16", MfmaType::BF16}, {"i8", MfmaType::I8}, {"i32", MfmaType::I32}, {"xf32", MfmaType::Xf32},
      {"fp8", MfmaType::Fp8}, {"bf8", MfmaType::Bf8}, {"f8f6f4", MfmaType::F8F6F4}};
  for (const json& row : layouts()) {
    auto id = mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    ASSERT_TRUE(id) << row["intrinsic"];
    const MfmaInfo& t = info(*id);
    EXPECT_EQ(t.id, *id);
    EXPECT_EQ(t.m, row["M"]);
    EXPECT_EQ(t.n, row["N"]);
    EXPECT_EQ(t.k, row["K"]);
    EXPECT_EQ(t.blocks, row["blocks"]);
    EXPECT_EQ(t.a, types.at(row["a_type"]));
    EXPECT_EQ(t.b, types.at(row["b_type"]));
    EXPECT_EQ(t.cd, types.at(row["cd_type"]));
    EXPECT_EQ(a_elements(*id), row["elems_per_lane_A"]);
    EXPECT_EQ(d_elements(*id), row["elems_per_lane_D"]);
    for (const ArchInfo& arch : arch_table) {
      std::string name(arch.name);
      bool has = row["passes"].contains(name);
      ASSERT_EQ(exists_on(*id, arch.arch), has) << t.kind << " " << name;
      EXPECT_EQ(model_of(*id, arch.arch) != MfmaModel::None, has);
      EXPECT_EQ(status_of(*id, arch.arch) != MfmaStatus::NoInstr, has);
      if (!has) continue;
      const json& passes = row["passes"][name];
      if (passes.is_object()) {
        EXPECT_EQ(passes_of(*id, arch.arch, MfmaFormat::F4E2M1, MfmaFormat::F6E2M3), passes["otherwise"]);
        EXPECT_EQ(passes_of(*id, arch.arch, MfmaFormat::F4E2M1, MfmaFormat::F8E5M2), passes["A or B fp8/bf8"]);
      } else {
        EXPECT_EQ(passes_of(*id, arch.arch), passes) << t.kind << " " << name;
      }
      if (row["cbsz_abid_supported"].contains(name)) {
        EXPECT_EQ(has_cbsz(*id), row["cbsz_abid_supported"][name]) << t.kind << " " << name;
        EXPECT_EQ(has_blgp(*id, arch.arch) || has_neg(*id, arch.arch), row["blgp_supported"][name]) << t.kind << " " << name;
      }
    }
  }
}

TEST(Mfma, Models) {
  const std::map<std::string, MfmaModel> models = {{"FMA", MfmaModel::Fma}, {"FTZ(P=2)", MfmaModel::Ftz2}, {"FTZ(P=4)", MfmaModel::Ftz4},
      {"TR(L=4)", MfmaModel::Tr4}, {"TR(L=8)", MfmaModel::Tr8}, {"GTR(L=16)", MfmaModel::Gtr16}, {"GTR(L=16) fnuz", MfmaModel::Gtr16},
      {"INT32", MfmaModel::Int32}, {"UNKNOWN", MfmaModel::ScaledTr32}};
  for (const json& row : layouts()) {
    MfmaId id = *mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    for (const auto& [arch, text] : row["arith"].items()) {
      std::string model = text;
      bool assumed = model.ends_with(" ASSUMED");
      if (assumed) model.resize(model.size() - 8);
      EXPECT_EQ(model_of(id, *parse_arch(arch)), models.at(model)) << info(id).kind << " " << arch;
      EXPECT_EQ(is_provisional(id, *parse_arch(arch)), assumed || model == "UNKNOWN") << info(id).kind << " " << arch;
    }
  }
}

TEST(Mfma, Mnemonics) {
  for (const json& row : layouts()) {
    MfmaId id = *mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    for (const auto& [arch_name, text] : row["asm"].items()) {
      Arch arch = *parse_arch(arch_name);
      std::string first = text.get<std::string>();
      std::string second;
      if (size_t slash = first.find(" / "); slash != std::string::npos) {
        second = first.substr(slash + 3);
        first.resize(slash);
      }
      EXPECT_EQ(mfma_mnemonic(id, arch), first);
      EXPECT_EQ(mfma_from_mnemonic(first, arch), id);
      if (!second.empty()) {
        EXPECT_EQ(mfma_from_mnemonic(second, arch), id);
      }
    }
  }
  EXPECT_FALSE(mfma_from_mnemonic("v_mfma_f32_16x16x16_f16", Arch::Gfx90a));
  EXPECT_FALSE(mfma_from_mnemonic("v_mfma_f32_16x16x8_xf32", Arch::Gfx950));
}

TEST(Mfma, OperandMapsMatchAndInvert) {
  for (const json& row : layouts()) {
    MfmaId id = *mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    const MfmaInfo& t = info(id);
    for (MfmaFormat format : {MfmaFormat::F8E4M3, MfmaFormat::F6E3M2, MfmaFormat::F4E2M1}) {
      std::set<std::tuple<unsigned, unsigned, unsigned>> seen_a, seen_b;
      for (unsigned lane = 0; lane < wave_size; lane++)
        for (unsigned e = 0; e < a_elements(id); e++) {
          auto at = [&](const char* operand, const char* coord) {
            return Expr(map_of(row, operand, coord, format), {{"lane", lane}, {"e", e}}).eval();
          };
          MfmaCoord a = a_coord(id, lane, e, format), b = b_coord(id, lane, e, format);
          ASSERT_EQ(a, (MfmaCoord{at("a", "i"), at("a", "k"), at("a", "block")})) << t.kind << " lane " << lane << " element " << e;
          ASSERT_EQ(b, (MfmaCoord{at("b", "k"), at("b", "j"), at("b", "block")})) << t.kind << " lane " << lane << " element " << e;
          ASSERT_EQ(a_place(id, a, format), (MfmaPlace{lane, e})) << t.kind;
          ASSERT_EQ(b_place(id, b, format), (MfmaPlace{lane, e})) << t.kind;
          ASSERT_TRUE(a.row < t.m && a.col < t.k && a.block < t.blocks);
          ASSERT_TRUE(b.row < t.k && b.col < t.n && b.block < t.blocks);
          seen_a.insert({a.row, a.col, a.block});
          seen_b.insert({b.row, b.col, b.block});
        }
      EXPECT_EQ(seen_a.size(), t.m * t.k * t.blocks) << t.kind;
      EXPECT_EQ(seen_b.size(), t.k * t.n * t.blocks) << t.kind;
    }
  }
}

TEST(Mfma, ResultMapsMatchAndInvert) {
  for (const json& row : layouts()) {
    MfmaId id = *mfma_from_intrinsic(row["intrinsic"].get<std::string>());
    const MfmaInfo& t = info(id);
    std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
    for (unsigned lane = 0; lane < wave_size; lane++)
      for (unsigned r = 0; r < d_elements(id); r++) {
        auto at = [&](const char* coord) {
          return Expr(map_of(row, "d", coord, MfmaFormat::F8E4M3), {{"lane", lane}, {"r", r}}).eval();
        };
        MfmaCoord d = d_coord(id, lane, r);
        ASSERT_EQ(d, (MfmaCoord{at("i"), at("j"), at("block")})) << t.kind << " lane " << lane << " r " << r;
        ASSERT_EQ(d_place(id, d), (MfmaPlace{lane, r})) << t.kind;
        ASSERT_TRUE(d.row < t.m && d.col < t.n && d.block < t.blocks);
        seen.insert({d.row, d.col, d.block});
      }
    EXPECT_EQ(seen.size(), t.m * t.n * t.blocks) << t.kind;
  }
}

TEST(Mfma, Registers) {
  EXPECT_EQ(a_registers(MfmaId::F32_16x16x16_F16), 2u);
  EXPECT_EQ(a_registers(MfmaId::F32_16x16x32_F16), 4u);
  EXPECT_EQ(a_registers(MfmaId::F32_32x32x1_2b_F32), 1u);
  EXPECT_EQ(a_registers(MfmaId::F32_16x16x8_Xf32), 2u);
  EXPECT_EQ(a_registers(MfmaId::F64_16x16x4_F64), 2u);
  EXPECT_EQ(d_registers(MfmaId::F64_16x16x4_F64), 8u);
  EXPECT_EQ(d_registers(MfmaId::F32_32x32x1_2b_F32), 32u);
  EXPECT_EQ(a_registers(MfmaId::F32_16x16x128_F8F6F4, MfmaFormat::F8E5M2), 8u);
  EXPECT_EQ(b_registers(MfmaId::F32_16x16x128_F8F6F4, MfmaFormat::F6E2M3), 6u);
  EXPECT_EQ(b_registers(MfmaId::F32_32x32x64_F8F6F4, MfmaFormat::F4E2M1), 4u);
  EXPECT_EQ(a_registers(MfmaId::F32_32x32x16_Fp8_Bf8), 2u);
}

TEST(Mfma, Broadcast) {
  EXPECT_EQ(blgp_lane(0, 37), 37u);
  EXPECT_EQ(blgp_lane(1, 37), 5u);
  EXPECT_EQ(blgp_lane(2, 5), 37u);
  EXPECT_EQ(blgp_lane(3, 60), 12u);
  EXPECT_EQ(blgp_lane(4, 60), 12u);
  EXPECT_EQ(blgp_lane(7, 1), 49u);
  EXPECT_EQ(cbsz_block(0, 0, 3), 3u);
  EXPECT_EQ(cbsz_block(2, 1, 7), 5u);
  EXPECT_EQ(cbsz_block(4, 9, 3), 9u);
}

}  // namespace
}  // namespace tile
