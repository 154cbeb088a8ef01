#include "stap/study/starter.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "stap/config/complaints.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "study/starter_sources.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPointsLeast = 32, kPointsMost = 1 << 20;  // the network has 16 modes

// What differs between languages, beside the sources themselves.
struct Language {
  const char* name;
  const char* solver;  // the file to put one's own into
  const char* build;   // the first command of the README
  const char *command_argv, *worker_argv;
  std::vector<const char*> worker_files;  // of interfaces/, that a worker needs
};
const std::vector<Language>& languages() {
  static const std::vector<Language> list{
      {"python",
       "solver.py",
       "python3 -c 'import numpy'             # nothing to build, but NumPy must be there",
       R"([python3, "{here}/solver.py", "{input}", "{output}", "{dt}", "2", "{diffusion}"])",
       R"([python3, "{here}/solver.py"])",
       {"python/stap_solver.py"}},
      {"c",
       "solver.c",
       "make",
       R"([./solver, "{input}", "{output}", "{dt}", "2", "{diffusion}"])",
       "[./solver]",
       {"c/stap_solver.h"}},
      {"fortran",
       "solver.f90",
       "make",
       R"([./solver, "{input}", "{output}", "{dt}", "2", "{diffusion}"])",
       "[./solver]",
       {"c/stap_solver.h", "fortran/stap_solver.f90", "fortran/stap_solver_f.c"}},
  };
  return list;
}

std::string source(const std::string& path) {
  const auto all = starter_sources();
  const auto found = std::ranges::find(all, path, &StarterSource::path);
  if (found == all.end())
    throw Error(ErrorKind::internal, fmt::format("this build has no file {}", path));
  return std::string(found->text);
}

std::string filled(std::string text, const std::string& mark, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
    text.replace(at, mark.size(), value);
  return text;
}

void check_known(const std::string& word, const std::vector<std::string>& known, const char* what) {
  if (std::ranges::count(known, word) == 0)
    throw Error(ErrorKind::config,
                fmt::format("there is no {} '{}'{}", what, word, config::hint(word, known, what)));
}

}  // namespace

const std::vector<std::string>& starter_kinds() {
  static const std::vector<std::string> kinds{"command", "worker"};
  return kinds;
}

const std::vector<std::string>& starter_languages() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Language& language : languages()) list.emplace_back(language.name);
    return list;
  }();
  return names;
}

std::vector<StarterFile> starter_files(const StarterOptions& options) {
  check_known(options.from, starter_kinds(), "kind of solver");
  check_known(options.language, starter_languages(), "language");
  if (options.points < kPointsLeast || options.points > kPointsMost)
    throw Error(ErrorKind::config, fmt::format("{} points, expected {} to {}", options.points,
                                               kPointsLeast, kPointsMost));
  const Language& language = *std::ranges::find(
      languages(), options.language, [](const Language& l) { return std::string(l.name); });
  const bool worker = options.from == "worker";
  const std::vector<std::pair<std::string, std::string>> marks{
      {"<<kind>>", options.from},
      {"<<argv>>", worker ? language.worker_argv : language.command_argv},
      {"<<label>>", options.label},
      {"<<points>>", fmt::format("{}", options.points)},
      {"<<solver>>", language.solver},
      {"<<build>>", language.build}};
  std::vector<StarterFile> files;
  const std::string own = fmt::format("templates/{}/{}/", options.from, options.language);
  for (const StarterSource& file : starter_sources())
    if (file.path.starts_with(own))
      files.push_back({std::string(file.path.substr(own.size())), std::string(file.text)});
  if (worker)
    for (const char* file : language.worker_files)
      files.push_back(
          {fs::path(file).filename().string(), source(fmt::format("interfaces/{}", file))});
  for (const char* name : {"study.yaml", "README.md"}) {
    std::string text = source(fmt::format("templates/{}", name));
    for (const auto& [mark, value] : marks) text = filled(std::move(text), mark, value);
    files.push_back({name, std::move(text)});
  }
  return files;
}

void write_starter(const StarterOptions& options, const std::string& folder) {
  const std::vector<StarterFile> files = starter_files(options);
  std::error_code error;
  if (fs::exists(folder, error) &&
      (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)))
    throw Error(ErrorKind::config,
                fmt::format("{} is there already and not an empty folder: give a new one", folder));
  make_folder(folder);
  for (const StarterFile& file : files) write_text(fs::path(folder) / file.name, file.text);
}

}  // namespace stap
