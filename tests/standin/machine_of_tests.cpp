#include "tests/standin/machine_of_tests.h"

#include "standin/machine.h"

namespace vramfit::standin {

Facts facts_of_tests() {
  Facts facts;
  facts.title = "A card of tests";
  facts.devices = 2;
  facts.total = std::uint64_t{1} << 30;
  facts.listed_total = facts.total + (std::uint64_t{50} << 20);
  facts.taken = std::uint64_t{100} << 20;
  for (int number = 1; number < 150; ++number) facts.attributes[number] = 1000 + number;
  facts.attributes[75] = 9;
  facts.attributes[76] = 0;
  facts.loads = {.context = std::uint64_t{20} << 20,
                 .kernels = std::uint64_t{6} << 20,
                 .blas = std::uint64_t{8} << 20,
                 .more_blas = std::uint64_t{4} << 20,
                 .attention = std::uint64_t{2} << 20,
                 .backward_attention = std::uint64_t{3} << 20,
                 .streams = std::uint64_t{5} << 20,
                 .process_group = std::uint64_t{10} << 20,
                 .collectives = std::uint64_t{12} << 20,
                 .more_communicators = std::uint64_t{7} << 20,
                 .more_collectives = std::uint64_t{9} << 20};
  return facts;
}

void start_machine_of_tests() {
  if (!started()) start(facts_of_tests());
}

}  // namespace vramfit::standin
