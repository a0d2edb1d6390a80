"""What tests read from the page."""


def value(page, key):
    """Return a number of the page with all its digits."""
    return float(page.locator(f"dd[data-key='{key}']").get_attribute("data-value"))


def values(page, key):
    """Return several numbers that stand together."""
    text = page.locator(f"dd[data-key='{key}']").get_attribute("data-value")
    return [float(v) for v in text.split(",")]


def points(page):
    return page.evaluate("lab.stage.state.points")


def result(page, expression):
    """Return a part of the result of the experiment, such as ``alpha``."""
    return page.evaluate(f"(() => {{ const r = lab.stage.result; return {expression}; }})()")


def settle(page):
    """Wait for the frame after a change, and for the address after it."""
    page.wait_for_timeout(350)


def until(page, condition):
    """Wait until a condition holds; the page lets nobody evaluate texts by itself."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {condition}")
