#include "interpreter/tile/verify_passes.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "dsl/passes/passes.h"
#include "interpreter/tile/faithful.h"
#include "interpreter/tile/faithful_state.h"
#include "interpreter/tile/format.h"

namespace tile::interp {

std::string PassDifference::text(const SourceManager* sources) const {
  std::string text = "pass " + pass + ": ";
  std::string where = sources && (range.begin || range.end) && range.file < sources->size() ? sources->where(range) : "";
  if (!where.empty()) text += where + ": ";
  if (!op_name.empty()) text += op_name + ": ";
  if (element >= 0) text += fmt::format("element {}: ", element);
  text += message;
  if (program >= 0) text += fmt::format(" (program {})", program);
  return text;
}

namespace {

uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

bool is_nan(DType t, uint64_t bits) {
  uint64_t inf = ((uint64_t{1} << info(t).exp_bits) - 1) << info(t).man_bits, magnitude = (uint64_t{1} << (bit_width(t) - 1)) - 1;
  return (bits & magnitude) > inf;
}

// All that can be seen of a run.
struct Seen {
  std::unique_ptr<ArrayCopies> arrays;
  std::vector<uint64_t> stores;  // per program: a sum over all stored elements, with their places
  RunResult result;
};

struct Watch {  // the last store to a byte
  unsigned param;
  uint64_t offset;
  std::optional<StoreEvent> event;
};

Result<Seen> run_fast(const ir::Kernel& k, const std::vector<Argument>& args, Grid grid, Watch* watch = nullptr) {
  Result<Executable> code = compile_kernel(k);
  if (!code) return code.error();
  Seen seen;
  seen.arrays = std::make_unique<ArrayCopies>(k, args);
  seen.stores.assign(static_cast<size_t>(std::max<int64_t>(grid[0] * grid[1] * grid[2], 0)), 0);
  RunOptions o;
  o.on_store = [&](const StoreEvent& e) {
    auto address = reinterpret_cast<uint64_t>(e.address);
    auto place = seen.arrays->place(address);
    if (!place) return;
    uint64_t value = 0;
    std::memcpy(&value, e.address, e.bytes);
    ir::Type element = ir::Type::scalar(k.params[place->first].dtype);
    if (is_arith_float(element.dtype) && is_nan(element.dtype, value)) value = ~uint64_t{0};  // all NaNs are one
    seen.stores[static_cast<size_t>(e.program)] += mix(mix(mix(place->second) ^ place->first) ^ value);
    if (watch && watch->param == place->first && watch->offset >= place->second && watch->offset < place->second + e.bytes) watch->event = e;
  };
  seen.result = code->run(seen.arrays->args(), grid, o);
  return seen;
}

// First element of an argument that two runs leave different; any NaN is any NaN.
std::optional<uint64_t> first_difference(const ir::Kernel& k, unsigned param, const Argument& a, const Argument& b) {
  ir::Type element = ir::Type::scalar(is_packed(k.params[param].dtype) ? DType::U8 : k.params[param].dtype);
  size_t size = buffer_bytes(element.dtype);
  auto x = static_cast<const std::byte*>(a.data), y = static_cast<const std::byte*>(b.data);
  for (uint64_t at = 0; at < a.bytes; at += size) {
    size_t n = std::min<uint64_t>(size, a.bytes - at);
    if (std::memcmp(x + at, y + at, n) == 0) continue;
    if (n == size && same_element(element, x + at, y + at, size)) continue;
    return at;
  }
  return std::nullopt;
}

class Verifier {
 public:
  Verifier(const std::vector<Argument>& args, Grid grid, const VerifyPassesOptions& options) : args_(args), grid_(grid), options_(options) {}

  Status after(std::string_view pass, ir::Stage stage, const ir::Kernel& k) {
    pass_ = pass;
    Result<Seen> seen = run_fast(k, args_, grid_);
    if (!seen) return differ({}, -1, -1, "the interpreter refuses the kernel: " + seen.error().message);
    if (!judge_) {
      if (!seen->result.ok()) return Error{seen->result.failure->text(nullptr)};
      judge_.emplace(std::move(*seen));
      judge_kernel_ = k;
    } else if (Status s = compare(k, *seen); !s) {
      return s;
    }
    if (stage >= ir::Stage::Layout)
      if (Status s = faithful(k); !s) return s;
    report_.passes.emplace_back(pass);
    return Unit{};
  }
  // A pass that the verifier of tile IR refuses.
  void invalid(std::string_view pass, const std::string& message) {
    pass_ = pass;
    (void)differ({}, -1, -1, message);
  }
  VerifyPassesReport& report() { return report_; }
  bool found() const { return report_.difference.has_value(); }

