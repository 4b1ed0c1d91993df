#include "codegen/disassemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "modules.h"

namespace tile::codegen {
namespace {

using namespace test;
using testing::HasSubstr;

const Instruction* find(const KernelCode& kernel, std::string_view mnemonic) {
  for (const Instruction& i : kernel.instructions)
    if (i.text.starts_with(mnemonic)) return &i;
  return nullptr;
}

TEST(Disassemble, EveryInstructionHasItsLine) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) {
    auto image = compile_text(vector_add(), arch);
    ASSERT_TRUE(image) << image.error().message;
    auto d = disassemble(image->bytes);
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_EQ(d->arch, arch);
    ASSERT_EQ(d->kernels.size(), 1u);
    const KernelCode& k = d->kernels.front();
    EXPECT_EQ(k.instructions.back().text, "s_endpgm");
    EXPECT_FALSE(k.instructions.back().falls_through);
    for (const Instruction& i : k.instructions) EXPECT_TRUE(i.legal) << i.text;
    const Instruction* load = find(k, "buffer_load_dwordx4");
    const Instruction* add = find(k, "v_pk_add_f32");
    const Instruction* store = find(k, "buffer_store_dwordx4");
    ASSERT_TRUE(load && add && store);
    EXPECT_EQ(load->line, 10u);
    EXPECT_EQ(load->column, 14u);
    EXPECT_EQ(add->line, 11u);
    EXPECT_EQ(store->line, 12u);
    EXPECT_EQ(d->files.at(load->file), "vadd.tile");
    EXPECT_EQ(load->cls, InstructionClass::VmemLoad);
    EXPECT_EQ(add->cls, InstructionClass::Valu);
    EXPECT_EQ(store->cls, InstructionClass::VmemStore);
    std::uint64_t bytes = 0;
    for (const Instruction& i : k.instructions) bytes += i.size;
    EXPECT_EQ(bytes, k.resources.code_size);
    EXPECT_THAT(listing(*d), HasSubstr("; vadd.tile:11"));
  }
}

TEST(Disassemble, BranchesHaveTargets) {
  auto image = compile_text(lds_mfma(Arch::Gfx942), Arch::Gfx942);
  ASSERT_TRUE(image) << image.error().message;
  auto d = disassemble(image->bytes);
  ASSERT_TRUE(d);
  const KernelCode& k = d->kernels.front();
  std::set<std::uint64_t> addresses;
  for (const Instruction& i : k.instructions) addresses.insert(i.address);
  unsigned backward = 0;
  for (const Instruction& i : k.instructions)
    if (i.branch_target) {
      EXPECT_TRUE(addresses.contains(*i.branch_target)) << i.text;
      EXPECT_EQ(i.cls, InstructionClass::Branch);
      backward += *i.branch_target <= i.address;
    }
  EXPECT_EQ(backward, 1u);
}

TEST(Disassemble, ClassesByMnemonic) {
  using enum InstructionClass;
  struct Row {
    const char* mnemonic;
    bool dma;
    InstructionClass cls;
  };
  for (const Row& row : std::initializer_list<Row>{{"v_mfma_f32_16x16x16_f16", false, Mfma},
                                                   {"v_smfmac_f32_16x16x32_f16", false, Mfma},
                                                   {"v_accvgpr_read_b32", false, Acc},
                                                   {"v_exp_f32_e32", false, Trans},
                                                   {"v_add_f32_e32", false, Valu},
                                                   {"v_readlane_b32", false, Valu},
                                                   {"s_add_u32", false, Salu},
                                                   {"s_load_dwordx4", false, Smem},
                                                   {"s_buffer_load_dword", false, Smem},
                                                   {"s_waitcnt", false, Wait},
                                                   {"s_nop", false, Nop},
                                                   {"s_barrier", false, Barrier},
                                                   {"s_cbranch_scc1", false, Branch},
                                                   {"s_endpgm", false, Branch},
                                                   {"ds_read_b128", false, Lds},
                                                   {"ds_bpermute_b32", false, Lanes},
                                                   {"buffer_load_dwordx4", false, VmemLoad},
                                                   {"buffer_load_dwordx4", true, LdsDma},
                                                   {"global_load_lds_dwordx4", true, LdsDma},
                                                   {"global_atomic_add_f32", false, VmemAtomic},
                                                   {"flat_store_dword", false, VmemStore},
                                                   {"buffer_wbl2", false, Other},
                                                   {"scratch_load_dword", false, Scratch}})
    EXPECT_EQ(name(classify(row.mnemonic, row.dma)), name(row.cls)) << row.mnemonic;
  for (unsigned c = 0; c < num_instruction_classes; ++c) EXPECT_FALSE(doc(static_cast<InstructionClass>(c)).empty());
}

