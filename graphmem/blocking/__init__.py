"""The public API without `await`: an event loop in a thread, and the same methods that wait for it."""
