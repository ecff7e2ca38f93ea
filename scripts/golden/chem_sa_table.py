#!/usr/bin/env python3
"""Packs RDKit's synthetic accessibility table for embedding.

    python3 scripts/golden/chem_sa_table.py            # writes chem/rdkit/sa_scores.zlib

Source: Contrib/SA_Score/fpscores.pkl.gz of the installed RDKit (Debian: rdkit-data), a pickled list of
[score, id, id, ...]. The packed table is a zlib stream of
    u32 n, u32 m                      little endian; numbers of ids and of distinct scores
    m x f64                           the distinct scores, ascending
    n x uvarint                       the ids, ascending, each as the difference to the previous one
    n x u8, n x u8                    low and high byte of each id's index into the scores
The script unpacks the table again and compares it: no score is rounded.
"""

import gzip
import os
import pickle
import struct
import sys
import zlib

from rdkit import RDConfig


def read_pickle(path):
    with gzip.open(path) as f:
        rows = pickle.load(f)
    return {fragment: float(row[0]) for row in rows for fragment in row[1:]}


def uvarint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def pack(scores):
    ids = sorted(scores)
    distinct = sorted(set(scores.values()))
    index = {score: i for i, score in enumerate(distinct)}
    indexes = [index[scores[i]] for i in ids]
    parts = [struct.pack("<II", len(ids), len(distinct)), struct.pack(f"<{len(distinct)}d", *distinct)]
    last = 0
    for i in ids:
        parts.append(uvarint(i - last))
        last = i
    parts += [bytes(x & 0xFF for x in indexes), bytes(x >> 8 for x in indexes)]
    return zlib.compress(b"".join(parts), 9)


def unpack(data):
    raw = zlib.decompress(data)
    n, m = struct.unpack_from("<II", raw)
    distinct = struct.unpack_from(f"<{m}d", raw, 8)
    at, last, ids = 8 + 8 * m, 0, []
    for _ in range(n):
        shift = value = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        last += value
        ids.append(last)
    low, high = raw[at : at + n], raw[at + n : at + 2 * n]
    return {i: distinct[lo | hi << 8] for i, lo, hi in zip(ids, low, high)}


def main():
    source = os.path.join(RDConfig.RDContribDir, "SA_Score", "fpscores.pkl.gz")
    target = sys.argv[1] if len(sys.argv) > 1 else "chem/rdkit/sa_scores.zlib"
    scores = read_pickle(source)
    data = pack(scores)
    assert unpack(data) == scores, "packing changed the table"
    with open(target, "wb") as f:
        f.write(data)
    print(f"{target}: {len(scores)} ids, {len(set(scores.values()))} scores, {len(data)} bytes")


if __name__ == "__main__":
    main()
