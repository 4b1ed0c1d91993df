#pragma once
// Reading an hsaco: its kernels, what they use of the machine, and how many of their waves fit a SIMD. Any bytes may be
// given: what is not a well-formed AMDGPU code object is an Error.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsl/support/result.h"
#include "dsl/target/arch.h"

namespace llvm::object {
class ObjectFile;
}

namespace tile::codegen {

using Bytes = std::span<const std::uint8_t>;

// Waves of one kernel that a SIMD holds at a time, by each limit, and the lowest of them.
struct Occupancy {
  unsigned by_vgprs = 0, by_sgprs = 0, by_lds = 0;  // waves per SIMD, were this the only limit
  unsigned waves_per_simd = 0;                      // rounded up when waves do not divide evenly over the SIMDs
  unsigned workgroups_per_cu = 0;
  std::string limit;  // "vgprs", "sgprs", "lds", "workgroup size" or "none" (the machine's own maximum)
};

// `vgprs` counts VGPRs and AGPRs together, `lds` is in bytes, `threads` is the workgroup's size. The rules are those of
// LLVM's AMDGPU backend for GFX9: 512 registers a lane and SIMD in units of 8, 800 SGPRs, 16 workgroups of more than
// one wave a compute unit.
Occupancy occupancy_of(Arch arch, unsigned vgprs, unsigned sgprs, unsigned lds, unsigned threads);

struct KernelResources {
  std::string name;
  unsigned vgprs = 0;  // VGPRs and AGPRs together, as allocated to a wave
  unsigned agprs = 0;  // the AGPRs among them
  unsigned sgprs = 0;
  unsigned vgpr_spills = 0, sgpr_spills = 0;
  unsigned lds = 0;                               // bytes a workgroup
  unsigned scratch = 0;                           // bytes a lane
  unsigned kernarg = 0;                           // bytes of the argument buffer
  unsigned threads = 0;                           // largest workgroup that the code allows
  std::uint64_t code_address = 0, code_size = 0;  // in .text, bytes
  Occupancy occupancy;
};

// An opened hsaco. It refers to the bytes given, which must live as long.
class CodeObject {
 public:
  static Result<CodeObject> open(Bytes bytes);
  CodeObject(CodeObject&&) noexcept;
  CodeObject& operator=(CodeObject&&) noexcept;
  ~CodeObject();

  Arch arch() const { return arch_; }
  // In the order of the metadata.
  const std::vector<KernelResources>& kernels() const { return kernels_; }
  // The contents of .text from a kernel's code_address on, code_size bytes.
  Bytes code(const KernelResources& kernel) const;
  const llvm::object::ObjectFile& elf() const { return *elf_; }
  std::uint64_t text_section_index() const { return text_index_; }

 private:
  CodeObject();
  static Result<CodeObject> read(Bytes bytes);
  Arch arch_{};
  std::unique_ptr<llvm::object::ObjectFile> elf_;
  Bytes text_;
  std::uint64_t text_address_ = 0, text_index_ = 0;
  std::vector<KernelResources> kernels_;
};

// The kernels of an hsaco and what they use.
Result<std::vector<KernelResources>> resources(Bytes hsaco);

}  // namespace tile::codegen
