#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stap {

class AppendFile;

/// Where a state is in the store, and what its bytes must give.
struct StatePlace {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t crc = 0;  ///< CRC-32C

  std::uint64_t end() const { return offset + bytes; }
  bool operator==(const StatePlace&) const = default;
};

/// `answers.bin`: a line "stap answers/1" and then states, one behind the other, as little-endian
/// doubles. Append only; which bytes are a state says whoever wrote them down (AnswerLog).
class AnswerStore {
 public:
  static constexpr std::string_view kHeader = "stap answers/1 \n";
  static constexpr std::uint64_t kFirst = kHeader.size();  ///< byte of the first state

  enum class Open { append, read };

  /// Opens or creates it; to read, it must be there. Throws Error(data) if it is not of this
  /// format, Error(storage) if it cannot be read and, unless that is all, written.
  explicit AnswerStore(std::filesystem::path path, Open how = Open::append);
  ~AnswerStore();

  /// Where it will be when commit() has returned.
  StatePlace append(std::span<const double> state);
  /// Forces all that was appended to disk. Throws Error(storage).
  void commit();
  /// The halves of commit().
  void write();
  void sync();

  /// Whether the bytes of a place are there and give its checksum.
  bool holds(const StatePlace& place) const;
  /// Throws Error(data), with file and place, unless it holds it.
  std::vector<double> read(const StatePlace& place) const;
  /// Asked when a disk is full; true if there may be room now.
  void when_full(std::function<bool()> make_room);
  const std::filesystem::path& path() const;
  std::uint64_t size() const;  ///< bytes written
  /// Drops what is behind byte `end`, but never the first line.
  void cut(std::uint64_t end);

 private:
  std::unique_ptr<AppendFile> file_;
  std::string pending_;
};

}  // namespace stap
