"""The page as a person uses it, in a real browser with a model that knows digits."""

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from components import labels, publishing, versions
from pipeline import images
from pipeline.serve.app import Limits
from pipeline.serve.holder import Holder
from tests.support import chromium, photos, saved_models, serving

pytestmark = pytest.mark.browser

RECEIVED = """
const canvas = document.getElementById('received');
const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
return Array.from(data).filter((_, index) => index % 4 === 0);
"""


# Pixels between the end of each class's name and its bar.
FREE_BESIDE_NAMES = """
return Array.from(document.querySelectorAll('#bars li')).map((row) => {
  const range = document.createRange();
  range.selectNode(row.firstChild);
  const bar = row.querySelector('span').getBoundingClientRect();
  return bar.left - range.getBoundingClientRect().right;
});
"""

VERSION = 1764500000

NOTHING = "\N{EN DASH}"


@pytest.fixture(scope="module")
def served(destination, tmp_path_factory) -> str:
    """A destination of this module's own, with the model that knows digits."""
    folder = str(tmp_path_factory.mktemp("served"))
    model = versions.path(destination, versions.current(destination))
    publishing.publish(model, folder, clock=lambda: VERSION)
    return folder


@pytest.fixture(scope="module")
def server(served):
    with serving.running(Holder(served), Limits(refresh_seconds=0.1)) as address:
        yield address


@pytest.fixture(scope="module")
def driver():
    with chromium.browser() as driver:
        yield driver


