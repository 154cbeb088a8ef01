// An HDF5 file that is being written aside: what all writers share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/pending_file.h"
#include "data/hdf5.h"

namespace stap::h5 {

/// Every function throws Error(storage) with the path and the cause. Callers hold a Quiet, also
/// while it is destroyed: closing a file may fail, too.
class Output {
 public:
  /// Makes the temporary file.
  explicit Output(std::filesystem::path target) : pending_(std::move(target)) {}

  const std::filesystem::path& target() const { return pending_.target(); }
  /// Asked before create(): HDF5 1.10 may crash at exit if it could not write all of a file.
  void check_room(std::uintmax_t bytes) const { pending_.check_room(bytes); }
  /// Makes it an HDF5 file.
  void create();
  hid_t file() const { return file_.get(); }
  /// Closes all that is left open of the file, forces it to disk and puts it in its place. Handles
  /// of the caller must be closed before.
  void commit();

  /// Every HDF5 call passes through here; a negative value is its way to say no.
  template <class Result>
  Result check(Result result) const {
    if (result < 0) fail(last_error());
    return result;
  }
  [[noreturn]] void fail(const std::string& why) const;

  Handle text_type() const;
  Handle space(const std::vector<hsize_t>& shape) const;
  /// How datasets are made: without the time of day, so that equal content gives equal bytes.
  Handle dataset_creation() const;
  Handle dataset(const std::string& name, hid_t type, const Handle& space,
                 const Handle& creation) const;
  void attribute(hid_t object, const char* name, const std::string& text) const;
  void attribute(hid_t object, const char* name, double number) const;

 private:
  PendingFile pending_;  // outlives the HDF5 handle: that is closed first
  Handle file_;
};

}  // namespace stap::h5
