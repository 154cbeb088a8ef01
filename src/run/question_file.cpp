#include "stap/run/question_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/array_file.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char *kQuestionsFormat = "queries/1", *kVariedQuestionsFormat = "queries/2";
constexpr double kIdEnd = 9007199254740992.0;  // 2^53

const char* format_for(const Outline& outline) {
  return varied_names(outline).empty() ? kQuestionsFormat : kVariedQuestionsFormat;
}

bool is_file_name(const fs::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

std::vector<std::size_t> shape_of(const Grid& grid) {
  std::vector<std::size_t> shape{grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  return shape;
}

void write_file(const fs::path& path, std::span<const Question> questions, const Outline& outline,
                const std::vector<std::string>& runs) {
  std::map<std::string, std::vector<std::int64_t>> numbers;
  std::vector<double> times, states, varied;
  for (const Question& q : questions) {
    for (const auto& [name, value] : {std::pair("id", static_cast<std::size_t>(q.id)),
                                      {"run", q.run},
                                      {"acquisition", q.acquisition},
                                      {"candidate", q.candidate},
                                      {"step", q.step},
                                      {"steps", q.query.steps}})
      numbers[name].push_back(static_cast<std::int64_t>(value));
    times.push_back(q.query.time);
    states.insert(states.end(), q.query.state.begin(), q.query.state.end());
    varied.insert(varied.end(), q.query.params.begin(), q.query.params.end());
  }
  std::vector<std::string> parameters;
  ArrayWriter writer(path);
  writer.describe({outline.name, outline.grid, outline.dt});
  writer.add_text_attribute("format", format_for(outline));
  writer.add_text_attribute("channel_names", fmt::format("{}", fmt::join(outline.channels, ",")));
  for (const Parameter& parameter : outline.parameters) {
    if (parameter.varies) continue;
    writer.add_attribute("parameter." + parameter.name, parameter.value);
    parameters.push_back(fmt::format("{}={}", parameter.name, parameter.value));
  }
  writer.add_text_attribute("parameters", fmt::format("{}", fmt::join(parameters, ",")));
  writer.add_text_attribute("runs", fmt::format("{}", fmt::join(runs, "\n")));
  const std::size_t n = questions.size();
  for (const auto& [name, values] : numbers) writer.add_integers(name, {n}, values);
  writer.add("time", {n}, times);
  if (const auto names = varied_names(outline); !names.empty()) {
    writer.add_text_attribute("parameter_names", fmt::format("{}", fmt::join(names, ",")));
    writer.add("parameters", {n, names.size()}, varied);
  }
  std::vector<std::size_t> shape = shape_of(outline.grid);
  shape.insert(shape.begin(), n);
  writer.add("state", shape, states);
  writer.commit();
}

void write_folder(const fs::path& path, std::span<const Question> questions, const Outline& outline,
                  const std::vector<std::string>& runs) {
  for (const Question& q : questions) {
    const fs::path folder = path / std::to_string(q.id);
    make_folder(folder);
    write_npy(folder / "input.npy", shape_of(outline.grid), q.query.state);
    Value about;
    about.set("format", format_for(outline));
    about.set("id", static_cast<std::size_t>(q.id));
    about.set("run", runs.at(q.run));
    about.set("acquisition", q.acquisition);
    about.set("candidate", q.candidate);
    about.set("step", q.step);
    about.set("steps", q.query.steps);
    about.set("time", q.query.time);
    about.set("dt", outline.dt);
    Value parameters;
    for (const Parameter& parameter : parameters_of(outline, q.query))
      parameters.set(parameter.name, parameter.value);
    about.set("parameters", std::move(parameters));
    write_text(folder / "query.json", config::json_text(about) + "\n");
  }
}

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", path.string(), what));
}

// A list of n numbers of a file.
std::vector<double> read_list(const fs::path& path, const char* name, std::size_t n) {
  Array<double> list = read_array(path, name);
  if (list.shape != std::vector{n})
    fail(path, fmt::format("'{}' is {}, expected one value for each of the {} rows", name,
                           shape_text(list.shape), n));
  return std::move(list.values);
}

std::vector<ToldAnswer> read_file(const fs::path& path) {
  const std::vector<std::string> there = list_datasets(path);
  const auto has = [&](const char* name) { return std::ranges::count(there, name) > 0; };
  if (!has("id")) fail(path, "there is no dataset 'id', which says what is answered");
  const Array<double> ids = read_array(path, "id");
  if (ids.shape.size() != 1)
    fail(path, fmt::format("'id' is {}, expected a list", shape_text(ids.shape)));
  const std::size_t n = ids.shape[0];
  const std::vector<double> failed =
      has("failed") ? read_list(path, "failed", n) : std::vector<double>(n, 0.0);
  Array<std::string> reasons;
  if (has("reason")) reasons = read_text(path, "reason");
  if (has("reason") && reasons.shape != std::vector{n})
    fail(path, fmt::format("'reason' is {}, expected one text for each of the {} rows",
                           shape_text(reasons.shape), n));
  Array<double> states;
  const bool all_failed = std::ranges::all_of(failed, [](double f) { return f != 0; });
  if (has("states"))
    states = read_array(path, "states");
  else if (!all_failed)
    fail(path, "there is no dataset 'states'");
  if (has("states") && (states.shape.empty() || states.shape[0] != n))
    fail(path, fmt::format("'states' is {}, but 'id' has {} rows", shape_text(states.shape), n));
  const std::size_t row = n == 0 ? 0 : states.values.size() / n;
  std::vector<ToldAnswer> told(n);
  for (std::size_t i = 0; i < n; ++i) {
    told[i].where = fmt::format("{}, row {}", path.string(), i);
    if (!(ids.values[i] >= 0 && ids.values[i] < kIdEnd &&
          std::floor(ids.values[i]) == ids.values[i]))
      fail(path, fmt::format("id {} of row {} is none", ids.values[i], i));
    told[i].id = static_cast<std::uint64_t>(ids.values[i]);
    told[i].failed = failed[i] != 0;
    if (has("reason")) told[i].reason = reasons.values[i];
    if (told[i].failed) continue;
    told[i].shape.assign(states.shape.begin() + 1, states.shape.end());
    const auto from = states.values.begin() + static_cast<std::ptrdiff_t>(i * row);
    told[i].states.assign(from, from + static_cast<std::ptrdiff_t>(row));
  }
  return told;
}

std::vector<ToldAnswer> read_folder(const fs::path& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    folders.push_back(entry->path());
  if (error) fail(path, error.message());
  std::ranges::sort(folders);
  std::vector<ToldAnswer> told;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    ToldAnswer one{.where = folder.string()};
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), one.id);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    std::error_code ignored;
    const bool failed = fs::exists(folder / "failed.txt", ignored);
    const bool answered = fs::exists(folder / "output.npy", ignored);
    if (failed && answered)
      fail(folder, "there are failed.txt and output.npy, which cannot both be: remove one of them");
    if (failed) {
      one.failed = true;
      one.reason = read_text_file(folder / "failed.txt");
      while (!one.reason.empty() && std::isspace(static_cast<unsigned char>(one.reason.back())))
        one.reason.pop_back();
    } else if (answered) {
      Array<double> states = read_npy(folder / "output.npy");
      one.shape = std::move(states.shape);
      one.states = std::move(states.values);
    } else {
      continue;
    }
    told.push_back(std::move(one));
  }
  return told;
}

}  // namespace

void write_questions(const fs::path& path, std::span<const Question> questions,
                     const Outline& outline, const std::vector<std::string>& runs) {
  if (is_file_name(path))
    write_file(path, questions, outline, runs);
  else
    write_folder(path, questions, outline, runs);
}

std::vector<ToldAnswer> read_told(const fs::path& path) {
  std::error_code error;
  std::vector<ToldAnswer> told =
      fs::is_directory(path, error) ? read_folder(path) : read_file(path);
  if (told.empty()) fail(path, "there is no answer in it");
  return told;
}

}  // namespace stap
