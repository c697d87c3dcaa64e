"""Programs that look after the project itself."""
