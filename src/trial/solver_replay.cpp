#include "stap/trial/solver_replay.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/private_folder.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/core/stop.h"
#include "stap/couple/solver_table.h"
#include "stap/data/npy.h"
#include "stap/pde/pde.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char *kBundleFormat = "bundle/1", *kVariedBundleFormat = "bundle/2";
constexpr std::array kKeys{"format", "reason", "attempt",  "time",      "steps",
                           "pde",    "solver", "left_out", "parameters"};
constexpr std::streamoff kLogTail = 4096;  // bytes
constexpr int kLogLines = 20;

[[noreturn]] void damaged(const fs::path& file, const std::string& text) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", file.string(), text));
}

Outline outline_in(const Value& pde) {
  const auto choice = pde_table().choose(pde);
  if (!choice.row->outline)
    throw Error(ErrorKind::config, fmt::format("pde is {}, which is built in: no program was asked",
                                               choice.row->name));
  return choice.row->outline(choice.options);
}

const Value& section(const Value& about, const char* key, const fs::path& file) {
  const Value* value = about.find(key);
  if (value == nullptr || !value->is_map()) damaged(file, fmt::format("'{}' is no map", key));
  return *value;
}

// The last lines, with what no terminal should get replaced.
std::string log_tail(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  std::ifstream log(file, std::ios::binary | std::ios::ate);
  if (!log) return {};
  const std::streamoff size = log.tellg();
  std::string text(static_cast<std::size_t>(std::min(size, kLogTail)), '\0');
  log.seekg(size - static_cast<std::streamoff>(text.size()));
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  int lines = 0;
  std::size_t from = text.size();
  while (from > 0 && !(text[from - 1] == '\n' && ++lines == kLogLines)) --from;
  text.erase(0, from);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 127) c = '?';
  }
  return text;
}

// A folder for the programs' files, which goes in the end unless it is to be kept.
class Place {
 public:
  explicit Place(const fs::path& keep) : path_(keep) {
    if (kept())
      make_folder(path_);
    else
      passing_.emplace(fs::path(), "stap-replay");
  }
  const fs::path& path() const { return passing_ ? passing_->path() : path_; }
  bool kept() const { return !path_.empty(); }

 private:
  fs::path path_;
  std::optional<PrivateFolder> passing_;
};

std::vector<fs::path> folders_in(const fs::path& path) {
  std::vector<fs::path> list;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    list.push_back(at->path());
  return list;
}

}  // namespace

Bundle read_bundle(const fs::path& folder) {
  const fs::path file = folder / "bundle.json", input = folder / "input.npy";
  const Value about = read_json(file);
  if (!about.is_map()) damaged(file, "expected a map");
  const Value::List& parameters = config::list_at(about, "parameters");
  const char* expected = parameters.empty() ? kBundleFormat : kVariedBundleFormat;
  if (const std::string format = field<std::string>(about, "format", file); format != expected)
    damaged(file, fmt::format("the format is '{}', expected '{}'", format, expected));
  for (const Value::Member& member : *about.map())
    if (std::ranges::find(kKeys, member.key) == kKeys.end())
      damaged(file, fmt::format("there is a key '{}', which no bundle has", member.key));
  Bundle bundle;
  bundle.folder = folder;
  bundle.reason = field<std::string>(about, "reason", file);
  bundle.attempt = field<int>(about, "attempt", file);
  bundle.query.time = field<double>(about, "time", file);
  bundle.query.steps = field<std::uint64_t>(about, "steps", file);
  if (!std::isfinite(bundle.query.time)) damaged(file, "'time' is not finite");
  if (bundle.query.steps == 0) damaged(file, "'steps' is 0");
  for (const Value& value : parameters) {
    if (!value.real()) damaged(file, "'parameters' are no numbers");
    bundle.query.params.push_back(*value.real());
  }
  for (const char* key : {"pde", "solver"}) bundle.document.set(key, section(about, key, file));
  Outline outline;
  try {
    outline = outline_in(*bundle.document.find("pde"));
  } catch (const Error& error) {
    damaged(file, error.what());
  }
  const Grid& grid = outline.grid;
  if (const std::size_t varied = varied_names(outline).size(); bundle.query.params.size() != varied)
    damaged(file, fmt::format("there are {} parameters, but {} vary", bundle.query.params.size(),
                              varied));
  Array<double> state = read_npy(input, grid.values());
  std::vector<std::size_t> shape{grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  if (state.shape != shape)
    damaged(input, fmt::format("the shape is {}, but that of the problem {}",
                               shape_text(state.shape), shape_text(shape)));
  bundle.query.state = std::move(state.values);
  return bundle;
}

Replay replay(const Bundle& bundle, const Value& document, const fs::path& keep,
              const StopAsked& stop) {
  const Value *pde = document.find("pde"), *how = document.find("solver");
  if (pde == nullptr || how == nullptr)
    throw Error(ErrorKind::config, "a replay needs the sections pde and solver");
  const Outline outline = outline_in(*pde);
  Value once = *how;
  once.set("slots", 1);
  once.set("on_failure", "skip");
  const auto choice = solver_table().choose(once);
  const Place place(keep);
  CoupleContext context{.failures = place.path() / "failed", .kept = place.path() / "good"};
  context.recipe.set("pde", *pde);
  context.recipe.set("solver", *how);
  const auto solver = choice.row->make(choice.options, outline, context);
  Replay result;
  {
    const auto begun = SolverQueue::Clock::now();
    const auto queue = solver->open();
    queue->submit(bundle.query);
    while (queue->open() > 0) {
      if (stop && stop()) throw Stopped();
      if (auto reply = queue->next(SolverQueue::Clock::now() + kPatience))
        result.answer = std::move(reply->answer);
    }
    result.seconds = std::chrono::duration<double>(SolverQueue::Clock::now() - begun).count();
  }
  // What is said to be kept is gone with the place, or told apart from the reason.
  if (const std::size_t at = result.answer.reason.find(" (kept in " + place.path().string());
      at != std::string::npos)
    result.answer.reason.resize(at);
  // A call that went well may still have given a wrong answer, so its files can be in either.
  for (const fs::path& above : {context.kept, context.failures})
    for (const fs::path& folder : folders_in(above)) {
      if (place.kept()) result.folder = folder;
      result.log = log_tail(folder / "log.txt");
    }
  return result;
}

}  // namespace stap
