#include "stap/run/repair.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "core/mend.h"
#include "core/private_folder.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/couple/by_hand.h"
#include "stap/folder/run_id.h"
#include "stap/run/loop.h"
#include "stap/study/problem.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// The run in the end: what the journal says last of its files.
struct Head {
  std::string config, manifest;
};
std::optional<Head> head_of(const fs::path& journal) {
  std::optional<Head> head;
  read_journal(journal, [&](JournalLine&& line, const std::string& where) {
    if (line.type == kRunLine)
      head = {field<std::string>(line.body, "config", where),
              field<std::string>(line.body, "manifest", where)};
  });
  return head;
}

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

class Repair {
 public:
  Repair(const RunFolder& folder, int threads, Observer& observer, const StopAsked& stop)
      : folder_(folder), threads_(threads), observer_(observer), stop_(stop) {}

  std::vector<RepairedFile> all() {
    const std::vector<fs::path> before = bad();
    if (before.empty()) return {};
    mend_journal();
    if (!is_bad(folder_.journal_file())) {
      const Journal lock(folder_.journal_file());  // throws if somebody works there
      from_journal();
      answers();
      if (!is_bad(folder_.answers_file())) by_walking_again();
    }
    for (const fs::path& file : before)
      if (std::ranges::find(done_, file, &RepairedFile::file) == done_.end())
        say(file, false, "nothing can be rebuilt without the journal and its answers");
    return std::move(done_);
  }

 private:
  std::vector<fs::path> bad() const {
    std::vector<fs::path> files;
    for (const FileState& state : check_run(folder_))
      if (!state.good()) files.push_back(state.file);
    return files;
  }
  bool is_bad(const fs::path& file) const {
    const std::vector<fs::path> files = bad();
    return std::ranges::find(files, file) != files.end();
  }
  void say(const fs::path& file, bool rebuilt, std::string how) {
    done_.push_back({file, rebuilt, std::move(how)});
  }

  // Nobody can work with one that is damaged, so it need not be locked.
  void mend_journal() {
    const fs::path file = folder_.journal_file();
    if (!is_bad(file)) return;
    std::error_code error;
    const auto mended =
        fs::is_regular_file(file, error) ? mended_journal(read_text_file(file)) : std::nullopt;
    if (!mended)
      return say(file, false,
                 "it is the record of what was paid, and more of it was changed than its "
                 "checksums tell: take it from a copy");
    write_text(file, *mended);
    is_bad(file) ? say(file, false, "its lines do not fit each other")
                 : say(file, true, "from its checksums: single bytes were changed");
  }

  void from_journal() {
    const std::optional<Head> head = head_of(folder_.journal_file());
    if (is_bad(folder_.config_file())) {
      write_sealed(folder_.config_file(), head->config);
      say(folder_.config_file(), true, "from the journal");
    }
    if (is_bad(folder_.manifest_file())) {
      write_sealed_json(folder_.manifest_file(), head->manifest);
      say(folder_.manifest_file(), true, "from the journal");
    }
  }

  // States of complete purchases are also in the training set.
  void answers() {
    const fs::path file = folder_.answers_file();
    if (!is_bad(file)) return;
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::span<const double>> known;
    TransitionSet set;
    if (!is_bad(folder_.transitions_file())) set = RunFolder(folder_.path()).read_transitions();
    const std::size_t values = set.grid.values();
    for (std::size_t i = 0; i < set.count(); ++i)
      known[{set.origins[i].acquisition, set.origins[i].candidate, set.origins[i].step}] =
          std::span(set.outputs).subspan(i * values, values);
    std::error_code none;
    std::string bytes = fs::is_regular_file(file, none) ? read_text_file(file) : std::string();
    bytes.replace(0, std::min<std::size_t>(bytes.size(), AnswerStore::kFirst),
                  AnswerStore::kHeader);
    std::size_t lost = 0;
    visit_states(folder_.journal_file(),
                 [&](std::size_t acquisition, const LoggedAnswer& answer, const StatePlace& place) {
                   bytes.resize(std::max<std::size_t>(bytes.size(), place.end()));
                   const std::span<char> there(bytes.data() + place.offset, place.bytes);
                   if (crc32c(std::as_bytes(there)) == place.crc) return;
                   const auto found = known.find({acquisition, answer.candidate, answer.step});
                   if (found != known.end() && found->second.size_bytes() == place.bytes &&
                       crc32c(std::as_bytes(found->second)) == place.crc)
                     std::memcpy(there.data(), found->second.data(), place.bytes);
                   else if (!mend_byte(there, place.crc))
                     ++lost;
                 });
    if (lost > 0)
      return say(
          file, false,
          fmt::format("{} states of a purchase under way are lost: take it from a copy", lost));
    write_text(file, bytes);
    say(file, true, "from the training set and its checksums");
  }

