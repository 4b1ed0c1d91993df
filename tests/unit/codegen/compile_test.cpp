#include "codegen/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "codegen/check.h"
#include "codegen/code_object.h"
#include "modules.h"

namespace tile::codegen {
namespace {

using namespace test;
using testing::HasSubstr;

class EachArch : public testing::TestWithParam<Arch> {};

TEST_P(EachArch, VectorAdd) {
  auto image = compile_text(vector_add(), GetParam());
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->arch, GetParam());
  auto kernels = resources(image->bytes);
  ASSERT_TRUE(kernels) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 1u);
  const KernelResources& k = kernels->front();
  EXPECT_EQ(k.name, "vadd");
  EXPECT_EQ(k.kernarg, 28u);  // three pointers and an i32: no hidden arguments
  EXPECT_EQ(k.lds, 0u);
  EXPECT_EQ(k.scratch, 0u);
  EXPECT_EQ(k.vgpr_spills, 0u);
  EXPECT_EQ(k.threads, 256u);
  EXPECT_GT(k.code_size, 40u);
  EXPECT_EQ(k.occupancy.waves_per_simd, 8u);
  // Version 5 of the code object, and a target that takes any xnack and sramecc setting.
  EXPECT_EQ(image->bytes[8], 3);
  EXPECT_EQ(image->bytes[0x30], info(GetParam()).mach);
  EXPECT_EQ(image->bytes[0x31], 0x05);
}

TEST_P(EachArch, LdsAndMatrixProducts) {
  auto image = compile_text(lds_mfma(GetParam()), GetParam());
  ASSERT_TRUE(image) << image.error().message;
  auto kernels = resources(image->bytes);
  ASSERT_TRUE(kernels);
  EXPECT_EQ(kernels->front().lds, 4096u);
}

TEST_P(EachArch, AssemblyNamesTheInstructions) {
  llvm::LLVMContext context;
  auto module = parse(context, lds_mfma(GetParam()), GetParam());
  ASSERT_TRUE(module);
  auto text = emit_asm(*module, GetParam());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr(GetParam() == Arch::Gfx950 ? "v_mfma_f32_16x16x32_f16" : "v_mfma_f32_16x16x16"));
  EXPECT_THAT(*text, HasSubstr("ds_write_b128"));
  EXPECT_THAT(*text, HasSubstr("buffer_load_dwordx4"));
}

TEST_P(EachArch, NothingIsFused) {
  auto image = compile_text(small_kernel(R"(  %m = fmul float %x, %x
  %s = fadd float %m, 1.5
  store float %s, ptr addrspace(1) %p
  ret void)",
                                         ""),
                            GetParam());
  ASSERT_TRUE(image) << image.error().message;
  llvm::LLVMContext context;
  auto module = parse(context,
                      small_kernel(R"(  %m = fmul float %x, %x
  %s = fadd float %m, 1.5
  store float %s, ptr addrspace(1) %p
  ret void)",
                                   ""),
                      GetParam());
  auto text = emit_asm(*module, GetParam());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("v_mul_f32"));
  EXPECT_THAT(*text, HasSubstr("v_add_f32"));
  EXPECT_THAT(*text, testing::Not(HasSubstr("fma")));
}

TEST_P(EachArch, TooMuchLdsIsAValue) {
  const std::string bytes = std::to_string(info(GetParam()).lds_bytes + 16);
  auto image = compile_text(small_kernel("  %q = getelementptr i8, ptr addrspace(3) @big, i32 %n\n"
                                         "  store volatile float %x, ptr addrspace(3) %q\n  ret void",
                                         "@big = internal addrspace(3) global [" + bytes + " x i8] poison, align 16"),
                            GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("local memory (" + bytes + ") exceeds limit"));
}

TEST_P(EachArch, TheWholeLdsIsAllowed) {
  const std::string bytes = std::to_string(info(GetParam()).lds_bytes);
  auto image = compile_text(small_kernel("  %q = getelementptr i8, ptr addrspace(3) @big, i32 %n\n"
                                         "  store volatile float %x, ptr addrspace(3) %q\n  ret void",
                                         "@big = internal addrspace(3) global [" + bytes + " x i8] poison, align 16"),
                            GetParam());
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(resources(image->bytes)->front().lds, info(GetParam()).lds_bytes);
}

