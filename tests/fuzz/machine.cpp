// machine.cpp: machines of choir place: host files, and matrices of choir netbench.
#include "../../tools/place/inputs.hpp"
#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace choir::place;
  const choir::fuzz::AsFile file(data, size);
  MachineOptions hosts, matrix;
  hosts.hostfile = file.path();
  matrix.arch = file.path();
  choir::fuzz::may_refuse([&] { load_machine(hosts).cores(); });
  choir::fuzz::may_refuse([&] { load_machine(matrix).cores(); });
  return 0;
}
