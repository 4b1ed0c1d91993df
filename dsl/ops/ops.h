#pragma once
// The operations of tile IR, driven by elementwise.def, structured.def and attrs.def.
#include <cstdint>
#include <optional>
#include <string_view>

#include "dsl/types/dtype.h"

namespace tile {

enum class OpKind : uint8_t {
#define TILE_EW(Kind, ...) Kind,
#include "dsl/ops/elementwise.def"
#define TILE_OP(Kind, ...) Kind,
#include "dsl/ops/structured.def"
};

enum class Domain : uint8_t { AnyInt, SInt, UInt, Float, F16F32, BoolInt, Any };
enum class Form : uint8_t { Same, Cmp, Select };
enum class Fidelity : uint8_t { Exact, Modelled, Provisional, Approximate, Unordered };
enum class Effects : uint8_t { Pure, Read, Write, Control, Io };

struct OpInfo {
  OpKind kind;
  std::string_view mnemonic;  // unique; what tile IR text shows
  std::string_view spelling;  // name in the language; "" for structured operations
  bool elementwise;
  unsigned arity;  // elementwise only, as are domain, form and fidelity
  Domain domain;
  Form form;
  Fidelity fidelity;
  Effects effects;
  unsigned blocks;
  std::string_view doc;
};

const OpInfo& info(OpKind kind);
inline std::string_view mnemonic(OpKind kind) { return info(kind).mnemonic; }
std::optional<OpKind> op_by_mnemonic(std::string_view mnemonic);
// Number of operations, of which the first num_elementwise are elementwise.
extern const unsigned num_ops, num_elementwise;
inline OpKind op_at(unsigned i) { return static_cast<OpKind>(i); }
inline bool is_elementwise(OpKind kind) { return info(kind).elementwise; }

// True if elements of type `t` may be operands (form Select: the last two operands) of a row with this domain.
bool in_domain(Domain d, DType t);
// The row with that spelling whose domain holds `t`.
std::optional<OpKind> elementwise_by_spelling(std::string_view spelling, DType t);
// True if any row has that spelling.
bool is_elementwise_spelling(std::string_view spelling);

enum class AttrKey : uint8_t {
#define TILE_ATTR(Key, ...) Key,
#include "dsl/ops/attrs.def"
};
enum class AttrType : uint8_t { Int, Ints, Text, Bits };
struct AttrInfo {
  AttrKey key;
  std::string_view name;
  AttrType type;
};
const AttrInfo& info(AttrKey key);
std::optional<AttrKey> attr_by_name(std::string_view name);

std::string_view fidelity_name(Fidelity f);

// Infix and prefix operators, in the order of infix.def.
struct InfixInfo {
  std::string_view token, spelling;
  unsigned precedence, arity;
};
extern const InfixInfo infix_table[];
extern const unsigned num_infix;

}  // namespace tile
