// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hlo_samples.hpp"

#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/emit/stablehlo.hpp>

#include <cstdio>
#include <string>
#include <string_view>

/// @file
/// `hlo_samples DIRECTORY` writes every sample as HLO text and as HloModuleProto, and prints a line for each:
/// its name, what XLA on a CPU is expected to do with it, and its number of replicas.

namespace {

auto write_file(const std::string& path, std::string_view bytes) -> bool {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written;
}

template <fxpass::Emitter E>
auto write_module(const std::string& stem, const fxpass::hlo::Module& module) -> bool {
  const std::string path = stem + std::string(E::file_ending);
  if (write_file(path, fxpass::emit<E>(module))) return true;
  std::fprintf(stderr, "hlo_samples: cannot write %s\n", path.c_str());
  return false;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc != 2) {
    std::fputs("usage: hlo_samples DIRECTORY\n", stderr);
    return 2;
  }
  for (const fxpass::hlo::samples::Sample& sample : fxpass::hlo::samples::all) {
    const fxpass::Expected<fxpass::hlo::Module> module = fxpass::hlo::samples::make(sample);
    if (!module) {
      std::fputs(std::string(fxpass::text_of(sample.name, ": ", module.error()).view()).c_str(), stderr);
      return 1;
    }
    const std::string stem = std::string(argv[1]) + "/" + std::string(sample.name);
    if (!write_module<fxpass::HloText>(stem, *module) || !write_module<fxpass::HloProto>(stem, *module) ||
        !write_module<fxpass::StableHlo>(stem, *module))
      return 1;
    std::printf("%s %s %u\n", std::string(sample.name).c_str(),
                sample.fate == fxpass::hlo::samples::Sample::Fate::runs ? "runs" : "compiles-elsewhere",
                sample.replicas);
  }
  return 0;
}