TEST_P(EachArch, UndefinedCallsAreValues) {
  auto image = compile_text(small_kernel("  call void @missing(float %x)\n  ret void", "declare void @missing(float)"),
                            GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("undefined function 'missing'"));
  // A misspelt intrinsic passes LLVM's verifier and would become an external call.
  image = compile_text(
      small_kernel("  call void @llvm.amdgcn.typo(float %x)\n  ret void", "declare void @llvm.amdgcn.typo(float)"),
      GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("llvm.amdgcn.typo"));
  // An intrinsic that LLVM turns into a library call: only the linker knows.
  const std::string erf =
      small_kernel("  %e = call float @llvm.erf.f32(float %x)\n  store float %e, ptr addrspace(1) %p\n  ret void",
                   "declare float @llvm.erf.f32(float)");
  image = compile_text(erf, GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("linker: undefined symbol: llvm.erf.f32"));
  EXPECT_THAT(image.error().message, testing::Not(HasSubstr("/proc")));
  EXPECT_TRUE(compile_text(vector_add(), GetParam()));  // the linker goes on working
  // And one that LLVM reports itself.
  std::string tan = erf;
  for (std::size_t at; (at = tan.find("erf")) != tan.npos;) tan.replace(at, 3, "tan");
  image = compile_text(tan, GetParam());
  ASSERT_FALSE(image);
}

TEST_P(EachArch, SelectionFailuresAreValues) {
  // No row in capability.def: LLVM itself reports a fatal error.
  auto image = compile_text(
      small_kernel(
          "  %v = call <16 x i8> @llvm.amdgcn.raw.ptr.buffer.load.v16i8(ptr addrspace(8) null, i32 %n, i32 0, i32 0)\n"
          "  store <16 x i8> %v, ptr addrspace(1) %p\n  ret void",
          "declare <16 x i8> @llvm.amdgcn.raw.ptr.buffer.load.v16i8(ptr addrspace(8), i32, i32, i32)"),
      GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("LLVM: "));
  // The process goes on, and so does this thread.
  auto good = compile_text(vector_add(), GetParam());
  EXPECT_TRUE(good);
}

TEST_P(EachArch, InvalidModulesAreValues) {
  llvm::LLVMContext context;
  auto module = parse(context, vector_add(), GetParam());
  module->getFunction("vadd")->front().getTerminator()->eraseFromParent();
  auto image = compile(*module, GetParam());
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("invalid LLVM module"));
}

TEST_P(EachArch, TheSameBytesEveryTime) {
  const std::string text = lds_mfma(GetParam());
  auto first = compile_text(text, GetParam());
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::vector<std::uint8_t>> results(12);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = t; i < results.size(); i += 4)
        if (auto image = compile_text(text, GetParam())) results[i] = image->bytes;
    });
  for (std::thread& t : threads) t.join();
  for (const auto& bytes : results) EXPECT_EQ(bytes, first->bytes);
}

TEST_P(EachArch, FailuresInOneThreadLeaveTheOthersAlone) {
  const std::string good = vector_add();
  const std::string bad = small_kernel(
      "  %v = call <16 x i8> @llvm.amdgcn.raw.ptr.buffer.load.v16i8(ptr addrspace(8) null, i32 %n, i32 0, i32 0)\n"
      "  store <16 x i8> %v, ptr addrspace(1) %p\n  ret void",
      "declare <16 x i8> @llvm.amdgcn.raw.ptr.buffer.load.v16i8(ptr addrspace(8), i32, i32, i32)");
  int succeeded[4] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) succeeded[t] += compile_text(t % 2 ? bad : good, GetParam()).ok();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(succeeded[0], 5);
  EXPECT_EQ(succeeded[1], 0);
  EXPECT_EQ(succeeded[2], 5);
  EXPECT_EQ(succeeded[3], 0);
}

TEST_P(EachArch, LlvmToolsAcceptTheObject) {
  auto image = compile_text(lds_mfma(GetParam()), GetParam());
  ASSERT_TRUE(image) << image.error().message;
  const std::string path = testing::TempDir() + "codegen_" + std::string(name(GetParam())) + ".hsaco";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(image->bytes.data()), static_cast<std::streamsize>(image->bytes.size()));
  auto run = [&](const std::string& command) {
    FILE* pipe = popen((command + " " + path + " 2>&1").c_str(), "r");
    std::string out;
    for (int c; (c = fgetc(pipe)) != EOF;) out += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << out;
    return out;
  };
  const std::string readelf = run(LLVM_TOOLS "/llvm-readelf -h --notes");
  EXPECT_THAT(readelf, HasSubstr(std::string(name(GetParam())) + ", xnack, sramecc"));
  EXPECT_THAT(readelf, HasSubstr("amdgcn-amd-amdhsa--" + std::string(name(GetParam()))));
  const std::string objdump = run(LLVM_TOOLS "/llvm-objdump -d --no-show-raw-insn");
  EXPECT_THAT(objdump, HasSubstr("v_mfma_f32_16x16x"));
  EXPECT_THAT(objdump, HasSubstr("ds_read_b128"));
  EXPECT_THAT(run(LLVM_TOOLS "/llvm-dwarfdump --verify"), HasSubstr("No errors"));
}

