// Calls every function of the shim with molecules and with damaged molecules, for memory checkers.
//
//   memcheck FILE ROUNDS    every line of FILE, then ROUNDS damaged lines
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "../shim.h"

namespace {

uint64_t state = 88172645463325252ULL;

uint64_t random_below(uint64_t n) {  // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % n;
}

void release(retort_answer answer) { retort_free(answer.data); }

void profile(const std::string &a, const std::string &b) {
  const std::string text = a + b;
  const uint32_t ends[] = {static_cast<uint32_t>(a.size()), static_cast<uint32_t>(text.size())};
  retort_profile out[2];
  uint64_t bits[64] = {};
  char *block = nullptr;
  size_t size = 0;
  const uint32_t all = (RETORT_MORGAN << 1) - 1;
  retort_profiles(text.data(), ends, 2, all, out, bits, &block, &size);
  for (const auto &p : out) {
    if (p.message.at + p.message.size > size || p.canonical.at + p.canonical.size > size) abort();
  }
  retort_free(block);
}

void search_and_draw(const std::string &s, const std::string &reference) {
  retort_answer failure{};
  retort_query *query = retort_query_new(s.data(), s.size(), &failure);
  release(failure);
  const uint32_t end = s.size();
  uint8_t found = 0;
  if (query) retort_contains(query, s.data(), &end, 1, &found);
  release(retort_png(s.data(), s.size(), 120, 100));
  const retort_canvas light{120, 100, 1, 0};
  const retort_canvas dark{120, 100, 0, 1};
  release(retort_depict(s.data(), s.size(), "", 0, query, &light));
  release(retort_depict(s.data(), s.size(), reference.data(), reference.size(), nullptr, &dark));
  retort_query_free(query);
}

void measure(const std::string &s, const std::string &reference) {
  retort_panel *panel = retort_panel_new();
  for (int32_t kind = 0; kind <= RETORT_ALL_ATOMS; ++kind) {
    const std::string text = kind == RETORT_ELEMENT ? "N" : reference;
    release(retort_panel_add(panel, kind, text.data(), text.size()));
  }
  const uint32_t end = s.size();
  double row[RETORT_ALL_ATOMS + 1];
  retort_panel_measure(panel, s.data(), &end, 1, row);
  retort_panel_free(panel);
}

void convert_molfile(const std::string &s) {
  const retort_answer block = retort_molblock(s.data(), s.size());
  release(retort_read_molfile(block.data, block.size));
  release(block);
}

void change(const std::string &s, const std::string &other) {
  retort_answer failure{};
  retort_parent *first = retort_parent_new(s.data(), s.size(), &failure);
  release(failure);
  retort_parent *second = retort_parent_new(other.data(), other.size(), &failure);
  release(failure);
  for (int stereo = 0; first && stereo < 2; ++stereo) release(retort_mutations(first, 3, stereo, 1));
  if (first && second) release(retort_crossovers(first, second, 3, 1));
  retort_parent_free(first);
  retort_parent_free(second);
}

void call_all(const std::string &s, const std::string &other) {
  profile(other, s);
  for (int slicer = 0; slicer < 3; ++slicer) release(retort_cut(s.data(), s.size(), slicer));
  for (int drop = 0; drop < 2; ++drop) release(retort_join(s.data(), s.size(), drop));
  search_and_draw(s, other);
  measure(s, other);
  convert_molfile(s);
  release(retort_largest(s.data(), s.size()));
  release(retort_open(s.data(), s.size(), 3, 1));
  release(retort_halves(s.data(), s.size(), 3, 1));
  release(retort_rooted(s.data(), s.size()));
  change(s, other);
}

std::string damage(std::string s, const std::string &other) {
  static const std::string marks = "()[]123%.=#/\\*cnoCNOH+-@:$~<>&;!,";
  for (int n = random_below(4); n >= 0; --n) {
    const size_t at = random_below(s.size() + 1);
    switch (random_below(5)) {
      case 0: s.resize(at); break;
      case 1: s.insert(at, 1, marks[random_below(marks.size())]); break;
      case 2: s.insert(at, other); break;
      case 3: s.insert(at, 1, static_cast<char>(random_below(256))); break;
      case 4: s.erase(at, 1); break;
    }
  }
  return s;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  // A tiny table of the SA score, so that its lookup is checked too.
  const uint32_t ids[] = {1, 70000, 2246728737u, 4000000000u};
  const uint16_t score_of[] = {0, 1, 1, 0};
  const double scores[] = {-1.5, 0.5};
  retort_sa_table(ids, score_of, 4, scores, 2);
  release(retort_warm());
  std::vector<std::string> lines;
  std::ifstream file(argv[1]);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#' && line.size() <= 200) lines.push_back(line);
  }
  if (lines.empty()) return 2;
  for (size_t i = 0; i < lines.size(); ++i) call_all(lines[i], lines[i ? i - 1 : 0]);
  const int rounds = std::atoi(argv[2]);
  for (int i = 0; i < rounds; ++i) {
    const auto &one = lines[random_below(lines.size())], &two = lines[random_below(lines.size())];
    const std::string bad = damage(one, two);
    if (bad.size() <= 400) call_all(bad, two);
  }
  std::printf("%zu lines, %d damaged lines\n", lines.size(), rounds);
}
