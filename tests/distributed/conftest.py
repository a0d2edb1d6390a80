import pytest

from tests.distributed.clusters import local_cluster


@pytest.fixture(scope="session")
def client():
    """Two worker processes; whoever kills one finds it restarted."""
    with local_cluster(2) as client:
        yield client
