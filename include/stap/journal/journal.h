#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/value.h"

namespace stap {

struct JournalLine {
  std::uint64_t sequence = 0;
  std::string type;
  config::Value body;  ///< a map
};

/// The append-only record of what must not be lost: one JSON object a line, each with its sequence
/// number and a checksum (CRC-32C). One writer at a time: it is locked while it is open. A line
/// that was cut off by a crash is the last one; it is dropped when the journal is opened. Damage
/// anywhere else is Error(data).
class Journal {
 public:
  /// Opens or creates it and reads what is there. Throws Error(data), or Error(storage) if it
  /// cannot be written or another process has it open.
  explicit Journal(std::filesystem::path path);
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;

  const std::vector<JournalLine>& lines() const { return lines_; }
  /// Forced to disk when it returns. Throws Error(storage).
  void append(std::string_view type, config::Value body);

 private:
  void read();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::vector<JournalLine> lines_;
};

/// The lines of a journal that may be in use: only read, not locked. A line that is being written,
/// or was cut off, is left out. Texts under the key `without` come back empty: nearly all of a
/// journal is states, and who does not need them saves their memory and most of the time. Throws
/// Error(data) as above, and if there is no such file.
std::vector<JournalLine> read_journal(const std::filesystem::path& path,
                                      std::string_view without = {});

/// Doubles as text and back, bit for bit (base64, little endian). Throws Error(data) on bad text.
std::string encode_doubles(const std::vector<double>& values);
std::vector<double> decode_doubles(std::string_view text);

}  // namespace stap
