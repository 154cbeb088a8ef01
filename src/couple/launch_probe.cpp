#include "stap/couple/launch_probe.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "couple/launch.h"
#include "couple/launched_run.h"
#include "couple/launcher_log.h"
#include "couple/scratch.h"

namespace stap {
namespace {

using Clock = LaunchedRun::Clock;
using Grade = LaunchFinding::Grade;

constexpr std::size_t kSideBySideMost = 32;
constexpr std::size_t kNamed = 8;  // hosts in a message
constexpr const char* kHere = "stap-here";
constexpr std::string_view kMpiType = "SLURM_MPI_TYPE=";

// Prints a line: its host, and whether $1, a program, and $2, a folder, are there.
constexpr const char* kLookAround =
    "n=${SLURMD_NODENAME:-$(uname -n)}; p=yes; f=yes; "
    "case $1 in */*) [ -x \"$1\" ] || p=no;; *) command -v \"$1\" >/dev/null || p=no;; esac; "
    "[ -z \"$2\" ] || [ -d \"$2\" ] || f=no; "
    "echo \"stap-here $n $p $f\"";

std::string named(const std::vector<std::string>& hosts) {
  const std::size_t shown = std::min(hosts.size(), kNamed);
  return fmt::format(
      "{}{}", fmt::join(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < hosts.size() ? ", ..." : "");
}

std::string with_words(const std::string& words) {
  return words.empty() ? "" : ": " + words;
}

class Probing {
 public:
  Probing(const LaunchToProbe& probed, const StopAsked& stop)
      : probed_(probed),
        stop_(stop),
        launcher_(probed.options, {.streams = probed.streams}),
        slots_(slots_of(probed.options)),
        scratch_(probed.options.scratch),
        env_(probed.options.env) {
    // sh and cat are no programs of MPI.
    std::erase_if(env_, [](const std::string& entry) { return entry.starts_with(kMpiType); });
    env_.push_back(fmt::format("{}none", kMpiType));
  }

  std::vector<LaunchFinding> all() {
    if (!launcher_) return {};
    std::vector<LaunchFinding> found{hosts()};
    if (slots_ > 1) found.push_back(side_by_side());
    if (probed_.streams) found.push_back(streams());
    return found;
  }

 private:
  std::unique_ptr<LaunchedRun> run(std::vector<std::string> words,
                                   const std::vector<std::string>& program, bool talks = false) {
    words.insert(words.end(), program.begin(), program.end());
    return std::make_unique<LaunchedRun>(
        LaunchedRun::What{.words = std::move(words),
                          .env = env_,
                          .log = scratch_.path() / fmt::format("log-{}.txt", ++runs_),
                          .talks = talks,
                          .grace = probed_.options.grace});
  }

  LaunchFinding hosts() {
    const char* name = "hosts";
    const std::string& program = probed_.options.argv.words.at(0);
    const std::string folder = probed_.files ? scratch_.path().string() : "";
    const auto one =
        run(launcher_.words_everywhere(), {"sh", "-c", kLookAround, "sh", program, folder});
    LaunchedRun::wait(
        {one.get()}, in(limit()), [] { return false; }, stop_);
    std::set<std::string> seen;
    std::vector<std::string> without_program, without_folder;
    std::istringstream lines(one->printed());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string mark, host, has_program, has_folder;
      if (!(words >> mark >> host >> has_program >> has_folder) || mark != kHere) continue;
      seen.insert(host);
      if (has_program == "no") without_program.push_back(host);
      if (has_folder == "no") without_folder.push_back(host);
    }
    const std::size_t expected = launcher_.allocation().hosts.size();
    const bool everywhere = launcher_.words_everywhere() != launcher_.words(0);
    if (seen.empty() || (everywhere && seen.size() < expected)) {
      const auto ending = one->ended();
      return {name, Grade::bad,
              fmt::format("the launcher started {} ({}){}",
                          seen.empty()
                              ? "nothing"
                              : fmt::format("programs on {} of {} hosts alone: {}", seen.size(),
                                            expected, named({seen.begin(), seen.end()})),
                          ending ? ending->text() : fmt::format("within {:g} s", limit()),
                          with_words(one->words()))};
    }
    if (!without_program.empty())
      return {name, Grade::bad,
              fmt::format("there is no {} on {} ({} of {} hosts): put it on a file system that all "
                          "of them see, or install it there",
                          program, named(without_program), without_program.size(), seen.size())};
    if (!without_folder.empty())
      return {name, Grade::bad,
              fmt::format("{} is not there on {}: name a folder for solver.scratch on a file "
                          "system that all hosts see",
                          folder, named(without_folder))};
    return {name, Grade::good,
            fmt::format("{} is there on {}", program,
                        seen.size() == 1 ? *seen.begin() : fmt::format("{} hosts", seen.size()))};
  }

  // All that can be are started, and stay until it is clear how many that is.
  LaunchFinding side_by_side() {
    const char* name = "side by side";
    const std::size_t wanted = std::min(slots_, kSideBySideMost);
    std::vector<std::unique_ptr<LaunchedRun>> runs;
    std::vector<LaunchedRun*> list;
    for (std::size_t slot = 0; slot < wanted; ++slot) {
      runs.push_back(
          run(launcher_.words(slot), {"sh", "-c", fmt::format("echo {}; exec sleep 600", kHere)}));
      list.push_back(runs.back().get());
    }
    const auto count = [&] {
      return static_cast<std::size_t>(std::ranges::count_if(runs, [](auto& one) {
        return one->printed().find(kHere) != std::string::npos && !one->ended();
      }));
    };
    std::size_t most = 0;
    for (bool more = true; more && most < wanted;) {
      more = LaunchedRun::wait(
          list, in(probed_.patience), [&] { return count() > most; }, stop_);
      most = std::max(most, count());
    }
    std::string words;
    for (auto& one : runs)
      if (one->printed().empty() && words.empty()) words = one->words();
    for (auto& one : runs) one->end();
    LaunchedRun::wait(
        list, in(limit()), [] { return false; }, stop_);
    if (most == wanted)
      return {name, Grade::good, fmt::format("{} slots run at the same time", wanted)};
    const bool srun = std::ranges::any_of(launcher_.words(0), [](const std::string& word) {
      return std::filesystem::path(word).filename() == "srun";
    });
    return {name, most == 0 ? Grade::bad : Grade::doubtful,
            fmt::format("of {} slots {} run at the same time{}: {}", wanted,
                        most == 0 ? "none" : fmt::format("only {}", most), with_words(words),
                        srun && probed_.options.memory.empty()
                            ? "a step that does not say how much memory it needs may take all of "
                              "its node's, so that others wait: set solver.memory, for example "
                              "500M"
                            : fmt::format("ask the scheduler for more, or set solver.slots to {}",
                                          std::max<std::size_t>(most, 1)))};
  }

  LaunchFinding streams() {
    const auto one = run(launcher_.words(0), {"cat"}, true);
    const std::string flaw = flaw_of_streams(*one);
    one->end();
    LaunchedRun::wait(
        {one.get()}, in(limit()), [] { return false; }, stop_);
    if (flaw.empty())
      return {"streams", Grade::doubtful,
              "frames come through this launcher's pipes as they are; by solver.connect: socket "
              "they would not depend on it, and be quicker"};
    return {"streams", Grade::bad,
            fmt::format("frames do not come through its pipes: {}; set solver.connect: socket, "
                        "which is the default behind a launcher",
                        flaw)};
  }

  // A frame ends with no line, and may be larger than a pipe.
  std::string flaw_of_streams(LaunchedRun& one) {
    const auto comes = [&](std::size_t bytes, double most) {
      return LaunchedRun::wait(
          {&one}, in(most), [&] { return one.printed().size() >= bytes; }, stop_);
    };
    const double patience = probed_.patience;
    const std::string small = "STAP without the end of a line";
    std::string sent = small;
    one.send(small);
    // The first answer takes as long as the launcher takes to start something.
    if (!comes(sent.size(), 2 * patience)) {
      if (one.ended()) return "the program behind it finds that stdin is at its end";
      one.send("\n");
      if (comes(1, patience)) return "it keeps bytes back until a line ends";
      one.close_stdin();
      if (comes(1, patience)) return "it keeps bytes back until stdin ends";
      return "it does not give stdin to the program";
    }
    std::string large(std::size_t{1} << 18, '\0');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 251);
    sent += large;
    std::string_view rest = large;
    const auto until = in(2 * patience);
    while (!rest.empty() && Clock::now() < until && !one.ended()) {
      rest.remove_prefix(one.send(rest));
      comes(one.printed().size() + 1, 0.5);
    }
    if (!rest.empty())
      return fmt::format("it blocks: {} of {} bytes went", sent.size() - rest.size(), sent.size());
    if (!comes(sent.size(), 2 * patience))
      return fmt::format("{} of {} bytes came back", one.printed().size(), sent.size());
    comes(sent.size() + 1, 0.2);  // is there more than was sent?
    if (one.printed().size() > sent.size())
      return "they come more than once: stdin goes to every rank";
    if (one.printed() != sent) return "bytes are changed on their way";
    return {};
  }

  double limit() const { return probed_.options.limits.start; }
  static Clock::time_point in(double seconds) {
    const std::chrono::duration<double> wait(std::min(seconds, 1e6));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
  }

  const LaunchToProbe& probed_;
  const StopAsked& stop_;
  Launcher launcher_;
  std::size_t slots_;
  Scratch scratch_;
  std::vector<std::string> env_;
  std::size_t runs_ = 0;
};

}  // namespace

std::vector<LaunchFinding> probe_launcher(const LaunchToProbe& probed, const StopAsked& stop) {
  return Probing(probed, stop).all();
}

std::string room_text(const SolverOptions& options) {
  if (options.launch.words.empty()) return {};
  const Allocation allocation = read_allocation(options.hosts);
  const std::size_t fit = places_in(allocation, options.ranks, options.nodes).size();
  const auto number = [](std::size_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  return fmt::format("{} {} room for {} of {} on {}", allocation.text(),
                     allocation.hosts.size() == 1 ? "has" : "have", number(fit, "slot"),
                     number(options.ranks, "rank"), number(options.nodes, "node"));
}

}  // namespace stap
