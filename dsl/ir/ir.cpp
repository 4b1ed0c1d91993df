#include "dsl/ir/ir.h"

#include <fmt/format.h>

#include <algorithm>

namespace tile::ir {

std::string to_string(const Shape& s) {
  std::string out = "[";
  for (unsigned i = 0; i < s.rank(); ++i) out += fmt::format("{}{}", i ? ", " : "", s[i]);
  return out + "]";
}

std::string to_string(const Type& t) {
  if (t.kind == TypeKind::View) return fmt::format("view<{}, {}>", name(t.dtype), t.view_rank);
  std::string element(name(t.dtype));
  if (t.kind == TypeKind::Ptr) element = fmt::format("ptr<{}>", element);
  return t.shape.rank() == 0 ? element : element + to_string(t.shape);
}

const AttrValue* Op::find(AttrKey key) const {
  for (const Attr& a : attrs)
    if (a.key == key) return &a.value;
  return nullptr;
}

int64_t Op::get_int(AttrKey key, int64_t absent) const {
  const AttrValue* v = find(key);
  return v ? std::get<int64_t>(*v) : absent;
}

std::string Op::get_text(AttrKey key, std::string absent) const {
  const AttrValue* v = find(key);
  return v ? std::get<std::string>(*v) : absent;
}

std::vector<int64_t> Op::get_ints(AttrKey key) const {
  const AttrValue* v = find(key);
  return v ? std::get<std::vector<int64_t>>(*v) : std::vector<int64_t>{};
}

uint64_t Op::get_bits(AttrKey key) const {
  const AttrValue* v = find(key);
  return v ? std::get<uint64_t>(*v) : 0;
}

void Op::set(AttrKey key, AttrValue value) {
  for (Attr& a : attrs)
    if (a.key == key) {
      a.value = std::move(value);
      return;
    }
  attrs.push_back({key, std::move(value)});
}

void Op::remove(AttrKey key) {
  std::erase_if(attrs, [&](const Attr& a) { return a.key == key; });
}

std::optional<uint64_t> Kernel::constant_bits(ValueId v) const {
  const Op* d = def(v);
  if (!d) return std::nullopt;
  if (d->kind == OpKind::Splat || d->kind == OpKind::Broadcast) return constant_bits(d->operands[0]);
  if (d->kind != OpKind::Constant) return std::nullopt;
  return d->get_bits(AttrKey::Value);
}

std::optional<int64_t> Kernel::constant_int(ValueId v) const {
  DType t = type(v).dtype;
  if (!type(v).is_value() || !(is_int(t) || is_bool(t))) return std::nullopt;
  std::optional<uint64_t> bits = constant_bits(v);
  if (!bits) return std::nullopt;
  unsigned unused = 64 - bit_width(t);
  if (is_signed(t)) return static_cast<int64_t>(*bits << unused) >> unused;
  return static_cast<int64_t>(*bits << unused >> unused);
}

BlockId Kernel::add_block(OpId parent) {
  BlockId id{static_cast<uint32_t>(blocks_.size())};
  blocks_.push_back({{}, {}, parent});
  if (parent.valid()) op(parent).blocks.push_back(id);
  return id;
}

ValueId Kernel::add_block_arg(BlockId b, Type t, std::string name) {
  ValueId id{static_cast<uint32_t>(values_.size())};
  values_.push_back({t, {}, b, std::move(name), nullptr});
  block(b).args.push_back(id);
  return id;
}

ValueId Kernel::add_param(Param p, Type t) {
  ValueId id{static_cast<uint32_t>(values_.size())};
  values_.push_back({t, {}, {}, p.name, nullptr});
  p.value = id;
  params.push_back(std::move(p));
  return id;
}

OpId Kernel::add_op(BlockId b, OpKind kind, std::vector<ValueId> operands, const std::vector<Type>& result_types,
                    std::vector<Attr> attrs, Range range, size_t at) {
  OpId id{static_cast<uint32_t>(ops_.size())};
  Op o;
  o.kind = kind;
  o.operands = std::move(operands);
  o.attrs = std::move(attrs);
  o.parent = b;
  o.range = range;
  ops_.push_back(std::move(o));
  for (const Type& t : result_types) add_result(id, t);
  std::vector<OpId>& list = block(b).ops;
  list.insert(list.begin() + static_cast<ptrdiff_t>(std::min(at, list.size())), id);
  return id;
}

ValueId Kernel::add_result(OpId o, Type t) {
  ValueId id{static_cast<uint32_t>(values_.size())};
  values_.push_back({t, o, {}, {}, nullptr});
  op(o).results.push_back(id);
  return id;
}

void Kernel::erase(OpId o) {
  std::erase(block(op(o).parent).ops, o);
  op(o).erased = true;
  for (BlockId b : op(o).blocks) {
    std::vector<OpId> nested = block(b).ops;
    for (OpId n : nested) erase(n);
  }
}

void Kernel::replace_all_uses(ValueId from, ValueId to) {
  for (Op& o : ops_)
    if (!o.erased) std::replace(o.operands.begin(), o.operands.end(), from, to);
}

std::vector<std::vector<OpId>> Kernel::users() const {
  std::vector<std::vector<OpId>> list(values_.size());
  walk([&](OpId o) {
    for (ValueId v : op(o).operands) list[v.index].push_back(o);
  });
  return list;
}

}  // namespace tile::ir
