// bars.json of a run folder, and the error bars of model files.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"

namespace stap {

std::optional<ErrorBars> RunFolder::read_bars() const {
  std::error_code error;
  if (!std::filesystem::exists(bars_file(), error)) return std::nullopt;
  const std::string where = bars_file().string();
  const ErrorBars bars = error_bars_in(read_sealed_json(bars_file(), kBarsFormat), where);
  check_run(bars.run, where);
  return bars;
}

void RunFolder::write_bars(const ErrorBars& bars) const {
  remove_leftovers_of(bars_file());
  write_sealed_json(bars_file(), config::json_text(to_value(bars)));
}

FoundBars find_bars(const std::filesystem::path& given) {
  const std::filesystem::path file = model_of(given);
  const Model model = read_model(file);
  const bool folder = std::filesystem::is_directory(given);
  FoundBars found;
  if (folder)
    found.bars = RunFolder(given).read_bars();
  else if (!model.bars.empty())
    found.bars = error_bars_in(config::parse_json(model.bars, file.string()), file.string());
  if (!found.bars) {
    found.absent = fmt::format(
        "{} has no error bars: {}", given.string(),
        folder ? fmt::format("'stap calibrate {}' makes them", given.string())
               : "'stap calibrate RUN' makes them, in the folder of the run that trained it");
    return found;
  }
  const std::size_t channels = model.spec.grid.channels / model.cluster;
  if (found.bars->weights == digest(model) && found.bars->channels == channels &&
      found.bars->cluster == model.cluster)
    return found;
  found.absent =
      fmt::format("the error bars of {} are of other networks (round {}), trained before these: {}",
                  given.string(), found.bars->round,
                  folder ? fmt::format("'stap calibrate {}' makes them anew", given.string())
                         : "export it again");
  found.bars.reset();
  found.stale = true;
  return found;
}

std::vector<double> bar_floors(const Model& model) {
  constexpr double kShare = 1e-6;
  const std::size_t k = model.cluster, channels = model.spec.grid.channels / k;
  const double n = static_cast<double>(model.members.size() * k);
  std::vector<double> floors(channels, 0.0);
  for (const MemberState& member : model.members)
    for (std::size_t i = 0; i < member.scaling.deviation.size(); ++i) {
      const double deviation = static_cast<double>(member.scaling.deviation[i]);
      floors[i % channels] += deviation * deviation / n;
    }
  for (double& floor : floors)
    floor =
        std::max(kShare * std::sqrt(floor), static_cast<double>(std::numeric_limits<float>::min()));
  return floors;
}

std::vector<std::uint64_t> trained_states(const TransitionSet& set) {
  const std::size_t size = set.grid.values() / set.cluster;
  std::vector<std::uint64_t> hashes;
  std::vector<float> state(size);
  for (const std::vector<double>* values : {&set.inputs, &set.outputs})
    for (std::size_t i = 0; (i + 1) * size <= values->size(); ++i) {
      convert(std::span(*values).subspan(i * size, size), std::span(state));
      hashes.push_back(state_hash(state, set.parameters.row(i / set.cluster)));
    }
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace stap
