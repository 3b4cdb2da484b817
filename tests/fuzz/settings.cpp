// settings.cpp: choir.toml, and what becomes of it.
#include "settings/settings.hpp"

#include "input.hpp"
#include "settings/strategies.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = choir::fuzz::text_of(data, size);
  choir::fuzz::may_refuse([&] {
    choir::Settings settings;
    auto warnings = choir::apply_entries(settings, choir::entries_of_text(text, "choir.toml"));
    settings.plugins.clear();  // code is not ours to survive
    choir::StrategyTable table;
    choir::name_strategies(settings, table, warnings);
    for (const auto& key : choir::setting_keys()) key.get(settings);
  });
  choir::fuzz::may_refuse([&] { choir::deserialise(text); });
  return 0;
}
