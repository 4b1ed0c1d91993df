#pragma once
// Helpers of the pass tests: kernels as text, one pass on them, what is left as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/passes/passes.h"
#include "tests/unit/dsl/ir/kernels.h"

namespace tile::passes::testing {

using ir::Kernel;
using ir::testing::parse;
using ::testing::HasSubstr;
using ::testing::Not;

inline Kernel kernel(const std::string& body, const std::string& params = "%n: i32", const std::string& header = "target gfx942 waves 4") {
  return parse("kernel @k(" + params + ") " + header + " {\n" + body + "\n return\n}\n");
}

// Runs the passes up to `last` with the verifier on.
inline void run_to(Kernel& k, const std::string& last, PassOptions options = {}) {
  options.last = last;
  Status s = run_passes(k, options);
  EXPECT_TRUE(s.ok()) << s.error().message << "\n" << print(k);
  std::string text = print(k);
  EXPECT_EQ(print(parse(text)), text);
}

// The operations of the kernel as text, without header.
inline std::string body(const Kernel& k) {
  std::string text = print(k);
  size_t begin = text.find("{\n", text.find(" target "));
  return text.substr(begin + 2, text.size() - begin - 4);
}

inline std::vector<ir::OpId> all(const Kernel& k, OpKind kind) {
  std::vector<ir::OpId> list;
  k.walk([&](ir::OpId o) { if (k.op(o).kind == kind) list.push_back(o); });
  return list;
}

}  // namespace tile::passes::testing
