"""Results are whole or not there."""

import errno
import os

import pytest

from gapless.cli.files import check_file, check_folder, whole_files
from gapless.cli.words import message_of


def write_two(folder, stop=None):
    with whole_files(folder) as new:
        new("model").write_text("new model")
        if stop is not None:
            raise stop
        new("page").write_text("new page")


def test_files_get_their_names_at_the_end_and_nothing_else_stays(tmp_path):
    folder = tmp_path / "a" / "b"
    with whole_files(folder) as new:
        path = new("model")
        path.write_text("new")
        assert not (folder / "model").exists()
    assert [entry.name for entry in folder.iterdir()] == ["model"]
    assert (folder / "model").read_text() == "new"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError("full")], ids=["ctrl-c", "error"])
def test_an_interrupted_write_leaves_the_folder_as_it_was(tmp_path, stop):
    (tmp_path / "model").write_text("old model")
    for folder in (tmp_path, tmp_path / "made" / "for it"):
        with pytest.raises(type(stop)):
            write_two(folder, stop)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_text() == "old model"
    write_two(tmp_path)
    assert (tmp_path / "model").read_text() == "new model"
    assert (tmp_path / "page").read_text() == "new page"


def test_a_folder_that_cannot_be_written_is_named_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file, not a folder; name another one"):
        check_folder(tmp_path / "file" / "inner")
    check_folder(tmp_path / "not" / "there" / "yet")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_tried_since_permissions_do_not_tell_all(tmp_path, monkeypatch):
    def full(**options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("gapless.cli.files.tempfile.TemporaryFile", full)
    with pytest.raises(ValueError, match=r"cannot be written to \(Read-only file system\); name"):
        check_folder(tmp_path / "inner")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder; name a file in it"):
        check_file(tmp_path)
    check_file(tmp_path / "file")


def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(ValueError, match="a device or a pipe"):
            check_file(tmp_path / name)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    with whole_files(tmp_path) as new:
        new("link").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_a_disk_that_is_full_while_writing_is_named(tmp_path):
    with pytest.raises(OSError) as caught, whole_files(tmp_path) as new:
        new("a.txt").write_text("a")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert message_of(caught.value) == f"{tmp_path}: No space left on device."
    assert list(tmp_path.iterdir()) == []
