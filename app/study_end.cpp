#include "study_end.h"

#include <ostream>

#include <fmt/format.h>

#include "stap/results/table.h"
#include "stap/results/table_format.h"

namespace stap::app {

void report_end(LoopEnd end, const std::string& folder, const ByHand& by_hand,
                const InterruptGuard& interrupt, Console& console, std::ostream& out) {
  console.finish();
  if (end == LoopEnd::stopped) {
    console.note(fmt::format("stopped; the same command continues in {}", folder));
    if (interrupt.requested()) interrupt.end_program();
    return;
  }
  if (end == LoopEnd::waiting) {
    const std::size_t n = by_hand.open.size();
    out << fmt::format("{} {} for an answer: stap ask {} --out queries.h5\n", n,
                       n == 1 ? "query waits" : "queries wait", folder);
    return;
  }
  out << tables_text(make_tables(read_results(folder))) << "results in " << folder << '\n';
}

}  // namespace stap::app
