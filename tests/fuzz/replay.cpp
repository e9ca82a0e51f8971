// Runs a fuzz target without libFuzzer: every file of a corpus as it is, then mutants of them from
// a fixed seed. This is what ctest runs; `make fuzz` runs the same targets with coverage.
//
//   replay CORPUS MUTANTS

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& bytes) {
  // A copy of exactly this size, so that the sanitizer sees a read behind the end.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

/// One change of a kind that breaks parsers: bits, bytes, lengths, repeats, and parts of other
/// files.
void mutate(std::string& bytes, const std::vector<std::string>& corpus, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit ? random() % limit : 0; };
  if (bytes.empty()) bytes = "\n";
  const std::size_t at = below(bytes.size());
  switch (random() % 7) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, 1 + below(64));
      break;
    case 4:
      bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(256)));
      break;
    case 5: {
      const std::string& other = corpus[below(corpus.size())];
      bytes.insert(at, other.substr(below(other.size()), 1 + below(256)));
      break;
    }
    default:
      static constexpr char kFavourites[] = "\0\xFF\x7F\x80()[]{};\\\"/-+.09eEwWbB \n";
      bytes[at] = kFavourites[below(sizeof kFavourites - 1)];
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s CORPUS MUTANTS\n", arguments[0]);
    return 2;
  }
  std::vector<std::string> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no files\n", arguments[1]);
    return 2;
  }
  std::sort(corpus.begin(), corpus.end());  // The order of a folder is not the same everywhere.
  for (const std::string& bytes : corpus) run(bytes);
  const long mutants = std::atol(arguments[2]);
  std::mt19937 random(1);
  for (long number = 0; number < mutants; ++number) {
    std::string bytes = corpus[random() % corpus.size()];
    for (unsigned changes = 1 + random() % 6; changes > 0; --changes) {
      mutate(bytes, corpus, random);
    }
    run(bytes);
  }
  std::printf("%zu files and %ld mutants read\n", corpus.size(), mutants);
  return 0;
}
