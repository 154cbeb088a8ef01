#include "stap/folder/fsck.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "folder/plan_file.h"
#include "stap/core/error.h"
#include "stap/folder/run_id.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Is = FileState::Is;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// What a look at a file says.
FileState look(const fs::path& file, const std::function<Is()>& at) {
  try {
    return {file, at()};
  } catch (const Error& error) {
    return {file, is_there(file) ? Is::damaged : Is::missing, error.what()};
  }
}

Is is_of(Seal seal) {
  return seal == Seal::whole ? Is::whole : Is::unsealed;
}

// One run, file by file; what one file says is used for others only if it is whole.
class RunCheck {
 public:
  explicit RunCheck(const RunFolder& folder) : folder_(folder) {}

  std::vector<FileState> all() {
    add(folder_.config_file(), [&] {
      config_ = folder_.read_config();
      return config_->version >= 3 ? Is::whole : Is::unsealed;
    });
    if (config_ && config_->version < 3) {
      states_.back().why = "of an earlier version, whose files have no checksums";
      add(folder_.journal_file(), [&] {
        read_journal(folder_.journal_file(), {});
        return Is::whole;
      });
      return std::move(states_);
    }
    add(folder_.manifest_file(), [&] {
      manifest_ = folder_.read_manifest();
      if (config_ && manifest_->run != run_id(config_->document, manifest_->identity))
        throw Error(ErrorKind::data,
                    fmt::format("{} is that of another run", folder_.manifest_file().string()));
      return Is::whole;
    });
    journal();
    // Whose the rest must be is known from the journal, too.
    if (!config_ || !manifest_ || !states_[0].good() || !states_[1].good()) {
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
    states_.push_back(look(file, at));
  }
  void add_missing(const fs::path& file, std::string why) {
    states_.push_back({file, Is::missing, std::move(why)});
  }

  void journal() {
    add(folder_.journal_file(), [&] {
      std::string run;
      std::size_t ledgers = 0;
      read_journal(folder_.journal_file(), [&](JournalLine&& line, const std::string& where) {
        if (line.type == kRunLine) run = field<std::string>(line.body, "run", where);
        if (line.type == "ledger") {
          read_ledger(line.body, where);
          ++ledgers;
        }
        if (run.empty())
          throw Error(ErrorKind::data, fmt::format("{} does not say whose journal it is", where));
      });
      if (manifest_ && run != manifest_->run)
        throw Error(ErrorKind::data,
                    fmt::format("{} is that of another run", folder_.journal_file().string()));
      ledgers_ = ledgers;
      return Is::whole;
    });
    if (!states_.back().good()) return;
    add(folder_.answers_file(), [&] {
      check_answers(folder_.journal_file(), folder_.answers_file());
      return Is::whole;
    });
  }

  // Every file below rounds/NN that is one of ours.
  std::vector<fs::path> in_rounds() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder_.path() / "rounds", error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (pass_of(name) > 0 || name == "committee.safetensors" || name == "training.safetensors")
        files.push_back(entry->path());
    }
    std::ranges::sort(files);
    return files;
  }

  void rounds() {
    const Value* study = config_->document.find("study");
    const auto size = [&](const char* key) {
      const Value* value = study != nullptr ? study->find(key) : nullptr;
      return value != nullptr ? value->integer<std::uint64_t>().value_or(0) : 0;
    };
    const std::size_t pool = size("pool"), cluster = std::max<std::size_t>(size("cluster"), 1);
    for (const fs::path& file : in_rounds()) {
      const std::string name = file.filename().string();
      const std::size_t round = std::stoul(file.parent_path().filename().string());
      add(file, [&] {
        if (const std::size_t pass = pass_of(name); pass > 0) {
          folder_.read_plan(round, pass, pool != 0 ? pool : SIZE_MAX, size("steps") / cluster);
        } else if (file == folder_.committee_file(round) ||
                   !is_there(folder_.committee_file(round))) {
          data_of_[round] = folder_.read_networks(round)->origin.data;
        }
        return Is::whole;
      });
    }
    for (std::size_t round = 0; ledgers_ && round + 1 < *ledgers_; ++round)
      if (!is_there(folder_.plan_file(round, 1)))
        add_missing(folder_.plan_file(round, 1), "what was bought by it is there");
  }

  void training_set() {
    const fs::path file = folder_.transitions_file();
    if (!is_there(file)) {
      if (ledgers_.value_or(0) > 0) add_missing(file, "the journal has the ledgers of purchases");
      return;
    }
    add(file, [&] {
      TransitionSet set = folder_.read_transitions();
      if (ledgers_ && set.acquisitions != *ledgers_ && set.acquisitions != *ledgers_ + 1)
        throw Error(ErrorKind::data,
                    fmt::format("{} has {} acquisitions, but the journal the ledgers of {}",
                                file.string(), set.acquisitions, *ledgers_));
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
    if (evaluations() > round && !is_there(folder_.committee_file(round)))
      add_missing(folder_.committee_file(round), "networks of a round that was evaluated");
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
    if (is_there(file))
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
    if (is_there(folder_.losses_file()))
      add(folder_.losses_file(), [&] {
        folder_.read_losses();
        return Is::whole;
      });
    if (is_there(folder_.extracts_file()))
      add(folder_.extracts_file(), [&] {
        folder_.read_extracts();
        return Is::whole;
      });
    else if (lines > 0 && !identity_text(*manifest_, "test_sha256").empty())
      add_missing(folder_.extracts_file(), "rounds were evaluated on a test set");
  }

  // Where it cannot be told whose they should be: their checksums.
  void others_by_themselves() {
    std::vector<fs::path> files = in_rounds();
    for (const fs::path& file : {folder_.transitions_file(), folder_.metrics_file(),
                                 folder_.losses_file(), folder_.extracts_file()})
      if (is_there(file)) files.push_back(file);
    for (const fs::path& file : files) states_.push_back(check_file(file));
  }

  const RunFolder& folder_;
  std::vector<FileState> states_;
  std::optional<RunConfig> config_;
  std::optional<Manifest> manifest_;
  std::optional<std::size_t> ledgers_;
  std::map<std::size_t, std::string> data_of_;  // of the committees of rounds
};

}  // namespace

