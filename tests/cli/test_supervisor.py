"""What systemd asks of a service."""

from __future__ import annotations

import socket

import pytest

from steadhold.cli.supervisor import inherited, tell


@pytest.mark.parametrize(
    "environ, found",
    [
        ({"LISTEN_PID": "7", "LISTEN_FDS": "1"}, 3),
        ({"LISTEN_PID": "8", "LISTEN_FDS": "1"}, None),
        ({"LISTEN_PID": "7", "LISTEN_FDS": "0"}, None),
        ({"LISTEN_FDS": "1"}, None),
        ({}, None),
    ],
)
def test_a_socket_is_taken_by_the_process_it_was_opened_for(environ, found):
    assert inherited(environ, 7) == found


@pytest.mark.parametrize("abstract", [False, True])
def test_the_supervisor_is_told(tmp_path, abstract):
    path = f"@{tmp_path}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{tmp_path}" if abstract else path)
        assert tell({"NOTIFY_SOCKET": path}, "READY=1")
        assert listening.recv(100) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}])
def test_without_one_nobody_is(environ):
    assert not tell(environ, "READY=1")
