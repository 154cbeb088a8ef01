#include "stap/core/committee.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::internal, message);
}

void check_rows(const Grid& grid, std::size_t count, std::size_t first, std::size_t n,
                std::size_t row_size) {
  if (row_size != grid.values())
    throw Error(ErrorKind::data, fmt::format("states of {} values, expected {} ({})", row_size,
                                             grid.values(), grid.shape_text()));
  if (first > count || n > count - first)
    refuse(fmt::format("rows {} .. {} of a block of {}", first, first + n, count));
}

void check_indices(std::size_t count, std::span<const std::size_t> indices) {
  for (const std::size_t index : indices)
    if (index >= count) refuse(fmt::format("row {} of a block of {}", index, count));
}

void check_length(std::size_t a, std::size_t b) {
  if (a != b) refuse(fmt::format("spans of {} and {}", a, b));
}

}  // namespace

std::unique_ptr<Committee> Committee::another() {
  std::unique_ptr<Committee> other = do_another();
  if (!other) return nullptr;
  other->stop_when(stop_asked_);
  other->weigh_channels(channel_factors_);
  return other;
}

void Committee::weigh_channels(std::vector<double> factors) {
  if (!factors.empty()) check_length(factors.size(), grid().channels);
  channel_factors_ = std::move(factors);
  do_weigh_channels();
}

RowsId Committee::rows(std::size_t n) {
  auto free = std::find(blocks_.begin(), blocks_.end(), std::nullopt);
  if (free == blocks_.end()) free = blocks_.emplace(blocks_.end());
  const RowsId id{static_cast<std::uint32_t>(free - blocks_.begin())};
  do_rows(id, n);
  *free =
      Block{n, std::vector<std::uint32_t>(n), std::vector<double>(n * told_.parameters.size()), {}};
  return id;
}

void Committee::release(RowsId id) {
  count(id);
  do_release(id);
  blocks_[static_cast<std::size_t>(id)].reset();
}

std::size_t Committee::blocks_in_use() const {
  return blocks_.size() -
         static_cast<std::size_t>(std::count(blocks_.begin(), blocks_.end(), std::nullopt));
}

void Committee::put(RowsId id, std::size_t first, StatesView<const float> states,
                    ConditionsView conditions) {
  check_rows(grid(), count(id), first, states.count, states.row_size);
  if (!conditions.steps.empty()) check_length(states.count, conditions.steps.size());
  check_length(states.count * told_.parameters.size(), conditions.parameters.size());
  if (states.count == 0) return;
  do_put(id, first, states);
  for (std::size_t r = 0; r < states.count; ++r) block(id).steps[first + r] = conditions.step(r);
  std::ranges::copy(
      conditions.parameters,
      block(id).parameters.begin() + static_cast<std::ptrdiff_t>(first * told_.parameters.size()));
}

void Committee::get(RowsId id, std::size_t first, StatesView<float> states) const {
  check_rows(grid(), count(id), first, states.count, states.row_size);
  if (states.count > 0) do_get(id, first, states);
}

void Committee::advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                        RowsId to, std::span<const std::size_t> j) {
  check_advance(from, i, member, to, j);
  if (stop_asked()) throw Stopped();
  if (i.empty()) return;
  take_conditions(from, i);
  do_advance(from, i, member, tell_conditions(), to, j);
  put_conditions(to, j);
}

void Committee::sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                       std::size_t step, RowsId to, std::span<const std::size_t> j,
                       std::span<double> features) {
  check_advance(from, i, member, to, j);
  check_length(i.size() * kSketchSize, features.size());
  if (std::find(member.begin(), member.end(), kMean) != member.end())
    refuse("the mean model has no hidden activations to sketch");
  if (stop_asked()) throw Stopped();
  if (i.empty()) return;
  take_conditions(from, i);
  do_sketch(from, i, member, tell_conditions(), step, to, j, features);
  put_conditions(to, j);
}

// All are read before any is written: rows may be advanced in their own places.
void Committee::take_conditions(RowsId from, std::span<const std::size_t> i) {
  conditions_.steps.clear();
  conditions_.parameters.clear();
  const Block& rows = block(from);
  const std::size_t each = told_.parameters.size();
  for (const std::size_t row : i)
    conditions_.add(rows.steps[row], std::span(rows.parameters).subspan(row * each, each));
}

std::span<const double> Committee::tell_conditions() {
  const std::size_t each = told_.channels();
  told_rows_.resize(conditions_.steps.size() * each);
  const ConditionsView rows = conditions_.view();
  for (std::size_t r = 0; each > 0 && r < rows.steps.size(); ++r)
    told_.tell(rows.steps[r], rows.parameters_of(r), told_rows_.data() + r * each);
  return told_rows_;
}

// One step later than they were taken.
void Committee::put_conditions(RowsId to, std::span<const std::size_t> j) {
  Block& rows = block(to);
  const ConditionsView taken = conditions_.view();
  for (std::size_t r = 0; r < j.size(); ++r) {
    rows.steps[j[r]] = taken.steps[r] + 1;
    std::ranges::copy(taken.parameters_of(r),
                      rows.parameters.begin() + static_cast<std::ptrdiff_t>(j[r] * taken.count));
  }
}

void Committee::distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                          std::span<const std::size_t> j, std::span<double> out) const {
  check_indices(count(x), i);
  check_indices(count(y), j);
  check_length(i.size(), j.size());
  check_length(i.size(), out.size());
  if (!i.empty()) do_distance2(x, i, y, j, out);
}

void Committee::spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const {
  check_indices(count(x), i);
  check_length(i.size(), out.size() * static_cast<std::size_t>(members()));
  if (!i.empty()) do_spread(x, i, out);
}

std::size_t Committee::count(RowsId id) const {
  const auto index = static_cast<std::size_t>(id);
  if (index >= blocks_.size() || !blocks_[index])
    refuse(fmt::format("there is no block of rows {}", index));
  return blocks_[index]->count;
}

void Committee::check_advance(RowsId from, std::span<const std::size_t> i,
                              std::span<const int> member, RowsId to,
                              std::span<const std::size_t> j) {
  check_indices(count(from), i);
  check_indices(count(to), j);
  check_length(i.size(), j.size());
  check_length(i.size(), member.size());
  const int all = members();
  for (const int m : member)
    if (m != kMean && (m < 0 || m >= all))
      refuse(fmt::format("member {} of a committee of {}", m, all));

  Block& written_to = block(to);
  std::vector<std::uint64_t>& written = written_to.written;
  written.resize(written_to.count);  // when it is first written to
  ++calls_;
  for (const std::size_t row : j) {
    if (written[row] == calls_) refuse(fmt::format("row {} is written twice", row));
    written[row] = calls_;
  }
  if (from != to) return;
  for (std::size_t r = 0; r < i.size(); ++r)
    if (i[r] != j[r] && written[i[r]] == calls_)
      refuse(fmt::format("row {} is read for one row and written by another", i[r]));
}

}  // namespace stap
