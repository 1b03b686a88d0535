// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/read/program.hpp>

#include "read_test.hpp"

#include <doctest/doctest.h>
#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace fxpass;

auto data(std::string_view name) -> std::string { return std::string(FXPASS_TEST_DATA "/").append(name); }

/// A file of this process that goes away with the test.
class ScratchFile {
 public:
  ScratchFile(std::string_view name, std::string_view bytes)
      : path_((std::filesystem::temp_directory_path() / std::filesystem::path(name)).string() + "." +
              std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ScratchFile(const ScratchFile&) = delete;
  auto operator=(const ScratchFile&) -> ScratchFile& = delete;
  ~ScratchFile() { std::remove(path_.c_str()); }
  [[nodiscard]] auto path() const -> const std::string& { return path_; }

 private:
  std::string path_;
};

auto bytes_of(const std::string& path) -> std::string {
  const auto bytes = read_file(path);
  REQUIRE(bytes.has_value());
  return *bytes;
}

using Members = std::vector<std::pair<std::string, std::string>>;

void write_archive(const std::string& path, const Members& members) {
  int error = 0;
  zip_t* const zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  REQUIRE(zip != nullptr);
  for (const auto& [name, bytes] : members) {
    zip_source_t* const source = zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
    REQUIRE(zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8) >= 0);
  }
  REQUIRE(zip_close(zip) == 0);
}

auto members_of(const std::string& path) -> Members {
  Members members;
  const auto archive = detail::Archive::open(path);
  REQUIRE(archive.has_value());
  for (const std::string_view name : archive->members()) {
    const auto bytes = archive->read(std::string(name));
    REQUIRE(bytes.has_value());
    members.emplace_back(name, *bytes);
  }
  return members;
}

auto model_of(const std::string& path) -> std::string {
  for (auto& [name, bytes] : members_of(path))
    if (name.ends_with("/models/model.json")) return bytes;
  return {};
}

/// `mistake(..)` without the path of the file.
auto mistake_in(const std::string& path) -> std::string {
  const std::string message = mistake(read_program(path));
  REQUIRE(message.starts_with(path));
  return message.substr(path.size());
}

}  // namespace

TEST_CASE("inputs that share a storage are known") {
  const auto module = read_pt2(data("shared_buffers.pt2"));
  CHECK(printed(module).find("error") == std::string::npos);
  const Graph& g = module->graph();
  std::size_t shared = 0;
  for (const InputSpec& input : g.inputs()) {
    const std::string_view target = g.text(input.target);
    const bool shares = target == "cache" || target == "cache_row";
    CHECK_MESSAGE(input.storage == (shares ? 0 : own_storage), std::string(target));
    shared += shares ? 1 : 0;
    if (target == "cache_row") CHECK(g.tensor(input.node)->storage_offset == SymInt(3));
    if (target == "scratch") CHECK_FALSE(input.persistent);
    if (target == "offset") CHECK(input.kind == InputKind::tensor_constant);
  }
  CHECK(shared == 2);
}

TEST_CASE("tensors without data share nothing") {
  Members members = members_of(data("shared_buffers.pt2"));
  for (auto& [name, bytes] : members)
    if (name.find("/data/weights/weight_") != std::string::npos) bytes.clear();
  const ScratchFile file("empty_weights.pt2", "");
  write_archive(file.path(), members);
  const auto module = read_pt2(file.path());
  REQUIRE(module.has_value());
  for (const InputSpec& input : module->graph().inputs()) CHECK(input.storage == own_storage);
}

TEST_CASE("nested regions disappear") {
  CHECK(
      printed(read_pt2(data("regions.pt2"))) ==
      "graph():\n"
      "    %x : [num_users=2] = placeholder[target=x]\n"
      "    %sin : [num_users=2] = call_function[target=torch.ops.aten.sin.default](args = (%x,), kwargs = {})\n"
      "    %_assert_tensor_metadata_default : [num_users=0] = call_function[target=torch.ops.aten._assert_tensor_metadata.default]"
      "(args = (%sin,), kwargs = {dtype: torch.float32, device: cpu, layout: torch.strided})\n"
      "    %to : [num_users=1] = call_function[target=torch.ops.aten.to.dtype](args = (%sin, torch.float32), kwargs = {})\n"
      "    %mul : [num_users=2] = call_function[target=torch.ops.aten.mul.Tensor](args = (%to, 2), kwargs = {})\n"
      "    %cos : [num_users=1] = call_function[target=torch.ops.aten.cos.default](args = (%mul,), kwargs = {})\n"
      "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul, %cos), kwargs = {})\n"
      "    %exp : [num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%x,), kwargs = {})\n"
      "    return (add, exp)\n");
  const std::string message = mistake_in(data("enabled_autocast.pt2"));
  CHECK(message.starts_with(":models/model.json: matmul"));
  CHECK(message.ends_with("[unsupported]"));
}

TEST_CASE("branches stay graphs") {
  const auto module = read_pt2(data("branches.pt2"));
  REQUIRE(module.has_value());
  REQUIRE(module->graph().subgraphs().size() == 2);
  for (const Graph& branch : module->graph().subgraphs()) CHECK(verify(branch).has_value());
}

