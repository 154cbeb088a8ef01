#include "stap/folder/own_folder.h"

#include <utility>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/config/files.h"
#include "stap/core/lock_holder.h"
#include "stap/journal/journal.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr const char *kOwnConfig = "config.yaml", *kOwnJournal = "journal.jsonl",
                     *kOwnAnswers = "answers.bin";

}  // namespace

bool OwnFolder::look() const {
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error))
    throw Error(ErrorKind::config, fmt::format("{} is a file: give a folder", path_.string()));
  const bool begun = fs::exists(path_ / kOwnConfig);
  if (begun)
    check_begun();
  else if (fs::exists(path_))
    refuse_other_things();
  return begun;
}

// We do not scatter files among a user's own.
void OwnFolder::refuse_other_things() const {
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (is_left(entry) || fs::exists(path_ / kOwnConfig)) continue;
    bool ours = false;
    try {
      read_journal(path_ / kOwnJournal, [&](JournalLine&& line, const std::string&) {
        ours = ours || line.type == kind_.line;
      });
    } catch (const Error& error) {  // none of ours, or damaged
      if (error.kind() != ErrorKind::data) throw;
    }
    if (ours)
      throw Error(ErrorKind::data, fmt::format("{} {}", path_.string(), kind_.without_config));
    throw Error(ErrorKind::config,
                fmt::format("{} holds {} and no {}: give a new or empty folder", path_.string(),
                            entry.path().filename().string(), kind_.holds));
  }
}

bool OwnFolder::is_left(const fs::directory_entry& entry) const {
  const std::string name = entry.path().filename().string();
  if (entry.is_symlink()) return false;
  if (is_remnant(entry)) return true;
  if (!entry.is_regular_file()) return false;
  if (is_lock_file(name) || is_written_aside(pending_target(name))) return true;
  if (name == kOwnAnswers) return entry.file_size() <= AnswerStore::kFirst;
  if (name != kOwnJournal) return false;
  try {
    read_journal(entry.path(), [&](JournalLine&& line, const std::string& where) {
      if (line.type != kind_.line) throw Error(ErrorKind::data, where);
    });
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return false;
  }
}

OwnFolder::Opened OwnFolder::open(Observer& observer, const JournalVisitor& others) const {
  look();
  make_folder(path_);
  std::string whose;
  bool empty = true;
  AnswerLog log(path_ / kOwnJournal, path_ / kOwnAnswers,
                [&](JournalLine&& line, const std::string& where) {
                  if (line.type == kind_.line)
                    whose = field<std::string>(line.body, kind_.key, where);
                  empty = false;
                  others(std::move(line), where);
                });
  if (const std::string before = log.left_by(); !before.empty())
    observer.note(
        fmt::format("{} was left by {}, which is gone: going on", path_.string(), before));
  if (log.dropped() > 0)
    observer.warning(
        fmt::format("{}: {} answers of the last commit were not on disk as a whole (a "
                    "power cut?); the solver is asked again",
                    path_.string(), log.dropped()));
  if (log.unnamed() > 0)
    observer.warning(fmt::format(
        "{}: {} bytes of answers have no line in the journal, and are asked again: they came just "
        "before a kill, or the journal's end is lost (then put it back before going on)",
        path_.string(), log.unnamed()));
  const bool begun = look();  // another process may have been here until just now
  remove_leftovers(
      path_, [&](const fs::path& file) { return file == "lock.json" || is_written_aside(file); });
  if (begun && !(empty && kind_.restarts)) check_id(whose);
  return {std::move(log), begun};
}

void OwnFolder::read(const JournalVisitor& others) const {
  std::string whose;
  read_journal(path_ / kOwnJournal, [&](JournalLine&& line, const std::string& where) {
    if (line.type == kind_.line) whose = field<std::string>(line.body, kind_.key, where);
    others(std::move(line), where);
  });
  check_id(whose);
}

void OwnFolder::check_id(const std::string& whose) const {
  if (const std::string mine = id(); whose != mine)
    throw Error(ErrorKind::data,
                fmt::format("{} is that of {} {}, but its folder's is {}: it has replaced "
                            "another",
                            (path_ / kOwnJournal).string(), whose.empty() ? "no" : kind_.holds,
                            whose.empty() ? kind_.holds : whose, mine));
}

}  // namespace stap
