// A file that one process at a time holds, among those of all machines that see it. No lock of a
// file system is relied on. Who has it gives signs of life in it and removes it in the end; who
// wants it takes the place of one who has ended on this machine, or gives no signs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/signs.h"
#include "stap/core/lock_holder.h"

namespace stap {

class Lease {
 public:
  /// Null: another has it, `holder` says who, or is about to take it; ask again. `silence`: seconds
  /// without a sign after which others may take it. Throws Error(storage).
  static std::unique_ptr<Lease> take(const std::filesystem::path& file, double silence,
                                     LockHolder& holder);
  /// The same with another pause between two signs, for tests.
  static std::unique_ptr<Lease> take(const std::filesystem::path& file, double silence,
                                     LockHolder& holder, std::chrono::duration<double> beat);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// Another has taken it: nothing must be written any more. Who was asleep for so long that this
  /// may be so looks before it answers.
  bool lost();
  /// Whose place it took: somebody who did not come to the end.
  const std::optional<LockHolder>& before() const { return before_; }
  const std::string& name() const { return signer_.name(); }

 private:
  Lease(std::filesystem::path file, double silence);
  std::string next_sign();
  void beat();

  std::filesystem::path file_;
  double silence_;
  Signer signer_;
  std::optional<LockHolder> before_;
  std::mutex mutex_;
  std::atomic<double> signed_;  // when the last sign was given
  std::atomic<bool> lost_ = false;
  std::optional<Repeated> heart_;
};

/// The lease of a folder, lock.json. Throws InUse, with who has it, or Error(storage).
std::unique_ptr<Lease> lock_folder(const std::filesystem::path& folder);

/// "FOLDER is in use by ...", as far as its lock.json tells.
std::string in_use_text(const std::filesystem::path& folder);

}  // namespace stap