INSTANTIATE_TEST_SUITE_P(All, EachArch, testing::Values(Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Capability, LongestPrefixDecides) {
  EXPECT_TRUE(has_intrinsic(Arch::Gfx950, "llvm.amdgcn.mfma.f32.16x16x32.f16"));
  EXPECT_FALSE(has_intrinsic(Arch::Gfx942, "llvm.amdgcn.mfma.f32.16x16x32.f16"));
  EXPECT_TRUE(has_intrinsic(Arch::Gfx942, "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8"));
  EXPECT_FALSE(has_intrinsic(Arch::Gfx90a, "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8"));
  EXPECT_TRUE(has_intrinsic(Arch::Gfx90a, "llvm.amdgcn.mfma.f32.16x16x16f16"));
  EXPECT_TRUE(has_intrinsic(Arch::Gfx90a, "llvm.fma.f32"));
}

TEST(Capability, MissingIntrinsicsAreNamed) {
  const std::string text = small_kernel(
      "  %v = call <2 x float> @llvm.amdgcn.cvt.scalef32.pk.f32.fp4(i32 %n, float %x, i32 0)\n"
      "  store <2 x float> %v, ptr addrspace(1) %p\n  ret void",
      "declare <2 x float> @llvm.amdgcn.cvt.scalef32.pk.f32.fp4(i32, float, i32)");
  auto image = compile_text(text, Arch::Gfx942);
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("gfx942 has no 'llvm.amdgcn.cvt.scalef32.pk.f32.fp4'"));
  EXPECT_THAT(image.error().message, HasSubstr("exists on: gfx950"));
  EXPECT_TRUE(compile_text(text, Arch::Gfx950));
}

TEST(Compile, FlagsThatChangeValuesAreRefused) {
  for (const char* flag : {"contract", "reassoc", "arcp", "afn", "nsz", "fast"}) {
    auto image = compile_text(small_kernel("  %s = fadd " + std::string(flag) +
                                               " float %x, %x\n"
                                               "  store float %s, ptr addrspace(1) %p\n  ret void",
                                           ""),
                              Arch::Gfx942);
    ASSERT_FALSE(image) << flag;
    EXPECT_THAT(image.error().message, HasSubstr("fast-math flag on 'fadd'"));
  }
  EXPECT_TRUE(compile_text(small_kernel("  %s = fadd nnan ninf float %x, %x\n"
                                        "  store float %s, ptr addrspace(1) %p\n  ret void",
                                        ""),
                           Arch::Gfx942));
  std::string text = small_kernel("  ret void", "");
  text.replace(text.find("nounwind"), 8, "nounwind \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"");
  auto image = compile_text(text, Arch::Gfx942);
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("denormals off"));
}

// The mode in which kernels start: round to nearest even, denormals on in all formats.
TEST(Compile, FloatModeIsIeee) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) {
    llvm::LLVMContext context;
    auto module = parse(context, vector_add(), arch);
    auto text = emit_asm(*module, arch);
    ASSERT_TRUE(text) << text.error().message;
    for (const char* line :
         {".amdhsa_float_round_mode_32 0", ".amdhsa_float_round_mode_16_64 0", ".amdhsa_float_denorm_mode_32 3",
          ".amdhsa_float_denorm_mode_16_64 3", ".amdhsa_dx10_clamp 1", ".amdhsa_ieee_mode 1"})
      EXPECT_THAT(*text, HasSubstr(line));
  }
}

TEST(Compile, AnUnpreparedModuleIsAValue) {
  llvm::LLVMContext context;
  llvm::Module module("bare", context);
  auto image = compile(module, Arch::Gfx942);
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("not prepared"));
}

