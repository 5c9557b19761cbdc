"""The catalog names every outside asset once and finds it.

Where an asset is missing, the catalog says how to get it.
"""

from __future__ import annotations

import re

import pytest

from lib import catalog
from lib.base import paths
from lib.base.errors import InputError
from tests.refusals import refused
from tools import data as command
from tools import download

ASSETS = list(catalog.assets().values())
OPTIONAL = {"e5-small-q4"}  # requirements-optional.txt
BIBLIOGRAPHY = (paths.ROOT / "references.bib").read_text(encoding="utf-8")
COUNTS = "frequencies/enwiki_vocab_min200.txt"


@pytest.fixture(params=ASSETS, ids=lambda asset: asset.id)
def asset(request) -> catalog.Asset:
    return request.param


# README: "texts, vectors and weights have their own license, which the data page
# names", "references.bib has them all, and the data, weights and tools beside them"
def test_every_entry_is_complete_and_in_the_bibliography(asset) -> None:
    assert asset.access in ("free", "manual", "gated", "package")
    assert asset.title
    assert asset.license
    assert asset.files
    assert set(asset.used_by) <= {"n2o", "sent2vec", "pitfalls", "usif", "localization"}
    assert bool(asset.downloads) == (asset.access == "free")
    by_hand = asset.access in ("manual", "gated")
    assert bool(asset.how) == by_hand or asset.access == "package"
    assert bool(asset.package) == (asset.access == "package")
    keys = re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY, re.MULTILINE)
    assert keys.count(asset.citation) == 1


def test_downloads_are_https_and_lead_to_the_files_that_are_listed(asset) -> None:
    listed = [file["path"] for file in asset.files]
    for source in asset.downloads:
        assert source["url"].startswith("https://")
        assert source["format"] in {*download.FIRST_BYTES, "text", "safetensors"}
        assert ("to" in source) != ("into" in source)
        if "to" in source:
            assert source["to"] in listed
        else:  # all files that are listed come out of the one archive
            assert len(asset.downloads) == 1
            assert all(path.startswith(f"{source['into']}/") for path in listed)


def test_what_comes_with_a_package_is_found_without_data(
    data_folder,
) -> None:
    for asset in ASSETS:
        if asset.id not in OPTIONAL:
            expected = "here" if asset.access == "package" else "missing"
            assert catalog.status(asset) == expected


# README: "name its folders in `SENTENCE_DATA`, separated by colons, or put it in
# `data/`"
def test_data_folders_are_searched_in_order_and_another_copy_is_named_so(
    data_folder, monkeypatch
) -> None:
    second = data_folder / "second"
    for folder in (second, paths.DATA):
        (folder / COUNTS).parent.mkdir(parents=True)
        (folder / COUNTS).write_text(str(folder))
    monkeypatch.setenv(paths.DATA_VARIABLE, f"{data_folder / 'first'}:{second}")
    assert catalog.locate("enwiki-frequencies") == [second / COUNTS]
    monkeypatch.setenv(paths.DATA_VARIABLE, "")
    assert catalog.file(COUNTS).read_text() == str(paths.DATA)
    status = catalog.status(catalog.get("enwiki-frequencies"))
    assert status == "here, another copy"


# README: "`make data` fetches what is free and lists the rest"
def test_a_missing_asset_says_what_where_and_how(data_folder) -> None:
    with pytest.raises(InputError) as error:
        catalog.locate("elmo-small")
    for part in (
        "no elmo/elmo_2x1024_128_2048cnn_1xhighway_options.json",
        str(paths.DATA),
        "make data ASSET=elmo-small",
        "license: Apache-2.0",
    ):
        assert part in str(error.value)
    with refused("license LDC2011T07 from the Linguistic Data Consortium"):
        catalog.locate("gigaword")


def test_unknown_ids_and_files_get_a_sentence() -> None:
    with refused("did you mean glove-6b"):
        catalog.get("glove-6")
    with refused("no asset in the catalog has this file"):
        catalog.file("nowhere/to/be/found")


def unreachable(asset) -> None:
    raise download.UnreachableError(f"{asset.id}: example.org cannot be reached")


def test_without_a_network_the_table_is_printed_and_the_status_is_not_zero(
    data_folder, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(download, "download", unreachable)
    monkeypatch.setattr(download, "size", unreachable)
    assert command.main([]) == 1
    printed = capsys.readouterr()
    assert all(asset.id in printed.out for asset in ASSETS)
    assert (
        "The network cannot be reached. The default and smoke profiles still "
        "work, because"
    ) in printed.err


# All others have one byte, and what is of unknown size waits, too.
SIZES = {"glove-6b": 862_182_613, "snli": 94_550_081, "use-dan": None}


# README: "`make data` fetches what is free, up to 200 MB"
@pytest.mark.parametrize(
    ("given", "fetched", "shown"),
    [
        ("", {"snli"}, "snli (94.6 MB)"),
        ("glove-6b", {"glove-6b"}, "glove-6b (862.2 MB)"),
        ("all", set(SIZES), "use-dan (size unknown)"),
    ],
)
def test_more_than_200_mb_are_fetched_only_when_told_and_sizes_are_shown_first(
    data_folder, monkeypatch, capsys, given, fetched, shown
) -> None:
    asked = []
    monkeypatch.setattr(download, "size", lambda asset: SIZES.get(asset.id, 1))
    monkeypatch.setattr(download, "download", lambda asset: asked.append(asset.id))
    assert command.main(["--asset", given]) == 0
    assert set(asked) & set(SIZES) == fetched
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("Fetching into ")
    assert shown in first
    if not given:
        assert "glove-6b (862.2 MB), use-dan (size unknown)" in second
        assert "make data ASSET=all" in third


def test_one_asset_can_be_asked_for(data_folder, capsys) -> None:
    assert command.main(["--asset", "wordfreq"]) == 0
    printed = capsys.readouterr().out
    assert "pip install" not in printed  # it is here
    assert re.search(r" here +\d+\.\d  ", printed)  # in MB: what it takes on the disk
    assert command.main(["--asset", "gigaword"]) == 1
    assert "LDC2011T07" in capsys.readouterr().err


def test_held_copies_have_the_recorded_sizes_and_hashes(data_file) -> None:
    data_file("frequencies/enwiki_vocab_min200.txt")
    for asset in ASSETS:
        if asset.id not in OPTIONAL and any("sha256" in file for file in asset.files):
            assert catalog.status(asset) == "here", asset.id
