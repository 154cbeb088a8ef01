// Error bars and their coverage as JSON.
#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/eval/coverage.h"

namespace stap {
namespace {

using config::Value;

constexpr std::size_t kHashDigits = 16;

Value part_of(const std::vector<double>& values, std::size_t kind, std::size_t steps) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(kind * steps);
  return config::list_of(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(steps)));
}

// [kinds, steps] as {all: [...], channels: [[...], ...], bands: [[...], ...]}; infinite is null.
Value by_kind(const std::vector<double>& values, std::size_t channels, std::size_t steps) {
  Value::List norms, bands;
  for (std::size_t c = 0; c < channels; ++c) {
    norms.push_back(part_of(values, 1 + c, steps));
    bands.push_back(part_of(values, 1 + channels + c, steps));
  }
  Value value;
  value.set("all", part_of(values, 0, steps));
  value.set("channels", Value(std::move(norms)));
  value.set("bands", Value(std::move(bands)));
  return value;
}

class Reader {
 public:
  Reader(const Value& value, const std::string& where) : value_(value), where_(where) {}

  template <class T>
  T get(const char* key) const {
    return field<T>(value_, key, where_);
  }
  std::vector<double> list(const Value* list, std::size_t count) const {
    if (list == nullptr || list->list() == nullptr || list->list()->size() != count) damaged();
    std::vector<double> values;
    for (const Value& one : *list->list()) {
      const double number =
          one.is_null() ? std::numeric_limits<double>::infinity() : one.real().value_or(-1.0);
      if (!(number >= 0)) damaged();
      values.push_back(number);
    }
    return values;
  }
  std::vector<double> list(const char* key, std::size_t count) const {
    return list(value_.find(key), count);
  }
  std::vector<double> kinds(const char* key, std::size_t channels, std::size_t steps) const {
    const Value* map = value_.find(key);
    if (map == nullptr) damaged();
    std::vector<double> values = list(map->find("all"), steps);
    for (const char* part : {"channels", "bands"}) {
      const Value* lists = map->find(part);
      if (lists == nullptr || lists->list() == nullptr || lists->list()->size() != channels)
        damaged();
      for (const Value& one : *lists->list()) {
        const std::vector<double> next = list(&one, steps);
        values.insert(values.end(), next.begin(), next.end());
      }
    }
    return values;
  }
  std::vector<std::uint64_t> hashes(const std::string& text) const {
    std::vector<std::uint64_t> all;
    for (std::size_t at = 0; at < text.size(); at += kHashDigits) {
      std::uint64_t hash = 0;
      const char *begin = text.data() + at,
                 *end = std::min(begin + kHashDigits, text.data() + text.size());
      if (std::from_chars(begin, end, hash, 16).ptr != begin + kHashDigits) damaged();
      all.push_back(hash);
    }
    if (!std::ranges::is_sorted(all)) damaged();
    return all;
  }
  [[noreturn]] void damaged() const {
    throw Error(ErrorKind::data, fmt::format("{}: its error bars do not fit together", where_));
  }

 private:
  const Value& value_;
  const std::string& where_;
};

Value coverage_value(const Coverage& coverage, std::size_t channels, std::size_t steps) {
  Value value;
  value.set("found", by_kind(coverage.found, channels, steps));
  value.set("bar", by_kind(coverage.bar, channels, steps));
  value.set("error", by_kind(coverage.error, channels, steps));
  return value;
}

}  // namespace

Value to_value(const ErrorBars& bars) {
  std::string states;
  for (const std::uint64_t hash : bars.states) states += fmt::format("{:016x}", hash);
  Value value;
  value.set("format", kBarsFormat);
  value.set("run", bars.run);
  value.set("round", bars.round);
  value.set("weights", bars.weights);
  value.set("on", bars.on);
  value.set("level", bars.level);
  value.set("trajectories", bars.trajectories);
  value.set("channels", bars.channels);
  value.set("steps", bars.steps);
  value.set("cluster", bars.cluster);
  value.set("floor", config::list_of(bars.floor));
  value.set("first", by_kind(bars.first, bars.channels, bars.steps));
  value.set("any", by_kind(bars.any, bars.channels, bars.steps));
  if (bars.together > 0) value.set("together", bars.together);  // null: infinite
  value.set("widest", config::list_of(bars.widest));
  value.set("states", std::move(states));
  return value;
}

ErrorBars error_bars_in(const Value& value, const std::string& where) {
  const Reader reader(value, where);
  check_format(reader.get<std::string>("format"), kBarsFormat, where);
  ErrorBars bars{.level = reader.get<double>("level"),
                 .trajectories = reader.get<std::size_t>("trajectories"),
                 .channels = reader.get<std::size_t>("channels"),
                 .steps = reader.get<std::size_t>("steps"),
                 .cluster = reader.get<std::size_t>("cluster")};
  const Value::List& floors = config::list_at(value, "floor");
  if (bars.channels == 0 || bars.steps == 0 || bars.cluster == 0 ||
      bars.steps % bars.cluster != 0 || floors.size() != bars.channels ||
      !(bars.level > 0 && bars.level < 1))
    reader.damaged();
  bars.floor = reader.list("floor", bars.channels);
  bars.first = reader.kinds("first", bars.channels, bars.steps);
  bars.any = reader.kinds("any", bars.channels, bars.steps);
  if (const Value* together = value.find("together"))
    bars.together = together->real().value_or(std::numeric_limits<double>::infinity());
  if (!(bars.together >= 0)) reader.damaged();
  bars.widest = reader.list("widest", bars.steps);
  bars.states = reader.hashes(reader.get<std::string>("states"));
  bars.weights = reader.get<std::string>("weights");
  bars.run = reader.get<std::string>("run");
  bars.on = reader.get<std::string>("on");
  bars.round = reader.get<std::size_t>("round");
  return bars;
}

Value to_value(const JudgedBars& judged) {
  Value value;
  value.set("left_out", judged.left_out);
  if (!judged.absent.empty()) {
    value.set("absent", judged.absent);
    return value;
  }
  value.set("level", judged.level);
  value.set("calibrated_on", judged.calibrated_on);
  value.set("judged_on", judged.judged_on);
  value.set("steps", judged.steps);
  value.set("least", judged.least);
  value.set("most", judged.most);
  value.set("thirds", config::list_of(judged.thirds));
  value.set("first", coverage_value(judged.first, judged.channels, judged.steps));
  value.set("any", coverage_value(judged.any, judged.channels, judged.steps));
  return value;
}

}  // namespace stap
