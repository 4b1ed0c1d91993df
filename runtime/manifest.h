#pragma once
// The manifest: what a launcher has to know about a compiled kernel. The compiler writes it as JSON beside the hsaco
// (docs/abi.md has the schema); the runtime, the launcher and other people's programs read it. No LLVM here.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/support/result.h"
#include "runtime/expr.h"

namespace tile {

inline constexpr int manifest_version = 1;  // raised when a reader of the older version would go wrong

enum class ArgKind : std::uint8_t { View, Pointer, Scalar, AssertBuffer };

// One parameter of the kernel. Strings in `extents` and `strides` are expressions over the scalar parameters (expr.h),
// in elements.
struct ManifestArg {
  std::string name;
  ArgKind kind = ArgKind::Scalar;
  std::string dtype;         // of an element, or of the scalar: a name of dtype.def; empty for an AssertBuffer
  std::uint32_t offset = 0;  // in the kernarg segment, bytes
  std::uint32_t size = 0;    // bytes: 8 for all but scalars
  std::vector<std::string> extents, strides;  // of a view, one a dimension
  std::uint32_t align = 0;                    // bytes that the address must be a multiple of; 0 for a scalar
  bool noalias = false;                       // the launcher checks that no other argument's memory overlaps this one's
  bool reads = false, writes = false;         // what the kernel may do through a view or pointer
  std::string default_value;                  // of a scalar: its value, as text, when a launch gives none; may be empty
};

// What the machine code uses.
struct ManifestResources {
  std::uint32_t vgprs = 0, agprs = 0, sgprs = 0;  // vgprs counts both kinds
  std::uint32_t vgpr_spills = 0, sgpr_spills = 0;
  std::uint32_t scratch = 0;    // bytes a lane
  std::uint32_t occupancy = 0;  // waves per SIMD
  std::uint32_t code_size = 0;  // bytes
};

// Where a kernel uses an operation of a lower fidelity class than exact.
struct FidelityUse {
  std::string cls;  // "modelled", "provisional", "approximate" or "unordered"
  std::string op;
  std::string file;
  std::uint32_t line = 0, column = 0;
};

struct KernelManifest {
  std::string name;               // in the source
  std::string symbol;             // in the hsaco, without ".kd"
  std::string target;             // a name of arch.def
  std::string source;             // the .tile file as given to the compiler
  std::vector<ManifestArg> args;  // in parameter order
  std::uint32_t kernarg_size = 0, kernarg_align = 8;
  std::map<std::string, std::string> constants;  // values of the `const` parameters, as text
  std::vector<std::string> grid;                 // one to three expressions: workgroups in x, y, z
  std::uint32_t waves = 0;                       // a workgroup is waves * 64 threads in x
  std::uint32_t lds = 0;                         // bytes, static: launch with no dynamic LDS
  std::vector<std::string> requires_;            // expressions that must be true ("requires" in JSON)
  std::string fidelity = "exact";                // the lowest class used
  std::vector<FidelityUse> fidelity_uses;
  ManifestResources resources;
};

// The kernels of one hsaco.
struct Manifest {
  std::vector<KernelManifest> kernels;
  const KernelManifest* find(std::string_view kernel) const;
};

std::string_view name(ArgKind kind);

nlohmann::json to_json(const KernelManifest& kernel);
nlohmann::json to_json(const Manifest& manifest);

// Errors name the place ("kernels[0].args[2].offset") and what was expected: a missing or mistyped field, an unknown
// dtype, target or class, arguments that overlap, are misaligned or leave the kernarg segment, an expression that does
// not parse or uses a name that is no scalar parameter or integer constant, a schema version that this program does not
// read. Unknown fields are ignored, so that fields can be added.
Result<Manifest> manifest_from_json(const nlohmann::json& json);
Result<Manifest> parse_manifest(std::string_view text);
// The text that the compiler writes: to_json with two spaces of indentation and a final newline.
std::string print_manifest(const Manifest& manifest);

// The rules above for a manifest in memory.
Status validate(const KernelManifest& kernel);

// The number of workgroups in x, y, z, given the scalar parameters (integer constants need not be given). Zero in any
// of them is a launch that does nothing. Errors: an expression fails, a negative number, or more than 2^32 - 1 threads
// in one dimension.
struct Grid {
  std::uint32_t x = 1, y = 1, z = 1;
};
Result<Grid> eval_grid(const KernelManifest& kernel, const Expr::Values& scalars);

// Checks every `requires` clause. The error lists each that does not hold, with the values that it was computed from.
Status check_requires(const KernelManifest& kernel, const Expr::Values& scalars);

}  // namespace tile
