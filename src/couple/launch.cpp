#include "couple/launch.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "couple/placeholders.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using Words = std::vector<std::string>;

// A step of a job. --exact: it takes what it asks for, so that others fit beside it. Without
// --kill-on-bad-exit ranks would wait for one that has crashed; a site's or a user's SLURM_* may
// keep the environment from the program, so that is said; and whoever does not read stdin must not
// be given ours.
Words srun_words(const Launcher::Needs& needs) {
  Words words{"srun", "--exact", "--export=ALL", "--kill-on-bad-exit=1"};
  words.insert(words.end(), {"-N", "{nodes}", "-n", "{ranks}", "--cpus-per-task", "{cpus}"});
  words.insert(words.end(), {"--mem", "{memory}"});
  if (needs.streams)
    words.insert(words.end(), {"--input=0", "--unbuffered"});
  else
    words.push_back("--input=none");
  return words;
}

// Open MPI. Every mpirun thinks that it is alone, so all of them would bind to the same cores; and
// of the environment only what is named goes to other hosts.
Words mpirun_words(const Launcher::Needs& needs) {
  Words words{"mpirun", "-n", "{ranks}", "--host", "{places}", "--bind-to", "none"};
  for (const std::string& name : needs.variables) words.insert(words.end(), {"-x", name});
  return words;
}

// Hydra, of MPICH and Intel MPI: passes the environment on by itself.
Words mpiexec_words(const Launcher::Needs&) {
  return {"mpiexec", "-n", "{ranks}", "-hosts", "{places}"};
}

struct Preset {
  const char* name;
  Words (*words)(const Launcher::Needs&);
};
constexpr Preset kPresets[] = {
    {"srun", srun_words}, {"mpirun", mpirun_words}, {"mpiexec", mpiexec_words}};

Words words_of(const SolverOptions& options, const Launcher::Needs& needs) {
  const Words& given = options.launch.words;
  if (given.size() == 1)
    for (const Preset& preset : kPresets)
      if (given[0] == preset.name) return preset.words(needs);
  return given;
}

// srun says when it begins to wait for room and when it has begun a step, if it is asked to talk.
Words talking(Words words) {
  const auto srun = std::ranges::find_if(words, [](const std::string& word) {
    return std::filesystem::path(word).filename() == "srun";
  });
  if (srun == words.end()) return words;
  for (auto word = srun; word != words.end(); ++word)
    if (*word == "--verbose" || word->starts_with("-v")) return words;
  words.insert(srun + 1, "-v");
  return words;
}

// Words with an empty placeholder go, and where one is all of a word, the option before it.
Words without_unsaid(const Words& words, const std::map<std::string, std::string>& known) {
  Words kept;
  for (const std::string& word : words) {
    bool unsaid = false, all = false;
    for (const auto& [name, value] : known) {
      const std::string placeholder = "{" + name + "}";
      if (!value.empty() || word.find(placeholder) == std::string::npos) continue;
      unsaid = true;
      all = all || word == placeholder;
    }
    if (!unsaid)
      kept.push_back(word);
    else if (all && !kept.empty() && kept.back().starts_with('-'))
      kept.pop_back();
  }
  return kept;
}

}  // namespace

Launcher::Launcher(const SolverOptions& options, Needs needs)
    : words_(talking(words_of(options, needs))),
      ranks_(options.ranks),
      nodes_(options.nodes),
      memory_(options.memory),
      allocation_(read_allocation(options.hosts)) {
  if (ranks_ < nodes_)
    throw Error(ErrorKind::config,
                fmt::format("nodes is {}, but ranks {}: ranks are those of all nodes together",
                            nodes_, ranks_));
  if (!allocation_.source.empty()) places_ = places_in(allocation_, ranks_, nodes_);
}

bool Launcher::is_known() const {
  constexpr std::string_view kKnown[] = {"srun",           "mpirun",        "mpiexec",
                                         "orterun",        "prterun",       "mpiexec.hydra",
                                         "mpirun.openmpi", "mpirun.mpich",  "mpiexec.openmpi",
                                         "mpiexec.mpich",  "mpiexec.slurm", "mpirun.hydra"};
  // It may stand behind another: env NAME=value srun ...
  return std::ranges::any_of(words_, [&](const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return std::ranges::find(kKnown, name) != std::end(kKnown);
  });
}

std::map<std::string, std::string> Launcher::placeholders(std::size_t slot) const {
  const std::size_t on_each = (ranks_ + nodes_ - 1) / nodes_;
  const Words hosts = places_.empty() ? Words() : places_[slot % places_.size()];
  Words places;
  for (const std::string& host : hosts) places.push_back(fmt::format("{}:{}", host, on_each));
  const std::size_t cpus = allocation_.cpus_per_rank;
  return {{"ranks", fmt::format("{}", ranks_)},
          {"nodes", fmt::format("{}", nodes_)},
          {"per_node", fmt::format("{}", on_each)},
          {"cpus", cpus > 0 ? fmt::format("{}", cpus) : ""},
          {"memory", memory_},
          {"hosts", fmt::format("{}", fmt::join(hosts, ","))},
          {"places", fmt::format("{}", fmt::join(places, ","))}};
}

std::vector<std::string> Launcher::filled(const std::map<std::string, std::string>& known) const {
  return filled_in(without_unsaid(words_, known), known, "launch");
}

std::vector<std::string> Launcher::words(std::size_t slot,
                                         const std::map<std::string, std::string>& others) const {
  std::map<std::string, std::string> known = placeholders(slot);
  known.insert(others.begin(), others.end());
  return filled(known);
}

std::vector<std::string> Launcher::words_everywhere() const {
  Launcher wide = *this;
  wide.nodes_ = wide.ranks_ = allocation_.hosts.size();
  Words all;
  for (const Host& host : allocation_.hosts) all.push_back(host.name);
  wide.places_ = {all};
  return wide.words(0);
}

std::size_t slots_of(const SolverOptions& options) {
  if (options.slots > 0) return options.slots;
  if (!options.spool.empty()) return 1;  // where servers are, and how many, nobody knows here
  const Allocation allocation = read_allocation(options.hosts);
  const std::size_t nodes = std::max<std::size_t>(options.nodes, 1);
  const std::size_t fit = places_in(allocation, options.ranks, nodes).size();
  if (fit == 0)
    throw Error(ErrorKind::config,
                fmt::format("slots is auto, but {} hold{} no slot of {} ranks on {} nodes{}",
                            allocation.text(), allocation.hosts.size() == 1 ? "s" : "",
                            options.ranks, nodes,
                            allocation.cpus_per_rank > 1
                                ? fmt::format(" with {} CPUs a rank", allocation.cpus_per_rank)
                                : ""));
  return fit;
}

std::size_t slots_of(const config::Value& section) {
  SolverOptions options;
  const auto read = [&](const char* key, std::size_t& number) {
    if (const config::Value* value = section.find(key))
      number = value->integer<std::uint64_t>().value_or(number);
  };
  read("slots", options.slots);
  read("ranks", options.ranks);
  read("nodes", options.nodes);
  if (const config::Value* slots = section.find("slots"); slots && slots->text()) options.slots = 0;
  if (const config::Value* hosts = section.find("hosts"); hosts && hosts->text())
    options.hosts = *hosts->text();
  if (const config::Value* spool = section.find("spool"); spool && spool->text())
    options.spool = *spool->text();
  return std::max<std::size_t>(slots_of(options), 1);
}

}  // namespace stap
