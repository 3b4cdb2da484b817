// call_record.cpp: what a finished call leaves in the trace and the statistics.
#include <algorithm>
#include <ctime>

#include "engine/call.hpp"
#include "engine/file.hpp"

namespace choir {
namespace {

double seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

void Call::witness() {
  const auto now = now_ns();
  const Traffic none;
  const auto& traffic = context_ ? context_->traffic : none;
  trace::CallRecord record;
  record.file = file_.facts().path;
  record.open = file_.facts().opened_before;
  record.first = file_.facts().first;
  record.operation = request_.name;
  record.strategy = strategy();
  record.phase = fixed_ ? "fixed" : select::role_name(decision_.role);
  record.reason = reason_;
  const auto class_text = pattern_ ? class_.text() : std::string();
  record.pattern = class_text;
  record.signature = pattern_ ? class_.number() : 0;
  record.bytes = request_.access.bytes();
  record.pieces = request_.error == 0 ? request_.access.pieces() : 0;
  record.ranks = file_.hood().topology().ranks();
  record.rank = file_.hood().rank();
  record.aggregator = traffic.requests > 0;
  record.seconds.total = seconds(started_ns_, now);
  if (opened_ns_ > 0)
    record.seconds.agree = seconds(ran_ahead_ ? executed_ns_ : started_ns_, opened_ns_);
  if (planned_ns_ > 0) record.seconds.plan = seconds(opened_ns_, planned_ns_);
  record.seconds.exchange = static_cast<double>(traffic.exchange_ns) * 1e-9;
  record.seconds.storage = static_cast<double>(traffic.storage_ns) * 1e-9;
  if (executed_ns_ > 0)
    record.seconds.wait = std::max(
        0.0, seconds(ran_ahead_ ? started_ns_ : planned_ns_, ran_ahead_ ? executed_ns_ : now) -
                 record.seconds.exchange - record.seconds.storage);
  record.bytes_inside = traffic.bytes_in_node;
  record.bytes_between = traffic.bytes_between_nodes;
  record.messages_between = traffic.messages_between_nodes;
  record.metadata_between = traffic.metadata_bytes;
  record.agreement_bytes = joint_agreement_bytes_ +
                           (opening_ ? opening_->bytes_between_nodes() : 0) +
                           (closing_ ? closing_->bytes_between_nodes() : 0);
  record.cycles = traffic.cycles;
  record.bytes_sieved = traffic.sieved_bytes;
  record.storage_requests = traffic.requests;
  record.storage_bytes = traffic.storage_bytes;
  if (request_.error == 0 && request_.access.bytes() > 0) {
    const auto span = request_.access.span();
    record.offset_low = span.begin;
    record.offset_high = span.end;
  }
  record.plan_cached = plan_was_known_;
  record.error_class = error_;
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  record.start_s = static_cast<double>(wall.tv_sec) + static_cast<double>(wall.tv_nsec) * 1e-9 -
                   record.seconds.total;
  file_.witness().add(record);
}

}  // namespace choir
