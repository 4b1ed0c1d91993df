// num_vectors DIR...: checks dsl/num's matrix instructions against every vector file (*.json) in the folders. Prints a
// line a file and a total; exits 0 only if there were files and all of them hold. Three kinds of files are known:
//   matrices   {instr, arch: [..], M, N, K, cases: [{kind, A, B, C, D}]}, row-major hex of each element
//   registers  {arch, cases: [{intrinsic, A_regs, B_regs, C_regs, D_regs, ..}]} or {instr, arch: [..], cases: [{.., shape,
//              cbsz, blgp, scaled, opsel_a, opsel_b, scaleA_reg, scaleB_reg}]}, for each lane its registers in hex
//   rows       {instr, rows_*: ["A B C D"]}, one output element, A and B of K bytes
// Elements whose expected value is NaN must be NaN; all others must have the same bits. Matrices are checked by
// mfma_dot, mfma_matrix and mfma_execute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dsl/num/mfma.h"
#include "dsl/num/storage.h"

namespace {

using namespace tile;
using nlohmann::json;

// The outcome of one file.
struct Count {
  size_t checked = 0, wrong = 0;
  std::string first;   // the first difference
  std::string error;   // why the file could not be checked; counts as failure
};

using Bytes = std::vector<unsigned char>;

// Hex digits to numbers of `digits` digits each.
std::optional<std::vector<uint64_t>> parse_hex(const std::string& s, unsigned digits) {
  if (digits == 0 || s.size() % digits != 0) return std::nullopt;
  std::vector<uint64_t> out;
  for (size_t i = 0; i < s.size(); i += digits) {
    uint64_t v = 0;
    for (unsigned d = 0; d < digits; d++) {
      char c = s[i + d];
      int n = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (n < 0) return std::nullopt;
      v = v << 4 | static_cast<uint64_t>(n);
    }
    out.push_back(v);
  }
  return out;
}

// Elements in tile-buffer form.
Bytes buffer_of(const std::vector<uint64_t>& v, DType t) {
  unsigned n = buffer_bytes(t);
  Bytes b(v.size() * n);
  for (size_t i = 0; i < v.size(); i++) std::memcpy(&b[i * n], &v[i], n);
  return b;
}

bool is_nan(DType t, uint64_t bits) {
  if (t == DType::F32) return (bits & 0x7fffffff) > 0x7f800000;
  if (t == DType::F64) return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  return false;
}

void compare(Count& count, DType t, uint64_t got, uint64_t want, const std::string& where) {
  count.checked++;
  if (got == want || (is_nan(t, got) && is_nan(t, want))) return;
  if (count.wrong++ == 0) count.first = fmt::format("{}: {:x}, expected {:x}", where, got, want);
}

// "arch" is a name or a list of names, which may carry a remark in parentheses: "gfx950(assumed)".
std::vector<Arch> archs_of(const json& file, Count& count) {
  std::vector<Arch> out;
  auto add = [&](const json& x) {
    std::string text = x.is_string() ? x.get<std::string>() : x.dump();
    if (auto a = parse_arch(text.substr(0, text.find('(')))) out.push_back(*a);
    else count.error = "unknown architecture " + text;
  };
  if (!file.contains("arch")) return out;
  if (file["arch"].is_array()) for (const json& x : file["arch"]) add(x);
  else add(file["arch"]);
  return out;
}

std::optional<MfmaId> find_id(const std::string& text, Arch arch) {
  std::string word = text.substr(0, text.find(' '));
  if (auto id = mfma_from_intrinsic(word)) return id;
  return mfma_from_mnemonic(word, arch);
}

// Puts a matrix into a wave's registers; `map` gives the coordinate of (lane, element).
template <class Map>
std::vector<uint32_t> to_registers(const std::vector<uint64_t>& matrix, unsigned cols, unsigned rows, unsigned elements, unsigned width, Map map) {
  std::vector<uint32_t> regs((elements * width + 31) / 32 * wave_size);
  for (unsigned lane = 0; lane < wave_size; lane++)
    for (unsigned e = 0; e < elements; e++) {
      MfmaCoord at = map(lane, e);
      uint64_t v = matrix[(at.block * rows + at.row) * cols + at.col];
      for (unsigned bit = 0; bit < width; bit++) {
        unsigned pos = e * width + bit;
        regs[pos / 32 * wave_size + lane] |= static_cast<uint32_t>(v >> bit & 1) << (pos % 32);
      }
    }
  return regs;
}

void check_matrices(const json& file, Arch arch, MfmaId id, Count& count) {
  const MfmaInfo& row = info(id);
  DType ta = *dtype_of(row.a, arch), tb = *dtype_of(row.b, arch), td = *dtype_of(row.cd, arch);
  for (size_t n = 0; n < file["cases"].size(); n++) {
    const json& c = file["cases"][n];
    auto matrix = [&](const char* key, DType t, unsigned size) {
      auto v = parse_hex(c.at(key).get<std::string>(), bit_width(t) / 4);
      if (v && v->size() % size != 0) v = std::nullopt;
      if (!v) count.error = fmt::format("case {}: {} is not {} elements of {}", n, key, size, name(t));
      return v;
    };
    auto a = matrix("A", ta, row.m * row.k), b = matrix("B", tb, row.k * row.n), cc = matrix("C", td, row.m * row.n), d = matrix("D", td, row.m * row.n);
    if (!a || !b || !cc || !d) return;
    size_t blocks = d->size() / (row.m * row.n);
    if (a->size() != blocks * row.m * row.k || b->size() != blocks * row.k * row.n || cc->size() != d->size()) {
      count.error = fmt::format("case {}: sizes differ", n);
      return;
    }
    Bytes ab = buffer_of(*a, ta), bb = buffer_of(*b, tb), cb = buffer_of(*cc, td), whole(cb.size()), chained = cb;
    for (size_t block = 0; block < blocks; block++) {
      auto at = [&](Bytes& v, DType t, unsigned size) { return v.data() + block * size * buffer_bytes(t); };
      num::mfma_matrix(id, arch, at(ab, ta, row.m * row.k), at(bb, tb, row.k * row.n), at(cb, td, row.m * row.n), at(whole, td, row.m * row.n));
      num::mfma_dot({.id = id, .arch = arch, .m = row.m, .n = row.n, .k = row.k, .a = at(ab, ta, row.m * row.k), .lda = row.k,
                     .b = at(bb, tb, row.k * row.n), .ldb = row.n, .c = at(chained, td, row.m * row.n), .ldc = row.n});
    }
    std::vector<uint32_t> dr;
    if (blocks == row.blocks) {
      auto ar = to_registers(*a, row.k, row.m, a_elements(id), bit_width(ta), [&](unsigned l, unsigned e) { return a_coord(id, l, e); });
      auto br = to_registers(*b, row.n, row.k, b_elements(id), bit_width(tb), [&](unsigned l, unsigned e) { return b_coord(id, l, e); });
      dr = to_registers(*cc, row.n, row.m, d_elements(id), bit_width(td), [&](unsigned l, unsigned e) { return d_coord(id, l, e); });
      num::mfma_execute(id, arch, ar.data(), br.data(), dr.data(), dr.data());
    }
    std::string kind = c.value("kind", std::string("?"));
    for (size_t i = 0; i < d->size(); i++) {
      unsigned bytes = buffer_bytes(td);
      std::string where = fmt::format("case {} ({}) element {}", n, kind, i);
      uint64_t got = 0;
      std::memcpy(&got, &whole[i * bytes], bytes);
      compare(count, td, got, (*d)[i], where);
      std::memcpy(&got, &chained[i * bytes], bytes);
      compare(count, td, got, (*d)[i], where + " by mfma_dot");
      if (dr.empty()) continue;
      unsigned in_block = static_cast<unsigned>(i % (row.m * row.n));
      MfmaPlace p = d_place(id, {in_block / row.n, in_block % row.n, static_cast<unsigned>(i / (row.m * row.n))});
      got = bytes == 8 ? dr[2 * p.element * wave_size + p.lane] | static_cast<uint64_t>(dr[(2 * p.element + 1) * wave_size + p.lane]) << 32
                       : dr[p.element * wave_size + p.lane];
      compare(count, td, got, (*d)[i], where + " by mfma_execute");
    }
  }
}

// Registers are stored lane after lane; returns them as [register][lane].
std::optional<std::vector<uint32_t>> registers(const json& c, const char* key, size_t count) {
  if (!c.contains(key) || !c[key].is_string()) return std::nullopt;
  auto words = parse_hex(c[key].get<std::string>(), 8);
  if (!words || words->size() != count * wave_size) return std::nullopt;
  std::vector<uint32_t> r(words->size());
  for (size_t i = 0; i < words->size(); i++) r[i % count * wave_size + i / count] = static_cast<uint32_t>((*words)[i]);
  return r;
}

void check_registers(const json& file, Arch arch, Count& count) {
  for (size_t n = 0; n < file["cases"].size(); n++) {
    const json& c = file["cases"][n];
    std::string text = c.value("intrinsic", file.value("instr", std::string()));
    if (c.contains("shape")) text = fmt::format("llvm.amdgcn.mfma.scale.f32.{}.f8f6f4", c["shape"].get<std::string>());
    auto id = find_id(text, arch);
    if (!id || !exists_on(*id, arch)) {
      count.error = fmt::format("case {}: {} has no instruction {}", n, name(arch), text);
      return;
    }
    num::MfmaModifiers mod;
    mod.cbsz = c.value("cbsz", 0u);
    mod.abid = c.value("abid", 0u);
    mod.blgp = c.value("blgp", 0u);
    mod.a_opsel = c.value("opsel_a", 0u);
    mod.b_opsel = c.value("opsel_b", 0u);
    bool is_scaled = info(*id).maps == MfmaMaps::Scaled;
    auto format = [&](unsigned f) { return is_scaled ? static_cast<MfmaFormat>(std::min(f, 4u)) : MfmaFormat::F8E4M3; };
    auto a = registers(c, "A_regs", a_registers(*id, format(mod.cbsz))), b = registers(c, "B_regs", b_registers(*id, format(mod.blgp)));
    auto cc = registers(c, "C_regs", d_registers(*id)), d = registers(c, "D_regs", d_registers(*id));
    auto sa = registers(c, "scaleA_reg", 1), sb = registers(c, "scaleB_reg", 1);
    bool scales = c.value("scaled", false);
    if (!a || !b || !cc || !d || (scales && (!sa || !sb))) {
      count.error = fmt::format("case {}: registers missing or of the wrong number", n);
      return;
    }
    if (scales) mod.a_scale = sa->data(), mod.b_scale = sb->data();
    std::vector<uint32_t> got(d->size());
    num::mfma_execute(*id, arch, a->data(), b->data(), cc->data(), got.data(), mod);
    DType td = *dtype_of(info(*id).cd, arch);
    unsigned words = td == DType::F64 ? 2 : 1;
    for (unsigned r = 0; r < got.size() / wave_size; r += words)
      for (unsigned lane = 0; lane < wave_size; lane++) {
        auto value = [&](const std::vector<uint32_t>& v) {
          return v[r * wave_size + lane] | (words == 2 ? static_cast<uint64_t>(v[(r + 1) * wave_size + lane]) << 32 : 0);
        };
        compare(count, td, value(got), value(*d), fmt::format("case {} ({}) register {} lane {}", n, text, r, lane));
      }
  }
}

// One output element a row, in the corner of an otherwise empty product.
void check_rows(const json& rows, Arch arch, MfmaId id, const std::string& key, Count& count) {
  const MfmaInfo& row = info(id);
  DType ta = *dtype_of(row.a, arch), tb = *dtype_of(row.b, arch), td = *dtype_of(row.cd, arch);
  for (size_t n = 0; n < rows.size(); n++) {
    std::string text = rows[n].get<std::string>(), field;
    std::vector<std::string> parts;
    for (char ch : text + " ") {
      if (ch != ' ') field += ch;
      else parts.push_back(std::move(field)), field.clear();
    }
    auto part = [&](size_t i, DType t) { return i < parts.size() ? parse_hex(parts[i], bit_width(t) / 4) : std::nullopt; };
    auto a = part(0, ta), b = part(1, tb), c = part(2, td), d = part(3, td);
    if (!a || !b || !c || !d || a->size() != row.k || b->size() != row.k || c->size() != 1 || d->size() != 1) {
      count.error = fmt::format("{} row {}: not \"A B C D\"", key, n);
      return;
    }
    Bytes ab = buffer_of(*a, ta), bb = buffer_of(*b, tb), out = buffer_of(*c, td);
    num::mfma_dot({.id = id, .arch = arch, .m = 1, .n = 1, .k = row.k, .a = ab.data(), .lda = row.k, .b = bb.data(), .ldb = 1, .c = out.data(), .ldc = 1});
    uint64_t got = 0;
    std::memcpy(&got, out.data(), buffer_bytes(td));
    compare(count, td, got, (*d)[0], fmt::format("{} row {}", key, n));
  }
}

Count check_file(const std::filesystem::path& path) {
  Count count;
  try {
    json file = json::parse(std::ifstream(path));
    std::string instr = file.value("instr", std::string());
    std::vector<Arch> archs = archs_of(file, count);
    bool known = false;
    for (const auto& [key, value] : file.items()) {
      if (!key.starts_with("rows")) continue;
      known = true;
      // These name the architecture in the instruction's text.
      for (const ArchInfo& row : arch_table)
        if (archs.empty() && instr.find(row.name) != std::string::npos) archs.push_back(row.arch);
      for (Arch arch : archs) {
        auto id = find_id(instr, arch);
        if (!id || !exists_on(*id, arch)) count.error = fmt::format("{} has no instruction {}", name(arch), instr);
        else check_rows(value, arch, *id, key, count);
      }
    }
    if (file.contains("cases") && file["cases"].is_array()) {
      known = true;
      bool regs = !file["cases"].empty() && file["cases"][0].contains("A_regs");
      for (Arch arch : archs) {
        if (!count.error.empty()) break;
        if (regs) {
          check_registers(file, arch, count);
          continue;
        }
        auto id = find_id(instr, arch);
        if (!id || !exists_on(*id, arch)) count.error = fmt::format("{} has no instruction {}", name(arch), instr);
        else check_matrices(file, arch, *id, count);
      }
    }
    if (!known) count.error = "not a vector file";
    else if (count.checked == 0 && count.error.empty()) count.error = "nothing to check";
  } catch (const std::exception& e) {
    count.error = e.what();
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: num_vectors DIR...\n");
    return 1;
  }
  size_t files = 0, bad_files = 0, checked = 0, wrong = 0;
  for (int i = 1; i < argc; i++) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], error))
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    if (error) {
      fmt::print(stderr, "num_vectors: {}: {}\n", argv[i], error.message());
      bad_files++;
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      Count c = check_file(path);
      files++;
      checked += c.checked;
      wrong += c.wrong;
      bool ok = c.wrong == 0 && c.error.empty();
      bad_files += !ok;
      fmt::print("{} {}: {} of {} values hold{}{}\n", ok ? "ok  " : "FAIL", path.filename().string(), c.checked - c.wrong, c.checked,
                 c.first.empty() ? "" : "; first difference: " + c.first, c.error.empty() ? "" : "; " + c.error);
    }
  }
  fmt::print("{} files, {} failed; {} of {} values hold\n", files, bad_files, checked - wrong, checked);
  return files != 0 && bad_files == 0 ? 0 : 1;
}
