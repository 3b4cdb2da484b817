// Problems from CSV and JSON: what is read, and what is refused with which words.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "input.hpp"

namespace choir::assign {
namespace {

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(AssignInput, SizesCarryUnits) {
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size(" 12.8 MB "), 12'800'000);
  EXPECT_EQ(parse_size("4KiB"), 4096);
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(refusal([] { parse_size("-1"); }), "\"-1\" is negative");
  EXPECT_EQ(refusal([] { parse_size("1.5"); }), "\"1.5\" is no whole number of bytes");
  EXPECT_EQ(refusal([] { parse_size("3 parsecs"); }), "\"3 parsecs\" has an unknown unit");
  EXPECT_EQ(refusal([] { parse_size("many"); }), "\"many\" is no size");
  EXPECT_EQ(refusal([] { parse_size("99999999999 TB"); }), "\"99999999999 TB\" is too large");
  EXPECT_EQ(refusal([] { parse_size("99999999999999999999"); }),
            "\"99999999999999999999\" is too large");
}

TEST(AssignInput, DenseCsv) {
  for (const auto* text :
       {"1,2,3\n4,5,6\n", "# note\n\na,b,c\n1,2,3\r\n4,5,6", "rank,a,b,c\n0,1,2,3\n1,4,5,6\n"}) {
    const auto requests = parse_csv(text).requests;
    EXPECT_EQ(requests.ranks(), 2);
    EXPECT_EQ(requests.files(), 3);
    EXPECT_EQ(requests.at(1, 1), 5);
  }
}

TEST(AssignInput, SparseCsv) {
  const auto requests = parse_csv("rank,file,bytes\n3,1,7\n0,2,1kB\n").requests;
  EXPECT_EQ(requests.ranks(), 4);
  EXPECT_EQ(requests.files(), 3);
  EXPECT_EQ(requests.at(0, 2), 1000);
}

TEST(AssignInput, BadCsvSaysWhere) {
  EXPECT_EQ(refusal([] { parse_csv("\n# nothing\n"); }), "the matrix is empty");
  EXPECT_EQ(refusal([] { parse_csv("1,2\n3\n"); }), "line 2: 1 columns, but the first line has 2");
  EXPECT_EQ(refusal([] { parse_csv("1,2\n3,x\n"); }), "line 2, column 2: \"x\" is no size");
  EXPECT_EQ(refusal([] { parse_csv("1,\n"); }), "line 1, column 2: a size is missing");
  EXPECT_EQ(refusal([] { parse_csv("rank,file,bytes\n-1,0,5\n"); }),
            "line 2, column 1: \"-1\" is no rank or file number from 0 to 4194303");
  EXPECT_EQ(refusal([] { parse_csv("rank,file,bytes\n"); }), "there is no request");
  EXPECT_EQ(refusal([] { parse_csv("a,b\n"); }),
            "there is no rank: line 1 is taken for a header; want a line of sizes for each rank");
}

TEST(AssignInput, JsonWithSettings) {
  const auto problem = parse_json(R"({"requests": [[1, "2kB"], [0, 3]], "nodes": [4, 4],
    "alpha": 2, "beta": 0.5, "intra_node_cost": 0.1, "balance": "bytes", "slack": 0.2})");
  EXPECT_EQ(problem.requests.at(0, 1), 2000);
  EXPECT_EQ(problem.node_of_rank, (std::vector{4, 4}));
  EXPECT_EQ(problem.alpha, 2);
  EXPECT_EQ(problem.beta, 0.5);
  EXPECT_EQ(problem.intra_node_cost, 0.1);
  EXPECT_EQ(problem.balance, multi::Balance::bytes);
  EXPECT_EQ(problem.slack, 0.2);
}

TEST(AssignInput, SparseJson) {
  const auto problem = parse_json(R"({"ranks": 5, "files": 2, "entries": [[4, 1, 9]]})");
  EXPECT_EQ(problem.requests.ranks(), 5);
  EXPECT_EQ(problem.requests.at(4, 1), 9);
}

TEST(AssignInput, BadJsonSaysWhat) {
  EXPECT_EQ(refusal([] { parse_json("{}"); }), "want either \"requests\" or \"entries\"");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[1], [1, 2]]})"); }),
            "row 1 of \"requests\" must be an array as long as row 0, and not empty");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[-4]]})"); }), "-4 is negative");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[1.5]]})"); }),
            "1.5 is no size; want whole bytes, or a string with a unit");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[1]], "gamma": 1})"); }),
            "unknown key \"gamma\"");
  EXPECT_EQ(refusal([] { parse_json(R"({"entries": [[0, 0, 1]], "files": 1})"); }),
            "\"ranks\" is missing");
  EXPECT_EQ(
      refusal([] { parse_json(R"({"entries": [[4294967296, 0, 1]], "ranks": 1, "files": 1})"); }),
      "the rank of an entry must be a whole number from 0, not 4294967296");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[1]], "nodes": [-1]})"); }),
            "a node must be a whole number from 0, not -1");
  EXPECT_EQ(refusal([] { parse_json(R"({"requests": [[1]], "balance": "none"})"); }),
            "balance \"none\" is neither \"files\" nor \"bytes\"");
  EXPECT_EQ(refusal([] { parse_json("{\"requests\": ["); }).substr(0, 8), "not JSON");
}

TEST(AssignInput, AMissingFileIsNamed) {
  EXPECT_EQ(refusal([] { read_problem("/no/such/matrix.csv"); }),
            "/no/such/matrix.csv: cannot be opened");
}

TEST(AssignInput, ABareJsonArrayIsToldTheForm) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("choir-assign-" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << " [[1,2],[3,4]]\n";
  const auto text = refusal([&] { read_problem(path); });
  std::filesystem::remove(path);
  EXPECT_NE(text.find("the JSON is no object; want {\"requests\": [[1, 2], [3, 4]]}"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace choir::assign
