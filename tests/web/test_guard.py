"""Who may ask the server: nobody without the secret, and no page of another origin."""

import json
import stat
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from zerogames.errors import UserError
from zerogames.web.guard import LARGEST_BODY, Guard, RateLimit
from zerogames.web.server import WebSettings, make_app, open_socket, stored_token

TOKEN = "t" * 32
JSON = {"content-type": "application/json"}
QUESTION = json.dumps({"game": "connect4"})


def test_every_path_needs_the_token(client: TestClient) -> None:
    assert client.get(f"/{TOKEN}/").status_code == 200
    assert client.get(f"/{TOKEN}/api/hello").status_code == 200
    for path in ("/", "/api/hello", f"/{TOKEN[:-1]}/api/hello", f"/{TOKEN}x/", "/style.css", "//"):
        answer = client.get(path)
        assert answer.status_code == 403, path
        assert "zerogames web" in answer.json()["error"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8680", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_was_rebound_to_loopback_is_refused(client: TestClient, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    assert client.get(f"/{TOKEN}/", headers=headers).status_code == 403
    answer = client.post(f"/{TOKEN}/api/position", content=QUESTION, headers=headers | JSON)
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:8680", "[::1]:8680", "localhost"])
def test_every_name_of_loopback_is_answered(client: TestClient, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    assert client.get(f"/{TOKEN}/api/hello", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_origins_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    path = f"/{TOKEN}/api/position"
    assert client.post(path, content=QUESTION, headers=JSON | headers).status_code == 403
    assert client.get(f"/{TOKEN}/api/hello", headers=headers).status_code == 403


def test_a_form_of_another_page_cannot_ask(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post(
            f"/{TOKEN}/api/position", content=QUESTION, headers={"content-type": kind}
        )
        assert answer.status_code == 415
    assert client.put(f"/{TOKEN}/api/position", content=QUESTION, headers=JSON).status_code == 405


def test_answers_forbid_scripts_and_frames_of_others(client: TestClient) -> None:
    for path in ("/", "/app.js", "/api/hello"):
        headers = client.get(f"/{TOKEN}{path}").headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_the_page_itself_has_no_script_or_style_inside(client: TestClient) -> None:
    page = client.get(f"/{TOKEN}/").text
    assert "<style" not in page
    assert " style=" not in page
    assert page.count("<script") == 1
    assert '<script type="module" src="app.js"></script>' in page


@pytest.mark.parametrize(
    "path", ["/../server.py", "/%2e%2e/server.py", "/..%2fserver.py", "//etc/passwd", "/server.py"]
)
def test_no_path_reaches_the_file_system(client: TestClient, path: str) -> None:
    assert client.get(f"/{TOKEN}{path}").status_code in (403, 404)


def test_bodies_are_bounded_whatever_their_header_says(client: TestClient) -> None:
    path = f"/{TOKEN}/api/position"
    assert client.post(path, content=b" " * (LARGEST_BODY + 1), headers=JSON).status_code == 413

    def parts():  # type: ignore[no-untyped-def]
        for _ in range(LARGEST_BODY // 1_000_000 + 1):
            yield b" " * 1_000_000

    assert client.post(path, content=parts(), headers=JSON).status_code == 413


def test_requests_are_bounded_in_number() -> None:
    now = [0.0]
    rate = RateLimit(2, 3, lambda: now[0])
    assert [rate.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [rate.take() for _ in range(3)] == [True, True, False]
    app = make_app(WebSettings(), TOKEN)
    guard = Guard(app._app, TOKEN, RateLimit(0, 1))
    with TestClient(guard, base_url="http://127.0.0.1") as client:
        assert client.get(f"/{TOKEN}/").status_code == 200
        assert client.get(f"/{TOKEN}/").status_code == 429


def test_the_secret_is_kept_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    token = stored_token()
    file = tmp_path / "zerogames" / "web-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stored_token() == token
    assert stored_token(new=True) != token
    file.chmod(0o644)  # others may have read it
    assert stored_token() != file.read_text()
    assert len(stored_token()) >= 32


def test_a_secret_that_cannot_be_kept_is_new_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert stored_token() != stored_token()


def test_only_loopback_is_listened_to_and_a_taken_port_is_named() -> None:
    with open_socket(0) as listener:
        listener.listen()
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(UserError, match=f"--port {port}: .*give another"):
            open_socket(port)
