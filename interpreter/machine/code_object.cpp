// Loading: offload bundles, ELF segments and relocations, kernel descriptors, metadata, line tables.
#include <fmt/format.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/OffloadBundle.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstring>

#include "interpreter/machine/disassembler.h"
#include "interpreter/machine/program.h"
#include "interpreter/machine/salu.h"

namespace tile::sim {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

struct Program::Lines {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> dwarf;
};

Program::Program() = default;
Program::~Program() = default;

namespace {

std::string text_of_error(llvm::Error e) {
  std::string s = llvm::toString(std::move(e));
  while (!s.empty() && (s.back() == '\n' || s.back() == '.')) s.pop_back();
  return s;
}

template <class T> T read_at(std::span<const uint8_t> b, size_t at) {
  T x{};
  if (at + sizeof x <= b.size()) std::memcpy(&x, b.data() + at, sizeof x);
  return x;
}

// The first device code object of a bundle that is not empty, or the bytes themselves.
Result<std::vector<uint8_t>> unbundle(std::span<const uint8_t> bytes) {
  static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
  constexpr size_t n = sizeof magic - 1;
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "CCOB", 4) == 0) {
    auto input = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "", false);
    auto plain = llvm::object::CompressedOffloadBundle::decompress(*input, nullptr);
    if (!plain) return Error{"compressed offload bundle: " + text_of_error(plain.takeError())};
    const auto text = (*plain)->getBuffer();
    std::vector<uint8_t> copy(text.begin(), text.end());
    if (copy.size() >= 4 && std::memcmp(copy.data(), "CCOB", 4) == 0) return Error{"compressed offload bundle inside another"};
    return unbundle(copy);
  }
  if (bytes.size() < n || std::memcmp(bytes.data(), magic, n) != 0) return std::vector<uint8_t>(bytes.begin(), bytes.end());
  const uint64_t count = read_at<uint64_t>(bytes, n);
  size_t at = n + 8;
  for (uint64_t k = 0; k < count && at + 24 <= bytes.size(); ++k) {
    const uint64_t offset = read_at<uint64_t>(bytes, at), size = read_at<uint64_t>(bytes, at + 8), id = read_at<uint64_t>(bytes, at + 16);
    if (id > bytes.size() - at - 24) break;
    const std::string name(reinterpret_cast<const char*>(bytes.data()) + at + 24, id);
    at += 24 + id;
    if (name.find("amdgcn") == name.npos || size == 0) continue;
    if (offset > bytes.size() || size > bytes.size() - offset) return Error{"the offload bundle is cut off"};
    return std::vector<uint8_t>(bytes.begin() + int64_t(offset), bytes.begin() + int64_t(offset + size));
  }
  return Error{"the offload bundle has no AMDGPU code object"};
}

Status load_segments(Program& p, const Elf& elf) {
  auto headers = elf.program_headers();
  if (!headers) return Error{text_of_error(headers.takeError())};
  uint64_t end = 0;
  for (const auto& h : *headers) {
    if (h.p_type != llvm::ELF::PT_LOAD) continue;
    if (h.p_vaddr + h.p_memsz < h.p_vaddr || h.p_vaddr + h.p_memsz > (uint64_t{1} << 30)) return Error{"a segment of the ELF file is larger than 1 GiB"};
    end = std::max<uint64_t>(end, h.p_vaddr + h.p_memsz);
  }
  if (end == 0) return Error{"the ELF file has no segments: is it linked?"};
  p.image.assign(end, 0);
  for (const auto& h : *headers) {
    if (h.p_type != llvm::ELF::PT_LOAD) continue;
    if (h.p_offset > p.elf.size() || h.p_filesz > p.elf.size() - h.p_offset || h.p_filesz > h.p_memsz) return Error{"the ELF file is cut off"};
    std::memcpy(p.image.data() + h.p_vaddr, p.elf.data() + h.p_offset, h.p_filesz);
  }
  return Unit{};
}