  // The run once more, beside its folder.
  void by_walking_again() {
    std::vector<fs::path> files = bad();
    if (files.empty()) return;
    const auto give_up = [&](const std::string& why) {
      for (const fs::path& file : files) say(file, false, why);
    };
    const Manifest manifest = RunFolder(folder_.path()).read_manifest();
    if (manifest.instruction_set != to_string(active_isa()))
      return give_up(
          fmt::format("networks must be trained again with instruction set {}, this is "
                      "{}: set STAP_ISA={}, or use another machine",
                      manifest.instruction_set, to_string(active_isa()), manifest.instruction_set));
    const PrivateFolder beside(folder_.path().parent_path(), "stap-repair");
    const RunFolder again(beside.path() / "run");
    try {
      walk(again, manifest);
    } catch (const Error& error) {
      return give_up(fmt::format("the run cannot be walked again: {}", error.what()));
    }
    take_over(again, files);
  }

  void walk(const RunFolder& again, const Manifest& manifest) {
    const RunFolder own(folder_.path());
    make_folder(again.path() / "rounds");
    copy_answers(own, again);
    again.write_manifest(manifest);
    Value document = own.read_config().document;
    again.write_config(document);
    const std::size_t ledgers = own.read_ledgers().size();
    if (ledgers == 0) return;
    Study study = make_study(document, Purpose::train);
    study.options.rounds = ledgers - 1;
    study.failures = again.path() / "failures";
    auto problem = std::make_shared<Problem>(problem_of(study));
    run_to(again, study, problem, Until::finished);
    if (own.passes(ledgers - 1) == 0) return;
    study.options.rounds = ledgers;  // the purchase under way has its plan
    run_to(again, study, problem, Until::trained);
  }

  Problem problem_of(const Study& study) {
    if (!study.pde.row->outline) return make_problem(study, threads_, observer_, stop_);
    return make_problem(study, make_by_hand_solver(study.pde.row->outline(study.pde.options), {}),
                        observer_, stop_);
  }

  void run_to(const RunFolder& again, const Study& study,
              const std::shared_ptr<const Problem>& problem, Until until) {
    const std::size_t before = count_answers(again);
    std::vector<Run> runs;
    runs.push_back(open_run(study, again.path(), problem, observer_));
    const LoopEnd end = run_loop(runs, threads_, observer_, stop_, nullptr, until);
    if (end == LoopEnd::stopped) throw Stopped();
    if (end == LoopEnd::waiting || count_answers(again) != before)
      throw Error(ErrorKind::data, "the journal has not all the answers that it takes");
  }

  // Files that others hide the lack of are missing as well.
  void take_over(const RunFolder& again, std::vector<fs::path> files) {
    const auto twin = [&](const fs::path& file) {
      return again.path() / file.lexically_relative(folder_.path());
    };
    std::error_code none;
    for (const FileState& state : check_run(again)) {
      const fs::path here = folder_.path() / state.file.lexically_relative(again.path());
      if (!fs::exists(here, none) && std::ranges::find(files, here) == files.end())
        files.push_back(here);
    }
    for (const FileState& state : check_run(folder_)) {
      const fs::path file = state.file, other = twin(file);
      if (!state.good() || file == folder_.journal_file() || file == folder_.answers_file() ||
          file.filename() == "training.safetensors" || !fs::exists(other, none))
        continue;
      if (read_text_file(file) == read_text_file(other)) continue;
      for (const fs::path& bad_file : files)
        say(bad_file, false,
            fmt::format("{} came out with other bits when the run was walked again: this is "
                        "another build, device or CPU than it was begun with",
                        file.lexically_relative(folder_.path()).string()));
      return;
    }
    for (const fs::path& file : files) {
      if (fs::exists(twin(file), none)) {
        make_folder(file.parent_path());
        write_text(file, read_text_file(twin(file)));
        say(file, true, "by walking the run again from the journal");
      } else {  // a purchase's later passes, half-trained networks: made by going on
        fs::remove(file, none);
        say(file, true, "removed: the next 'stap run' makes it anew");
      }
    }
  }

  const RunFolder& folder_;
  int threads_;
  Observer& observer_;
  const StopAsked& stop_;
  std::vector<RepairedFile> done_;
};

}  // namespace

std::vector<RepairedFile> repair_run(const RunFolder& folder, int threads, Observer& observer,
                                     const StopAsked& stop) {
  return Repair(folder, threads, observer, stop).all();
}

}  // namespace stap
