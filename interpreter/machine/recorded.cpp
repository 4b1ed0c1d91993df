#include "interpreter/machine/recorded.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "dsl/num/format.h"

namespace tile::sim {
namespace {

using nlohmann::json;

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{fmt::format("cannot read {}", path)};
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

int64_t integer(const json& j, const char* key, int64_t otherwise) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? it->get<int64_t>() : otherwise;
}
std::string text(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : std::string();
}
double real(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? it->get<double>() : 0.0;
}

int width(const std::string& t) {
  if (t == "i64" || t == "u64" || t == "f64") return 8;
  if (t == "i32" || t == "u32" || t == "f32") return 4;
  if (t == "i16" || t == "u16" || t == "f16" || t == "bf16") return 2;
  return 1;
}

template <class T> T load(const uint8_t* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

double value(const std::string& t, const uint8_t* p) {
  if (t == "f64") return load<double>(p);
  if (t == "f32") return double(load<float>(p));
  if (t == "f16") return double(num::decode_f32<DType::F16>(load<uint16_t>(p)));
  if (t == "bf16") return double(num::decode_f32<DType::BF16>(load<uint16_t>(p)));
  if (t == "e4m3fn") return double(num::decode_f32<DType::F8E4M3>(*p));
  if (t == "e5m2") return double(num::decode_f32<DType::F8E5M2>(*p));
  if (t == "e4m3fnuz") return double(num::decode_f32<DType::F8E4M3FNUZ>(*p));
  if (t == "e5m2fnuz") return double(num::decode_f32<DType::F8E5M2FNUZ>(*p));
  if (t == "i64") return double(load<int64_t>(p));
  if (t == "u64") return double(load<uint64_t>(p));
  if (t == "i32") return double(load<int32_t>(p));
  if (t == "u32") return double(load<uint32_t>(p));
  if (t == "i16") return double(load<int16_t>(p));
  if (t == "u16") return double(load<uint16_t>(p));
  if (t == "i8") return double(load<int8_t>(p));
  return double(*p);
}

// The first differing elements, or nothing.
std::string compare(const json& out, const std::vector<uint8_t>& got, const std::vector<uint8_t>& want) {
  const std::string t = text(out, "dtype");
  const double rtol = real(out, "rtol"), atol = real(out, "atol");
  if (got.size() != want.size()) return fmt::format("{}: {} bytes, expected {}", text(out, "name"), got.size(), want.size());
  const size_t w = size_t(width(t));
  size_t bad = 0;
  std::string message;
  for (size_t k = 0; k + w <= got.size(); k += w) {
    const bool same = std::memcmp(&got[k], &want[k], w) == 0;
    if (same) continue;
    const double g = value(t, &got[k]), e = value(t, &want[k]);
    if (std::isnan(g) && std::isnan(e)) continue;   // which NaN an operation makes is not specified
    if (!(rtol == 0 && atol == 0)) {
      if (std::fabs(g - e) <= atol + rtol * std::fabs(e)) continue;
    }
    if (++bad <= 4) message += fmt::format("{}{}[{}] is {} (0x{:x}), expected {}", bad > 1 ? ", " : "", text(out, "name"), k / w, g,
                                           w == 8 ? load<uint64_t>(&got[k]) : w == 4 ? load<uint32_t>(&got[k]) : w == 2 ? load<uint16_t>(&got[k]) : got[k], e);
  }
  if (bad) message += fmt::format(" ({} of {} elements differ)", bad, got.size() / w);
  return message;
}

void put_scalar(std::vector<uint8_t>& kernarg, const json& a, const std::string& type) {
  const size_t at = size_t(integer(a, "offset", 0)), n = size_t(integer(a, "size", 8));
  if (n > 8 || at + n > kernarg.size()) return;
  const auto v = a.find("value");
  if (v == a.end()) return;
  uint64_t bits = 0;
  if (type == "f32") { const float f = v->get<float>(); std::memcpy(&bits, &f, 4); }
  else if (type == "f64") { const double d = v->get<double>(); std::memcpy(&bits, &d, 8); }
  else if (type == "f16") bits = num::encode_f64<DType::F16>(v->get<double>());
  else if (type == "bf16") bits = num::encode_f64<DType::BF16>(v->get<double>());
  else if (v->is_number_unsigned()) bits = v->get<uint64_t>();
  else if (v->is_number()) bits = uint64_t(v->get<int64_t>());
  else if (v->is_boolean()) bits = v->get<bool>();
  std::memcpy(kernarg.data() + at, &bits, n);
}

Result<CaseResult> run(const std::string& folder, const Options& options, const std::function<void(std::vector<uint8_t>&)>& patch) {
  auto description = read_file(folder + "/case.json");
  if (!description) return description.error();
  const json j = json::parse(description->begin(), description->end(), nullptr, false);
  if (!j.is_object()) return Error{folder + "/case.json is not valid JSON"};
  auto bytes = read_file(folder + "/kernel.hsaco");
  if (!bytes) return bytes.error();
  if (patch) patch(*bytes);
  auto code = CodeObject::load(*bytes);
  if (!code) return code.error();
  LaunchConfig config;
  for (size_t d = 0; d < 3; ++d) {
    if (j.contains("grid") && j["grid"].size() > d) config.grid[d] = j["grid"][d].get<uint32_t>();
    if (j.contains("block") && j["block"].size() > d) config.block[d] = j["block"][d].get<uint32_t>();
  }
  config.lds_dynamic = uint32_t(integer(j, "lds_dynamic", 0));
  std::vector<uint8_t> kernarg(size_t(integer(j, "kernarg_bytes", 0)));
  Memory memory;
  std::vector<std::vector<uint8_t>> buffers(j.value("args", json::array()).size());
  for (size_t k = 0; k < buffers.size(); ++k) {
    const json& a = j["args"][k];
    const std::string kind = text(a, "kind");
    if (kind == "buffer") {
      const size_t n = size_t(integer(a, "bytes", 0));
      buffers[k].assign(n, uint8_t(integer(a, "fill", 0)));
      if (const std::string file = text(a, "file"); !file.empty()) {
        auto data = read_file(folder + "/" + file);
        if (!data) return data.error();
        std::copy_n(data->begin(), std::min(n, data->size()), buffers[k].begin());
      }
      const uint64_t address = memory.map(text(a, "name"), buffers[k].data(), n);
      const size_t at = size_t(integer(a, "offset", 0));
      if (at + 8 <= kernarg.size()) std::memcpy(kernarg.data() + at, &address, 8);
    } else if (kind == "scalar") {
      put_scalar(kernarg, a, text(a, "type"));
    }
  }
  config.kernarg = kernarg;
  auto stats = launch(*code, text(j, "kernel"), config, memory, options);
  if (!stats) return stats.error();
  CaseResult r;
  r.stats = std::move(*stats);
  for (const json& out : j.value("outputs", json::array())) {
    const size_t arg = size_t(integer(out, "arg", 0));
    auto want = read_file(folder + "/" + text(out, "file"));
    if (!want) return want.error();
    if (arg >= buffers.size()) return Error{"an output names an argument that does not exist"};
    const std::string m = compare(out, buffers[arg], *want);
    if (!m.empty()) r.message += (r.message.empty() ? "" : "; ") + m;
  }
  r.passed = r.message.empty();
  return r;
}

}  // namespace

CaseResult run_case(const std::string& folder, const Options& options, const std::function<void(std::vector<uint8_t>&)>& patch) {
  try {
    auto r = run(folder, options, patch);
    if (r) return std::move(*r);
    CaseResult failed;
    failed.message = r.error().message;
    return failed;
  } catch (const std::exception& e) {   // nlohmann throws on values of the wrong kind
    CaseResult failed;
    failed.message = fmt::format("case.json: {}", e.what());
    return failed;
  }
}

}  // namespace tile::sim
