#include "stap/run/repair.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/private_folder.h"
#include "run/lost_answers.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/market/problem.h"
#include "stap/nn/model_file.h"
#include "stap/run/loop.h"
#include "stap/run/run.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// Answers with their states, and no ledgers: what a run is walked again from.
void copy_answers(const RunFolder& from, const RunFolder& to) {
  Journal journal(to.journal_file());
  read_journal(from.journal_file(), [&](JournalLine&& line, const std::string&) {
    if (line.type != "ledger") journal.append(line.type, line.body);
  });
  journal.commit();
  fs::copy_file(from.answers_file(), to.answers_file());
}

std::size_t count_answers(const RunFolder& folder) {
  std::size_t answers = 0;
  read_journal(folder.journal_file(), [&](const JournalLine& line, const std::string&) {
    answers += line.type == "answer";
  });
  return answers;
}

// Networks as they are used: earlier versions wrote other formats, without the horizon, and kept
// Adam's moments with those that were trained.
Model networks_in(const fs::path& file) {
  Model model = read_model(file);
  model.spec.horizon = 0;
  if (file.filename() != "committee.safetensors") return model;
  for (MemberState& member : model.members) {
    member.moment1.clear();
    member.moment2.clear();
  }
  return model;
}

// Whether what was made again is what is there.
bool is_same(const fs::path& here, const fs::path& again) {
  if (read_text_file(here) == read_text_file(again)) return true;
  if (here.extension() != ".safetensors") return false;
  const Model a = networks_in(here), b = networks_in(again);
  return a.spec == b.spec && a.cluster == b.cluster && a.origin == b.origin &&
         a.members == b.members;
}

class Repair {
 public:
  Repair(const RunFolder& folder, int threads, Observer& observer, const StopAsked& stop)
      : folder_(folder), threads_(threads), observer_(observer), stop_(stop) {}

  std::vector<RepairedFile> all() {
    const std::vector<fs::path> before = bad();
    if (before.empty()) return {};
    if (is_bad(folder_.journal_file()) && !is_short()) drop({});
    if (!is_bad(folder_.journal_file()) || is_short()) {
      {
        const Journal journal(folder_.journal_file());  // throws if somebody works there
        from_journal();
      }
      answers();
      if (!is_bad(folder_.answers_file())) {
        if (!dropped_.empty())
          say(folder_.journal_file(), true, revoke_followers(folder_, dropped_));
        Journal journal(folder_.journal_file());
        by_walking_again(journal);
      }
    }
    for (const fs::path& file : before)
      if (std::ranges::find(done_, file, &RepairedFile::file) == done_.end())
        say(file, false, "nothing can be rebuilt without the journal and its answers");
    return std::move(done_);
  }

 private:
  std::vector<fs::path> bad() const {
    std::vector<fs::path> files;
    for (const FileState& state : check_run(RunFolder(folder_.path())))
      if (!state.good()) files.push_back(state.file);
    return files;
  }
  bool is_bad(const fs::path& file) const {
    const std::vector<fs::path> files = bad();
    return std::ranges::find(files, file) != files.end();
  }
  // The journal can be read, but others know of more purchases.
  bool is_short() const {
    try {
      const RunFolder own(folder_.path());
      const Purchases purchases = purchases_of(own);
      return purchases.known > purchases.ledgers;
    } catch (const Error&) {
      return false;
    }
  }
  void say(const fs::path& file, bool rebuilt, std::string how) {
    done_.push_back({file, rebuilt, std::move(how)});
  }

  void drop(const std::set<std::uint64_t>& lost_states) {
    const std::vector<DroppedLine> more = drop_lines(folder_, lost_states);
    dropped_.insert(dropped_.end(), more.begin(), more.end());
    if (is_bad(folder_.journal_file()) && !is_short())
      say(folder_.journal_file(), false,
          "it is the record of what was paid, and another run's, or does not say whose it is: take "
          "it from a copy");
    else if (more.empty())
      say(folder_.journal_file(), true, "its lines are whole, and end as they must again");
  }

