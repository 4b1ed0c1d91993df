#include "runtime/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "dsl/num/kernels.h"

namespace tile {
namespace {

using Class = Tensor::Class;

size_t count(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  return n;
}

using FloatFn = double (*)(double, double, double);
using IntFn = bool (*)(int64_t, int64_t, int64_t*);

struct Row {
  unsigned arity;
  FloatFn on_float;   // null: integers only
  IntFn on_int;       // null: integers are converted to f64; false: overflow or division by zero
  bool gives_bool;
};

double max_number(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }
double min_number(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b); }

#define FLOAT(expr) [](double a, double b, double c) -> double { (void)a, (void)b, (void)c; return expr; }
#define INT(expr) [](int64_t a, int64_t b, int64_t* r) -> bool { (void)b; *r = (expr); return true; }
#define INT_CHECKED(fn) [](int64_t a, int64_t b, int64_t* r) -> bool { return !fn(a, b, r); }

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> table = {
      {"add", {2, FLOAT(a + b), INT_CHECKED(__builtin_add_overflow), false}},
      {"sub", {2, FLOAT(a - b), INT_CHECKED(__builtin_sub_overflow), false}},
      {"mul", {2, FLOAT(a * b), INT_CHECKED(__builtin_mul_overflow), false}},
      {"div", {2, FLOAT(a / b),
               [](int64_t a, int64_t b, int64_t* r) -> bool {
                 if (b == 0 || (a == INT64_MIN && b == -1)) return false;
                 *r = a / b;
                 return true;
               },
               false}},
      {"rem", {2, FLOAT(std::fmod(a, b)),
               [](int64_t a, int64_t b, int64_t* r) -> bool {
                 if (b == 0) return false;
                 *r = b == -1 ? 0 : a % b;
                 return true;
               },
               false}},
      {"neg", {1, FLOAT(-a), [](int64_t a, int64_t, int64_t* r) -> bool { return !__builtin_sub_overflow(0, a, r); }, false}},
      {"abs", {1, FLOAT(std::fabs(a)), [](int64_t a, int64_t, int64_t* r) -> bool { *r = a < 0 ? -a : a; return a != INT64_MIN; }, false}},
      {"min", {2, FLOAT(min_number(a, b)), INT(std::min(a, b)), false}},
      {"max", {2, FLOAT(max_number(a, b)), INT(std::max(a, b)), false}},
      {"fma", {3, FLOAT(std::fma(a, b, c)), nullptr, false}},
      {"and", {2, nullptr, INT(a & b), false}},
      {"or", {2, nullptr, INT(a | b), false}},
      {"xor", {2, nullptr, INT(a ^ b), false}},
      {"not", {1, nullptr, INT(~a), false}},
      {"logical_and", {2, nullptr, INT(a != 0 && b != 0), true}},
      {"logical_or", {2, nullptr, INT(a != 0 || b != 0), true}},
      {"logical_not", {1, nullptr, INT(a == 0), true}},
      {"shl", {2, nullptr, INT(b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b)), false}},
      {"shr", {2, nullptr, INT(a >> std::clamp<int64_t>(b, 0, 63)), false}},
      {"eq", {2, FLOAT(a == b), INT(a == b), true}},
      {"ne", {2, FLOAT(a != b), INT(a != b), true}},
      {"lt", {2, FLOAT(a < b), INT(a < b), true}},
      {"le", {2, FLOAT(a <= b), INT(a <= b), true}},
      {"gt", {2, FLOAT(a > b), INT(a > b), true}},
      {"ge", {2, FLOAT(a >= b), INT(a >= b), true}},
      {"sqrt", {1, FLOAT(std::sqrt(a)), nullptr, false}},
      {"rsqrt", {1, FLOAT(1 / std::sqrt(a)), nullptr, false}},
      {"floor", {1, FLOAT(std::floor(a)), INT(a), false}},
      {"ceil", {1, FLOAT(std::ceil(a)), INT(a), false}},
      {"trunc", {1, FLOAT(std::trunc(a)), INT(a), false}},
      {"rint", {1, FLOAT(std::nearbyint(a)), INT(a), false}},
      {"round", {1, FLOAT(std::round(a)), INT(a), false}},
      {"copysign", {2, FLOAT(std::copysign(a, b)), nullptr, false}},
      {"fmod", {2, FLOAT(std::fmod(a, b)), nullptr, false}},
      {"exp", {1, FLOAT(std::exp(a)), nullptr, false}},
      {"exp2", {1, FLOAT(std::exp2(a)), nullptr, false}},
      {"expm1", {1, FLOAT(std::expm1(a)), nullptr, false}},
      {"log", {1, FLOAT(std::log(a)), nullptr, false}},
      {"log2", {1, FLOAT(std::log2(a)), nullptr, false}},
      {"log1p", {1, FLOAT(std::log1p(a)), nullptr, false}},
      {"sin", {1, FLOAT(std::sin(a)), nullptr, false}},
      {"cos", {1, FLOAT(std::cos(a)), nullptr, false}},
      {"tan", {1, FLOAT(std::tan(a)), nullptr, false}},
      {"asin", {1, FLOAT(std::asin(a)), nullptr, false}},
      {"acos", {1, FLOAT(std::acos(a)), nullptr, false}},
      {"atan", {1, FLOAT(std::atan(a)), nullptr, false}},
      {"atan2", {2, FLOAT(std::atan2(a, b)), nullptr, false}},
      {"sinh", {1, FLOAT(std::sinh(a)), nullptr, false}},
      {"cosh", {1, FLOAT(std::cosh(a)), nullptr, false}},
      {"tanh", {1, FLOAT(std::tanh(a)), nullptr, false}},
      {"sigmoid", {1, FLOAT(1 / (1 + std::exp(-a))), nullptr, false}},
      {"erf", {1, FLOAT(std::erf(a)), nullptr, false}},
      {"cbrt", {1, FLOAT(std::cbrt(a)), nullptr, false}},
      {"pow", {2, FLOAT(std::pow(a, b)), nullptr, false}},
      {"cdiv", {2, FLOAT(std::ceil(a / b)),
                [](int64_t a, int64_t b, int64_t* r) -> bool {
                  if (b <= 0) return false;
                  *r = a / b + (a % b > 0);
                  return true;
                },
                false}},
  };
  return table;
}

