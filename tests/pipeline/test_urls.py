import pytest

from pipeline import urls

SECRETS = {
    "https://me:sesame@host/path": "https://***@host/path",
    "https://sesame@host": "https://***@host",
    "s3://key:se/same@bucket": "s3://key:se/same@bucket",  # no such address: / ends the host
    "--x=s3://key:sesame@bucket/a b": "--x=s3://***@bucket/a b",
    "https://me:se@same@host/": "https://***@host/",
    "https://me:sesame@host/a?sig=sesame#b": "https://***@host/a?***",
    "https://host/a?sig=sesame and http://sesame:@b": "https://host/a?*** and http://***@b",
    "HTTPS://ME:SESAME@HOST": "HTTPS://***@HOST",
}
PLAIN = [
    "mnist",
    "/a/folder/me@home",
    "gs://bucket/me@home",
    "https://host:8080/path@1",
    "runner@project.iam.gserviceaccount.com",
    "what?",
    "",
]


@pytest.mark.parametrize(("text", "masked"), SECRETS.items())
def test_secrets_are_masked(text, masked):
    assert urls.mask(text) == masked
    assert (urls.has_credentials(text) or urls.has_query(text)) == (masked != text)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text):
    assert urls.mask(text) == text
    assert not urls.has_credentials(text) and not urls.has_query(text)