 private:
  Status differ(ir::OpId op, int64_t program, int64_t element, std::string message, const ir::Kernel* k = nullptr) {
    PassDifference d;
    d.pass = pass_;
    d.op = op;
    if (k && op.valid()) {
      d.op_name = mnemonic(k->op(op).kind);
      d.range = k->op(op).range;
    }
    d.program = program;
    d.element = element;
    d.message = std::move(message);
    report_.difference = std::move(d);
    return Error{"a difference was found"};
  }

  Status compare(const ir::Kernel& k, const Seen& seen) {
    const RunResult &judge = judge_->result, &now = seen.result;
    if (!now.ok()) return differ(now.failure->op, now.failure->program, -1, "fails, which it did not before: " + now.failure->message, &k);
    for (unsigned i = 0; i < args_.size(); ++i) {
      if (!k.type(k.params[i].value).is_ptr()) continue;
      auto at = first_difference(k, i, judge_->arrays->args()[i], seen.arrays->args()[i]);
      if (!at) continue;
      return blame(k, i, *at, seen);
    }
    for (size_t p = 0; p < seen.stores.size(); ++p)
      if (seen.stores[p] != judge_->stores[p])
        return differ({}, static_cast<int64_t>(p), -1, "stores other values than before, which later stores overwrite");
    if (now.report.prints != judge.report.prints) return differ({}, -1, -1, "prints other lines than before");
    return Unit{};
  }

  // The operation that stored the wrong byte last; if none did, the one that stores it in the judge.
  Status blame(const ir::Kernel& k, unsigned param, uint64_t offset, const Seen& seen) {
    ir::Type element = ir::Type::scalar(is_packed(k.params[param].dtype) ? DType::U8 : k.params[param].dtype);
    auto value = [&](const Seen& s) { return format_element(element, static_cast<const std::byte*>(s.arrays->args()[param].data) + offset); };
    std::string message = fmt::format("byte {} of '{}' holds {} instead of {}", offset, k.params[param].name, value(seen), value(*judge_));
    for (const ir::Kernel* kernel : {&k, static_cast<const ir::Kernel*>(&*judge_kernel_)}) {
      for (uint64_t byte = offset; byte < offset + buffer_bytes(element.dtype); ++byte) {
        Watch watch{param, byte, {}};
        Result<Seen> again = run_fast(*kernel, args_, grid_, &watch);
        if (again && watch.event) return differ(watch.event->op, watch.event->program, watch.event->element, message, kernel);
      }
      message += "; nothing is stored there any more";
    }
    return differ({}, -1, -1, message);
  }

  Status faithful(const ir::Kernel& k) {
    barriers_ |= pass_ == "insert_barriers";
    Result<FaithfulResult> r = run_faithful(k, args_, grid_, {options_.max_programs, barriers_});
    if (!r) return differ({}, -1, -1, r.error().message);
    if (r->failure) return differ(r->failure->op, r->failure->program, -1, "fails, which it did not before: " + r->failure->message, &k);
    if (r->divergence) return differ(r->divergence->op, r->divergence->program, r->divergence->element, r->divergence->message, &k);
    return Unit{};
  }

  const std::vector<Argument>& args_;
  Grid grid_;
  VerifyPassesOptions options_;
  std::optional<ir::Kernel> judge_kernel_;
  std::string pass_;
  bool barriers_ = false;  // they have been inserted
  std::optional<Seen> judge_;
  VerifyPassesReport report_;
};

}  // namespace

Result<VerifyPassesReport> verify_each_pass(ir::Kernel kernel, const std::vector<Argument>& args, Grid grid, const VerifyPassesOptions& options) {
  Verifier verifier(args, grid, options);
  passes::PassOptions run;
  run.verify = options.verifier;
  run.fault = options.fault;
  std::string last;
  run.after = [&](const passes::PassInfo& pass, const ir::Kernel& k) {
    last = pass.name;
    return verifier.after(pass.name, pass.stage, k);
  };
  Status done = passes::run_passes(kernel, run);
  if (done.ok() || verifier.found()) return std::move(verifier.report());
  // The verifier's own finding, or a pass that refuses the kernel.
  if (!options.verifier || done.error().message.find("tile IR is invalid after") == std::string::npos) return done.error();
  bool next = last.empty();
  for (const passes::PassInfo& pass : passes::pass_table()) {
    if (next) {
      verifier.invalid(pass.name, done.error().message);
      break;
    }
    next = pass.name == last;
  }
  return std::move(verifier.report());
}

}  // namespace tile::interp
