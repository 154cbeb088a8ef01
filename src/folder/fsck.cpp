#include "stap/folder/fsck.h"

#include <algorithm>

#include <fmt/format.h>

#include "folder/look_at_file.h"
#include "stap/folder/run_id.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Is = FileState::Is;

Is is_of(Seal seal) {
  return seal == Seal::whole ? Is::whole : Is::unsealed;
}

}  // namespace

bool any_file_at(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// What a look at a file says.
FileState look_at_file(const fs::path& file, const std::function<Is()>& at) {
  try {
    return {file, at()};
  } catch (const Error& error) {
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
  std::vector<FileState> states;
  states.push_back(check_file(folder / "config.yaml"));
  const bool sealed = states.front().is == Is::whole;
  if (any_file_at(folder / "journal.jsonl")) states.push_back(check_file(folder / "journal.jsonl"));
  for (const char* name : {"pool.h5", "test.h5"})
    if (const fs::path file = folder / name; any_file_at(file))
      states.push_back(look_at_file(
          file, [&] { return is_of(check_seal(file, sealed ? Sealed::always : Sealed::maybe)); }));
  if (const fs::path answers = folder / "answers.bin"; any_file_at(answers))
    states.push_back(look_at_file(answers, [&] {
      check_answers(folder / "journal.jsonl", answers);
      return Is::whole;
    }));
  return states;
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
