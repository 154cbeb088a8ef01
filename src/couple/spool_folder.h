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

/// Whose folder a server acts on, which starts the program that the folder names.
enum class Whose {
  anyones,
  ours  ///< nobody but us and root can have written it; Error(config) otherwise
};

/// Where things are:
///
///   spool.json            what it is: format spool/2
///   problems/ID.json      how to make the solver of a problem
///   queries/KEY           asked, and nobody's yet
///   claimed/KEY.SERVER    what a server works on
///   answers/KEY           until whoever asked has it in a journal
///   servers/NAME          signs of life of a server
///   askers/NUMBER         the lease of the process that asks: the highest number is the one
///   aside/                what is being written
class SpoolFolder {
 public:
  /// Makes it, if need be, so that nobody else can write in it. Throws Error(storage), and
  /// Error(config) for a folder that holds something else.
  static SpoolFolder make(const std::filesystem::path& path);
  /// One that is there; empty while it is an empty folder. Throws Error(data) for anything else,
  /// also of an earlier version or damaged.
  static std::optional<SpoolFolder> open(const std::filesystem::path& path,
                                         Whose whose = Whose::anyones);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path folder(const char* name) const { return path_ / name; }
  std::filesystem::path problem(const std::string& id) const;
  std::filesystem::path query(const std::string& key) const { return path_ / "queries" / key; }
  std::filesystem::path claim(const std::string& key, const std::string& server) const;
  std::filesystem::path answer(const std::string& key) const { return path_ / "answers" / key; }
  std::filesystem::path server(const std::string& name) const { return path_ / "servers" / name; }
  /// The text of a problem's file; empty: there is none. Throws Error(data) if it cannot be read.
  std::optional<std::string> problem_text(const std::string& id) const;
  /// Writes spool.json again if it is damaged or missing. Throws Error(storage).
  void keep_about() const;
  /// Throws Error(storage).
  void put_problem(const std::string& id, const std::string& text) const;
  /// Puts a file in its place in one step. `who` writes no two files at a time. Throws
  /// Error(storage).
  void put(const std::filesystem::path& file, std::span<const std::byte> bytes,
           const std::string& who, bool forced) const;

 private:
  SpoolFolder(std::filesystem::path path, Whose whose) : path_(std::move(path)), whose_(whose) {}

  std::filesystem::path path_;
  Whose whose_;
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
