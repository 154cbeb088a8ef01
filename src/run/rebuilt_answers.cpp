#include "run/rebuilt_answers.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <tuple>

#include "core/crc32c.h"
#include "core/mend.h"
#include "stap/config/files.h"

namespace stap {

RebuiltAnswers rebuilt_answers(const RunFolder& folder, const TransitionSet& set) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::span<const double>> known;
  const std::size_t values = set.count() > 0 ? set.grid.values() : 0;
  for (std::size_t i = 0; i < set.count(); ++i)
    known[{set.origins[i].acquisition, set.origins[i].candidate, set.origins[i].step}] =
        std::span(set.outputs).subspan(i * values, values);

  RebuiltAnswers rebuilt;
  std::error_code none;
  if (std::filesystem::is_regular_file(folder.answers_file(), none))
    rebuilt.bytes = read_text_file(folder.answers_file());
  std::string& bytes = rebuilt.bytes;
  bytes.replace(0, std::min<std::size_t>(bytes.size(), AnswerStore::kFirst), AnswerStore::kHeader);
  visit_states(folder.journal_file(), [&](std::size_t acquisition, const LoggedAnswer& answer,
                                          const StatePlace& place) {
    const auto found = known.find({acquisition, answer.candidate, answer.step});
    const bool is_known = found != known.end() && found->second.size_bytes() == place.bytes &&
                          crc32c(std::as_bytes(found->second)) == place.crc;
    // No memory for what is only claimed to have been there.
    if (place.end() > bytes.size() && (rebuilt.lost > 0 || !is_known)) {
      ++rebuilt.lost;
      return;
    }
    bytes.resize(std::max<std::size_t>(bytes.size(), place.end()));
    const std::span<char> there(bytes.data() + place.offset, place.bytes);
    if (crc32c(std::as_bytes(there)) == place.crc) return;
    if (is_known)
      std::memcpy(there.data(), found->second.data(), place.bytes);
    else if (!mend_byte(there, place.crc))
      ++rebuilt.lost;
  });
  return rebuilt;
}

}  // namespace stap
