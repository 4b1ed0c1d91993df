#include "dsl/sema/evaluator.h"

#include <fmt/format.h>

namespace tile::sema {

Evaluator::Evaluator(const Program& program, const SpecializeOptions& options, ir::Kernel& kernel, Diagnostics& diags)
    : program_(program),
      files_(program.impl()),
      options_(options),
      k_(kernel),
      b_(kernel, kernel.body),
      diags_(diags) {}

Value Evaluator::error(DiagKind kind, Range range, std::string message, std::string hint, std::vector<Note> notes) {
  // A mistake inside of a prelude function is the caller's: the caret goes to the call.
  size_t shown = frames_.size();
  while (shown > 0 && frames_[shown - 1].prelude) --shown;
  if (shown < frames_.size()) {
    const Frame& f = frames_[shown];
    message = fmt::format("in {}: {}", f.function->name.text, message);
    range = f.call;
    notes.clear();
  }
  size_t before = diags_.all().size();
  Diagnostic& d = diags_.emit(kind, range, std::move(message), std::move(hint));
  if (diags_.all().size() == before) return Value::poison();  // said already, in another instantiation
  d.notes = std::move(notes);
  for (size_t i = shown; i-- > 0;)
    d.notes.push_back({frames_[i].call, fmt::format("in the call of {} from here", frames_[i].function->name.text)});
  return Value::poison();
}

bool Evaluator::too_deep(Range range) {
  constexpr unsigned max_depth = 600;  // fits 8 MiB of stack also under AddressSanitizer
  if (depth_ <= max_depth) return false;
  error(DiagKind::NestingTooDeep, range, "expressions, blocks and calls are nested too deeply",
        "split it into several statements");
  stopped_ = true;
  return true;
}

std::string Evaluator::describe(const Value& v) const {
  switch (v.kind) {
    case Value::Kind::Poison:
      return "an unknown value";
    case Value::Kind::Void:
      return "nothing";
    case Value::Kind::Int:
      return "the literal " + to_text(v.wide);
    case Value::Kind::Float:
      return "the literal " + float_text(v.real);
    case Value::Kind::Const:
      return std::string(name(v.dtype));
    case Value::Kind::String:
      return "a string";
    case Value::Kind::Type:
      return fmt::format("the type {}", name(v.dtype));
    case Value::Kind::Runtime:
      return ir::to_string(k_.type(v.id));
    case Value::Kind::Tuple:
    case Value::Kind::List: {
      std::string s;
      for (const Value& item : v.items) s += (s.empty() ? "" : ", ") + describe(item);
      return v.kind == Value::Kind::Tuple ? fmt::format("({})", s) : fmt::format("[{}]", s);
    }
    case Value::Kind::Function:
      return fmt::format("the function {}", v.closure->function->name.text);
    case Value::Kind::Builtin:
      return fmt::format("the function {}", v.text);
  }
  return "";
}

std::string Evaluator::text_of(Range r) const {
  if (r.file == 0) return "";
  const std::string& text = files_.sources->text(r.file);
  return r.end <= text.size() && r.begin <= r.end ? text.substr(r.begin, r.end - r.begin) : "";
}

Note Evaluator::note(const Ranged& v) const { return {v.range, fmt::format("this is {}", describe(v.value))}; }

}  // namespace tile::sema
