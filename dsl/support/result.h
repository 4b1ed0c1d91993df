#pragma once
// Errors as values. A function that can fail returns Result<T>; nothing in this project throws across a
// library border (g++ 12 has no <expected>).
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace tile {

// One failure, already worded for a person: lower case, one sentence, no full stop.
struct Error {
  std::string message;
  std::string hint = {};  // what to write or do instead; may be empty
};

// Either a value or an Error. `if (!r) return r.error();` passes a failure on.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  explicit operator bool() const { return v_.index() == 0; }
  bool ok() const { return v_.index() == 0; }
  T& operator*() { return *std::get_if<0>(&v_); }
  const T& operator*() const { return *std::get_if<0>(&v_); }
  T* operator->() { return std::get_if<0>(&v_); }
  const T* operator->() const { return std::get_if<0>(&v_); }
  Error& error() { return *std::get_if<1>(&v_); }
  const Error& error() const { return *std::get_if<1>(&v_); }

 private:
  std::variant<T, Error> v_;
};

// Success without a value.
struct Unit {};
using Status = Result<Unit>;

}  // namespace tile
