#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "stap/core/error.h"
#include "stap/core/observer.h"
#include "stap/journal/answer_log.h"

namespace stap {

/// In the config.yaml and simulation.h5 of a folder that simulate() makes.
inline constexpr std::string_view kSimulationFormat = "simulation/1";

/// A folder that is ours, or will be: of a run, or of generated data. Its config.yaml is written
/// last, so one that has it is whole, and its journal says whose it is before anything else.
class OwnFolder {
 public:
  struct Kind {
    std::string_view holds;           ///< "run": for messages
    std::string_view without_config;  ///< what is wrong where only config.yaml is gone
    std::string_view line;            ///< type of the journal's lines that say whose it is,
    const char* key;                  ///< and where they do
    bool restarts = false;  ///< its journal begins again at the end: a kill then leaves it empty
  };
  struct Opened {
    AnswerLog log;
    bool begun = false;  ///< else it must get a first line in its journal, and a configuration
  };

  virtual ~OwnFolder() = default;
  const std::filesystem::path& path() const { return path_; }

  /// Throws Error(config) for a folder of other things, and what check_begun() throws; touches
  /// nothing. Whether it is begun.
  bool look() const;
  /// Makes it, or opens it to go on with it: locked, and without what killed processes have left of
  /// our files in it. The observer is told what they have lost. Nothing is touched in a folder that
  /// is refused. Throws as look() does, InUse, Error(data) for damage or another folder's journal,
  /// and Error(storage).
  Opened open(Observer& observer, const JournalVisitor& others) const;
  /// Reads its journal, and throws Error(data) if it is another folder's.
  void read(const JournalVisitor& others) const;

 protected:
  OwnFolder(std::filesystem::path path, Kind kind) : path_(std::move(path)), kind_(kind) {}

  /// Throws unless the config.yaml that is there is the one that is wanted.
  virtual void check_begun() const = 0;
  /// Whose it is, as its journal must say.
  virtual std::string id() const = 0;
  /// Whether a file, by its path in the folder, is one that we write aside and rename.
  virtual bool is_written_aside(const std::filesystem::path& file) const = 0;
  /// Whether an entry may be what a process has left that was killed before there was a
  /// config.yaml, besides locks, temporary files, and a journal without answers.
  virtual bool is_remnant(const std::filesystem::directory_entry&) const { return false; }

 private:
  bool is_left(const std::filesystem::directory_entry& entry) const;
  void refuse_other_things() const;
  void check_id(const std::string& whose) const;

  std::filesystem::path path_;
  Kind kind_;
};

/// A folder that cannot be looked into is one that cannot be written.
template <class Work>
auto with_storage_errors(const Work& work) {
  try {
    return work();
  } catch (const std::filesystem::filesystem_error& failure) {
    throw Error(ErrorKind::storage, failure.path1().string() + ": " + failure.code().message());
  }
}

}  // namespace stap
