// Looking at files for `stap fsck` (stap/folder/fsck.h).
#pragma once

#include <filesystem>
#include <functional>

#include "stap/folder/fsck.h"

namespace stap {

/// Something of this name, whatever it is.
bool any_file_at(const std::filesystem::path& path);
/// What a look at a file says: `at` gives its state, or throws Error.
FileState look_at_file(const std::filesystem::path& file, const std::function<FileState::Is()>& at);

}  // namespace stap
