import pytest
import trustme


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate authority that gRPC trusts: it reads the variable once, at its first use."""
    authority = trustme.CA()
    roots = tmp_path_factory.mktemp("certificates") / "roots.pem"
    authority.cert_pem.write_to_path(roots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(roots))
        yield authority
