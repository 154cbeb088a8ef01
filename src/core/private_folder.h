#pragma once

#include <filesystem>
#include <string>

namespace stap {

/// A new folder that only its owner may enter, called `name` and six further characters, in `place`
/// (empty: the system's for temporary files). Throws Error(storage) with the system's reason.
std::filesystem::path make_private_folder(const std::filesystem::path& place,
                                          const std::string& name);

}  // namespace stap
