#pragma once
// The linker (lld), inside this process.
#include <cstdint>
#include <span>
#include <vector>

#include "dsl/support/result.h"

namespace tile::codegen {

// Links one relocatable AMDGPU object into a shared object (hsaco). An undefined symbol is an error. Safe from any
// thread: lld keeps its state in globals, so calls wait for each other (about 1 ms each).
Result<std::vector<std::uint8_t>> link_hsaco(std::span<const char> object);

}  // namespace tile::codegen
