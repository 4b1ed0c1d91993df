#pragma once
// The interpreter as the judge of passes: a kernel gives the same bytes after each of them.
#include <map>

#include "interpreter/tile/interpreter.h"
#include "tests/unit/dsl/passes/testing.h"

namespace tile::passes::testing {

struct Outcome {
  std::vector<std::vector<uint8_t>> arrays;
  std::vector<std::string> prints;
  bool operator==(const Outcome&) const = default;
};

// An array a pointer parameter (empty for scalars) of `elements` elements each, filled with values near 1.
inline std::vector<std::vector<uint8_t>> filled_arrays(const Kernel& k, size_t elements) {
  std::vector<std::vector<uint8_t>> arrays;
  uint32_t seed = 12345;
  auto random = [&] { return seed = seed * 1664525 + 1013904223, seed >> 8; };
  for (const ir::Param& p : k.params) {
    std::vector<uint8_t> bytes;
    if (!k.type(p.value).is_ptr()) {
      arrays.emplace_back();
      continue;
    }
    unsigned size = buffer_bytes(p.dtype);
    bytes.resize(elements * size);
    const DTypeInfo& t = info(p.dtype);
    for (size_t i = 0; i < elements; ++i) {
      uint64_t v = (uint64_t{random()} << 40) ^ (uint64_t{random()} << 20) ^ random();
      if (t.cls == DTypeClass::Float) {
        // Exponents from 2^-2 to 2^1, any mantissa and sign.
        uint64_t man = v & ((uint64_t{1} << t.man_bits) - 1), exp = static_cast<uint64_t>(t.bias - 2 + static_cast<int>(v >> 60 & 3));
        v = man | exp << t.man_bits | (v >> 59 & 1) << (t.bits - 1);
      }
      memcpy(&bytes[i * size], &v, size);
    }
    arrays.push_back(std::move(bytes));
  }
  return arrays;
}

inline std::vector<interp::Argument> arguments(const Kernel& k, std::vector<std::vector<uint8_t>>& arrays, const std::map<std::string, int64_t>& scalars) {
  std::vector<interp::Argument> args;
  for (size_t i = 0; i < k.params.size(); ++i) {
    const ir::Param& p = k.params[i];
    if (k.type(p.value).is_ptr()) args.push_back(interp::Argument::array(arrays[i].data(), arrays[i].size()));
    else args.push_back(interp::Argument::scalar(static_cast<uint64_t>(scalars.at(p.name))));
  }
  return args;
}

inline Outcome judge(const Kernel& k, const std::map<std::string, int64_t>& scalars, interp::Grid grid, size_t elements = 1 << 14) {
  Outcome out;
  out.arrays = filled_arrays(k, elements);
  std::vector<interp::Argument> args = arguments(k, out.arrays, scalars);
  auto r = interp::run_kernel(k, args, grid);
  if (!r.ok()) {
    ADD_FAILURE() << r.error().message << "\n" << print(k);
  } else {
    if (!r->ok()) ADD_FAILURE() << r->failure->message << "\n" << print(k);
    out.prints = r->report.prints;
  }
  return out;
}

// Runs the pipeline; what each pass leaves must act as what fix_values left. Names the first pass that does not (empty:
// none), as --verify-each-pass does.
inline std::string first_wrong_pass(Kernel k, const std::map<std::string, int64_t>& scalars, interp::Grid grid, const std::string& fault = {}) {
  std::optional<Outcome> want;
  std::string wrong;
  PassOptions options;
  options.fault = fault;
  options.after = [&](const PassInfo& pass, const Kernel& now) -> Status {
    Outcome have = judge(now, scalars, grid);
    if (!want) want = have;
    if (have == *want) return Unit{};
    wrong = std::string(pass.name);
    return Error{"another value"};
  };
  Status s = run_passes(k, options);
  if (!s && wrong.empty()) {
    for (const PassInfo& p : pass_table())
      if (s.error().message.find("after " + std::string(p.name) + ":") != std::string::npos) wrong = p.name;
    if (fault.empty() || wrong.empty()) ADD_FAILURE() << s.error().message;
  }
  return wrong;
}

}  // namespace tile::passes::testing
