// Every file of a run, and whether they fit each other.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "folder/look_at_file.h"
#include "folder/plan_file.h"
#include "stap/folder/run_id.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Is = FileState::Is;

// One run, file by file; what one file says is used for others only if it is whole.
class RunCheck {
 public:
  explicit RunCheck(const RunFolder& folder) : folder_(folder) {}

  std::vector<FileState> all() {
    config_ = if_readable([&] { return folder_.read_config(); });
    manifest_ = if_readable([&] { return folder_.read_manifest(); });
    record_ = if_readable([&] { return read_record(folder_.journal_file()); });
    agree_ = config_ && manifest_ && manifest_->run == run_id(*config_, manifest_->identity);
    add(folder_.config_file(), [&] {
      check_head(RunFolder::config_text(folder_.read_config()), &RunRecord::configs);
      return Is::whole;
    });
    add(folder_.manifest_file(), [&] {
      check_head(manifest_text(folder_.read_manifest()), &RunRecord::manifests);
      if (config_ && !agree_ && !record_)
        throw Error(ErrorKind::data, "it is that of another run, or config.yaml is");
      return Is::whole;
    });
    const bool known = states_[0].good() && states_[1].good();
    journal();
    // Whose the rest must be is known from the journal, too.
    if (!known) {
      others_by_themselves();
      return std::move(states_);
    }
    rounds();
    training_set();
    newest_networks();
    metrics();
    return std::move(states_);
  }

 private:
  void add(const fs::path& file, const std::function<Is()>& at) {
    states_.push_back(look_at_file(file, at));
  }
  void add_missing(const fs::path& file, std::string why) {
    states_.push_back({file, Is::missing, std::move(why)});
  }

  // Configuration and manifest are in the journal, too. Where these two fit each other it is the
  // journal that is another's.
  void check_head(const std::string& text, std::vector<std::string> RunRecord::*said) const {
    if (!record_ || record_->run.empty() || (agree_ && manifest_->run != record_->run)) return;
    const std::vector<std::string>& all = (*record_).*said;
    // A kill may have come between a new line in the journal and the new file.
    const auto newest = all.end() - std::min<std::ptrdiff_t>(2, std::ssize(all));
    if (std::find(newest, all.end(), text) == all.end())
      throw Error(ErrorKind::data,
                  "it is not what the journal says: of another run, or of another time");
  }

  void journal() {
    add(folder_.journal_file(), [&] {
      const RunRecord record = read_record(folder_.journal_file());
      if (agree_ && record.run != manifest_->run)
        throw Error(ErrorKind::data,
                    record.run.empty() ? "it is empty" : "it is that of another run");
      const Purchases purchases = purchases_of(folder_);
      ledgers_ = purchases.known;
      if (purchases.known > purchases.ledgers)
        throw Error(ErrorKind::data,
                    fmt::format("its end is lost: it has the ledgers of {} purchases, but other "
                                "files know of {}",
                                purchases.ledgers, purchases.known));
      return Is::whole;
    });
    if (!states_.back().good() && !ledgers_) return;
    add(folder_.answers_file(), [&] {
      unnamed_ = check_answers(folder_.journal_file(), folder_.answers_file());
      return Is::whole;
    });
    if (unnamed_ > 0) states_.back().why = unnamed_text(unnamed_);
  }

