#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stap/config/value.h"

namespace stap {

class AppendFile;
class Lease;

struct JournalLine {
  std::uint64_t sequence = 0;  ///< from 0; line sequence + 1 of the file
  std::uint64_t offset = 0;    ///< its first byte in the file
  std::string type;
  config::Value body;  ///< a map
};
/// Is handed one line after the other; `where` ("run/journal.jsonl, line 3") is for messages.
using JournalVisitor = std::function<void(JournalLine&& line, const std::string& where)>;

/// The append-only record of what must not be lost: one JSON object a line, each with its sequence
/// number and a checksum (CRC-32C). One writer at a time: it is locked while it is open, and
/// lock.json beside it says by whom. Lines are not kept in memory. A line without its end, cut off
/// by a crash, is the last one; it is dropped when the journal is opened. Damage anywhere else is
/// Error(data) with file and line.
class Journal {
 public:
  /// Opens or creates it and hands on what is there. Throws Error(data), what `visit` throws,
  /// Error(storage) if it cannot be read and written, or InUse, with who works in its folder.
  explicit Journal(std::filesystem::path path, const JournalVisitor& visit = {});
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;

  /// A line that will be on disk when commit() returns; it must not be counted on before.
  void append(std::string_view type, const config::Value& body);
  /// Forces all lines that were appended to disk, with one write and one sync. Throws
  /// Error(storage); lines that could not be written are lost, and every later commit fails.
  void commit();
  /// The halves of commit(), for who forces several files to disk at the same time.
  void write();
  void sync();

  /// Hands on what is on disk once more.
  void read(const JournalVisitor& visit) const;
  /// Drops line `sequence`, which begins at byte `offset`, and all behind it.
  void cut(std::uint64_t sequence, std::uint64_t offset);
  /// Asked when a disk is full; true if there may be room now.
  void when_full(std::function<bool()> make_room);
  /// Who had it locked and was gone without its end ("process 4711 on n3, since ..."); or nobody.
  std::string left_by() const;

 private:
  std::unique_ptr<AppendFile> file_;
  std::unique_ptr<Lease> lock_;
  std::uint64_t next_ = 0;  // sequence number
  std::string pending_;     // lines that are not written yet
};

/// Hands on the lines of a journal that may be in use: only reads, does not lock. A line that is
/// being written, or was cut off, is left out. Throws Error(data) as Journal does, and if there is
/// no such file.
void read_journal(const std::filesystem::path& path, const JournalVisitor& visit);

/// A line of a journal of which some are damaged.
struct SalvagedLine {
  std::uint64_t sequence = 0;
  std::optional<JournalLine> whole{};
  std::string text{};  ///< what is there of a damaged one; nothing if it is gone
};
struct NewLine {
  std::string type;
  config::Value body;
};
/// Writes a journal anew, with another line in the place of every one for which `instead` gives
/// one: it must for those that are damaged, and all others stay what and where they are. False, and
/// nothing was written, if there is no such line, no whole one, or one that it does not replace.
/// Throws InUse if somebody works in its folder, Error(data) if whole lines do not follow each
/// other, and Error(storage).
bool rewrite_journal(
    const std::filesystem::path& path,
    const std::function<std::optional<NewLine>(const SalvagedLine& line)>& instead);

}  // namespace stap
