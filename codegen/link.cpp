#include "codegen/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

LLD_HAS_DRIVER(elf)

namespace tile::codegen {
namespace {

Error system_error(const std::string& what) { return Error{what + ": " + std::strerror(errno)}; }

// A descriptor that is closed at the end of its scope.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// A file of its own for lld's output, removed at the end. It can't be in a memfd: lld writes beside it and renames.
// Memory-backed storage is preferred.
struct OutputFile {
  std::string path;
  ~OutputFile() {
    if (!path.empty()) ::unlink(path.c_str());
  }
  bool create() {
    std::error_code ignored;
    const std::string folders[] = {"/dev/shm", std::filesystem::temp_directory_path(ignored).string(), "."};
    for (const std::string& folder : folders) {
      std::string pattern = folder + "/tile-hsaco-XXXXXX";
      int fd = ::mkstemp(pattern.data());
      if (fd < 0) continue;
      ::close(fd);
      path = pattern;
      return true;
    }
    return false;
  }
};

bool write_all(int fd, std::span<const char> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

Result<std::vector<std::uint8_t>> link_hsaco(std::span<const char> object) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard lock(mutex);
  if (!usable) return Error{"the linker failed earlier in this process and can't run again", "start the tool again"};

  Descriptor input(::memfd_create("tile-object", MFD_CLOEXEC));
  if (input.fd < 0 || !write_all(input.fd, object)) return system_error("can't hold the object file in memory");
  const std::string input_path = "/proc/self/fd/" + std::to_string(input.fd);
  OutputFile output;
  if (!output.create()) return system_error("can't make a temporary file for the linker");

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::Result linked = lld::lldMain({"ld.lld", "-shared", "--no-undefined", "--threads=1",
                                           "--color-diagnostics=never", input_path.c_str(), "-o", output.path.c_str()},
                                          stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = linked.canRunAgain;
  if (linked.retCode != 0) {
    replace_all(messages, input_path, "the object");
    replace_all(messages, "ld.lld: error: ", "linker: ");
    while (!messages.empty() && messages.back() == '\n') messages.pop_back();
    return Error{messages.empty() ? "the linker failed" : messages};
  }
  std::ifstream file(output.path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || bytes.empty()) return system_error("can't read back the linker's output");
  return bytes;
}

}  // namespace tile::codegen
