#include "stap/folder/claim.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "folder/plan_file.h"
#include "stap/core/error.h"
#include "stap/folder/own_folder.h"
#include "stap/folder/run_id.h"
#include "stap/journal/journal.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// With the defaults of options that the version which wrote it did not know: they change nothing.
Value completed(const Value& document) {
  config::Complaints complaints;
  Study study = read_study(document, Purpose::look, complaints);
  return complaints.empty() ? std::move(study.effective) : document;
}

// Where it is computed may change from one command to the next; what is computed may not. True if
// the configuration asks for more rounds than the folder's.
bool raises_rounds(const RunFolder& folder, const Value& document) {
  const Value there = folder.read_config();
  const auto rounds_of = [](const Value& value) -> std::optional<std::uint64_t> {
    const Value* study = value.find("study");
    const Value* rounds = study != nullptr ? study->find("rounds") : nullptr;
    return rounds != nullptr ? rounds->integer<std::uint64_t>() : std::nullopt;
  };
  const auto mine = rounds_of(document), theirs = rounds_of(there);
  auto differing =
      differences(essential_config(with_older_meaning(document)),
                  essential_config(completed(with_older_meaning(there))), folder.path().string());
  if (mine && theirs && *mine < *theirs)
    differing.push_back(fmt::format("study.rounds: {} in this command, {} in {}", *mine, *theirs,
                                    folder.path().string()));
  if (!differing.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} holds a run of another configuration; choose another folder or "
                            "the old configuration:\n  {}",
                            folder.path().string(), fmt::join(differing, "\n  ")));
  return mine > theirs;
}

// What the run's manifest must become: it is where networks are trained and walks are made that may
// be known only later. Throws if its problem is another one.
Manifest continued(const RunFolder& folder, const Manifest& mine, Observer& observer) {
  Manifest theirs = folder.read_manifest();
  const auto differing = differences(essential_identity(mine.identity),
                                     essential_identity(theirs.identity), folder.path().string());
  if (!differing.empty())
    throw Error(
        ErrorKind::data,
        fmt::format("{} was begun with another problem, pool, test set or first transitions:\n  {}",
                    folder.path().string(), fmt::join(differing, "\n  ")));
  if (mine.instruction_set != theirs.instruction_set)
    observer.warning(
        fmt::format("{} was begun with instruction set {}, this is {}: the result will "
                    "not be bit-equal to an uninterrupted run (STAP_ISA={} would)",
                    folder.path().string(), theirs.instruction_set, mine.instruction_set,
                    theirs.instruction_set));
  const bool walks_here = !mine.walked_on.empty();  // and trains nothing
  if (walks_here && !theirs.device.empty() && theirs.device != mine.walked_on &&
      theirs.walked_on.empty())
    theirs.walked_on = mine.walked_on;
  else if (!walks_here && theirs.device.empty())
    theirs.device = mine.device;
  if (!walks_here && mine.device != theirs.device)
    observer.warning(
        fmt::format("{} was begun on {}, this is {}: the result will not be bit-equal "
                    "to an uninterrupted run",
                    folder.path().string(), theirs.device, mine.device));
  return theirs;
}

// The configuration with which a run has more rounds. Its run is named after the rest, so that
// one that an earlier version began keeps what that version knew.
Value raised_config(const RunFolder& folder, const Value& document) {
  Value theirs = folder.read_config();
  if (differences(essential_config(document), essential_config(theirs), "").empty())
    return document;
  theirs.find("study")->set("rounds", *document.find("study")->find("rounds"));
  return theirs;
}

// Goes on with a run: its files as they must be now, but for more rounds. True if it was begun on
// another device or with another instruction set, or if some of its walks were made on another
// device than it is trained on.
bool go_on(const RunFolder& folder, AnswerLog& log, const Manifest& mine, Observer& observer) {
  const Manifest now = continued(folder, mine, observer);
  if (manifest_text(now) != manifest_text(folder.read_manifest())) {
    log.note(kRunLine, run_line(now, folder.read_config()));
    folder.write_manifest(now);
  }
  for (const fs::path& file : {folder.timings_file(), folder.losses_file()}) cut_torn_line(file);
  return (mine.walked_on.empty() && mine.device != now.device) || !now.walked_on.empty() ||
         mine.instruction_set != now.instruction_set;
}

