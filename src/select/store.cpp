#include "select/store.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "select/store_text.hpp"

namespace choir::select {
namespace {

Site written(const Site& site) {
  return {site.ranks, site.nodes, one_word(site.host_kind), one_word(site.mount),
          one_word(site.mpi)};
}

/// Calls `each` with every line that is not empty.
template <class Each>
void for_lines(std::string_view text, Each&& each) {
  while (!text.empty()) {
    const auto cut = std::min(text.find('\n'), text.size());
    if (cut > 0) each(text.substr(0, cut));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
}

}  // namespace

std::string Store::lines_for(const Site& wanted, std::int64_t now_s) const {
  const auto site = written(wanted);
  std::vector<std::pair<std::int64_t, const ClassKey*>> by_date;
  for (auto at = all_.lower_bound({site, ClassKey{}}); at != all_.end() && at->first.first == site;
       ++at)
    by_date.emplace_back(-at->second.date_s, &at->first.second);
  std::sort(by_date.begin(), by_date.end());
  by_date.resize(std::min(by_date.size(), most_sent));
  std::string text;
  for (const auto& [date, key] : by_date) {
    auto evidence = all_.at({site, *key});
    age_to(evidence, now_s);
    text += line_of(site, *key, evidence);
  }
  return text;
}

void Store::add(const Site& wanted, std::map<ClassKey, Difference> differences,
                std::int64_t now_s) {
  const auto site = written(wanted);
  for (auto& [key, difference] : differences) {
    auto& evidence = all_[{site, key}];
    age_to(evidence, now_s);
    difference.merge_into(evidence);
    evidence.date_s = now_s;
    // Files of one rank neither read nor write the memory.
    if (site.ranks > 1) unsaved_.push_back({{site, key}, std::move(difference)});
  }
  trim();
}

std::string Store::text() const {
  std::string text;
  for (const auto& [key, evidence] : all_)
    if (key.first.ranks > 1) text += line_of(key.first, key.second, evidence);
  return text;
}

Store Store::parse(std::string_view text, std::size_t* skipped) {
  Store store;
  std::size_t bad = 0;
  for_lines(text, [&](std::string_view line) {
    if (auto parsed = parse_line(line))
      store.all_[{parsed->site, parsed->key}] = std::move(parsed->evidence);
    else if (!is_old_line(line))
      ++bad;
  });
  if (skipped != nullptr) *skipped = bad;
  store.trim();
  return store;
}

void Store::trim() {
  if (all_.size() <= most_classes) return;
  std::vector<std::pair<std::int64_t, Key>> by_age;
  for (const auto& [key, evidence] : all_) by_age.emplace_back(evidence.date_s, key);
  std::sort(by_age.begin(), by_age.end());
  by_age.resize(all_.size() - most_classes);
  for (const auto& [date, key] : by_age) all_.erase(key);
}

Evidence find_line(std::string_view lines, const ClassKey& key) {
  const auto name = key.text() + '\t';
  Evidence found;
  for_lines(lines, [&](std::string_view line) {
    if (!line.starts_with(name)) return;
    if (auto parsed = parse_line(line)) found = std::move(parsed->evidence);
  });
  return found;
}

}  // namespace choir::select
