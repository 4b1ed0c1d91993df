#include "dsl/ops/ops.h"

#include <map>
#include <string>
#include <vector>

namespace tile {
namespace {

struct Rows {
  std::vector<std::string> mnemonics;
  std::vector<OpInfo> rows;
  std::map<std::string_view, OpKind> by_mnemonic;
};

char domain_suffix(Domain d) {
  switch (d) {
    case Domain::AnyInt:
    case Domain::BoolInt: return 'i';
    case Domain::SInt: return 's';
    case Domain::UInt: return 'u';
    case Domain::Float:
    case Domain::F16F32: return 'f';
    case Domain::Any: return 'a';
  }
  return '?';
}

Rows make_rows() {
  Rows r;
  r.rows = {
#define TILE_EW(Kind, spelling, arity, domain, form, fidelity, recipe, doc) \
  {OpKind::Kind, "", spelling, true, arity, Domain::domain, Form::form, Fidelity::fidelity, Effects::Pure, 0, doc},
#include "dsl/ops/elementwise.def"
#define TILE_OP(Kind, mnemonic, effects, blocks, doc) \
  {OpKind::Kind, mnemonic, "", false, 0, Domain::Any, Form::Same, Fidelity::Exact, Effects::effects, blocks, doc},
#include "dsl/ops/structured.def"
  };
  std::map<std::string_view, int> spelled;
  for (const OpInfo& row : r.rows)
    if (row.elementwise) ++spelled[row.spelling];
  r.mnemonics.resize(r.rows.size());
  for (size_t i = 0; i < r.rows.size(); ++i) {
    OpInfo& row = r.rows[i];
    if (!row.elementwise) continue;
    r.mnemonics[i] = std::string(row.spelling);
    if (size_t colons = r.mnemonics[i].find("::"); colons != std::string::npos) r.mnemonics[i].replace(colons, 2, "_");
    if (spelled[row.spelling] > 1) r.mnemonics[i] += std::string(".") + domain_suffix(row.domain);
    row.mnemonic = r.mnemonics[i];
  }
  for (const OpInfo& row : r.rows) r.by_mnemonic[row.mnemonic] = row.kind;
  return r;
}

const Rows& rows() {
  static const Rows r = make_rows();
  return r;
}

constexpr unsigned count_elementwise = 0
#define TILE_EW(...) +1
#include "dsl/ops/elementwise.def"
    ;
constexpr unsigned count_structured = 0
#define TILE_OP(...) +1
#include "dsl/ops/structured.def"
    ;

constexpr AttrInfo attr_table[] = {
#define TILE_ATTR(Key, name, type, doc) {AttrKey::Key, name, AttrType::type},
#include "dsl/ops/attrs.def"
};

}  // namespace

const unsigned num_elementwise = count_elementwise;
const unsigned num_ops = count_elementwise + count_structured;

const OpInfo& info(OpKind kind) { return rows().rows[static_cast<size_t>(kind)]; }

std::optional<OpKind> op_by_mnemonic(std::string_view mnemonic) {
  auto it = rows().by_mnemonic.find(mnemonic);
  if (it == rows().by_mnemonic.end()) return std::nullopt;
  return it->second;
}

bool in_domain(Domain d, DType t) {
  switch (d) {
    case Domain::AnyInt: return is_int(t);
    case Domain::SInt: return is_int(t) && is_signed(t);
    case Domain::UInt: return is_int(t) && !is_signed(t);
    case Domain::Float: return is_arith_float(t);
    case Domain::F16F32: return t == DType::F32 || t == DType::F16;
    case Domain::BoolInt: return is_bool(t) || is_int(t);
    case Domain::Any: return true;
  }
  return false;
}

std::optional<OpKind> elementwise_by_spelling(std::string_view spelling, DType t) {
  for (unsigned i = 0; i < num_elementwise; ++i) {
    const OpInfo& row = rows().rows[i];
    if (row.spelling == spelling && in_domain(row.domain, t)) return row.kind;
  }
  return std::nullopt;
}

bool is_elementwise_spelling(std::string_view spelling) {
  for (unsigned i = 0; i < num_elementwise; ++i)
    if (rows().rows[i].spelling == spelling) return true;
  return false;
}

const AttrInfo& info(AttrKey key) { return attr_table[static_cast<size_t>(key)]; }

std::optional<AttrKey> attr_by_name(std::string_view name) {
  for (const AttrInfo& a : attr_table)
    if (a.name == name) return a.key;
  return std::nullopt;
}

std::string_view fidelity_name(Fidelity f) {
  switch (f) {
    case Fidelity::Exact: return "exact";
    case Fidelity::Modelled: return "modelled";
    case Fidelity::Provisional: return "provisional";
    case Fidelity::Approximate: return "approximate";
    case Fidelity::Unordered: return "unordered";
  }
  return "";
}

const InfixInfo infix_table[] = {
#define TILE_INFIX(token, spelling, precedence, arity) {token, spelling, precedence, arity},
#include "dsl/ops/infix.def"
};
const unsigned num_infix = sizeof(infix_table) / sizeof(infix_table[0]);

}  // namespace tile
