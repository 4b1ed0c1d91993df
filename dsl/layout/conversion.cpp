#include "dsl/layout/conversion.h"

#include <fmt/format.h>

#include <limits>

namespace tile::layout {

namespace {

constexpr double valu_cycles = 4, lds_issue_cycles = 4, lds_latency = 120, barrier_cycles = 40;

// `dst` as a layout of the source's padded shape: coordinates beyond it wrap.
LinearLayout on_shape_of(const LinearLayout& src, const LinearLayout& dst) {
  std::vector<Vec> bases;
  for (Vec v : dst.bases()) bases.push_back(repack(v, dst.out(), src.out()));
  return LinearLayout(dst.in(), src.out(), std::move(bases));
}

Status check(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bits) {
  if (src.out().dims() != dst.out().dims())
    return Error{fmt::format("layouts {} and {} have different axes", src.str(), dst.str())};
  for (Dim d : {Dim::Lane, Dim::Wave})
    if (src.in().bits(d) != dst.in().bits(d))
      return Error{fmt::format("layouts have {} and {} {}s", src.in().size(d), dst.in().size(d), name(d))};
  if (src.in().dims() != dst.in().dims() || src.in().dims() != std::vector{Dim::Register, Dim::Lane, Dim::Wave})
    return Error{"a distributed layout has the inputs reg, lane and wave"};
  if (src.in().bits(Dim::Register) > 10 || dst.in().bits(Dim::Register) > 10 || src.in().bits(Dim::Lane) > 6)
    return Error{"a layout has more than 1024 registers a thread, or more than 64 lanes"};
  if (!src.is_surjective()) return Error{fmt::format("layout {} does not hold all elements", src.str())};
  if (elem_bits == 0 || elem_bits > 64 || (elem_bits > 8 && elem_bits % 8 != 0) || (elem_bits + 7) / 8 == 3 ||
      ((elem_bits + 7) / 8 > 4 && elem_bits != 64))
    return Error{fmt::format("elements of {} bits have no register form", elem_bits)};
  return Unit{};
}

// The map when each thread has its own values already.
std::optional<std::vector<uint16_t>> register_map(const LinearLayout& places) {
  const Space& from = places.out();
  for (Dim d : places.in().dims())
    for (unsigned b = 0; b < places.in().bits(d); b++) {
      Vec v = places.basis(d, b);
      bool stays = d == Dim::Register ? (v & ~from.mask(Dim::Register)) == 0 : v == from.put(Vec{1} << b, d);
      if (!stays) return std::nullopt;
    }
  std::vector<uint16_t> out;
  for (unsigned r = 0; r < places.num_registers(); r++)
    out.push_back(static_cast<uint16_t>(from.get(places.at(r, 0, 0), Dim::Register)));
  return out;
}

Result<SharedPlan> plan_shared(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bytes, Arch arch,
                               size_t max_bytes) {
  Result<SwizzledMemory> memory = swizzled_memory(src, dst, elem_bytes, arch, max_bytes);
  if (!memory) return memory.error();
  SharedPlan plan;
  unsigned shift = src.out().total_bits() - memory->round_bits;
  plan.rounds = 1u << memory->round_bits;
  plan.scratch_bytes = std::max<size_t>(size_t{elem_bytes} << shift, 4);
  plan.store = plan_access(src, memory->layout, elem_bytes, AccessKind::Store, shift);
  plan.load = plan_access(dst, memory->layout, elem_bytes, AccessKind::Load, shift);
  plan.memory = std::move(memory->layout);

  // A wave reads only what it wrote if the writer of each of its elements is itself. Rounds must keep the waves'
  // parts of the area apart as well.
  LinearLayout writer = dst.then(src.right_inverse());
  plan.wave_local = true;
  for (Dim d : dst.in().dims())
    for (unsigned b = 0; b < dst.in().bits(d); b++)
      plan.wave_local &= writer.basis(d, b, Dim::Wave) == (d == Dim::Wave ? 1u << b : 0u);
  if (plan.rounds > 1) {
    // Addresses that one wave uses, all rounds taken together: the span of its registers' and lanes' offsets.
    std::vector<Vec> own, waves;
    LinearLayout combined = src.then(plan.memory);
    Vec mask = (Vec{1} << shift) - 1;
    for (Dim d : {Dim::Register, Dim::Lane})
      for (Vec v : combined.bases(d)) own.push_back(v & mask);
    for (Vec v : combined.bases(Dim::Wave)) waves.push_back(v & mask);
    plan.wave_local &= f2::independent(waves, own).size() == waves.size();
  }

  // Registers that hold copies are not loaded: each is a sum of bits that are.
  Vec free = dst.free_mask(Dim::Register);
  std::vector<Vec> kept = dst.bases(Dim::Register);
  f2::Span span(kept);
  for (unsigned r = 0; r < dst.num_registers(); r++)
    plan.loaded.push_back(static_cast<uint16_t>((r & free) == 0 ? r : *span.solve(dst.at(r, 0, 0))));
  return plan;
}

}  // namespace

double cost_of(const LanePlan& plan, unsigned num_waves) {
  using Op = LaneStep::Op;
  unsigned valu =
      plan.count(Op::Select) + plan.count(Op::Dpp) + plan.count(Op::Permlane16) + plan.count(Op::Permlane32);
  unsigned permutes = plan.count(Op::Bpermute);
  double lds = permutes == 0 ? 0 : lds_latency + permutes * (lds_issue_cycles + 4.0 * num_waves);
  // Forming words of several elements that are not neighbours in a register already takes about an instruction each.
  double packing = plan.word_elems > 1 ? valu_cycles * static_cast<double>(plan.inputs.size()) : 0;
  return valu * valu_cycles + lds + packing;
}

double cost_of(const SharedPlan& plan, unsigned num_waves, Arch arch) {
  double ops = static_cast<double>(plan.store.ops.size() + plan.load.ops.size());
  double lds = (bank_conflicts(plan.store, arch).cycles + bank_conflicts(plan.load, arch).cycles) *
               static_cast<double>(num_waves);
  double passes = plan.store.rounds_by_thread() || plan.load.rounds_by_thread() ? plan.rounds : 1;
  double packing = valu_cycles * (plan.store.packing() + plan.load.packing());
  return passes * (ops * lds_issue_cycles + lds) + packing + plan.rounds * lds_latency +
         plan.barriers() * barrier_cycles;
}

Result<ConversionPlan> plan_conversion(const LinearLayout& src, const LinearLayout& dst_any, unsigned elem_bits,
                                       Arch arch, const ConversionOptions& options) {
  if (Status s = check(src, dst_any, elem_bits); !s) return s.error();
  LinearLayout dst = on_shape_of(src, dst_any), places = source_places(src, dst);
  ConversionPlan plan;
  plan.elem_bytes = (elem_bits + 7) / 8;
  plan.num_waves = src.num_waves();
  plan.num_lanes = src.num_lanes();
  plan.src_registers = src.num_registers();
  plan.dst_registers = dst.num_registers();
  if (std::optional<std::vector<uint16_t>> map = register_map(places)) {
    bool same = plan.src_registers == plan.dst_registers;
    for (unsigned r = 0; r < map->size(); r++) same &= (*map)[r] == r;
    plan.kind = same ? ConversionPlan::Kind::None : ConversionPlan::Kind::Registers;
    if (!same) plan.register_map = std::move(*map);
    return plan;
  }
  std::optional<Error> error;
  if (options.allow_lanes) plan.lanes = plan_lanes(places, plan.elem_bytes, arch);
  if (options.allow_shared) {
    Result<SharedPlan> shared = plan_shared(src, dst, plan.elem_bytes, arch, options.max_scratch_bytes);
    if (shared) plan.shared = std::move(*shared);
    else error = shared.error();
  }
  double lanes = plan.lanes ? cost_of(*plan.lanes, plan.num_waves) : std::numeric_limits<double>::infinity();
  double shared = plan.shared ? cost_of(*plan.shared, plan.num_waves, arch) : std::numeric_limits<double>::infinity();
  if (!plan.lanes && !plan.shared)
    return error ? *error
                 : Error{fmt::format("{} cannot become {} without leaving the wave or going through LDS", src.str(),
                                     dst_any.str())};
  plan.kind = lanes <= shared ? ConversionPlan::Kind::Lanes : ConversionPlan::Kind::Shared;
  plan.cost = std::min(lanes, shared);
  if (plan.kind == ConversionPlan::Kind::Lanes) plan.shared.reset();
  else plan.lanes.reset();
  return plan;
}

double conversion_cost(const LinearLayout& src, const LinearLayout& dst, unsigned elem_bits, Arch arch,
                       const ConversionOptions& options) {
  Result<ConversionPlan> plan = plan_conversion(src, dst, elem_bits, arch, options);
  return plan ? plan->cost : std::numeric_limits<double>::infinity();
}

bool is_free_conversion(const LinearLayout& src, const LinearLayout& dst) {
  if (!check(src, dst, 32)) return false;
  return register_map(source_places(src, on_shape_of(src, dst))).has_value();
}

std::string ConversionPlan::str(Arch arch) const {
  using Op = LaneStep::Op;
  switch (kind) {
    case Kind::None:
      return "none";
    case Kind::Registers:
      return "registers";
    case Kind::Lanes: {
      std::string out = "lanes";
      const char* separator = " ";
      for (auto [op, text] :
           {std::pair{Op::Select, "select"}, std::pair{Op::Dpp, "dpp"}, std::pair{Op::Bpermute, "bpermute"},
            std::pair{Op::Permlane16, "permlane16"}, std::pair{Op::Permlane32, "permlane32"}})
        if (unsigned n = lanes->count(op)) {
          out += fmt::format("{}{} x {}", separator, n, text);
          separator = ", ";
        }
      return out;
    }
    case Kind::Shared: {
      unsigned conflicts = bank_conflicts(shared->store, arch).extra() + bank_conflicts(shared->load, arch).extra();
      return fmt::format("shared {} B, {} x store {} B, {} x load {} B, {} barrier{}, {} conflicts",
                         shared->scratch_bytes, shared->store.ops.size(), shared->store.bytes(),
                         shared->load.ops.size(), shared->load.bytes(), shared->barriers(),
                         shared->barriers() == 1 ? "" : "s", conflicts);
    }
  }
  return "";
}

}  // namespace tile::layout
