#include "run/space.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "run/stages.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Of a line of the journal or the losses, and of a file with nothing in it.
constexpr double kLineBytes = 512, kFileBytes = 16384;

double state_bytes(const Run& run) {
  return 8.0 * static_cast<double>(run.network.grid.values());
}

double network_bytes(const Run& run) {
  const auto values = static_cast<double>(parameter_count(run.network));
  const double arrays = run.study.train.average > 0 ? 4 : 3;  // with Adam's moments
  return arrays * 4.0 * values * static_cast<double>(run.study.options.members);
}

std::uint64_t whole(double bytes) {
  return static_cast<std::uint64_t>(std::min(bytes, 1e18));
}

}  // namespace

std::uint64_t round_bytes(const Run& run, std::size_t steps) {
  const StudyOptions& o = run.study.options;
  const double bought = static_cast<double>(steps),
               rows = bought + static_cast<double>(run.transitions.count());
  const double times = static_cast<double>(o.pattern_steps() + 1);
  const double answers = bought * (state_bytes(run) + kLineBytes);
  const double transitions = rows * (2 * state_bytes(run) + 24);
  // Half trained, the next one aside, and done; of the stage before.
  const double networks = (o.stages > 1 ? 4 : 3) * network_bytes(run);
  const auto rows_trained = static_cast<std::size_t>(rows * (1.0 - o.validation));
  const double extracts = 2 * 6 * times * state_bytes(run);
  // Most rounds have far fewer stages than they may have.
  const int epochs = epochs_of_stages(run.study.train, std::max<std::size_t>(rows_trained, 1),
                                      std::min<std::size_t>(o.stages, 4));
  const double losses = static_cast<double>(o.members) * epochs * kLineBytes / 4;
  return whole(answers + transitions + networks + extracts + losses + kFileBytes);
}

void check_space(const std::vector<std::pair<const Run*, std::size_t>>& purchases) {
  struct Disk {
    fs::path folder;  // one that is on it
    std::uint64_t needed = 0;
    std::size_t runs = 0;
  };
  std::map<dev_t, Disk> disks;
  for (const auto& [run, steps] : purchases) {
    struct stat status {};
    if (stat(run->folder.path().c_str(), &status) != 0) continue;  // who writes says so
    Disk& disk = disks[status.st_dev];
    disk.folder = run->folder.path();
    const std::uint64_t bytes = round_bytes(*run, steps);
    disk.needed += bytes + bytes / 2;
    ++disk.runs;
  }
  for (const auto& [device, disk] : disks) {
    std::error_code error;
    const fs::space_info space = fs::space(disk.folder, error);
    if (!error && space.available < disk.needed)
      throw Error(
          ErrorKind::storage,
          fmt::format("{}: what is to be bought{} and the training after it need about {}, "
                      "a third of it to be safe; {} are free beside the reserve for answers "
                      "on their way: make room, and the same command continues",
                      disk.folder.string(),
                      disk.runs > 1 ? fmt::format(" for {} runs", disk.runs) : "",
                      size_text(disk.needed), size_text(space.available)));
  }
}

}  // namespace stap
