#include "modules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

namespace tile::codegen::test {
namespace {

const char* const kernel_attributes = R"(
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" }
)";

}  // namespace

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext& context, const std::string& text, Arch arch) {
  auto module = std::make_unique<llvm::Module>("test", context);
  if (Status s = prepare_module(*module, arch); !s) {
    ADD_FAILURE() << s.error().message;
    return nullptr;
  }
  llvm::SMDiagnostic why;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test.ll"), module.get(), nullptr, why)) {
    ADD_FAILURE() << "line " << why.getLineNo() << ": " << why.getMessage().str() << "\n"
                  << why.getLineContents().str();
    return nullptr;
  }
  return module;
}

std::string vector_add() {
  return std::string(R"(
define amdgpu_kernel void @vadd(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out, i32 %n) #0 !dbg !5 {
  %bytes = zext i32 %n to i64
  %rx = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %x, i16 0, i64 %bytes, i32 159744), !dbg !10
  %ry = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %y, i16 0, i64 %bytes, i32 159744), !dbg !10
  %ro = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 0, i64 %bytes, i32 159744), !dbg !12
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = shl i32 %group, 12
  %lane16 = shl i32 %lane, 4
  %at = add i32 %base, %lane16
  %a = call <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8) %rx, i32 %at, i32 0, i32 0), !dbg !10
  %b = call <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8) %ry, i32 %at, i32 0, i32 0), !dbg !10
  %c = fadd <4 x float> %a, %b, !dbg !11
  call void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float> %c, ptr addrspace(8) %ro, i32 %at, i32 0, i32 0), !dbg !12
  ret void, !dbg !12
}
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float>, ptr addrspace(8), i32, i32, i32)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "vadd.tile", directory: "/kernels")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 7, !"Dwarf Version", i32 5}
!5 = distinct !DISubprogram(name: "vadd", scope: !1, file: !1, line: 9, type: !6, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !{})
!10 = !DILocation(line: 10, column: 14, scope: !5)
!11 = !DILocation(line: 11, column: 19, scope: !5)
!12 = !DILocation(line: 12, column: 5, scope: !5)
)") + kernel_attributes;
}

std::string lds_mfma(Arch arch) {
  const bool wide = arch == Arch::Gfx950;
  std::string product, declare;
  if (wide) {
    declare =
        "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half>, <8 x half>, <4 x float>, i32, i32, i32)";
    product =
        "%r = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> %v, <8 x half> %v, <4 x float> %acc, i32 "
        "0, "
        "i32 0, i32 0), !dbg !23\n";
  } else {
    declare =
        "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)";
    product = R"(%lo = shufflevector <8 x half> %v, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %hi = shufflevector <8 x half> %v, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %r0 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %lo, <4 x half> %lo, <4 x float> %acc, i32 0, i32 0, i32 0), !dbg !23
  %r = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %hi, <4 x half> %hi, <4 x float> %r0, i32 0, i32 0, i32 0), !dbg !23
)";
  }
  return R"(
@lds = internal addrspace(3) global [4096 x i8] poison, align 16
define amdgpu_kernel void @mm(ptr addrspace(1) %a, ptr addrspace(1) %c, i32 %steps) #0 !dbg !5 {
entry:
  %ra = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 0, i64 1048576, i32 159744)
  %rc = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %c, i16 0, i64 1048576, i32 159744)
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %at = shl i32 %lane, 4
  %other = xor i32 %at, 512
  %to = getelementptr inbounds i8, ptr addrspace(3) @lds, i32 %at
  %from = getelementptr inbounds i8, ptr addrspace(3) @lds, i32 %other
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]
  %acc = phi <4 x float> [ zeroinitializer, %entry ], [ %r, %loop ]
  %ko = shl i32 %k, 12
  %x = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %ra, i32 %at, i32 %ko, i32 0), !dbg !21
  store <4 x i32> %x, ptr addrspace(3) %to, align 16, !dbg !22
  call void @llvm.amdgcn.s.waitcnt(i32 49279), !dbg !22
  call void @llvm.amdgcn.s.barrier(), !dbg !22
  %v = load <8 x half>, ptr addrspace(3) %from, align 16, !dbg !22
  )" + product +
         R"(  call void @llvm.amdgcn.s.waitcnt(i32 49279), !dbg !22
  call void @llvm.amdgcn.s.barrier(), !dbg !22
  %k1 = add i32 %k, 1, !dbg !20
  %more = icmp ult i32 %k1, %steps, !dbg !20
  br i1 %more, label %loop, label %exit, !dbg !20
exit:
  call void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float> %r, ptr addrspace(8) %rc, i32 %at, i32 0, i32 0), !dbg !24
  ret void, !dbg !24
}
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float>, ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.s.waitcnt(i32)
declare void @llvm.amdgcn.s.barrier()
)" + declare +
         R"(
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "mm.tile", directory: "/kernels")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 7, !"Dwarf Version", i32 5}
!5 = distinct !DISubprogram(name: "mm", scope: !1, file: !1, line: 19, type: !6, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !{})
!20 = !DILocation(line: 20, column: 3, scope: !5)
!21 = !DILocation(line: 21, column: 13, scope: !5)
!22 = !DILocation(line: 22, column: 9, scope: !5)
!23 = !DILocation(line: 23, column: 11, scope: !5)
!24 = !DILocation(line: 24, column: 3, scope: !5)
)" + kernel_attributes;
}

std::string small_kernel(const std::string& body, const std::string& declarations, const std::string& name) {
  return declarations +
         fmt::format("\ndefine amdgpu_kernel void @{}(ptr addrspace(1) %p, float %x, i32 %n) #0 {{\n{}\n}}\n", name,
                     body) +
         kernel_attributes;
}

Result<HsacoImage> compile_text(const std::string& text, Arch arch, const CompileOptions& options) {
  llvm::LLVMContext context;
  auto module = parse(context, text, arch);
  if (!module) return Error{"the test's module does not parse"};
  return compile(*module, arch, options);
}

}  // namespace tile::codegen::test
