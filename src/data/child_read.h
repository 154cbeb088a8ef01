// Reading files that HDF5 may not survive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

#include "data/wire.h"

namespace stap::h5 {

/// Which files `guarded` reads in this process.
enum class Trust {
  own,     ///< those with a seal of ours that holds; one that does not is Error(data)
  nobody,  ///< none: what another program may have changed, a file of ours among them
};

/// While it lives, this thread reads `path` in this process and does not look at its seal again.
class Trusted {
 public:
  explicit Trusted(const std::filesystem::path& path);
  ~Trusted();
  Trusted(const Trusted&) = delete;
  Trusted& operator=(const Trusted&) = delete;

 private:
  const std::filesystem::path* before_;
};

/// The size of a file. Throws Error(data) for what is none.
std::uint64_t file_bytes(const std::filesystem::path& path);

/// Whether a read of `path` is part of one that is guarded, or the file is ours and whole. Throws
/// Error(data) for what is no file and for a seal that is broken.
bool is_within_guarded(const std::filesystem::path& path);
bool is_ours(const std::filesystem::path& path);
/// What STAP_TRUST says: own, which is the default, or none. Throws Error(config) for anything
/// else.
Trust chosen_trust();

/// Calls `read` in a child with limits (child_limits.h), which then sends what `travel` hands over,
/// and `travel` here, to receive it. Throws the Error that `read` throws; Error(data) if the child
/// crashed or went beyond its limits; Error(unavailable) if there can be no child.
void read_in_child(const std::filesystem::path& path, const std::function<void()>& read,
                   const std::function<void(Wire&)>& travel);

/// What `read` returns, a function that reads the file `path` and changes nothing: called here for
/// files of ours, in a child for all others. Guarded reads within it are parts of it, so a file of
/// which much is asked is looked at once.
template <class Read>
auto guarded(const std::filesystem::path& path, Trust trust, const Read& read) {
  if (is_within_guarded(path)) return read();
  if (trust == Trust::own && is_ours(path)) {
    const Trusted trusted(path);
    return read();
  }
  decltype(read()) result{};
  read_in_child(
      path, [&] { result = read(); }, [&](Wire& wire) { travel(wire, result); });
  return result;
}
template <class Read>
auto guarded(const std::filesystem::path& path, const Read& read) {
  return guarded(path, Trust::own, read);
}

}  // namespace stap::h5