#undef FLOAT
#undef INT
#undef INT_CHECKED

Result<Tensor> apply_where(const std::vector<Tensor>& in) {
  if (in.size() != 3) return Error{"where takes a condition and two values"};
  if (in[0].cls == Class::Float) return Error{"the condition of where is not bool"};
  Result<std::vector<int64_t>> shape = broadcast_shape(in[0].shape, in[1].shape);
  if (shape) shape = broadcast_shape(*shape, in[2].shape);
  if (!shape) return shape.error();
  Class cls = std::max(in[1].cls, in[2].cls);
  Tensor a = cls == Class::Float ? in[1].as_float() : in[1], b = cls == Class::Float ? in[2].as_float() : in[2];
  Tensor out = Tensor::zeros(cls, *shape);
  std::vector<size_t> mc = broadcast_map(in[0].shape, *shape), ma = broadcast_map(a.shape, *shape),
                      mb = broadcast_map(b.shape, *shape);
  for (size_t e = 0; e < out.size(); ++e) {
    bool c = in[0].i[mc[e]] != 0;
    if (cls == Class::Float) out.f[e] = c ? a.f[ma[e]] : b.f[mb[e]];
    else out.i[e] = c ? a.i[ma[e]] : b.i[mb[e]];
  }
  return out;
}

}  // namespace

Tensor Tensor::zeros(Class cls, std::vector<int64_t> shape) {
  Tensor t;
  t.cls = cls;
  if (cls == Class::Float) t.f.resize(count(shape));
  else t.i.resize(count(shape));
  t.shape = std::move(shape);
  return t;
}

Tensor Tensor::from(const Array& a) {
  Class cls = is_bool(a.dtype()) ? Class::Bool : is_int(a.dtype()) ? Class::Int : Class::Float;
  Tensor t = zeros(cls, a.shape());
  for (size_t e = 0; e < t.size(); ++e) {
    if (cls == Class::Float) {
      t.f[e] = a.value(static_cast<int64_t>(e));
      continue;
    }
    uint64_t raw = a.bits(static_cast<int64_t>(e));
    unsigned unused = 64 - bit_width(a.dtype());
    t.i[e] = is_signed(a.dtype()) ? static_cast<int64_t>(raw << unused) >> unused : static_cast<int64_t>(raw);
  }
  return t;
}

Tensor Tensor::as_float() const {
  if (cls == Class::Float) return *this;
  Tensor t = zeros(Class::Float, shape);
  for (size_t e = 0; e < i.size(); ++e) t.f[e] = static_cast<double>(i[e]);
  return t;
}

Result<Array> Tensor::to_array(DType t) const {
  Result<Array> a = Array::make(t, shape);
  if (!a) return a;
  for (size_t e = 0; e < size(); ++e) {
    uint64_t bits = 0;
    if (cls == Class::Float) num::convert(DType::F64, t, {}, &f[e], &bits, 1);
    else num::convert(DType::I64, t, {}, &i[e], &bits, 1);
    a->set_bits(static_cast<int64_t>(e), bits);
  }
  return a;
}

