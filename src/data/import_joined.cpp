#include "data/import_joined.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/import_layout.h"

namespace stap::foreign {

namespace fs = std::filesystem;

namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::abs(b);
}
bool near(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return near(x, y); });
}

std::string about(const ForeignData& data) {
  return fmt::format("{} times of [{}] on {} points, steps of {:g} and lengths [{:g}]", data.times,
                     fmt::join(data.channels, ", "), shape_text(data.points), data.dt,
                     fmt::join(data.lengths, ", "));
}

}  // namespace

Blocks::Blocks(fs::path file, ForeignData::Read read, std::size_t block, std::size_t trajectories,
               std::size_t values)
    : file_(std::move(file)),
      read_(std::move(read)),
      block_(block),
      trajectories_(trajectories),
      values_(values) {}

std::vector<double> Blocks::operator()(std::size_t trajectory) {
  if (trajectory < first_ || trajectory - first_ >= count_) {
    states_ = {};  // before the next ones take room
    first_ = trajectory / block_ * block_;
    count_ = std::min(block_, trajectories_ - first_);
    states_ = read_(first_, count_);
    if (states_.size() / count_ != values_ || states_.size() % count_ != 0)
      fail(file_, fmt::format("has {} values where {} x {} were expected", states_.size(), count_,
                              values_));
  }
  const auto from = states_.begin() + static_cast<std::ptrdiff_t>((trajectory - first_) * values_);
  return {from, from + static_cast<std::ptrdiff_t>(values_)};
}

JoinedFiles::JoinedFiles(std::span<const fs::path> files, const ImportOptions& options, bool times)
    : files_(files.begin(), files.end()) {
  for (const fs::path& file : files) {
    parts_.push_back(open_foreign(file, options, times));
    const ForeignData &one = parts_.back(), &first = parts_.front();
    if (one.points != first.points || one.channels != first.channels || one.times != first.times ||
        !near(one.dt, first.dt) || !near(one.lengths, first.lengths))
      fail(file, fmt::format("has {}, but {} has {}", about(one), files[0].string(), about(first)));
    if (one.parameters.names != first.parameters.names)
      fail(file, fmt::format("has parameters [{}], but {} has [{}]",
                             fmt::join(one.parameters.names, ", "), files[0].string(),
                             fmt::join(first.parameters.names, ", ")));
    std::size_t values = one.times * one.channels.size();
    for (std::size_t n : one.points) values *= n;
    const std::size_t taken = options.trajectories == 0
                                  ? one.trajectories
                                  : std::min(options.trajectories - count(), one.trajectories);
    states_.emplace_back(file, one.read, one.block, taken, values);
    sources_.emplace_back(file, one.sources, one.block, taken, one.times);
    firsts_.push_back(firsts_.back() + taken);
  }
}

std::vector<std::string> JoinedFiles::notes() const {
  std::vector<std::string> all;
  for (const ForeignData& part : parts_)
    all.insert(all.end(), part.notes.begin(), part.notes.end());
  return all;
}

std::vector<double> JoinedFiles::read(std::size_t b) {
  const std::size_t part = part_of(b);
  return states_[part](b - firsts_[part]);
}

std::vector<double> JoinedFiles::sources(std::size_t b) {
  const std::size_t part = part_of(b);
  if (!parts_[part].sources)
    fail(files_[part],
         fmt::format("does not say what made its states, but {} does", files_[0].string()));
  return sources_[part](b - firsts_[part]);
}

std::span<const double> JoinedFiles::parameters(std::size_t b) const {
  const std::size_t part = part_of(b);
  return parts_[part].parameters.row(b - firsts_[part]);
}

std::string JoinedFiles::place(std::size_t b) const {
  const std::size_t part = part_of(b);
  return fmt::format("{}: trajectory {}", files_[part].string(), b - firsts_[part]);
}

std::size_t JoinedFiles::part_of(std::size_t b) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(firsts_, b) - firsts_.begin()) - 1;
}

}  // namespace stap::foreign
