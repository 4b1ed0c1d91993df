#include "interpreter/tile/control.h"

#include <fmt/format.h>

#include <cstring>

#include "interpreter/tile/format.h"

namespace tile::interp {
namespace {

__extension__ using Wide = __int128;

// An integer scalar with its value's sign; u64 does not fit int64.
Wide read_wide(const void* p, DType t) {
  int64_t x = read_int(p, t);
  return t == DType::U64 ? static_cast<Wide>(static_cast<uint64_t>(x)) : static_cast<Wide>(x);
}

void write_int(void* p, DType t, int64_t x) { std::memcpy(p, &x, buffer_bytes(t)); }

}  // namespace

void run_for_init(Worker& w, const void* payload) {
  const ForLoop& f = *static_cast<const ForLoop*>(payload);
  Wide low = read_wide(w.at(f.low), f.dtype), high = read_wide(w.at(f.high), f.dtype);
  int64_t step = read_int(w.at(f.step), f.dtype);
  if (step == 0) return w.fail("the step of a range is zero");
  Wide size = step > 0 ? high - low : low - high;
  Wide stride = step > 0 || f.dtype == DType::U64 ? read_wide(w.at(f.step), f.dtype) : -static_cast<Wide>(step);
  if (f.dtype == DType::U64) size = high - low;
  uint64_t count = size <= 0 ? 0 : static_cast<uint64_t>((size + stride - 1) / stride);
  *w.at<uint64_t>(f.count) = count;
  std::memcpy(w.at(f.iv), w.at(f.low), buffer_bytes(f.dtype));
  if (count == 0) w.pc = f.exit;
}

void run_for_next(Worker& w, const void* payload) {
  const ForLoop& f = *static_cast<const ForLoop*>(payload);
  if (--*w.at<uint64_t>(f.count) == 0) return;
  auto next = static_cast<uint64_t>(read_int(w.at(f.iv), f.dtype)) + static_cast<uint64_t>(read_int(w.at(f.step), f.dtype));
  write_int(w.at(f.iv), f.dtype, static_cast<int64_t>(next));
  w.pc = f.body;
}

void run_jump(Worker& w, const void* payload) { w.pc = static_cast<const Jump*>(payload)->target; }

void run_jump_unless(Worker& w, const void* payload) {
  const Jump& j = *static_cast<const Jump*>(payload);
  if (*w.at<uint8_t>(j.cond) == 0) w.pc = j.target;
}

void run_grid_value(Worker& w, const void* payload) {
  const GridValue& g = *static_cast<const GridValue*>(payload);
  *w.at<int32_t>(g.dst) = static_cast<int32_t>(g.extent ? w.grid[g.axis] : w.position[g.axis]);
}

void run_print(Worker& w, const void* payload) {
  const PrintValues& p = *static_cast<const PrintValues*>(payload);
  std::vector<const void*> values;
  for (const Ref& r : p.values) values.push_back(w.at(r));
  w.prints.emplace_back(w.program, format_print(p.text, p.types, values));
}

void run_assert(Worker& w, const void* payload) {
  const Assert& a = *static_cast<const Assert*>(payload);
  const uint8_t* cond = w.at<uint8_t>(a.cond);
  const void* bad = std::memchr(cond, 0, static_cast<size_t>(a.elements));
  if (!bad) return;
  std::string where = a.is_tile ? fmt::format(" at element {}", static_cast<const uint8_t*>(bad) - cond) : "";
  w.fail(fmt::format("device_assert does not hold{}{}{}", where, a.text.empty() ? "" : ": ", a.text));
  w.failure.is_assert = true;
}

void run_observe(Worker& w, const void* payload) { w.observed = static_cast<const Trace*>(payload); }

void run_trace(Worker& w, const void* payload) {
  const Trace& t = *static_cast<const Trace*>(payload);
  if (!w.options->trace) return;
  const ir::Kernel& k = w.code->kernel;
  const ir::Value& v = k.value(t.value);
  std::string label = v.def.valid() ? std::string(mnemonic(k.op(v.def).kind)) : "argument";
  if (!v.name.empty()) label += " " + v.name;
  std::string value = v.type.is_view() ? "" : format_value(v.type, w.at(t.ref));
  w.options->trace(fmt::format("program {}: %{} {}: {} = {}", w.program, t.value.index, label, ir::to_string(v.type), value));
}

}  // namespace tile::interp