  // Of a folder that has exactly the name of one; others are the user's.
  std::optional<std::size_t> round_of(const fs::path& path) const {
    const std::string name = path.filename().string();
    std::size_t round = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), round);
    if (failure != std::errc() || folder_.round_folder(round) != path) return std::nullopt;
    return round;
  }

  // Every file below rounds/NN that is one of ours.
  std::vector<fs::path> in_rounds() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder_.path() / "rounds", error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (entry.depth() == 1 && round_of(entry->path().parent_path()) &&
          (pass_of(name) > 0 || name == "committee.safetensors" || name == "training.safetensors" ||
           name == "stage.safetensors"))
        files.push_back(entry->path());
    }
    std::ranges::sort(files);
    return files;
  }

  void rounds() {
    const std::size_t pool = study_size(*config_, "pool"),
                      cluster = std::max<std::size_t>(study_size(*config_, "cluster"), 1);
    for (const fs::path& file : in_rounds()) {
      const std::string name = file.filename().string();
      const std::size_t round = *round_of(file.parent_path());
      add(file, [&] {
        if (const std::size_t pass = pass_of(name); pass > 0) {
          folder_.read_plan(round, pass, pool != 0 ? pool : SIZE_MAX,
                            study_size(*config_, "steps") / cluster);
        } else if (file == folder_.committee_file(round) ||
                   !any_file_at(folder_.committee_file(round))) {
          const std::optional<Model> model = file == folder_.stage_file(round)
                                                 ? folder_.read_stage(round)
                                                 : folder_.read_networks(round);
          if (!model) throw Error(ErrorKind::data, "it cannot be read");
          data_of_[round] = model->origin.data;
        }
        return Is::whole;
      });
    }
    for (std::size_t round = 0; ledgers_ && round + 1 < *ledgers_; ++round) {
      const bool in_journal = record_ && round + 1 < record_->passes.size();
      for (std::size_t pass = 1; pass <= (in_journal ? record_->passes[round + 1] : 1); ++pass)
        if (!any_file_at(folder_.plan_file(round, pass)))
          add_missing(folder_.plan_file(round, pass), "what was bought by it is there");
    }
  }

  void training_set() {
    const fs::path file = folder_.transitions_file();
    if (!any_file_at(file)) {
      if (ledgers_.value_or(0) > 0) add_missing(file, "the journal has the ledgers of purchases");
      return;
    }
    add(file, [&] {
      TransitionSet set = folder_.read_transitions();
      if (ledgers_ && set.acquisitions != *ledgers_ && set.acquisitions != *ledgers_ + 1)
        throw Error(ErrorKind::data,
                    fmt::format("{} has {} acquisitions, but the journal the ledgers of {}",
                                file.string(), set.acquisitions, *ledgers_));
      if (ledgers_ && *ledgers_ > 0 && set.acquisitions > *ledgers_ &&
          !any_file_at(folder_.plan_file(*ledgers_ - 1, 1)))
        throw Error(ErrorKind::data, "it has more than was planned");
      while (set.acquisitions > 0) {
        const std::size_t round = set.acquisitions - 1;
        if (const auto data = data_of_.find(round);
            data != data_of_.end() && data->second != digest(set))
          throw Error(ErrorKind::data,
                      fmt::format("{} is not what the networks of round {} were trained on",
                                  file.string(), round));
        drop_last_acquisition(set);
      }
      return Is::whole;
    });
  }

  void newest_networks() {
    if (!ledgers_ || *ledgers_ == 0) return;
    const std::size_t round = *ledgers_ - 1;
    const Value* study = config_->find("study");
    const Value* keep = study != nullptr ? study->find("keep_committees") : nullptr;
    const bool all = keep != nullptr && keep->text() != nullptr && *keep->text() == "all";
    for (std::size_t r = all ? 0 : round; r <= round; ++r)
      if (evaluations() > r && !any_file_at(folder_.committee_file(r)))
        add_missing(folder_.committee_file(r), "networks of a round that was evaluated");
  }

  std::size_t evaluations() const {
    try {
      return folder_.read_metrics().size();
    } catch (const Error&) {
      return 0;
    }
  }

  void metrics() {
    std::size_t lines = 0;
    const fs::path file = folder_.metrics_file();
    if (any_file_at(file))
      add(file, [&] {
        lines = folder_.read_metrics().size();
        if (ledgers_ && (lines + 1 < *ledgers_ || lines > *ledgers_))
          throw Error(ErrorKind::data,
                      fmt::format("{} has {} lines, expected {} or {}", file.string(), lines,
                                  std::max<std::size_t>(*ledgers_, 1) - 1, *ledgers_));
        return Is::whole;
      });
    else if (ledgers_.value_or(0) > 1)
      add_missing(file, "rounds were evaluated");
    if (any_file_at(folder_.losses_file()))
      add(folder_.losses_file(), [&] {
        check_losses(lines);
        return Is::whole;
      });
    else if (lines > 0)
      add_missing(folder_.losses_file(), "networks were trained");
    if (any_file_at(folder_.extracts_file()))
      add(folder_.extracts_file(), [&] {
        // They are written just before the line of their round.
        if (const std::size_t round = folder_.read_extracts().round;
            lines > 0 && round != lines && round + 1 != lines)
          throw Error(ErrorKind::data, fmt::format("they are of round {}", round));
        return Is::whole;
      });
    else if (lines > 0 && !identity_text(*manifest_, "test_sha256").empty())
      add_missing(folder_.extracts_file(), "rounds were evaluated on a test set");
    if (any_file_at(folder_.bars_file()))
      add(folder_.bars_file(), [&] {
        folder_.read_bars();
        return Is::whole;
      });
  }

  // Every epoch of every network, for rounds that have ended as many of all.
  void check_losses(std::size_t rounds) const {
    std::map<std::size_t, std::map<int, int>> epochs;  // by round and member
    const auto metrics = if_readable([&] { return folder_.read_metrics(); });
    for (const Loss& loss : folder_.read_whole_losses(metrics.value_or(std::vector<JsonLine>())))
      ++epochs[loss.round][loss.member];
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::map<int, int>& members = epochs[round];
      if (members.empty() || std::ranges::any_of(members, [&](const auto& member) {
            return member.second != members.begin()->second;
          }))
        throw Error(ErrorKind::data, fmt::format("epochs of round {} are missing", round));
    }
  }

  // Where it cannot be told whose they should be: their checksums.
  void others_by_themselves() {
    std::vector<fs::path> files = in_rounds();
    for (const fs::path& file :
         {folder_.transitions_file(), folder_.metrics_file(), folder_.losses_file(),
          folder_.extracts_file(), folder_.bars_file()})
      if (any_file_at(file)) files.push_back(file);
    for (const fs::path& file : files) states_.push_back(check_file(file));
  }

  const RunFolder& folder_;
  std::vector<FileState> states_;
  std::optional<Value> config_;
  std::optional<Manifest> manifest_;
  std::optional<RunRecord> record_;
  bool agree_ = false;                  // configuration and manifest
  std::optional<std::size_t> ledgers_;  // of purchases that are complete
  std::uint64_t unnamed_ = 0;
  std::map<std::size_t, std::string> data_of_;  // of the committees of rounds
};

}  // namespace

std::vector<FileState> check_run(const RunFolder& folder) {
  return RunCheck(folder).all();
}

}  // namespace stap
