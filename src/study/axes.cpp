#include "stap/study/axes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/nn/options.h"
#include "stap/study/presets.h"

namespace stap {
namespace {

constexpr std::size_t kMost = 100'000;  // values of an axis, runs of a sweep: more is a slip

// A value of `sweep` as --grid would write it.
std::string axis_text(const config::Value& value) {
  return value.text() != nullptr ? *value.text() : config::json_text(value, 0);
}

constexpr std::size_t kLongestName = 255;  // bytes, which file systems take
constexpr std::size_t kReadable = 40;      // characters of a value that is not plain
constexpr std::size_t kReadableName = 180;

// "-" and eight digits that tell it from others which look like it.
std::string mark_of(const std::string& text) {
  return "-" + sha256_hex(std::as_bytes(std::span(text))).substr(0, 8);
}

bool is_plain(char c) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-=,:()[]@%~^";
  return kPlain.find(c) != std::string_view::npos;
}

// "key=value" as a part of the name of a folder. Blanks, quotes and whatever else a shell or a file
// system may take amiss give way to "_", and a mark of the whole; what has none of it stays.
std::string folder_part(const std::string& written) {
  std::string unslashed = written;
  std::ranges::replace(unslashed, '/', '_');
  if (std::ranges::all_of(unslashed, is_plain)) return unslashed;
  std::string part;
  for (const char c : unslashed)
    if (is_plain(c))
      part += c;
    else if (!part.ends_with('_'))
      part += '_';
  const std::size_t value = part.find('=') + 1;
  return part.substr(0, value + kReadable) + mark_of(written);
}

// What `values` names twice; empty if nothing.
std::string repeated(std::vector<std::string> values) {
  std::ranges::sort(values);
  const auto twice = std::ranges::adjacent_find(values);
  return twice == values.end() ? "" : *twice;
}

// The integers of "0..4", as texts; the text itself if it is none such.
std::vector<std::string> in_range(const std::string& text, const std::string& where) {
  const std::size_t dots = text.find("..");
  std::int64_t first = 0, last = 0;
  const auto read = [&](std::size_t begin, std::size_t end, std::int64_t& number) {
    const auto [stopped, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    return error == std::errc() && stopped == text.data() + end;
  };
  if (dots == std::string::npos || !read(0, dots, first) || !read(dots + 2, text.size(), last))
    return {text};
  if (last < first)
    throw Error(ErrorKind::config, fmt::format("{}: {} has its larger end first, expected {}..{}",
                                               where, text, last, first));
  if (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) >= kMost)
    throw Error(ErrorKind::config,
                fmt::format("{}: {} has more than {} values", where, text, kMost));
  std::vector<std::string> values;
  for (std::int64_t value = first; value < last; ++value) values.push_back(std::to_string(value));
  values.push_back(std::to_string(last));
  return values;
}

// Writes ranges out, and looks at the values.
void finish_axis(GridAxis& axis, const std::string& where) {
  std::vector<std::string> values;
  for (const std::string& value : axis.values) {
    const std::vector<std::string> some = in_range(value, where);
    values.insert(values.end(), some.begin(), some.end());
    if (values.size() > kMost)
      throw Error(ErrorKind::config, fmt::format("{} has more than {} values", where, kMost));
  }
  axis.values = std::move(values);
  for (const std::string& value : axis.values)
    if (value.empty()) throw Error(ErrorKind::config, fmt::format("{} has an empty value", where));
  if (const std::string twice = repeated(axis.values); !twice.empty())
    throw Error(ErrorKind::config, fmt::format("{} has the value {} twice", where, twice));
}

std::vector<GridAxis> axes_of(const config::Value& sweep) {
  if (!sweep.is_map())
    throw Error(ErrorKind::config,
                fmt::format("{}: sweep is not a map, expected keys and their values, as in sweep: "
                            "{{method: [random, sbal], seed: [0, 1]}}",
                            sweep.origin().text()));
  std::vector<GridAxis> axes;
  for (const config::Value::Member& member : *sweep.map()) {
    GridAxis axis{member.key, {}, member.origin.text()};
    if (member.value.is_list())
      for (const config::Value& value : *member.value.list())
        axis.values.push_back(value.is_null() ? "" : axis_text(value));
    else
      axis.values.push_back(member.value.is_null() ? "" : axis_text(member.value));
    const std::string where = fmt::format("{}: sweep.{}", member.origin.text(), member.key);
    if (axis.values.empty()) throw Error(ErrorKind::config, fmt::format("{} has no value", where));
    finish_axis(axis, where);
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Stops counting at the first number that is absurd.
std::size_t count_runs(const std::vector<GridAxis>& axes) {
  std::size_t runs = 1;
  for (const GridAxis& axis : axes)
    if (runs <= kMost) runs *= axis.values.size();
  return runs;
}

// The document of one value of an axis.
void apply_axis(config::Value& document, const GridAxis& axis, const std::string& value) {
  if (axis.key == "extends") {
    config::Value below = only_run(load_config(value), {}, value);
    overlay(below, document);
    document = std::move(below);
    return;
  }
  const std::string setting = axis.key + "=" + value;
  apply_setting(document, setting,
                axis.origin.empty() ? setting : fmt::format("{}, {}", axis.origin, setting));
}

// An axis of families leaves out the options of another family: of what is given beside it nothing
// may be lost.
void check_family_axis(const GridAxis& axis, const std::vector<GridAxis>& axes,
                       const std::vector<std::string>& settings) {
  if (axis.key != "network.name") return;
  const auto is_option = [](const std::string& written) {
    const std::string key = written.substr(0, written.find('='));
    return key.starts_with("network.") && key != "network.name" &&
           std::ranges::count(network_fields().fields(), key.substr(key.find('.') + 1),
                              &config::FieldInfo::name) == 0;
  };
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::config,
                fmt::format("'{}' would be lost, since network.name is an axis: give it as an axis "
                            "after that one, or whole sections, as in --grid "
                            "'network={{name: fno, width: 32}},{{name: dilated, width: 32}}'",
                            what));
  };
  for (const std::string& setting : settings)
    if (is_option(setting)) refuse(setting);
  for (const GridAxis* before = axes.data(); before != &axis; ++before)
    if (is_option(before->key)) refuse(before->key);
}

}  // namespace

GridAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(ErrorKind::config,
                fmt::format("--grid '{}', expected key=value,value,... as in seed=0,1,2", text));
  GridAxis axis{text.substr(0, equals), {""}};
  int depth = 0;
  for (char c : text.substr(equals + 1)) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      axis.values.emplace_back();
    } else {
      axis.values.back() += c;
    }
  }
  finish_axis(axis, fmt::format("--grid '{}'", text));
  return axis;
}

std::vector<GridAxis> take_axes(config::Value& document, const std::vector<std::string>& settings,
                                const std::vector<std::string>& grid) {
  std::vector<GridAxis> axes;
  if (const config::Value* sweep = document.find("sweep")) axes = axes_of(*sweep);
  document.erase("sweep");
  std::vector<std::string> keys;
  for (const GridAxis& axis : axes) keys.push_back(full_key(axis.key));
  if (const std::string twice = repeated(keys); !twice.empty())
    throw Error(ErrorKind::config, fmt::format("sweep names {} twice", twice));
  for (const std::string& setting : settings) {
    const std::string key = full_key(setting.substr(0, setting.find('=')));
    if (key == "extends") continue;  // is in the axis already
    std::erase_if(axes, [&](const GridAxis& axis) { return full_key(axis.key) == key; });
  }
  std::vector<std::string> given;
  for (const std::string& text : grid) {
    GridAxis axis = parse_axis(text);
    given.push_back(full_key(axis.key));
    const auto old =
        std::ranges::find(axes, given.back(), [](const GridAxis& a) { return full_key(a.key); });
    if (old != axes.end())
      *old = std::move(axis);
    else
      axes.push_back(std::move(axis));
  }
  if (const std::string twice = repeated(given); !twice.empty())
    throw Error(ErrorKind::config,
                fmt::format("--grid is given twice for {}: give all its values at once", twice));
  for (const GridAxis& axis : axes) {
    // What a later axis would throw away must not look as if it counted.
    const config::Value* pde = document.find("pde");
    if (axis.key == "extends" && pde != nullptr && pde->find("name") != nullptr)
      throw Error(ErrorKind::config,
                  "extends is an axis, but the configuration has an equation of its own, which "
                  "would hide theirs: give an overlay, or no configuration");
    check_family_axis(axis, axes, settings);
    for (const std::string& setting : settings)
      if (axis.key == "method" && (setting.starts_with("base.") || setting.starts_with("steps.")))
        throw Error(ErrorKind::config,
                    fmt::format("'{}' would be lost, since method is an axis: write it into the "
                                "methods, as in --grid 'method=sbal+stap(proposals=10)'",
                                setting));
  }
  return axes;
}

std::vector<SweepRun> expand_grid(const config::Value& base, const std::vector<GridAxis>& axes) {
  if (count_runs(axes) > kMost)
    throw Error(ErrorKind::config,
                fmt::format("the axes make more than {} runs: leave values out", kMost));
  std::vector<SweepRun> runs{{.name = "", .document = base}};
  for (const GridAxis& axis : axes) {
    std::vector<SweepRun> more;
    for (const SweepRun& run : runs)
      for (const std::string& value : axis.values) {
        SweepRun next = run;
        apply_axis(next.document, axis, value);
        const std::string written = fmt::format("{}={}", axis.key, value);
        const std::string_view comma = next.name.empty() ? "" : ",";
        next.name += fmt::format("{}{}", comma, folder_part(written));
        next.written += fmt::format("{}{}", comma, written);
        next.settings.push_back(written);
        more.push_back(std::move(next));
      }
    runs = std::move(more);
  }
  std::vector<std::string> names;
  for (SweepRun& run : runs) {
    if (run.name.size() > kLongestName)
      run.name = run.name.substr(0, kReadableName) + mark_of(run.written);
    std::ranges::replace(run.written, '/', '_');
    names.push_back(run.name);
  }
  if (const std::string twice = repeated(std::move(names)); !twice.empty())
    throw Error(ErrorKind::config, fmt::format("two runs would share the folder {}", twice));
  return runs;
}

config::Value only_run(config::Value document, const std::vector<std::string>& settings,
                       const std::string& name) {
  const std::vector<GridAxis> axes = take_axes(document, settings, {});
  std::vector<std::string> open, settled;
  for (const GridAxis& axis : axes) {
    if (axis.values.size() == 1) continue;
    open.push_back(fmt::format("{} ({} values)", axis.key, axis.values.size()));
    settled.push_back(fmt::format("{}={}", axis.key, axis.values[0]));
  }
  if (!open.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} is a sweep of {} runs, expected one: settle {}, as in {}, or use "
                            "'stap sweep {}'",
                            name, count_runs(axes), fmt::join(open, " and "),
                            fmt::join(settled, " "), name));
  return std::move(expand_grid(document, axes)[0].document);
}

}  // namespace stap
