// Reads molecules and converts exceptions to the statuses of the C interface.
#pragma once
// RDConfig.h must come first in every file: it determines the layout of RDKit's query classes
// (RDK_BUILD_THREADSAFE_SSS adds a mutex), and their headers do not include it.
#include <RDGeneral/RDConfig.h>

#include <GraphMol/GraphMol.h>
#include <GraphMol/RWMol.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "shim.h"

namespace retort {

struct Failure {
  int status = RETORT_FAILED;
  int atom = -1;
  std::string message;
};

// Thrown by the shim where RDKit would return null or continue.
struct Refusal : std::runtime_error {
  int status, atom;
  Refusal(int s, const std::string &why, int a = -1) : std::runtime_error(why), status(s), atom(a) {}
};

// Parses plain SMILES: no name, no CXSMILES extension. Never returns null. Throws a Refusal, whose atom is an index in
// the order written.
std::unique_ptr<RDKit::RWMol> parse(const std::string &smiles, bool remove_hs = true);

// Parses a SMILES that is not the caller's, such as an intermediate one: a Refusal names no atom.
std::unique_ptr<RDKit::RWMol> parse_other(const std::string &smiles, bool remove_hs = true);

// Throws an AtomValenceException for a valence that this version of RDKit accepts and newer ones do not. The molecule
// must be sanitised.
void refuse_valences(const RDKit::ROMol &mol);

// Runs work and describes the exception it threw. Returns true if it threw none.
bool run_guarded(Failure &failure, const std::function<void()> &work);

// Does the same for calls that answer with texts: the texts that work appends are the answer.
retort_answer respond(const std::function<void(std::string &)> &work);

// Appends text and a terminating NUL.
void put(std::string &out, const std::string &text);

// splitmix64, the seeded generator of all random choices. It gives the same numbers on all machines.
struct Random {
  uint64_t state;
  uint64_t next();
  uint64_t below(uint64_t n);
};

}  // namespace retort