Status relocate(Program& p, const Elf& elf) {
  auto sections = elf.sections();
  if (!sections) return Error{text_of_error(sections.takeError())};
  for (const auto& s : *sections) {
    if (s.sh_type != llvm::ELF::SHT_RELA) continue;
    auto relas = elf.relas(s);
    if (!relas) return Error{text_of_error(relas.takeError())};
    auto symtab = elf.getSection(s.sh_link);
    for (const auto& r : *relas) {
      const uint32_t type = r.getType(false);
      if (r.r_offset + 8 > p.image.size()) return Error{"a relocation is outside of the image"};
      uint64_t value = 0;
      if (symtab && r.getSymbol(false)) {
        auto sym = elf.getSymbol(*symtab, r.getSymbol(false));
        if (!sym) return Error{text_of_error(sym.takeError())};
        value = (*sym)->st_value;
      }
      if (type == llvm::ELF::R_AMDGPU_NONE) continue;
      value += uint64_t(r.r_addend) + image_address;
      if (type != llvm::ELF::R_AMDGPU_RELATIVE64 && type != llvm::ELF::R_AMDGPU_ABS64) return Error{fmt::format("relocation type {} is not supported", type)};
      std::memcpy(p.image.data() + r.r_offset, &value, 8);
    }
  }
  return Unit{};
}

using MapNode = llvm::msgpack::MapDocNode;

uint32_t number(MapNode& m, llvm::StringRef key) {
  auto it = m.find(key);
  if (it == m.end()) return 0;
  if (it->second.getKind() == llvm::msgpack::Type::UInt) return uint32_t(it->second.getUInt());
  if (it->second.getKind() == llvm::msgpack::Type::Int) return uint32_t(it->second.getInt());
  return 0;
}
std::string string(MapNode& m, llvm::StringRef key) {
  auto it = m.find(key);
  return it != m.end() && it->second.getKind() == llvm::msgpack::Type::String ? it->second.getString().str() : std::string();
}
bool boolean(MapNode& m, llvm::StringRef key) {
  auto it = m.find(key);
  return it != m.end() && it->second.getKind() == llvm::msgpack::Type::Boolean && it->second.getBool();
}

void read_kernel_metadata(MapNode& m, Kernel& k) {
  k.name = string(m, ".name");
  k.kernarg_size = number(m, ".kernarg_segment_size");
  k.lds_static = number(m, ".group_segment_fixed_size");
  k.scratch_per_lane = number(m, ".private_segment_fixed_size");
  k.dynamic_stack = boolean(m, ".uses_dynamic_stack");
  if (const uint32_t max = number(m, ".max_flat_workgroup_size")) k.max_block = max;
  k.vgprs = number(m, ".vgpr_count");
  k.agprs = number(m, ".agpr_count");
  k.sgprs = number(m, ".sgpr_count");
  auto args = m.find(".args");
  if (args == m.end() || !args->second.isArray()) return;
  for (auto& a : args->second.getArray()) {
    if (!a.isMap()) continue;
    MapNode& am = a.getMap();
    k.args.push_back({string(am, ".name"), string(am, ".value_kind"), number(am, ".offset"), number(am, ".size")});
  }
}

