// The files of a spool folder. No lock is relied on: what counts is that moving a file has one
// winner.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stap {

/// Where things are:
///
///   spool.json            what it is: format spool/1
///   problems/ID.json      how to make the solver of a problem
///   queries/KEY           asked, and nobody's yet
///   claimed/KEY.SERVER    what a server works on
///   answers/KEY           until whoever asked has it in a journal
///   servers/NAME          signs of life of a server
///   askers/NUMBER         the lease of the process that asks: the highest number is the one
///   aside/                what is being written
class SpoolFolder {
 public:
  /// Makes it, if need be. Throws Error(storage), and Error(config) for a folder that holds
  /// something else.
  static SpoolFolder make(const std::filesystem::path& path);
  /// One that is there; empty while it is an empty folder. Throws Error(data) for anything else.
  static std::optional<SpoolFolder> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path folder(const char* name) const { return path_ / name; }
  std::filesystem::path problem(const std::string& id) const;
  std::filesystem::path query(const std::string& key) const { return path_ / "queries" / key; }
  std::filesystem::path claim(const std::string& key, const std::string& server) const;
  std::filesystem::path answer(const std::string& key) const { return path_ / "answers" / key; }
  std::filesystem::path server(const std::string& name) const { return path_ / "servers" / name; }
  /// Puts a file in its place in one step. `who` writes no two files at a time. Throws
  /// Error(storage).
  void put(const std::filesystem::path& file, std::span<const std::byte> bytes,
           const std::string& who, bool forced) const;

 private:
  explicit SpoolFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

/// A query that a server works on.
struct SpoolClaim {
  std::string key, server;
};
std::vector<SpoolClaim> claims_in(const SpoolFolder& folder);

/// The names in a folder, as they are now also where the file system keeps old listings (NFS), if
/// that is not asked more often than about every second. Empty if it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder, bool fresh);
/// A whole file of at most `most` bytes; empty: it is not there, or longer.
std::optional<std::vector<std::byte>> bytes_of(const std::filesystem::path& file, std::size_t most);
/// True if the file was moved by this call: of all who try, one is told so.
bool move_file(const std::filesystem::path& from, const std::filesystem::path& to);
/// False only if it surely is not.
bool is_there(const std::filesystem::path& file);
/// True if it was there. An empty folder of that name, which nobody of us makes, goes as well.
bool remove_file(const std::filesystem::path& file);

}  // namespace stap
