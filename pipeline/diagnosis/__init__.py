"""The checks of `doctor`: each takes the settings, looks at one thing, and changes nothing."""
