"""A headless Chromium, driven by Selenium, and a hand that draws in it."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # Its sandbox does not start for root, nor in most containers.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # No network but ours.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

SEVEN = ((0.28, 0.25), (0.5, 0.24), (0.72, 0.25), (0.6, 0.5), (0.5, 0.7), (0.45, 0.85))


@contextlib.contextmanager
def browser(dark: bool = False, width: int = 1000, height: int = 800) -> Iterator[WebDriver]:
    """A new browser without history, in the light or the dark theme."""
    options = webdriver.ChromeOptions()
    options.binary_location = _find("chromium", "chromium-browser", "google-chrome")
    for flag in (*_FLAGS, f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(_find("chromedriver")))
    try:
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
        yield driver
    finally:
        driver.quit()


def draw(driver: WebDriver, pad: WebElement, points: Sequence[tuple[float, float]]) -> None:
    """Draws one stroke with the mouse through points given as parts of the width and height."""
    width, height = pad.size["width"], pad.size["height"]
    first, *others = ((round((x - 0.5) * width), round((y - 0.5) * height)) for x, y in points)
    hand = ActionChains(driver, duration=20)
    hand.move_to_element_with_offset(pad, *first).click_and_hold()
    for point in others:
        hand.move_to_element_with_offset(pad, *point)
    hand.release().perform()


def _find(*names: str) -> str:
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail(
            f"the tests of the page need {names[0]}; "
            "install it, on Debian: apt-get install chromium chromium-driver"
        )
    return path