// A run that has a configuration has a journal, and one that has bought something a line in it.
void check_journal(const RunFolder& folder) {
  std::error_code missing;
  const bool bought = fs::exists(folder.transitions_file());
  for (const fs::path& file : {folder.journal_file(), folder.answers_file()}) {
    const auto size = fs::file_size(file, missing);
    if (missing || (bought && size == 0))
      throw Error(ErrorKind::data,
                  fmt::format("{} is missing or empty: the run cannot be continued without it",
                              file.string()));
  }
}

// The folder of a run of this configuration.
class OwnRun final : public OwnFolder {
 public:
  OwnRun(const RunFolder& folder, const Value& document)
      : OwnFolder(folder.path(),
                  {.holds = "run",
                   .without_config = "holds a run without its config.yaml: 'stap fsck --repair' "
                                     "rebuilds it from the journal",
                   .line = kRunLine,
                   .key = "run"}),
        folder_(folder),
        document_(document) {}

 private:
  void check_begun() const override {
    raises_rounds(folder_, document_);
    check_journal(folder_);
  }
  std::string id() const override { return folder_.run(); }

  bool is_written_aside(const fs::path& file) const override {
    constexpr std::array top{"config.yaml",    "manifest.json", "metrics.jsonl", "losses.jsonl",
                             "transitions.h5", "extracts.h5",   "status.json",   "analysis.json",
                             "analysis.h5",    "report.html",   "bars.json",     kSharedExtracts};
    constexpr std::array in_round{"committee.safetensors", "training.safetensors",
                                  "stage.safetensors"};
    const fs::path parent = file.parent_path();
    const std::string name = file.filename().string();
    if (parent.empty()) return std::ranges::find(top, name) != top.end();
    return parent.parent_path() == "rounds" &&
           (std::ranges::find(in_round, name) != in_round.end() || pass_of(name) > 0);
  }

  bool is_remnant(const fs::directory_entry& entry) const override {
    const std::string name = entry.path().filename().string();
    if (name == "rounds") return entry.is_directory() && fs::is_empty(entry.path());
    if (name == "failures") return entry.is_directory();  // of queries for the test set
    if (!entry.is_regular_file()) return false;
    try {
      if (name == "manifest.json") folder_.read_manifest();
      // Left while its data were made; not forced to disk, so a power cut may leave nothing of it.
      if (name == "status.json" && entry.file_size() > 0) folder_.read_status();
      return name == "manifest.json" || name == "status.json";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      return false;
    }
  }

  const RunFolder& folder_;
  const Value& document_;
};

ClaimedFolder claim_or_throw(RunFolder folder, const Value& document, const Manifest& manifest,
                             Observer& observer) {
  std::size_t ledgers = 0;
  auto [log, begun] =
      OwnRun(folder, document).open(observer, [&](JournalLine&& line, const std::string& where) {
        if (line.type != "ledger") return;
        read_ledger(line.body, where);
        const auto of = field<std::uint64_t>(line.body, "acquisition", where);
        if (of != ledgers)
          throw Error(
              ErrorKind::data,
              fmt::format("{} is the ledger of acquisition {}, expected {}", where, of, ledgers));
        ++ledgers;
      });
  bool other_device = false;
  std::optional<Value> raised;
  if (begun) {
    if (raises_rounds(folder, document)) raised = raised_config(folder, document);
    other_device = go_on(folder, log, manifest, observer);
  } else {
    make_folder(folder.path() / "rounds");
    Manifest own = manifest;
    own.run = run_id(document, manifest.identity);
    own.walked_on.clear();  // there was nothing to walk on yet
    log.restart(kRunLine, run_line(own, document));
    folder.write_manifest(own);
    folder.write_config(document);
  }
  return {std::move(folder), std::move(log), other_device, ledgers, std::move(raised)};
}

}  // namespace

void keep_older_meaning(Study& study, const RunFolder& folder) {
  std::error_code missing;
  if (fs::exists(folder.config_file(), missing)) keep_older_meaning(study, folder.read_config());
}

void check_claim(const RunFolder& folder, const Value& document) {
  with_storage_errors([&] { OwnRun(folder, document).look(); });
}

void raise_rounds(const RunFolder& folder, AnswerLog& log, const Value& raised) {
  log.note(kRunLine, run_line(folder.read_manifest(), raised));
  folder.write_config(raised);
}

ClaimedFolder claim(RunFolder folder, const Value& document, const Manifest& manifest,
                    Observer& observer) {
  return with_storage_errors(
      [&] { return claim_or_throw(std::move(folder), document, manifest, observer); });
}

}  // namespace stap