TEST_CASE("a dynamic program, before and after functionalisation") {
  const auto training = read_pt2(data("dynamic.pt2"));
  CHECK(printed(training).find("error") == std::string::npos);
  const Graph& g = training->graph();
  bool has_symbolic_size = false;
  for (std::uint32_t i = 0; i < g.node_count(); ++i)
    if (const TensorMeta* meta = g.tensor(NodeId{i}))
      for (const SymInt size : g.sizes(*meta))
        has_symbolic_size = has_symbolic_size || (size.is_symbolic() && g.expression(size).starts_with("2*s"));
  CHECK(has_symbolic_size);
  CHECK(g.outputs().size() == 3);

  const auto functional = read_pt2(data("dynamic_functional.pt2"));
  CHECK(printed(functional).find("error") == std::string::npos);
  const auto outputs = functional->graph().outputs();
  REQUIRE(outputs.size() == 5);
  CHECK(functional->graph().original_output_count() == 3);
  CHECK(outputs[3].kind == OutputKind::buffer_mutation);
  CHECK(outputs[4].kind == OutputKind::user_input_mutation);
  CHECK(functional->graph().text(outputs[4].target) == "mask");
}

TEST_CASE("one program in every container") {
  const std::string expected = printed(read_pt2(data("branches.pt2")));
  const std::string model = model_of(data("branches.pt2"));
  const ScratchFile bare("bare.json", model);
  CHECK(printed(read_program(bare.path())) == expected);
  CHECK(printed(read_exported_program(bare.path())) == expected);
  const ScratchFile flat("flat.pt2", "");
  write_archive(flat.path(), {{"serialized_exported_program.json", model}, {"version", "8.7"}});
  CHECK(printed(read_program(flat.path())) == expected);
  const ScratchFile pickled("pickled_weights.pt2", "");
  write_archive(pickled.path(), {{"a/models/model.json", model}, {"a/data/weights/model.pt", "PK"}});
  CHECK(printed(read_program(pickled.path())) == expected);
  const ScratchFile several("several.pt2", "");
  write_archive(several.path(), {{"a/models/draft.json", "{}"},
                                 {"a/models/model.json", model},
                                 {"a/data/weights/model_weights_config.json", R"({"config": {}})"}});
  CHECK(printed(read_program(several.path())) == expected);
}

TEST_CASE("archives that hold no program") {
  const auto in_archive = [](const Members& members) {
    const ScratchFile file("odd.pt2", "");
    write_archive(file.path(), members);
    return mistake_in(file.path());
  };
  CHECK(
      in_archive({{"readme", "text"}}) ==
      ": error: the archive holds no exported program: neither models/model.json nor serialized_exported_program.json "
      "[file-malformed]");
  CHECK(
      in_archive({{"m/data.pkl", "x"}, {"m/version", "3"}}) ==
      ": error: the archive holds pickled objects or TorchScript: save the program with torch.export.save [file-malformed]");
  CHECK(in_archive({{"m/models/a.json", "{}"}, {"m/models/b.json", "{}"}}) ==
        ": error: the archive holds several programs and none is called 'model': a b [file-malformed]");
  CHECK(in_archive({{"m/models/model.json", "{}"}}) ==
        ": error: the archive has no member data/weights/model_weights_config.json [file-malformed]");
  CHECK(in_archive({{"m/models/model.json", "{"}, {"m/data/weights/model_weights_config.json", R"({"config": {}})"}}) ==
        ":models/model.json: error: the file is cut short [file-unreadable]");
  CHECK(in_archive({{"m/models/model.json", "{}"}, {"m/data/weights/model_weights_config.json", "{}"}}) ==
        ":data/weights/model_weights_config.json: error: member 'config' is missing [file-malformed]");
}

TEST_CASE("damaged archives") {
  const std::string good = bytes_of(data("branches.pt2"));
  for (std::size_t size = 0; size < good.size(); size += 101) {
    const ScratchFile cut("cut.pt2", good.substr(0, size));
    CHECK(mistake_in(cut.path()).find("error: ") != std::string::npos);
  }
  // A flipped bit in the program's text, which is stored as it is: the checksum tells.
  std::string flipped = good;
  const auto at = flipped.find("torch.ops.aten.cos");
  REQUIRE(at != std::string::npos);
  flipped[at] = 'T';
  const ScratchFile damaged("damaged.pt2", flipped);
  CHECK(mistake_in(damaged.path()).find("the member cannot be read: CRC error") != std::string::npos);
}

TEST_CASE("files of other kinds") {
  const auto of_text = [](std::string_view text) {
    const ScratchFile file("other", text);
    return mistake_in(file.path());
  };
  CHECK(of_text("") == ": error: the file is empty [file-unreadable]");
  CHECK(of_text("\x7f"
                "ELF")
            .starts_with(": error: the file is no program that fxpass reads: those are .pt2 archives"));
  CHECK(of_text("  \n ").starts_with(": error: the file is no program that fxpass reads"));
  CHECK(of_text("graph():\n    %x : [num_users=0] = placeholder[target=x]\n") ==
        ":1:1: error: the graph has no line 'return ...' [file-malformed]");
  CHECK(of_text("{}") == ": error: the JSON is neither an exported program nor FX JSON [file-malformed]");
  CHECK(of_text(R"({"format": "fxpass.fx"})") == ": error: member 'version' is missing [file-malformed]");
  CHECK(of_text(R"({"schema_version": {"major": 8, "minor": 1}})") ==
        ": error: member 'graph_module' is missing [file-malformed]");
  CHECK(mistake_in("/no/such/file") == ": error: cannot be opened: No such file or directory [file-unreadable]");
  CHECK(mistake_in(FXPASS_TEST_DATA).starts_with(": error: cannot be read: "));
}