Status read_metadata(Program& p, const Elf& elf) {
  auto headers = elf.program_headers();
  if (!headers) return Error{text_of_error(headers.takeError())};
  for (const auto& h : *headers) {
    if (h.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error err = llvm::Error::success();
    for (const auto& note : elf.notes(h, err)) {
      if (note.getName() != "AMDGPU" || note.getType() != llvm::ELF::NT_AMDGPU_METADATA) continue;
      const auto desc = note.getDesc(4);
      llvm::msgpack::Document doc;
      if (!doc.readFromBlob(llvm::StringRef(reinterpret_cast<const char*>(desc.data()), desc.size()), false) || !doc.getRoot().isMap()) {
        llvm::consumeError(std::move(err));
        return Error{"the AMDGPU metadata note is not valid"};
      }
      auto& root = doc.getRoot().getMap();
      auto kernels = root.find("amdhsa.kernels");
      if (kernels == root.end() || !kernels->second.isArray()) continue;
      for (auto& node : kernels->second.getArray()) {
        if (!node.isMap()) continue;
        Kernel k;
        read_kernel_metadata(node.getMap(), k);
        p.kernels.push_back(std::move(k));
      }
    }
    if (err) return Error{text_of_error(std::move(err))};
  }
  return Unit{};
}

// Kernel descriptors are the NAME.kd symbols.
Status read_descriptors(Program& p, const Elf& elf) {
  auto sections = elf.sections();
  if (!sections) return Error{text_of_error(sections.takeError())};
  for (const auto& s : *sections) {
    if (s.sh_type != llvm::ELF::SHT_SYMTAB && s.sh_type != llvm::ELF::SHT_DYNSYM) continue;
    auto names = elf.getStringTableForSymtab(s);
    auto symbols = elf.symbols(&s);
    if (!names || !symbols) {
      if (!names) llvm::consumeError(names.takeError());
      if (!symbols) llvm::consumeError(symbols.takeError());
      continue;
    }
    for (const auto& sym : *symbols) {
      auto name = sym.getName(*names);
      if (!name) { llvm::consumeError(name.takeError()); continue; }
      if (!name->ends_with(".kd") || sym.st_value + 64 > p.image.size()) continue;
      const std::string kernel = name->drop_back(3).str();
      auto it = std::find_if(p.kernels.begin(), p.kernels.end(), [&](const Kernel& k) { return k.name == kernel; });
      if (it == p.kernels.end()) {
        Kernel k;
        k.name = kernel;
        p.kernels.push_back(k);
        it = p.kernels.end() - 1;
      }
      const std::span<const uint8_t> kd(p.image.data() + sym.st_value, 64);
      it->entry = sym.st_value + uint64_t(read_at<int64_t>(kd, 16));
      if (!it->lds_static) it->lds_static = read_at<uint32_t>(kd, 0);
      if (!it->scratch_per_lane) it->scratch_per_lane = read_at<uint32_t>(kd, 4);
      if (!it->kernarg_size) it->kernarg_size = read_at<uint32_t>(kd, 8);
      it->rsrc3 = read_at<uint32_t>(kd, 44);
      it->rsrc1 = read_at<uint32_t>(kd, 48);
      it->rsrc2 = read_at<uint32_t>(kd, 52);
      it->properties = read_at<uint16_t>(kd, 56);
      it->preload = read_at<uint16_t>(kd, 58);
    }
  }
  std::erase_if(p.kernels, [](const Kernel& k) { return k.entry == 0; });
  return Unit{};
}

Status find_text(Program& p, const Elf& elf) {
  auto sections = elf.sections();
  if (!sections) return Error{text_of_error(sections.takeError())};
  for (const auto& s : *sections) {
    if (s.sh_type != llvm::ELF::SHT_PROGBITS || !(s.sh_flags & llvm::ELF::SHF_EXECINSTR) || s.sh_size == 0) continue;
    if (s.sh_addr + s.sh_size > p.image.size()) return Error{"the code is outside of the image"};
    if (p.text_end == 0) p.text_begin = s.sh_addr;
    p.text_begin = std::min<uint64_t>(p.text_begin, s.sh_addr);
    p.text_end = std::max<uint64_t>(p.text_end, s.sh_addr + s.sh_size);
  }
  p.text_begin &= ~uint64_t{3};
  if (p.text_end == 0) return Error{"the code object has no code"};
  return Unit{};
}

}  // namespace

