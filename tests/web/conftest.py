"""A server with a known token, asked in this process."""

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from zerogames.web.server import WebSettings, make_app

TOKEN = "t" * 32
HOST = "http://127.0.0.1:8680"

Post = Callable[..., dict]  # type: ignore[type-arg]


@pytest.fixture
def client() -> Iterator[TestClient]:
    """The whole application, guard included."""
    app = make_app(WebSettings(), TOKEN)
    with TestClient(app, base_url=HOST, headers={"origin": HOST}) as found:
        yield found


@pytest.fixture
def post(client: TestClient) -> Post:
    """Ask a question and read the answer, which must have the given status."""

    def ask(name: str, status: int = 200, **question: object) -> dict:  # type: ignore[type-arg]
        answer = client.post(f"/{TOKEN}/api/{name}", json=question)
        assert answer.status_code == status, answer.text
        found = answer.json()
        assert isinstance(found, dict)
        return found

    return ask
