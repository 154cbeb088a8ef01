#pragma once

#include <filesystem>
#include <string>

#include "core/descriptor.h"

namespace stap {

/// A new folder that only its owner may enter, called `name` and six further characters, in `place`
/// (empty: the system's for temporary files). Throws Error(storage) with the system's reason.
std::filesystem::path make_private_folder(const std::filesystem::path& place,
                                          const std::string& name);

/// Removes a folder and all in it, whatever rights a program has taken away there. Never throws.
void remove_folder(const std::filesystem::path& folder);
/// Gives us back the rights on a folder and those in it, as far as it can be done.
void unlock_folder(const std::filesystem::path& folder);

/// A private folder of this process, called `name`, the process's number and six further
/// characters, removed with its content in the end. A lock says that it is in use, also to other
/// machines that share `place`: those of the same name that processes which are gone have left
/// there are removed when one is made.
class PrivateFolder {
 public:
  /// `place`, empty: the system's for temporary files, is made if it is not there. Throws
  /// Error(storage).
  PrivateFolder(const std::filesystem::path& place, const std::string& name);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// If there is anything in it, it stays behind, for people: nobody removes it any more.
  void leave();

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace stap
