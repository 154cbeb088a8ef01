// An HDF5 file that is being written aside: what all writers share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/pending_file.h"
#include "data/hdf5.h"
#include "stap/data/store.h"

namespace stap::h5 {

/// Every function throws Error(storage) with the path and the cause. Callers hold a Quiet, also
/// while it is destroyed: closing a file may fail, too.
class Output {
 public:
  /// Makes the temporary file, and removes those that a killed process has left of the same target.
  explicit Output(const std::filesystem::path& target) : pending_(target) {
    remove_leftovers_of(target);
  }

  const std::filesystem::path& target() const { return pending_.target(); }
  /// Asked before create(): HDF5 1.10 may crash at exit if it could not write all of a file.
  void check_room(std::uintmax_t bytes) const { pending_.check_room(bytes); }
  /// Makes it an HDF5 file.
  void create();
  hid_t file() const { return file_.get(); }
  /// Closes all that is left open of the file, puts a seal behind it and forces it to disk (unless
  /// it may be lost), and puts it in its place. Handles of the caller must be closed before.
  void commit(bool forced = true);

  /// Every HDF5 call passes through here; a negative value is its way to say no.
  template <class Result>
  Result check(Result result) const {
    if (result < 0) fail(last_error());
    return result;
  }
  [[noreturn]] void fail(const std::string& why) const;

  /// Closing a dataset may be what writes it.
  void close(Handle& handle) const {
    if (!handle.close()) fail(last_error());
  }

  /// Text of a fixed number of bytes, padded with zeros: that of HDF5's other kind lies in a heap
  /// whose damage HDF5 1.10 does not survive.
  Handle text_type(std::size_t bytes) const;
  Handle space(const std::vector<hsize_t>& shape) const;
  /// How datasets are made: without the time of day, so that equal content gives equal bytes.
  Handle dataset_creation() const;
  Handle dataset(const std::string& name, hid_t type, const Handle& space,
                 const Handle& creation) const;
  void attribute(hid_t object, const char* name, const std::string& text) const;
  void attribute(hid_t object, const char* name, double number) const;
  void attribute(hid_t object, const char* name, std::span<const double> numbers) const;
  void attribute(hid_t object, const char* name, std::span<const std::int64_t> numbers) const;
  /// The attributes that read_state_info() reads.
  void describe(const StateInfo& info) const;

 private:
  PendingFile pending_;  // outlives the HDF5 handle: that is closed first
  Handle file_;
};

}  // namespace stap::h5
