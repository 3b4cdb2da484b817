// record.cpp: JSON without a library, since this code lives inside other people's programs.
#include "trace/record.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "files/utf8.hpp"

namespace choir::trace {

namespace {

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
    out += c;
    return;
  }
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
  out += escape;
}

/// Builds one object, field by field.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_ += '{'; }

  Object& text(std::string_view key, std::string_view value) {
    name(key);
    append_json_string(out_, value);
    return *this;
  }
  Object& number(std::string_view key, std::int64_t value) {
    name(key);
    append_number(value);
    return *this;
  }
  Object& seconds(std::string_view key, double value) {
    name(key);
    append_real(value);
    return *this;
  }
  Object& flag(std::string_view key, bool value) {
    name(key);
    out_ += value ? "true" : "false";
    return *this;
  }
  void end() { out_ += '}'; }

  void name(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, key);
    out_ += ':';
  }

 private:
  void append_number(std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, end);
  }
  /// Nanoseconds are enough; JSON has no way to write infinity or not-a-number.
  void append_real(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    char digits[400];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 9).ptr;
    out_.append(digits, end);
  }

  std::string& out_;
  bool first_ = true;
};

void append_times(Object& object, std::string& out, const Times& t) {
  object.name("seconds");
  Object(out)
      .seconds("total", t.total)
      .seconds("agree", t.agree)
      .seconds("plan", t.plan)
      .seconds("exchange", t.exchange)
      .seconds("storage", t.storage)
      .seconds("wait", t.wait)
      .end();
}

/// As text: JavaScript's numbers cannot hold 64 bits.
std::string hexadecimal(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto length = files::utf8_length(text);
    if (length == 1) {
      append_ascii(out, text.front());
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_header(std::string& out, int rank, std::string_view host, std::string_view version) {
  Object(out)
      .text("type", "header")
      .number("schema", schema_version)
      .text("version", version)
      .number("rank", rank)
      .text("host", host)
      .end();
  out += '\n';
}

void append_open(std::string& out, const OpenRecord& r) {
  Object object(out);
  object.text("type", "open")
      .text("file", r.file)
      .number("open", r.open)
      .number("first", r.first)
      .seconds("start", r.start_s)
      .number("ranks", r.ranks)
      .number("rank", r.rank)
      .number("nodes", r.nodes)
      .number("node", r.node)
      .text("mode", r.mode)
      .text("file_system", r.file_system);
  object.name("hints");
  Object hints(out);
  for (const auto& [key, value] : r.hints) hints.text(key, value);
  hints.end();
  object.end();
  out += '\n';
}

void append_call(std::string& out, const CallRecord& r) {
  Object object(out);
  object.text("type", "call")
      .text("file", r.file)
      .number("open", r.open)
      .number("first", r.first)
      .number("call", r.call)
      .text("operation", r.operation)
      .text("strategy", r.strategy)
      .text("phase", r.phase)
      .text("reason", r.reason)
      .text("pattern", r.pattern)
      .text("signature", hexadecimal(r.signature))
      .seconds("start", r.start_s)
      .number("bytes", r.bytes)
      .number("pieces", r.pieces)
      .number("ranks", r.ranks)
      .number("rank", r.rank)
      .flag("aggregator", r.aggregator);
  append_times(object, out, r.seconds);
  object.number("bytes_inside", r.bytes_inside)
      .number("bytes_between", r.bytes_between)
      .number("messages_between", r.messages_between)
      .number("metadata_between", r.metadata_between)
      .number("agreement_bytes", r.agreement_bytes)
      .number("cycles", r.cycles)
      .number("bytes_sieved", r.bytes_sieved)
      .number("storage_requests", r.storage_requests)
      .number("storage_bytes", r.storage_bytes)
      .number("offset_low", r.offset_low)
      .number("offset_high", r.offset_high)
      .flag("plan_cached", r.plan_cached)
      .number("error_class", r.error_class)
      .end();
  out += '\n';
}

void append_left(std::string& out, const LeftRecord& r) {
  Object(out)
      .text("type", "left")
      .text("file", r.file)
      .number("open", r.open)
      .number("first", r.first)
      .text("operation", r.operation)
      .text("reason", r.reason)
      .end();
  out += '\n';
}

void append_end(std::string& out, std::int64_t written, std::int64_t dropped) {
  Object(out).text("type", "end").number("written", written).number("dropped", dropped).end();
  out += '\n';
}

}  // namespace choir::trace
