#include "stap/folder/fsck.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "folder/look_at_file.h"
#include "stap/folder/own_folder.h"
#include "stap/folder/run_id.h"
#include "stap/study/data_request.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Is = FileState::Is;

Is is_of(Seal seal) {
  return seal == Seal::whole ? Is::whole : Is::unsealed;
}

// A folder of generated data, file by file. Each says whose it is: by its key.
class DataCheck {
 public:
  explicit DataCheck(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<FileState> all() {
    document_ = if_readable([&] { return read_yaml(config_); });
    const Value* format = document_ ? document_->find("format") : nullptr;
    const auto of_journal = if_readable([&] { return key_in_journal(); });
    // Or a file of somebody's own beside data of theirs, or of an earlier version.
    ours_ = (format != nullptr && format->text() != nullptr && *format->text() == kDataFormat) ||
            (of_journal && !of_journal->empty()) || has_key("pool.h5") || has_key("test.h5");
    if (!ours_) {
      states_.push_back(check_file(config_));
    } else {
      add(config_, [&] {
        const Value whole = read_yaml(config_, Sealed::always);
        check_format(field<std::string>(whole, "format", config_), kDataFormat, config_);
        key_ = data_key(whole);
      });
    }
    if (any_file_at(journal_) || any_file_at(answers_)) add(journal_, [&] { check_journal(); });
    for (const char* name : kProducts) product(name);
    if (format != nullptr && format->text() != nullptr && *format->text() == kSimulationFormat)
      for (const char* name : kSimulated) simulated(folder_ / name);
    if (any_file_at(answers_)) answers();
    return std::move(states_);
  }

 private:
  void add(const fs::path& file, const std::function<void()>& check) {
    states_.push_back(look_at_file(file, [&] {
      check();
      return Is::whole;
    }));
  }
  std::string key_in_journal() const {
    std::string key;
    read_journal(journal_, [&](JournalLine&& line, const std::string& where) {
      if (line.type == "session") key = field<std::string>(line.body, "data_key", where);
    });
    return key;
  }
  std::string key_in(const fs::path& file) const {
    return has_attribute(file, "/", "data_key") ? read_text_attribute(file, "/", "data_key") : "";
  }
  bool has_key(const char* name) const {
    return if_readable([&] { return key_in(folder_ / name); }).value_or("") != "";
  }
  void compare(const std::string& key) const {
    if (!key_.empty() && key != key_)
      throw Error(ErrorKind::data, "it is that of other data than config.yaml describes");
  }
  // Whether config.yaml says that there is such a file.
  bool wanted(const char* name) const {
    const Value* rows = document_ ? document_->find(fs::path(name).stem().string()) : nullptr;
    return rows != nullptr && rows->integer<std::size_t>().value_or(0) > 0;
  }
  // When both files are whole the journal begins again: a kill may have left it empty then.
  bool begins_again() const {
    return any_file_at(answers_) && std::ranges::all_of(kProducts, [&](const char* name) {
             return !wanted(name) || any_file_at(folder_ / name);
           });
  }
  void check_journal() const {
    const std::string key = key_in_journal();
    if (key.empty() && begins_again()) return;
    if (ours_ && key.empty())
      throw Error(ErrorKind::data, "its beginning is lost: it does not say whose it is");
    compare(key);
  }
  void product(const char* name) {
    const fs::path file = folder_ / name;
    if (any_file_at(file))
      states_.push_back(look_at_file(file, [&] {
        const Is is = is_of(check_seal(file, ours_ ? Sealed::always : Sealed::maybe));
        if (ours_) compare(key_in(file));
        return is;
      }));
    else if (!key_.empty() && wanted(name) && !any_file_at(answers_))
      states_.push_back({file, Is::missing, "config.yaml describes it"});
  }
  // Of a simulation that is not at its end they are not there yet.
  void simulated(const fs::path& file) {
    if (any_file_at(file)) add(file, [&] { check_seal(file, Sealed::always); });
  }
  void answers() {
    std::uint64_t unnamed = 0;
    add(answers_, [&] { unnamed = check_answers(journal_, answers_); });
    states_.back().why += unnamed_text(unnamed);
  }

  static constexpr std::array kProducts{"pool.h5", "test.h5"};
  static constexpr std::array kSimulated{"simulation.h5", "transitions.h5"};

  fs::path folder_, config_ = folder_ / "config.yaml", journal_ = folder_ / "journal.jsonl",
                    answers_ = folder_ / "answers.bin";
  std::vector<FileState> states_;
  std::optional<Value> document_;
  bool ours_ = false;
  std::string key_;  // of the configuration; empty: not known
};

}  // namespace

