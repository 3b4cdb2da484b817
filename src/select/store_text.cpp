#include "select/store_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "select/arithmetic.hpp"

namespace choir::select {
namespace {

constexpr double half_life_s = 30.0 * 24 * 3600;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto cut = text.find(at);
    parts.push_back(text.substr(0, cut));
    if (cut == std::string_view::npos) return parts;
    text.remove_prefix(cut + 1);
  }
}

/// The shortest text that gives the same number again.
std::string number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : "0";
}

template <class Number>
bool read_number(std::string_view text, Number least, Number& out) {
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || at != end) return false;
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(out)) return false;
  return out >= least;
}

std::string rivals_text(const Evidence& e) {
  std::string text;
  for (const auto& rival : e.rivals) {
    text += (text.empty() ? "" : ";") + rival.name;
    for (const auto& s : rival.samples) {
      text += (&s == rival.samples.data() ? '=' : ',') + number(s.ln_ratio);
      if (s.weight != 1) text += '*' + number(s.weight);
    }
  }
  return text.empty() ? "-" : text;
}

bool read_sample(std::string_view text, Sample& sample) {
  constexpr double most = 40;  // of a logarithm: more is no ratio of times
  const auto parts = split(text, '*');
  if (parts.size() > 2 || !read_number(parts[0], -most, sample.ln_ratio)) return false;
  if (sample.ln_ratio > most) return false;
  return parts.size() == 1 || (read_number(parts[1], 0.0, sample.weight) && sample.weight <= 1);
}

bool read_rivals(std::string_view text, Evidence& e) {
  if (text == "-") return true;
  for (const auto part : split(text, ';')) {
    const auto equals = part.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    const auto name = part.substr(0, equals);
    if (name == e.serves || e.rival(name) != nullptr) return false;
    Rival rival{std::string(name), {}};
    for (const auto one : split(part.substr(equals + 1), ',')) {
      Sample sample;
      if (!read_sample(one, sample)) return false;
      rival.add(sample);
    }
    e.rivals.push_back(std::move(rival));
  }
  return true;
}

std::string costs_text(const std::vector<double>& costs) {
  std::string text;
  for (const double cost : costs) text += (text.empty() ? "" : ",") + number(cost);
  return text.empty() ? "-" : text;
}

bool read_costs(std::string_view text, std::vector<double>& costs) {
  if (text == "-") return true;
  for (const auto part : split(text, ',')) {
    double cost = 0;
    if (!read_number(part, 0.0, cost) || costs.size() == most_costs) return false;
    costs.push_back(cost);
  }
  return true;
}

std::string pending_text(const PendingLook& look) {
  if (look.name.empty()) return "-";
  return look.name + ':' + number(look.cost) + ':' + number(look.before);
}

bool read_pending(std::string_view text, PendingLook& look) {
  if (text == "-") return true;
  const auto parts = split(text, ':');
  if (parts.size() != 3 || parts[0].empty()) return false;
  look.name = parts[0];
  return read_number(parts[1], 0.0, look.cost) && read_number(parts[2], 0.0, look.before);
}

constexpr std::size_t fields = 18;

}  // namespace

std::string one_word(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == ';' || c == '=' || c == ':')
      c = '_';
  return text.empty() ? "-" : text;
}

std::string line_of(const Site& site, const ClassKey& key, const Evidence& e) {
  std::string line = key.text();
  for (const auto& field :
       {std::to_string(site.ranks), std::to_string(site.nodes), one_word(site.host_kind),
        one_word(site.mount), one_word(site.mpi), std::to_string(e.date_s), one_word(e.serves),
        number(e.time_s), number(e.lost_s), number(e.prepared_s), number(e.calls),
        number(e.since_ageing), std::string(e.compared ? "compared" : "comparing"), number(e.last),
        costs_text(e.costs), pending_text(e.pending), rivals_text(e)})
    line += '\t' + field;
  return line + '\n';
}

std::optional<Line> parse_line(std::string_view text) {
  const auto parts = split(text, '\t');
  if (parts.size() != fields) return std::nullopt;
  const auto key = ClassKey::parse(parts[0]);
  if (!key) return std::nullopt;
  Line line;
  line.key = *key;
  auto& site = line.site;
  auto& e = line.evidence;
  site.host_kind = parts[3];
  site.mount = parts[4];
  site.mpi = parts[5];
  e.serves = parts[7];
  e.compared = parts[13] == "compared";
  const bool good =
      read_number(parts[1], 1, site.ranks) && read_number(parts[2], 1, site.nodes) &&
      read_number(parts[6], std::int64_t{0}, e.date_s) && !e.serves.empty() && e.serves != "-" &&
      read_number(parts[8], 0.0, e.time_s) && read_number(parts[9], 0.0, e.lost_s) &&
      read_number(parts[10], 0.0, e.prepared_s) && read_number(parts[11], 0.0, e.calls) &&
      read_number(parts[12], 0.0, e.since_ageing) && read_number(parts[14], 0.0, e.last) &&
      read_costs(parts[15], e.costs) && read_pending(parts[16], e.pending) &&
      read_rivals(parts[17], e);
  return good ? std::optional(line) : std::nullopt;
}

bool is_old_line(std::string_view line) {
  const auto parts = split(line, '\t');
  return parts.size() == 8 && parts[0].size() == 16 &&
         parts[0].find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void age_to(Evidence& e, std::int64_t now_s) {
  if (e.date_s <= 0 || now_s <= e.date_s) return;
  const double factor = exp(-ln_2 * static_cast<double>(now_s - e.date_s) / half_life_s);
  e.age(factor);
  e.time_s *= factor;
  e.lost_s *= factor;
  e.prepared_s *= factor;
  e.date_s = now_s;
}

}  // namespace choir::select
