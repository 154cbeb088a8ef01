// Looking at files for `stap fsck` (stap/folder/fsck.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "stap/folder/fsck.h"

namespace stap {

/// Of states in answers.bin that no line of the journal names; empty: there are none.
std::string unnamed_text(std::uint64_t bytes);

/// Something of this name, whatever it is.
bool any_file_at(const std::filesystem::path& path);
/// What a look at a file says: `at` gives its state, or throws Error.
FileState look_at_file(const std::filesystem::path& file, const std::function<FileState::Is()>& at);

}  // namespace stap
