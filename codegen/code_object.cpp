#include "codegen/code_object.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>

#include "codegen/target.h"

namespace tile::codegen {
namespace {

using namespace llvm;
using object::ELF64LEObjectFile;

Error bad(llvm::Error why) { return Error{"not a valid hsaco: " + toString(std::move(why))}; }

// Metadata reading that survives any type of node.
const msgpack::DocNode* field(msgpack::MapDocNode& map, StringRef key) {
  auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}
unsigned number(msgpack::MapDocNode& map, StringRef key) {
  const msgpack::DocNode* node = field(map, key);
  if (!node) return 0;
  if (node->getKind() == msgpack::Type::UInt) return static_cast<unsigned>(node->getUInt());
  if (node->getKind() == msgpack::Type::Int) return static_cast<unsigned>(node->getInt());
  return 0;
}
std::string text(msgpack::MapDocNode& map, StringRef key) {
  const msgpack::DocNode* node = field(map, key);
  return node && node->isString() ? node->getString().str() : std::string();
}

KernelResources kernel_of(msgpack::MapDocNode& map) {
  KernelResources k;
  k.name = text(map, ".name");
  k.vgprs = number(map, ".vgpr_count");
  k.agprs = number(map, ".agpr_count");
  k.sgprs = number(map, ".sgpr_count");
  k.vgpr_spills = number(map, ".vgpr_spill_count");
  k.sgpr_spills = number(map, ".sgpr_spill_count");
  k.lds = number(map, ".group_segment_fixed_size");
  k.scratch = number(map, ".private_segment_fixed_size");
  k.kernarg = number(map, ".kernarg_segment_size");
  k.threads = number(map, ".max_flat_workgroup_size");
  return k;
}

Result<std::vector<KernelResources>> read_metadata(const ELF64LEObjectFile& elf) {
  std::vector<KernelResources> kernels;
  bool found = false;
  auto sections = elf.getELFFile().sections();
  if (!sections) return bad(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type != ELF::SHT_NOTE) continue;
    llvm::Error why = llvm::Error::success();
    for (auto note : elf.getELFFile().notes(section, why)) {
      if (note.getName() != "AMDGPU" || note.getType() != ELF::NT_AMDGPU_METADATA) continue;
      ArrayRef<uint8_t> blob = note.getDesc(section.sh_addralign);
      msgpack::Document document;
      if (!document.readFromBlob(StringRef(reinterpret_cast<const char*>(blob.data()), blob.size()), false) ||
          !document.getRoot().isMap())
        return Error{"not a valid hsaco: its metadata is not readable"};
      found = true;
      auto list = document.getRoot().getMap().find("amdhsa.kernels");
      if (list == document.getRoot().getMap().end() || !list->second.isArray()) continue;
      for (msgpack::DocNode& node : list->second.getArray())
        if (node.isMap()) kernels.push_back(kernel_of(node.getMap()));
    }
    if (why) return bad(std::move(why));
  }
  if (!found)
    return Error{"not a valid hsaco: it has no AMDGPU metadata", "code objects of version 3 and later have it"};
  return kernels;
}

// Address and size of each kernel's code, from its symbol. (ObjectFile's own symbol iterators abort on damaged files.)
Status locate_code(const ELF64LEObjectFile& object, std::vector<KernelResources>& kernels) {
  const auto& elf = object.getELFFile();
  auto sections = elf.sections();
  if (!sections) return bad(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type != ELF::SHT_DYNSYM) continue;
    auto strings = elf.getStringTableForSymtab(section);
    if (!strings) return bad(strings.takeError());
    auto symbols = elf.symbols(&section);
    if (!symbols) return bad(symbols.takeError());
    for (const auto& symbol : *symbols) {
      if (symbol.getType() != ELF::STT_FUNC) continue;
      auto name = symbol.getName(*strings);
      if (!name) return bad(name.takeError());
      for (KernelResources& k : kernels)
        if (k.name == *name) k.code_address = symbol.st_value, k.code_size = symbol.st_size;
    }
  }
  return Unit{};
}

}  // namespace

CodeObject::CodeObject() = default;
CodeObject::CodeObject(CodeObject&&) noexcept = default;
CodeObject& CodeObject::operator=(CodeObject&&) noexcept = default;
CodeObject::~CodeObject() = default;

Result<CodeObject> CodeObject::open(Bytes bytes) {
  std::optional<Result<CodeObject>> result;
  if (Status s = guard_fatal_errors([&] { result.emplace(read(bytes)); }); !s) return s.error();
  return std::move(*result);
}

Result<CodeObject> CodeObject::read(Bytes bytes) {
  CodeObject o;
  StringRef data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto file = object::ObjectFile::createELFObjectFile(MemoryBufferRef(data, "hsaco"));
  if (!file) return bad(file.takeError());
  o.elf_ = std::move(*file);
  auto* elf = dyn_cast<ELF64LEObjectFile>(o.elf_.get());
  if (!elf || elf->getELFFile().getHeader().e_machine != ELF::EM_AMDGPU)
    return Error{"not an hsaco: the ELF file is not for an AMD GPU"};
  const std::uint32_t flags = elf->getELFFile().getHeader().e_flags;
  std::optional<Arch> arch = arch_from_eflags(flags);
  if (!arch) return Error{fmt::format("the hsaco is for an unknown GPU (e_flags {:#x})", flags)};
  o.arch_ = *arch;

  auto kernels = read_metadata(*elf);
  if (!kernels) return kernels.error();
  o.kernels_ = std::move(*kernels);
  if (Status s = locate_code(*elf, o.kernels_); !s) return s.error();

  auto sections = elf->getELFFile().sections();
  if (!sections) return bad(sections.takeError());
  for (const auto& section : *sections) {
    auto name = elf->getELFFile().getSectionName(section);
    if (!name) return bad(name.takeError());
    if (*name != ".text") continue;
    auto contents = elf->getELFFile().getSectionContents(section);
    if (!contents) return bad(contents.takeError());
    o.text_ = Bytes(contents->data(), contents->size());
    o.text_address_ = section.sh_addr;
    o.text_index_ = static_cast<std::uint64_t>(&section - sections->begin());
  }
  for (KernelResources& k : o.kernels_) {
    const bool inside = k.code_address >= o.text_address_ && k.code_address - o.text_address_ <= o.text_.size() &&
                        k.code_size <= o.text_.size() - (k.code_address - o.text_address_);
    if (!inside || k.code_size == 0)
      return Error{fmt::format("not a valid hsaco: the code of kernel '{}' is missing from .text", k.name)};
    k.occupancy = occupancy_of(o.arch_, k.vgprs, k.sgprs, k.lds, k.threads);
  }
  return o;
}

Bytes CodeObject::code(const KernelResources& kernel) const {
  return text_.subspan(kernel.code_address - text_address_, kernel.code_size);
}

Result<std::vector<KernelResources>> resources(Bytes hsaco) {
  auto object = CodeObject::open(hsaco);
  if (!object) return object.error();
  return object->kernels();
}

}  // namespace tile::codegen
