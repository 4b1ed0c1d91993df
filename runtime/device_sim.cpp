#include "runtime/device_sim.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>

#include "interpreter/machine/machine.h"
#include "runtime/compiler.h"

namespace tile {
namespace {

// Memory of one array argument. Arrays start at multiples of 4096 and end with the last group of 16 bytes that has an
// element in it: an aligned load of 16 bytes may read that far. The rest is filled with a pattern that no store may
// change.
class DeviceArray {
 public:
  explicit DeviceArray(Array& host) : host_(host), bytes_((host.bytes() + granule - 1) / granule * granule, pattern) {
    std::memcpy(bytes_.data(), host.data(), host.bytes());
  }
  void* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  // Back to the host. False when a byte behind the last element was changed.
  bool take_back() {
    std::memcpy(host_.data(), bytes_.data(), host_.bytes());
    for (size_t i = host_.bytes(); i < bytes_.size(); ++i)
      if (bytes_[i] != pattern) return false;
    return true;
  }

 private:
  static constexpr size_t granule = 16;
  static constexpr uint8_t pattern = 0xA5;
  Array& host_;
  std::vector<uint8_t> bytes_;
};

class SimulatorDevice : public Device {
 public:
  std::string name() const override { return "sim"; }

  Result<LaunchReport> launch(const Session& session, const SpecializedKernel& kernel, const BoundLaunch& launch,
                              const DeviceOptions& options) override {
    Result<const Compiled*> code = compiled(session, kernel);
    if (!code) return code.error();
    const KernelManifest& manifest = (*code)->manifest;
    if (Status s = check_requires(manifest, launch.scalars); !s) return s.error();

    sim::Memory memory;
    std::vector<DeviceArray> arrays;
    arrays.reserve(launch.args.size());
    std::vector<std::pair<Array*, uint64_t>> mapped;
    // Scalar loads read up to 64 aligned bytes at a time, and launchers allot that.
    std::vector<uint8_t> kernarg((manifest.kernarg_size / 64 + 1) * 64);
    for (size_t i = 0; i < launch.args.size(); ++i) {
      uint64_t value = launch.args[i].scalar;
      if (Array* host = launch.args[i].array) value = address_of(*host, manifest.args[i].name, arrays, mapped, memory);
      std::memcpy(&kernarg[manifest.args[i].offset], &value, manifest.args[i].size);
    }

    sim::LaunchConfig config;
    config.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    config.block = {manifest.waves * wave_size, 1, 1};
    config.kernarg = kernarg;
    sim::Options sim_options;
    sim_options.threads = options.threads;
    if (options.max_instructions) sim_options.instruction_budget = options.max_instructions;
    auto start = std::chrono::steady_clock::now();
    auto stats = sim::launch((*code)->object, manifest.symbol, config, memory, sim_options);
    LaunchReport report;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bool intact = true;
    for (DeviceArray& a : arrays) intact &= a.take_back();
    if (!stats) return stats.error();
    if (!intact) return Error{"the kernel stored behind the last element of an array"};
    report.programs = int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    for (const sim::Finding& f : stats->findings) report.checks.push_back(f.text());
    return report;
  }

 private:
  struct Compiled {
    KernelManifest manifest;
    sim::CodeObject object;
  };

  // An array that is passed twice is one piece of memory.
  static uint64_t address_of(Array& host, const std::string& name, std::vector<DeviceArray>& arrays,
                             std::vector<std::pair<Array*, uint64_t>>& mapped, sim::Memory& memory) {
    for (auto& [have, address] : mapped)
      if (have == &host) return address;
    arrays.emplace_back(host);
    uint64_t address = memory.map(name, arrays.back().data(), arrays.back().size());
    mapped.emplace_back(&host, address);
    return address;
  }

  Result<const Compiled*> compiled(const Session& session, const SpecializedKernel& kernel) {
    if (auto it = cache_.find(&kernel); it != cache_.end()) return &it->second;
    Diagnostics diags;
    std::optional<CompiledKernel> k = compile_kernel(kernel.kernel, session.sources(), {}, diags);
    if (!k) return Error{render(diags, session.sources())};
    auto object = sim::CodeObject::load(k->hsaco);
    if (!object) return object.error();
    return &cache_.emplace(&kernel, Compiled{std::move(k->manifest), std::move(*object)}).first->second;
  }

  // A session keeps its kernels, so their addresses stay theirs.
  std::map<const SpecializedKernel*, Compiled> cache_;
};

}  // namespace

std::unique_ptr<Device> make_simulator_device() { return std::make_unique<SimulatorDevice>(); }

}  // namespace tile