  void from_journal() {
    const RunRecord record = read_record(folder_.journal_file());  // what it says last
    if (is_bad(folder_.config_file())) {
      write_sealed(folder_.config_file(), record.configs.back());
      say(folder_.config_file(), true, "from the journal");
    }
    if (is_bad(folder_.manifest_file())) {
      write_sealed_json(folder_.manifest_file(), record.manifests.back());
      say(folder_.manifest_file(), true, "from the journal");
    }
  }

  void answers() {
    const fs::path file = folder_.answers_file();
    if (!is_bad(file)) return;
    TransitionSet set;
    if (!is_bad(folder_.transitions_file())) set = RunFolder(folder_.path()).read_transitions();
    const std::size_t complete = purchases_of(RunFolder(folder_.path())).known;
    const RebuiltAnswers rebuilt = rebuilt_answers(folder_, set, complete);
    if (rebuilt.of_complete)
      return say(file, false,
                 fmt::format("{} states are lost, and not in the training set: take it from a copy",
                             rebuilt.lost.size()));
    if (!rebuilt.lost.empty()) drop(rebuilt.lost);
    write_text(file, rebuilt.bytes);
    say(file, true,
        rebuilt.lost.empty() ? "from the training set" : "without the states of dropped answers");
  }

  // The run once more, beside its folder.
  void by_walking_again(Journal& journal) {
    std::vector<fs::path> files = bad();
    if (files.empty()) return;
    const bool lost_end = std::erase(files, folder_.journal_file()) > 0;
    const auto give_up = [&](const std::string& why) {
      for (const fs::path& file : files) say(file, false, why);
      if (lost_end) say(folder_.journal_file(), false, why);
    };
    const Manifest manifest = RunFolder(folder_.path()).read_manifest();
    if (manifest.instruction_set != to_string(active_isa()))
      return give_up(
          fmt::format("networks must be trained again with instruction set {}, this is "
                      "{}: set STAP_ISA={}, or use another machine",
                      manifest.instruction_set, to_string(active_isa()), manifest.instruction_set));
    const PrivateFolder beside(fs::absolute(folder_.path()).lexically_normal().parent_path(),
                               "stap-repair");
    const RunFolder again(beside.path() / "run");
    try {
      walk(again, manifest);
    } catch (const Error& error) {
      return give_up(fmt::format("the run cannot be walked again: {}", error.what()));
    }
    if (!take_over(again, files)) {
      if (lost_end) say(folder_.journal_file(), false, "its end is lost: take it from a copy");
      return;
    }
    if (lost_end) add_ledgers(again, journal);
  }

  // Those that the journal has lost: they follow from its answers.
  void add_ledgers(const RunFolder& again, Journal& journal) {
    const std::vector<Ledger> ledgers = again.read_ledgers();
    for (std::size_t k = RunFolder(folder_.path()).read_ledgers().size(); k < ledgers.size(); ++k)
      journal.append("ledger", to_value(k, ledgers[k]));
    journal.commit();
    say(folder_.journal_file(), true, "its last ledgers, by walking the run again");
  }

  void walk(const RunFolder& again, const Manifest& manifest) {
    const RunFolder own(folder_.path());
    make_folder(again.path() / "rounds");
    copy_answers(own, again);
    again.write_manifest(manifest);
    const Value document = own.read_config();
    again.write_config(document);
    const std::size_t ledgers = purchases_of(own).known, evaluated = evaluations(own, ledgers);
    if (ledgers == 0) return;
    Study study = make_study(with_older_meaning(document), Purpose::train);
    study.failures = again.path() / "failures";
    auto problem = std::make_shared<Problem>(problem_of(study));
    const auto go = [&](std::size_t rounds, Until until) {
      study.options.rounds = rounds;
      run_to(again, study, problem, until);
    };
    // As far as the run has come, and no further.
    if (evaluated > 0) go(evaluated - 1, Until::finished);
    if (evaluated > 0 && evaluated < ledgers) go(ledgers - 1, Until::trained);
    if (evaluated < ledgers) go(ledgers - 1, Until::bought);
    // The purchase under way has its plan.
    if (evaluated == ledgers && own.passes(ledgers - 1) > 0) go(ledgers, Until::trained);
  }

