"""The page as a browser shows it, on a phone and on a desk, in both themes."""

import pytest

from pipeline.report import page
from tests.pipeline.report import contents
from tests.pipeline.report.test_page import CONTENTS
from tests.support.chromium import browser

pytestmark = pytest.mark.browser


def rendered(content) -> str:
    return page.render(content, page.draw(content))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["refused", "long names", "letters"])
def test_a_phone_need_not_scroll_sideways(name, dark, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(rendered(CONTENTS[name]))
    with browser(dark=dark) as driver:
        phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        driver.get(file.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") == 360
        assert driver.get_log("browser") == []


@pytest.mark.parametrize("dark", [False, True])
def test_figures_have_the_colours_of_the_theme(dark, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(rendered(contents.make()))
    with browser(dark=dark) as driver:
        driver.get(file.as_uri())
        ink, text = driver.execute_script(
            "return [document.body, document.querySelector('#classes-ytick_1 text')]"
            ".map((e, i) => getComputedStyle(e)[i ? 'fill' : 'color'])"
        )
    assert text == ink
    assert (ink == "rgb(233, 231, 226)") is dark