std::string unnamed_text(std::uint64_t bytes) {
  if (bytes == 0) return {};
  return fmt::format(
      "{} bytes of it have no line in the journal: they came just before a kill, or the journal's "
      "end is lost",
      bytes);
}

bool any_file_at(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// What a look at a file says.
FileState look_at_file(const fs::path& file, const std::function<Is()>& at) {
  try {
    return {file, at()};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unavailable) throw;  // says nothing of the file
    return {file, any_file_at(file) ? Is::damaged : Is::missing, error.what()};
  }
}

std::size_t study_size(const Value& document, const char* key) {
  const Value* value = config::find_path(document, std::string("study.") + key);
  return value != nullptr ? value->integer<std::size_t>().value_or(0) : 0;
}

RunRecord read_record(const fs::path& journal) {
  RunRecord record;
  read_journal(journal, [&](JournalLine&& line, const std::string& where) {
    if (line.type == kRunLine) {
      record.run = field<std::string>(line.body, "run", where);
      record.configs.push_back(field<std::string>(line.body, "config", where));
      record.manifests.push_back(field<std::string>(line.body, "manifest", where));
    }
    if (line.type == "ledger") {
      record.passes.push_back(read_ledger(line.body, where).passes);
    }
    if (record.run.empty())
      throw Error(ErrorKind::data, fmt::format("{} does not say whose journal it is", where));
  });
  return record;
}

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

bool is_run(const fs::path& folder) {
  const RunFolder run(folder);
  if (any_file_at(run.manifest_file()) || any_file_at(folder / "rounds")) return true;
  if (const auto config = if_readable([&] { return read_yaml(run.config_file()); }))
    if (const Value* format = config->find("format");
        format != nullptr && format->text() != nullptr)
      return format->text()->starts_with("run/");
  return if_readable([&] { return read_record(run.journal_file()).run; }).value_or("") != "";
}

bool is_simulation(const fs::path& folder) {
  if (const auto config = if_readable([&] { return read_yaml(folder / "config.yaml"); }))
    if (const Value* format = config->find("format");
        format != nullptr && format->text() != nullptr)
      return format->text()->starts_with("simulation/");
  bool says_so = false;
  if_readable([&] {
    read_journal(folder / "journal.jsonl", [&](const JournalLine& line, const std::string&) {
      says_so = says_so || line.type == "simulation";
    });
    return true;
  });
  return says_so;
}

Purchases purchases_of(const RunFolder& folder) {
  Purchases purchases;
  purchases.ledgers = purchases.known = read_record(folder.journal_file()).ledgers();
  const auto count = [](const auto& read) { return if_readable(read).value_or(0); };
  // A training set comes before its ledger.
  const std::size_t bought = count([&] { return folder.read_transitions().acquisitions; });
  const std::size_t evaluated = count([&] { return folder.read_metrics().size(); });
  purchases.known = std::max({purchases.known, evaluated, bought > 0 ? bought - 1 : 0});
  if (purchases.known > purchases.ledgers) purchases.known = std::max(evaluated, bought);
  return purchases;
}

std::vector<FileState> check_data(const fs::path& folder) {
  return DataCheck(folder).all();
}

FileState check_file(const fs::path& file) {
  const std::string extension = file.extension().string();
  return look_at_file(file, [&] {
    if (extension == ".safetensors" || file.filename() == "journal.jsonl") {
      if (extension == ".safetensors")
        read_model(file);
      else
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