Result<std::vector<int64_t>> broadcast_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1, db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1)
      return Error{fmt::format("shapes [{}] and [{}] do not broadcast", fmt::join(a, ", "), fmt::join(b, ", "))};
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

std::vector<size_t> broadcast_map(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  std::vector<size_t> stride(to.size(), 0);
  size_t s = 1;
  for (size_t i = from.size(); i-- > 0;) {
    size_t at = i + to.size() - from.size();
    stride[at] = from[i] == 1 ? 0 : s;
    s *= static_cast<size_t>(from[i]);
  }
  std::vector<size_t> map(count(to));
  std::vector<int64_t> index(to.size(), 0);
  size_t at = 0;
  for (size_t e = 0; e < map.size(); ++e) {
    map[e] = at;
    for (size_t d = to.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < to[d]) break;
      at -= stride[d] * static_cast<size_t>(to[d]);
      index[d] = 0;
    }
  }
  return map;
}

bool has_elementwise(const std::string& spelling) { return spelling == "where" || rows().count(spelling) != 0; }

Result<Tensor> apply_elementwise(const std::string& spelling, const std::vector<Tensor>& in) {
  if (spelling == "where") return apply_where(in);
  const Row& row = rows().at(spelling);
  if (in.size() != row.arity) return Error{fmt::format("{} takes {} operands, not {}", spelling, row.arity, in.size())};
  std::vector<int64_t> shape;
  bool integers = row.on_int != nullptr;
  bool all_bool = true;
  for (const Tensor& t : in) {
    Result<std::vector<int64_t>> s = broadcast_shape(shape, t.shape);
    if (!s) return s.error();
    shape = *s;
    integers &= t.cls != Class::Float;
    all_bool &= t.cls == Class::Bool;
  }
  if (!integers && !row.on_float) return Error{fmt::format("{} takes integers", spelling)};
  Class cls = row.gives_bool ? Class::Bool : integers ? Class::Int : Class::Float;
  bool bitwise = spelling == "and" || spelling == "or" || spelling == "xor" || spelling == "not";
  if (bitwise && all_bool) cls = Class::Bool;
  Tensor out = Tensor::zeros(cls, shape);
  std::vector<std::vector<size_t>> maps;
  for (const Tensor& t : in) maps.push_back(broadcast_map(t.shape, shape));
  for (size_t e = 0; e < out.size(); ++e) {
    if (integers) {
      int64_t r = 0;
      if (!row.on_int(in[0].i[maps[0][e]], row.arity > 1 ? in[1].i[maps[1][e]] : 0, &r))
        return Error{fmt::format("integer overflow or division by zero in {}", spelling)};
      out.i[e] = cls == Class::Bool ? r & 1 : r;
      continue;
    }
    double v[3] = {0, 0, 0};
    for (size_t k = 0; k < row.arity; ++k) v[k] = in[k].at(maps[k][e]);
    double r = row.on_float(v[0], v[1], v[2]);
    if (cls == Class::Float) out.f[e] = r;
    else out.i[e] = r != 0;
  }
  return out;
}

namespace {

struct Split {
  size_t outer = 1, axis = 1, inner = 1;
};

// Fold of one line of values; `pick` receives the index for argmax and argmin.
double fold_float(const std::string& op, const Tensor& x, size_t first, size_t step, size_t n, int64_t* pick) {
  double r = op == "prod" ? 1 : op == "max" || op == "min" || op[0] == 'a' ? x.f[first] : 0;
  *pick = 0;
  for (size_t k = 0; k < n; ++k) {
    double v = x.f[first + k * step];
    if (op == "sum" || op == "mean") r += v;
    else if (op == "prod") r *= v;
    else if (op == "max") r = max_number(r, v);
    else if (op == "min") r = min_number(r, v);
    else if (!std::isnan(r) && (std::isnan(v) || (op == "argmax" ? v > r : v < r))) r = v, *pick = static_cast<int64_t>(k);
  }
  return op == "mean" ? r / static_cast<double>(n) : r;
}

bool fold_int(const std::string& op, const Tensor& x, size_t first, size_t step, size_t n, int64_t* r) {
  *r = op == "prod" ? 1 : op == "sum" ? 0 : x.i[first];
  int64_t pick = 0;
  for (size_t k = 0; k < n; ++k) {
    int64_t v = x.i[first + k * step];
    if (op == "sum") {
      if (__builtin_add_overflow(*r, v, r)) return false;
    } else if (op == "prod") {
      if (__builtin_mul_overflow(*r, v, r)) return false;
    } else if (op == "max" || op == "min") {
      *r = op == "max" ? std::max(*r, v) : std::min(*r, v);
    } else if (op == "argmax" ? v > *r : v < *r) {
      *r = v, pick = static_cast<int64_t>(k);
    }
  }
  if (op[0] == 'a') *r = pick;
  return true;
}

}  // namespace