std::string_view to_string(Is is) {
  switch (is) {
    case Is::whole:
      return "whole";
    case Is::damaged:
      return "damaged";
    case Is::missing:
      return "missing";
    case Is::unsealed:
      return "has no checksum";
  }
  return "";
}

std::vector<FileState> check_run(const RunFolder& folder) {
  return RunCheck(folder).all();
}

std::vector<FileState> check_data(const fs::path& folder) {
  std::vector<FileState> states;
  states.push_back(check_file(folder / "config.yaml"));
  const bool sealed = states.front().is == Is::whole;
  if (is_there(folder / "journal.jsonl")) states.push_back(check_file(folder / "journal.jsonl"));
  for (const char* name : {"pool.h5", "test.h5"})
    if (const fs::path file = folder / name; is_there(file))
      states.push_back(look(
          file, [&] { return is_of(check_seal(file, sealed ? Sealed::always : Sealed::maybe)); }));
  if (const fs::path answers = folder / "answers.bin"; is_there(answers))
    states.push_back(look(answers, [&] {
      check_answers(folder / "journal.jsonl", answers);
      return Is::whole;
    }));
  return states;
}

FileState check_file(const fs::path& file) {
  const std::string extension = file.extension().string();
  return look(file, [&] {
    if (extension == ".safetensors") return read_model(file).sealed ? Is::whole : Is::unsealed;
    if (file.filename() == "journal.jsonl") {
      read_journal(file, {});
      return Is::whole;
    }
    if (extension == ".jsonl") {
      Is is = Is::whole;
      for (const JsonLine& line : read_json_lines(file, file.filename() != "metrics.jsonl"))
        if (!line.sealed) is = Is::unsealed;
      return is;
    }
    std::string text;
    if (extension == ".json" || extension == ".yaml") text = read_text_file(file);
    if (extension == ".json") return is_of(take_json_seal(text, file.string()));
    return is_of(check_seal(file));
  });
}

}  // namespace stap
