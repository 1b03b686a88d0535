// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/pass_dumper.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/pass/timer.hpp>
#include <fxpass/pass/verify_each.hpp>

#include "twice.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace fxpass;

constexpr auto one_input() -> Graph {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.output({x});
  return std::move(b).finish();
}

struct NoSigmoid {
  static constexpr std::string_view name = "no_sigmoid";
  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "sigmoid")
        return error_at(graph, NodeId{i}, DiagnosticCode::unsupported, "is a sigmoid");
    return {};
  }
};

/// Puts a call before the output.
template <TextConstant Target>
struct Append {
  static constexpr std::string_view name = Target.view();
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    edit.insert_before(graph.output_node(), Target.view(), {NodeId{0}}, {});
    context.renumbered(edit.commit());
    context.count("inserted");
    context.warn(Diagnostic::warning(DiagnosticCode::unsupported, text_of("put in ", name)));
    return {};
  }
};
/// Says that it found no sigmoid, without a look.
struct Claim {
  static constexpr std::string_view name = "claim";
  using establishes = facts<NoSigmoid>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Fail {
  static constexpr std::string_view name = "fail";
  constexpr auto run(Graph& graph, Context&) const -> Status {
    graph.mutable_node(NodeId{0}).kind = NodeKind::get_attr;  // what it has begun must not be seen
    return error_at(graph, NodeId{0}, DiagnosticCode::unsupported, "is not liked");
  }
};

/// Writes down what it sees.
struct Diary {
  Text text;
  char sign;
  constexpr explicit Diary(char s) : sign(s) {}
  constexpr void before(std::string_view pass, const Graph& graph) {
    append_all(text, sign, '<', pass, ' ', graph.node_count(), '\n');
  }
  constexpr void after(const PassReport& report, const Graph& graph) {
    append_all(text, sign, '>', report.name, ' ', report.index, ' ', graph.node_count());
    for (const Statistic& s : report.statistics) append_all(text, ' ', s.key, '=', s.value);
    for (const FactInfo& fact : report.facts) append_all(text, ' ', fact.name);
    append_to(text, '\n');
  }
  constexpr void failed(std::string_view pass, const Diagnostics& errors, const Graph& before) {
    append_all(text, sign, '!', pass, ' ', errors.size(), ' ', before == one_input() ? "as it was" : "changed", '\n');
  }
};

static_assert(PassObserver<Diary> && PassObserver<VerifyEach> && PassObserver<PassTimer<Text>> &&
              PassObserver<PassDumper> && !PassObserver<Graph>);

constexpr auto observers_see_each_step() -> bool {
  Diary diary('a');
  Context context;
  const auto done =
      pipeline(Append<"relu">{}, Claim{}, Append<"neg">{}).run_passes(Module<>(one_input()), context, diary);
  return done && diary.text ==
                     "a<relu 2\n"
                     "a>relu 0 3 inserted=1\n"
                     "a<claim 3\n"
                     "a>claim 1 3 no_sigmoid\n"
                     "a<neg 3\n"
                     "a>neg 2 4 inserted=1 no_sigmoid\n" &&
         context.warnings().size() == 2 && context.warnings().front().message == "put in relu";
}
FXPASS_TEST_TWICE(observers_see_each_step)

/// Two diaries in one text.
struct Shared {
  Text* text;
  char sign;
  constexpr void before(std::string_view, const Graph&) { text->append(sign); }
  constexpr void after(const PassReport&, const Graph&) { text->append(sign); }
};
constexpr auto observers_nest() -> bool {
  Text text;
  Shared outer{&text, '('};
  Shared inner{&text, '['};
  Context context;
  return pipeline(Append<"relu">{}).run_passes(Module<>(one_input()), context, outer, inner) && text == "([[(";
}
FXPASS_TEST_TWICE(observers_nest)

constexpr auto a_failure_shows_the_graph_before() -> bool {
  Diary diary('a');
  Context context;
  const auto done = pipeline(Fail{}, Append<"relu">{}).run_passes(Module<>(one_input()), context, diary);
  return !done && diary.text == "a<fail 2\na!fail 1 as it was\n" &&
         done.error().front().message == "in pass 'fail': is not liked" && done.error().front().node == "x" &&
         done.error().front().code == DiagnosticCode::unsupported;
}
FXPASS_TEST_TWICE(a_failure_shows_the_graph_before)

TEST_CASE("the timer writes a line for each pass") {
  Text log;
  PassTimer timer(log);
  Context context;
  REQUIRE(pipeline(Append<"relu">{}, Append<"neg">{}).run_passes(Module<>(one_input()), context, timer).has_value());
  const std::string_view text = log;
  CHECK(text.starts_with("FX Pass 'relu' completed in "));
  const auto second = text.find("\nFX Pass 'neg' completed in ");
  REQUIRE(second != std::string_view::npos);
  CHECK(text.ends_with("s\n"));
  const std::string_view seconds = text.substr(28, second - 28);  // behind the first line's words
  CHECK(seconds.size() >= 7);
  CHECK(seconds.find('.') == seconds.size() - 6);  // four decimals and "s"
  CHECK(timer.total() > 0);
}

auto contents_of(const std::filesystem::path& path) -> std::string {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("the dumper writes a file before the first pass and behind each") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "fxpass_test_dump";
  std::filesystem::remove_all(folder);
  PassDumper dumper(folder.string());
  Context context;
  REQUIRE(pipeline(Append<"relu">{}, Append<"neg">{}).run_passes(Module<>(one_input()), context, dumper).has_value());
  CHECK(dumper.problems().empty());
  const std::string original = contents_of(folder / "passes/00_original.txt");
  const std::string rule(50, '=');
  CHECK(original.starts_with("Original FX graph\n" + rule + "\ngraph():\n"));
  CHECK(original.find("\n" + rule + "\n", 80) != std::string::npos);
  CHECK(original.find("relu") == std::string::npos);
  CHECK(original.find("Replica Groups") == std::string::npos);
  CHECK(contents_of(folder / "passes/01_after_relu.txt").find("call_function[target=relu]") != std::string::npos);
  CHECK(contents_of(folder / "passes/02_after_neg.txt").find("FX graph after pass 'neg'") == 0);
  std::filesystem::remove_all(folder);
}

/// Finds nothing to change, and says so.
struct Idle {
  static constexpr std::string_view name = "idle";
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};
TEST_CASE("the dumper leaves out what claims to have changed nothing, if told") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "fxpass_test_dump_changes";
  for (const auto behind : {PassDumper::Behind::every_pass, PassDumper::Behind::changes}) {
    std::filesystem::remove_all(folder);
    PassDumper dumper(folder.string(), behind);
    Context context;
    REQUIRE(
        pipeline(Idle{}, Append<"relu">{}).run_passes(Module<>(one_input()), context, dumper).has_value());
    CHECK(std::filesystem::exists(folder / "passes/00_original.txt"));
    CHECK(std::filesystem::exists(folder / "passes/01_after_idle.txt") ==
          (behind == PassDumper::Behind::every_pass));
    CHECK(std::filesystem::exists(folder / "passes/02_after_relu.txt"));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("the dump tells the replica groups") {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId sum = b.call_function("torch.ops._c10d_functional.all_reduce.default", {x, b.string("sum"), b.string("tp")},
                                     b.tensor(DType::f32, {2}));
  b.output({sum});
  Graph graph = std::move(b).finish();
  const std::int64_t ranks[] = {0, 1, 2, 3};
  graph.mutable_node(sum).replica_groups = graph.add_partition(ranks, 2);
  CHECK(PassDumper::contents("t", graph).view().find("Replica Groups\n--------------\ntp: [[0, 1], [2, 3]]\n\ngraph():") !=
        std::string_view::npos);
}

TEST_CASE("a folder that cannot be made stops nothing") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "fxpass_test_no_folder";
  std::ofstream(file) << "a file";
  PassDumper dumper(file.string());
  Context context;
  CHECK(pipeline(Append<"relu">{}).run_passes(Module<>(one_input()), context, dumper).has_value());
  CHECK(dumper.problems().size() == 1);
  CHECK(dumper.problems().front().code == DiagnosticCode::file_unwritable);
  CHECK_FALSE(dumper.problems().has_error());
  std::filesystem::remove(file);
}

}  // namespace