// Where the bytes of a kernel's code lie in the file: .text is loaded at an address that differs from its offset.
std::size_t file_offset(const std::vector<std::uint8_t>& bytes, const CodeObject& object, const KernelResources& k) {
  return static_cast<std::size_t>(object.code(k).data() - bytes.data());
}

TEST(CheckEncoding, FindsIllegalInstructions) {
  auto image = compile_text(vector_add(), Arch::Gfx942);
  ASSERT_TRUE(image);
  EXPECT_TRUE(check_encoding(image->bytes));
  auto object = CodeObject::open(image->bytes);
  ASSERT_TRUE(object);
  auto d = disassemble(image->bytes);
  const Instruction* add = find(d->kernels.front(), "v_pk_add_f32");
  const std::size_t at = file_offset(image->bytes, *object, object->kernels().front()) + add->address -
                         object->kernels().front().code_address;
  for (int i = 0; i < 4; ++i) image->bytes[at + static_cast<std::size_t>(i)] = 0xff;
  Status s = check_encoding(image->bytes);
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message, HasSubstr("gfx942"));
  EXPECT_THAT(s.error().message, HasSubstr("kernel 'vadd'"));
  EXPECT_THAT(s.error().message, HasSubstr("vadd.tile:11"));
  auto again = disassemble(image->bytes);
  ASSERT_TRUE(again);
  EXPECT_NE(find(again->kernels.front(), ".long"), nullptr);
}

// LLVM accepts this intrinsic on gfx942 and encodes an instruction that only gfx950 has. compile() refuses it by
// capability.def; were it not there, this is what the check of the encoding is for.
TEST(CheckEncoding, CatchesAnotherTargetsCode) {
  auto image = compile_text(
      small_kernel("  %v = call <2 x float> @llvm.amdgcn.cvt.scalef32.pk.f32.fp4(i32 %n, float %x, i32 0)\n"
                   "  store <2 x float> %v, ptr addrspace(1) %p\n  ret void",
                   "declare <2 x float> @llvm.amdgcn.cvt.scalef32.pk.f32.fp4(i32, float, i32)"),
      Arch::Gfx950);
  ASSERT_TRUE(image) << image.error().message;
  image->bytes[0x30] = static_cast<std::uint8_t>(info(Arch::Gfx942).mach);
  EXPECT_FALSE(check_encoding(image->bytes));
}

TEST(CodeObject, NotAnHsaco) {
  const std::vector<std::uint8_t> nothing, text{'h', 'e', 'l', 'l', 'o', '\n'};
  EXPECT_FALSE(resources(nothing));
  EXPECT_FALSE(resources(text));
  EXPECT_FALSE(disassemble(text));
}

TEST(CodeObject, DamagedFilesNeverCrash) {
  auto image = compile_text(lds_mfma(Arch::Gfx950), Arch::Gfx950);
  ASSERT_TRUE(image) << image.error().message;
  std::mt19937 random(7);
  unsigned rejected = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<std::uint8_t> bytes = image->bytes;
    const unsigned edits = 1 + random() % 4;
    for (unsigned e = 0; e < edits; ++e)
      bytes[random() % (round % 2 ? bytes.size() : 0x700)] = static_cast<std::uint8_t>(random());
    if (round % 10 == 0) bytes.resize(random() % bytes.size());
    rejected += !disassemble(bytes).ok();
  }
  EXPECT_GT(rejected, 50u);
}

TEST(Occupancy, ByEachLimit) {
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 64, 32, 0, 256).waves_per_simd, 8u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 65, 32, 0, 256).waves_per_simd, 7u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 128, 32, 0, 256).waves_per_simd, 4u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 129, 32, 0, 256).limit, "vgprs");
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 512, 32, 0, 256).waves_per_simd, 1u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 102, 0, 256).waves_per_simd, 7u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 102, 0, 256).limit, "sgprs");
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 32, 32768, 256).waves_per_simd, 2u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 32, 32769, 256).waves_per_simd, 1u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 32, 32769, 256).limit, "lds");
  EXPECT_EQ(occupancy_of(Arch::Gfx950, 32, 32, 32768, 256).waves_per_simd, 4u);  // 26 * 1280 bytes: four fit 160 KiB
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 32, 0, 1024).workgroups_per_cu, 2u);
  EXPECT_EQ(occupancy_of(Arch::Gfx942, 32, 32, 0, 64).workgroups_per_cu, 32u);
}

}  // namespace
}  // namespace tile::codegen