TEST(Compile, SeveralKernelsInOneModule) {
  const std::string body = "  store float %x, ptr addrspace(1) %p\n  ret void";
  std::string two = small_kernel(body, "", "first");
  two +=
      "define amdgpu_kernel void @second(ptr addrspace(1) %p, double %x) #0 {\n"
      "  store double %x, ptr addrspace(1) %p\n  ret void\n}\n";
  auto image = compile_text(two, Arch::Gfx942);
  ASSERT_TRUE(image) << image.error().message;
  auto kernels = resources(image->bytes);
  ASSERT_TRUE(kernels) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].name, "first");
  EXPECT_EQ((*kernels)[0].kernarg, 16u);
  EXPECT_EQ((*kernels)[1].name, "second");
  EXPECT_EQ((*kernels)[1].kernarg, 16u);
  EXPECT_NE((*kernels)[0].code_address, (*kernels)[1].code_address);
}

TEST(Compile, AllPipelinesAgreeOnResources) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950})
    for (Pipeline p : {Pipeline::None, Pipeline::Kernel, Pipeline::Default}) {
      CompileOptions options;
      options.pipeline = p;
      auto image = compile_text(lds_mfma(arch), arch, options);
      ASSERT_TRUE(image) << image.error().message;
      auto kernels = resources(image->bytes);
      ASSERT_TRUE(kernels);
      EXPECT_EQ(kernels->front().lds, 4096u);
      EXPECT_EQ(kernels->front().kernarg, 20u);
    }
}

// The trimmed pipeline gives the code that LLVM's own -O3 gives.
TEST(Compile, KernelPipelineIsAsGoodAsDefault) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950})
    for (const std::string& text : {vector_add(), lds_mfma(arch)}) {
      CompileOptions standard;
      standard.pipeline = Pipeline::Default;
      auto ours = compile_text(text, arch), theirs = compile_text(text, arch, standard);
      ASSERT_TRUE(ours && theirs);
      const KernelResources a = resources(ours->bytes)->front(), b = resources(theirs->bytes)->front();
      EXPECT_LE(a.code_size, b.code_size + 8);
      EXPECT_LE(a.vgprs, b.vgprs);
      EXPECT_EQ(a.agprs, 0u);
    }
}

// Debug information must not change the code.
TEST(Compile, LineTablesLeaveTheCodeAlone) {
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950}) {
    std::string text = lds_mfma(arch), plain;
    auto with = compile_text(text, arch);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string line = text.substr(at, end - at);
      at = end == std::string::npos ? text.size() : end + 1;
      if (line.starts_with("!")) continue;
      if (const std::size_t tag = line.find(", !dbg"); tag != line.npos) line.resize(tag);
      if (const std::size_t tag = line.find(" !dbg"); tag != line.npos) line = line.substr(0, tag) + " {";
      plain += line + "\n";
    }
    auto without = compile_text(plain, arch);
    ASSERT_TRUE(with) << with.error().message;
    ASSERT_TRUE(without) << without.error().message;
    auto a = CodeObject::open(with->bytes), b = CodeObject::open(without->bytes);
    ASSERT_TRUE(a && b);
    const Bytes code_a = a->code(a->kernels().front()), code_b = b->code(b->kernels().front());
    EXPECT_TRUE(std::equal(code_a.begin(), code_a.end(), code_b.begin(), code_b.end()));
  }
}

// What our formula says is what LLVM's own remark says, over kernels of many sizes. (LLVM does not round
// LDS up to what is allocated; these sizes need no rounding.)
TEST(Occupancy, AgreesWithLlvm) {
  unsigned compared = 0;
  for (Arch arch : {Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950})
    for (unsigned threads : {64u, 128u, 256u, 512u, 1024u})
      for (unsigned lds : {2560u, 5120u, 10240u, 20480u, 33280u, 64000u}) {
        std::string text = small_kernel(
            "  %q = getelementptr i8, ptr addrspace(3) @l, i32 %n\n"
            "  store volatile float %x, ptr addrspace(3) %q\n  ret void",
            "@l = internal addrspace(3) global [" + std::to_string(lds) + " x i8] poison, align 16");
        const std::string group = std::to_string(threads);
        text.replace(text.find("256,256"), 7, group + "," + group);
        llvm::LLVMContext context;
        auto module = parse(context, text, arch);
        auto assembly = emit_asm(*module, arch);
        ASSERT_TRUE(assembly) << assembly.error().message;
        const std::size_t at = assembly->find("; Occupancy: ");
        ASSERT_NE(at, std::string::npos);
        const unsigned llvm_says = static_cast<unsigned>(std::stoul(assembly->substr(at + 13)));
        EXPECT_EQ(occupancy_of(arch, 8, 16, lds, threads).waves_per_simd, llvm_says)
            << name(arch) << " lds " << lds << " threads " << threads;
        ++compared;
      }
  EXPECT_EQ(compared, 90u);
}

}  // namespace
}  // namespace tile::codegen