class Page:
    """What a person sees and touches."""

    def __init__(self, driver, address: str, classes: int = 10):
        self.driver = driver
        driver.get(address)
        serving.eventually(lambda: len(self.all("#bars li")) == classes)

    def all(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, name: str):
        return self.driver.find_element(By.ID, name)

    @property
    def digit(self) -> str:
        return self.one("class").text

    def draw(self, points=chromium.SEVEN) -> None:
        chromium.draw(self.driver, self.one("pad"), points)
        self.settle()

    def settle(self) -> None:
        """Waits until the answer to what was drawn last is shown."""
        serving.eventually(lambda: self.one("result").get_attribute("aria-busy") != "true")

    def received(self) -> np.ndarray:
        return np.reshape(self.driver.execute_script(RECEIVED), (28, 28))

    def complaints(self) -> list[str]:
        """What the browser's console says, but for advice on reading pixels, as these tests do."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["source"] != "rendering"]


@pytest.fixture
def page(driver, server):
    page = Page(driver, server)
    yield page
    assert page.complaints() == []


def test_who_draws_a_7_sees_a_7(page):
    assert page.digit == NOTHING
    page.draw()
    assert page.digit == "7"
    rows = page.all("#bars li")
    assert [row.text.split("\n")[0].split()[0] for row in rows] == list("0123456789")
    assert [row.get_attribute("class") for row in rows].index("best") == 7
    shown = [float(row.text.split()[-1].rstrip("%")) for row in rows]
    assert sum(shown) == pytest.approx(100, abs=0.6)
    assert shown[7] == max(shown)


def test_the_bars_are_as_long_as_the_probabilities(page):
    page.draw()
    assert page.digit == "7"
    rows = page.all("#bars li")
    for row in rows:
        track, bar = row.find_element(By.TAG_NAME, "span"), row.find_element(By.TAG_NAME, "i")
        share = float(row.find_element(By.TAG_NAME, "data").get_attribute("value"))
        serving.eventually(
            lambda bar=bar, wide=share * track.size["width"]: abs(bar.size["width"] - wide) <= 2
        )


def test_it_shows_what_the_network_received(page):
    assert not page.received().any()
    page.draw()
    assert page.digit == "7"
    image = page.received()
    rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
    assert max(np.ptp(rows), np.ptp(columns)) + 1 == 20
    mass = image.sum()
    for axis in (0, 1):
        centre = (image.sum(axis=1 - axis) * np.arange(28)).sum() / mass
        assert 13 <= centre <= 15


def test_it_names_the_version_and_its_accuracy(page):
    assert page.one("served").text == f"Version {VERSION} · 96.54% of the test images right"


def test_clear_and_undo(page):
    assert not page.one("clear").is_enabled()
    assert page.one("hint").is_displayed()
    page.draw([(0.5, 0.2), (0.5, 0.8)])
    assert page.digit == "1"
    assert not page.one("hint").is_displayed()
    stroke = page.received()
    page.draw([(0.3, 0.5), (0.7, 0.5)])
    assert not np.array_equal(page.received(), stroke)
    page.one("undo").click()
    page.settle()
    np.testing.assert_array_equal(page.received(), stroke)
    page.one("clear").click()
    page.settle()
    assert page.digit == NOTHING
    assert not page.received().any()
    assert not page.one("undo").is_enabled()
    assert page.one("hint").is_displayed()


def test_a_touch_leaves_a_dot(page):
    page.draw([(0.5, 0.5)])
    assert page.received().any()


def test_the_keyboard_draws_too(page):
    page.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    pad = page.driver.switch_to.active_element
    assert pad.get_attribute("id") == "pad"
    assert page.one("keys").is_displayed()
    pad.send_keys(Keys.ARROW_UP * 7, Keys.SPACE, Keys.ARROW_DOWN * 14)
    serving.eventually(lambda: page.digit == "1")
    pad.send_keys(Keys.ESCAPE)
    serving.eventually(lambda: page.digit == NOTHING)


def test_a_photo_is_recognized_and_what_was_done_to_it_is_said(page, digits, tmp_path):
    photo = photos.encode(photos.sidelight(digits.images[0]), "JPEG")
    (tmp_path / "seven.jpg").write_bytes(photo)
    page.one("file").send_keys(str(tmp_path / "seven.jpg"))
    serving.eventually(lambda: page.digit == "7")
    assert images.INVERTED in page.one("message").text
    np.testing.assert_array_equal(page.received(), images.prepare(photo).image)


def test_a_file_that_is_no_picture_is_refused(page, tmp_path):
    (tmp_path / "letter.png").write_text("Dear all")
    page.one("file").send_keys(str(tmp_path / "letter.png"))
    serving.eventually(lambda: "letter.png is not a picture" in page.one("message").text)


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1200, 760)])
def test_all_of_it_is_in_view(page, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.draw()
        for part in (page.one("pad"), page.one("received"), *page.all("#tools *, #bars *")):
            assert part.rect["x"] >= 0
            assert part.rect["x"] + part.rect["width"] <= width
            assert part.rect["y"] + part.rect["height"] <= height
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_in_the_dark_theme_the_same_strokes_are_the_same_digit(page, server):
    page.draw()
    assert page.digit == "7"
    with chromium.browser(dark=True) as driver:
        dark = Page(driver, server)
        grounds = [one.one("pad").value_of_css_property("background-color") for one in (page, dark)]
        dark.draw()
        assert dark.digit == "7"
        np.testing.assert_allclose(dark.received(), page.received(), atol=60)
        assert grounds == ["rgba(255, 255, 255, 1)", "rgba(30, 33, 38, 1)"]


def test_a_newly_pushed_version_shows_by_itself(page, served):
    page.draw()
    new = publishing.publish(versions.path(served, VERSION), served)
    serving.eventually(lambda: page.one("served").text.startswith(f"Version {new}"))
    assert page.digit == "7"


@pytest.mark.parametrize("width", [1000, 500])
@pytest.mark.parametrize(
    "names", [list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), ["T-shirt/top", "Ankle boot", "Pullover"]]
)
def test_names_have_room_beside_their_bars_however_many_and_long(tmp_path, names, width):
    model = saved_models.BrightRow(classes=len(names))
    folder = saved_models.save(model, str(tmp_path / "model"))
    labels.write(folder, names)
    publishing.publish(folder, str(tmp_path / "serving"))
    with (
        serving.running(Holder(str(tmp_path / "serving"))) as address,
        chromium.browser(width=width) as driver,
    ):
        page = Page(driver, address, classes=len(names))
        page.draw()
        assert page.digit in names
        assert [row.text.split("\n")[0] for row in page.all("#bars li")] == names
        free = driver.execute_script(FREE_BESIDE_NAMES)
        assert min(free) >= 2
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
