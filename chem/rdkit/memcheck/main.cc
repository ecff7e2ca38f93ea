// Calls every function of the shim with molecules and with damaged molecules, for memory checkers.
//
//   memcheck FILE ROUNDS    each line of FILE as it is, then ROUNDS damaged lines
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "../molfile.h"
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

void search_and_draw(const std::string &s, bool smarts) {
  int32_t atoms = 0;
  retort_answer failure{};
  retort_query *query = retort_query_new(s.data(), s.size(), smarts, &atoms, &failure);
  release(failure);
  const uint32_t end = s.size(), legend_end = 3;
  uint8_t found = 0;
  if (query) retort_contains(query, s.data(), &end, 1, &found);
  const retort_sheet sheet{120, 100, 2, smarts, smarts};
  release(retort_draw(s.data(), &end, "a&b", &legend_end, 1, query, &sheet));
  retort_query_free(query);
}

void measure_and_lay_out(const std::string &s, const std::string &before) {
  retort_panel *panel = retort_panel_new();
  for (int32_t kind = 0; kind <= RETORT_ALL_ATOMS; ++kind) {
    const std::string about = kind == RETORT_ELEMENT ? "N" : before;
    release(retort_panel_add(panel, kind, about.data(), about.size()));
  }
  const uint32_t end = s.size();
  double row[RETORT_ALL_ATOMS + 1];
  retort_panel_measure(panel, s.data(), &end, 1, row);
  retort_panel_free(panel);
  const retort_sheet sheet{120, 100, 1, 0, 0};
  release(retort_depict(s.data(), s.size(), before.data(), before.size(), nullptr, 1, &sheet));
  const retort_answer block = retort_molblock(s.data(), s.size());
  release(retort_read_molfile(block.data, block.size));
  release(block);
}

void everything(const std::string &s, const std::string &before) {
  profile(before, s);
  release(retort_brics(s.data(), s.size()));
  for (int slicer = 0; slicer < 4; ++slicer) {
    release(retort_cut(s.data(), s.size(), slicer, slicer * 2 % 8, slicer));
  }
  for (int drop = 0; drop < 2; ++drop) {
    release(retort_join(s.data(), s.size(), drop));
    search_and_draw(s, drop);
  }
  measure_and_lay_out(s, before);
  release(retort_largest(s.data(), s.size()));
  release(retort_murcko(s.data(), s.size()));
  release(retort_open(s.data(), s.size(), 3, 1));
  release(retort_halves(s.data(), s.size(), 3, 1));
  release(retort_rooted(s.data(), s.size()));
  for (int stereo = 0; stereo < 2; ++stereo) release(retort_mutations(s.data(), s.size(), 3, stereo, 1));
  release(retort_crossovers(s.data(), s.size(), before.data(), before.size(), 3, 1));
}

std::string damaged(std::string s, const std::string &other) {
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
  // A tiny table for the SA score, so that its search is checked too.
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
  for (size_t i = 0; i < lines.size(); ++i) everything(lines[i], lines[i ? i - 1 : 0]);
  const int rounds = std::atoi(argv[2]);
  for (int i = 0; i < rounds; ++i) {
    const auto &one = lines[random_below(lines.size())], &two = lines[random_below(lines.size())];
    const std::string bad = damaged(one, two);
    if (bad.size() <= 400) everything(bad, two);
  }
  std::printf("%zu lines, %d damaged lines\n", lines.size(), rounds);
}