  // Where the metrics do not say it, all that was bought was trained on.
  static std::size_t evaluations(const RunFolder& own, std::size_t ledgers) {
    std::error_code none;
    if (ledgers == 1 && !fs::exists(own.metrics_file(), none))
      return fs::exists(own.committee_file(0), none) ? 1 : 0;
    try {
      if (const std::size_t lines = own.read_metrics().size(); lines + 1 >= ledgers) return lines;
    } catch (const Error&) {
    }
    return ledgers;
  }

  Problem problem_of(const Study& study) {
    return make_problem_alone(study, threads_, observer_, stop_);
  }

  void run_to(const RunFolder& again, const Study& study,
              const std::shared_ptr<const Problem>& problem, Until until) {
    const std::size_t before = count_answers(again);
    std::vector<Run> runs;
    runs.push_back(open_run(study, again.path(), problem, observer_));
    const LoopEnd end = run_loop(runs, threads_, observer_, stop_, nullptr, until);
    if (end == LoopEnd::stopped) throw Stopped();
    if (end == LoopEnd::waiting || count_answers(again) != before)
      throw Error(ErrorKind::data,
                  "the journal has not all the answers that it takes: take it from a copy");
  }

  // Files that others hide the lack of are missing as well. False if nothing was taken.
  bool take_over(const RunFolder& again, std::vector<fs::path> files) {
    const auto twin = [&](const fs::path& file) {
      return again.path() / file.lexically_relative(folder_.path());
    };
    std::error_code none;
    for (const FileState& state : check_run(again)) {
      const fs::path here = folder_.path() / state.file.lexically_relative(again.path());
      if (!fs::exists(here, none) && std::ranges::find(files, here) == files.end())
        files.push_back(here);
    }
    for (const FileState& state : check_run(RunFolder(folder_.path()))) {
      const fs::path file = state.file, other = twin(file);
      if (!state.good() || file == folder_.journal_file() || file == folder_.answers_file() ||
          file == folder_.config_file() || file == folder_.manifest_file() ||
          file == folder_.losses_file() || file.filename() == "training.safetensors" ||
          file.filename() == "stage.safetensors" || !fs::exists(other, none))
        continue;
      if (is_same(file, other)) continue;
      for (const fs::path& bad_file : files)
        say(bad_file, false,
            fmt::format("{} came out with other bits when the run was walked again: this is "
                        "another build, device or CPU than it was begun with, or that file is of "
                        "another time",
                        file.lexically_relative(folder_.path()).string()));
      return false;
    }
    for (const fs::path& file : files) {
      if (fs::exists(twin(file), none)) {
        make_folder(file.parent_path());
        write_text(file, read_text_file(twin(file)));
        say(file, true, "by walking the run again from the journal");
      } else if (check_file(file).is == FileState::Is::whole) {
        say(file, false, "it is whole, but does not belong here: remove it");
      } else {  // a purchase's later passes, half-trained networks: made by going on
        fs::remove(file, none);
        say(file, true, "removed: the next 'stap run' makes it anew");
      }
    }
    return true;
  }

  const RunFolder& folder_;
  int threads_;
  Observer& observer_;
  const StopAsked& stop_;
  std::vector<RepairedFile> done_;
  std::vector<DroppedLine> dropped_;
};

}  // namespace

std::vector<RepairedFile> repair_run(const RunFolder& folder, int threads, Observer& observer,
                                     const StopAsked& stop) {
  return Repair(folder, threads, observer, stop).all();
}

}  // namespace stap
