"""A release that is built with an empty cache: every package of Go is compiled again."""

from __future__ import annotations

from releases import ROOT, build, copy_checkout


def test_a_build_with_an_empty_cache_is_equal(tmp_path):
    release = build(ROOT, tmp_path / "release")
    checkout = copy_checkout(tmp_path / "copy")
    cold = build(checkout, tmp_path / "cold", GOCACHE=str(tmp_path / "cache"))
    assert (cold / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()
