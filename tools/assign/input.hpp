// input.hpp: assignment problems from CSV and JSON.
//
// CSV, dense: one line per rank, one column per file. A first line of names is skipped; if its
// first name is "rank", so is the first column. CSV, sparse: the first line is "rank,file,bytes",
// then one request per line, counted from 0. Empty lines and lines that begin with # are skipped.
//
// JSON: {"requests": [[..],..]} or {"ranks": p, "files": n, "entries": [[rank, file, size],..]},
// and optionally "alpha", "beta", "nodes", "intra_node_cost", "balance" ("files" or "bytes"),
// "slack".
//
// A size is bytes (4096) or carries a unit (12.8MB, 4 KiB); a string in JSON if it has one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "multi/assignment.hpp"

namespace choir::assign {

/// Says what is wrong with the input, and where.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t parse_size(std::string_view text);
multi::Balance parse_balance(std::string_view name);

multi::Problem parse_csv(std::string_view text);
multi::Problem parse_json(std::string_view text);

/// "-" is standard input. JSON if the first character is {, CSV otherwise.
multi::Problem read_problem(const std::string& path);

}  // namespace choir::assign
