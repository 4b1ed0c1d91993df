#include "interpreter/tile/faithful.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "dsl/num/storage.h"
#include "interpreter/tile/control.h"
#include "interpreter/tile/faithful_state.h"
#include "interpreter/tile/format.h"

namespace tile::interp {

using ir::ValueId;
using layout::Dim;

ArrayCopies::ArrayCopies(const ir::Kernel& k, const std::vector<Argument>& originals) : args_(originals) {
  constexpr uint64_t modulus = 256;
  std::vector<unsigned> order;
  for (unsigned i = 0; i < args_.size() && i < k.params.size(); ++i)
    if (k.type(k.params[i].value).is_ptr() && args_[i].bytes != 0) order.push_back(i);
  auto begin = [&](unsigned i) { return reinterpret_cast<uint64_t>(originals[i].data); };
  std::stable_sort(order.begin(), order.end(), [&](unsigned x, unsigned y) { return begin(x) < begin(y); });
  for (size_t first = 0; first < order.size();) {
    // Arrays that overlap stay together.
    uint64_t low = begin(order[first]), high = low;
    size_t next = first;
    for (; next < order.size() && (next == first || begin(order[next]) < high); ++next) high = std::max(high, begin(order[next]) + originals[order[next]].bytes);
    storage_.emplace_back(high - low + 2 * modulus);
    auto have = reinterpret_cast<uint64_t>(storage_.back().data()) % modulus;
    std::byte* at = storage_.back().data() + (low % modulus + modulus - have) % modulus;
    for (; first < next; ++first) {
      unsigned i = order[first];
      args_[i].data = at + (begin(i) - low);
      std::memcpy(args_[i].data, originals[i].data, args_[i].bytes);
      auto address = reinterpret_cast<uint64_t>(args_[i].data);
      memory_.add({address, address + args_[i].bytes, args_[i].writable, false, i});
    }
  }
}

std::optional<std::pair<unsigned, uint64_t>> ArrayCopies::place(uint64_t address) const {
  for (const Allocation& a : memory_.all())
    if (address >= a.begin && address < a.end) return std::pair(a.param, address - a.begin);
  return std::nullopt;
}

FaithfulRun::FaithfulRun(const ir::Kernel& k, const Code& reference, const std::vector<Argument>& args, Grid grid, bool races)
    : k_(k), mine_(k, args), theirs_(k, args), reference_(reference, options_, theirs_.memory()), grid_(grid), races_(races) {
  options_.on_store = [this](const StoreEvent& e) {
    auto address = reinterpret_cast<uint64_t>(e.address);
    auto place = theirs_.place(address);
    for (unsigned i = 0; place && i < e.bytes; ++i)
      reference_stores_.push_back({place->first, place->second + i, *reinterpret_cast<const uint8_t*>(address + i), e.element});
  };
  reference_.grid = grid;
  reference_.bind(theirs_.args());
  values_.resize(k.num_values());
  for (size_t i = 0; i < k.params.size(); ++i) {
    ValueId v = k.params[i].value;
    make(v);
    uint64_t bits = type(v).is_ptr() ? reinterpret_cast<uint64_t>(mine_.args()[i].data) : mine_.args()[i].bits;
    if (type(v).is_value() && is_bool(type(v).dtype)) bits &= 1;
    std::memcpy(data(v), &bits, size_of(v));
  }
}

void FaithfulRun::diverge(int64_t element, std::string message) {
  if (stopped()) return;
  divergence_ = Divergence{current_, k_.op(current_).range, program_, element, std::move(message)};
}

void FaithfulRun::fail(std::string message, bool is_assert) {
  if (stopped()) return;
  Failure f;
  f.message = std::move(message);
  f.op = current_;
  f.range = k_.op(current_).range;
  f.program = program_;
  f.is_assert = is_assert;
  failure_ = std::move(f);
}

const Places& FaithfulRun::places(ValueId v) { return places(layout_of(v), type(v).shape); }

const Places& FaithfulRun::places(const layout::LinearLayout& l, const ir::Shape& shape) {
  auto [it, fresh] = places_.try_emplace({&l, std::vector<int64_t>(shape.begin(), shape.end())});
  Places& p = it->second;
  if (!fresh) return p;
  p.waves = l.num_waves();
  p.registers = l.num_registers();
  layout::Vec free = l.free_bits();
  for (unsigned w = 0; w < p.waves; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned r = 0; r < p.registers; ++r) {
        layout::Vec in = l.in().put(r, Dim::Register) | l.in().put(lane, Dim::Lane) | l.in().put(w, Dim::Wave);
        layout::Vec out = l.apply(in);
        int64_t element = 0;
        for (unsigned a = 0; a < shape.rank() && element >= 0; ++a) {
          auto c = static_cast<int64_t>(l.out().get(out, layout::tile_dim(a)));
          element = c < shape[a] ? element * shape[a] + c : -1;
        }
        p.element.push_back(static_cast<int32_t>(element));
        p.primary.push_back((in & free) == 0);
      }
  return p;
}

FaithfulRun::Bytes& FaithfulRun::make(ValueId v) {
  Bytes& b = values_[v.index];
  if (type(v).is_view()) b.assign(sizeof(ViewState), std::byte{0});
  else if (is_tile(v)) b.assign(places(v).size() * size_of(v), std::byte{is_bool(type(v).dtype) ? uint8_t{1} : uint8_t{0x5b}});
  else b.assign(8, std::byte{0});
  return b;
}

bool same_element(const ir::Type& t, const std::byte* a, const std::byte* b, size_t size) {
  if (std::memcmp(a, b, size) == 0) return true;
  if (t.is_ptr() || !is_arith_float(t.dtype)) return false;
  uint64_t x = 0, y = 0;
  std::memcpy(&x, a, size);
  std::memcpy(&y, b, size);
  uint64_t inf = ((uint64_t{1} << info(t.dtype).exp_bits) - 1) << info(t.dtype).man_bits, magnitude = (uint64_t{1} << (bit_width(t.dtype) - 1)) - 1;
  return (x & magnitude) > inf && (y & magnitude) > inf;
}

FaithfulRun::Bytes FaithfulRun::collapse(ValueId v) {
  size_t size = size_of(v);
  if (!is_tile(v)) return Bytes(data(v), data(v) + size);
  const Places& p = places(v);
  Bytes out(static_cast<size_t>(type(v).shape.elements()) * size);
  std::vector<uint8_t> seen(static_cast<size_t>(type(v).shape.elements()));
  const std::byte* from = data(v);
  for (size_t i = 0; i < p.size(); ++i) {
    if (p.element[i] < 0) continue;
    auto e = static_cast<size_t>(p.element[i]);
    if (!seen[e]) {
      std::memcpy(out.data() + e * size, from + i * size, size);
      seen[e] = 1;
    } else if (!same_element(type(v), out.data() + e * size, from + i * size, size)) {
      unsigned r = static_cast<unsigned>(i % p.registers), lane = static_cast<unsigned>(i / p.registers % 64), w = static_cast<unsigned>(i / p.registers / 64);
      diverge(static_cast<int64_t>(e), fmt::format("copies of an element differ: wave {} lane {} register {} has {}, another place {}", w, lane, r,
                                                   format_element(type(v), from + i * size), format_element(type(v), out.data() + e * size)));
      return out;
    }
  }
  return out;
}

void FaithfulRun::spread(ValueId v, const Bytes& row_major) {
  size_t size = size_of(v);
  std::byte* to = make(v).data();
  if (!is_tile(v)) {
    std::memcpy(to, row_major.data(), size);
    return;
  }
  const Places& p = places(v);
  for (size_t i = 0; i < p.size(); ++i)
    if (p.element[i] >= 0) std::memcpy(to + i * size, row_major.data() + static_cast<size_t>(p.element[i]) * size, size);
}

void FaithfulRun::compare(ValueId v) {
  if (stopped()) return;
  const Trace* t = reference_.step();
  if (!t) {
    if (reference_.failed) failure_ = reference_.failure;
    else diverge(-1, "the fast interpreter ended before this operation");
    return;
  }
  if (t->value != v) return diverge(-1, "the fast interpreter is at another operation");
  ++operations_;
  if (type(v).is_view() || type(v).is_ptr()) return;
  Bytes mine = collapse(v);
  if (stopped()) return;
  size_t size = size_of(v);
  const std::byte* theirs = reference_.at(t->ref);
  for (size_t e = 0; e * size < mine.size(); ++e) {
    if (same_element(type(v), mine.data() + e * size, theirs + e * size, size)) continue;
    return diverge(static_cast<int64_t>(e), fmt::format("{} instead of {}", format_element(type(v), mine.data() + e * size),
                                                        format_element(type(v), theirs + e * size)));
  }
}

// After a store: the bytes that it and the fast interpreter's have changed.
void FaithfulRun::compare_stores() {
  if (stopped()) return;
  const Trace* t = reference_.step();
  if (!t) {
    if (reference_.failed) failure_ = reference_.failure;
    else diverge(-1, "the fast interpreter ended before this operation");
    return;
  }
  if (t->value.valid()) return diverge(-1, "the fast interpreter is at another operation");
  ++operations_;
  std::stable_sort(stores_.begin(), stores_.end());
  std::stable_sort(reference_stores_.begin(), reference_stores_.end());
  auto name = [&](const ByteStore& s) { return fmt::format("byte {} of '{}'", s.offset, k_.params[s.param].name); };
  size_t i = 0, j = 0;
  // The last store to each byte counts.
  auto last = [](const std::vector<ByteStore>& list, size_t& at) {
    while (at + 1 < list.size() && !(list[at] < list[at + 1])) ++at;
  };
  while ((i < stores_.size() || j < reference_stores_.size()) && !stopped()) {
    if (i < stores_.size()) last(stores_, i);
    if (j < reference_stores_.size()) last(reference_stores_, j);
    if (j == reference_stores_.size() || (i < stores_.size() && stores_[i] < reference_stores_[j]))
      return diverge(stores_[i].element, name(stores_[i]) + " is stored, which it should not be");
    if (i == stores_.size() || reference_stores_[j] < stores_[i])
      return diverge(reference_stores_[j].element, name(reference_stores_[j]) + " is not stored");
    if (stores_[i].value != reference_stores_[j].value)
      return diverge(stores_[i].element, fmt::format("{} is stored as {:#04x} instead of {:#04x}", name(stores_[i]), stores_[i].value, reference_stores_[j].value));
    ++i, ++j;
  }
  stores_.clear();
  reference_stores_.clear();
}

bool FaithfulRun::run_program(int64_t linear) {
  program_ = linear;
  if (k_.lds_bytes > 0) lds_.emplace(static_cast<size_t>(k_.lds_bytes));
  reference_.start_program(linear);
  stores_.clear();
  reference_stores_.clear();
  touched_.clear();
  run_block(k_.body);
  if (stopped()) return false;
  // What the fast interpreter still has to do stores nothing.
  if (reference_.step()) diverge(-1, "the fast interpreter goes on after the end");
  if (reference_.failed) failure_ = reference_.failure;
  return !stopped();
}

std::vector<ValueId> FaithfulRun::run_block(ir::BlockId b) {
  for (ir::OpId id : k_.block(b).ops) {
    const ir::Op& op = k_.op(id);
    if (op.erased) continue;
    current_ = id;
    if (op.kind == OpKind::Yield || op.kind == OpKind::Condition) return op.operands;
    if (info(op.kind).blocks > 0) run_control(op);
    else run_op(op);
    current_ = id;
    for (ValueId v : op.results) compare(v);
    if (op.kind == OpKind::StoreView || op.kind == OpKind::Store) compare_stores();
    if (stopped()) return {};
  }
  return {};
}

void FaithfulRun::copy_values(const std::vector<ValueId>& from, size_t skip_from, const std::vector<ValueId>& to, size_t skip_to) {
  std::vector<Bytes> moved;
  for (size_t i = skip_from; i < from.size(); ++i) moved.push_back(values_[from[i].index]);
  for (size_t i = 0; i < moved.size(); ++i) values_[to[i + skip_to].index] = std::move(moved[i]);
}

void FaithfulRun::run_for(const ir::Op& op) {
  ir::BlockId body = op.blocks[0];
  const std::vector<ValueId>& args = k_.block(body).args;
  DType t = type(op.operands[0]).dtype;
  __extension__ using Wide = __int128;
  auto wide = [&](ValueId v) { return t == DType::U64 ? static_cast<Wide>(static_cast<uint64_t>(integer(v))) : static_cast<Wide>(integer(v)); };
  Wide low = wide(op.operands[0]), high = wide(op.operands[1]), step = wide(op.operands[2]);
  if (step == 0) return fail("the step of a range is zero");
  copy_values(op.operands, 3, args, 1);
  for (Wide i = low; (step > 0 ? i < high : i > high) && !stopped(); i += step) {
    auto iv = static_cast<int64_t>(i);
    std::memcpy(make(args[0]).data(), &iv, size_of(args[0]));
    std::vector<ValueId> next = run_block(body);
    if (!stopped()) copy_values(next, 0, args, 1);
  }
  if (!stopped()) copy_values(args, 1, op.results, 0);
}

void FaithfulRun::run_control(const ir::Op& op) {
  if (op.kind == OpKind::For) return run_for(op);
  if (op.kind == OpKind::If) {
    bool taken = data(op.operands[0])[0] != std::byte{0};
    std::vector<ValueId> values = run_block(op.blocks[taken ? 0 : 1]);
    if (!stopped()) copy_values(values, 0, op.results, 0);
    return;
  }
  const std::vector<ValueId>&before = k_.block(op.blocks[0]).args, &body = k_.block(op.blocks[1]).args;
  copy_values(op.operands, 0, before, 0);
  for (;;) {
    std::vector<ValueId> condition = run_block(op.blocks[0]);
    if (stopped()) return;
    copy_values(condition, 1, body, 0);
    if (data(condition[0])[0] == std::byte{0}) break;
    std::vector<ValueId> next = run_block(op.blocks[1]);
    if (stopped()) return;
    copy_values(next, 0, before, 0);
  }
  copy_values(body, 0, op.results, 0);
}

void FaithfulRun::run_op(const ir::Op& op) {
  switch (op.kind) {
#define TILE_EW(Kind, ...) case OpKind::Kind:
#include "dsl/ops/elementwise.def"
    case OpKind::Cast:
    case OpKind::Bitcast:
    case OpKind::AddPtr: return elementwise(op);
    case OpKind::Constant:
    case OpKind::Arange:
    case OpKind::ProgramId:
    case OpKind::NumPrograms:
    case OpKind::Splat: return fill(op);
    case OpKind::Broadcast:
    case OpKind::ExpandDims:
    case OpKind::Reshape:
    case OpKind::Trans: return shape_op(op);
    case OpKind::Reduce:
    case OpKind::ArgReduce: return reduce(op);
    case OpKind::Dot: return dot(op);
    case OpKind::MakeView: return make_view(op);
    case OpKind::LoadView:
    case OpKind::StoreView:
    case OpKind::InBounds: return view_access(op);
    case OpKind::Load:
    case OpKind::Store: return pointer_access(op);
    case OpKind::ConvertLayout: return convert_layout(op);
    case OpKind::Barrier:
      if (lds_) lds_->barrier();
      if (op.get_int(AttrKey::Global)) touched_.clear();
      return;
    case OpKind::Print:
    case OpKind::DeviceAssert: return output(op);
    case OpKind::For:
    case OpKind::While:
    case OpKind::If:
    case OpKind::Yield:
    case OpKind::Condition:
    case OpKind::Return: return;
  }
}

Result<FaithfulResult> run_faithful(const ir::Kernel& kernel, const std::vector<Argument>& args, Grid grid, const FaithfulOptions& options) {
  CompileOptions observe;
  observe.observe = true;
  Result<Executable> code = compile_kernel(kernel, observe);
  if (!code) return code.error();
  if (args.size() != kernel.params.size()) return Error{fmt::format("kernel '{}' has {} parameters", kernel.name, kernel.params.size())};
  for (uint32_t v = 0; v < kernel.num_values(); ++v) {
    const ir::Value& value = kernel.value(ValueId{v});
    bool live = value.def.valid() ? !kernel.op(value.def).erased : true;
    if (value.def.valid() && live && !value.type.is_view() && value.type.shape.rank() > 0 && !value.layout)
      return Error{fmt::format("value %{} has no layout", v)};
  }
  FaithfulResult result;
  int64_t programs = grid[0] * grid[1] * grid[2];
  if (programs <= 0) return result;
  int64_t count = options.max_programs > 0 ? std::min(options.max_programs, programs) : programs;
  FaithfulRun run(kernel, code->code(), args, grid, options.races);
  int64_t previous = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t p = count == 1 ? 0 : static_cast<int64_t>(static_cast<double>(i) * static_cast<double>(programs - 1) / static_cast<double>(count - 1));
    p = std::max(p, previous + 1);
    if (p >= programs) break;
    previous = p;
    ++result.programs;
    if (!run.run_program(p)) break;
  }
  result.divergence = run.divergence();
  result.failure = run.failure();
  result.operations = run.operations();
  return result;
}

}  // namespace tile::interp
