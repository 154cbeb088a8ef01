// Checksums that lie in the files they are about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

// A *seal* is a CRC-32C over all of a file's other bytes, so that no change of a byte passes. Where
// it lies depends on the format:
//   YAML, HDF5     a line at the end, "# stap-seal/1 crc32c=0123abcd bytes=<20 digits>
//   stap-seal-end":
//                  a comment to YAML, and behind what HDF5 looks at
//   JSON objects   their first member, {"crc":"0123abcd",…: whole files, and lines of a file each
//   safetensors    text "seal" of the metadata (src/nn/safetensors.cpp)
// Functions that read throw Error(data), naming `where` or the path, for a seal that is damaged or
// does not fit.
namespace stap {

enum class Seal { none, whole };
/// Files that may or must have a seal; one that is there is always checked.
enum class Sealed { maybe, always };

// --- a line at the end ---

/// To be put behind this content.
std::string seal_line(std::string_view content);
/// Takes the seal off a text. Where there is none the text is as it was, or refused if it must be
/// sealed.
Seal take_seal(std::string& text, const std::string& where, Sealed sealed = Sealed::maybe);
/// Puts one behind a file that is being written. Throws Error(storage) if that cannot be done;
/// `target` is its name for messages.
void add_seal(int file, const std::filesystem::path& target);
/// Looks at all of a file. A file that was found whole is not read again while it stays as it was.
Seal check_seal(const std::filesystem::path& path, Sealed sealed = Sealed::maybe);

// --- JSON ---

/// What sealed objects begin with; eight digits follow.
constexpr std::string_view kJsonSeal = "{\"crc\":\"";
/// The text of a JSON object, `{…`, with its seal.
std::string seal_json(std::string_view object);
/// Whether a text is a sealed object and its seal fits.
bool is_whole_json(std::string_view text);
/// Takes the seal off, as take_seal() does.
Seal take_json_seal(std::string& text, const std::string& where, Sealed sealed = Sealed::maybe);

[[noreturn]] void throw_damaged(const std::string& where);
[[noreturn]] void throw_unsealed(const std::string& where);

}  // namespace stap
