#include "runtime/device_compare.h"

#include <fmt/format.h>

#include <map>

#include "runtime/compare.h"

namespace tile {
namespace {

class ComparingDevice : public Device {
 public:
  ComparingDevice(std::unique_ptr<Device> first, std::unique_ptr<Device> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::string name() const override { return first_->name() + "," + second_->name(); }

  Result<LaunchReport> launch(const Session& session, const SpecializedKernel& kernel, const BoundLaunch& launch,
                              const DeviceOptions& options) override {
    // An array that stands for several parameters is copied once, so that copies alias as the originals do.
    std::map<const Array*, Array> copies;
    BoundLaunch other = launch;
    for (BoundArg& a : other.args)
      if (a.array) a.array = &copies.try_emplace(a.array, *a.array).first->second;
    Result<LaunchReport> report = first_->launch(session, kernel, launch, options);
    if (!report) return report;
    Result<LaunchReport> second = second_->launch(session, kernel, other, options);
    if (!second) return Error{fmt::format("{} ran, but {} failed: {}", first_->name(), second_->name(), second.error().message)};
    for (size_t i = 0; i < launch.args.size(); ++i) {
      if (!launch.args[i].array) continue;
      Tolerances equal;
      equal.bits = true;
      if (auto d = difference(*other.args[i].array, *launch.args[i].array, equal))
        return Error{fmt::format("{} and {} disagree in argument '{}' of {} for {}: {}", second_->name(), first_->name(),
                                 kernel.manifest.args[i].name, kernel.manifest.name, kernel.manifest.target, *d)};
    }
    for (std::string& line : second->checks) report->checks.push_back(std::move(line));
    return report;
  }

 private:
  std::unique_ptr<Device> first_, second_;
};

}  // namespace

std::unique_ptr<Device> make_comparing_device(std::unique_ptr<Device> first, std::unique_ptr<Device> second) {
  return std::make_unique<ComparingDevice>(std::move(first), std::move(second));
}

}  // namespace tile