Result<CodeObject> CodeObject::load(std::span<const uint8_t> bytes) {
  auto plain = unbundle(bytes);
  if (!plain) return plain.error();
  auto p = std::make_shared<Program>();
  p->elf = std::move(*plain);
  const llvm::StringRef text(reinterpret_cast<const char*>(p->elf.data()), p->elf.size());
  if (!text.starts_with("\x7f" "ELF")) return Error{"not a code object: neither an ELF file nor an offload bundle"};
  auto buffer = llvm::MemoryBuffer::getMemBuffer(text, "code object", false);
  auto object = llvm::object::ObjectFile::createELFObjectFile(buffer->getMemBufferRef());
  if (!object) return Error{text_of_error(object.takeError())};
  auto* elf64 = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(object->get());
  if (!elf64 || elf64->getELFFile().getHeader().e_machine != llvm::ELF::EM_AMDGPU) return Error{"not an AMDGPU code object"};
  const auto cpu = (*object)->tryGetCPUName();
  if (!cpu) return Error{"the code object does not say for which processor it is"};
  p->target = cpu->str();
  if (p->target != "gfx90a" && p->target != "gfx942" && p->target != "gfx950")
    return Error{fmt::format("the code object is for {}; the simulator knows gfx90a, gfx942 and gfx950", p->target)};
  const Elf& elf = elf64->getELFFile();
  for (auto step : {load_segments, relocate, read_metadata, read_descriptors, find_text})
    if (Status s = step(*p, elf); !s) return s.error();
  auto dis = Disassembler::create(p->target);
  if (!dis) return dis.error();
  p->disassembler = std::move(*dis);
  if (Status s = decode_program(*p); !s) return s.error();
  p->lines = std::make_unique<Program::Lines>();
  p->lines->buffer = std::move(buffer);
  p->lines->object = std::move(*object);
  CodeObject c;
  c.program_ = std::move(p);
  return c;
}

Result<CodeObject> CodeObject::from_instructions(const std::string& target, std::span<const uint32_t> words, const Kernel& kernel) {
  auto dis = Disassembler::create(target);
  if (!dis) return dis.error();
  if (words.empty()) return Error{"no instructions"};
  auto p = std::make_shared<Program>();
  p->target = target;
  p->disassembler = std::move(*dis);
  p->text_begin = 256;
  p->text_end = 256 + 4 * words.size();
  p->image.assign(p->text_end, 0);
  std::memcpy(p->image.data() + 256, words.data(), 4 * words.size());
  p->kernels.push_back(kernel);
  p->kernels.back().entry = 256;
  if (Status s = decode_program(*p); !s) return s.error();
  CodeObject c;
  c.program_ = std::move(p);
  return c;
}

const std::vector<Kernel>& CodeObject::kernels() const { return program_->kernels; }
const std::string& CodeObject::target() const { return program_->target; }
const Kernel* CodeObject::find(const std::string& name) const {
  for (const Kernel& k : program_->kernels)
    if (k.name == name) return &k;
  return nullptr;
}
std::string CodeObject::line_of(uint64_t pc) const { return program_->line_of(pc); }

std::string CodeObject::disassembly() const {
  std::string out;
  for (const Inst& i : program_->code)
    if (i.pc < program_->text_end) out += fmt::format("{:#08x}: {}\n", i.pc, program_->text_of(i.pc));
  return out;
}

std::string Program::text_of(uint64_t pc) {
  if (pc < text_begin || pc >= text_end) return "<outside of the code>";
  std::lock_guard lock(mutex);
  llvm::MCInst mc;
  uint64_t size = 0;
  const uint64_t avail = std::min<uint64_t>(text_end - pc, 32);
  if (!disassembler->decode(llvm::ArrayRef<uint8_t>(image.data() + pc, avail), pc, mc, size)) {
    uint32_t word = 0;
    std::memcpy(&word, image.data() + pc, std::min<uint64_t>(avail, 4));
    return fmt::format(".long {:#010x}", word);
  }
  return disassembler->text(mc);
}

std::string Program::line_of(uint64_t pc) {
  std::lock_guard lock(mutex);
  if (!lines || !lines->object) return {};
  if (!lines->dwarf) lines->dwarf = llvm::DWARFContext::create(*lines->object);
  llvm::object::SectionedAddress address{pc, llvm::object::SectionedAddress::UndefSection};
  const auto info = lines->dwarf->getLineInfoForAddress(address);
  if (!info || info->Line == 0 || info->FileName == llvm::DILineInfo::BadString) return {};
  const size_t slash = info->FileName.rfind('/');
  return fmt::format("{}:{}", slash == std::string::npos ? info->FileName : info->FileName.substr(slash + 1), info->Line);
}

}  // namespace tile::sim
