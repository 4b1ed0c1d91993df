#include "codegen/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace tile::codegen {
namespace {

struct Capability {
  std::string_view prefix;
  bool has[num_archs];
};

constexpr Capability capabilities[] = {
#define TILE_INTRINSIC(prefix, gfx90a, gfx942, gfx950) {prefix, {gfx90a != 0, gfx942 != 0, gfx950 != 0}},
#include "codegen/capability.def"
};

const Capability* find_capability(std::string_view intrinsic) {
  constexpr std::string_view family = "llvm.amdgcn.";
  if (!intrinsic.starts_with(family)) return nullptr;
  intrinsic.remove_prefix(family.size());
  const Capability* best = nullptr;
  for (const Capability& row : capabilities)
    if (intrinsic.starts_with(row.prefix) && (!best || row.prefix.size() > best->prefix.size())) best = &row;
  return best;
}

std::string archs_with(const Capability& row) {
  std::vector<std::string_view> names;
  for (const ArchInfo& arch : arch_table)
    if (row.has[static_cast<unsigned>(arch.arch)]) names.push_back(arch.name);
  return names.empty() ? "no target" : fmt::format("{}", fmt::join(names, ", "));
}

// " at file:line" of the first use that has a debug location, or nothing.
std::string place_of_use(const llvm::Function& function) {
  for (const llvm::User* user : function.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction || !instruction->getDebugLoc()) continue;
    const llvm::DILocation* loc = instruction->getDebugLoc().get();
    return fmt::format(" at {}:{}:{}", loc->getFilename().str(), loc->getLine(), loc->getColumn());
  }
  return "";
}

// Flags and attributes that would let LLVM change a value. (nnan and ninf are promises that a frontend can prove.)
void check_exactness(const llvm::Function& function, std::vector<std::string>& wrong) {
  for (const char* attribute : {"denormal-fp-math", "denormal-fp-math-f32"}) {
    const llvm::StringRef mode = function.getFnAttribute(attribute).getValueAsString();
    if (!mode.empty() && mode != "ieee,ieee")
      wrong.push_back(fmt::format("function '{}' turns denormals off ({})", function.getName().str(), attribute));
  }
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) {
      const auto* op = llvm::dyn_cast<llvm::FPMathOperator>(&instruction);
      if (!op) continue;
      const llvm::FastMathFlags flags = op->getFastMathFlags();
      if (flags.allowReassoc() || flags.allowContract() || flags.allowReciprocal() || flags.approxFunc() ||
          flags.noSignedZeros())
        wrong.push_back(fmt::format("function '{}' has a fast-math flag on '{}'", function.getName().str(),
                                    instruction.getOpcodeName()));
    }
}

}  // namespace

bool has_intrinsic(Arch arch, std::string_view intrinsic) {
  const Capability* row = find_capability(intrinsic);
  return !row || row->has[static_cast<unsigned>(arch)];
}

Status check_module(const llvm::Module& module, Arch arch) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream)) return Error{"invalid LLVM module: " + problems};

  std::vector<std::string> wrong;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) check_exactness(function, wrong);
    if (!function.isDeclaration() || function.use_empty()) continue;
    const std::string callee = function.getName().str();
    if (!function.isIntrinsic()) {
      wrong.push_back(fmt::format("call to undefined function '{}'{}", callee, place_of_use(function)));
    } else if (const Capability* row = find_capability(callee); row && !row->has[static_cast<unsigned>(arch)]) {
      wrong.push_back(fmt::format("{} has no '{}'{} (it exists on: {})", name(arch), callee, place_of_use(function),
                                  archs_with(*row)));
    }
  }
  if (wrong.empty()) return Unit{};
  return Error{fmt::format("{}", fmt::join(wrong, "\n"))};
}

}  // namespace tile::codegen