bool has_reduce(const std::string& op) {
  static const char* names[] = {"sum", "prod", "max", "min", "mean", "argmax", "argmin"};
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

Result<Tensor> apply_reduce(const std::string& op, const Tensor& x, int64_t axis, bool keep_dims) {
  int64_t rank = static_cast<int64_t>(x.shape.size());
  if (axis < -1 || axis >= rank) return Error{fmt::format("axis {} is outside of rank {}", axis, rank)};
  Split s;
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < rank; ++d) {
    size_t extent = static_cast<size_t>(x.shape[static_cast<size_t>(d)]);
    if (axis == -1 || d == axis) s.axis *= extent;
    else if (d < axis) s.outer *= extent;
    else s.inner *= extent;
    if (axis != -1 && d != axis) shape.push_back(x.shape[static_cast<size_t>(d)]);
    else if (keep_dims) shape.push_back(1);
  }
  if (s.axis == 0) return Error{fmt::format("{} over no elements", op)};
  Tensor in = op == "mean" ? x.as_float() : x;
  bool indices = op[0] == 'a';
  Tensor out = Tensor::zeros(in.cls == Class::Float && !indices ? Class::Float : Class::Int, shape);
  for (size_t o = 0; o < s.outer; ++o)
    for (size_t i = 0; i < s.inner; ++i) {
      size_t first = o * s.axis * s.inner + i, to = o * s.inner + i;
      if (in.cls == Class::Float) {
        int64_t pick = 0;
        double r = fold_float(op, in, first, s.inner, s.axis, &pick);
        if (indices) out.i[to] = pick;
        else out.f[to] = r;
      } else if (!fold_int(op, in, first, s.inner, s.axis, &out.i[to])) {
        return Error{fmt::format("integer overflow in {}", op)};
      }
    }
  return out;
}

Result<Tensor> matmul(const Tensor& a, const Tensor& b) {
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    return Error{fmt::format("shapes [{}] and [{}] do not fit in a matrix product", fmt::join(a.shape, ", "),
                             fmt::join(b.shape, ", "))};
  size_t m = static_cast<size_t>(a.shape[0]), k = static_cast<size_t>(a.shape[1]), n = static_cast<size_t>(b.shape[1]);
  bool integers = a.cls != Class::Float && b.cls != Class::Float;
  Tensor fa = integers ? a : a.as_float(), fb = integers ? b : b.as_float();
  Tensor out = Tensor::zeros(integers ? Class::Int : Class::Float, {a.shape[0], b.shape[1]});
  for (size_t i = 0; i < m; ++i)
    for (size_t e = 0; e < k; ++e)
      for (size_t j = 0; j < n; ++j) {
        if (!integers) {
          out.f[i * n + j] += fa.f[i * k + e] * fb.f[e * n + j];
          continue;
        }
        int64_t p = 0;
        if (__builtin_mul_overflow(fa.i[i * k + e], fb.i[e * n + j], &p) ||
            __builtin_add_overflow(out.i[i * n + j], p, &out.i[i * n + j]))
          return Error{"integer overflow in a matrix product"};
      }
  return out;
}

Result<Tensor> transpose(const Tensor& x, const std::vector<int64_t>& perm) {
  size_t rank = x.shape.size();
  std::vector<bool> seen(rank, false);
  if (perm.size() != rank) return Error{fmt::format("a permutation of {} dimensions is needed", rank)};
  std::vector<int64_t> shape(rank);
  std::vector<size_t> stride(rank, 1), moved(rank);
  for (size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * static_cast<size_t>(x.shape[d]);
  for (size_t d = 0; d < rank; ++d) {
    if (perm[d] < 0 || perm[d] >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(perm[d])])
      return Error{"not a permutation of the dimensions"};
    seen[static_cast<size_t>(perm[d])] = true;
    shape[d] = x.shape[static_cast<size_t>(perm[d])];
    moved[d] = stride[static_cast<size_t>(perm[d])];
  }
  Tensor out = Tensor::zeros(x.cls, shape);
  std::vector<int64_t> index(rank, 0);
  size_t at = 0;
  for (size_t e = 0; e < out.size(); ++e) {
    if (x.cls == Class::Float) out.f[e] = x.f[at];
    else out.i[e] = x.i[at];
    for (size_t d = rank; d-- > 0;) {
      at += moved[d];
      if (++index[d] < shape[d]) break;
      at -= moved[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace tile
