#include "results/run_records.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/solver.h"
#include "stap/journal/journal.h"
#include "stap/run/run.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::string_view kFormats[] = {"run/1", "run/2"};

// Lines of a file of JSON lines; none if there is no such file. A line that cannot be read, as a
// kill while it was appended leaves it, is damage or, where `forgiving`, left out.
std::vector<RecordLine> read_lines(const fs::path& path, bool forgiving) {
  std::vector<RecordLine> lines;
  if (!fs::exists(path)) return lines;
  const std::string text = read_text_file(path);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string place = fmt::format("{}:{}", path.string(), ++number);
    try {
      lines.push_back({config::parse_json(text.substr(begin, end - begin), place), place});
    } catch (const Error&) {
      if (!forgiving) throw;
    }
    begin = end + 1;
  }
  return lines;
}

// plan.json is 1, plan-2.json is 2; 0 if the name is another one.
unsigned pass_of(const std::string& name) {
  constexpr std::string_view start = "plan-", end = ".json";
  if (name == "plan.json") return 1;
  if (!name.starts_with(start) || !name.ends_with(end)) return 0;
  unsigned pass = 0;
  const char* last = name.data() + name.size() - end.size();
  const auto [stop, problem] = std::from_chars(name.data() + start.size(), last, pass);
  return problem == std::errc() && stop == last ? pass : 0;
}

// The plans of a round, in the order of their passes.
std::vector<fs::path> plans_of(const fs::path& round_folder) {
  std::map<unsigned, fs::path> passes;
  std::error_code none;  // no folder, no plan
  for (const auto& entry : fs::directory_iterator(round_folder, none))
    if (const unsigned pass = pass_of(entry.path().filename().string()); pass > 0)
      passes[pass] = entry.path();
  if (passes.empty())
    throw Error(ErrorKind::data, fmt::format("there is no plan in {}", round_folder.string()));
  std::vector<fs::path> paths;
  for (auto& [pass, path] : passes) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

Value read_run_config(const fs::path& folder) {
  Value config = read_document(folder / "config.yaml");
  const Value* format = config.find("format");
  const std::string* text = format != nullptr ? format->text() : nullptr;
  if (text == nullptr || std::ranges::find(kFormats, *text) == std::end(kFormats))
    throw Error(ErrorKind::data,
                fmt::format("{} is {}, expected the folder of a run, of format {}", folder.string(),
                            text != nullptr ? fmt::format("of format '{}'", *text) : "of no format",
                            fmt::join(kFormats, " or ")));
  config.erase("format");
  return config;
}

Value read_manifest(const fs::path& folder) {
  return read_document(folder / "manifest.json");
}

std::vector<RecordLine> read_metrics(const fs::path& folder) {
  return read_lines(folder / "metrics.jsonl", false);
}

std::vector<PhaseSeconds> read_times(const fs::path& folder, std::size_t rounds) {
  std::vector<PhaseSeconds> times(rounds);
  for (const RecordLine& line : read_lines(folder / "timings.jsonl", true)) {
    const Value* round = line.value.find("round");
    const Value* phase = line.value.find("phase");
    const Value* seconds = line.value.find("seconds");
    const auto r = round != nullptr ? round->integer<std::uint64_t>() : std::nullopt;
    if (!r || *r >= rounds || phase == nullptr || phase->text() == nullptr || seconds == nullptr ||
        !seconds->real())
      continue;
    times[*r][*phase->text()] += *seconds->real();
  }
  return times;
}

ChosenSteps read_chosen(const fs::path& folder, std::size_t rounds, std::size_t pool,
                        std::size_t steps) {
  ChosenSteps chosen{.steps = steps};
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Purchase>& purchases = chosen.rounds.emplace_back();
    for (const fs::path& path : plans_of(folder / "rounds" / fmt::format("{:02}", round))) {
      Plan plan = read_plan(path, pool, steps);
      std::move(plan.purchases.begin(), plan.purchases.end(), std::back_inserter(purchases));
    }
  }
  return chosen;
}

AnswerTotals read_answers(const fs::path& folder) {
  const fs::path path = folder / "journal.jsonl";
  AnswerTotals totals;
  // Only run/1 has the states themselves in the journal.
  for (const JournalLine& line : read_journal(path, "state")) {
    if (line.type != "answer") continue;
    totals.seconds += field<double>(line.body, "seconds", path);
    if (field<std::string>(line.body, "status", path) == to_string(Answer::Status::ok))
      ++totals.delivered;
  }
  return totals;
}

}  // namespace stap
