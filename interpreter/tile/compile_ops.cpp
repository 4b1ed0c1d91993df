// Instructions for each operation.
#include <fmt/format.h>

#include "interpreter/tile/check.h"
#include "interpreter/tile/compiler.h"
#include "interpreter/tile/control.h"
#include "interpreter/tile/dot.h"
#include "interpreter/tile/reduce.h"

namespace tile::interp {

Error Compiler::error(const ir::Op& op, const std::string& message) const {
  return Error{fmt::format("{}: {}", mnemonic(op.kind), message)};
}

Result<Executable> Compiler::run() {
  find_aliases();
  count_uses();
  code_->fidelity = fidelity_of(k_);
  code_->params.resize(k_.params.size());
  for (size_t i = 0; i < k_.params.size(); ++i) {
    bind(code_->params[i], k_.params[i].value);
    Slot& s = slots_[root(k_.params[i].value)];
    s.first = 0;
    s.last = SIZE_MAX;
  }
  if (Status s = compile_block(k_.body); !s) return s.error();
  allocate();
  return Executable(code_);
}

Status Compiler::compile_block(ir::BlockId block) {
  for (ir::OpId id : k_.block(block).ops) {
    if (k_.op(id).erased) continue;
    if (Status s = compile_op(id); !s) return s;
  }
  flush_all();
  return Unit{};
}

void Compiler::check_condition(ir::ValueId v, int64_t n) {
  if (!options_.check) return;
  ConditionCheck* c = make<ConditionCheck>();
  bind(c->value, v);
  c->n = n;
  emit(run_condition_check, c);
}

void Compiler::before(const ir::Op& op) {
  if (!options_.check || !has_integer_check(op.kind)) return;
  IntegerCheck* c = make<IntegerCheck>();
  c->kind = op.kind;
  c->dtype = k_.type(op.operands[0]).dtype;
  c->n = k_.type(op.operands[0]).shape.elements();
  bind(c->a, op.operands[0]);
  bind(c->b, op.operands[1]);
  emit(run_integer_check, c);
}

void Compiler::after(const ir::Op& op) {
  bool moves = is_group_op(op) || op.kind == OpKind::Splat || op.kind == OpKind::Trans || op.kind == OpKind::Reduce ||
               op.kind == OpKind::ArgReduce || op.kind == OpKind::Dot;
  bool own = !op.results.empty() && root(op.results[0]) == op.results[0].index && !uniform_[op.results[0].index];
  if (options_.check && moves && own) {
    ShadowOp* s = make<ShadowOp>();
    s->kind = op.kind;
    s->axis = op.get_int(AttrKey::Axis);
    s->perm = op.get_ints(AttrKey::Perm);
    s->operands.resize(op.operands.size());
    s->results.resize(op.results.size());
    for (size_t i = 0; i < op.operands.size(); ++i) {
      bind(s->operands[i], op.operands[i]);
      s->operand_types.push_back(k_.type(op.operands[i]));
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      bind(s->results[i], op.results[i]);
      s->result_types.push_back(k_.type(op.results[i]));
    }
    emit(run_shadow, s);
  }
  if (!options_.trace && !options_.observe) return;
  if (options_.observe && (op.kind == OpKind::StoreView || op.kind == OpKind::Store)) emit(run_observe, make<Trace>());
  for (ir::ValueId v : op.results) {
    Trace* t = make<Trace>();
    t->value = v;
    bind(t->ref, v);
    emit(options_.trace ? run_trace : run_observe, t);
  }
}

Status Compiler::compile_op(ir::OpId id) {
  const ir::Op& op = k_.op(id);
  current_ = id;
  if (info(op.kind).blocks > 0) return compile_control(id);
  before(op);
  if (is_group_op(op)) {
    const ir::Type& type = k_.type(op.operands.back());
    if (is_elementwise(op.kind) && !num::elementwise_kernel(op.kind, held_type(type)))
      return error(op, fmt::format("there is no such operation on {}", ir::to_string(type)));
    add_to_group(op, element_count(k_.type(op.results[0])));
    current_ = id;
    after(op);
    return Unit{};
  }
  for (ir::ValueId v : op.operands) settle(v);
  current_ = id;
  Status s = compile_misc(op);
  if (s) after(op);
  return s;
}

Status Compiler::compile_control(ir::OpId id) {
  const ir::Op& op = k_.op(id);
  flush_all();
  current_ = id;
  Status s = op.kind == OpKind::For ? compile_for(op) : op.kind == OpKind::While ? compile_while(op) : compile_if(op);
  if (s && !fused()) current_ = id, after(op);
  return s;
}

// The terminator of a block, or null.
static const ir::Op* terminator(const ir::Kernel& k, ir::BlockId b) {
  return k.block(b).ops.empty() ? nullptr : &k.op(k.block(b).ops.back());
}

void Compiler::copy_values(const std::vector<ir::ValueId>& from, const std::vector<ir::ValueId>& to) {
  Copies* first = make<Copies>();  // what would be overwritten before it is read goes through temporaries
  Copies* second = make<Copies>();
  std::vector<size_t> moves;
  for (size_t i = 0; i < from.size(); ++i)
    if (root(from[i]) != root(to[i])) moves.push_back(i);
  std::vector<uint32_t> sources(from.size());
  for (size_t i : moves) {
    sources[i] = root(from[i]);
    bool overwritten = false;
    for (size_t j : moves) overwritten |= j != i && root(to[j]) == sources[i];
    if (!overwritten) continue;
    Slot like = slots_[sources[i]];
    sources[i] = add_slot(like.bytes, like.elements);
    first->list.push_back({{}, {}, like.bytes, like.elements});
  }
  size_t next = 0;
  for (size_t i : moves) {
    if (sources[i] == root(from[i])) continue;
    bind(first->list[next].src, from[i]);
    bind(first->list[next++].dst, sources[i]);
  }
  if (!first->list.empty()) emit(run_copies, first);
  second->list.resize(moves.size());
  for (size_t n = 0; n < moves.size(); ++n) {
    size_t i = moves[n];
    Copy& c = second->list[n];
    bind(c.src, sources[i]);
    bind(c.dst, to[i]);
    c.bytes = slots_[root(to[i])].bytes;
    c.elements = slots_[root(to[i])].elements;
  }
  if (!second->list.empty()) emit(run_copies, second);
}

Status Compiler::compile_for(const ir::Op& op) {
  ir::OpId id = current_;
  ir::BlockId body = op.blocks[0];
  std::vector<ir::ValueId> args(k_.block(body).args.begin() + 1, k_.block(body).args.end());
  copy_values({op.operands.begin() + 3, op.operands.end()}, args);
  ForLoop* f = make<ForLoop>();
  f->dtype = k_.type(op.operands[0]).dtype;
  uint32_t count = add_slot(8, 1);
  bind(f->low, op.operands[0]);
  bind(f->high, op.operands[1]);
  bind(f->step, op.operands[2]);
  bind(f->iv, k_.block(body).args[0]);
  bind(f->count, count);
  size_t start = emit(run_for_init, f);
  f->body = here();
  if (Status s = compile_block(body); !s) return s;
  const ir::Op* yield = terminator(k_, body);
  current_ = id;
  if (!yield || yield->kind != OpKind::Yield) return error(op, "the block does not end in yield");
  copy_values(yield->operands, args);
  // The loop's own state is used again here.
  Ref* uses = make<std::array<Ref, 3>>()->data();
  bind(uses[0], op.operands[2]);
  bind(uses[1], k_.block(body).args[0]);
  bind(uses[2], count);
  size_t end = emit(run_for_next, f);
  f->exit = here();
  loops_.emplace_back(start, end);
  return Unit{};
}

Status Compiler::compile_while(const ir::Op& op) {
  ir::OpId id = current_;
  const std::vector<ir::ValueId>&before_args = k_.block(op.blocks[0]).args, &body_args = k_.block(op.blocks[1]).args;
  copy_values(op.operands, before_args);
  size_t start = here();
  if (Status s = compile_block(op.blocks[0]); !s) return s;
  const ir::Op* condition = terminator(k_, op.blocks[0]);
  const ir::Op* yield = terminator(k_, op.blocks[1]);
  current_ = id;
  if (!condition || condition->kind != OpKind::Condition || !yield || yield->kind != OpKind::Yield)
    return error(op, "the blocks do not end in condition and yield");
  copy_values({condition->operands.begin() + 1, condition->operands.end()}, body_args);
  check_condition(condition->operands[0], 1);
  Jump* leave = make<Jump>();
  bind(leave->cond, condition->operands[0]);
  emit(run_jump_unless, leave);
  if (Status s = compile_block(op.blocks[1]); !s) return s;
  current_ = id;
  copy_values(yield->operands, before_args);
  Jump* again = make<Jump>();
  again->target = start;
  size_t end = emit(run_jump, again);
  leave->target = here();
  loops_.emplace_back(start, end);
  return Unit{};
}

Status Compiler::compile_if(const ir::Op& op) {
  ir::OpId id = current_;
  check_condition(op.operands[0], 1);
  Jump* skip = make<Jump>();
  bind(skip->cond, op.operands[0]);
  emit(run_jump_unless, skip);
  Jump* done = make<Jump>();
  for (unsigned branch = 0; branch < 2; ++branch) {
    if (branch == 1) {
      emit(run_jump, done);
      skip->target = here();
    }
    if (Status s = compile_block(op.blocks[branch]); !s) return s;
    const ir::Op* yield = terminator(k_, op.blocks[branch]);
    current_ = id;
    if (yield && yield->kind == OpKind::Yield) copy_values(yield->operands, op.results);
    else if (!op.results.empty()) return error(op, "a block does not end in yield");
  }
  done->target = here();
  return Unit{};
}

void Compiler::splat(const ir::Op& op) {
  uint32_t r = op.results[0].index;
  if (root_[r] != r) return;
  uint32_t scalar = root(op.operands[0]);
  if (const std::optional<Uniform>& u = uniform_[r]) {
    if (u->constant || outside_uses_[r] == 0) return;
    scalar = u->scalar;
  }
  Fill* f = make<Fill>();
  bind(f->from, scalar);
  bind(f->to, r);
  f->size = held_bytes(k_.type(op.results[0]));
  f->count = element_count(k_.type(op.results[0]));
  emit(run_fill, f);
}

Status Compiler::compile_trans(const ir::Op& op) {
  const ir::Shape &from = k_.type(op.operands[0]).shape, &to = k_.type(op.results[0]).shape;
  Transpose* t = make<Transpose>();
  bind(t->src, op.operands[0]);
  bind(t->dst, op.results[0]);
  t->size = held_bytes(k_.type(op.results[0]));
  int64_t stride[ir::Shape::max_rank] = {}, step = 1;
  for (unsigned a = from.rank(); a-- > 0; step *= from[a]) stride[a] = step;
  std::vector<int64_t> perm = op.get_ints(AttrKey::Perm);
  t->rank = to.rank();
  for (unsigned a = 0; a < to.rank(); ++a) {
    t->shape[a] = to[a];
    t->stride[a] = stride[perm[a]];
  }
  emit(run_transpose, t);
  return Unit{};
}

Status Compiler::compile_reduce(const ir::Op& op) {
  const ir::Type& type = k_.type(op.operands[0]);
  auto axis = static_cast<unsigned>(op.get_int(AttrKey::Axis));
  int64_t outer = 1, inner = 1;
  for (unsigned a = 0; a < type.shape.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : type.shape[a];
  std::string combine = op.get_text(AttrKey::Combine);
  if (op.kind == OpKind::ArgReduce) {
    if (combine != "max" && combine != "min") return error(op, fmt::format("combine '{}' is not max or min", combine));
    if (is_float(type.dtype) && !is_arith_float(type.dtype)) return error(op, "no order on this type");
    ArgReduce* r = make<ArgReduce>();
    r->dtype = type.dtype;
    r->max = combine == "max";
    r->outer = outer, r->inner = inner, r->extent = type.shape[axis];
    bind(r->src, op.operands[0]);
    bind(r->value, op.results[0]);
    bind(r->index, op.results[1]);
    emit(run_arg_reduce, r);
    return Unit{};
  }
  Result<Combine> c = combine_of(combine, type.dtype);
  if (!c) return error(op, c.error().message);
  Result<std::vector<uint32_t>> places = reduce_places(op.get_ints(AttrKey::Order), type.shape[axis]);
  if (!places) return error(op, places.error().message);
  Reduce* r = make<Reduce>();
  r->combine = num::elementwise_kernel(c->op, type.dtype);
  r->size = buffer_bytes(type.dtype);
  r->outer = outer, r->inner = inner, r->extent = type.shape[axis];
  r->source = std::move(*places);
  r->identity = c->identity;
  bind(r->src, op.operands[0]);
  bind(r->dst, op.results[0]);
  emit(run_reduce, r);
  return Unit{};
}

Status Compiler::compile_dot(const ir::Op& op) {
  Dot* d = make<Dot>();
  const ir::Type &a = k_.type(op.operands[0]), &b = k_.type(op.operands[1]), &c = k_.type(op.operands[2]);
  d->a_type = a.dtype, d->b_type = b.dtype, d->c_type = c.dtype;
  d->m = a.shape[0], d->k = a.shape[1], d->n = b.shape[1];
  d->arch = k_.arch;
  if (Status s = plan_dot(op, *d); !s) return error(op, s.error().message);
  bind(d->a, op.operands[0]);
  bind(d->b, op.operands[1]);
  bind(d->c, op.operands[2]);
  bind(d->dst, op.results[0]);
  emit(run_dot, d);
  return Unit{};
}

Status Compiler::compile_misc(const ir::Op& op) {
  switch (op.kind) {
    case OpKind::Constant: return Unit{};
    case OpKind::Arange: {
      Slot& s = slots_[op.results[0].index];
      std::vector<int32_t> values(s.elements);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int32_t>(static_cast<uint64_t>(op.get_int(AttrKey::Start)) + i);
      s.constant = true;
      s.offset = add_constant(values.data(), s.bytes);
      return Unit{};
    }
    case OpKind::ProgramId:
    case OpKind::NumPrograms: {
      GridValue* g = make<GridValue>();
      int64_t axis = op.get_int(AttrKey::Axis);
      if (axis < 0 || axis > 2) return error(op, "the axis is not 0, 1 or 2");
      g->axis = static_cast<unsigned>(axis);
      g->extent = op.kind == OpKind::NumPrograms;
      bind(g->dst, op.results[0]);
      emit(run_grid_value, g);
      return Unit{};
    }
    case OpKind::Bitcast:
    case OpKind::ExpandDims:
    case OpKind::Reshape:
    case OpKind::ConvertLayout:
    case OpKind::Barrier:
    case OpKind::Return:
    case OpKind::Yield:
    case OpKind::Condition: return Unit{};
    case OpKind::Splat:
    case OpKind::Broadcast: return splat(op), Unit{};
    case OpKind::Trans: return root(op.results[0]) == op.results[0].index && !(uniform_[op.results[0].index] && uniform_[op.results[0].index]->constant) ? compile_trans(op) : Unit{};
    case OpKind::Reduce:
    case OpKind::ArgReduce: return compile_reduce(op);
    case OpKind::Dot: return compile_dot(op);
    case OpKind::MakeView: return compile_view(op);
    case OpKind::LoadView:
    case OpKind::StoreView:
    case OpKind::InBounds: return compile_view_access(op);
    case OpKind::Load:
    case OpKind::Store: return compile_pointer_access(op);
    case OpKind::Print: {
      PrintValues* p = make<PrintValues>();
      p->text = op.get_text(AttrKey::Text);
      p->values.resize(op.operands.size());
      for (size_t i = 0; i < op.operands.size(); ++i) {
        bind(p->values[i], op.operands[i]);
        p->types.push_back(k_.type(op.operands[i]));
      }
      emit(run_print, p);
      return Unit{};
    }
    case OpKind::DeviceAssert: {
      check_condition(op.operands[0], k_.type(op.operands[0]).shape.elements());
      Assert* a = make<Assert>();
      a->text = op.get_text(AttrKey::Text);
      a->elements = k_.type(op.operands[0]).shape.elements();
      a->is_tile = k_.type(op.operands[0]).shape.rank() > 0;
      bind(a->cond, op.operands[0]);
      emit(run_assert, a);
      return Unit{};
    }
    case OpKind::For:
    case OpKind::While:
    case OpKind::If:
    case OpKind::Cast:
    case OpKind::AddPtr: break;
#define TILE_EW(Kind, ...) case OpKind::Kind:
#include "dsl/ops/elementwise.def"
      break;
  }
  return error(op, "the interpreter does not execute this operation here");
}

Status Compiler::compile_view(const ir::Op& op) {
  MakeView* m = make<MakeView>();
  m->rank = k_.type(op.results[0]).view_rank;
  if (m->rank > ViewState::max_rank || op.operands.size() != 1 + 2 * m->rank) return error(op, "wrong number of extents and strides");
  m->extents.resize(m->rank);
  m->strides.resize(m->rank);
  bind(m->base, op.operands[0]);
  for (unsigned d = 0; d < m->rank; ++d) {
    bind(m->extents[d], op.operands[1 + d]);
    bind(m->strides[d], op.operands[1 + m->rank + d]);
    m->extent_types.push_back(k_.type(op.operands[1 + d]).dtype);
    m->stride_types.push_back(k_.type(op.operands[1 + m->rank + d]).dtype);
  }
  bind(m->dst, op.results[0]);
  emit(run_make_view, m);
  return Unit{};
}

Status Compiler::compile_view_access(const ir::Op& op) {
  const ir::Type& view = k_.type(op.operands[0]);
  bool store = op.kind == OpKind::StoreView;
  bool other = op.get_int(AttrKey::HasOther) != 0;
  size_t first = store ? 2 : 1;
  if (op.operands.size() != first + view.view_rank + (other ? 1 : 0) || view.view_rank > ViewState::max_rank)
    return error(op, "wrong number of indices");
  ir::ValueId value = store ? op.operands[1] : op.results[0];
  const ir::Shape& shape = k_.type(value).shape;
  ViewAccess* a = make<ViewAccess>();
  a->dtype = view.dtype;
  a->elements = shape.elements();
  for (unsigned axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1) a->shape[a->rank++] = shape[axis];
  a->index.resize(view.view_rank);
  for (unsigned d = 0; d < view.view_rank; ++d) {
    ir::ValueId v = op.operands[first + d];
    const ir::Shape& index = k_.type(v).shape;
    ViewAccess::Index& x = a->index[d];
    bind(x.ref, v);
    x.dtype = k_.type(v).dtype;
    if (index.rank() > shape.rank()) return error(op, "an index has a higher rank than the result");
    unsigned missing = shape.rank() - index.rank(), kept = a->rank;
    int64_t step = 1;
    for (unsigned axis = shape.rank(); axis-- > 0;) {
      int64_t extent = axis >= missing ? index[axis - missing] : 1;
      if (shape[axis] != 1) x.stride[--kept] = extent == 1 ? 0 : step;
      if (extent != 1 && extent != shape[axis]) return error(op, "an index does not broadcast to the result");
      step *= extent;
    }
  }
  a->has_other = other;
  if (other) {
    a->other_is_tile = k_.type(op.operands.back()).shape.elements() == a->elements;
    bind(a->other, op.operands.back());
  }
  bind(a->view, op.operands[0]);
  bind(a->value, value);
  emit(store ? run_store_view : op.kind == OpKind::LoadView ? run_load_view : run_in_bounds, a);
  return Unit{};
}

Status Compiler::compile_pointer_access(const ir::Op& op) {
  bool store = op.kind == OpKind::Store;
  bool mask = op.get_int(AttrKey::HasMask) != 0, other = op.get_int(AttrKey::HasOther) != 0;
  if (op.operands.size() != 1 + (store ? 1u : 0u) + (mask ? 1u : 0u) + (other ? 1u : 0u))
    return error(op, "wrong number of operands");
  PointerAccess* a = make<PointerAccess>();
  a->dtype = k_.type(op.operands[0]).dtype;
  if (is_packed(a->dtype)) return error(op, "there are no pointers to packed types");
  a->elements = k_.type(op.operands[0]).shape.elements();
  bind(a->pointers, op.operands[0]);
  bind(a->value, store ? op.operands[1] : op.results[0]);
  size_t next = store ? 2 : 1;
  auto is_tile = [&](ir::ValueId v) { return k_.type(v).shape.elements() == a->elements; };
  if (mask) {
    a->has_mask = true;
    a->mask_is_tile = is_tile(op.operands[next]);
    bind(a->mask, op.operands[next++]);
  }
  if (other) {
    a->has_other = true;
    a->other_is_tile = is_tile(op.operands[next]);
    bind(a->other, op.operands[next]);
  }
  emit(store ? run_store : run_load, a);
  return Unit{};
}

}  // namespace tile::interp
